"""All-reduce algorithms on tori as rounds of messages, each replayed on links.

A round costs alpha + (most bytes on one link) / bandwidth. Every algorithm gives, per round, the share of the
vector on the busiest link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.cycles import hamiltonian_cycles
from flitloom.collectives.family import members
from flitloom.collectives.rounds_plan import Messages

RING = "Patarasuk and Yuan 2009"
MULTI_RING = "Bae and Bose 2003"
THAKUR = "Thakur, Rabenseifner and Gropp 2005"
#: Largest torus on which Hamiltonian cycles are found and walked.
WALKED = 1024
#: Hops of the messages of every round by the size of a ring, either way.
LOG3 = {2: [1], 3: [1], 8: [1, 3], 9: [1, 3]}
#: From every node: the dimension, the hops along it (of all nodes, or per node), the share of the vector.
Message = tuple[int, int | NDArray[np.int64], float]


@dataclass(frozen=True)
class Algorithm:
    """An operation as rounds.

    Attributes
    ----------
    name : str
        Its name, with its parameters.
    loads : tuple of float
        Per round the share of the vector on the busiest link.
    source : str
        Where it is defined.
    halves : bool
        Whether the first half of an all-reduce's rounds is a reduce-scatter, the second an all-gather.
    messages : callable, optional
        Makes the messages of the all-reduce; none where nobody makes them yet.
    crowd : tuple of int
        Per round the messages of a node over a link beyond the first one; empty if there are none, or if they
        are not counted.
    plan : CollectivePlan, optional
        The plan in steps that it is, if it is one.
    delays : tuple of float
        Per round the seconds that the latency of its links takes; empty if that is none.
    """

    name: str
    loads: tuple[float, ...]
    source: str
    halves: bool = False
    messages: Callable[[], Messages] | None = field(default=None, compare=False)
    crowd: tuple[int, ...] = ()
    plan: CollectivePlan | None = field(default=None, compare=False)
    delays: tuple[float, ...] = ()

    @property
    def is_made(self) -> bool:
        """Whether a plan is made of it; else its time is an estimate."""
        return self.messages is not None or self.plan is not None

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.loads)

    @property
    def factor(self) -> float:
        """Bytes on the busiest links, as a multiple of the vector."""
        return sum(self.loads)

    def seconds(self, size: float, alpha: float, bandwidth: float, message: float = 0.0) -> float:
        """Time of an operation on `size` bytes.

        A round takes `alpha` s, a link transfers `bandwidth` bytes/s, and every message of a node over a link
        beyond the first one of a round takes `message` s.
        """
        once = self.rounds * alpha + sum(self.crowd) * message + sum(self.delays)
        return once + self.factor * size / bandwidth

    def of(self, operation: str, messages: Messages) -> Messages:
        """What an operation has of the messages of its all-reduce."""
        return messages.of(operation, self.rounds if operation == "all-reduce" else 2 * self.rounds)

    def half(self, gathers: bool) -> Algorithm:
        """The all-gather of an all-reduce that has one, or the reduce-scatter."""
        kept = slice(self.rounds // 2, None) if gathers else slice(self.rounds // 2)
        return replace(self, loads=self.loads[kept], crowd=self.crowd[kept])


@dataclass(frozen=True)
class Program:
    """Rounds of messages along dimensions, wherever they are replayed.

    Attributes
    ----------
    name, source
        As of the algorithm.
    rounds : sequence of sequences of Message
        The messages of every round.
    halves : bool
        Whether as many rounds follow that mirror these: first a reduce-scatter, then an all-gather.
    """

    name: str
    source: str
    rounds: Sequence[Sequence[Message]]
    halves: bool = False

    def algorithm(self, busiest: Callable[[Sequence[Message]], float]) -> Algorithm:
        """The algorithm, by the share of the vector on the busiest link in a round."""
        loads = tuple(busiest(messages) for messages in self.rounds)
        mirrored = loads[::-1] if self.halves else ()
        return Algorithm(self.name, (*loads, *mirrored), self.source, self.halves)


def busiest(sizes: Sequence[int], messages: Sequence[Message]) -> float:
    """Replay the messages of a round hop by hop on a torus: the share of the vector on the busiest link.

    A message of half way round an even ring goes half either way.

    >>> busiest((8, 8), [(0, 3, 0.5), (0, -1, 0.25), (1, 4, 0.5)])
    1.5
    """
    grid = None
    most = 0.0
    for dimension, size in enumerate(sizes):
        even = [0.0, 0.0]
        load = None
        for along, hops, share in messages:
            if along != dimension:
                continue
            if isinstance(hops, int):
                for sense, length, part in _ways(size, hops % size):
                    even[sense] += length * part * share
                continue
            grid = np.indices(tuple(sizes)) if grid is None else grid
            load = np.zeros((2, *sizes)) if load is None else load
            distances = np.broadcast_to(hops % size, tuple(sizes))
            for distance in np.unique(distances):
                senders = distances == distance
                for sense, length, part in _ways(size, int(distance)):
                    for hop in range(length):
                        places = [grid[other][senders] for other in range(len(sizes))]
                        places[dimension] = (places[dimension] + (hop if sense == 0 else -hop)) % size
                        np.add.at(load[sense], tuple(places), share * part)
        for sense in (0, 1):
            most = max(most, even[sense] + (0.0 if load is None else float(load[sense].max())))
    return most


def _ways(size: int, distance: int) -> list[tuple[int, int, float]]:
    """How a message goes round a ring: per sense that it takes the hops and the part."""
    if distance == 0:
        return []
    if size == 2:
        return [(0, 1, 1.0)]
    backwards = size - distance
    if distance == backwards:
        return [(0, distance, 0.5), (1, backwards, 0.5)]
    return [(0, distance, 1.0) if distance < backwards else (1, backwards, 1.0)]


def both(size: int, dimension: int, hops: int, share: float) -> list[Message]:
    """From every node `hops` hops up and as many down, `share` each; a ring of two has one direction."""
    if size == 2:
        return [(dimension, hops, 2 * share)]
    return [(dimension, hops, share), (dimension, -hops, share)]


def _coordinate(sizes: Sequence[int], dimension: int) -> NDArray[np.int64]:
    places: NDArray[np.int64] = np.indices(tuple(sizes))[dimension]
    return places


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
    return Algorithm("ring", (share,) * (2 * (nodes - 1)), RING, True)


def cycles(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...] | None:
    """A Hamiltonian cycle per dimension that shares no link with the others, on tori that are not large."""
    if len(sizes) < 2 or min(sizes) < 3 or prod(sizes) > WALKED:
        return None
    return hamiltonian_cycles(tuple(sizes))


def multi_ring(sizes: Sequence[int]) -> Algorithm | None:
    """A Hamiltonian cycle per dimension that shares no link with the others, each used both ways.

    Such cycles exist wherever sizes are at least 3; they are found and walked on small tori.
    """
    if len(sizes) < 2 or min(sizes) < 3:
        return None
    nodes = prod(sizes)
    most = 1
    if nodes <= WALKED:
        found = cycles(sizes)
        if found is None:
            return None
        links = Counter(frozenset(ends) for cycle in found for ends in pairwise((*cycle, cycle[0])))
        most = max(links.values())
    share = most / (nodes * 2 * len(sizes))
    return Algorithm("multi-ring", (share,) * (2 * (nodes - 1)), MULTI_RING, True)


def bucket(sizes: Sequence[int]) -> Program:
    """A ring per dimension, all dimensions and both directions at once (Jain and Sabharwal 2010)."""
    count = len(sizes)
    left = [1 / count] * count
    rounds: list[list[Message]] = []
    for phase in range(count):
        dims = [(part + phase) % count for part in range(count)]
        left = [left[part] / sizes[dim] for part, dim in enumerate(dims)]
        rounds += [
            [
                one
                for part, dim in enumerate(dims)
                if turn < sizes[dim] - 1
                for one in both(sizes[dim], dim, 1, left[part] / 2)
            ]
            for turn in range(max(sizes) - 1)
        ]
    return Program("bucket", "Jain and Sabharwal 2010", rounds, halves=True)


def recursive_doubling(sizes: Sequence[int]) -> Program | None:
    """Whole vectors exchanged with the node whose coordinate differs in one bit, one part per dimension."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = len(sizes)
    orders = [_by_distance(counts, first) for first in range(parts)]
    rounds = [[_xor(sizes, dim, step, 1 / parts) for dim, step in row] for row in zip(*orders, strict=True)]
    return Program("recursive doubling", THAKUR, rounds)


