"""The cases that verbs of ``flitloom load`` compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from flitloom._core import LISTS
from flitloom.booksim import is_booksim
from flitloom.commands import options, screen
from flitloom.commands.load_options import Compared, Packets, Router
from flitloom.errors import SpecError, show_file
from flitloom.ground import ranks, settings
from flitloom.ground.outputs import write_netcdf
from flitloom.load import Case, Response, Steady, machine_router, make_cases, room_needed, told, unsteady
from flitloom.networks.experiment import change, read_fields
from flitloom.run.simulation import experiment_memory, left_working
from flitloom.spec.traffic.known import kind_of, name_of
from flitloom.spec.traffic.load import Load
from flitloom.spec.words import OPTIONS

#: Options that may name several values, all combinations of which are compared.
SEVERAL = (
    "torus", "mesh", "pattern", "routing", "ties", "throttle", "buffer", "channels", "flow_control", "length",
)  # fmt: skip
#: Those of which one alone tells no cases apart, and the parts of a spec that they are in.
PARTS = {
    "buffer": "router", "channels": "router", "flow_control": "router", "ties": "router", "length": "traffic",
}  # fmt: skip
#: Those that may be all of a list of the core.
WHOLE = {name: OPTIONS[name].among for name in ("pattern", "routing", "throttle")}
#: Fields of a spec's traffic that the verbs themselves set.
RUN = ("kind", "rate", "profile", "cycles", "changes", "impulse", "payload", "packets")


def shared_out(threads: int | None, simulations: int) -> tuple[int | None, int]:
    """Processes, and threads of each.

    Raises
    ------
    SpecError
        There are ranks, and each is one thread.

    Examples
    --------
    >>> shared_out(8, 3)
    (3, 2)
    """
    if threads is None:
        return settings.get("threads"), 1
    if ranks.started() > 1 and threads != 1:
        raise SpecError.at("--threads", "every rank (mpiexec) is one thread", "start more ranks")
    workers = max(1, min(threads, simulations))
    return workers, threads // workers


def foretell_memory(tasks: Iterable[tuple[Case, Mapping[str, Any]]], workers: int | None) -> None:
    """Say how much memory simulations of cases need, each with these fields of its traffic."""

    def needs() -> Iterator[int]:
        known: dict[int, int] = {}
        for case, traffic in tasks:
            # How much is sent changes little: what moves is bounded by the buffers.
            if id(case) not in known:
                known[id(case)] = 0
                with suppress(SpecError):
                    known[id(case)] = experiment_memory(case.experiment(**traffic), links=False)
            yield known[id(case)]

    screen.foretell_memory(needs(), workers)


def cases(compared: Compared, packets: Packets, router: Router, **also: Any) -> list[Case]:
    """What the options compare: all combinations of their lists; `also` is sent beside, e.g. an impulse."""
    spec, tables = compared.spec, compared.tables
    if spec is not None and is_booksim(spec):
        raise SpecError.at(
            show_file(spec), "is a file of BookSim2", "flitloom load curve runs it at several rates"
        )
    given = {**vars(compared), **vars(packets), **vars(router)}
    fields: dict[str, Any] = {} if spec is None else read_fields(spec)
    options.remarked_in(fields)
    traffic = _traffic_at_a_rate(fields)
    traffic.update(_some(given, "process", "outstanding", "hotspot_fraction", "hotspot_target"))
    if router.preset == "s07":
        # As that paper generates its packets (Eq. 1).
        traffic.setdefault("process", "gap")
    of_router = _some(given, "model", "preset", "latency")
    table_file = None if tables is None else Path(tables)
    of_switches = options.has_switches(compared.graph, compared.network, table_file, router.model)
    if of_switches:
        of_router.setdefault("model", "pipelined")
    options.merge(fields, {"router": of_router} if of_router else {})
    options.merge(fields, _some(given, "seed"))
    if of_switches:
        grid = {name: given[name] for name in ("torus", "mesh", "wrap", "twist")}
        topology = options.switches_fields(
            compared.graph, compared.network, compared.fail, table_file, **grid
        )
        tables = None
    else:
        topology = options.topology_fields(
            None, None, compared.wrap, compared.fail, compared.twist, compared.network
        )
    options.merge(fields, {"topology": topology} if topology else {})
    for setting in router.settings or []:
        change(fields, setting)
    if compared.torus is not None and compared.mesh is not None:
        raise SpecError.at("topology", "give either --torus or --mesh")
    values = {name: _named(name, given[name]) for name in SEVERAL if given.get(name) is not None}
    for name, part in PARTS.items():
        if len(values.get(name, ())) == 1:
            [only] = values.pop(name)
            options.merge(fields, {part: {name: _number(only)}})
    lengths = [_number(text) for text in values.get("length", ())]
    lengths = lengths or [traffic.get("length", Load.model_fields["length"].default)]
    known = fields.get("router", {})
    if isinstance(known, dict) and all(isinstance(length, int) for length in lengths):
        if spec is None and tables is None and not of_switches:
            known = {**machine_router(known, values, max(lengths)), **known}
            options.merge(fields, {"router": known})
        needed = room_needed(known, values, max(lengths))
        options.merge(fields, {"router": needed} if needed else {})
        if needed:
            named = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in needed.items())
            screen.say(f"all cases with {named}, which some of them need")
    files = [Path(name) for name in _entries(tables or "") if name]
    made = make_cases(fields, values, Path() if spec is None else spec.parent, files)
    _say_of(made, **also)
    return made


def _traffic_at_a_rate(fields: dict[str, Any]) -> dict[str, Any]:
    """The traffic of the fields of a spec, without what each run is given."""
    traffic = fields.setdefault("traffic", {})
    if not isinstance(traffic, dict):
        raise SpecError.at("traffic", "is not a table of fields")
    if "kind" in traffic and (kind := kind_of(traffic)) is not None and not kind.has_rate:
        problem = f"is {name_of(kind)}, and flitloom load sends at a rate"
        raise SpecError.at("traffic.kind", problem, "flitloom simulate runs it")
    for name in RUN:
        traffic.pop(name, None)
    return traffic


def _say_of(made: Sequence[Case], **also: Any) -> None:
    """Say what is special about what is compared."""
    loads = []
    for case in made:
        text = ""
        with _alone(len(made)):
            loads.append(load := case.experiment(kind="load", rate=1.0, cycles=1, **also))
            _, text = left_working(load)
        if text:
            screen.say(f"{case.name}: {text}")
    if any(map(unsteady.never_steady, loads)):
        screen.say(unsteady.TEXT)
    if {"sa", "ma"} <= {load.router.routing for load in loads if load.router.channels in (None, 3)}:
        screen.say("note: ma with 3 channels is sa, for one is adaptive; --channels 6 gives ma four")


def _alone(count: int) -> AbstractContextManager[None]:
    """Where one of several cases cannot be, its row says so, and the others continue."""
    return suppress(SpecError) if count > 1 else nullcontext()


def are_closed(cases: Sequence[Case]) -> bool:
    """Whether sources of the cases are closed; what is compared does not differ in that."""
    load = cases[0].experiment(kind="load", rate=1.0, cycles=1).traffic
    return getattr(load, "outstanding", None) is not None


def _named(name: str, text: str) -> list[str]:
    """The values of an option that takes several, or all of a list of the core."""
    return [*LISTS[WHOLE[name]]] if text == "all" and name in WHOLE else _entries(text)


def _number(text: str) -> Any:
    """A whole number where it is written so; what else there is, the field refuses."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else text


