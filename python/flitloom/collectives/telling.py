"""How far a long piece of work is, told now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

#: Told now and then how much of how much is done.
Told = Callable[[int, int], None]
T = TypeVar("T")

#: Items from one telling to the next.
_EVERY = 4096


def untold(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def share(told: Told, total: int, begin: float, end: float) -> Told:
    """Tells of a part of some work, from `begin` to `end` of the whole, in shares of a total.

    Examples
    --------
    >>> share(lambda done, total: print(done, total), 512, 0.5, 1.0)(1, 2)
    384 512
    """
    return lambda done, whole: told(int(total * (begin + (end - begin) * done / max(whole, 1))), total)


def telling(items: Sequence[T], told: Told, every: int = _EVERY) -> Iterator[T]:
    """The items one after the other, while somebody is told how many are done.

    Examples
    --------
    >>> list(telling("ab", lambda done, total: print(done, total), 1))
    0 2
    1 2
    2 2
    ['a', 'b']
    """
    for number, item in enumerate(items):
        if number % every == 0:
            told(number, len(items))
        yield item
    told(len(items), len(items))
