"""All-gathers in few rounds on large networks with failures: nested sets by orbits of nodes.

What has failed leaves some symmetries of a torus or product: turns and mirrors that keep all working links.
They join nodes to orbits, and what is done with the chunk of one node of an orbit is done with those of all
others, turned and mirrored. So the linear program that says which shares of a chunk take which of its ways
has the chunks of few nodes, and the links of few orbits. Its first ways are those of the network without
failures, whose chunks come from other nodes where these have failed or their links are dear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.nested import HOP, Nested, nested, numbers, offsets
from flitloom.collectives.nested_unlike import EVEN, NEW, Path, Ways, better_rounds, mellowed, whole_shares
from flitloom.collectives.prices import network_symmetries
from flitloom.collectives.rounds_plan import Messages
from flitloom.spec.ground import Ground

#: Chunks of orbits by all nodes by orbits of links, at most.
MOST = 1 << 23
#: Times that prices lead to other senders.
TURNS = 5
#: Times that they then lead to other rounds, at least and at most, and those by nodes by orbits of nodes by
#: orbits of links.
LATER, LATER_WORK = (5, 20), 3_000_000
#: Nodes for which rounds are searched, and moves for each way that is improved.
FEW, MOVES = 256, 40
#: Ways of a chunk that are improved, on so many nodes and on more.
BETTER, SOME = (4, 2), 128
#: Pieces of a chunk, at least and if that many of all pairs of nodes are not too many.
PIECES, FINE, MOST_PIECES = 8, 48, 3 << 18
#: Pieces of the chunk of the node that symmetries keep most often, at least, in the same manner.
ROOM = 6


@dataclass(frozen=True)
class Orbits:
    """Nodes and links of a network, as symmetries join them; nodes are places among those that work.

    Attributes
    ----------
    images : array of int, by symmetry and node
        Where nodes go.
    firsts : array of int
        The first node of every orbit.
    of : array of int
        The orbit of every node.
    pairs : array of int, by sender and receiver
        The number of a pair that symmetries lead to it, whose sender is the first of its orbit.
    counts : array of int
        Nodes of every orbit.
    links : array of float
        Links of every orbit of links, parallel ones counted.
    table : array of float, by such a pair and orbit of links
        Chunks over all links of an orbit if one is sent between the pair.
    """

    images: NDArray[np.int64]
    firsts: NDArray[np.int64]
    of: NDArray[np.int64]
    pairs: NDArray[np.int64]
    counts: NDArray[np.int64]
    links: NDArray[np.float64]
    table: NDArray[np.float64]

    def costs(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a chunk costs from every node to every node; to itself it is not sent."""
        found: NDArray[np.float64] = (self.table @ lengths)[self.pairs]
        np.fill_diagonal(found, np.inf)
        return found

    @property
    def pieces(self) -> int:
        """Pieces of a chunk, so that all symmetries that keep a node have as many of its pieces."""
        kept = len(self.images) // self.counts
        least = lcm(*kept.tolist())
        wanted = max(FINE, ROOM * int(kept.max()))
        possible = min(wanted, MOST_PIECES // len(self.of) ** 2)
        return max(-(-PIECES // least), possible // least) * least


def _kept_symmetries(ground: Ground) -> list[NDArray[np.int64]]:
    """Turns, mirrors and shifts of the network without failures that lead what has failed to itself."""
    whole = ground.without_failures()
    behind, points = offsets(whole).behind, np.array([whole.point(node) for node in range(whole.nodes)])
    every = {np.arange(whole.nodes).tobytes(): np.arange(whole.nodes)}
    border, moves = list(every.values()), network_symmetries(whole)
    while border:
        fresh = {one[move].tobytes(): one[move] for one in border for move in moves}
        border = [one for name, one in fresh.items() if name not in every]
        every |= fresh
    failed = {*ground.topology.failed_nodes}
    cut = {frozenset(cable) for cable in ground.topology.failed_links}
    begin = min(failed or {*sorted(map(sorted, cut))[0]})
    found: dict[bytes, NDArray[np.int64]] = {}
    for turn in every.values():
        for end in sorted(failed or frozenset().union(*cut)):
            # One of what failed goes to another one.
            moved = numbers(whole, points[turn[behind[:, begin]]] + points[end])
            same = {int(moved[node]) for node in failed} == failed
            if same and {frozenset(int(moved[node]) for node in cable) for cable in cut} == cut:
                found[moved.tobytes()] = moved
    return [one for _, one in sorted((one.tolist(), one) for one in found.values())]


@lru_cache(maxsize=2)
def orbits(ground: Ground) -> Orbits | None:
    """Nodes and links as symmetries join them; none if they leave too many.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = orbits(Ground(fl.Torus(5, 5, failed_nodes=[7])))
    >>> len(found.images), found.counts.tolist(), found.pieces
    (8, [8, 4, 4, 4, 4], 48)
    """
    members, count = np.array(ground.working), len(ground.working)
    place = np.full(ground.nodes, -1)
    place[members] = np.arange(count)
    images = np.array([place[one[members]] for one in _kept_symmetries(ground)])
    firsts, of, counts = np.unique(images.min(axis=0), return_inverse=True, return_counts=True)
    backwards = np.argsort(images, axis=1)
    # A symmetry that leads the first node of its orbit to a node.
    via = (images[:, firsts[of]] == np.arange(count)).argmax(axis=0)
    pairs = of[:, None] * count + backwards[via]
    tails, heads = place[np.array(sorted(ground.links)).T]
    widths = np.array([ground.links[one] for one in sorted(ground.links)], dtype=np.float64)
    number = np.zeros((count, count), dtype=np.int64)
    number[tails, heads] = np.arange(len(tails))
    kinds, which = np.unique(number[images[:, tails], images[:, heads]].min(axis=0), return_inverse=True)
    if len(firsts) * count * len(kinds) > MOST:
        return None
    hops, ways = (table[np.ix_(members, members)] for table in ground.routes)
    table = np.zeros((len(firsts) * count, len(kinds)))
    for link, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        row, end = np.nonzero(hops[firsts, tail][:, None] + 1 + hops[head] == hops[firsts])
        start = firsts[row]
        part = ways[start, tail] * ways[head, end] / ways[start, end] * widths[link]
        table[row * count + end, which[link]] += part
    links = np.bincount(which, widths).astype(np.float64)
    return Orbits(images, firsts, of, pairs, counts, links, table)


@dataclass(frozen=True)
class Turned:
    """How an all-gather is done.

    Attributes
    ----------
    paths : list of (Path, int)
        Ways of the chunks of first nodes, with how many of the pieces of a chunk take each; symmetries that
        keep the node multiply them.
    pieces : int
        Pieces of a chunk.
    loads : tuple of float
        Per round the chunks on the busiest link.
    """

    paths: list[tuple[Path, int]]
    pieces: int
    loads: tuple[float, ...]


class _Search(Ways):
    """Ways of the chunks of all orbits in a number of rounds."""

    def __init__(self, found: Orbits, rounds: int) -> None:
        super().__init__(rounds, len(found.firsts), found.links)
        self.orbits = found
        self.parts: list[float] = []

    def add(self, orbit: int, own: NDArray[np.int64], costs: Sequence[NDArray[np.float64]]) -> None:
        """Note the way with these rounds, from the cheapest node of an earlier round each."""
        known = self.orbits
        senders = np.full(len(own), known.firsts[orbit])
        loads = np.zeros((self.rounds, len(known.links)))
        for turn, cost in enumerate(costs, 1):
            new, have = np.flatnonzero(own == turn), np.flatnonzero(own < turn)
            if len(new):
                senders[new] = have[cost[have[:, None], new].argmin(axis=0)]
                loads[turn - 1] = known.table[known.pairs[senders[new], new]].sum(axis=0)
        self.note(Path(orbit, own, senders, loads * known.counts[orbit] / known.links))

    def lengths(self) -> NDArray[np.float64]:
        """Find shares of all ways that load the busiest links least; lengths of links, by round."""
        parts, prices = self.mix("simplex")
        self.parts = parts.tolist()
        return mellowed(prices, self.widths, 0.0)

    def used(self, orbit: int) -> list[Path]:
        """Ways of an orbit that have a share, those with the largest first."""
        mine = [number for number, path in enumerate(self.paths) if path.owner == orbit]
        mine.sort(key=lambda number: -self.parts[number])
        return [self.paths[number] for number in mine if self.parts[number] > 1e-9]


def has_few_orbits(ground: Ground) -> bool:
    """Whether failures leave symmetries that join links to few orbits, by the number of nodes.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> has_few_orbits(Ground(fl.Torus(5, 5, failed_nodes=[7])))
    True
    >>> has_few_orbits(Ground(fl.Torus(5, 5, failed_nodes=[0, 7, 13])))
    False
    """
    if not (ground.topology.damaged and ground.without_failures().whole):
        return False
    known = orbits(ground)
    return known is not None and len(known.links) <= 2 * len(known.of)


def turned(ground: Ground, rounds: int) -> Turned | None:
    """An all-gather of a number of rounds with few bytes on a network with failures; none if it is too large.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = turned(Ground(fl.Torus(5, 5, failed_nodes=[7])), 2)
    >>> found.pieces, 7 < sum(found.loads) < 9  # 23 chunks over three links
    (48, True)
    """
    known = orbits(ground)
    if known is None:
        return None
    search = _Search(known, rounds)
    whole = nested(ground.without_failures(), rounds)
    costs = [known.costs(np.full(len(known.links), 1 / known.links.sum()))] * rounds
    _begin(search, ground, whole, costs)
    lengths = search.lengths()
    work = len(known.of) * len(known.firsts) * len(known.links)
    later = int(np.clip(LATER_WORK // work, *LATER)) if len(known.of) <= FEW else 0
    for turn in range(TURNS + later if rounds > 1 else 0):
        calm = mellowed(lengths, known.links, EVEN)
        costs = [known.costs(row) for row in calm]
        again = turn >= TURNS
        hops = np.array(costs) * known.links.sum() * HOP if again else np.zeros(0)
        table = np.rint(np.where(np.isfinite(hops), hops, 0)).astype(np.int32)
        for orbit in range(len(known.firsts)):
            mine = search.used(orbit)
            if again:
                for path in mine[: BETTER[len(known.of) > SOME]]:
                    owner, number = int(known.firsts[orbit]), turn * len(known.of) + orbit
                    search.add(orbit, better_rounds(owner, path.rounds, table, MOVES, number), costs)
            else:
                for own in {path.rounds.tobytes(): path.rounds for path in mine}.values():
                    search.add(orbit, own, costs)
        lengths = NEW * search.lengths() + (1 - NEW) * lengths
    return _whole_shares(search)


def _begin(search: _Search, ground: Ground, whole: Nested, costs: Sequence[NDArray[np.float64]]) -> None:
    """Ways of the network without failures, those that begin at failed nodes over others."""
    known, group, members = search.orbits, offsets(ground.without_failures()), np.array(ground.working)
    for orbit, owner in enumerate(known.firsts):
        ahead = group.behind[members, members[owner]]
        for way in whole.ways:
            for turn in group.turns:
                search.add(orbit, way.rounds[np.argsort(turn)[ahead]], costs)


def _whole_shares(search: _Search) -> Turned:
    """The same with whole pieces of every way."""
    known, pieces = search.orbits, search.orbits.pieces
    owners = np.array([path.owner for path in search.paths])
    room = pieces * known.counts // len(known.images)
    loads = np.array([path.loads for path in search.paths])
    shares, busiest = whole_shares(np.array(search.parts), owners, room, loads)
    kept = [(path, share) for path, share in zip(search.paths, shares, strict=True) if share]
    return Turned(kept, pieces, busiest)


def turned_messages(ground: Ground, found: Turned) -> Messages:
    """All messages of an all-reduce: sums travel as the gather does, backwards, then it follows.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(5, 5, failed_nodes=[7]))
    >>> made = turned_messages(ground, turned(ground, 1))
    >>> made.pieces, len(made.symmetries), made.moves[:2]  # node 0 sends to all others at once
    (48, 8, [(1, 0, 1, 0, 48), (1, 0, 2, 0, 48)])
    """
    known, half, members = orbits(ground), len(found.loads), ground.working
    assert known is not None
    where = np.arange(ground.nodes)
    symmetries = []
    for image in known.images:
        row = where.copy()
        row[list(members)] = np.array(members)[image]
        symmetries.append(tuple(row.tolist()))
    made = Messages(found.pieces, alike=False, symmetries=tuple(symmetries))
    first, before = 0, -1
    for path, share in sorted(found.paths, key=lambda one: one[0].owner):
        owner = int(known.firsts[path.owner])
        first, before = (0 if path.owner != before else first), path.owner
        place = owner * found.pieces + first
        first += share
        for end, (sender, when) in enumerate(zip(path.senders.tolist(), path.rounds.tolist(), strict=True)):
            if end != owner:
                made.sums.append((half - when, members[end], members[sender], place, share))
                made.moves.append((half + when - 1, members[sender], members[end], place, share))
    return made
