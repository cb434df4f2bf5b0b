"""What is put under load: a network, where packets go, and what is compared."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from flitloom.errors import SpecError
from flitloom.ground.digests import digest
from flitloom.ground.fixed import explained
from flitloom.load.given import network_fields, router_fields
from flitloom.networks.experiment import Experiment, build_experiment, put
from flitloom.spec import OTHER_NAMES, Load
from flitloom.spec.router import PRESETS, ROUTING_NAMES, Router
from flitloom.spec.throttle import read_throttle
from flitloom.tables.formats.reading import read_tables

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: The pattern whose destinations are drawn once.
DRAWN_ONCE = "rpar"

#: Values that tell cases apart, and the fields of an experiment that they stand for.
FIELDS = {
    "torus": "topology.sizes",
    "mesh": "topology.sizes",
    "pattern": "traffic.pattern",
    "routing": "router.routing",
    "throttle": "throttle",
    "buffer": "router.buffer",
    "channels": "router.channels",
    "flow_control": "router.flow_control",
    "ties": "router.ties",
    "length": "traffic.length",
}
#: Of these, those that hold numbers.
NUMBERS = ("buffer", "channels", "length")
#: Other names of patterns and routing functions, with those of flitloom.
KNOWN_AS: Mapping[str, Mapping[str, str]] = {"pattern": OTHER_NAMES, "routing": ROUTING_NAMES}


#: The router of a machine, where nothing else is said.
MACHINE = PRESETS["machine"]
#: The depth of the queues in both papers on congestion, in flits.
ROOMY = 16
#: Routing functions that need cut-through.
ADAPTIVE = ("sa", "cl", "ma")


#: Labels whose values do not say what they are of.
UNNAMED = ("buffer", "channels", "length", "throttle", "ties", "rate", "packets")


def told(name: str, value: object) -> str:
    """The value of a label as sentences, titles and legends say it.

    Examples
    --------
    >>> told("torus", "8x8"), told("buffer", "4"), told("throttle", "none"), told("routing", "ma")
    ('8x8 torus', 'buffer 4', 'throttle none', 'ma')
    """
    if name in ("torus", "mesh"):
        return f"{value} {name}"
    if name in UNNAMED:
        return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
    return str(value)


@explained
@dataclass(frozen=True)
class Case:
    """One of several things that are compared under load.

    Attributes
    ----------
    labels : mapping of str to str
        What tells it from the others, as the size of its network and its pattern.
    fields : mapping
        Fields of an experiment, as in a TOML file, without a rate.
    folder : path
        Folder of files that the fields name.
    tables : path or Tables, optional
        The routes of all packets, or a file with them.
    """

    labels: Mapping[str, str]
    fields: Mapping[str, Any]
    folder: Path = Path()
    tables: Path | Tables | None = None

    def routes(self) -> Tables | None:
        """The tables of the case, if it has any; read once per process.

        Raises
        ------
        SpecError
            Their file is damaged.
        """
        return routes_of(self.tables)

    def experiment(self, **traffic: Any) -> Experiment:
        """The experiment with these fields of its traffic.

        Examples
        --------
        >>> from flitloom.load import make_cases
        >>> [case] = make_cases({"traffic": {"length": 4}}, {"torus": ["8x8"], "pattern": ["torn"]})
        >>> case.experiment(kind="load", rate=0.1, cycles=100).traffic.rate
        0.1
        """
        fields = copy.deepcopy(dict(self.fields))
        fields["traffic"] = {**fields.get("traffic", {}), **traffic}
        return build_experiment(fields, self.folder)

    @property
    def name(self) -> str:
        """Its labels as text."""
        return ", ".join(told(*label) for label in self.labels.items())


def at_load(experiment: Experiment, rate: float, seed: int | None = None) -> Experiment:
    """An experiment at another load in flits per node and cycle, and with another seed of what is sent.

    Destinations that are drawn once stay those of the experiment's own seed.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("rand", rate=0.1, cycles=1)
    >>> found = at_load(fl.Experiment(topology=fl.Torus(4, 4), traffic=load), 0.2, seed=7)
    >>> found.traffic.rate, found.seed
    (0.2, 7)
    """
    load = Load.of(experiment.traffic)
    changes: dict[str, Any] = {"traffic": load.model_copy(update={"rate": rate})}
    if seed is not None and not _is_drawn_once(load):
        changes["seed"] = seed
    return experiment.model_copy(update=changes)


def _is_drawn_once(load: Load) -> bool:
    """Whether destinations depend on the seed, but are the same in the whole run."""
    return DRAWN_ONCE in (load.pattern, *(part.pattern for part in load.classes or ()))


def routes_of(tables: Path | Tables | None) -> Tables | None:
    """Tables, from their file if they are in one."""
    return tables_of(tables) if isinstance(tables, Path) else tables


def tables_of(file: Path) -> Tables:
    """Tables in a file, which is read once unless it changes."""
    return _tables_of(file, digest(file))


@lru_cache(maxsize=16)
def _tables_of(file: Path, content: str) -> Tables:
    del content
    return read_tables(file)


def make_cases(
    fields: Mapping[str, Any],
    values: Mapping[str, Sequence[str]],
    folder: Path = Path(),
    tables: Sequence[Path] = (),
) -> list[Case]:
    """All combinations of values, each put into the fields of an experiment.

    Parameters
    ----------
    fields : mapping
        Fields that all cases have.
    values : mapping of str to sequence of str
        Values by the name of what they are of: torus, mesh, pattern, routing, throttle, buffer, channels,
        flow_control, ties, length.
    folder : path
        Folder of files that the fields name.
    tables : sequence of path
        Files with routes: every case is made for each, on the network that it names.

    Raises
    ------
    SpecError
        Nothing is to be compared under such a name.
    """
    for name, given in values.items():
        if name not in FIELDS:
            raise SpecError.at("load", f"{name} is unknown", f"there are {', '.join(FIELDS)}")
        if not given:
            raise SpecError(f"--{name.replace('_', '-')}: names nothing")
    # Rows say our names, whatever was given.
    values = {
        name: [KNOWN_AS.get(name, {}).get(value, value) for value in given] for name, given in values.items()
    }
    if tables:
        cases = []
        for file in tables:
            for case in make_cases(_on_tables(fields, values, file), values, folder):
                plain = {name: value for name, value in case.labels.items() if name != "network"}
                cases.append(replace(case, labels={"tables": file.name, **plain}, tables=file))
        return cases
    cases = []
    for combination in itertools.product(*values.values()):
        labels = dict(zip(values, combination, strict=True))
        own = copy.deepcopy(dict(fields))
        for name, value in labels.items():
            if name in ("torus", "mesh"):
                put(own, "topology.kind", name, f"--{name}")
            number = name in NUMBERS and value.isascii() and value.isdigit()
            put(own, FIELDS[name], int(value) if number else value, f"--{name.replace('_', '-')}")
        if "torus" in labels and own.get("topology", {}).get("twist") is True:
            labels["torus"] += " twisted"
        if "hots" in values.get("pattern", ()) and labels["pattern"] != "hots":
            # Its fields belong to no other pattern of the list.
            for name in ("hotspot_fraction", "hotspot_target"):
                own["traffic"].pop(name, None)
        cases.append(Case({**_network(labels, own, folder), **labels}, own, folder))
    return cases


def _network(labels: Mapping[str, str], fields: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """A label that says which network it is, where no other does."""
    if {"torus", "mesh"} & set(labels):
        return {}
    try:
        load = Case(labels, fields, folder).experiment(kind="load", rate=1.0, cycles=1)
    except SpecError:
        # What is wrong with it is told by what runs it.
        return {}
    return {"network": str(load.topology)}


def _on_tables(fields: Mapping[str, Any], values: Mapping[str, Sequence[str]], file: Path) -> dict[str, Any]:
    """Fields with the network that tables are for, and a router in which they are deadlock-free."""
    read = tables_of(file)
    for name in ("torus", "mesh"):
        if name in values:
            raise SpecError.at(f"--{name}", "the tables name their network", "leave it out")
    own = copy.deepcopy(dict(fields))
    own["topology"] = network_fields(read)
    router = own.setdefault("router", {})
    lengths = [int(length) for length in values.get("length", ())]
    length = max([*lengths, own.get("traffic", {}).get("length", 8)])
    if not {"flow_control", "channels", "preset"} & set(router) and "flow_control" not in values:
        own["router"] = {**router_fields(read, length), **router}
        if "buffer" in values:
            own["router"].pop("buffer", None)
    return own


def machine_router(
    given: Mapping[str, Any], values: Mapping[str, Sequence[str]], length: int
) -> dict[str, Any]:
    """Fields of the router of a machine that are not given: balanced ties, and queues that hold a packet.

    Queues hold 16 flits, more if packets or margins of SPTh are longer. Pipelined routers keep their queues.

    Parameters
    ----------
    given : mapping of str to object
        Fields of the router that are given.
    values : mapping of str to sequence of str
        Values by the name of what they are of, as in `make_cases`.
    length : int
        Flits per packet.

    Examples
    --------
    >>> machine_router({}, {}, 8), machine_router({"buffer": 4}, {"ties": ["wrap"]}, 8)
    ({'ties': 'balanced', 'buffer': 16}, {})
    >>> machine_router({"preset": "t15"}, {}, 8)
    {}
    """
    if given.get("preset") is not None:
        return {}
    fields: dict[str, Any] = {"ties": MACHINE["ties"]}
    if given.get("model") != "pipelined":
        margin = max(map(_margin, values.get("throttle", ())), default=0)
        fields["buffer"] = max(MACHINE["buffer"], length, 2 * margin)
    return {name: value for name, value in fields.items() if name not in {*given, *values}}


def room_needed(
    router: Mapping[str, Any], values: Mapping[str, Sequence[str]], length: int
) -> dict[str, Any]:
    """What routers must be given beyond the default ones so that all values can be compared on the same.

    Adaptive routing needs cut-through, cut-through queues that hold a packet, and SPTh queues deeper than its
    margin. What is given in the router's fields, or by its preset, stays.

    Parameters
    ----------
    router : mapping
        Fields of the router that are given.
    values : mapping of str to sequence of str
        Values by the name of what they are of, as in `make_cases`.
    length : int
        Flits per packet.

    Examples
    --------
    >>> room_needed({}, {"routing": ["do", "sa"]}, 8)
    {'flow_control': 'cut-through', 'buffer': 16}
    >>> room_needed({"buffer": 24}, {"routing": ["do"], "throttle": ["none", "spth:8"]}, 8)
    {}
    """
    if router.get("preset") is not None or router.get("model") == "pipelined":
        return {}
    needed: dict[str, Any] = {}
    routings = [*values.get("routing", ()), router.get("routing", "do")]
    controls = [
        *values.get("flow_control", ()),
        *([router["flow_control"]] if "flow_control" in router else ()),
    ]
    if not controls and any(ROUTING_NAMES.get(name, name) in ADAPTIVE for name in routings):
        needed["flow_control"] = "cut-through"
    held = length if "cut-through" in (*controls, needed.get("flow_control")) else 1
    margin = max(map(_margin, values.get("throttle", ())), default=0)
    given = "buffer" in router or "buffer" in values
    if not given and max(held, margin + 1) > Router().buffer:
        needed["buffer"] = max(ROOMY, 2 * max(held, margin))
    return needed


def _margin(throttle: str) -> int:
    """The margin of SPTh in flits, zero of others."""
    try:
        name, _, parameters = read_throttle(throttle).partition(":")
    except PydanticCustomError:
        # Refused where it is put into its field.
        return 0
    if name != "spth":
        return 0
    given = dict(parameter.split("=", 1) for parameter in parameters.split(","))
    return int(given.get("margin", 0))
