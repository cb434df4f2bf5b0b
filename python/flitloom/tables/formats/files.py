"""Routing tables in files; every message about a damaged file names the file and the place in it."""

from __future__ import annotations

import io
import os
import zipfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, require_file, show, show_file
from flitloom.limits import ARRAY_BYTES, DIGITS, TABLE_BYTES, TABLE_HOPS
from flitloom.numerals import counted
from flitloom.reading import (
    Progress,
    json_fields,
    opened,
    placed,
    read_array,
    read_json_list,
)
from flitloom.spec import Topology
from flitloom.tables.by_source.bound import read_fraction
from flitloom.tables.by_source.rules import RouterRules, routing_system
from flitloom.tables.by_source.tables import ASSUMED, GIVEN, IN_FILE, Source, Tables
from flitloom.tables.formats.lft import read_lft
from flitloom.tables.formats.writing import FORMAT, VERSION

Part = TypeVar("Part", Topology, RouterRules)

#: Fields that say what the tables are; everything else in a file is a claim about them.
PREMISES = ("format", "version", "topology", "rules", "turns", "withheld_turns", "routes")


def read_tables(
    file: str | Path,
    topology: Topology | None = None,
    rules: str | RouterRules | None = None,
    progress: Progress | None = None,
) -> Tables:
    """Read tables by source; parameters are those of `flitloom.tables.read`."""
    require_file(file)
    return read(Path(file), topology, rules, progress)


def read(
    file: Path, topology: Topology | None, rules: str | RouterRules | None, progress: Progress | None = None
) -> Tables:
    """Read tables from any kind of file."""
    if os.path.isdir(file):
        raise SpecError.at(
            show_file(file),
            "is a folder of tables by destination, which do not name their network",
            "name it with --fabric FILE, --network NAME or --torus SIZES --twist",
        )
    if file.suffix == ".npz":
        return _read_headers(file, topology, rules, progress)
    with opened(file, TABLE_BYTES) as source:
        start = source.start()
        if start[:1] in (b"{", b"["):
            data, entries = read_json_list(source, "routes", progress)
            if entries is None:
                raise SpecError(f"{source.name}: routes: a list of routes is needed")
            return _read_json(source.name, data, entries, topology, rules, progress)
        if topology is None:
            unknown = "does not say what network it is for; name it with --torus or --mesh"
            raise SpecError(f"{source.name}: {unknown}")
        chosen, said = _premises(source.name, {}, topology, rules)
        lines = source.lines(progress)
        if start.startswith(b"source,"):
            routes = _read_csv(source.name, lines)
        else:
            routes = read_lft(source.name, lines, topology)
    system = routing_system(topology, chosen)
    return Tables.given(topology, chosen, system, routes, said, progress=progress)


def _read_json(
    file: str,
    data: dict[str, Any],
    entries: Iterable[Any],
    topology: Topology | None,
    rules: str | RouterRules | None,
    progress: Progress | None,
) -> Tables:
    topology = _topology(file, data, topology)
    chosen, said = _premises(file, data, topology, rules)
    system = placed(file, lambda: _with_turns(file, data, routing_system(topology, chosen), said))
    listed = Listed(file)
    channels = array("B")
    with_channels = False
    for index, entry in enumerate(entries):
        place = f"{file}: routes[{index}]"
        if not isinstance(entry, dict):
            raise SpecError(f"{place}: is no table of fields")
        visited = entry.get("nodes")
        if not isinstance(visited, list) or len(visited) < 2:
            raise SpecError(f"{place}.nodes: the nodes of the route, both ends included, are needed")
        if not _all_nodes(visited):
            for at, node in enumerate(visited):
                _index(f"{place}.nodes[{at}]", node)
        source = _index(f"{place}.source", entry.get("source"))
        listed.add(source, _index(f"{place}.destination", entry.get("destination")), visited)
        if index == 0:
            with_channels = "channels" in entry
        if with_channels or "channels" in entry:
            used = entry.get("channels") if with_channels else None
            if not isinstance(used, list) or len(used) != len(visited) - 1:
                raise SpecError(
                    f"{place}.channels: one virtual channel per hop ({len(visited) - 1}) is needed"
                )
            channels.extend([_index(f"{place}.channels[{at}]", one, 255) for at, one in enumerate(used)])
            channels.append(0)
    return Tables.given(
        topology,
        chosen,
        system,
        listed.arrays(),
        said,
        np.frombuffer(channels, dtype=np.uint8) if with_channels else None,
        progress,
    )


