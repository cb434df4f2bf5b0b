"""Hamiltonian cycles of tori that share no link, as many as there are dimensions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from math import prod

#: Sweeps over all squares.
SWEEPS = 200


@cache
def hamiltonian_cycles(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    """One cycle through all nodes per dimension; together they use every link of the torus once.

    They exist on all tori whose sizes are at least 3 (Aubert and Schneider 1982). At first the rings of a
    dimension have one colour. Where opposite links of a square have the same colour, and neighbouring ones
    another, the colours may be exchanged, which joins, splits or keeps the cycles of both; squares are taken
    in random order and exchanged if that leaves fewer cycles, or sometimes as many.

    Returns
    -------
    tuple of tuple of int, or None
        The nodes of every cycle in their order; None if sizes are below 3 or the search gave up.

    Examples
    --------
    >>> from flitloom.collectives.cycles import hamiltonian_cycles
    >>> [len(set(cycle)) for cycle in hamiltonian_cycles((3, 4, 5))]
    [60, 60, 60]
    """
    if min(sizes) < 3:
        return None
    search = _Search(sizes)
    return search.cycles() if search.run() else None


class _Search:
    """Two neighbours per node and colour, exchanged on squares."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes, self.nodes = sizes, prod(sizes)
        count = len(sizes)
        self.beside = [
            [
                [_neighbour(sizes, node, dim, 1), _neighbour(sizes, node, dim, -1)]
                for node in range(self.nodes)
            ]
            for dim in range(count)
        ]
        self.colours = {
            _ends(node, _neighbour(sizes, node, dim, 1)): dim
            for node in range(self.nodes)
            for dim in range(count)
        }
        self.left = sum(self.nodes // size - 1 for size in sizes)

    def run(self) -> bool:
        """Exchange until every colour is one cycle; whether that was reached."""
        sizes, draw = self.sizes, random.Random(1)
        squares = [
            (node, _neighbour(sizes, node, a, 1), _neighbour(sizes, node, b, 1), a)
            for node in range(self.nodes)
            for a in range(len(sizes))
            for b in range(a)
        ]
        for _ in range(SWEEPS):
            draw.shuffle(squares)
            for node, beyond, above, a in squares:
                if not self.left:
                    return True
                corner = _neighbour(sizes, above, a, 1)
                first, second = self.colours[_ends(node, beyond)], self.colours[_ends(node, above)]
                if (
                    first == second
                    or self.colours[_ends(above, corner)] != first
                    or self.colours[_ends(beyond, corner)] != second
                ):
                    continue
                change = self._change(first, node, beyond, above, corner)
                change += self._change(second, node, above, beyond, corner)
                if change < 0 or (change == 0 and draw.random() < 0.2):
                    self._exchange(first, node, beyond, above, corner)
                    self._exchange(second, node, above, beyond, corner)
                    for pair, colour in (
                        ((node, beyond), second), ((above, corner), second),
                        ((node, above), first), ((beyond, corner), first),
                    ):  # fmt: skip
                        self.colours[_ends(*pair)] = colour
                    self.left += change
        return not self.left

    def _change(self, colour: int, p: int, q: int, r: int, s: int) -> int:
        """Cycles more if links p-q and r-s become p-r and q-s."""
        beside = self.beside[colour]
        before, here = p, q
        while here not in (p, r, s):
            one, other = beside[here]
            before, here = here, other if one == before else one
        if here == p:
            return -1
        return 1 if here == s else 0

    def _exchange(self, colour: int, p: int, q: int, r: int, s: int) -> None:
        beside = self.beside[colour]
        for node, old, new in ((p, q, r), (q, p, s), (r, s, p), (s, r, q)):
            beside[node][beside[node].index(old)] = new

    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of every colour in their order."""
        found = []
        for beside in self.beside:
            cycle, here = [0], beside[0][0]
            while here != 0:
                one, other = beside[here]
                following = other if one == cycle[-1] else one
                cycle.append(here)
                here = following
            found.append(tuple(cycle))
        return tuple(found)


def _neighbour(sizes: Sequence[int], node: int, dimension: int, sense: int) -> int:
    stride = prod(sizes[:dimension])
    here = node // stride % sizes[dimension]
    return node + ((here + sense) % sizes[dimension] - here) * stride


def _ends(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