def _some(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return options.given(**{name: given[name] for name in names})


def _entries(text: str) -> list[str]:
    """The entries of a list: those of ``none,spth:margin=8,length=4`` are two."""
    entries: list[str] = []
    for part in text.split(","):
        # A further parameter of the entry before it.
        if entries and "=" in part and ":" not in part:
            entries[-1] += f",{part}"
        else:
            entries.append(part.strip())
    return entries


def write_series(out: Path, made: Sequence[tuple[Case, Steady | Response]]) -> None:
    """Write what happened in all windows, a group per case and load."""
    groups: dict[str, Any] = {}
    for case, found in made:
        if found.series is None:
            continue
        plain = {key: value for key, value in found.row.items() if isinstance(value, int | float | str)}
        about = {key: int(value) if isinstance(value, bool) else value for key, value in plain.items()}
        parts = [
            *case.labels.values(),
            *(f"{found.row[key]:g}" for key in ("rate", "packets") if key in plain),
        ]
        groups["/" + "_".join(parts).replace("/", "-")] = found.series.assign_attrs({**case.labels, **about})
    write_netcdf(out, groups)


def common(kind: str, cases: Sequence[Case]) -> str:
    """A title: what all cases have in common."""
    first = cases[0].labels
    shared = [told(*label) for label in first.items() if len({case.labels[label[0]] for case in cases}) == 1]
    return f"{kind}: {', '.join(shared)}" if shared else kind
