"""All-reduces over trees: sums go up a tree to its root and down again, many trees side by side.

A tree joins all members, over switches where there are some, and takes each of its cables once in each
direction. Trees are chosen one after the other over cables that have few so far. Then every link transfers,
of what is ready, what belongs to the earliest tree. A tree counts as earlier for what has far to go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import NamedTuple

from flitloom.collectives.stars import Tree, star_tree
from flitloom.spec.ground import Ground

#: Largest number of transfers of a plan.
MOST_MOVES = 1 << 20
#: By how much a cable is dearer for each further share of the busiest one that it has.
STEEP = 12.0
#: The same for trees of stars, which are to have few cables.
STEEP_STARS = 4.0
#: By how many trees what has a hop further to go is earlier: tried, and where that takes long.
EARLIER, ONLY = (0, 1, 2, 3, 8), (3,)
#: Transfers from which on it does.
MANY = 1 << 17

#: Step, from, to, and the tree, or the owner and the chunk of its sum.
Move = list[int]


def over_trees(
    ground: Ground, members: Sequence[int], chunks: int, latency: int
) -> tuple[list[Move], list[Move], int] | None:
    """Sums, moves and steps of an all-reduce over trees; none if links lead one way, or moves are too many.

    Examples
    --------
    >>> import flitloom as fl
    >>> star = Ground(fl.Graph(["0-3", "1-3", "2-3"], nodes=4, hosts=[0, 1, 2]))
    >>> sums, moves, steps = over_trees(star, (0, 1, 2), 2, 0)
    >>> len(sums), len(moves), steps  # six sums over every link, and one hop more
    (18, 18, 7)
    """
    links = ground.links
    count = chunks * len(members)
    if any(links[end, start] != several for (start, end), several in links.items()):
        return None
    if 2 * count * (len(ground.working) - 1) > MOST_MOVES:
        return None
    trees = _rooted(_lightest(ground, members, count))
    tried = EARLIER if 2 * count * len(ground.working) < MANY else ONLY
    made = min((_scheduled(ground, trees, latency, earlier) for earlier in tried), key=lambda one: one[2])
    sums, moves = (
        [[*row[:3], members[row[3] // chunks], row[3] % chunks] for row in rows] for rows in made[:2]
    )
    return sums, moves, made[2]


def _lightest(ground: Ground, members: Sequence[int], count: int) -> list[Tree]:
    """Trees that share the cables evenly, of the kind that has the fewest of them on a cable, or in all."""
    beside = {node: sorted(ends) for node, ends in ground.outgoing.items()}
    least = max((len(members) - 1) * count / max(sum(ground.links.values()) / 2, 1), 1.0)

    def nearest(price: Mapping[tuple[int, int], float], number: int) -> Tree:
        return _tree(beside, price, members, members[number % len(members)])

    kinds = [_evenly(ground, count, STEEP / least, nearest)]
    if len(members) < len(ground.working):
        steep = STEEP_STARS / least
        kinds.append(_evenly(ground, count, steep, lambda price, _: star_tree(beside, price, members)))
    return min((one for one in kinds if one is not None), key=lambda one: one[1:])[0]


def _evenly(
    ground: Ground,
    count: int,
    steep: float,
    found: Callable[[Mapping[tuple[int, int], float], int], Tree | None],
) -> tuple[list[Tree], float, int] | None:
    """Trees, each found with the prices that those before make, the most on a cable, and cables of all."""
    loads: defaultdict[tuple[int, int], int] = defaultdict(int)
    made = []
    for number in range(count):
        price = {
            ends: 2.0 ** (steep * (loads[min(ends), max(ends)] + 1) / several) / several
            for ends, several in ground.links.items()
        }
        tree = found(price, number)
        if tree is None:
            return None
        for node, ends in tree.items():
            for end in ends:
                if node < end:
                    loads[node, end] += 1
        made.append(tree)
    return made, max(load / ground.links[ends] for ends, load in loads.items()), sum(loads.values())


def _tree(
    beside: Mapping[int, list[int]],
    price: Mapping[tuple[int, int], float],
    members: Sequence[int],
    start: int,
) -> Tree:
    """A cheap tree: the member that is nearest to it is joined next (Takahashi and Matsuyama 1980)."""
    left, tree = {*members} - {start}, Tree({start: []})
    cost, before = {start: 0.0}, {start: start}
    border = [(0.0, start)]
    while left:
        far, node = heappop(border)
        if far > cost[node]:
            continue
        if node in left:
            way = [node]
            while way[-1] not in tree:
                way.append(before[way[-1]])
            for inner, outer in pairwise(reversed(way)):
                tree[inner].append(outer)
                tree[outer] = [inner]
                cost[outer] = 0.0
                heappush(border, (0.0, outer))
            left.difference_update(way)
            continue
        for end in beside[node]:
            onward = far + price[node, end]
            if onward < cost.get(end, inf):
                cost[end], before[end] = onward, node
                heappush(border, (onward, end))
    return tree


class _Rooted(NamedTuple):
    """A tree whose sums go up to a root, which is its own parent.

    `up` and `down` have the hops that are left, until the whole tree has the sum, for what arrives at a node.
    """

    parents: dict[int, int]
    children: dict[int, list[int]]
    up: dict[int, int]
    down: dict[int, int]


def _rooted(trees: Sequence[Tree]) -> list[_Rooted]:
    """Every tree with its middle as root; of two middle nodes it is the one that is so less often."""
    used, found = Counter[int](), []
    for tree in trees:
        root = min(_middle(tree), key=lambda node: (used[node], node))
        used[root] += 1
        parents, border = {root: root}, [root]
        for node in border:
            for end in tree[node]:
                if end not in parents:
                    parents[end] = node
                    border.append(end)
        children = {node: [end for end in tree[node] if end != parents[node]] for node in border}
        down: dict[int, int] = {}
        for node in reversed(border):
            down[node] = max((1 + down[end] for end in children[node]), default=0)
        up = {root: down[root]}
        for node in border[1:]:
            up[node] = up[parents[node]] + 1
        found.append(_Rooted(parents, children, up, down))
    return found


def _middle(tree: Tree) -> set[int]:
    """The one or two nodes that are left if leaves are taken away, layer by layer.

    >>> _middle({0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}), _middle({0: [1], 1: [0, 2], 2: [1]})
    ({1, 2}, {1})
    """
    left = {node: len(ends) for node, ends in tree.items()}
    while len(left) > 2:
        for leaf in [node for node, ends in left.items() if ends == 1]:
            del left[leaf]
            for end in tree[leaf]:
                if end in left:
                    left[end] -= 1
    return {*left}


def _scheduled(
    ground: Ground, trees: Sequence[_Rooted], latency: int, earlier: int
) -> tuple[list[Move], list[Move], int]:
    """Step, from, to and tree of all sums and moves, and the steps: the earliest tree goes first on a link.

    What has a hop further to go counts as of the tree `earlier` places before.
    """
    #: By link what is ready: the turn and the number of its tree, and whether it goes down.
    ready: defaultdict[tuple[int, int], list[tuple[int, int, bool]]] = defaultdict(list)
    awaited = [{node: len(ends) for node, ends in tree.children.items()} for tree in trees]
    found: tuple[list[Move], list[Move]] = [], []
    arriving: dict[int, list[tuple[int, int, bool]]] = {}

    def arrived(number: int, node: int, down: bool) -> None:
        """What follows once a node has all of a sum of those behind it, or the whole sum."""
        tree = trees[number]
        if tree.parents[node] == node:
            down = True
        if down:
            for end in tree.children[node]:
                heappush(ready[node, end], (number - earlier * tree.down[end], number, True))
        else:
            end = tree.parents[node]
            heappush(ready[node, end], (number - earlier * tree.up[end], number, False))

    for number, tree in enumerate(trees):
        for node, ends in tree.children.items():
            if not ends:
                arrived(number, node, False)
    step = last = 0
    while ready or arriving:
        for number, node, down in arriving.pop(step, ()):
            if down:
                arrived(number, node, True)
                continue
            awaited[number][node] -= 1
            if not awaited[number][node]:
                arrived(number, node, False)
        for link, several in [(link, ground.links[link]) for link in ready]:
            start, end = link
            waiting = ready[link]
            for _ in range(min(several, len(waiting))):
                _, number, down = heappop(waiting)
                found[down].append([step, start, end, number])
                arriving.setdefault(step + 1 + latency, []).append((number, end, down))
            if not waiting:
                del ready[link]
            last = step + 1 + latency
        step += 1
    return *found, last
