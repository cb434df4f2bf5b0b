"""Routes as text: directions and numbers of hops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from flitloom._core import LIMITS
from flitloom.errors import SpecError, show
from flitloom.ground.numerals import counted
from flitloom.spec.topology import DIMENSION_NAMES

_LEG = re.compile(r"([+-])([a-z])([1-9][0-9]{0,5})")
_HOPS = re.compile(r"[+-][a-z]([1-9][0-9]{0,5})\b")


#: Routes of so many characters are remembered: those of a plan are few, and taken by many packets.
_SHORT = 64


def read_route(text: str) -> bytes:
    """Indices of the directions of all hops.

    >>> list(read_route("+x2 -y1"))
    [0, 0, 3]
    """
    return _short_route(text) if len(text) <= _SHORT else _route(text)


def _route(text: str) -> bytes:
    legs = list(_legs(text))
    _check_length(sum(hops for _, hops in legs))
    return b"".join(bytes([direction]) * hops for direction, hops in legs)


_short_route = lru_cache(maxsize=4096)(_route)


def count_hops(routes: Sequence[str], place: str, most: int) -> int:
    """Hops of all routes; what is not a route counts as none.

    Raises
    ------
    SpecError
        There are more than `most` in all. Nothing is expanded to find out.

    Examples
    --------
    >>> count_hops(["+x2 -y1", ""], "routes", 10)
    3
    """
    total = 0
    for number, text in enumerate(routes):
        total += _short_count(text) if len(text) <= _SHORT else _count(text)
        if total > most:
            raise SpecError(f"{place}: more than {counted(most, 'hop')} in all, counted up to entry {number}")
    return total


def _count(text: str) -> int:
    return sum(int(hops) for hops in _HOPS.findall(text))


_short_count = lru_cache(maxsize=4096)(_count)


def _legs(text: str) -> Iterator[tuple[int, int]]:
    for leg in text.split():
        match = _LEG.fullmatch(leg)
        if match is None or match[2] not in DIMENSION_NAMES:
            raise SpecError.at("route", f"{show(leg)} is not understood", "write legs like '+x3 -y2'")
        yield 2 * DIMENSION_NAMES.index(match[2]) + (match[1] == "-"), int(match[3])


def _check_length(hops: int) -> None:
    if hops > LIMITS["nodes"]:
        raise SpecError.at("route", counted(hops, "hop"), f"at most {LIMITS['nodes']} are supported")


@lru_cache(maxsize=1 << 16)
def route_text(directions: bytes) -> str:
    """A route as legs; the packets of a plan share few.

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
