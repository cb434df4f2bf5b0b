"""All-gathers in fewer rounds than the diameter: nested sets of offsets.

All nodes do the same, shifted: an offset means the chunk of the node so far behind. Every offset has a
round, in which its chunk comes straight from the nearest offset of an earlier round. The vector is cut into
parts, which take the same way turned and mirrored, so that all links of equal dimensions are equally busy.
Which offset has which round is found by moves of single offsets, as many as the work allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.collectives.rounds_plan import Messages, crowding
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Most nodes for which sets are searched.
MOST_NODES = 1024
#: Most rounds of an all-gather.
MOST_ROUNDS = 8
#: Moves that are tried for a number of rounds.
MOVES = 20000
#: Nodes by moves, at most.
WORK = 8 << 20
#: The same of the longer search that follows; moves of a node in it, and where links are unlike in each pass.
MORE, MORE_WORK, PER_NODE = 30_000, 20 << 20, (400, 100)
#: Moves of a node in the longest searches, nodes by moves, and by how many hops a move may be worse at first.
LONG, LONG_WORK, WARMTHS = 1200, 80 << 20, (0.2, 0.3)
#: Searches for networks with unlike links, each with the prices of links that the ways before lead to.
PASSES = 6
#: Passes of the last searches for such networks, at least and at most, and those by nodes by nodes; by how
#: many hops a move may be worse at first in them; most nodes.
MANY, MANY_WORK, MANY_WARMTHS, MANY_NODES = (24, 60), 60 << 16, (0.1, 0.3), 512
#: Share of equal prices among those of a search.
EVEN = 0.1
#: Equal pieces in which the ways of a chunk share it, of few passes and of many.
LENGTH, FINE = 24, 48
#: Costs of a hop are whole numbers, so that sums are the same on every machine.
HOP = 240
#: Hops by which a move may be worse at the begin of a search, if no others are said.
WARMTH = 0.15


@dataclass(frozen=True)
class Offsets:
    """A network in which all nodes see the same, as a group.

    Attributes
    ----------
    behind : array of int
        The node at the difference of two vectors from node 0 (row less column).
    turns : tuple of arrays of int
        Where every node goes under the symmetries by which the parts of a vector differ.
    hops : array of float, by vector and class of links
        Load of every link of a class if all nodes send a unit along a vector, all minimal routes evenly.
    links : array of int
        Links of a node in every class.
    classes : array of int
        By way the class of its links.
    ways : tuple of int
        The nodes to which node 0 has links.
    along : array of float, by vector and way
        Load of a link that leads that way if all nodes send a unit along a vector.
    """

    behind: NDArray[np.int64]
    turns: tuple[NDArray[np.int64], ...]
    hops: NDArray[np.float64]
    links: NDArray[np.int64]
    classes: NDArray[np.int64]
    ways: tuple[int, ...]
    along: NDArray[np.float64]


@dataclass(frozen=True)
class Way:
    """One way of a chunk to all nodes.

    Attributes
    ----------
    rounds : array of int
        By offset the round in which the chunk comes, counted from 1; 0 for offset 0.
    nearest : array of int
        By offset the one whose node sends it.
    loads : array of float, by round and class of links
        Chunks on every link of the class.
    """

    rounds: NDArray[np.int64]
    nearest: NDArray[np.int64]
    loads: NDArray[np.float64]


@dataclass(frozen=True)
class Nested:
    """How an all-gather in nested sets is done.

    Attributes
    ----------
    ways : tuple of Way
        Ways by which parts of every chunk go.
    shares : tuple of int
        Relative lengths of these parts.
    loads : tuple of float
        Per round the chunks on the busiest link.
    messages : tuple of int
        Per round to how many nodes a node sends.
    """

    ways: tuple[Way, ...]
    shares: tuple[int, ...]
    loads: tuple[float, ...]
    messages: tuple[int, ...]

    @property
    def chunks(self) -> float:
        """Chunks on the busiest links, over all rounds."""
        return sum(self.loads)


@lru_cache(maxsize=4)
def offsets(ground: Ground) -> Offsets:
    """A network as a group, with the symmetries that turn its equal dimensions and mirror all of them.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = offsets(Ground(fl.Torus(4, 4)))
    >>> found.behind[0, 1], len(found.turns), found.hops[5].tolist()  # two hops, over a quarter of the links
    (np.int64(3), 4, [0.5])
    """
    points = np.array([ground.point(node) for node in range(ground.nodes)])
    behind = numbers(ground, points[:, None] - points)
    turns = _turns(ground, points, behind)
    ends = sorted({end for start, end in ground.links if start == 0})
    ways: dict[int, int] = {}
    for end in ends:
        number = len(set(ways.values()))
        for turn in turns:
            ways.setdefault(int(turn[end]), number)
    classes = np.array([ways[end] for end in ends])
    several = np.array([ground.links[0, end] for end in ends])
    links = np.bincount(classes, several).astype(np.int64)
    hops, routes = ground.routes
    tails, heads = np.array(list(ground.links), dtype=np.int64).T
    places = np.searchsorted(ends, behind[heads, tails])
    row, link = np.nonzero(hops[0][tails] + 1 + hops[heads].T == hops[0][:, None])
    shares = routes[0][tails[link]] * routes[heads[link], row] / routes[0][row]
    along = np.zeros((ground.nodes, len(ends)))
    np.add.at(along, (row, places[link]), shares)
    table = np.array([(along * several)[:, classes == kind].sum(axis=1) for kind in range(len(links))]).T
    return Offsets(behind, turns, table / links, links, classes, tuple(ends), along)


def numbers(ground: Ground, vectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nodes at which vectors from node 0 end."""
    moved, sizes = vectors.copy(), ground.sizes
    if ground.twist:
        short = [place for place, size in enumerate(sizes) if size == ground.short]
        around = sum(moved[..., place] // ground.short for place in short)
        for place, size in enumerate(sizes):
            if size != ground.short:
                moved[..., place] += around * (size // 2)
    strides = np.cumprod([1, *sizes[:-1]])
    found: NDArray[np.int64] = (moved % np.array(sizes) * strides).sum(axis=-1)
    return found


def _turns(
    ground: Ground, points: NDArray[np.int64], behind: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """All turns of equal dimensions, and the same mirrored; none twice."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for place, size in enumerate(ground.sizes):
        kind = size, ground.full[place], tuple(ground.steps[place] or ()), ground.width[place]
        kinds.setdefault(kind, []).append(place)
    order = list(range(len(ground.sizes)))
    for places in kinds.values():
        for place, after in zip(places, (*places[1:], places[0]), strict=True):
            order[place] = after
    turned = numbers(ground, points[:, order])
    whole = np.arange(ground.nodes)
    found, now = [], whole
    for _ in range(lcm(*map(len, kinds.values()))):
        found += [now, behind[0][now]]
        now = turned[now]
    return tuple({each.tobytes(): each for each in found}.values())


@lru_cache(maxsize=4 * MOST_ROUNDS)
def nested(ground: Ground, rounds: int, moves: int = MOVES, *, longer: bool = True) -> Nested:
    """An all-gather of a number of rounds with few bytes.

    Parameters
    ----------
    ground : Ground
        A network in which all nodes see the same.
    rounds : int
        How many.
    moves : int
        Moves of offsets to other rounds that are tried; fewer in large networks.
    longer : bool
        Whether a longer search follows, of which the result is taken if it has fewer bytes and no more
        messages over a link.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = nested(Ground(fl.Torus(4, 4)), 2)
    >>> found.chunks  # of 16 chunks; all 15 straight from their nodes: 8
    4.5
    """
    several = len(offsets(ground).links) > 1 and rounds > 1
    passes = PASSES if several else 1
    first = min(moves, WORK // ground.nodes) // passes
    more = min(MOVES if several else MORE, PER_NODE[several] * ground.nodes, MORE_WORK // ground.nodes)
    found = _nested(ground, rounds, first, passes)
    return _better(ground, found, _nested(ground, rounds, more, passes)) if longer and more > first else found


def long_nested(ground: Ground, rounds: int) -> Nested:
    """The same by the longest searches, where these lead to fewer bytes and to no more messages over a link.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(8, 8))
    >>> nested(ground, 3).chunks, long_nested(ground, 3).chunks
    (19.75, 19.5)
    """
    found, several = nested(ground, rounds), len(offsets(ground).links) > 1
    searches = [(PASSES if several else 1, warmth, LENGTH) for warmth in WARMTHS]
    if several and ground.nodes <= MANY_NODES:
        # Prices settle in many passes.
        many = int(np.clip(MANY_WORK // ground.nodes**2, *MANY))
        searches += [(many, warmth, FINE) for warmth in MANY_WARMTHS]
    moves = min(LONG * ground.nodes, LONG_WORK // ground.nodes)
    for passes, warmth, length in searches if rounds > 1 else ():
        other = _nested(ground, rounds, moves // passes, passes, warmth, length)
        found = _better(ground, found, other)
    return found


def _better(ground: Ground, found: Nested, other: Nested) -> Nested:
    """The other one if it has fewer bytes, and no more messages: these may cost much."""
    further = [sum(crowding(one.messages, ground.most_links)) for one in (found, other)]
    return other if other.chunks < found.chunks and further[1] <= further[0] else found


def _nested(
    ground: Ground, rounds: int, moves: int, passes: int, warmth: float = WARMTH, length: int = LENGTH
) -> Nested:
    """The same by searches of a number of moves, each with the prices of links that those before lead to."""
    group = offsets(ground)
    even = np.tile(group.links / group.links.sum(), (rounds, 1))
    prices, known, ways = even, None, []
    for number in range(passes):
        costs = _costs(group, prices)
        known = searched(costs, moves, known, number, warmth)
        ways.append(_served(group, costs, known))
        shares, prices = _mixed(ways, length)
        prices = (1 - EVEN) * prices + EVEN * even
    used = [number for number, share in enumerate(shares) if share]
    kept = tuple(ways[number] for number in used)
    lengths = tuple(shares[number] for number in used)
    loads = np.average([way.loads for way in kept], axis=0, weights=lengths)
    return Nested(kept, lengths, tuple(loads.max(axis=1).tolist()), _messages(group, kept))


def _mixed(ways: Sequence[Way], length: int) -> tuple[list[int], NDArray[np.float64]]:
    """Shares of ways that together load the busiest links least, and the price of a chunk on every link."""
    count, (rounds, kinds) = len(ways), ways[0].loads.shape
    if kinds == 1:
        return [1], np.ones((rounds, 1))
    tables = np.array([way.loads.ravel() for way in ways])
    row, way = (each.ravel() for each in np.indices(tables.T.shape))
    every = np.arange(rounds * kinds)
    found = solve(
        np.concatenate([np.zeros(count), np.ones(rounds)]),
        (
            np.concatenate([row, every, np.full(count, len(every))]),
            np.concatenate([way, count + every // kinds, np.arange(count)]),
            np.concatenate([tables[way, row], np.full(len(every), -1.0), np.ones(count)]),
        ),
        np.array([*[-np.inf] * len(every), 1.0]),
        np.array([*[0.0] * len(every), 1.0]),
        "simplex",
    )
    assert found is not None
    shares = np.rint(found.variables[:count] * length).astype(int).tolist()
    return shares, -found.duals[:-1].reshape(rounds, kinds)


def _costs(group: Offsets, prices: NDArray[np.float64]) -> NDArray[np.int32]:
    """By round, sender's and receiver's offset what a chunk costs that is sent between them."""
    each = np.rint(HOP * (group.hops @ prices.T) * group.links.sum()).astype(np.int32)
    return np.ascontiguousarray(each.T[:, group.behind.T])


def _draws(count: int, stream: int) -> NDArray[np.uint64]:
    """Random words, the same on every machine (SplitMix64)."""
    with np.errstate(over="ignore"):
        word = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(stream << 40)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return word ^ (word >> np.uint64(31))


def searched(
    costs: NDArray[np.int32],
    moves: int,
    known: NDArray[np.int64] | None,
    number: int,
    warmth: float = WARMTH,
) -> NDArray[np.int64]:
    """The round of every offset, by moves of single offsets that cost little more, ever less.

    Parameters
    ----------
    costs : array of int, by round, sender and receiver
        What a chunk costs, in parts of a hop.
    moves : int
        How many are tried.
    known : array of int, optional
        Rounds to begin with.
    number : int
        Which of several searches it is: each draws other moves.
    warmth : float
        Hops by which a move may be worse at the begin; at the end by none.
    """
    rounds, count = costs.shape[:2]
    if rounds == 1:
        return np.minimum(np.arange(count), 1)
    own = np.zeros(count, dtype=np.int64) if known is None else known.copy()
    if known is None:
        # Every round multiplies what nodes have by as much.
        sizes = count ** (np.arange(1, rounds) / rounds)
        order = 1 + np.argsort(_draws(count - 1, 1), kind="stable")
        own[order] = np.searchsorted(sizes, np.arange(1, count), side="right") + 1
    draws = [_draws(moves, 3 * number + stream) for stream in (2, 3, 4)]
    # Zeros at the end of a word: half of the words have one more, a quarter two, ...
    slack = np.bitwise_count((draws[2] & (~draws[2] + np.uint64(1))) - np.uint64(1)).astype(np.float64)
    cooling = warmth * HOP * (1 - np.arange(moves) / max(moves, 1))
    nodes, others = (
        1 + drawn % np.uint64(most - 1) for drawn, most in zip(draws, (count, rounds), strict=False)
    )
    shifts = np.array([nodes, others, np.floor(slack * cooling)], dtype=np.int64).T
    return _core.nested_rounds(costs, own.astype(np.uint32), shifts).astype(np.int64)


def _served(group: Offsets, costs: NDArray[np.int32], own: NDArray[np.int64]) -> Way:
    """Which of the nearest offsets sends to which, over few vectors."""
    nearest = np.zeros(len(own), dtype=np.int64)
    loads = np.zeros((len(costs), len(group.links)))
    for turn in range(len(costs)):
        left = np.flatnonzero(own == turn + 1)
        senders = np.flatnonzero(own <= turn)
        prices = costs[turn][senders[:, None], left]
        row, column = np.nonzero(prices == prices.min(axis=0, initial=np.iinfo(costs.dtype).max))
        ways = group.behind[left[column], senders[row]]
        while len(ways):
            # The vector over which most of the rest come.
            way = int(np.bincount(ways).argmax())
            taken = ways == way
            nearest[left[column[taken]]] = senders[row[taken]]
            loads[turn] += group.hops[way] * taken.sum()
            rest = ~np.isin(column, column[taken])
            ways, row, column = ways[rest], row[rest], column[rest]
    return Way(own, nearest, loads)


def _messages(group: Offsets, ways: Sequence[Way]) -> tuple[int, ...]:
    """Per round to how many nodes a node sends."""
    found = []
    for turn in range(len(ways[0].loads)):
        ends: set[int] = set()
        for way in ways:
            new = np.flatnonzero(way.rounds == turn + 1)
            vectors = group.behind[new, way.nearest[new]]
            ends.update(*(each[vectors].tolist() for each in group.turns))
        found.append(len(ends))
    return tuple(found)


def best_nested(ground: Ground) -> list[Nested]:
    """Those below the diameter whose number of rounds is fastest for some size, by short or long searches.

    What long searches make needless has fewer rounds or messages, which counts where messages cost something.
    """
    every = range(1, min(int(ground.routes[0][0].max()), MOST_ROUNDS + 1))
    long = [long_nested(ground, rounds) for rounds in every]
    fast = {
        len(one.loads) for one in (*fastest(long), *fastest([nested(ground, rounds) for rounds in every]))
    }
    return [one for one in long if len(one.loads) in fast]


class _Loaded(Protocol):
    @property
    def loads(self) -> tuple[float, ...]: ...


Gathers = TypeVar("Gathers", bound=_Loaded)


def fastest(found: Sequence[Gathers]) -> list[Gathers]:
    """All-gathers, by ascending numbers of rounds, that are the fastest of them for some size."""
    kept: list[Gathers] = []
    for one in found:
        if kept and sum(one.loads) > sum(kept[-1].loads) - 1e-9:
            continue
        while len(kept) > 1 and _gain(kept[-2], kept[-1]) <= _gain(kept[-1], one):
            kept.pop()
        kept.append(one)
    return kept


def _gain(one: _Loaded, other: _Loaded) -> float:
    """Chunks that every further round saves."""
    return (sum(one.loads) - sum(other.loads)) / (len(other.loads) - len(one.loads))


def nested_messages(ground: Ground, found: Nested) -> Messages:
    """All messages of an all-reduce: sums travel as the gather does, backwards, then it follows.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(4))
    >>> made = nested_messages(ground, nested(ground, 1))
    >>> made.pieces, made.moves[:3]  # the first part goes to all others, the second mirrored
    (2, [(1, 0, 1, 0, 1), (1, 0, 2, 0, 1), (1, 0, 3, 0, 1)])
    """
    group, half = offsets(ground), len(found.loads)
    parts = [(way, turn) for way in found.ways for turn in group.turns]
    lengths = tuple(share for share in found.shares for _ in group.turns)
    made = Messages(len(parts), alike=True, lengths=lengths if len(found.ways) > 1 else ())
    behind = group.behind
    for part, (way, turn) in enumerate(parts):
        for node, (sender, when) in enumerate(zip(way.nearest.tolist(), way.rounds.tolist(), strict=True)):
            if node:
                there, back = turn[behind[node, sender]], turn[behind[sender, node]]
                own, whose = (int(turn[behind[0, one]]) * len(parts) + part for one in (node, sender))
                made.sums.append((half - when, 0, int(back), own, 1))
                made.moves.append((half + when - 1, 0, int(there), whose, 1))
    return made
