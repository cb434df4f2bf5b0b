"""What a format of files of tables by source is, and what files say: the same in all of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show
from flitloom.ground.limits import TABLE_HOPS
from flitloom.ground.provenance import version
from flitloom.ground.reading import Progress, placed
from flitloom.ground.reading import Source as Opened
from flitloom.spec import Topology
from flitloom.tables.by_source.bound import read_fraction
from flitloom.tables.by_source.rules import RouterRules, routing_system
from flitloom.tables.by_source.tables import ASSUMED, GIVEN, IN_FILE, Source, Tables

Part = TypeVar("Part", Topology, RouterRules)
#: Reads an open file; network, rules and progress are as for `flitloom.tables.read`.
Reader = Callable[[Opened, Topology | None, "str | RouterRules | None", Progress | None], Tables]

#: What a file of tables says it is.
FORMAT = "flitloom-routing-tables"
#: Version of the form; files of version 1 differ in nothing but ``rules.any_walk``, which they lack.
VERSION = 2
#: Fields that say what the tables are; everything else in a file is a claim about them.
PREMISES = ("format", "version", "topology", "rules", "turns", "withheld_turns", "routes")


class Listed:
    """Routes as they are read, in arrays that grow; never more than `TABLE_HOPS` nodes of all routes."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._sources, self._destinations, self._nodes = array("I"), array("I"), array("I")
        self._offsets = array("Q", [0])

    def add(self, source: int, destination: int, visited: list[int]) -> None:
        """Add a route by its ends and the nodes it visits."""
        self._sources.append(source)
        self._destinations.append(destination)
        self._nodes.extend(visited)
        self._offsets.append(len(self._nodes))
        if len(self._nodes) > TABLE_HOPS:
            raise SpecError(f"{self._file}: more than {TABLE_HOPS} nodes on all routes")

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Sources, destinations, offsets and nodes, where they are."""
        return (
            np.frombuffer(self._sources, dtype=np.uint32),
            np.frombuffer(self._destinations, dtype=np.uint32),
            np.frombuffer(self._offsets, dtype=np.uint64),
            np.frombuffer(self._nodes, dtype=np.uint32),
        )


def are_nodes(visited: list[Any]) -> bool:
    """Whether all are numbers of nodes, whatever the network."""
    return all(type(node) is int for node in visited) and min(visited) >= 0 and max(visited) < 2**20


def index_of(place: str, value: Any, last: int = 2**20 - 1) -> int:
    """A number of a file, checked."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= last:
        raise SpecError(f"{place}: {show(value)} must be a whole number from 0 to {last}")
    return value


def describe(tables: Tables) -> dict[str, Any]:
    """Everything about tables but their routes."""
    turns, withheld = tables.system.turns()
    # Tables that were read without turns leave open which ones are permitted.
    known = tables.source is None or tables.source.turns
    permitted = {"turns": list(map(list, turns)), "withheld_turns": list(map(list, withheld))}
    return {
        "format": FORMAT,
        "version": VERSION,
        "flitloom": version(),
        "topology": tables.topology.model_dump(mode="json"),
        "rules": tables.rules.model_dump(mode="json"),
        **(permitted if known else {}),
        "method": tables.method,
        "seed": tables.seed,
        "weighted": tables.traffic is not None or (tables.source is not None and tables.source.weighted),
        "max_load": tables.max_load,
        "min_load": tables.min_load,
        "perfect_load": tables.perfect_load,
        "sigma4": tables.sigma4,
        "max_distance": tables.max_distance,
        "bound": tables.bound,
        "bound_exact": str(tables.bound_value.value),
        "proof": tables.bound_value.proof,
        "optimal": tables.optimal,
    }


