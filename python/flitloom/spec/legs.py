"""Routes as text: directions and numbers of hops."""

from __future__ import annotations

import re

from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.spec.topology import DIMENSION_NAMES

_LEG = re.compile(r"([+-])([a-z])([1-9][0-9]{0,5})")


def read_route(text: str) -> bytes:
    """Indices of the directions of all hops.

    >>> list(read_route("+x2 -y1"))
    [0, 0, 3]
    """
    hops = bytearray()
    for leg in text.split():
        match = _LEG.fullmatch(leg)
        if match is None or match[2] not in DIMENSION_NAMES:
            raise SpecError(f"route: {leg[:40]!r} is not understood; write legs like '+x3 -y2'")
        hops += bytes([2 * DIMENSION_NAMES.index(match[2]) + (match[1] == "-")]) * int(match[3])
        if len(hops) > LIMITS["nodes"]:
            raise SpecError(f"route: more than {LIMITS['nodes']} hops")
    return bytes(hops)


def route_text(directions: bytes) -> str:
    """A route as legs.

    >>> route_text(bytes([0, 0, 3]))
    '+x2 -y1'
    """
    legs: list[list[int]] = []
    for index in directions:
        if legs and legs[-1][0] == index:
            legs[-1][1] += 1
        else:
            legs.append([index, 1])
    return " ".join(f"{'+-'[index % 2]}{DIMENSION_NAMES[index // 2]}{hops}" for index, hops in legs)
