"""Why a grid does not fit on a network, as far as counts, colours, cuts and Hall's theorem say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flitloom.ground.numerals import counted
from flitloom.placing.ground import Ground, grid_cables, neighbours_of
from flitloom.spec import Topology


def plain_reason(shape: Topology, ground: Ground) -> dict[str, Any] | None:
    """The first proof that a grid does not fit: positions, cables, degrees, parts, colours, cuts, holders.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import ground_of
    >>> plain_reason(fl.Torus(5, 3), ground_of(fl.Torus(4, 4)))["text"]
    'a ring of 5 has an odd number of cables, and no ring of the network has'
    """
    cables = grid_cables(shape.sizes, shape.wraps)
    positions = shape.nodes
    if positions > len(ground.nodes):
        text = f"{positions} nodes are needed, {len(ground.nodes)} are there"
        return {"kind": "positions", "text": text, "needed": positions, "there": len(ground.nodes)}
    if len(cables) > len(ground.cables):
        text = f"{len(cables)} cables are needed, {len(ground.cables)} are there"
        return {"kind": "cables", "text": text, "needed": len(cables), "there": len(ground.cables)}
    degrees = [0] * positions
    for a, b in cables:
        degrees[a] += 1
        degrees[b] += 1
    for degree in range(max(degrees), 0, -1):
        need = sum(one >= degree for one in degrees)
        have = sum(len(ground.neighbours[node]) >= degree for node in ground.nodes)
        if need > have:
            text = f"{need} positions need {counted(degree, 'cable')}, only {have} nodes have as many"
            return {"kind": "degrees", "text": text, "degree": degree, "needed": need, "there": have}
    reason = _parted(shape, ground) or _coloured(shape, ground) or _separated(shape, ground)
    # Where parts are missing, those that would have to come back say more.
    return reason or (None if ground.missing else _held(shape, ground))


#: Cables of a position or node, and those of its neighbours, the most first.
Surroundings = tuple[int, ...]


def _held(shape: Topology, ground: Ground) -> dict[str, Any] | None:
    """Positions that fewer nodes can hold (Hall 1935).

    A node holds a position only if it has as many neighbours, and these as many cables one by one. Positions
    and nodes of the same surroundings are one class, and a flow between classes says whether all are held.
    """
    around = neighbours_of(shape.nodes, grid_cables(shape.sizes, shape.wraps))
    positions = _classes(range(shape.nodes), around)
    nodes = _classes(ground.nodes, ground.neighbours)
    able = {
        wanted: [
            had
            for had in nodes
            if len(had) >= len(wanted) and all(a >= b for a, b in zip(had, wanted, strict=False))
        ]
        for wanted in positions
    }
    held = _flow({one: len(members) for one, members in positions.items()}, able, nodes)
    # From positions that are not held, to all that could hold them, and back to what these hold.
    reached = [one for one, members in positions.items() if sum(held[one].values()) < len(members)]
    if not reached:
        return None
    seen: set[Surroundings] = set()
    for wanted in reached:
        for had in able[wanted]:
            if had not in seen:
                seen.add(had)
                reached += [one for one in positions if held[one].get(had) and one not in reached]
    needed = sum(len(positions[one]) for one in reached)
    there = sum(len(nodes[one]) for one in seen)
    first = positions[reached[0]][0]
    place = ",".join(map(str, _place(first, shape.sizes)))
    text = (
        f"{counted(needed, 'position')}, ({place}) first, can be held by "
        f"{counted(there, 'node')} only: others lack cables nearby"
    )
    return {"kind": "holders", "text": text, "needed": needed, "there": there}


def _place(position: int, sizes: Sequence[int]) -> list[int]:
    place = []
    for size in sizes:
        position, here = divmod(position, size)
        place.append(here)
    return place


def _classes(members: Iterable[int], around: Sequence[Sequence[int]]) -> dict[Surroundings, list[int]]:
    """Members by the cables of their neighbours."""
    found: dict[Surroundings, list[int]] = {}
    for one in members:
        key = tuple(sorted((len(around[peer]) for peer in around[one]), reverse=True))
        found.setdefault(key, []).append(one)
    return found


def _flow(
    wanted: dict[Surroundings, int],
    able: dict[Surroundings, list[Surroundings]],
    nodes: dict[Surroundings, list[int]],
) -> dict[Surroundings, dict[Surroundings, int]]:
    """How many of every class of positions are held by which class of nodes, as many as possible in all."""
    free = {one: len(members) for one, members in nodes.items()}
    held: dict[Surroundings, dict[Surroundings, int]] = {one: {} for one in wanted}
    for start, count in wanted.items():
        for _ in range(count):
            before: dict[Surroundings, tuple[Surroundings, Surroundings | None]] = {}
            line: list[tuple[Surroundings, Surroundings | None]] = [(start, None)]
            end = None
            for one, by in line:
                for had in able[one]:
                    if had not in before:
                        before[had] = (one, by)
                        if free[had]:
                            end = had
                            break
                        line += [(other, had) for other in wanted if held[other].get(had)]
                if end is not None:
                    break
            if end is None:
                break
            free[end] -= 1
            here: Surroundings | None = end
            while here is not None:
                one, by = before[here]
                held[one][here] = held[one].get(here, 0) + 1
                if by is not None:
                    held[one][by] -= 1
                here = by
    return held


def _parted(shape: Topology, ground: Ground) -> dict[str, Any] | None:
    largest = max(len(part) for part in _parts(ground))
    if largest >= shape.nodes:
        return None
    text = f"{shape.nodes} connected nodes are needed, the largest part of the network has {largest}"
    return {"kind": "parts", "text": text, "needed": shape.nodes, "there": largest}


def _parts(ground: Ground) -> list[list[int]]:
    """Connected parts of the network, their nodes in two colours as far as that goes: even depth first."""
    seen: set[int] = set()
    parts = []
    for start in ground.nodes:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:
            for peer in ground.neighbours[node]:
                if peer not in seen:
                    seen.add(peer)
                    part.append(peer)
        parts.append(part)
    return parts


def _colours(neighbours: Sequence[Sequence[int]], start: int) -> tuple[int, int] | None:
    """How many nodes of a connected part have each colour; None if a ring is odd."""
    colour = {start: 0}
    line = [start]
    for node in line:
        for peer in neighbours[node]:
            if peer not in colour:
                colour[peer] = 1 - colour[node]
                line.append(peer)
            elif colour[peer] == colour[node]:
                return None
    ones = sum(colour.values())
    return len(line) - ones, ones


def _coloured(shape: Topology, ground: Ground) -> dict[str, Any] | None:
    counts = [_colours(ground.neighbours, part[0]) for part in _parts(ground) if len(part) >= shape.nodes]
    if any(count is None for count in counts):
        return None
    pairs = [sorted(count) for count in counts if count is not None]
    odd = [
        size for size, wrap in zip(shape.sizes, shape.wraps, strict=True) if wrap and size % 2 and size > 2
    ]
    if odd:
        text = f"a ring of {odd[0]} has an odd number of cables, and no ring of the network has"
        return {"kind": "odd_ring", "text": text, "ring": odd[0]}
    wanted = [shape.nodes // 2, shape.nodes - shape.nodes // 2]
    if any(few >= wanted[0] and many >= wanted[1] for few, many in pairs):
        return None
    few, many = max(pairs)
    text = (
        f"neighbours have two colours in turn: {wanted[0]} and {wanted[1]} nodes of them are needed, "
        f"{few} and {many} are there"
    )
    return {"kind": "colours", "text": text, "needed": wanted, "there": [few, many]}


def _separated(shape: Topology, ground: Ground) -> dict[str, Any] | None:
    """A node whose loss parts the network; a shape that no node parts is on one side of it."""
    long = [(size, wrap) for size, wrap in zip(shape.sizes, shape.wraps, strict=True) if size > 1]
    if len(long) < 2 and not (long and long[0][1] and long[0][0] > 2):
        return None
    largest, cutters = _blocks(ground)
    if largest >= shape.nodes or not cutters:
        return None
    name = ground.names[cutters[0]]
    text = (
        f"node {name} separates the network: at most {largest} nodes are joined by two ways that share no "
        f"node, {shape.nodes} are needed"
    )
    return {"kind": "separated", "text": text, "node": name, "needed": shape.nodes, "there": largest}


def _blocks(ground: Ground) -> tuple[int, list[int]]:
    """Nodes of the largest part that no node separates, and the nodes that separate (Tarjan 1972)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    largest, cutters = 0, set()
    for start in ground.nodes:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        stack = [(start, -1, iter(ground.neighbours[start]))]
        trail = [start]
        children = 0
        while stack:
            node, parent, peers = stack[-1]
            peer = next(peers, None)
            if peer is None:
                stack.pop()
                if not stack:
                    continue
                above = stack[-1][0]
                low[above] = min(low[above], low[node])
                if low[node] >= number[above]:
                    size = 1
                    while trail.pop() != node:
                        size += 1
                    largest = max(largest, size + 1)
                    if above != start:
                        cutters.add(above)
                    else:
                        children += 1
            elif peer not in number:
                number[peer] = low[peer] = len(number)
                trail.append(peer)
                stack.append((peer, node, iter(ground.neighbours[peer])))
            elif peer != parent:
                low[node] = min(low[node], number[peer])
        if children > 1:
            cutters.add(start)
    return largest, sorted(cutters)
