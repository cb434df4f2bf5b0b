"""Routing tables in files; every message about a damaged file names the file and the place in it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.outputs import replacing
from flitloom.provenance import version
from flitloom.routing.bound import Bound
from flitloom.routing.lft import read_lft
from flitloom.routing.rules import RouterRules
from flitloom.routing.tables import Tables
from flitloom.spec import Topology

Part = TypeVar("Part", Topology, RouterRules)
Made = TypeVar("Made")

#: What a file of tables says it is.
FORMAT = "flitloom-routing-tables"
#: Largest number of nodes whose tables are made into a text.
TEXT_NODES = 1024
#: Largest number of nodes whose tables are written route by route.
LISTED_NODES = 4096
#: Largest file that is read, in bytes.
LARGEST = 1 << 32
#: JSON files above this size are read line by line.
WHOLE = 1 << 26
#: Routes that are written at a time.
CHUNK = 4096


def json_text(tables: Tables) -> str:
    """The tables as JSON."""
    if tables.topology.nodes > TEXT_NODES:
        raise SpecError(
            f"output: a JSON text is made for at most {TEXT_NODES} nodes; "
            f"write {tables.topology.nodes} nodes to a .json file"
        )
    return "".join(_json_chunks(tables))


def write_json(tables: Tables, file: str | Path) -> None:
    """Write the tables as JSON, a few routes at a time."""
    if tables.topology.nodes > LISTED_NODES:
        raise SpecError(
            f"output: JSON lists every route and is for at most {LISTED_NODES} nodes; "
            f"write {tables.topology.nodes} nodes to an .npz file"
        )
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.writelines(_json_chunks(tables))


def _json_chunks(tables: Tables) -> Iterator[str]:
    """The text of a JSON file in pieces, a route per line."""
    sources, destinations, offsets, nodes = tables.listed()
    yield json.dumps(describe(tables), indent=1)[:-2] + ',\n "routes": [\n  '
    for start in range(0, len(sources), CHUNK):
        stop = min(start + CHUNK, len(sources))
        bounds = offsets[start : stop + 1].tolist()
        visited = nodes[bounds[0] : bounds[-1]].tolist()
        lines = []
        for at, (source, destination) in enumerate(
            zip(sources[start:stop].tolist(), destinations[start:stop].tolist(), strict=True)
        ):
            first, last = bounds[at] - bounds[0], bounds[at + 1] - bounds[0]
            line = f'{{"source": {source}, "destination": {destination}, "nodes": {visited[first:last]}'
            if tables.channels is not None:
                line += f', "channels": {tables.channels[bounds[at] : bounds[at + 1] - 1].tolist()}'
            lines.append(line + "}")
        yield (",\n  " if start else "") + ",\n  ".join(lines)
    yield "\n ]\n}\n"


def describe(tables: Tables) -> dict[str, Any]:
    """Everything about tables but their routes."""
    turns, withheld = tables.system.turns()
    return {
        "format": FORMAT,
        "version": 1,
        "flitloom": version(),
        "topology": tables.topology.model_dump(mode="json"),
        "rules": tables.rules.model_dump(mode="json"),
        "turns": [list(turn) for turn in turns],
        "withheld_turns": [list(turn) for turn in withheld],
        "method": tables.method,
        "seed": tables.seed,
        "weighted": tables.traffic is not None,
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


def save_headers(tables: Tables, file: str | Path) -> None:
    """Write packed headers as ``.npz``."""
    with replacing(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, headers=tables.headers(), about=np.array(json.dumps(describe(tables))))


def read(file: Path, topology: Topology | None, rules: str | RouterRules | None) -> Tables:
    """Read tables, whatever the kind of file."""
    try:
        size = file.stat().st_size
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror or error}") from None
    if size > LARGEST:
        raise SpecError(f"{file}: {size} bytes; files up to {LARGEST} bytes are read")
    try:
        if file.suffix == ".npz":
            return _read_headers(file)
        if size > WHOLE:
            return _read_lines(file, topology, rules)
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{file}: byte {error.start} is no UTF-8 text") from None
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror or error}") from None
    if text.lstrip().startswith("{"):
        data = _json_table(file, text)
        entries = data.get("routes")
        if not isinstance(entries, list):
            raise SpecError(f"{file}: routes: a list of routes is needed")
        return _read_json(file, data, entries, topology, rules)
    if topology is None:
        raise SpecError(f"{file}: does not say what network it is for; name it with --torus or --mesh")
    chosen = _rules(rules if rules is not None else "angara", topology)
    routes = _read_csv(file, text) if text.startswith("source,") else read_lft(file, text, topology)
    return Tables.listed_routes(topology, chosen, _system(topology, chosen), routes)


def _read_lines(file: Path, topology: Topology | None, rules: str | RouterRules | None) -> Tables:
    """Read a JSON file that is laid out as `write_json` does, a route per line."""
    head, rest = [], 1
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            rest += 1
            if line.strip() == '"routes": [':
                break
            head.append(line)
            if len(head) > 10**6 or len(line) > 10**6:
                raise SpecError(f"{file}: JSON of more than {WHOLE} bytes is read with one route per line")
        else:
            raise SpecError(f"{file}: routes: a list of routes, one per line, is needed")
        data = _json_table(file, "".join(head).rstrip().rstrip(",") + "}")
        return _read_json(file, data, _route_lines(file, lines, rest), topology, rules)


def _route_lines(file: Path, lines: Iterator[str], number: int) -> Iterator[Any]:
    for line in lines:
        text = line.strip().removesuffix(",")
        if text == "]":
            return
        try:
            yield json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise SpecError(f"{file}, line {number}: is no JSON: {error}") from None
        number += 1
    raise SpecError(f"{file}: the list of routes does not end; the file is cut off")


def _json_table(file: Path, text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SpecError(f"{file}: is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise SpecError(f"{file}: is no table of fields")
    return data


def _read_json(
    file: Path,
    data: dict[str, Any],
    entries: Iterable[Any],
    topology: Topology | None,
    rules: str | RouterRules | None,
) -> Tables:
    if topology is None:
        topology = _part(file, data, "topology", Topology)
    chosen = _rules(rules, topology) if rules is not None else _json_rules(file, data, topology)
    system = _placed(file, lambda: _system(topology, chosen))
    system = _placed(file, lambda: _with_turns(file, data, system))
    sources, destinations, nodes = array("I"), array("I"), array("I")
    lengths, channels = array("Q", [0]), array("B")
    with_channels = False
    for index, entry in enumerate(entries):
        place = f"{file}: routes[{index}]"
        if not isinstance(entry, dict):
            raise SpecError(f"{place}: is no table of fields")
        sources.append(_index(f"{place}.source", entry.get("source")))
        destinations.append(_index(f"{place}.destination", entry.get("destination")))
        visited = entry.get("nodes")
        if not isinstance(visited, list) or len(visited) < 2:
            raise SpecError(f"{place}.nodes: the nodes of the route, both ends included, are needed")
        if not _all_nodes(visited):
            for at, node in enumerate(visited):
                _index(f"{place}.nodes[{at}]", node)
        nodes.extend(visited)
        lengths.append(len(nodes))
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
    method = data.get("method", "given")
    seed = data.get("seed", 0)
    tables = Tables.listed_routes(
        topology,
        chosen,
        system,
        _arrays(sources, destinations, lengths, nodes),
        np.array(channels, dtype=np.uint8) if with_channels else None,
        method if isinstance(method, str) else "given",
        seed if isinstance(seed, int) else 0,
        _bound(file, data),
    )
    if data.get("weighted") is not True:
        _claims(file, data, tables)
    return tables


def _claims(file: Path, data: dict[str, Any], tables: Tables) -> None:
    """What the file says about its loads must follow from its routes."""
    for name in ("max_load", "min_load"):
        claimed = data.get(name)
        found = getattr(tables, name)
        if claimed is not None and claimed != found:
            raise SpecError(f"{file}: {name}: the file says {claimed!r}, its routes give {found}")


def _read_headers(file: Path) -> Tables:
    try:
        # From memory, so that no damage leaves the file open.
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as archive:
            headers, about = archive["headers"], json.loads(str(archive["about"]))
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile, RecursionError) as error:
        raise SpecError(f"{file}: is no file of packed headers: {error}") from None
    except Exception as error:
        # zlib and the array parser have error types of their own.
        raise SpecError(f"{file}: is damaged: {error}") from None
    if not isinstance(about, dict):
        raise SpecError(f"{file}: about: is no table of fields")
    topology = _part(file, about, "topology", Topology)
    rules = _json_rules(file, about, topology)
    system = _placed(file, lambda: _system(topology, rules))
    system = _placed(file, lambda: _with_turns(file, about, system))
    if headers.shape != (topology.nodes, topology.nodes) or headers.dtype != np.uint32:
        raise SpecError(f"{file}: headers: {topology.nodes} x {topology.nodes} headers of 32 bits are needed")
    table = _placed(file, lambda: _core.RoutingTable.from_headers(system, np.ascontiguousarray(headers)))
    facts = table.check()
    method, seed = str(about.get("method", "given")), int(about.get("seed", 0) or 0)
    bound = _bound(file, about) or Bound(Fraction(0), "none")
    return Tables.generated(topology, rules, system, table, facts, bound, method, seed, None, None)


def _read_csv(file: Path, text: str) -> tuple[NDArray[Any], ...]:
    sources, destinations, nodes = array("I"), array("I"), array("I")
    lengths = array("Q", [0])
    for line, row in enumerate(csv.reader(text.splitlines()), start=1):
        if line == 1:
            if row != ["source", "destination", "nodes"]:
                raise SpecError(f"{file}, line 1: the heading must be source,destination,nodes")
            continue
        place = f"{file}, line {line}"
        if len(row) != 3:
            raise SpecError(f"{place}: {len(row)} values; source, destination and nodes are needed")
        try:
            source, destination, *visited = [int(number) for number in (*row[:2], *row[2].split())]
        except ValueError:
            raise SpecError(f"{place}: {','.join(row)!r} is not made of whole numbers") from None
        sources.append(_index(place, source))
        destinations.append(_index(place, destination))
        nodes.extend(_index(place, node) for node in visited)
        if len(visited) < 2:
            raise SpecError(f"{place}: the nodes of the route, both ends included, are needed")
        lengths.append(len(nodes))
    return _arrays(sources, destinations, lengths, nodes)


def _arrays(
    sources: array[int], destinations: array[int], lengths: array[int], nodes: array[int]
) -> tuple[NDArray[Any], ...]:
    return (
        np.array(sources, dtype=np.uint32),
        np.array(destinations, dtype=np.uint32),
        np.array(lengths, dtype=np.uint64),
        np.array(nodes, dtype=np.uint32),
    )


def _all_nodes(visited: list[Any]) -> bool:
    """Whether all are numbers of nodes, whatever the network."""
    return all(type(node) is int for node in visited) and min(visited) >= 0 and max(visited) < 2**20


def _index(place: str, value: Any, last: int = 2**20 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= last:
        raise SpecError(f"{place}: {value!r} must be a whole number from 0 to {last}")
    return value


def _bound(file: Path, data: dict[str, Any]) -> Bound | None:
    if "bound_exact" not in data:
        return None
    try:
        return Bound(Fraction(str(data["bound_exact"])), str(data.get("proof", "given")))
    except (ValueError, ZeroDivisionError):
        raise SpecError(f"{file}: bound_exact: {data['bound_exact']!r} is no fraction") from None


def _with_turns(file: Path, data: dict[str, Any], system: _core.RoutingSystem) -> _core.RoutingSystem:
    turns, withheld = _turns(file, data, "turns"), _turns(file, data, "withheld_turns")
    return system.with_turns(turns, withheld) if turns or withheld else system


def _turns(file: Path, data: dict[str, Any], name: str) -> list[tuple[int, str, str]]:
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


def _json_rules(file: Path, data: dict[str, Any], topology: Topology) -> RouterRules:
    given = data.get("rules", "angara")
    if isinstance(given, str):
        return _placed(file, lambda: RouterRules.named(given, len(topology.sizes)))
    return _part(file, data, "rules", RouterRules)


def _rules(rules: str | RouterRules, topology: Topology) -> RouterRules:
    return RouterRules.named(rules, len(topology.sizes)) if isinstance(rules, str) else rules


def _system(topology: Topology, rules: RouterRules) -> _core.RoutingSystem:
    return _core.RoutingSystem(
        topology.sizes, topology.wraps, topology.failed_nodes, topology.failed_links, rules.core(), "none"
    )


def _part(file: Path, data: dict[str, Any], name: str, kind: type[Part]) -> Part:
    fields = data.get(name)
    if not isinstance(fields, dict) or not all(isinstance(field, str) for field in fields):
        raise SpecError(f"{file}: {name}: a table of fields is needed")
    return _placed(file, lambda: kind(**fields))


def _placed(file: Path, make: Callable[[], Made]) -> Made:
    """Put the file in front of what is wrong with one of its parts."""
    try:
        return make()
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from None
