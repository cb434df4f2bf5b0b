"""All-gathers in few rounds where nodes do not see the same network: several nested sets for every chunk.

A chunk has several ways to all nodes. A way gives every node a round, in which the chunk comes straight from
the cheapest node of an earlier round. A linear program says which shares of a chunk take which of its ways,
so that the busiest links have little. Its prices of links lead to further ways, found as other nested sets
are, by moves of single nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.collectives.nested import HOP, MOST_ROUNDS, nested, offsets, searched
from flitloom.collectives.prices import Prices
from flitloom.collectives.rounds_plan import Messages
from flitloom.collectives.unlike import FEW, Routes, routes
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Equal pieces in which the ways of a chunk share it; many on networks of few nodes.
PIECES, FINE = 48, 840
#: Times that prices lead to further ways at least and at most, and those by the square of the nodes.
TURNS, TURNS_WORK = (12, 48), 9000
#: Moves that are tried for every chunk in each of them.
MOVES = 60
#: Nodes by nodes by moves, at most.
WORK = 250_000
#: Times that a way may have no share before it is forgotten.
KEPT = 3
#: Moves for the first way of the first chunk, and of the others, which begin with the way of the one before.
FIRST, OTHERS = 2000, 200
#: Share of new prices among those of a search, and of equal ones.
NEW, EVEN = 0.5, 0.15


@dataclass(frozen=True)
class Path:
    """One way of a chunk to all nodes, which are named by their places among those that take part.

    Attributes
    ----------
    owner : int
        The node whose chunk it is, or the number of the orbit of such nodes.
    rounds : array of int
        By node the round in which the chunk comes, counted from 1; 0 for its owner.
    senders : array of int
        By node the one that sends it.
    loads : array of float, by round and link, or orbit of links
        Chunks on every link.
    """

    owner: int
    rounds: NDArray[np.int64]
    senders: NDArray[np.int64]
    loads: NDArray[np.float64]


@dataclass(frozen=True)
class Mixed:
    """How an all-gather is done.

    Attributes
    ----------
    paths : list of (Path, int)
        Ways of all chunks, with how many of the pieces of a chunk take each.
    pieces : int
        Pieces of a chunk.
    loads : tuple of float
        Per round the chunks on the busiest link.
    """

    paths: list[tuple[Path, int]]
    pieces: int
    loads: tuple[float, ...]


class Ways:
    """Ways of chunks in a number of rounds, by owner, and widths of links: how many are parallel."""

    def __init__(self, rounds: int, owners: int, widths: NDArray[np.float64]) -> None:
        self.rounds, self.owners, self.widths = rounds, owners, widths
        self.paths: list[Path] = []
        #: By way how often in a row it had no share.
        self.idle: list[int] = []

    def note(self, path: Path) -> None:
        """Remember a way."""
        self.paths.append(path)
        self.idle.append(0)

    def mix(self, solver: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shares of all ways that load the busiest links least, and the prices of links, by round.

        Ways that have had no share for long are forgotten.
        """
        paths, links = len(self.paths), len(self.widths)
        rows = self.rounds * links
        way, row = np.nonzero(loads := np.array([path.loads.ravel() for path in self.paths]))
        every, owners = np.arange(rows), np.array([path.owner for path in self.paths])
        found = solve(
            np.concatenate([np.zeros(paths), np.ones(self.rounds)]),
            (
                np.concatenate([row, every, rows + owners]),
                np.concatenate([way, paths + every // links, np.arange(paths)]),
                np.concatenate([loads[way, row], np.full(rows, -1.0), np.ones(paths)]),
            ),
            np.concatenate([np.full(rows, -np.inf), np.ones(self.owners)]),
            np.concatenate([np.zeros(rows), np.ones(self.owners)]),
            solver,
        )
        assert found is not None
        prices = np.maximum(-found.duals[:rows], 0).reshape(self.rounds, links)
        parts = found.variables[:paths]
        idle = [0 if part > 1e-9 else n + 1 for part, n in zip(parts.tolist(), self.idle, strict=True)]
        kept = [one for one, turns in enumerate(idle) if turns <= KEPT]
        self.paths, self.idle = [self.paths[one] for one in kept], [idle[one] for one in kept]
        return parts[kept], prices / self.widths


class _Search(Ways):
    """Ways of the chunks of all nodes."""

    def __init__(self, ground: Ground, rounds: int) -> None:
        self.ground, self.table = ground, routes(ground)
        self.count = self.table.count
        super().__init__(rounds, self.count, self.table.widths)
        order = np.argsort(self.table.pairs, kind="stable")
        self.links = self.table.links[order]
        self.shares = (self.table.crossing / self.table.widths[self.table.links])[order]
        self.begins = np.searchsorted(self.table.pairs[order], np.arange(self.count**2 + 1))

    def loads(self, senders: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
        """Chunks on every link if each of some nodes sends one."""
        pairs = senders * self.count + ends
        fan = self.begins[pairs + 1] - self.begins[pairs]
        places = np.repeat(self.begins[pairs] - np.concatenate([[0], np.cumsum(fan)[:-1]]), fan)
        places += np.arange(len(places))
        return np.bincount(self.links[places], self.shares[places], len(self.table.widths)).astype(np.float64)

    def path(self, owner: int, own: NDArray[np.int64], costs: Sequence[NDArray[np.float64]]) -> None:
        """Note the way with these rounds, from the cheapest node of an earlier round each."""
        senders = np.full(self.count, owner)
        loads = np.zeros((self.rounds, len(self.table.widths)))
        for turn, cost in enumerate(costs, 1):
            new, have = np.flatnonzero(own == turn), np.flatnonzero(own < turn)
            if len(new):
                senders[new] = have[cost[np.ix_(have, new)].argmin(axis=0)]
                loads[turn - 1] = self.loads(senders[new], new)
        self.note(Path(owner, own, senders, loads))

    def begin(self, prices: Prices) -> list[NDArray[np.int64]]:
        """First ways of all chunks: those of the network without failures, or such as moves find."""
        lengths = mellowed(np.array(prices.links), self.widths)
        costs = [self.table.costs(row) for row in lengths]
        whole, ground = self.ground.without_failures(), self.ground
        if ground.topology.damaged and whole.whole:
            group, known = offsets(whole), nested(whole, self.rounds, longer=False)
            members = np.array(ground.working)
            firsts: list[NDArray[np.int64]] = []
            for owner, node in enumerate(members.tolist()):
                ahead = group.behind[members, node]
                for way in known.ways:
                    for turn in group.turns:
                        self.path(owner, way.rounds[np.argsort(turn)[ahead]], costs)
                firsts.append(self.paths[-1].rounds)
            return firsts
        table = _in_hops(lengths, self.table)
        found: list[NDArray[np.int64]] = []
        for owner in range(self.count):
            known_rounds = None
            if found:
                known_rounds = found[-1].copy()
                known_rounds[owner - 1], known_rounds[owner] = self.rounds, 0
            found.append(better_rounds(owner, known_rounds, table, OTHERS if found else FIRST, owner))
            self.path(owner, found[-1], costs)
        return found


def better_rounds(
    owner: int, own: NDArray[np.int64] | None, whole: NDArray[np.int32], moves: int, number: int
) -> NDArray[np.int64]:
    """Rounds of a chunk that cost less, by moves of single nodes (`flitloom.collectives.nested.searched`)."""
    count = whole.shape[1]
    order = np.concatenate([[owner], np.delete(np.arange(count), owner)])
    costs = np.ascontiguousarray(whole[:, order[:, None], order])
    found = np.zeros(count, dtype=np.int64)
    found[order] = searched(costs, moves, None if own is None else own[order], number)
    return found


def mellowed(
    lengths: NDArray[np.float64], widths: NDArray[np.float64], even: float = 0.4
) -> NDArray[np.float64]:
    """Lengths of links that add up to one in every round, a share of them equal."""
    once = np.maximum((lengths * widths).sum(axis=1, keepdims=True), 1e-12)
    found: NDArray[np.float64] = (1 - even) * lengths / once + even / widths.sum()
    return found


def _in_hops(lengths: NDArray[np.float64], table: Routes) -> NDArray[np.int32]:
    """By round, sender and receiver what a chunk costs, in whole parts of a hop."""
    tables = np.array([table.costs(row) for row in lengths]) * table.widths.sum() * HOP
    return np.rint(np.where(np.isfinite(tables), tables, 0)).astype(np.int32)


@lru_cache(maxsize=4 * MOST_ROUNDS)
def mixed(ground: Ground, prices: Prices) -> Mixed:
    """An all-gather of as many rounds as prices are for, with few bytes.

    Parameters
    ----------
    ground : Ground
        Any network.
    prices : Prices
        What bounds its bytes.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.unlike import least_chunks_unlike
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(3, 3, failed_nodes=[4]))
    >>> for prices in least_chunks_unlike(ground):
    ...     found = mixed(ground, prices)
    ...     print(len(found.loads), found.pieces, round(sum(found.loads), 2), round(prices.chunks, 2))
    1 1 3.0 3.0
    2 840 2.33 2.33
    """
    rounds = len(prices.links)
    search = _Search(ground, rounds)
    table, count = search.table, search.count
    if rounds == 1:
        costs = [table.costs(np.array(prices.links[0]))]
        for owner in range(count):
            search.path(owner, (np.arange(count) != owner).astype(np.int64), costs)
        loads = np.sum([path.loads for path in search.paths], axis=0)
        return Mixed([(path, 1) for path in search.paths], 1, (float(loads.max()),))
    own, moves = search.begin(prices), max(min(MOVES, WORK // count**2), 1)
    lengths = np.array(prices.links)
    for turn in range(int(np.clip(TURNS_WORK // count**2, *TURNS))):
        _, latest = search.mix("ipm")
        lengths = mellowed(NEW * latest + (1 - NEW) * lengths if turn else latest, table.widths, 0.0)
        calm = mellowed(lengths, table.widths, EVEN)
        costs, whole = [table.costs(row) for row in calm], _in_hops(calm, table)
        for owner in range(count):
            own[owner] = better_rounds(owner, own[owner], whole, moves, turn * count + owner)
            search.path(owner, own[owner], costs)
    parts, _ = search.mix("ipm")
    owners, loads = (np.array([getattr(path, name) for path in search.paths]) for name in ("owner", "loads"))
    pieces = FINE if count <= FEW else PIECES
    shares, busiest = whole_shares(parts, owners, np.full(count, pieces), loads)
    kept = [(path, share) for path, share in zip(search.paths, shares, strict=True) if share]
    return Mixed(kept, pieces, busiest)


def whole_shares(
    parts: NDArray[np.float64],
    owners: NDArray[np.int64],
    room: NDArray[np.int64],
    loads: NDArray[np.float64],
) -> tuple[list[int], tuple[float, ...]]:
    """Pieces of every way, and per round the chunks on the busiest link.

    The largest rests are rounded up. Then single pieces are moved while busiest links have less.

    Parameters
    ----------
    parts : array of float
        The share of a chunk that takes each way.
    owners : array of int
        By way whose chunk it is.
    room : array of int
        By owner the pieces of its chunk.
    loads : array of float, by way, round and link
        Chunks on every link, if the whole chunk takes the way.

    Examples
    --------
    >>> loads = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # either link
    >>> whole_shares(np.array([0.6, 0.4]), np.array([0, 0]), np.array([4]), loads)
    ([2, 2], (0.5,))
    """
    places = [np.flatnonzero(owners == owner) for owner in range(len(room))]
    wanted = parts * room[owners]
    first = np.floor(wanted + 1e-9).astype(np.int64)
    for mine, most in zip(places, room, strict=True):
        order = mine[np.argsort(first[mine] - wanted[mine], kind="stable")]
        first[order[: most - first[mine].sum()]] += 1
    each = loads / room[owners][:, None, None]
    shares, busiest = _core.spread_pieces(each, owners.astype(np.uint32), first.astype(np.uint32))
    return shares.tolist(), tuple(busiest.tolist())


def mixed_messages(ground: Ground, found: Mixed) -> Messages:
    """All messages of an all-reduce: sums travel as the gather does, backwards, then it follows.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.unlike import least_chunks_unlike
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Mesh(3))
    >>> made = mixed_messages(ground, mixed(ground, least_chunks_unlike(ground)[0]))
    >>> made.pieces, made.moves[:2]  # node 0 sends its chunk to both others at once
    (1, [(1, 0, 1, 0, 1), (1, 0, 2, 0, 1)])
    """
    half, members = len(found.loads), ground.working
    paths, first, begins = sorted(found.paths, key=lambda one: one[0].owner), 0, []
    for _, share in paths:
        begins.append(first)
        first = (first + share) % found.pieces
    # Chunks are cut where the ways of some chunk change.
    cuts = sorted({*begins, found.pieces})
    places = {cut: place for place, cut in enumerate(cuts)}
    lengths = tuple(np.diff(cuts).tolist())
    made = Messages(len(lengths), alike=False, lengths=lengths if len({*lengths}) > 1 else ())
    for (path, share), begin in zip(paths, begins, strict=True):
        place = path.owner * len(lengths) + places[begin]
        count = places[begin + share] - places[begin]
        for end, (sender, when) in enumerate(zip(path.senders.tolist(), path.rounds.tolist(), strict=True)):
            if end != path.owner:
                made.sums.append((half - when, members[end], members[sender], place, count))
                made.moves.append((half + when - 1, members[sender], members[end], place, count))
    return made
