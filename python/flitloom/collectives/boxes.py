"""Collective operations between members that cables join in boxes, and relays from box to box.

Routes over relays that share no link count as links from box to box, so that an all-gather is planned on the
members alone. A reduce-scatter is its mirror: relays pass on, and neither copy nor add.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.exchanged import mirrored
from flitloom.collectives.rounds import busiest_loads
from flitloom.collectives.rounds_plan import Messages, Row, crowding, most_messages
from flitloom.collectives.search import collective
from flitloom.spec.graph import Graph
from flitloom.spec.ground import Ground

#: Most members that are planned for.
MOST_MEMBERS = 128
#: Into how many chunks they cut their part of the vector.
CHUNKS = (1, 4, 8, 12)
#: Shares by which bytes differ that count as equal.
NEAR = 1e-3


def over_boxes(ground: Ground) -> list[Algorithm]:
    """All-reduces between members in boxes: steps without relays, as long as more chunks take fewer bytes.

    Examples
    --------
    >>> import flitloom as fl
    >>> pair = Ground(fl.Graph(["0-1", "2-3", "0-4", "4-5", "5-2"], nodes=6, hosts=[0, 1, 2, 3]))
    >>> [(one.name, one.rounds, one.factor) for one in over_boxes(pair)]
    [('boxes', 6, 1.5)]
    """
    network = without_relays(ground)
    if network is None:
        return []
    found: list[Algorithm] = []
    for chunks in CHUNKS:
        plan = collective(network, "all-gather", chunks=chunks)
        rows = _once(plan.moves, ground.members, chunks)
        made = Messages(chunks, alike=False, moves=rows)
        loads = [load / len(ground.members) / chunks for load in busiest_loads(ground, made, plan.steps)]
        if found and sum(loads) > found[-1].factor / 2 * (1 - NEAR):
            continue
        crowd = crowding(most_messages(made, plan.steps), ground.most_links)
        name = "boxes" if chunks == 1 else f"boxes ({chunks} chunks)"
        maker = partial(mirrored, chunks, rows, plan.steps)
        both = ((*loads[::-1], *loads), (*crowd[::-1], *crowd))
        found.append(Algorithm(name, both[0], "this project", True, maker, both[1]))
    return found


def _once(moves: list[list[int]], members: tuple[int, ...], chunks: int) -> list[Row]:
    """Moves of an all-gather as rows of parts, less what a node has already."""
    has: set[tuple[int, int]] = set()
    rows: list[Row] = []
    for step, start, end, node, chunk in sorted(moves):
        part = node * chunks + chunk
        if node != end and (end, part) not in has:
            has.add((end, part))
            rows.append((step, members[start], members[end], part, 1))
    return rows


def without_relays(ground: Ground) -> Graph | None:
    """Members with the cables between them, and links over relays from each box of them to the next one.

    There is none where members are not joined to each other, or boxes are not joined in a circle.

    Examples
    --------
    >>> import flitloom as fl
    >>> pair = fl.Graph(["0-1", "2-3", "0-4", "4-5", "5-2"], nodes=6, hosts=[0, 1, 2, 3])
    >>> found = without_relays(Ground(pair))
    >>> found.cables, found.one_way
    (((0, 1), (2, 3)), ((0, 2), (2, 0)))
    """
    members = ground.members
    place = {node: number for number, node in enumerate(members)}
    if not ground.has_relays or len(members) > MOST_MEMBERS:
        return None
    boxes = _boxes(ground)
    if len(boxes) == len(members):
        return None
    cables = [
        (place[a], place[b])
        for (a, b), several in ground.links.items()
        if a < b and a in place and b in place
        for _ in range(several)
    ]
    free, links = Counter(ground.links), list[tuple[int, int]]()
    used = Counter[int]()
    count = len(boxes)
    for ahead in [] if count == 1 else [1] if count == 2 else [1, count - 1]:
        left = {*range(count)}
        joined = set[int]()
        while left:
            for box in sorted(left):
                route = _route(ground, free, used, boxes[box], boxes[(box + ahead) % count])
                if not route:
                    left.remove(box)
                    continue
                joined.add(box)
                free.subtract(pairwise(route))
                used.update((route[0], -1 - route[-1]))
                links.append((place[route[0]], place[route[-1]]))
        if ahead == 1 and len(joined) < count:
            return None
    return Graph(cables, nodes=len(members), one_way=links)


def _boxes(ground: Ground) -> list[list[int]]:
    """Members that cables between members join."""
    left, boxes = {*ground.members}, list[list[int]]()
    for first in ground.members:
        if first in left:
            left.remove(first)
            box = [first]
            for node in box:
                beside = sorted(left.intersection(ground.outgoing[node]))
                left.difference_update(beside)
                box += beside
            boxes.append(sorted(box))
    return boxes


def _route(
    ground: Ground,
    free: Mapping[tuple[int, int], int],
    used: Mapping[int, int],
    sources: list[int],
    ends: list[int],
) -> list[int]:
    """A minimal route over relays whose links are free, between members that have few routes; or none."""
    members, targets = {*ground.members}, {*ends}
    border = sorted(sources, key=lambda node: (used[node], node))
    before = {node: node for node in border}
    while border:
        reached = [
            (used[-1 - end], place, end, node)
            for place, node in enumerate(border)
            for end in ground.outgoing[node]
            if end in targets and free[node, end] > 0 and node not in members
        ]
        if reached:
            *_, end, node = min(reached)
            route = [end, node]
            while before[node] != node:
                node = before[node]
                route.append(node)
            return route[::-1]
        following = []
        for node in border:
            for end in ground.outgoing[node]:
                if end not in before and end not in members and free[node, end] > 0:
                    before[end] = node
                    following.append(end)
        border = following
    return []
