"""How many chunks an all-gather has on its busiest links at least, since its messages must reach every node.

All nodes see the same network, so the chunk of node 0 represents all. It goes to every node over a chain of
messages, and a message that belongs to the chains of many nodes counts once. So every node gets a potential,
by how far from it the chunk is after a round. A message may raise the potentials of all nodes together by
its cost at most. Then the potentials of the nodes at themselves, at the end, bound the cost of all messages.
This is the dual of the relaxation by directed cuts of Steiner arborescences (Wong 1984). Here the cuts are
chains of balls around nodes. A small linear program finds their weights, by the distance from node 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Messages by nodes, at most, that a proof looks at in a round.
WORK = 1 << 24
#: Hops of messages of which the linear program knows from the beginning.
NEAR = 1
#: Times that messages which raise too much join the linear program, and how many of a sender in a round.
TURNS, JOINING = 5, 20
#: Raises above the cost of a message by less than this share need no further turn.
CLOSE = 1e-2
#: By how many hops a ball may be smaller than the one of the round before.
SHRINKING = 2
#: Digits of potentials behind the point.
DIGITS = 7
#: Tables of messages by distances that are made together.
BATCH = 1 << 22

#: By round, distance of a node from node 0 (from 1 on), and distance from that node.
Potentials = NDArray[np.float64]


class Distances:
    """Hops between nodes, and which senders represent all others.

    Parameters
    ----------
    ground : Ground
        A network in which all nodes see the same.
    symmetries : sequence of arrays of int
        Where nodes go under symmetries that leave node 0 where it is, and keep the costs of messages.
    """

    def __init__(self, ground: Ground, symmetries: Sequence[NDArray[np.int64]]) -> None:
        self.hops = ground.routes[0].astype(np.int64)
        self.away = self.hops[0]
        self.far = int(self.away.max())
        least = np.arange(ground.nodes)
        while symmetries:
            before = least
            for one in symmetries:
                least = np.minimum(least, least[one])
            if (least == before).all():
                break
        self.senders = np.unique(least)

    @property
    def small(self) -> bool:
        """Whether a proof has little enough to look at."""
        return len(self.senders) * len(self.away) ** 2 <= WORK

    def raises(self, now: NDArray[np.float64], before: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """By sender and receiver how much a message raises the potentials of all nodes.

        `now` and `before` are the potentials after the round of the message and before it; none before
        the first round, when only node 0 has the chunk.
        """
        ends = _of_nodes(self, now)
        if before is None:
            first: NDArray[np.float64] = ends.sum(axis=1, keepdims=True).T
            return first
        starts = _of_nodes(self, before)
        return _core.raises(starts[self.senders], ends).reshape(len(self.senders), len(ends))


def _of_nodes(distances: Distances, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """By place of the chunk the potential of every node; node 0 has none."""
    found: NDArray[np.float64] = table[np.maximum(distances.away, 1) - 1, distances.hops]
    found[:, 0] = 0
    return found


def reached(
    distances: Distances,
    behind: NDArray[np.int64],
    costs: Sequence[NDArray[np.float64]],
    potentials: ArrayLike,
) -> float:
    """What potentials prove; those that raise more than messages cost count less.

    Parameters
    ----------
    distances : Distances
        Of the network.
    behind : array of int
        The node at the difference of two vectors from node 0 (row less column).
    costs : sequence of arrays of float
        By round what a message costs, by the vector that it goes.
    potentials : array of float
        Of nodes, see `Potentials`.

    Raises
    ------
    SpecError
        They are not as many as there are rounds and distances, or one rises while nothing is sent.
    """
    far, needed = distances.far, (len(costs), distances.far, distances.far + 1)
    try:
        table = np.array(potentials, dtype=np.float64)
    except ValueError:
        # Rows are not equally long.
        table = np.zeros(0)
    if table.shape != needed or not np.isfinite(table).all() or table.min(initial=0) < 0:
        raise SpecError.at("prices.potentials", f"{' times '.join(map(str, needed))} of them are needed")
    own = np.arange(far)
    if (np.diff(table, axis=0) > 0).any() or table[0, own, own + 1].any():
        raise SpecError.at("prices.potentials", "one rises while nothing is sent")
    over = 1.0
    for turn, cost in enumerate(costs):
        before = table[turn - 1] if turn else None
        raised = distances.raises(table[turn], before)
        senders = distances.senders if turn else np.zeros(1, dtype=np.int64)
        over = max(over, _over(raised, cost[behind[:, senders].T]))
    counts = np.bincount(distances.away, minlength=far + 1)[1:]
    return float(counts @ table[-1, :, 0]) / over if np.isfinite(over) else 0.0


def _over(raised: NDArray[np.float64], cost: NDArray[np.float64]) -> float:
    """The largest raise by cost."""
    some = raised > 0
    with np.errstate(divide="ignore"):
        return float((raised[some] / cost[some]).max(initial=0.0))


class _Program:
    """The linear program for weights of chains of balls.

    A chain has a ball per round, none larger than the one before, and the last one is the node alone. The
    first one leaves node 0 out. Variables are the weights of all chains that have two balls one after the
    other.
    """

    def __init__(self, distances: Distances, behind: NDArray[np.int64], costs: Sequence[NDArray[np.float64]]):
        self.distances, self.behind, self.costs = distances, behind, costs
        far, rounds = distances.far, len(costs)
        chains = np.array(
            [
                (away, before, after)
                for away in range(1, far + 1)
                for before in range(away)
                for after in range(max(before - SHRINKING, 0), before + 1)
            ]
        )
        firsts = np.array([(away, ball, ball) for away in range(1, far + 1) for ball in range(away)])
        #: By round the nodes' distances from node 0, the balls before and after of variables.
        self.chains = [firsts, *[chains] * (rounds - 2), chains[chains[:, 2] == 0]]
        self.begins = np.cumsum([0, *map(len, self.chains)])
        self.rows: list[NDArray[np.int64]] = []
        self.columns: list[NDArray[np.int64]] = []
        self.values: list[NDArray[np.float64]] = []
        self.most: list[NDArray[np.float64]] = []
        self.count = 0
        # What ends with a ball in a round begins with it in the next one.
        for turn in range(rounds - 1):
            for sign, table, column in ((1.0, self.chains[turn], 2), (-1.0, self.chains[turn + 1], 1)):
                self.rows.append(self.count + (table[:, 0] - 1) * far + table[:, column])
                self.columns.append(self.begins[turn + (sign < 0)] + np.arange(len(table)))
                self.values.append(np.full(len(table), sign))
            self.count += far * far
        self.most.append(np.zeros(self.count))
        self.equal = self.count

    def add(self, turn: int, senders: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Messages of a round join, each of which may raise potentials by its cost at most."""
        distances, table = self.distances, self.chains[turn]
        side = distances.far + 1
        step = max(BATCH // side**3, 1)
        for begin in range(0, len(senders), step):
            some = slice(begin, begin + step)
            count = len(senders[some])
            places = (
                (np.arange(count)[:, None] * side + distances.away) * side + distances.hops[ends[some]]
            ) * side + distances.hops[senders[some]]
            nodes = np.bincount(places.ravel(), minlength=count * side**3).reshape(count, side, side, side)
            # Nodes whose ball after the round has the receiver, and whose ball before it lacks the sender.
            inside = nodes.cumsum(axis=2)
            outside = inside[:, :, :, ::-1].cumsum(axis=3)[:, :, :, ::-1]
            crossed = outside[:, table[:, 0], table[:, 2], table[:, 1] + 1]
            row, column = np.nonzero(crossed)
            self.rows.append(self.count + row)
            self.columns.append(self.begins[turn] + column)
            self.values.append(crossed[row, column].astype(np.float64))
            self.count += count
        self.most.append(self.costs[turn][self.behind[ends, senders]])

    def potentials(self) -> Potentials | None:
        """The best potentials for the messages so far."""
        distances = self.distances
        counts = np.bincount(distances.away, minlength=distances.far + 1)
        firsts = self.chains[0]
        cost = np.zeros(self.begins[-1])
        cost[: len(firsts)] = -counts[firsts[:, 0]]
        most = np.concatenate(self.most)
        least = np.where(np.arange(self.count) < self.equal, 0.0, -np.inf)
        entries = (np.concatenate(self.rows), np.concatenate(self.columns), np.concatenate(self.values))
        found = solve(cost, entries, least, most, "simplex")
        if found is None:
            return None
        rounds = len(self.costs)
        weights = np.zeros((rounds, distances.far, distances.far + 1))
        for turn, table in enumerate(self.chains):
            several = np.maximum(found.variables[self.begins[turn] : self.begins[turn + 1]], 0)
            np.add.at(weights[turn], (table[:, 0] - 1, table[:, 2]), several)
        # A place is in all balls that are at least as large as it is far.
        heights = weights[:, :, ::-1].cumsum(axis=2)[:, :, ::-1].round(DIGITS)
        return np.minimum.accumulate(heights, axis=0)


def climbed(
    distances: Distances, behind: NDArray[np.int64], costs: Sequence[NDArray[np.float64]]
) -> Potentials | None:
    """Good potentials for two rounds and more; none if there are none. Parameters are those of `reached`.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.nested import offsets
    >>> ground = Ground(fl.Torus(4, 4))
    >>> distances, behind = Distances(ground, ()), offsets(ground).behind
    >>> costs = [offsets(ground).along.sum(axis=1) / 4] * 3  # a quarter a hop
    >>> reached(distances, behind, costs, climbed(distances, behind, costs))  # 16 hops
    4.0
    """
    program = _Program(distances, behind, costs)
    senders = distances.senders
    program.add(0, np.zeros(len(behind) - 1, dtype=np.int64), np.arange(1, len(behind)))
    row, ends = np.nonzero((distances.hops[senders] > 0) & (distances.hops[senders] <= NEAR))
    for turn in range(1, len(costs)):
        program.add(turn, senders[row], ends)
    best, kept = 0.0, None
    for _ in range(TURNS):
        found = program.potentials()
        if found is None:
            break
        over = 1.0
        for turn in range(1, len(costs)):
            cost = costs[turn][behind[:, senders].T]
            raised = distances.raises(found[turn], found[turn - 1])
            over = max(over, _over(raised, cost))
            # The worst of every sender.
            worst = np.sort(cost - raised, axis=1)[:, min(JOINING, len(behind) - 1)]
            row, ends = np.nonzero((raised > (1 + CLOSE) * cost) & (cost - raised <= worst[:, None]))
            program.add(turn, senders[row], ends)
        value = float(found[-1, :, 0] @ np.bincount(distances.away)[1:]) / over
        if value > best:
            best, kept = value, found
        if over <= 1 + CLOSE:
            break
    return kept
