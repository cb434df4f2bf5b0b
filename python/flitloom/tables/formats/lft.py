"""Linear forwarding tables as OpenSM dumps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, show
from flitloom.ground.limits import LISTED_NODES, TABLE_HOPS
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.spec import Topology
from flitloom.spec.ground import Ground
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.form import Format
from flitloom.tables.formats.format import without_heading

#: Routes that are looked at at a time.
_ROUTES = 1 << 16
_SWITCH = re.compile(
    r"Unicast lids \[0x([0-9a-fA-F]{1,8})-0x([0-9a-fA-F]{1,8})\] of switch Lid (?:0x)?([0-9a-fA-F]{1,8})\b"
)
_ROW = re.compile(r"0x([0-9a-fA-F]{4,8}) ([0-9]{3})\b")


def write(tables: Tables, file: str | Path | None) -> str:
    """The tables by destination as text; raises `SpecError` if they cannot be followed that way."""
    topology = tables.topology
    count = topology.nodes
    ports = _first_hops(tables)
    point = Ground(topology).point
    names = [str(point(node)).replace(" ", "") for node in range(count)]
    working = [node for node in range(count) if node not in set(topology.failed_nodes)]
    blocks = []
    for node in working:
        lid, guid = f"0x{node + 1:x}", f"0x{node + 1:016x}"
        head = f"Unicast lids [0x1-0x{count:x}] of switch Lid {lid} guid {guid} (node {node} {names[node]}):"
        rows = [
            f"0x{other + 1:04x} {ports[node, other]:03d} : "
            f"(Switch portguid 0x{other + 1:016x}: 'node {other} {names[other]}')"
            for other in working
        ]
        blocks.append(
            "\n".join(
                [
                    head,
                    "  Lid  Out   Destination",
                    "       Port     Info",
                    *rows,
                    f"{len(rows)} valid lids dumped",
                ]
            )
        )
    text = "\n".join(blocks) + "\n"
    if file is not None:
        write_text(file, text)
    return text


def _read(file: str, lines: Iterable[tuple[int, str]], topology: Topology) -> tuple[NDArray[Any], ...]:
    """Routes that the forwarding tables of a dump describe: sources, destinations, offsets, nodes."""
    count = topology.nodes
    if count > LISTED_NODES:
        raise SpecError(
            f"{file}: {counted(count, 'node')}; forwarding tables are read for at most {LISTED_NODES}"
        )
    ports = np.full((count, count), -1, dtype=np.int8)
    switch: int | None = None
    known = f"is none of the {counted(count, 'node')}, 0x1 to 0x{count:x}"
    for number, row in lines:
        if head := _SWITCH.match(row):
            switch = int(head[3], 16) - 1
            if not 0 <= switch < count:
                raise SpecError(f"{file}, line {number}: LID 0x{switch + 1:x} {known}")
        elif match := _ROW.match(row.strip()):
            lid = int(match[1], 16)
            if switch is None:
                raise SpecError(f"{file}, line {number}: a row before the first switch")
            if not 1 <= lid <= count:
                raise SpecError(f"{file}, line {number}: LID 0x{lid:x} {known}")
            port = int(match[2])
            if port > 2 * len(topology.sizes) and port != 255:
                last = 2 * len(topology.sizes)
                raise SpecError(f"{file}, line {number}: port {port}; ports are 0 to {last}")
            ports[switch, lid - 1] = -1 if port == 255 else port
        elif row.lstrip().startswith("0x"):
            raise SpecError(f"{file}, line {number}: {show(row.strip())} is not a row of a forwarding table")
    if switch is None:
        raise SpecError(f"{file}: no switch found; a dump has lines 'Unicast lids [..] of switch Lid ..'")
    return _follow(file, ports, topology)


def _follow(file: str, ports: NDArray[np.int8], topology: Topology) -> tuple[NDArray[Any], ...]:
    """The routes of all pairs of working nodes that have a port, all to one destination at a time.

    Tables that never arrive are cut off after as many hops as there are nodes, and found wrong by the
    check.
    """
    count, behind = topology.nodes, _behind(topology)
    working = np.ones(count, dtype=bool)
    working[list(topology.failed_nodes)] = False

    def steps(destination: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Sources still on their way, and where they are, hop by hop."""
        port = np.maximum(ports[:, destination], 0)
        sources = np.flatnonzero(working & working[destination] & (ports[:, destination] >= 0))
        sources = here = sources[sources != destination]
        for _ in range(count):
            there = behind[here, port[here]]
            moving = there != here
            sources, here = sources[moving], there[moving]
            if not len(sources):
                return
            yield sources, here
            ahead = here != destination
            sources, here = sources[ahead], here[ahead]

    lengths = np.zeros((count, count), dtype=np.uint32)
    total = 0
    for destination in range(count):
        begun = working & working[destination] & (ports[:, destination] >= 0)
        begun[destination] = False
        lengths[begun, destination] = 1
        total += int(begun.sum())
        for sources, _ in steps(destination):
            lengths[sources, destination] += 1
            total += len(sources)
            if total > TABLE_HOPS:
                raise SpecError(f"{file}: its routes visit more than {TABLE_HOPS} nodes; some never arrive")
    # A route that does not begin to move is shown as one from its source to itself.
    stuck = lengths == 1
    lengths[stuck] = 2
    pairs = np.flatnonzero(lengths)
    offsets = np.zeros(len(pairs) + 1, dtype=np.uint64)
    np.cumsum(lengths.ravel()[pairs], out=offsets[1:])
    place = np.zeros((count, count), dtype=np.uint32)
    place.ravel()[pairs] = offsets[:-1].astype(np.uint32)
    nodes = np.repeat((pairs // count).astype(np.uint32), lengths.ravel()[pairs])
    for destination in range(count):
        for hop, (sources, here) in enumerate(steps(destination), start=1):
            nodes[place[sources, destination] + np.uint32(hop)] = here
    return (pairs // count).astype(np.uint32), (pairs % count).astype(np.uint32), offsets, nodes


def _first_hops(tables: Tables) -> NDArray[np.int16]:
    """Port of the first hop of every pair; checks that every route continues as those of its nodes."""
    topology = tables.topology
    sources, destinations, offsets, nodes = tables.listed()
    following = np.full((topology.nodes, topology.nodes), -1, dtype=np.int32)
    following[sources, destinations] = nodes[offsets[:-1].astype(np.int64) + 1]
    for first in range(0, len(sources), _ROUTES):
        bounds = offsets[first : first + _ROUTES + 1].astype(np.int64)
        here = nodes[bounds[0] : bounds[-1] - 1]
        owner = np.repeat(np.arange(first, first + len(bounds) - 1), np.diff(bounds))[:-1]
        ahead = np.ones(len(here), dtype=bool)
        ahead[bounds[1:-1] - bounds[0] - 1] = False
        there = nodes[bounds[0] + 1 : bounds[-1]]
        wrong = np.flatnonzero(ahead & (following[here, destinations[owner]] != there))
        if len(wrong):
            route = int(owner[wrong[0]])
            raise SpecError.at(
                "output",
                f"the route from node {sources[route]} to node {destinations[route]} leaves node "
                f"{here[wrong[0]]} by another port than that node's own route",
                'forwarding by destination needs method "coherent"',
            )
    ports = np.zeros((topology.nodes, topology.nodes), dtype=np.int16)
    for port, there in enumerate(_behind(topology).T):
        ports[following == there[:, None]] = port
    if len(lost := np.argwhere((following >= 0) & (ports == 0))):
        source, destination = lost[0].tolist()
        problem = f"the route from node {source} to node {destination} begins along no link"
        raise SpecError.at("output", problem, "fl.tables.check says what else is wrong")
    return ports


def _behind(topology: Topology) -> NDArray[np.int64]:
    """The node behind every port of a node; itself behind port 0 and at the rim of a mesh."""
    nodes, stride = np.arange(topology.nodes, dtype=np.int64), 1
    ports = [nodes]
    for size, wraps in zip(topology.sizes, topology.wraps, strict=True):
        at = nodes // stride % size
        for there in (at + 1, at - 1):
            exists = (there >= 0) & (there < size) | wraps
            ports.append(np.where(exists, nodes + (there % size - at) * stride, nodes))
        stride *= size
    return np.stack(ports, axis=1)


FORMAT = Format(without_heading(_read), write, lambda _start: True)
