"""Edges with a direction, of which two make a cable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def ways_of(edges: Sequence[tuple[str, str, bool]]) -> list[bool | None]:
    """Of every edge whether it is a link that leads one way; None if it is the way back of an edge before.

    A directed graph names every cable once per direction.

    Parameters
    ----------
    edges : sequence of (str, str, bool)
        From where it leads to where, and whether that way only.

    Examples
    --------
    >>> ways_of([("a", "b", True), ("b", "c", True), ("b", "a", True), ("c", "d", False)])
    [False, True, None, False]
    """
    ahead = Counter((a, b) for a, b, leads in edges if leads)
    cables = Counter({ends: min(count, ahead[ends[::-1]]) for ends, count in ahead.items()})
    waiting: Counter[tuple[str, str]] = Counter()
    ways: list[bool | None] = []
    for a, b, leads in edges:
        if leads and waiting[b, a]:
            waiting[b, a] -= 1
            ways.append(None)
            continue
        one_way = leads and not cables[a, b]
        if leads and not one_way:
            waiting[a, b] += 1
            cables.subtract([(a, b), (b, a)])
        ways.append(one_way)
    return ways
