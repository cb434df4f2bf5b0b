"""The search for placements of traffic in phases: swaps that lessen the sum of the fullest channels of all.

The core's search knows the fullest channel of one traffic. What it finds for all phases together and for each
alone is where this one begins. It swaps two ranks, or moves one to a free place, and goes by the sum over
phases of a power mean of the loads, which is close to the sum of the fullest channels and also tells fuller
channels from fewer full ones. Many swaps are rated at once; the first one that is good enough is made, so
that the outcome is that of one swap after the other. Only sums, products and square roots are taken, so
machines agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitloom._core import PlacementProblem
from flitloom.placing.traffic import Traffic

#: Nodes up to which there are swaps: the routes of all pairs are listed.
MOST_NODES = 1024
#: Destinations whose routes are told apart by the bits of one load.
BITS = 45
#: Rounds; the first ones go by a lower power.
ROUNDS = 8
#: Square roots that a power mean takes: powers of 8 and of 16.
ROOTS = (3, 4)
#: By which part of the sum it may become worse at the beginning of a round.
WARM = 0.02
#: Placements that are kept.
KEPT = 4
#: Nearest nodes that a rank is moved to, besides any.
NEAREST = 8
#: Part of the fullest channel from which a channel is full, and swaps rated at once.
FULL, FEW, MANY = 0.98, 4, 128

Whole = NDArray[np.int64]
Numbers = NDArray[np.float64]
#: Sum of the fullest channels, sum of how many are as full, hop-bytes: less is better.
Score = tuple[int, int, int]


@dataclass(frozen=True)
class Routes:
    """Channels of the routes between nodes that ranks may have.

    Attributes
    ----------
    nodes : array of int
        These nodes, ascending.
    starts : array of int
        Where the channels from one to another begin, by the places of both in `nodes`.
    channels : array of int
        Channels of all routes, one after the other.
    numbers : int
        Channels that there are.
    """

    nodes: Whole
    starts: Whole
    channels: Whole
    numbers: int

    def hops(self) -> Whole:
        """Channels from every node to every other."""
        return np.diff(self.starts).reshape(len(self.nodes), -1)


def routes_between(problem_for: Callable[[Traffic], PlacementProblem], slots: Sequence[int]) -> Routes:
    """The routes that a problem uses, from loads of messages with a bit each.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing.search import problem_of
    >>> routes = routes_between(lambda sent: problem_of(fl.Torus(4), sent, list(range(4)) * 12), range(4))
    >>> routes.channels[routes.starts[1] : routes.starts[2]].tolist(), routes.hops()[0].tolist()
    ([0], [0, 1, 2, 1])
    """
    nodes = np.unique(slots).astype(np.int64)
    places = np.arange(1, BITS + 1, dtype=np.uint32)
    bits = np.arange(BITS, dtype=np.uint64)
    problem = problem_for(Traffic(BITS + 1, np.zeros_like(places), places, np.uint64(1) << bits))
    counts, parts, numbers = [], [], 0
    for source in nodes:
        for begin in range(0, len(nodes), BITS):
            ends = nodes[begin : begin + BITS]
            # What a rank sends to its own node uses no channel.
            where = np.full(BITS + 1, source, dtype=np.uint32)
            where[1 : len(ends) + 1] = ends
            loads = problem.loads(where)[0]
            numbers, used = len(loads), np.flatnonzero(loads)
            taken = (loads[used][None, :] >> bits[: len(ends), None]) & np.uint64(1)
            end, channel = np.nonzero(taken)
            counts.append(np.bincount(end, minlength=len(ends)))
            parts.append(used[channel])
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Routes(nodes, starts, np.concatenate(parts), numbers)


class Board:
    """Ranks on places, the loads of every phase, and what swaps change.

    Parameters
    ----------
    routes : Routes
        Channels between nodes.
    parts : sequence of Traffic
        What ranks send in every phase.
    per_node : int
        Places at a node, one after the other.
    """

    def __init__(self, routes: Routes, parts: Sequence[Traffic], per_node: int) -> None:
        self.routes, self.per_node, self.phases = routes, per_node, len(parts)
        self.ranks = parts[0].ranks
        self.sources = np.concatenate([part.sources for part in parts]).astype(np.int64)
        self.ends = np.concatenate([part.destinations for part in parts]).astype(np.int64)
        self.bytes = np.concatenate([part.bytes for part in parts]).astype(np.float64)
        counts = [len(part.bytes) for part in parts]
        self.base = np.repeat(np.arange(len(parts)) * routes.numbers, counts)
        # Messages of every rank, sent or received, side by side.
        both = np.concatenate([self.sources, self.ends])
        self.around = np.argsort(both, kind="stable") % len(self.bytes)
        self.firsts = np.concatenate([[0], np.cumsum(np.bincount(both, minlength=self.ranks))])
        self.near = np.argsort(routes.hops(), axis=1, kind="stable")[:, : NEAREST + 1]

    def sit(self, nodes: NDArray[np.uint32]) -> None:
        """Begin with every rank on a node."""
        place = np.searchsorted(self.routes.nodes, nodes.astype(np.int64))
        order = np.argsort(place, kind="stable")
        turn = np.arange(self.ranks) - np.searchsorted(place[order], place[order])
        self.slot = np.zeros(self.ranks, dtype=np.int64)
        self.slot[order] = place[order] * self.per_node + turn
        self.held = np.full(len(self.routes.nodes) * self.per_node, -1, dtype=np.int64)
        self.held[self.slot] = np.arange(self.ranks)
        self.loads = np.zeros(self.phases * self.routes.numbers)
        place = self.slot // self.per_node
        keys, row = self._spread(place[self.sources], place[self.ends])
        np.add.at(self.loads, keys + self.base[row], self.bytes[row])

    def nodes(self) -> NDArray[np.uint32]:
        """The node of every rank."""
        return self.routes.nodes[self.slot // self.per_node].astype(np.uint32)

    def by_phase(self) -> Numbers:
        """Loads, a phase a row."""
        return self.loads.reshape(self.phases, -1)

    def score(self) -> Score:
        """How good the placement is."""
        rows = self.by_phase()
        full = rows.max(axis=1)
        return int(full.sum()), int((rows == full[:, None]).sum()), int(self.loads.sum())

    def _spread(self, sources: Whole, ends: Whole) -> tuple[Whole, Whole]:
        """Channels of the routes of rows, and the row of each."""
        pair = sources * len(self.routes.nodes) + ends
        return _gathered(self.routes.starts, self.routes.channels, pair)

    def swapped(self, ranks: Whole, slots: Whole) -> Swaps:
        """What changes if each of these ranks goes to a place, and who is there comes back."""
        others = self.held[slots]
        place = self.slot // self.per_node
        one, first = _gathered(self.firsts, self.around, ranks)
        has = np.flatnonzero(others >= 0)
        other, second = _gathered(self.firsts, self.around, others[has])
        second = has[second]
        # A message between the two is among the first ones.
        twice = (self.sources[other] == ranks[second]) | (self.ends[other] == ranks[second])
        sent = np.concatenate([one, other[~twice]])
        swap = np.concatenate([first, second[~twice]])

        def after(rank: Whole) -> Whole:
            moved = np.where(rank == ranks[swap], slots[swap] // self.per_node, place[rank])
            return np.where(rank == others[swap], place[ranks[swap]], moved)

        sources, ends = self.sources[sent], self.ends[sent]
        gone, left = self._spread(place[sources], place[ends])
        come, brought = self._spread(after(sources), after(ends))
        row = np.concatenate([left, brought])
        amount = np.concatenate([-self.bytes[sent[left]], self.bytes[sent[brought]]])
        keys = swap[row] * len(self.loads) + self.base[sent[row]] + np.concatenate([gone, come])
        keys, inverse = np.unique(keys, return_inverse=True)
        change = np.zeros(len(keys))
        np.add.at(change, inverse, amount)
        number, channel = np.divmod(keys, len(self.loads))
        return Swaps(number, channel, change, len(row))

    def make(self, rank: int, slot: int, channels: Whole, change: Numbers) -> None:
        """Make a swap that changes these channels so."""
        mine, other = self.slot[rank], self.held[slot]
        self.held[mine], self.held[slot], self.slot[rank] = other, rank, slot
        if other >= 0:
            self.slot[other] = mine
        self.loads[channels] += change

    def hot(self) -> Whole:
        """Ranks of messages over the full channels of any phase."""
        rows = self.by_phase()
        full = (rows >= FULL * rows.max(axis=1)[:, None]).ravel() & (self.loads > 0)
        place = self.slot // self.per_node
        channels, row = self._spread(place[self.sources], place[self.ends])
        over = row[full[channels + self.base[row]]]
        return np.unique(np.concatenate([self.sources[over], self.ends[over]]))


@dataclass(frozen=True)
class Swaps:
    """What swaps change: per entry the swap, the channel (of all phases in turn) and the bytes more."""

    number: Whole
    channel: Whole
    change: Numbers
    touched: int


def _gathered(starts: Whole, values: Whole, rows: Whole) -> tuple[Whole, Whole]:
    """The values of some rows of a ragged table, one row after the other, and where each row is.

    >>> first, row = _gathered(np.array([0, 2, 3]), np.array([7, 8, 9]), np.array([1, 0]))
    >>> first.tolist(), row.tolist()
    ([9, 7, 8], [0, 1, 1])
    """
    counts = starts[rows + 1] - starts[rows]
    row = np.repeat(np.arange(len(rows)), counts)
    at = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[rows][row]
    return values[at], row


def _powered(numbers: Numbers, roots: int) -> Numbers:
    for _ in range(roots):
        numbers = numbers * numbers
    return numbers


def _rooted(numbers: Numbers, roots: int) -> Numbers:
    for _ in range(roots):
        numbers = np.sqrt(np.maximum(numbers, 0))
    return numbers


def swap_round(
    board: Board,
    dice: np.random.Generator,
    effort: int,
    roots: int,
    offer: Callable[[Score, int], bool],
) -> int:
    """Swaps ranks until so many channel loads have been looked at; what it spent.

    `offer` is told every score that is reached and what was spent by then, and says whether to end.
    """
    spent, many, made, hot = 0, FEW, 0, board.hot()
    while spent < effort and len(hot):
        full = np.maximum(board.by_phase().max(axis=1), 1)
        scaled = board.by_phase() / full[:, None]
        sums = _powered(scaled, roots).sum(axis=1)
        now = float(full @ _rooted(sums, roots))
        ranks, slots = _drawn(board, dice, hot, many)
        swaps = board.swapped(ranks, slots)
        spent += swaps.touched
        phase = swaps.channel // board.routes.numbers
        before = board.loads[swaps.channel]
        more = _powered((before + swaps.change) / full[phase], roots) - _powered(before / full[phase], roots)
        at = swaps.number * board.phases + phase
        changed = np.bincount(at, more, minlength=many * board.phases).reshape(many, -1)
        value = _rooted(sums[None, :] + changed, roots) @ full
        allowed = now * (1 + WARM * (1 - min(1.0, spent / effort)) * dice.random(many))
        moved = np.bincount(swaps.number, swaps.change != 0, minlength=many) > 0
        good = np.flatnonzero((value < allowed) & moved)
        if len(good) == 0:
            many = min(2 * many, MANY)
            continue
        many = max(FEW, min(MANY, 2 * int(good[0]) + 2))
        mine = swaps.number == good[0]
        board.make(int(ranks[good[0]]), int(slots[good[0]]), swaps.channel[mine], swaps.change[mine])
        made += 1
        if offer(board.score(), spent):
            break
        if made % 16 == 0:
            hot = board.hot()
    return spent


def _drawn(board: Board, dice: np.random.Generator, hot: Whole, many: int) -> tuple[Whole, Whole]:
    """Ranks, half of them of messages over full channels, and places, half of them near a partner."""
    ranks = dice.integers(0, board.ranks, many)
    ranks = np.where(dice.random(many) < 0.5, hot[dice.integers(0, len(hot), many)], ranks)
    first, count = board.firsts[ranks], board.firsts[ranks + 1] - board.firsts[ranks]
    message = board.around[(first + (dice.random(many) * count).astype(np.int64)) % len(board.around)]
    partner = np.where(board.sources[message] == ranks, board.ends[message], board.sources[message])
    near = board.near[board.slot[partner] // board.per_node, dice.integers(0, board.near.shape[1], many)]
    anywhere = dice.integers(0, len(board.routes.nodes), many)
    node = np.where(dice.random(many) < 0.5, near, anywhere)
    return ranks, node * board.per_node + dice.integers(0, board.per_node, many)


def improved(
    board: Board,
    starts: Sequence[tuple[Score, NDArray[np.uint32]]],
    bound: int,
    seed: int,
    effort: int,
    progress: Callable[[float], None] | None,
) -> tuple[list[tuple[Score, NDArray[np.uint32]]], int, float, bool]:
    """The best placements from the given ones on.

    Returns
    -------
    tuple
        Scores and nodes, the best one first; the channel loads that were looked at; the part of the effort
        after which the best one was found, 0 if it was given; and whether Ctrl-C ended the search.
    """
    dice = np.random.default_rng(seed)
    kept = sorted(starts, key=lambda one: one[0])[:KEPT]
    spent, gained, stopped = 0, 0.0, False

    def offer(score: Score, looked: int) -> bool:
        nonlocal gained
        if score < kept[0][0]:
            if score[0] < kept[0][0][0]:
                gained = (spent + looked) / effort
            kept.insert(0, (score, board.nodes()))
            del kept[KEPT:]
        return kept[0][0][0] <= bound

    try:
        for number in range(ROUNDS):
            if kept[0][0][0] <= bound or spent >= effort:
                break
            board.sit(kept[0 if number % 2 == 0 else (number // 2 + 1) % len(kept)][1])
            share = (effort - spent) // (ROUNDS - number)
            spent += swap_round(board, dice, share, ROOTS[2 * number // ROUNDS], offer)
            if progress is not None:
                progress(spent / effort)
    except KeyboardInterrupt:
        stopped = True
    return kept, spent, gained, stopped
