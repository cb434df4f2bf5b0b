"""Boxes of nodes that a job may have: rotations, folds, and which of them keep their messages inside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations, product
from pathlib import Path

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.networks.kinds import described
from flitloom.spec.any_network import AnyNetwork


def is_closed(sides: Sequence[int], topology: AnyNetwork | str | Path) -> bool:
    """Whether all messages between nodes of a box stay inside it, wherever the box lies.

    An interval of m nodes of a ring of k is closed under minimal routes iff m <= ceil(k / 2) or m = k; on a
    line every interval is. Dimension order then never leaves the box.

    Examples
    --------
    >>> import flitloom as fl
    >>> [is_closed([side], fl.Torus(5)) for side in (2, 3, 4, 5)]
    [True, True, False, True]
    >>> is_closed([3], fl.Torus(4)), is_closed([3], fl.Mesh(4))
    (False, True)
    """
    topology = described(topology)
    if len(sides) != (dimensions := len(topology.sizes)):
        raise SpecError.at(
            "sides", f"{len(sides)} of a box in {counted(dimensions, 'dimension')}", "give all"
        )
    return all(
        side <= (size + 1) // 2 or side == size or not wraps
        for side, size, wraps in zip(sides, topology.sizes, topology.wraps, strict=True)
    )


@lru_cache(maxsize=4096)
def _splits(sides: tuple[int, ...], parts: int) -> frozenset[tuple[int, ...]]:
    """Sides with some of them split in two, again and again, until there are this many."""
    found = {tuple(sorted(sides))}
    if len(sides) < parts:
        for at, side in enumerate(sides):
            rest = sides[:at] + sides[at + 1 :]
            for factor in range(2, math.isqrt(side) + 1):
                if side % factor == 0:
                    found |= _splits(tuple(sorted((*rest, factor, side // factor))), parts)
    return frozenset(found)


def boxes_for(
    shape: Sequence[int], topology: AnyNetwork | str | Path, *, rotate: bool = True, fold: bool = True
) -> list[tuple[int, ...]]:
    """The boxes that hold a job of a shape, the closed and compact ones first.

    A rotation exchanges dimensions. A fold lets a side of length a p snake through a box of sides a and p,
    so a line goes through any box of its volume, and a shape as long as the network's dimensions stays.

    Examples
    --------
    >>> import flitloom as fl
    >>> boxes_for([4, 2], fl.Torus(8, 4))
    [(4, 2), (2, 4)]
    >>> boxes_for([4, 2], fl.Torus(8, 4), rotate=False)
    [(4, 2)]
    >>> boxes_for([8], fl.Torus(4, 4, 4))[0], boxes_for([3, 3, 3], fl.Torus(4, 4, 4))
    ((2, 2, 2), [(3, 3, 3)])
    """
    topology = described(topology)
    dimensions = len(topology.sizes)
    real = tuple(side for side in shape if side > 1)
    if len(real) > dimensions:
        return []
    found: set[tuple[int, ...]] = set()
    for sides in _splits(real, dimensions) if fold else {real}:
        whole = (*sides, *[1] * (dimensions - len(sides)))
        found |= set(permutations(whole))
    if not rotate:
        given = tuple(shape) + (1,) * (dimensions - len(shape))
        found = {box for box in found if (fold and sorted(box) != sorted(given)) or box == given}
    fitting = [box for box in found if all(a <= b for a, b in zip(box, topology.sizes, strict=True))]
    return sorted(fitting, key=lambda box: (not is_closed(box, topology), sum(box), [-side for side in box]))


def nodes_of(corner: int, sides: Sequence[int], topology: AnyNetwork) -> list[int]:
    """The nodes of a box from a corner on, around the edges of a torus, the first dimension fastest.

    >>> import flitloom as fl
    >>> nodes_of(3, [2, 2], fl.Torus(4, 4))
    [3, 0, 7, 4]
    """
    start, places, left = [], [], corner
    for size in topology.sizes:
        start.append(left % size)
        left //= size
    for at in product(*(range(side) for side in reversed(sides))):
        node = 0
        for here, first, size in zip(at, reversed(start), reversed(topology.sizes), strict=True):
            node = node * size + (first + here) % size
        places.append(node)
    return places
