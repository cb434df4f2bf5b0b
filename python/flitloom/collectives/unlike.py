"""The same bound by prices where nodes do not see the same network: failed parts, meshes, any graph.

Every chunk has a price at every node of its own, and every link a length of its own, which add up to one over
all links. The prices of a chunk at all nodes, less its worth at its owner before the first round, bound what
that chunk costs; together they bound the chunks on the busiest links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.nested import offsets
from flitloom.collectives.prices import (
    AHEAD,
    CLOSE,
    PATIENCE,
    Prices,
    as_prices,
    entering_chunks,
    least_chunks,
    shares,
)
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Most nodes that take part.
MOST_NODES = 128
#: Steps by which prices are improved, and numbers that all steps of a number of rounds may look at.
STEPS, WORK = 400, 100_000_000
#: What the bound of sums counts in exact prices, where that of all-gathers counts one; the second is taken
#: where that leaves so much of the bound of all-gathers.
SUMS, KEPT = (0.02, 0.1), 0.985
#: Digits of prices and of lengths behind the point.
DIGITS = 8
#: Most rounds for which there are prices, and how many more than the diameter on networks of few nodes.
MOST_ROUNDS, FURTHER, FEW = 6, 2, 16
#: Numbers of chunks that are looked at together.
BATCH = 1 << 19


@dataclass(frozen=True)
class Routes:
    """Minimal routes between all nodes that take part, which messages take evenly.

    Attributes
    ----------
    count : int
        Nodes that take part.
    pairs : array of int
        Pair of nodes (by their places, sender first) that uses a link, once for every link.
    links : array of int
        The link.
    crossing : array of float
        The part of a message that goes over all parallel links of it.
    widths : array of float
        Parallel links by link.
    heads : array of int
        The place of the node to which a link leads; -1 of one that only passes on.
    """

    count: int
    pairs: NDArray[np.int64]
    links: NDArray[np.int64]
    crossing: NDArray[np.float64]
    widths: NDArray[np.float64]
    heads: NDArray[np.int64]

    def costs(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a chunk costs from every node (row) to every node; to itself it is not sent."""
        table = np.bincount(self.pairs, self.crossing * lengths[self.links], self.count**2)
        costs = table.astype(np.float64).reshape(self.count, self.count)
        np.fill_diagonal(costs, np.inf)
        return costs

    def loads(self, sent: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chunks on every link, by how many are sent between all nodes."""
        each = self.crossing * sent.ravel()[self.pairs] / self.widths[self.links]
        return np.bincount(self.links, each, len(self.widths)).astype(np.float64)


@lru_cache(maxsize=4)
def routes(ground: Ground) -> Routes:
    """Routes of a network; links are in the order of their ends.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = routes(Ground(fl.Mesh(3)))
    >>> found.costs(np.array([0.1, 0.2, 0.3, 0.4])).tolist()[0]  # from 0 to 1, 1 to 0, 1 to 2, 2 to 1
    [inf, 0.1, 0.4]
    """
    hops, ways = ground.routes
    members = np.array(ground.members)
    apart = hops[np.ix_(members, members)]
    routes_there = ways[np.ix_(members, members)]
    place = {node: number for number, node in enumerate(ground.members)}
    ends = sorted(ground.links)
    widths = np.array([ground.links[one] for one in ends], dtype=np.float64)
    pairs, links, crossing = [], [], []
    for number, (start, end) in enumerate(ends):
        before, behind = hops[members, start], hops[end, members]
        # Nodes that are not joined are below 0 hops from each other.
        joined = (before[:, None] >= 0) & (behind >= 0)
        source, target = np.nonzero((before[:, None] + 1 + behind == apart) & joined)
        pairs.append(source * len(members) + target)
        links.append(np.full(len(source), number))
        part = ways[members[source], start] * ways[end, members[target]] / routes_there[source, target]
        crossing.append(part * widths[number])
    return Routes(
        len(members),
        np.concatenate(pairs),
        np.concatenate(links),
        np.concatenate(crossing),
        widths,
        np.array([place.get(end, -1) for _, end in ends]),
    )


@lru_cache(maxsize=4)
def least_chunks_unlike(ground: Ground) -> tuple[Prices, ...]:
    """Bounds for all-gathers of 1, 2, ... rounds, until only what enters nodes counts; none if it is large.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> [round(one.chunks, 2) for one in least_chunks_unlike(Ground(fl.Mesh(4)))]
    [4.0, 3.0]
    """
    table = routes(ground)
    members = np.array(ground.members)
    count, far = table.count, int(ground.routes[0][np.ix_(members, members)].max())
    floor = entering_chunks(ground)
    found: list[Prices] = []
    start = _start(ground, table)
    nodes, lengths = start[0]
    target = np.inf
    for rounds in range(1, min(far + FURTHER * (count <= FEW), MOST_ROUNDS) + 1):
        if rounds == 1:
            found.append(direct_chunks(ground))
        elif count <= FEW:
            every = [_proof(ground, *_exact(table, rounds, share)) for share in SUMS]
            found.append(every[every[1].chunks >= KEPT * every[0].chunks])
        else:
            tried = [(nodes, np.concatenate([lengths[:1], lengths]) if len(lengths) < rounds else lengths)]
            if rounds - 1 < len(start):
                tried.append(start[rounds - 1])
            values = [float(_sums(table, *one).sum()) for one in tried]
            nodes, lengths = _climb(table, *tried[int(np.argmax(values))], target)
            found.append(_proof(ground, nodes, lengths))
        target = found[-1].chunks
        if target <= floor * (1 + CLOSE):
            break
    return tuple(found)


def direct_chunks(ground: Ground) -> Prices:
    """The exact bound for all-gathers of one round, in which all chunks come straight from their owners.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> direct_chunks(Ground(fl.Mesh(4))).chunks
    4.0
    """
    table = routes(ground)
    loads = table.loads(1 - np.eye(table.count))
    rows = (loads == loads.max()) / table.widths
    rows = rows[None] / (rows * table.widths).sum()
    prices = table.costs(rows[0])
    np.fill_diagonal(prices, 0)
    return _proof(ground, prices, rows)


def _exact(table: Routes, rounds: int, share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The best prices of two rounds and more, from the linear program whose dual they are.

    Its variables are by chunk, round and pair of nodes what is sent, by chunk, round and node what is there
    after it, by round the chunks on the busiest link and the last transfers over every link, and by chunk how
    often its owner is the first to know a sum. Chunks are needed at all nodes, and those whose owner is first
    by a share more.
    """
    count, width = table.count, len(table.widths)
    starts, ends = np.nonzero(~np.eye(count, dtype=bool))
    pairs = len(starts)
    sent = np.arange(count * rounds * pairs).reshape(count, rounds, pairs)
    there = sent.size + np.arange(count * (rounds - 1) * count).reshape(count, rounds - 1, count)
    most = sent.size + there.size + np.arange(rounds)
    last_ones = most[-1] + 1 + np.arange(rounds * width).reshape(rounds, width)
    firsts = last_ones[-1, -1] + 1 + np.arange(count)
    rows = _Rows()
    for owner in range(count):
        others = np.flatnonzero(starts != owner)
        for turn in range(rounds):
            # Only what has come is sent.
            fresh = rows.more(len(others), -np.inf, 0.0)
            rows.put(fresh, sent[owner, turn, others], 1.0)
            if turn:
                rows.put(fresh, there[owner, turn - 1, starts[others]], -1.0)
            # What is there after the round has come; after the last one all is there.
            last = turn == rounds - 1
            fresh = rows.more(count, 0.0, np.inf) if not last else rows.more(count, 1.0, np.inf)
            rows.put(fresh[ends], sent[owner, turn], 1.0)
            if turn:
                rows.put(fresh, there[owner, turn - 1], 1.0)
            if not last:
                rows.put(fresh, there[owner, turn], -1.0)
            else:
                rows.lower[-1][owner] = 0.0
                others = fresh[np.arange(count) != owner]
                rows.put(others, np.full(count - 1, firsts[owner]), -share * count)
        rows.kept.append(fresh)
    place = np.full(count**2, -1)
    place[starts * count + ends] = np.arange(pairs)
    each = table.crossing / table.widths[table.links]
    loads = []
    for turn in range(rounds):
        fresh = rows.more(width, -np.inf, 0.0)
        for owner in range(count):
            rows.put(fresh[table.links], sent[owner, turn, place[table.pairs]], each)
        rows.put(fresh, np.full(width, most[turn]), -1.0)
        rows.put(fresh, last_ones[turn], 1 / table.widths)
        loads.append(fresh)
    # Every node but the first to know a sum needs a transfer.
    needs = rows.more(count, share * count, np.inf)
    for turn in range(rounds):
        rows.put(needs[table.heads[table.heads >= 0]], last_ones[turn][table.heads >= 0], 1.0)
    rows.put(needs, firsts, share * count)
    rows.put(np.full(count, rows.more(1, 1.0, np.inf)[0]), firsts, 1.0)
    cost = np.zeros(firsts[-1] + 1)
    cost[most] = 1.0
    found = solve(cost, rows.entries(), np.concatenate(rows.lower), np.concatenate(rows.upper), "ipm")
    assert found is not None
    nodes = np.maximum(found.duals[np.array(rows.kept)], 0.0)
    np.fill_diagonal(nodes, 0.0)
    lengths = np.maximum(-found.duals[np.array(loads)], 0.0)
    once = np.maximum(lengths.sum(axis=1, keepdims=True), 1.0)
    return nodes, lengths / once / table.widths


class _Rows:
    """The rows of a linear program, as they come."""

    def __init__(self) -> None:
        self.lower: list[NDArray[np.float64]] = []
        self.upper: list[NDArray[np.float64]] = []
        self.kept: list[NDArray[np.int64]] = []
        self._count = 0
        self._entries: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def more(self, count: int, lower: float, upper: float) -> NDArray[np.int64]:
        """The numbers of further rows with these bounds."""
        self.lower.append(np.full(count, lower))
        self.upper.append(np.full(count, upper))
        self._count += count
        return np.arange(self._count - count, self._count)

    def put(
        self,
        rows: NDArray[np.int64],
        variables: NDArray[np.int64],
        values: float | NDArray[np.float64],
    ) -> None:
        """Numbers at some rows and variables."""
        self._entries.append((rows, variables, np.broadcast_to(np.asarray(values, dtype=float), rows.shape)))

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Rows, variables and values of all numbers."""
        rows, variables, values = zip(*self._entries, strict=True)
        return np.concatenate(rows), np.concatenate(variables), np.concatenate(values)


def _start(ground: Ground, table: Routes) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Prices to begin with, by number of rounds: those of the network without failures, or equal ones."""
    count = table.count
    even = np.full((1, len(table.widths)), 1 / table.widths.sum())
    found = [((1 - np.eye(count)) / table.widths.sum(), even)]
    whole = ground.without_failures()
    if ground.topology.damaged and whole.whole:
        group = offsets(whole)
        members = np.array(ground.working)
        behind = group.behind[np.ix_(members, members)].T
        ways = {end: number for number, end in enumerate(group.ways)}
        along = [ways[int(group.behind[end, start])] for start, end in sorted(ground.links)]
        found = []
        for one in least_chunks(whole):
            lengths = np.array(one.links)[:, along]
            once = (lengths * table.widths).sum(axis=1).max()
            found.append((np.array(one.nodes)[behind] / once, lengths / once))
    return found


def _worths(
    table: Routes, nodes: NDArray[np.float64], lengths: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """By chunk what it is worth at every node, from the last round back, and the costs of these rounds."""
    worths, costs = [nodes], []
    step = max(BATCH // table.count**2, 1)
    for row in lengths[::-1]:
        costs.append(table.costs(row))
        before, after = worths[-1], worths[-1].copy()
        cost = costs[-1].astype(before.dtype)
        for begin in range(0, table.count, step):
            some = slice(begin, begin + step)
            gain = before[some, None, :] - cost
            after[some] += np.maximum(gain, 0, out=gain).sum(axis=2)
        worths.append(after)
    return worths, costs


def _sums(table: Routes, nodes: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """By chunk what prices prove that it costs."""
    worths, _ = _worths(table, nodes, lengths)
    found: NDArray[np.float64] = nodes.sum(axis=1) - np.diag(worths[-1])
    return found


def _climb(
    table: Routes, nodes: NDArray[np.float64], lengths: NDArray[np.float64], target: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Better prices, step by step along what changes the bound most, towards a bound ever less ahead."""
    count, rounds = table.count, len(lengths)
    best = -np.inf, nodes, lengths
    ahead, failed = np.inf, 0
    batch = max(BATCH // count**2, 1)
    for _ in range(min(STEPS, WORK // (rounds * count**3))):
        worths, costs = _worths(table, nodes.astype(np.float32), lengths)
        value = float((nodes.sum(axis=1) - np.diag(worths[-1])).sum())
        ahead = min(ahead, AHEAD * (target - value))
        if value > best[0]:
            best, failed = (value, nodes, lengths), 0
        else:
            failed += 1
        if failed > PATIENCE:
            ahead, failed = ahead / 2, 0
        # What all would hold, and what links would transfer, if all that gains were sent.
        held = np.eye(count, dtype=np.float32)
        loads = np.zeros_like(lengths)
        for turn in range(rounds):
            worth, cost = worths[rounds - 1 - turn], costs[rounds - 1 - turn].astype(np.float32)
            sent, fresh = np.zeros((count, count)), np.empty_like(held)
            for begin in range(0, count, batch):
                some = slice(begin, begin + batch)
                flow = (worth[some, None, :] > cost) * held[some, :, None]
                fresh[some] = flow.sum(axis=1)
                sent += flow.sum(axis=0)
            held = held + fresh
            loads[turn] = table.loads(sent)
        slope = 1 - held
        np.fill_diagonal(slope, 0)
        mean = (loads * table.widths).sum(axis=1, keepdims=True) / table.widths.sum()
        tilt = loads - mean
        # Prices and lengths are of different sizes: links are fewer, and their lengths add up to one.
        size = float((slope**2).sum() + (tilt**2).sum())
        step = (best[0] + ahead - value) / max(size, 1e-12)
        nodes = np.maximum(nodes + step * slope, 0)
        lengths = shares((lengths + step * tilt) * table.widths) / table.widths
    return best[1], best[2]


def _proof(ground: Ground, nodes: NDArray[np.float64], lengths: NDArray[np.float64]) -> Prices:
    """Prices in round numbers, with what these prove."""
    rows = np.floor(lengths * 10**DIGITS) / 10**DIGITS
    return prices_unlike(ground, nodes.round(DIGITS).ravel().tolist(), rows.tolist())


def prices_unlike(ground: Ground, nodes: Sequence[float], links: Sequence[Sequence[float]]) -> Prices:
    """Prices with what they prove, from the last round back to the first one.

    A node that is the first to know a sum has it from what all others sent; that may be the node where it
    costs least. Every other node needs a transfer that ends no earlier, over one of the links to it.

    Parameters
    ----------
    ground : Ground
        Any network.
    nodes : sequence of float
        Chunk by chunk its price at every node that takes part at the end.
    links : sequence of sequence of float
        Per round the length of every link, in the order of their ends; with parallel links they add up to
        one at most.

    Raises
    ------
    SpecError
        They are not such prices.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> prices_unlike(Ground(fl.Mesh(2)), [0, 0.5, 0.5, 0], [[0.5, 0.5]]).chunks
    1.0
    """
    table = routes(ground)
    end, rows = as_prices(nodes, links, table.count**2, table.widths, "all chunks at all nodes")
    every = _sums(table, end.reshape(table.count, table.count), rows)
    last = np.full(table.count, np.inf)
    arrives = table.heads >= 0
    np.minimum.at(last, table.heads[arrives], rows.min(axis=0)[arrives])
    chunks = float(every.sum())
    sums = float((every - last).min() + last.sum()) if len(rows) > 1 else chunks
    return Prices(tuple(nodes), tuple(map(tuple, links)), chunks, sums)
