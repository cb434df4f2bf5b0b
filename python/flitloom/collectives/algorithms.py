"""All-reduce algorithms on tori as rounds of messages, each replayed on links.

A round costs alpha + (most bytes on one link) / bandwidth. Every algorithm gives, per round, the share of the
vector that the fullest link carries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.cycles import hamiltonian_cycles
from flitloom.collectives.family import members

#: Largest torus on which Hamiltonian cycles are found and walked.
WALKED = 1024
#: Rows of (part of the vector, dimension, hops per node along it, share of the vector that is sent).
Message = tuple[int, NDArray[np.int64], float]


@dataclass(frozen=True)
class Algorithm:
    """An all-reduce as rounds.

    Attributes
    ----------
    name : str
        Its name, with its parameters.
    loads : tuple of float
        Per round the share of the vector on the fullest link.
    source : str
        Where it is defined.
    """

    name: str
    loads: tuple[float, ...]
    source: str

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.loads)

    @property
    def factor(self) -> float:
        """Bytes on the fullest links, as a multiple of the vector."""
        return sum(self.loads)

    def seconds(self, size: float, alpha: float, bandwidth: float) -> float:
        """Time of an all-reduce of `size` bytes: `alpha` s a round, links of `bandwidth` bytes/s."""
        return self.rounds * alpha + self.factor * size / bandwidth


def lower_bound(sizes: Sequence[int], size: float, alpha: float, bandwidth: float) -> float:
    """Seconds that every all-reduce takes: a round, and 2(N-1)/N of the vector over the links of a node."""
    nodes = prod(sizes)
    return max(alpha, 2 * (nodes - 1) / nodes * size / (_degree(sizes) * bandwidth))


def _degree(sizes: Sequence[int]) -> int:
    return sum(1 if size == 2 else 2 for size in sizes)


def fullest(sizes: Sequence[int], messages: Sequence[Message]) -> float:
    """Replay the messages of a round hop by hop: the share of the vector on the fullest link.

    A message of half way round an even ring goes half either way.
    """
    grid = np.indices(tuple(sizes))
    most = 0.0
    for dimension, size in enumerate(sizes):
        load = np.zeros((2, *sizes))
        for along, hops, share in messages:
            if along != dimension:
                continue
            ways = np.broadcast_to(hops % size, tuple(sizes))
            for distance in np.unique(ways):
                if distance == 0:
                    continue
                senders = ways == distance
                backwards = size - distance
                both = 2 * distance == size and size > 2
                for sense, length in ((0, distance), (1, backwards)):
                    if not both and (length > size - length or (size == 2 and sense)):
                        continue
                    for hop in range(int(length)):
                        places = [grid[other][senders] for other in range(len(sizes))]
                        places[dimension] = (places[dimension] + (hop if sense == 0 else -hop)) % size
                        np.add.at(load[sense], tuple(places), share / 2 if both else share)
        most = max(most, float(load.max()))
    return most


def _coordinate(sizes: Sequence[int], dimension: int) -> NDArray[np.int64]:
    places: NDArray[np.int64] = np.indices(tuple(sizes))[dimension]
    return places


def _replayed(name: str, sizes: Sequence[int], rounds: Sequence[Sequence[Message]], source: str) -> Algorithm:
    return Algorithm(name, tuple(fullest(sizes, messages) for messages in rounds), source)


def _powers(sizes: Sequence[int]) -> list[int] | None:
    """Doublings per dimension, if all sizes are powers of two."""
    counts = [int(log2(size)) for size in sizes]
    return counts if all(1 << count == size for count, size in zip(counts, sizes, strict=True)) else None


def _by_distance(counts: Sequence[int], first: int) -> list[tuple[int, int]]:
    """(dimension, step) with near exchanges first, dimensions in turn from `first`."""
    turn = [(first + place) % len(counts) for place in range(len(counts))]
    return [(dim, step) for step in range(max(counts)) for dim in turn if step < counts[dim]]


def ring(sizes: Sequence[int]) -> Algorithm | None:
    """One Hamiltonian cycle, used both ways (Patarasuk and Yuan 2009)."""
    if all(size % 2 for size in sizes) and len(sizes) > 1:
        return None
    nodes = prod(sizes)
    share = 1 / (nodes * (1 if nodes == 2 else 2))
    return Algorithm("ring", (share,) * (2 * (nodes - 1)), "Patarasuk and Yuan 2009")


def multi_ring(sizes: Sequence[int]) -> Algorithm | None:
    """A Hamiltonian cycle per dimension that shares no link with the others, each used both ways.

    Such cycles exist wherever sizes are at least 3; they are found and walked on small tori.
    """
    if len(sizes) < 2 or min(sizes) < 3:
        return None
    nodes = prod(sizes)
    most = 1
    if nodes <= WALKED:
        cycles = hamiltonian_cycles(tuple(sizes))
        if cycles is None:
            return None
        links = Counter(frozenset(ends) for cycle in cycles for ends in pairwise((*cycle, cycle[0])))
        most = max(links.values())
    share = most / (nodes * 2 * len(sizes))
    return Algorithm("multi-ring", (share,) * (2 * (nodes - 1)), "Bae and Bose 2003")


def bucket(sizes: Sequence[int]) -> Algorithm:
    """A ring per dimension, all dimensions and both senses at once (Jain and Sabharwal 2010)."""
    count, nodes = len(sizes), prod(sizes)
    halves: list[float] = []
    left = [1 / count] * count
    for phase in range(count):
        dims = [(part + phase) % count for part in range(count)]
        for turn in range(max(sizes) - 1):
            shares = [
                left[part] / sizes[dim] / (1 if sizes[dim] == 2 else 2)
                for part, dim in enumerate(dims)
                if turn < sizes[dim] - 1
            ]
            if shares:
                halves.append(max(shares))
        left = [left[part] / sizes[dim] for part, dim in enumerate(dims)]
    assert all(abs(part * nodes * count - 1) < 1e-9 for part in left)
    return Algorithm("bucket", (*halves, *reversed(halves)), "Jain and Sabharwal 2010")


def recursive_doubling(sizes: Sequence[int]) -> Algorithm | None:
    """Whole vectors exchanged with the node whose coordinate differs in one bit, one part per dimension."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = len(sizes)
    orders = [_by_distance(counts, first) for first in range(parts)]
    rounds = [[_xor(sizes, dim, step, 1 / parts) for dim, step in row] for row in zip(*orders, strict=True)]
    return _replayed("recursive doubling", sizes, rounds, "Thakur, Rabenseifner and Gropp 2005")


