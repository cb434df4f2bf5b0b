"""Tables as JSON: everything, each route with its nodes."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_NODES
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import replacing
from flitloom.ground.reading import Progress, Source, read_json_list
from flitloom.spec import Topology
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.form import Format
from flitloom.tables.formats.format import (
    Listed,
    are_nodes,
    describe,
    index_of,
    premises,
    system_of,
    topology_of,
)

#: Largest number of nodes whose tables are made into a text.
TEXT_NODES = 1024
#: Routes that are written at a time.
CHUNK = 4096


def _read(
    opened: Source, given: Topology | None, wanted: str | RouterRules | None, progress: Progress | None
) -> Tables:
    file = opened.name
    data, entries = read_json_list(opened, "routes", progress)
    if entries is None and "format" not in data:
        raise SpecError.at(
            file, 'has no "format" and no list of routes', "a plan needs the one, tables of routes the other"
        )
    if entries is None:
        raise SpecError(f"{file}: routes: a list of routes is needed")
    topology = topology_of(file, data, given)
    rules, said = premises(file, data, topology, wanted)
    system = system_of(file, data, topology, rules, said)
    listed = Listed(file)
    channels = array("B")
    with_channels = False
    for index, entry in enumerate(entries):
        place = f"{file}: routes[{index}]"
        if not isinstance(entry, dict):
            raise SpecError(f"{place}: is not a table of fields")
        visited = entry.get("nodes")
        if not isinstance(visited, list) or len(visited) < 2:
            raise SpecError(f"{place}.nodes: the nodes of the route, both ends included, are needed")
        if not are_nodes(visited):
            for at, node in enumerate(visited):
                index_of(f"{place}.nodes[{at}]", node)
        begin = index_of(f"{place}.source", entry.get("source"))
        listed.add(begin, index_of(f"{place}.destination", entry.get("destination")), visited)
        if index == 0:
            with_channels = "channels" in entry
        if with_channels or "channels" in entry:
            used = entry.get("channels") if with_channels else None
            if not isinstance(used, list) or len(used) != len(visited) - 1:
                raise SpecError(
                    f"{place}.channels: one virtual channel per hop ({len(visited) - 1}) is needed"
                )
            channels.extend([index_of(f"{place}.channels[{at}]", one, 255) for at, one in enumerate(used)])
            channels.append(0)
    used = np.frombuffer(channels, dtype=np.uint8) if with_channels else None
    return Tables.given(topology, rules, system, listed.arrays(), said, used, progress)


def write(tables: Tables, file: str | Path | None) -> str | None:
    """Write the tables a few routes at a time, or give them as text."""
    count = tables.topology.nodes
    if file is None:
        if count > TEXT_NODES:
            raise SpecError.at(
                "output",
                f"a JSON text is made for at most {TEXT_NODES} nodes",
                f"write {counted(count, 'node')} to a .json file",
            )
        return "".join(_chunks(tables))
    if count > LISTED_NODES:
        raise SpecError.at(
            "output",
            f"JSON lists every route and is for at most {LISTED_NODES} nodes",
            f"write {counted(count, 'node')} to an .npz file",
        )
    with replacing(file) as out:
        out.writelines(text.encode() for text in _chunks(tables))
    return None


def _chunks(tables: Tables) -> Iterator[str]:
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


FORMAT = Format(_read, write, lambda start: start[:1] in (b"{", b"["))
