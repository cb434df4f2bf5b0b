"""The placements that ``flitloom bench place`` searches: networks, and what their ranks exchange."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from flitloom.placing import Traffic, axes_traffic, pairs_traffic, parse_axes, stencil_traffic

#: Axes of section tests and of models: torus, then size, kind (a2a, ring, line) and bytes of each axis.
AXES = """
4x4x8    a8.1 r4.8 l4.1
4x4x4    a8.1 r8.8
4x4x4    a8.2 r4.8 l2.4
4x4x8    a8.1 r16.4
8x8x8    a8.1 r8.8 l8.1
8x8x8    a16.1 r8.8 l4.1
8x8x16   a32.1 r8.8 l4.1
8x8x8    r4.32 r16.8 l8.2
16x16    a8.1 r8.8 l4.4
6x4x6    r12.4 r12.4
4x8x8    r16.4 r16.4
4x4      r4.8 r4.1
4x4      a4.1 r4.4
4x4      a16.1
8x8      r8.8 r8.1
8x8      a8.1 r8.8
8x8      a4.1 r16.4
8x8      a16.1 l4.8
8x8      r4.8 r4.4 l4.1
4x4x4    a64.1
4x4x4    r16.8 r4.1
4x4x4    r32.8 l2.1
4x4x4    a4.2 r16.8
4x4x4    a16.1 r4.8
4x4x4    a4.4 a4.2 a4.1
4x4x8    r8.16 r4.4 l4.1
4x4x8    a16.2 a8.2
4x4x8    a8.4 l16.8
4x8x8    r8.16 r8.4 l4.2
4x8x8    a8.1 a32.1
8x8x8    r8.16 r8.4 r8.1
8x8x8    a8.2 r64.8
8x8x8    r32.8 r16.2
8x8x8    a4.8 r16.8 l8.1
8x8x16   r16.16 r8.8 l8.1
8x16x16  r8.32 r32.4 l8.1
16x16x16 a16.1 r16.8 l16.1
16x16x16 r8.32 r64.4 l8.1
12x12    a9.1 r16.4
4x4x4x4  a16.1 r4.8 l4.1
"""

#: Grids that exchange with their neighbours: torus, grid, neighbours with the cell itself, whether it closes.
STENCILS = """
8x8      8x8      5  open
8x8      8x8      9  open
8x8      16x4     5  open
8x8      4x4x4    7  open
8x8      32x2     5  closed
4x4x4    8x8      5  open
4x4x4    8x8      5  closed
4x4x4    8x8      9  open
4x4x4    4x4x4    27 open
4x4x4    2x2x4x4  9  closed
4x8x8    16x16    5  closed
4x8x8    16x16    9  open
4x8x8    4x4x4x4  9  closed
8x8x8    32x16    5  open
8x8x8    8x8x8    27 closed
8x8x8    16x8x4   7  open
16x16    8x8x4    7  open
8x16x16  32x64    5  open
"""

#: Kernels: torus and name.
KERNELS = """
4x4x4    butterfly
4x4x8    butterfly
8x8      butterfly
4x4x4    fft_planes
8x8x8    fft_planes
4x4x4    multigrid
8x8x8    multigrid
4x4x4    binomial_tree
8x8x8    binomial_tree
8x8x8    wavefront
4x4x4    scattered
8x8x8    scattered
"""


@dataclass(frozen=True)
class Case:
    """One placement that is searched.

    Attributes
    ----------
    sizes : tuple of int
        The torus.
    name : str
        What the ranks exchange, in a few characters.
    kind : str
        ``axes``, ``stencil`` or ``kernel``.
    make : callable
        Makes the traffic.
    """

    sizes: tuple[int, ...]
    name: str
    kind: str
    make: Callable[[], Traffic]


def cases() -> list[Case]:
    """All of them, in the order of the table.

    Examples
    --------
    >>> found = cases()
    >>> len(found), found[0].name, found[0].make().ranks
    (70, 'a8.1 r4.8 l4.1', 128)
    """
    found = []
    for line in AXES.split("\n"):
        if line:
            torus, *axes = line.split()
            found.append(Case(_sizes(torus), " ".join(axes), "axes", partial(axes_of, axes)))
    for line in STENCILS.split("\n"):
        if line:
            torus, grid, neighbours, edges = line.split()
            found.append(
                Case(
                    _sizes(torus),
                    f"{grid} {neighbours} {edges}",
                    "stencil",
                    partial(stencil_traffic, _sizes(grid), int(neighbours), edges == "closed"),
                )
            )
    for line in KERNELS.split("\n"):
        if line:
            torus, kernel = line.split()
            ranks = math.prod(_sizes(torus))
            found.append(Case(_sizes(torus), kernel, "kernel", partial(KERNEL_OF[kernel], ranks)))
    return found


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("x"))


def axes_of(texts: list[str]) -> Traffic:
    """Traffic of axes as the table writes them: ``a8.1`` is all-to-all of 8 with a byte per pair."""
    kinds = {"a": "a2a", "r": "ring", "l": "line"}
    parts = [f"{text}={text[1:].split('.')[0]}:{kinds[text[0]]}:{text.split('.')[1]}" for text in texts]
    return axes_traffic(parse_axes(",".join(f"{number}{part}" for number, part in enumerate(parts))))


def butterfly(ranks: int) -> Traffic:
    """Rank i with i xor 1, 2, 4, ...: recursive doubling, or a fast Fourier transform of one line."""
    return axes_traffic(parse_axes(f"all={ranks}:pairs:1"))


def fft_planes(ranks: int) -> Traffic:
    """A transform of a volume in pencils: all-to-all in the rows and in the columns of a plane."""
    rows = 1 << ((ranks.bit_length() - 1) // 2)
    return axes_of([f"a{rows}.1", f"a{ranks // rows}.1"])


def multigrid(ranks: int) -> Traffic:
    """A closed cube whose cells talk to others 1, 2, 4, ... away, each time with a quarter of the bytes."""
    side = round(ranks ** (1 / 3))
    cells = np.stack(np.unravel_index(np.arange(ranks), (side,) * 3, order="F"), axis=1)
    rows, amount, step = [], 64, 1
    while 2 * step <= side:
        for dimension in range(3):
            for sign in (1, -1):
                there = cells.copy()
                there[:, dimension] = (there[:, dimension] + sign * step) % side
                target = np.ravel_multi_index(tuple(there.T), (side,) * 3, order="F")
                rows.append(np.column_stack([np.arange(ranks), target, np.full(ranks, amount)]))
        amount, step = amount // 4, 2 * step
    return pairs_traffic(ranks, np.concatenate(rows), mesh=(side,) * 3)


def binomial_tree(ranks: int) -> Traffic:
    """A reduction to rank 0 and a broadcast from there."""
    rows = []
    for rank in range(1, ranks):
        parent = rank & (rank - 1)
        rows += [(rank, parent, 1), (parent, rank, 1)]
    return pairs_traffic(ranks, rows)


def wavefront(ranks: int) -> Traffic:
    """A sweep over a plane of ranks: every one sends to the next in both dimensions, one way only."""
    width = 1 << (ranks.bit_length() // 2)
    rows = []
    for rank in range(ranks):
        rows += [(rank, rank + 1, 4)] if (rank + 1) % width else []
        rows += [(rank, rank + width, 4)] if rank + width < ranks else []
    return pairs_traffic(ranks, rows, mesh=(width, ranks // width))


def scattered(ranks: int) -> Traffic:
    """Four random partners of every rank, 1 to 8 bytes each way: a sparse matrix without structure."""
    dice = Random(ranks)
    rows = []
    for rank in range(ranks):
        for partner in dice.sample(range(ranks), 4):
            amount = dice.randint(1, 8)
            rows += [(rank, partner, amount), (partner, rank, amount)]
    return pairs_traffic(ranks, rows)


#: Makers by name.
KERNEL_OF: dict[str, Callable[[int], Traffic]] = {
    "butterfly": butterfly,
    "fft_planes": fft_planes,
    "multigrid": multigrid,
    "binomial_tree": binomial_tree,
    "wavefront": wavefront,
    "scattered": scattered,
}