def halving_doubling(sizes: Sequence[int]) -> Algorithm | None:
    """Halves exchanged with the node whose coordinate differs in one bit, near ones first, and back."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = len(sizes)
    orders = [_by_distance(counts, first) for first in range(parts)]
    rounds = []
    for number, row in enumerate(zip(*orders, strict=True)):
        rounds.append([_xor(sizes, dim, step, 0.5 ** (number + 1) / parts) for dim, step in row])
    return _replayed("halving/doubling", sizes, [*rounds, *reversed(rounds)], "Rabenseifner 2004")


def _xor(sizes: Sequence[int], dimension: int, step: int, share: float) -> Message:
    here = _coordinate(sizes, dimension)
    return dimension, (here ^ (1 << step)) - here, share


def _swing(sizes: Sequence[int], dimension: int, step: int, mirrored: bool, share: float) -> Message:
    reach = (1 - (-2) ** (step + 1)) // 3
    here = _coordinate(sizes, dimension)
    sign = np.where(here % 2 == 0, 1, -1) * (-1 if mirrored else 1)
    return dimension, sign * reach, share


def swing(sizes: Sequence[int], bandwidth: bool) -> Algorithm | None:
    """Exchanges over 1, 1, 3, 5, 11, ... hops, back and forth, plain and mirrored (De Sensi et al. 2024)."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = 2 * len(sizes)
    orders = [(_by_distance(counts, part // 2), bool(part % 2)) for part in range(parts)]
    rounds = []
    for number in range(sum(counts)):
        share = (0.5 ** (number + 1) if bandwidth else 1) / parts
        rounds.append([_swing(sizes, *order[number], mirrored, share) for order, mirrored in orders])
    if bandwidth:
        rounds = [*rounds, *reversed(rounds)]
    return _replayed(
        f"Swing, {'bandwidth' if bandwidth else 'latency'}", sizes, rounds, "De Sensi et al. 2024"
    )


def binomial_tree(sizes: Sequence[int]) -> Algorithm | None:
    """The whole vector up a binomial tree to node 0 and down again."""
    counts = _powers(sizes)
    if counts is None:
        return None
    rounds: list[list[Message]] = []
    done = np.zeros(tuple(sizes), dtype=bool)
    for dim, step in _by_distance(counts, 0):
        here = _coordinate(sizes, dim)
        sends = ~done & (here & (1 << step) != 0)
        rounds.append([(dim, np.where(sends, -(1 << step), 0), 1.0)])
        done |= sends
    down = [[(dim, -hops, share) for dim, hops, share in row] for row in rounds]
    return Algorithm(
        "binomial tree",
        tuple(fullest(sizes, row) for row in [*rounds, *reversed(down)]),
        "Thakur, Rabenseifner and Gropp 2005",
    )


def bine_tree(sizes: Sequence[int]) -> Algorithm | None:
    """The whole vector up a tree to node 0 and down; partners lie 1, 1, 3, 5, 11, ... hops to and fro."""
    counts = _powers(sizes)
    if counts is None:
        return None
    known = np.zeros(tuple(sizes), dtype=bool)
    known[(0,) * len(sizes)] = True
    up: list[list[Message]] = []
    for dim, step in reversed(_by_distance(counts, 0)):
        _, hops, _ = _swing(sizes, dim, step, False, 1.0)
        places = list(np.indices(tuple(sizes)))
        places[dim] = (places[dim] + hops) % sizes[dim]
        # Those whose partner has the vector get it now; towards the root they send their sum to it.
        fresh = ~known & known[tuple(places)]
        up.append([(dim, np.where(fresh, hops, 0), 1.0)])
        known |= fresh
    assert known.all()
    up.reverse()
    return _replayed("Bine, tree", sizes, [*up, *reversed(up)], "De Sensi et al. 2025")


def log3(sizes: Sequence[int]) -> Algorithm | None:
    """Sums exchanged at +-1 and then +-3 hops, one part per dimension; rings of 2, 3, 8 or 9."""
    hops = {2: [1], 3: [1], 8: [1, 3], 9: [1, 3]}
    if any(size not in hops for size in sizes):
        return None
    parts = len(sizes)
    loads: list[float] = []
    for phase in range(parts):
        rows = [hops[sizes[(part + phase) % parts]] for part in range(parts)]
        loads += [
            max(row[turn] for row in rows if turn < len(row)) / parts for turn in range(max(map(len, rows)))
        ]
    return Algorithm("log3", tuple(loads), "this project; the idea of Trivance")


def spheres(sizes: Sequence[int]) -> Algorithm:
    """Round r sends the sphere of radius r, split evenly over the directions: diameter rounds each way."""
    nodes = prod(sizes)
    counts = np.zeros(sum(size // 2 for size in sizes) + 1)
    reach = sum(
        np.minimum(_coordinate(sizes, dim), size - _coordinate(sizes, dim)) for dim, size in enumerate(sizes)
    )
    np.add.at(counts, np.asarray(reach).ravel(), 1)
    loads = [count / nodes / _degree(sizes) for count in counts[1:]]
    return Algorithm("spheres", (*reversed(loads), *loads), "this project")


def exchanges(sizes: Sequence[int]) -> list[Algorithm]:
    """Exchanges with the partners of Swing: the first so many halve what is exchanged, the others keep it.

    Between the latency form of Swing, which halves never, and the bandwidth form, which halves always.
    """
    latency = swing(sizes, False)
    if latency is None:
        return []
    loads = latency.loads
    found = []
    for halvings in range(1, len(loads)):
        outer = [load * 0.5 ** (turn + 1) for turn, load in enumerate(loads[:halvings])]
        inner = [load * 0.5**halvings for load in loads[halvings:]]
        name = f"family (Swing, {halvings} of {len(loads)} halved)"
        found.append(Algorithm(name, (*outer, *inner, *reversed(outer)), "this project"))
    return found


def family(sizes: Sequence[int]) -> list[Algorithm]:
    """Members of the family, exchanges among them, that no other one beats in both rounds and bytes."""
    own = [Algorithm(one.name, one.loads, "this project") for one in members(sizes)]
    best = np.inf
    kept = []
    for one in sorted([*own, *exchanges(sizes)], key=lambda one: (one.rounds, one.factor)):
        if one.factor < best - 1e-12:
            best = one.factor
            kept.append(one)
    return kept


#: Every algorithm by a function that says ``None`` where it does not apply.
LISTED: tuple[Callable[[Sequence[int]], Algorithm | None], ...] = (
    ring,
    multi_ring,
    bucket,
    recursive_doubling,
    halving_doubling,
    lambda sizes: swing(sizes, False),
    lambda sizes: swing(sizes, True),
    binomial_tree,
    bine_tree,
    log3,
    spheres,
)


def algorithms(sizes: Sequence[int]) -> list[Algorithm]:
    """Every algorithm that applies to a torus; members of the family only where none is better both ways.

    Examples
    --------
    >>> from flitloom.collectives.algorithms import algorithms
    >>> {row.name: (row.rounds, round(row.factor, 3)) for row in algorithms((8, 8))}["Swing, bandwidth"]
    (12, 0.539)
    """
    listed = [found for make in LISTED if (found := make(sizes)) is not None]
    return [*listed, *family(sizes)]
