"""The ground of collective operations as the checks see it: nodes, links and distances, by plain arithmetic.

Nothing here is shared with the code that makes plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from flitloom.spec.any_network import AnyNetwork

Vector = tuple[int, ...]


class Ground:
    """A torus, plain or twisted, a mesh, a product with full meshes, or a graph, less what has failed.

    Parameters
    ----------
    topology : AnyNetwork
        Sizes, wrap-around, twist and parallel links, or cables; failures.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(4, 4, 8, twist=True))
    >>> ground.normal((4, 0, 0))
    (0, 0, 4)
    >>> len(ground.links), max(ground.distances(0).values())
    (768, 6)
    """

    def __init__(self, topology: AnyNetwork) -> None:
        self.topology = topology
        grid = topology.grid
        #: Sizes in whose order nodes are numbered.
        self.sizes = topology.dimensions
        #: Whether a step over the edge of a short dimension also moves half of every long one.
        self.twist = topology.twist
        #: Per dimension whether it is a ring, its parallel links, whether it is a full mesh, and the steps
        #: that it has if it is a circulant; none where nodes have no coordinates.
        self.wraps = grid.wraps if grid else ()
        self.width = tuple(grid.width) if grid else ()
        self.full = grid.full if grid else ()
        self.steps = grid.steps if grid else ()
        self.short = min(self.sizes) if self.twist else 0

    def __str__(self) -> str:
        return str(self.topology)

    def __eq__(self, other: object) -> bool:
        # What is found out about one is kept for all that are equal.
        return type(other) is Ground and self.topology == other.topology

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.topology)

    @property
    def is_torus(self) -> bool:
        """Whether it has rings and lines of single links only: a torus or mesh."""
        grid = self.topology.grid
        return grid is not None and not (any(grid.full) or any(grid.steps) or max(grid.width) > 1)

    @property
    def whole(self) -> bool:
        """Whether every node sees the same: rings and full meshes only, and no failures."""
        grid = self.topology.grid
        if grid is None or self.topology.damaged:
            return False
        lines = zip(grid.wraps, grid.full, grid.steps, grid.sizes, strict=True)
        return all(wraps or full or steps or size == 2 for wraps, full, steps, size in lines)

    def without_failures(self) -> Ground:
        """The same ground with all its nodes and links at work.

        >>> import flitloom as fl
        >>> len(Ground(fl.Torus(3, failed_nodes=[1])).without_failures().links)
        6
        """
        whole = self.topology.model_copy(update={"failed_nodes": (), "failed_links": ()})
        return Ground(whole)

    def normal(self, vector: Sequence[int]) -> Vector:
        """The coordinates at which a vector from the origin ends."""
        point, turns = list(vector), 0
        if self.twist:
            for place, size in enumerate(self.sizes):
                if size == self.short:
                    around, point[place] = divmod(point[place], size)
                    turns += around
        for place, size in enumerate(self.sizes):
            if self.twist and size != self.short:
                point[place] += turns * (size // 2)
            point[place] %= size
        return tuple(point)

    def number(self, point: Sequence[int]) -> int:
        """The node at the given coordinates."""
        node = 0
        for coordinate, size in zip(reversed(point), reversed(self.sizes), strict=True):
            node = node * size + coordinate
        return node

    def point(self, node: int) -> Vector:
        """Coordinates of a node."""
        point = []
        for size in self.sizes:
            node, coordinate = divmod(node, size)
            point.append(coordinate)
        return tuple(point)

    @cached_property
    def nodes(self) -> int:
        """Number of nodes, failed ones included."""
        return self.topology.nodes

    @cached_property
    def working(self) -> tuple[int, ...]:
        """Nodes that work."""
        failed = set(self.topology.failed_nodes)
        return tuple(node for node in range(self.nodes) if node not in failed)

    @cached_property
    def members(self) -> tuple[int, ...]:
        """Nodes that take part in collective operations: working hosts where switches join them, else all.

        >>> import flitloom as fl
        >>> Ground(fl.Graph(["0-2", "1-2"], nodes=3, hosts=[0, 1])).members, Ground(fl.Mesh(2)).members
        ((0, 1), (0, 1))
        """
        return self.topology.members or self.working

    @property
    def has_relays(self) -> bool:
        """Whether some nodes only pass on what members send."""
        return len(self.members) < len(self.working)

    def steps_from(self, point: Vector) -> Iterator[tuple[int, Vector, int]]:
        """Per way out of a point: the dimension, the next point and the number of parallel links."""
        wraps = self.wraps
        for place, size in enumerate(self.sizes):
            ends = []
            ahead = self.steps[place] or (range(1, size) if self.full[place] else (1,))
            for step in ahead if self.full[place] else (sign * step for step in ahead for sign in (1, -1)):
                moved = [*point[:place], point[place] + step, *point[place + 1 :]]
                if not (0 <= moved[place] < size or wraps[place] or self.full[place] or self.steps[place]):
                    continue
                end = self.normal(moved)
                if end not in ends:
                    ends.append(end)
                    yield place, end, self.width[place]

    @cached_property
    def directions(self) -> Counter[Vector]:
        """Of a healthy torus: where the links of the origin lead, and how many."""
        found: Counter[Vector] = Counter()
        for _, end, count in self.steps_from((0,) * len(self.sizes)):
            found[end] += count
        return found

    @cached_property
    def links(self) -> Counter[tuple[int, int]]:
        """All working links as (from, to), with their number."""
        failed = set(self.topology.failed_nodes)
        cut = {tuple(cable) for cable in self.topology.failed_links}
        cut |= {(b, a) for a, b in cut}
        found: Counter[tuple[int, int]] = Counter()
        if self.topology.grid is None:
            ends = self.topology.cable_ends
            found.update([*ends, *(pair[::-1] for pair in ends), *self.topology.one_way_links])
            return Counter(
                {pair: count for pair, count in found.items() if pair not in cut and not failed & {*pair}}
            )
        for backwards in product(*(range(size) for size in reversed(self.sizes))):
            point = backwards[::-1]
            node = self.number(point)
            if node in failed:
                continue
            for _, end, count in self.steps_from(point):
                other = self.number(end)
                if other not in failed and (node, other) not in cut:
                    found[node, other] += count
        return found

    @cached_property
    def most_links(self) -> int:
        """Links out of the member with the most of them, failed ones included.

        >>> import flitloom as fl
        >>> Ground(fl.Torus(4, 4, failed_nodes=[5])).most_links, Ground(fl.Product("full4*6")).most_links
        (4, 18)
        """
        found, whole = Counter[int](), self.without_failures()
        for (start, _), count in whole.links.items():
            found[start] += count
        return max((found[node] for node in whole.members), default=0)

    @cached_property
    def ways(self) -> dict[tuple[int, int], int]:
        """The direction of every link of a torus or mesh: twice the dimension, and one more if it goes down.

        >>> import flitloom as fl
        >>> ways = Ground(fl.Torus(4, 2)).ways
        >>> ways[0, 1], ways[0, 3], ways[0, 4], ways[4, 0]
        (0, 1, 2, 2)
        """
        ways: dict[tuple[int, int], int] = {}
        for node in self.working:
            point = self.point(node)
            for place in range(len(point)):
                for down, sign in enumerate((1, -1)):
                    end = self.normal([*point[:place], point[place] + sign, *point[place + 1 :]])
                    ends = node, self.number(end)
                    if ends in self.links:
                        ways.setdefault(ends, 2 * place + down)
        return ways

    @cached_property
    def outgoing(self) -> dict[int, list[int]]:
        """Per node its neighbours over outgoing links."""
        found: dict[int, list[int]] = {node: [] for node in range(self.nodes)}
        for from_, to in self.links:
            found[from_].append(to)
        return found

    @cached_property
    def incoming(self) -> dict[int, list[int]]:
        """Per node its neighbours over incoming links."""
        found: dict[int, list[int]] = {node: [] for node in range(self.nodes)}
        for from_, to in self.links:
            found[to].append(from_)
        return found

    @cached_property
    def routes(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Hops from every node (row) to every node, and how many minimal routes there are; -1 hops for none.

        Parallel links are separate routes.

        >>> import flitloom as fl
        >>> hops, routes = Ground(fl.Torus(4, 4)).routes
        >>> int(hops[0, 10]), int(routes[0, 10])  # half way round in both dimensions
        (4, 24)
        """
        hops = np.full((self.nodes, self.nodes), -1, dtype=np.int32)
        routes = np.zeros((self.nodes, self.nodes))
        tails, heads = (np.array(ends, dtype=np.int64) for ends in zip(*self.links, strict=True))
        several = np.array(list(self.links.values()), dtype=np.float64)
        # Links in the order of their tails, and where those of a node begin.
        order = np.argsort(tails, kind="stable")
        heads, several = heads[order], several[order]
        degrees = np.bincount(tails, minlength=self.nodes)
        firsts = np.concatenate([[0], np.cumsum(degrees)])
        sources = ends = np.arange(self.nodes)
        counts: NDArray[np.float64] = np.ones(self.nodes)
        far = 0
        while len(sources):
            hops[sources, ends], routes[sources, ends] = far, counts
            fan = degrees[ends]
            places = np.repeat(firsts[ends] - np.concatenate([[0], np.cumsum(fan)[:-1]]), fan)
            places += np.arange(len(places))
            sources, after = np.repeat(sources, fan), heads[places]
            counts = np.repeat(counts, fan) * several[places]
            new = hops[sources, after] < 0
            keys, place = np.unique(sources[new] * self.nodes + after[new], return_inverse=True)
            counts = np.bincount(place, counts[new], len(keys)).astype(np.float64)
            sources, ends = np.divmod(keys, self.nodes)
            far += 1
        return hops, routes

    def cables_between(self, nodes: Sequence[int]) -> list[tuple[int, int]]:
        """Cables between some nodes, by their places among these; each stands as often as it exists.

        >>> import flitloom as fl
        >>> Ground(fl.Torus(4, 4)).cables_between([4, 5, 0])
        [(0, 1), (0, 2)]
        """
        place = {node: number for number, node in enumerate(nodes)}
        return sorted(
            (place[node], place[end])
            for node in nodes
            for end in self.outgoing[node]
            if place[node] < place.get(end, -1)
            for _ in range(self.links[node, end])
        )

    def distances(self, node: int, backwards: bool = False) -> dict[int, int]:
        """Hops from a node to every node it reaches, or to it from every node that reaches it."""
        return self.nearest([node], backwards)

    def nearest(self, nodes: Iterable[int], backwards: bool = False) -> dict[int, int]:
        """The same from the nearest of some nodes, or to it.

        >>> import flitloom as fl
        >>> Ground(fl.Mesh(5)).nearest([0, 4])
        {0: 0, 4: 0, 1: 1, 3: 1, 2: 2}
        """
        after = self.incoming if backwards else self.outgoing
        found = dict.fromkeys(nodes, 0)
        border = [*found]
        while border:
            following = []
            for one in border:
                for other in after[one]:
                    if other not in found:
                        found[other] = found[one] + 1
                        following.append(other)
            border = following
        return found
