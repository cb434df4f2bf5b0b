"""Planes of ranks that wind round a torus as the thread of a screw.

A plane of a x b ranks on a torus of three dimensions: its first axis goes round one dimension, its second
round another, and both are longer. Each turn of the first axis lies beside the one before, along the third
dimension. When the second axis has come round, too, its next turn lies beside all of these: column by column
the plane has moved there, a few columns per row. So the seam, where a turn of the first axis ends, is in
another column in every row, and no column moves where the seam is. Hence the messages between neighbours of
a plane without closed sides share no channel, in both directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.spec.any_network import AnyNetwork

Nodes = NDArray[np.uint32]
#: Bytes on the busiest channel, how many channels have that load, and hop-bytes.
Score = tuple[int, int, int]


def screws(topology: AnyNetwork, mesh: Sequence[int]) -> Iterator[Nodes]:
    """Nodes of all ranks of a plane, for every thread that fits.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = list(screws(fl.Torus(8, 8, 8), (32, 16)))
    >>> len(found), all(sorted(nodes) == list(range(512)) for nodes in found)
    (12, True)
    >>> list(screws(fl.Torus(8, 8, 8), (512,)))
    []
    """
    sizes = topology.sizes
    if len(sizes) != 3 or len(mesh) != 2 or not all(topology.wraps) or topology.twist:
        return
    ranks = np.arange(mesh[0] * mesh[1])
    places = ranks % mesh[0], ranks // mesh[0]
    strides = np.array([1, sizes[0], sizes[0] * sizes[1]])
    for (along, around, beside), (first, second) in product(permutations(range(3)), ((0, 1), (1, 0))):
        (wide, left), (turns, over) = divmod(mesh[first], sizes[along]), divmod(mesh[second], sizes[around])
        if left or over or wide * turns != sizes[beside] or turns < 2:
            continue
        turn, column = np.divmod(places[first], sizes[along])
        # Columns that have moved beside so far, the last one of a turn first.
        moved = places[second] * mesh[first] // sizes[around]
        shifted = (turn + (moved + column) // sizes[along]) % sizes[beside]
        nodes = np.zeros(len(ranks), dtype=np.int64)
        for dimension, at in ((along, column), (around, places[second] % sizes[around]), (beside, shifted)):
            nodes += strides[dimension] * at
        yield nodes.astype(np.uint32)


def best_screw(
    problem: _core.PlacementProblem, topology: AnyNetwork, mesh: Sequence[int]
) -> tuple[Nodes, Score] | None:
    """The best of them, or none where no thread fits."""
    best: tuple[Nodes, Score] | None = None
    for nodes in screws(topology, mesh):
        score = problem.loads(nodes)[1]
        if best is None or score < best[1]:
            best = nodes, score
    return best