def without_heading(
    read: Callable[[str, Iterator[tuple[int, str]], Topology], tuple[NDArray[Any], ...]],
) -> Reader:
    """Reads files with nothing but routes, line by line; their network is named beside them."""

    def made(
        source: Opened,
        topology: Topology | None,
        rules: str | RouterRules | None,
        progress: Progress | None,
    ) -> Tables:
        if topology is None:
            unknown = "does not say what network it is for; name it with --torus or --mesh"
            raise SpecError(f"{source.name}: {unknown}")
        chosen, said = premises(source.name, {}, topology, rules)
        routes = read(source.name, source.lines(progress), topology)
        system = routing_system(topology, chosen)
        return Tables.given(topology, chosen, system, routes, said, progress=progress)

    return made


def system_of(
    file: str, data: dict[str, Any], topology: Topology, rules: RouterRules, said: Source
) -> _core.RoutingSystem:
    """The network with rules and turns of a file, in the core."""
    system = placed(file, lambda: routing_system(topology, rules))
    turns, withheld = _turns(file, data, "turns"), _turns(file, data, "withheld_turns")
    return placed(file, lambda: system.with_turns(turns, withheld)) if said.turns else system


def _turns(file: str, data: dict[str, Any], name: str) -> list[tuple[int, str, str]]:
    turns = data.get(name, [])
    if not isinstance(turns, list):
        raise SpecError(f"{file}: {name}: a list of [node, direction in, direction out] is needed")
    for index, turn in enumerate(turns):
        if (
            not isinstance(turn, list)
            or len(turn) != 3
            or not all(isinstance(direction, str) for direction in turn[1:])
        ):
            raise SpecError(f"{file}: {name}[{index}]: [node, direction in, direction out] is needed")
        index_of(f"{file}: {name}[{index}][0]", turn[0])
    return [(turn[0], turn[1], turn[2]) for turn in turns]


def topology_of(file: str, data: dict[str, Any], given: Topology | None) -> Topology:
    """The network of a file, or one of the same shape that is given instead, with other failures."""
    if given is not None and "topology" not in data:
        return given
    own = part_of(file, data, "topology", Topology)
    if given is None:
        return own
    if (own.sizes, own.wraps, own.twist) != (given.sizes, given.wraps, given.twist):
        raise SpecError(f"{file}: topology: the tables are for the {own}, not for the {given}")
    return given


def premises(
    file: str, data: dict[str, Any], topology: Topology, rules: str | RouterRules | None
) -> tuple[RouterRules, Source]:
    """The rules that tables are judged by, and what else their file says.

    A file that brings no rules says nothing about how its routers keep rings from blocking, so none of it
    is assumed: one channel per link, no bubble rule, any walk.
    """
    if data.get("format", FORMAT) != FORMAT:
        raise SpecError(f"{file}: format: {show(data['format'])} is not {FORMAT!r}")
    if data.get("version", VERSION) not in range(1, VERSION + 1):
        raise SpecError(f"{file}: version: {show(data['version'])}; versions 1 to {VERSION} are read")
    if "bound_exact" in data and read_fraction(data["bound_exact"]) is None:
        raise SpecError(f"{file}: bound_exact: {show(data['bound_exact'])} is not a fraction like 26 or 51/2")
    own: RouterRules | None = None
    if isinstance(data.get("rules"), str):
        own = placed(file, lambda: RouterRules.chosen(data["rules"], topology))
    elif "rules" in data:
        own = part_of(file, data, "rules", RouterRules)
    if rules is not None:
        chosen, rules_from = RouterRules.chosen(rules, topology), GIVEN
    elif own is not None:
        chosen, rules_from = own, IN_FILE
    else:
        chosen, rules_from = RouterRules.chosen("unrestricted", topology), ASSUMED
    turns = ("turns" in data or "withheld_turns" in data) and chosen == own and not chosen.any_walk
    fields = {name: value for name, value in data.items() if name not in PREMISES}
    return chosen, Source(rules_from, turns, fields)


def part_of(file: str, data: dict[str, Any], name: str, kind: type[Part]) -> Part:
    """The network or the rules of a file."""
    fields = data.get(name)
    if not isinstance(fields, dict) or not all(isinstance(field, str) for field in fields):
        raise SpecError(f"{file}: {name}: a table of fields is needed")
    return placed(file, lambda: kind(**fields))
