"""Linear forwarding tables as OpenSM dumps them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.spec import Topology
from flitloom.spec.topology import DIMENSION_NAMES

if TYPE_CHECKING:
    from flitloom.routing.tables import Tables

_SWITCH = re.compile(
    r"Unicast lids \[0x([0-9a-fA-F]{1,8})-0x([0-9a-fA-F]{1,8})\] of switch Lid (?:0x)?([0-9a-fA-F]{1,8})\b"
)
_ROW = re.compile(r"0x([0-9a-fA-F]{4,8}) ([0-9]{3})\b")


def lft_text(tables: Tables) -> str:
    """The tables by destination; raises `SpecError` if they cannot be followed that way."""
    topology = tables.topology
    count = topology.nodes
    if count > 0xBFFF:
        raise SpecError(f"output: {count} nodes; unicast LIDs end at 0xbfff")
    ports = _first_hops(tables)
    names = [str(_coordinates(topology, node)).replace(" ", "") for node in range(count)]
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
    return "\n".join(blocks) + "\n"


def read_lft(file: Path, text: str, topology: Topology) -> tuple[NDArray[Any], ...]:
    """Routes that the forwarding tables of a dump describe: sources, destinations, offsets, nodes."""
    count = topology.nodes
    ports = np.full((count, count), -1, dtype=np.int16)
    switch: int | None = None
    for line, row in enumerate(text.splitlines(), start=1):
        head = _SWITCH.match(row)
        if head:
            switch = int(head[3], 16) - 1
            if not 0 <= switch < count:
                text = f"LID 0x{switch + 1:x} is none of the {count} nodes, 0x1 to 0x{count:x}"
                raise SpecError(f"{file}, line {line}: {text}")
        elif match := _ROW.match(row.strip()):
            lid = int(match[1], 16)
            if switch is None:
                raise SpecError(f"{file}, line {line}: a row before the first switch")
            if not 1 <= lid <= count:
                raise SpecError(
                    f"{file}, line {line}: LID 0x{lid:x} is none of the {count} nodes, 0x1 to 0x{count:x}"
                )
            port = int(match[2])
            if port > 2 * len(topology.sizes) and port != 255:
                raise SpecError(f"{file}, line {line}: port {port}; ports are 0 to {2 * len(topology.sizes)}")
            ports[switch, lid - 1] = -1 if port == 255 else port
        elif row.lstrip().startswith("0x"):
            raise SpecError(f"{file}, line {line}: {row.strip()[:40]!r} is no row of a forwarding table")
    if switch is None:
        raise SpecError(f"{file}: no switch found; a dump has lines 'Unicast lids [..] of switch Lid ..'")
    return _follow(ports, topology)


def _follow(ports: NDArray[np.int16], topology: Topology) -> tuple[NDArray[Any], ...]:
    neighbours = [
        [_neighbour(topology, node, port) for port in range(2 * len(topology.sizes))]
        for node in range(topology.nodes)
    ]
    sources, destinations, offsets, nodes = [], [], [0], []
    failed = set(topology.failed_nodes)
    for source in range(topology.nodes):
        for destination in range(topology.nodes):
            if source == destination or {source, destination} & failed or ports[source, destination] < 0:
                continue
            here, route = source, [source]
            # Tables that never arrive are cut off, and found wrong by the check.
            while here != destination and len(route) <= topology.nodes:
                port = int(ports[here, destination])
                step = neighbours[here][port - 1] if port > 0 else None
                if step is None:
                    break
                here = step
                route.append(here)
            sources.append(source)
            destinations.append(destination)
            nodes.extend(route if len(route) > 1 else [source, source])
            offsets.append(len(nodes))
    return (
        np.array(sources, dtype=np.uint32),
        np.array(destinations, dtype=np.uint32),
        np.array(offsets, dtype=np.uint64),
        np.array(nodes, dtype=np.uint32),
    )


def _first_hops(tables: Tables) -> NDArray[np.int16]:
    """Port of the first hop of every pair; checks that every route goes on as its nodes' own routes."""
    topology = tables.topology
    sources, destinations, offsets, nodes = tables.listed()
    starts = offsets[:-1].astype(np.int64)
    following = np.full((topology.nodes, topology.nodes), -1, dtype=np.int64)
    following[sources, destinations] = nodes[starts + 1]
    lengths = np.diff(offsets).astype(np.int64)
    owner = np.repeat(np.arange(len(sources)), lengths)
    last = np.zeros(len(nodes), dtype=bool)
    last[offsets[1:].astype(np.int64) - 1] = True
    at = np.flatnonzero(~last)
    wrong = at[following[nodes[at], destinations[owner[at]]] != nodes[at + 1]]
    if len(wrong):
        route = int(owner[wrong[0]])
        raise SpecError(
            f"output: the route from node {sources[route]} to node {destinations[route]} leaves node "
            f"{nodes[wrong[0]]} another way than that node's own route; forwarding by destination needs "
            'method "coherent"'
        )
    ports = np.zeros((topology.nodes, topology.nodes), dtype=np.int16)
    for source in range(topology.nodes):
        steps = {_neighbour(topology, source, port): port + 1 for port in range(2 * len(topology.sizes))}
        for destination in range(topology.nodes):
            if following[source, destination] >= 0:
                ports[source, destination] = steps[int(following[source, destination])]
    return ports


def _coordinates(topology: Topology, node: int) -> tuple[int, ...]:
    coordinates = []
    for size in topology.sizes:
        node, coordinate = divmod(node, size)
        coordinates.append(coordinate)
    return tuple(coordinates)


def _neighbour(topology: Topology, node: int, direction: int) -> int | None:
    dimension, minus = divmod(direction, 2)
    coordinates = list(_coordinates(topology, node))
    size = topology.sizes[dimension]
    there = coordinates[dimension] + (-1 if minus else 1)
    if not 0 <= there < size:
        if not topology.wraps[dimension]:
            return None
        there %= size
    coordinates[dimension] = there
    index = 0
    for extent, coordinate in zip(reversed(topology.sizes), reversed(coordinates), strict=True):
        index = index * extent + coordinate
    return index


def direction_names(topology: Topology) -> list[str]:
    """Names of the directions by their index: +x, -x, +y, ..."""
    return [f"{sign}{name}" for name in DIMENSION_NAMES[: len(topology.sizes)] for sign in "+-"]
