"""What links add to the time of rounds: the latency of those of a class, besides what every round costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.rounds_plan import Messages, RoundsPlan, messages_of, vector_sum
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground

#: Most nodes of a network whose links have a latency: every pair of nodes is looked at.
MOST_NODES = 1024
#: Links times nodes that are looked at together.
MOST_PLACES = 1 << 22

Seconds = NDArray[np.float64]
Link = tuple[int, int]


class Latencies:
    """Seconds that links take besides the bytes, and what rounds of messages over them take.

    A message takes the sum of the latencies of the links on its route, and a round that of the slowest of its
    messages. Messages take all minimal routes evenly, so the slowest of these counts.

    Parameters
    ----------
    ground : Ground
        Nodes and links.
    seconds : mapping
        Latency of links, by the nodes from and to which they lead; of others it is 0.
    root : int, optional
        The root of a broadcast or a reduce.

    Raises
    ------
    SpecError
        The network is too large.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> slow = Latencies(Ground(fl.Mesh(4)), {(1, 2): 2e-6, (2, 1): 2e-6})
    >>> slow.far, slow.least(9)  # from node 0 to node 3; over the other links
    (2e-06, 2e-06)
    """

    def __init__(self, ground: Ground, seconds: Mapping[Link, float], root: int | None = None) -> None:
        if ground.nodes > MOST_NODES:
            raise SpecError.at(
                "machine.links",
                f"{counted(ground.nodes, 'node')}, and latencies of links are for up to {MOST_NODES}",
                "leave latency out",
            )
        self.ground, self.root = ground, root
        self.seconds = {link: float(seconds.get(link, 0.0)) for link in ground.links}
        tails, heads = np.array([*ground.links], dtype=np.int64).reshape(-1, 2).T
        order = np.argsort(tails, kind="stable")
        self._tails, self._heads = tails[order], heads[order]
        self._lengths: Seconds = np.array([*self.seconds.values()])[order]
        self._far_by_vector: dict[int, float] = {}

    def rows(self) -> list[tuple[int, int, float]]:
        """From, to and seconds of links that have a latency."""
        return [(*link, value) for link, value in sorted(self.seconds.items()) if value]

    def least(self, rounds: int) -> float:
        """Seconds that all links add to a number of rounds, at least."""
        return max(rounds * min(self.seconds.values(), default=0.0), self.far)

    @cached_property
    def far(self) -> float:
        """Seconds that pass, at least, before all that take part have heard of each other, or of the root."""
        apart = np.full((self.ground.nodes, self.ground.nodes), np.inf)
        np.fill_diagonal(apart, 0.0)
        while True:
            nearer = self._over_links(apart, np.minimum)
            if np.array_equal(nearer, apart):
                break
            apart = nearer
        members = np.array(self.ground.members)
        if self.root is None:
            return float(apart[np.ix_(members, members)].max())
        return float(max(apart[self.root, members].max(), apart[members, self.root].max()))

    @cached_property
    def slowest(self) -> Seconds:
        """By two nodes the seconds of the slowest minimal route from the one to the other."""
        hops = self.ground.routes[0]
        found = np.where(hops == 0, 0.0, -np.inf)
        for far in range(1, int(hops.max()) + 1):
            # Over links behind which a hop less is left.
            behind = np.where(hops == far - 1, found, -np.inf)
            found = np.where(hops == far, self._over_links(behind, np.maximum), found)
        return found

    def _over_links(self, known: Seconds, best: np.ufunc) -> Seconds:
        """The best over the links that leave every node, to all nodes; `known` where that is better."""
        found, count = known.copy(), len(self._tails)
        batch = max(MOST_PLACES // self.ground.nodes, 1)
        for begin in range(0, count, batch):
            links = slice(begin, begin + batch)
            values = self._lengths[links, None] + known[self._heads[links]]
            nodes, firsts = np.unique(self._tails[links], return_index=True)
            found[nodes] = best(found[nodes], best.reduceat(values, firsts, axis=0))
        return found

    @cached_property
    def _shifted_alike(self) -> bool:
        """Whether all links along the same vector have one latency."""
        by_way: dict[int, float] = {}
        return all(
            by_way.setdefault(vector_sum(self.ground, end, start, -1), value) == value
            for (start, end), value in self.seconds.items()
        )

    def _along(self, vector: int) -> float:
        """Seconds of the slowest message along a vector, which is that to a node from node 0."""
        if self._shifted_alike:
            return float(self.slowest[0, vector])
        if vector not in self._far_by_vector:
            nodes = range(self.ground.nodes)
            ends = [vector_sum(self.ground, node, vector) for node in nodes]
            self._far_by_vector[vector] = float(self.slowest[[*nodes], ends].max())
        return self._far_by_vector[vector]

    def of_rounds(self, messages: Messages, rounds: int) -> tuple[float, ...]:
        """Seconds that links add to every round of messages."""
        found = [0.0] * rounds
        rows = {row[:3] for row in (*messages.sums, *messages.partials, *messages.moves)}
        images = np.array(messages.symmetries) if messages.symmetries else None
        for turn, start, end in rows:
            if messages.alike:
                value = self._along(end)
            elif images is not None:
                value = float(self.slowest[images[:, start], images[:, end]].max())
            else:
                known = self.seconds.get((start, end))
                value = float(self.slowest[start, end]) if known is None else known
            found[turn] = max(found[turn], value)
        return tuple(found)

    def of_steps(self, plan: CollectivePlan) -> tuple[float, ...]:
        """Seconds that links add to every step of a plan, which is a round."""
        found = [0.0] * plan.steps
        if plan.is_orbit:
            ways = [self.ground.number(self.ground.normal(way)) for way in plan.directions]
            used = {(row[0], ways[row[1]]) for row in (*plan.adds, *plan.sends)}
            used |= {(step, ways[way]) for path in plan.paths for step, way in path[2]}
            for step, way in used:
                found[step] = max(found[step], self._along(way))
            return tuple(found)
        for step, start, end, *_ in (*plan.sums, *plan.moves):
            found[step] = max(found[step], self.seconds[start, end])
        return tuple(found)


def latencies_of_plan(plan: RoundsPlan) -> Latencies | None:
    """What links add to the rounds of a plan; none if its file says nothing of that.

    Raises
    ------
    SpecError
        The network has no such link, or one is named twice.
    """
    if not plan.latencies:
        return None
    seconds = {(start, end): value for start, end, value in plan.latencies}
    if len(seconds) < len(plan.latencies) or not seconds.keys() <= plan.ground.links.keys():
        raise SpecError.at("latencies", "there is no such link, or one is named twice")
    return Latencies(plan.ground, seconds)


def round_latencies(plan: RoundsPlan) -> tuple[float, ...]:
    """Seconds that links add to every round of a plan.

    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> slow = {(0, 1): 2e-6, (1, 0): 2e-6}
    >>> plan = make_rounds(fl.Torus(4), "all-gather", "spheres", 4096, 1e-6, 50e9, latencies=slow)
    >>> round_latencies(plan)
    (2e-06, 2e-06)
    """
    slow = latencies_of_plan(plan)
    return (0.0,) * plan.rounds if slow is None else slow.of_rounds(messages_of(plan), plan.rounds)
