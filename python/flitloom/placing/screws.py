"""Planes of ranks that wind round a torus as the thread of a screw.

A plane of a x b ranks on a torus of three dimensions: its first axis goes along one dimension, its second
along another, and both are longer. Where the second axis comes round, the plane goes on beside itself along
the third dimension, where it got step by step. So no rank is far from the next one, and messages that all go
one way meet no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.spec import Topology

Nodes = NDArray[np.uint32]
#: Bytes on the fullest channel, how many channels carry as much, and hop-bytes.
Score = tuple[int, int, int]


def screws(topology: Topology, mesh: Sequence[int]) -> Iterator[Nodes]:
    """Nodes of all ranks of a plane, for every thread that fits.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = list(screws(fl.Torus(8, 8, 8), (32, 16)))
    >>> len(found), all(sorted(nodes) == list(range(512)) for nodes in found)
    (18, True)
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
        wide, turns = mesh[first] // sizes[along], mesh[second] // sizes[around]
        fits = mesh[first] == wide * sizes[along] and mesh[second] == turns * sizes[around]
        if not fits or wide * turns != sizes[beside] or turns < 2:
            continue
        there, turn = places[second] % sizes[around], places[second] // sizes[around]
        for steps, sign in ((wide, 1), (sizes[beside] - wide, -1)):
            if sizes[around] % steps:
                continue
            # A turn leads so many steps further as the plane is wide here.
            leaned = sign * (there * steps // sizes[around])
            shifted = (places[first] // sizes[along] + wide * turn + leaned) % sizes[beside]
            nodes = np.zeros(len(ranks), dtype=np.int64)
            for dimension, at in ((along, places[first] % sizes[along]), (around, there), (beside, shifted)):
                nodes += strides[dimension] * at
            yield nodes.astype(np.uint32)


def best_screw(
    problem: _core.PlacementProblem, topology: Topology, mesh: Sequence[int], most: Score
) -> tuple[Nodes, Score] | None:
    """The best of them, if it is better than a score."""
    best: tuple[Nodes, Score] | None = None
    for nodes in screws(topology, mesh):
        score = problem.loads(nodes)[1]
        if score < (most if best is None else best[1]):
            best = nodes, score
    return best