def _read_headers(
    path: Path, topology: Topology | None, rules: str | RouterRules | None, progress: Progress | None
) -> Tables:
    file = show_file(path)
    try:
        # From memory, so that no damage leaves the file open.
        with opened(path, ARRAY_BYTES) as source:
            content = io.BytesIO(source.content())
        with zipfile.ZipFile(content) as archive:
            headers, text = (read_array(archive, name, file) for name in ("headers", "about"))
    except SpecError:
        raise
    except Exception as error:
        # zip, zlib and the array parser have error types of their own.
        raise SpecError(f"{file}: is no file of packed headers, or damaged: {error}") from None
    if text.dtype.kind != "U" or text.shape != ():
        raise SpecError(f"{file}: about: a text is needed")
    about = json_fields(str(text), f"{file}: about")
    if "rules" not in about:
        raise SpecError(f"{file}: rules: are missing; packed headers cannot be read without their order")
    judged = _topology(file, about, topology)
    # The headers are hops in their own network and order, whatever they are judged by.
    own = _part(file, about, "topology", Topology)
    if headers.shape != (own.nodes, own.nodes) or headers.dtype != np.uint32:
        raise SpecError(f"{file}: headers: {own.nodes} x {own.nodes} headers of 32 bits are needed")
    chosen, said = _premises(file, about, own, None)
    system = placed(file, lambda: _with_turns(file, about, routing_system(own, chosen), said))
    table = placed(file, lambda: _core.RoutingTable.from_headers(system, np.ascontiguousarray(headers)))
    tables = Tables.given(own, chosen, system, table, said, progress=progress)
    return tables if rules is None and judged == own else tables.under(rules, judged, progress)


def _read_csv(file: str, lines: Iterator[tuple[int, str]]) -> tuple[NDArray[Any], ...]:
    listed = Listed(file)
    for number, text in lines:
        place = f"{file}, line {number}"
        row = [cell.strip() for cell in text.rstrip("\r\n").replace('"', "").split(",")]
        if number == 1:
            if row != ["source", "destination", "nodes"]:
                raise SpecError(f"{place}: the heading must be source,destination,nodes")
            continue
        if row == [""]:
            continue
        if len(row) != 3:
            raise SpecError(
                f"{place}: {counted(len(row), 'value')}; source, destination and nodes are needed"
            )
        cells = [*row[:2], *row[2].split()]
        if not all(cell.isascii() and cell.isdigit() and len(cell) <= DIGITS for cell in cells):
            raise SpecError(f"{place}: {show(','.join(row))} is not made of whole numbers")
        source, destination, *visited = map(int, cells)
        if len(visited) < 2:
            raise SpecError(f"{place}: the nodes of the route, both ends included, are needed")
        if not _all_nodes(visited):
            for node in visited:
                _index(place, node)
        listed.add(_index(place, source), _index(place, destination), visited)
    return listed.arrays()


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


def _all_nodes(visited: list[Any]) -> bool:
    """Whether all are numbers of nodes, whatever the network."""
    return all(type(node) is int for node in visited) and min(visited) >= 0 and max(visited) < 2**20


def _index(place: str, value: Any, last: int = 2**20 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= last:
        raise SpecError(f"{place}: {show(value)} must be a whole number from 0 to {last}")
    return value


def _with_turns(
    file: str, data: dict[str, Any], system: _core.RoutingSystem, said: Source
) -> _core.RoutingSystem:
    turns, withheld = _turns(file, data, "turns"), _turns(file, data, "withheld_turns")
    return system.with_turns(turns, withheld) if said.turns else system


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
        _index(f"{file}: {name}[{index}][0]", turn[0])
    return [(turn[0], turn[1], turn[2]) for turn in turns]


def _topology(file: str, data: dict[str, Any], given: Topology | None) -> Topology:
    """The network of a file, or one of the same shape that is given instead, with failures of its own."""
    if given is not None and "topology" not in data:
        return given
    own = _part(file, data, "topology", Topology)
    if given is None:
        return own
    if (own.sizes, own.wraps, own.twist) != (given.sizes, given.wraps, given.twist):
        raise SpecError(f"{file}: topology: the tables are for the {own}, not for the {given}")
    return given


def _premises(
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
        raise SpecError(f"{file}: bound_exact: {show(data['bound_exact'])} is no fraction like 26 or 51/2")
    own: RouterRules | None = None
    if isinstance(data.get("rules"), str):
        own = placed(file, lambda: RouterRules.chosen(data["rules"], topology))
    elif "rules" in data:
        own = _part(file, data, "rules", RouterRules)
    if rules is not None:
        chosen, rules_from = RouterRules.chosen(rules, topology), GIVEN
    elif own is not None:
        chosen, rules_from = own, IN_FILE
    else:
        chosen, rules_from = RouterRules.chosen("unrestricted", topology), ASSUMED
    turns = ("turns" in data or "withheld_turns" in data) and chosen == own and not chosen.any_walk
    fields = {name: value for name, value in data.items() if name not in PREMISES}
    return chosen, Source(rules_from, turns, fields)


def _part(file: str, data: dict[str, Any], name: str, kind: type[Part]) -> Part:
    fields = data.get(name)
    if not isinstance(fields, dict) or not all(isinstance(field, str) for field in fields):
        raise SpecError(f"{file}: {name}: a table of fields is needed")
    return placed(file, lambda: kind(**fields))
