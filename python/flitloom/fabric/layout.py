"""Where switches stand on a page: fat trees by levels, all others that are not grid on a circle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flitloom.fabric.recognition import Recognition

Point = tuple[float, float]


def stand(found: Recognition) -> list[Point]:
    """Places of switches, then of those that are missing, a hop from each other.

    >>> from flitloom.fabric import recognise
    >>> from flitloom.fabric.networks import named_subnet
    >>> sorted({height for _, height in stand(recognise(named_subnet("fattree(4)")))})
    [0.0, 2.0, 4.0]
    """
    if found.levels:
        return _by_levels(found)
    places = [*found.coordinates, *found.missing_switches]
    count = max(len(places), len(found.subnet.switches))
    # Members of a full mesh of the first dimension, and of a group, are beside each other.
    order = sorted(range(count), key=lambda n: places[n][::-1] if places else (*found.groups[n : n + 1], n))
    radius = max(count / (2 * math.pi), 1)
    turns = {node: 2 * math.pi * at / count for at, node in enumerate(order)}
    return [(radius * math.cos(turns[node]), radius * math.sin(turns[node])) for node in range(count)]


def _by_levels(found: Recognition) -> list[Point]:
    """Leaves in the order of the tree, all others above the switches that they are joined to."""
    below: list[list[int]] = [[] for _ in found.levels]
    for cable in found.subnet.cables:
        low, high = sorted((cable.a, cable.b), key=found.levels.__getitem__)
        below[high].append(low)
    ranks = {switch: at for at, switch in enumerate(found.order)}
    rows: list[list[int]] = []
    for height in sorted(set(found.levels)):
        row = [switch for switch, level in enumerate(found.levels) if level == height]
        keys = {
            switch: [ranks[switch]]
            if switch in ranks
            else sorted({ranks[low] for low in below[switch] if low in ranks})
            for switch in row
        }
        row.sort(key=keys.__getitem__)
        ranks |= {switch: at for at, switch in enumerate(row)}
        rows.append(row)
    width = max(map(len, rows))
    places: list[Point] = [(0.0, 0.0)] * len(found.levels)
    for height, row in enumerate(rows):
        for at, switch in enumerate(row):
            places[switch] = ((at + 0.5) * width / len(row), height * max(width / 4, 1.5))
    return places