def halving_doubling(sizes: Sequence[int]) -> Program | None:
    """Halves exchanged with the node whose coordinate differs in one bit, near ones first, and back."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = len(sizes)
    orders = [_by_distance(counts, first) for first in range(parts)]
    rounds = []
    for number, row in enumerate(zip(*orders, strict=True)):
        rounds.append([_xor(sizes, dim, step, 0.5 ** (number + 1) / parts) for dim, step in row])
    return Program("halving/doubling", "Rabenseifner 2004", rounds, halves=True)


def _xor(sizes: Sequence[int], dimension: int, step: int, share: float) -> Message:
    here = _coordinate(sizes, dimension)
    return dimension, (here ^ (1 << step)) - here, share


def swing_message(sizes: Sequence[int], dimension: int, step: int, mirrored: bool, share: float) -> Message:
    """The exchange of step 0, 1, 2, ... of Swing: with the node 1, 1, 3, 5, 11, ... hops away, to and fro."""
    reach = (1 - (-2) ** (step + 1)) // 3
    here = _coordinate(sizes, dimension)
    sign = np.where(here % 2 == 0, 1, -1) * (-1 if mirrored else 1)
    return dimension, sign * reach, share


def swing(sizes: Sequence[int], bandwidth: bool) -> Program | None:
    """Exchanges over 1, 1, 3, 5, 11, ... hops, back and forth, plain and mirrored (De Sensi et al. 2024)."""
    counts = _powers(sizes)
    if counts is None:
        return None
    parts = 2 * len(sizes)
    orders = [(_by_distance(counts, part // 2), bool(part % 2)) for part in range(parts)]
    rounds = []
    for number in range(sum(counts)):
        share = (0.5 ** (number + 1) if bandwidth else 1) / parts
        rounds.append([swing_message(sizes, *order[number], mirrored, share) for order, mirrored in orders])
    name = f"Swing, {'bandwidth' if bandwidth else 'latency'}"
    return Program(name, "De Sensi et al. 2024", rounds, halves=bandwidth)


def binomial_tree(sizes: Sequence[int]) -> Program | None:
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
    # Down the same links backwards: loads are the same.
    return Program("binomial tree", THAKUR, [*rounds, *reversed(rounds)])


def bine_tree(sizes: Sequence[int]) -> Program | None:
    """The whole vector up a tree to node 0 and down; partners lie 1, 1, 3, 5, 11, ... hops to and fro."""
    counts = _powers(sizes)
    if counts is None:
        return None
    known = np.zeros(tuple(sizes), dtype=bool)
    known[(0,) * len(sizes)] = True
    up: list[list[Message]] = []
    for dim, step in reversed(_by_distance(counts, 0)):
        _, hops, _ = swing_message(sizes, dim, step, False, 1.0)
        places = list(np.indices(tuple(sizes)))
        places[dim] = (places[dim] + hops) % sizes[dim]
        # Those whose partner has the vector get it now; towards the root they send their sum to it.
        fresh = ~known & known[tuple(places)]
        up.append([(dim, np.where(fresh, hops, 0), 1.0)])
        known |= fresh
    assert known.all()
    up.reverse()
    return Program("Bine, tree", "De Sensi et al. 2025", [*up, *reversed(up)])


def log3(sizes: Sequence[int]) -> Program | None:
    """Sums exchanged at +-1 and then +-3 hops, one part per dimension; rings of 2, 3, 8 or 9."""
    hops = LOG3
    if any(size not in hops for size in sizes):
        return None
    parts = len(sizes)
    rounds: list[list[Message]] = []
    for phase in range(parts):
        dims = [(part + phase) % parts for part in range(parts)]
        rounds += [
            [
                one
                for dim in dims
                if turn < len(hops[sizes[dim]])
                for one in both(
                    sizes[dim], dim, hops[sizes[dim]][turn], 1 / parts / (2 if sizes[dim] == 2 else 1)
                )
            ]
            for turn in range(max(len(hops[sizes[dim]]) for dim in dims))
        ]
    return Program("log3", "this project; the idea of Trivance", rounds)


def torus_spheres(sizes: Sequence[int]) -> Program:
    """Spheres of the torus: round r sends that of radius r, split evenly over the directions."""
    counts = np.zeros(sum(size // 2 for size in sizes) + 1)
    reach = sum(
        np.minimum(_coordinate(sizes, dim), size - _coordinate(sizes, dim)) for dim, size in enumerate(sizes)
    )
    np.add.at(counts, np.asarray(reach).ravel(), 1)
    degree = sum(1 if size == 2 else 2 for size in sizes)
    rounds = [
        [
            one
            for dim, size in enumerate(sizes)
            for one in both(size, dim, 1, count / prod(sizes) / degree / (2 if size == 2 else 1))
        ]
        for count in map(float, counts[:0:-1])
    ]
    return Program("spheres of the torus", "this project", rounds, halves=True)


def exchanges(latency: Algorithm) -> list[Algorithm]:
    """Exchanges with the partners of Swing: the first ones halve what is exchanged, the others keep it.

    Between the latency form of Swing, which halves never, and the bandwidth form, which halves always.
    """
    loads = latency.loads
    found = []
    for halvings in range(1, len(loads)):
        outer = [load * 0.5 ** (turn + 1) for turn, load in enumerate(loads[:halvings])]
        inner = [load * 0.5**halvings for load in loads[halvings:]]
        name = f"family (Swing, {halvings} of {len(loads)} halved)"
        found.append(Algorithm(name, (*outer, *inner, *reversed(outer)), "this project"))
    return found


def undominated(found: Sequence[Algorithm]) -> list[Algorithm]:
    """Those that no other one beats in both rounds and bytes."""
    best = np.inf
    kept = []
    for one in sorted(found, key=lambda one: (one.rounds, one.factor)):
        if one.factor < best - 1e-12:
            best = one.factor
            kept.append(one)
    return kept


#: Messages along dimensions by a function that says ``None`` where they do not apply.
PROGRAMS: tuple[Callable[[Sequence[int]], Program | None], ...] = (
    bucket,
    recursive_doubling,
    halving_doubling,
    lambda sizes: swing(sizes, False),
    lambda sizes: swing(sizes, True),
    binomial_tree,
    bine_tree,
    log3,
)


def algorithms(sizes: Sequence[int]) -> list[Algorithm]:
    """Every all-reduce that applies to a torus; members of the family only where none is better both ways.

    Examples
    --------
    >>> from flitloom.collectives.algorithms import algorithms
    >>> {row.name: (row.rounds, round(row.factor, 3)) for row in algorithms((8, 8))}["Swing, bandwidth"]
    (12, 0.539)
    """
    rings = [found for found in (ring(sizes), multi_ring(sizes)) if found is not None]
    programs = [found for make in PROGRAMS if (found := make(sizes)) is not None]
    replayed = [one.algorithm(lambda messages: busiest(sizes, messages)) for one in programs]
    own = [Algorithm(one.name, one.loads, "this project", one.halves) for one in members(sizes)]
    latency = next((one for one in replayed if one.name == "Swing, latency"), None)
    return [*rings, *replayed, *undominated([*own, *(exchanges(latency) if latency else [])])]
