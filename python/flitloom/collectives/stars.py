"""Trees that join members over relays, star after star.

A star has a relay in its middle and a cable to each of several parts of the tree that are not joined yet. The
star is taken next whose cables cost the least per part that it saves (Klein and Ravi 1995, with stars of
single cables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from math import inf

#: Per node of a tree its neighbours.
Tree = dict[int, list[int]]
#: Share by which costs differ that count as equal.
NEAR = 1e-12


def star_tree(
    beside: Mapping[int, Sequence[int]], price: Mapping[tuple[int, int], float], members: Sequence[int]
) -> Tree | None:
    """A cheap tree that joins all members; none if stars do not join them.

    Parameters
    ----------
    beside : mapping
        Per node its neighbours.
    price : mapping
        What a cable costs, by its ends in both orders.
    members : sequence of int
        The nodes that are joined; others are relays.

    Examples
    --------
    >>> beside = {0: [3, 4], 1: [3], 2: [3, 4], 3: [0, 1, 2], 4: [0, 2]}
    >>> star_tree(beside, {(a, b): 1.0 for a, ends in beside.items() for b in ends}, [0, 1, 2])
    {0: [3], 1: [3], 2: [3], 3: [0, 1, 2]}
    """
    growing = _Growing(beside, price, members)
    waiting: list[tuple[float, int]] = []

    def look_at(node: int) -> None:
        cost, ends = growing.star(node)
        if ends:
            heappush(waiting, (cost, node))

    for node in beside:
        look_at(node)
    while growing.parts > 1 and waiting:
        _, node = heappop(waiting)
        # Parts that have been joined since make a star dearer.
        cost, ends = growing.star(node)
        if not ends:
            continue
        if waiting and cost > waiting[0][0] * (1 + NEAR):
            heappush(waiting, (cost, node))
            continue
        fresh = node not in growing.tree
        growing.join(node, ends)
        for one in (node, *beside[node]) if fresh else (node,):
            look_at(one)
    return growing.tree if growing.parts == 1 else None


class _Growing:
    """Parts of a tree."""

    def __init__(
        self,
        beside: Mapping[int, Sequence[int]],
        price: Mapping[tuple[int, int], float],
        members: Sequence[int],
    ) -> None:
        self.beside, self.price = beside, price
        self.tree: Tree = {node: [] for node in members}
        self.parts = len(members)
        #: Leads from every node to one node of its part, the same for all of them.
        self.above = {node: node for node in members}

    def part(self, node: int) -> int:
        """The node to which all nodes of the part of a node lead."""
        above = self.above
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    def star(self, node: int) -> tuple[float, list[int]]:
        """The cheapest star around a node, by its cost for each part less, and where it leads."""
        cheapest: dict[int, tuple[float, int]] = {}
        for end in self.beside[node]:
            if end in self.tree:
                part, cost = self.part(end), self.price[node, end]
                if part not in cheapest or cost < cheapest[part][0]:
                    cheapest[part] = (cost, end)
        own = node in self.tree
        if own:
            cheapest.pop(self.part(node), None)
        best, taken, total = inf, 0, 0.0
        legs = sorted(cheapest.values())
        for number, (cost, _) in enumerate(legs, 1):
            total += cost
            saved = number if own else number - 1
            if saved and total / saved < best:
                best, taken = total / saved, number
        return best, [end for _, end in legs[:taken]]

    def join(self, node: int, ends: Sequence[int]) -> None:
        """Take the cables from a node to others."""
        if node not in self.tree:
            self.tree[node], self.above[node] = [], node
            self.parts += 1
        for end in ends:
            self.above[self.part(end)] = self.part(node)
            self.tree[node].append(end)
            self.tree[end].append(node)
            self.parts -= 1
