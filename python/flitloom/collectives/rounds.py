"""Algorithms in rounds of messages, replayed over the links that are left.

A message takes all its minimal routes in equal parts. In a round a node sends and receives at most one
message per link that it has on the healthy network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.algorithms import (
    MULTI_RING,
    PROGRAMS,
    RING,
    THAKUR,
    Algorithm,
    Message,
    Program,
    both,
    cycles,
    exchanges,
    swing_message,
    torus_spheres,
    undominated,
)
from flitloom.collectives.family import Member, members, ring_sums, ring_windows, whole_sums
from flitloom.collectives.rounds_plan import Messages, extent, vector_sum
from flitloom.collectives.telling import Told, telling, untold
from flitloom.spec.ground import Ground

BRUCK = "Bruck et al. 1997"
#: Most nodes for which the routes of all pairs are kept.
MOST_PAIRS = 1024
#: Links of messages that are looked at together.
MOST_PLACES = 1 << 20
#: From which node to which, and the share of the vector.
Sent = tuple[int, int, float]


class Replay:
    """Loads of links under messages that take all their minimal routes in equal parts.

    Parameters
    ----------
    ground : Ground
        Nodes and links.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> from flitloom.collectives.rounds import Replay
    >>> Replay(Ground(fl.Torus(4, 4))).busiest([(0, 5, 1.0)])  # over node 1 or node 4
    0.5
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.numbers = {link: number for number, link in enumerate(ground.links)}
        self.widths = list(ground.links.values())
        self.ends = np.array(list(ground.links), dtype=np.int64).reshape(-1, 2).T
        #: Messages whose routes are found together.
        self.batch = max(MOST_PLACES // max(len(self.numbers), 1), 1)
        self._distances: dict[int, dict[int, int]] = {}
        self._routes: dict[tuple[int, int], tuple[NDArray[np.intp], NDArray[np.float64]]] = {}

    def distances(self, target: int) -> dict[int, int]:
        """Hops from every node to `target`."""
        found = self._distances.get(target)
        if found is None:
            found = self._distances[target] = self.ground.distances(target, backwards=True)
        return found

    def routes(self, source: int, target: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Links of the route, and the part of a message on each of their parallel links."""
        found = self._routes.get((source, target))
        if found is None:
            parts = list(self._parts(source, target))
            found = (
                np.array([self.numbers[link] for link, _ in parts], dtype=np.intp),
                np.array([part for _, part in parts]),
            )
            self._routes[source, target] = found
        return found

    def _parts(self, source: int, target: int) -> Iterator[tuple[tuple[int, int], float]]:
        links, left = self.ground.links, self.distances(target)
        # Nodes on minimal routes, those with as many hops left in one row, and where they lead on.
        rows, ends = [[source]], {}
        while left[rows[-1][0]]:
            near = left[rows[-1][0]] - 1
            for node in rows[-1]:
                ends[node] = [end for end in self.ground.outgoing[node] if left.get(end) == near]
            rows.append(sorted({end for node in rows[-1] for end in ends[node]}))
        counts, arriving = {target: 1}, dict.fromkeys((node for row in rows for node in row), 0.0)
        for row in reversed(rows[:-1]):
            for node in row:
                counts[node] = sum(links[node, end] * counts[end] for end in ends[node])
        arriving[source] = 1.0
        for node in (node for row in rows[:-1] for node in row):
            for end in ends[node]:
                part = arriving[node] * counts[end] / counts[node]
                yield (node, end), part
                arriving[end] += part * links[node, end]

    def busiest(self, messages: Iterable[Sent]) -> float:
        """The share of the vector on the busiest link in one round."""
        return float(self.loads(messages).max(initial=0.0))

    def loads(self, messages: Iterable[Sent]) -> NDArray[np.float64]:
        """The share of the vector on every link in one round, in the order of `numbers`."""
        loads = np.zeros(len(self.numbers))
        far = []
        for source, target, share in messages:
            number = self.numbers.get((source, target))
            if number is not None:
                loads[number] += share / self.widths[number]
            elif source == target:
                continue
            elif self.ground.nodes > MOST_PAIRS:
                links, parts = self.routes(source, target)
                loads[links] += parts * share
            else:
                far.append((source, target, share))
        for begin in range(0, len(far), self.batch):
            loads += self._together(far[begin : begin + self.batch])
        return loads

    def _together(self, messages: Sequence[Sent]) -> NDArray[np.float64]:
        """Loads of all links under messages over several hops: routes that cross a link, by all routes."""
        hops, routes = self.ground.routes
        columns = np.array(messages)
        sources, targets = columns[:, :2].astype(np.int64).T
        tails, heads = self.ends
        left = hops[sources, targets][:, None] - 1
        crossing = hops[sources[:, None], tails] + hops[heads, targets[:, None]] == left
        crossing &= hops[sources[:, None], tails] >= 0
        row, link = np.nonzero(crossing)
        source, target = sources[row], targets[row]
        share = routes[source, tails[link]] * routes[heads[link], target] / routes[source, target]
        return np.bincount(link, share * columns[row, 2], len(self.numbers)).astype(np.float64)

    def program(self, program: Program) -> Algorithm:
        """A program whose partners are those of the torus of the same sizes."""
        return program.algorithm(lambda messages: self.busiest(sent(self.ground.sizes, messages)))

    def circle(self, name: str, orders: Sequence[Sequence[int]], source: str, ways: int = 2) -> Algorithm:
        """Parts of the vector round a circle of nodes each, both ways or one."""
        nodes = len(orders[0])
        share = 1 / (nodes * ways * len(orders))
        turn = [
            one
            for order in orders
            for a, b in pairwise((*order, order[0]))
            for one in ((a, b, share), (b, a, share))[:ways]
        ]
        return Algorithm(name, (self.busiest(turn),) * (2 * (nodes - 1)), source, True)


def busiest_loads(ground: Ground, messages: Messages, rounds: int, told: Told = untold) -> list[float]:
    """Per round the length on the busiest link of messages, with `Messages.lengths` as the unit."""
    table: list[defaultdict[tuple[int, int], int]] = [defaultdict(int) for _ in range(rounds)]
    for turn, start, end, first, count, *_ in (*messages.sums, *messages.partials, *messages.moves):
        table[turn][start, end] += extent((first, first + count), messages.pieces, messages.lengths)
    replay = Replay(ground)
    if messages.symmetries:
        # Links have what all that symmetries lead to them have.
        tails, heads = replay.ends
        number = np.zeros((ground.nodes, ground.nodes), dtype=np.int64)
        number[tails, heads] = np.arange(len(tails))
        images = np.array(messages.symmetries)
        led = number[images[:, tails], images[:, heads]].ravel()
        every = [replay.loads((*ends, float(length)) for ends, length in row.items()) for row in table]
        return [float(np.bincount(led, np.tile(row, len(images))).max()) for row in every]
    if not messages.alike:
        rows = telling(table, told, 1)
        return [replay.busiest((*ends, float(length)) for ends, length in row.items()) for row in rows]
    ways = [vector_sum(ground, end, start, -1) for start, end in ground.links]
    loads = []
    for row in table:
        # All links that lead the same way have what those that node 0 uses have in all.
        along: defaultdict[int, float] = defaultdict(float)
        for ends, length in row.items():
            for link, part in zip(*(array.tolist() for array in replay.routes(*ends)), strict=True):
                along[ways[link]] += part * length
        loads.append(max(along.values(), default=0.0))
    return loads


def sent(sizes: Sequence[int], messages: Iterable[Message]) -> Iterator[Sent]:
    """Messages along dimensions as messages between nodes.

    >>> import numpy as np
    >>> list(sent((3,), [(0, np.array([1, 0, -1]), 0.5)]))
    [(0, 1, 0.5), (2, 1, 0.5)]
    """
    # The first dimension runs fastest.
    numbers = np.arange(prod(sizes)).reshape(tuple(sizes), order="F")
    for dimension, hops, share in messages:
        here = np.indices(tuple(sizes))[dimension]
        ends = numbers + ((here + hops) % sizes[dimension] - here) * prod(sizes[:dimension])
        for node, end in zip(numbers.ravel().tolist(), ends.ravel().tolist(), strict=True):
            if node != end:
                yield node, end, share


def around(sizes: Sequence[int]) -> list[int]:
    """All nodes of a mesh, neighbours after each other; the last is next to the first if a size is even.

    >>> around((3, 2)), around((3, 3))
    ([1, 2, 5, 4, 3, 0], [0, 1, 2, 5, 4, 3, 6, 7, 8])
    """
    across = next((place for place, size in enumerate(sizes) if size % 2 == 0), len(sizes) - 1)
    path = [0]
    for place, size in enumerate(sizes):
        if place != across:
            path = _to_and_fro(path, size, prod(sizes[:place]))
    stride = prod(sizes[:across])
    if sizes[across] % 2 or len(path) == 1:
        return _to_and_fro(path, sizes[across], stride)
    # The first column is the way back.
    back = [path[0] + step * stride for step in reversed(range(sizes[across]))]
    return [*_to_and_fro(path[1:], sizes[across], stride), *back]


def _to_and_fro(path: list[int], size: int, stride: int) -> list[int]:
    return [node + step * stride for step in range(size) for node in path[:: 1 if step % 2 == 0 else -1]]


def member_program(sizes: Sequence[int], member: Member) -> Program:
    """The messages of a member of the family."""
    parts = len(sizes)
    scattering: list[list[Message]] = []
    summing: list[list[Message]] = []
    left = list(member.shares)
    for phase, what in enumerate(member.pick):
        dims = [(part + phase) % parts for part in range(parts)]
        rows = [_phase(sizes, dim, what, left[part]) for part, dim in enumerate(dims)]
        turns = range(max(map(len, rows)))
        table = [[one for row in rows if turn < len(row) for one in row[turn]] for turn in turns]
        if isinstance(what, int):
            scattering += table
            left = [left[part] / sizes[dim] for part, dim in enumerate(dims)]
        else:
            summing += table
    gathering = [] if member.halves else scattering[::-1]
    return Program(member.name, "this project", [*scattering, *summing, *gathering], halves=member.halves)


def _phase(sizes: Sequence[int], dimension: int, what: int | str, share: float) -> list[list[Message]]:
    """One part's rounds along one dimension."""
    size = sizes[dimension]
    if isinstance(what, int):
        # A small ring may need fewer rounds than the phase has.
        counts = range(min(what, max(size // 2, 1)), 0, -1)
        windows = next(found for count in counts if (found := ring_windows(size, count)))
        chunk = share / size / (2 if size == 2 else 1)
        return [both(size, dimension, hops, chunk * chunks) for hops, chunks in reversed(windows)]
    if size == 2:
        return [both(size, dimension, 1, share / 2)]
    if what == "pairs":
        steps = range(size.bit_length() - 1)
        return [
            [swing_message(sizes, dimension, step, mirrored, share / 2) for mirrored in (False, True)]
            for step in steps
        ]
    return [
        [one for _, hops in sendings for one in both(size, dimension, hops, share / 2)]
        for sendings in ring_sums(size) or ()
    ]


def _whole_sums(replay: Replay, member: Member) -> Algorithm:
    """Sums over all dimensions at once, a part of the vector per turn of the dimensions and sign."""
    sizes = replay.ground.sizes
    points = [replay.ground.point(node) for node in range(replay.ground.nodes)]

    def messages(vectors: Iterable[Sequence[int]]) -> Iterator[Sent]:
        for vector in vectors:
            for turn in range(len(sizes)):
                for sign in (1, -1):
                    turned = [sign * vector[(place - turn) % len(sizes)] for place in range(len(sizes))]
                    for node, point in enumerate(points):
                        whence = [(a + b) % size for a, b, size in zip(point, turned, sizes, strict=True)]
                        yield replay.ground.number(whence), node, member.shares[0]

    rounds = whole_sums(sizes) or ()
    loads = tuple(replay.busiest(messages(vector for vector, _ in row)) for row in rounds)
    return Algorithm(member.name, loads, "this project")


def on_grid(ground: Ground) -> list[Algorithm]:
    """All-reduces of tori where cables are missing, edges do not wrap around or the torus is twisted.

    Partners are those of the torus of the same sizes; messages go over the links that are there.
    """
    replay, sizes = Replay(ground), ground.sizes
    found = [replay.circle("ring", [around(sizes)], RING)]
    several = cycles(sizes)
    if several is not None:
        found.append(replay.circle("multi-ring", several, MULTI_RING))
    programs = [program for make in PROGRAMS if (program := make(sizes)) is not None]
    found += [replay.program(program) for program in programs]
    own = [
        _whole_sums(replay, member)
        if member.pick == ("sums over all",)
        else replay.program(member_program(sizes, member))
        for member in members(sizes)
    ]
    latency = next((one for one in found if one.name == "Swing, latency"), None)
    kept = undominated([*own, *(exchanges(latency) if latency else [])])
    rerouted = replay.program(torus_spheres(sizes))
    return [*found, *kept, *([rerouted] if rerouted in undominated([*kept, rerouted]) else [])]


def ways_round(ground: Ground) -> int:
    """How many ways a ring goes round: over a single link of a host one is enough.

    >>> import flitloom as fl
    >>> ways_round(Ground(fl.Mesh(4))), ways_round(Ground(fl.Graph(["0-2", "1-2"], nodes=3, hosts=[0, 1])))
    (2, 1)
    """
    return 1 if ground.has_relays and ground.most_links == 1 else 2


def by_rank(ground: Ground, order: Sequence[int]) -> list[Algorithm]:
    """All-reduces between ranks, for any number of them on any network.

    Parameters
    ----------
    ground : Ground
        Nodes and links.
    order : sequence of int
        The node of every rank; neighbours follow each other where that can be.

    Notes
    -----
    Where the number of ranks is not a power of two, the ranks above it first give their vector to another
    rank and get the sum at the end (Rabenseifner 2004).
    """
    replay = Replay(ground)
    found = [replay.circle("ring", [order], RING, ways_round(ground))]
    count = len(order)
    doublings = count.bit_length() - 1
    over = count - (1 << doublings)
    # The first ranks stand in pairs.
    folded = [(order[2 * rank + 1], order[2 * rank], 1.0) for rank in range(over)]
    active = [*order[: 2 * over : 2], *order[2 * over :]]
    unfolded = [(b, a, share) for a, b, share in folded]

    def framed(rounds: list[list[Sent]]) -> list[list[Sent]]:
        return [folded, *rounds, unfolded] if over else rounds

    def exchange(step: int, share: float) -> list[Sent]:
        return [(node, active[rank ^ (1 << step)], share) for rank, node in enumerate(active)]

    halving = [exchange(step, 0.5 ** (step + 1)) for step in range(doublings)]
    up = [
        [
            (order[rank], order[rank - (1 << step)], 1.0)
            for rank in range(1 << step, count, 1 << step)
            if rank >> step & 1
        ]
        for step in range((count - 1).bit_length())
    ]
    down = [[(b, a, share) for a, b, share in row] for row in reversed(up)]
    rounds = {
        ("recursive doubling", THAKUR): framed([exchange(step, 1.0) for step in range(doublings)]),
        ("halving/doubling", "Rabenseifner 2004"): framed([*halving, *reversed(halving)]),
        ("binomial tree", THAKUR): [*up, *down],
    }
    halves = {"halving/doubling": not over}
    for (name, source), table in rounds.items():
        loads = tuple(map(replay.busiest, table))
        found.append(Algorithm(name, loads, source, halves.get(name, False)))
    return found


def gathers_by_rank(ground: Ground, order: Sequence[int]) -> list[Algorithm]:
    """All-gathers between ranks that are not half of an all-reduce; each mirrored is a reduce-scatter.

    In every round of Bruck's a rank passes on all blocks it has, to the rank 1, 2, 4, ... before it.
    """
    replay, count = Replay(ground), len(order)
    loads = []
    for step in range((count - 1).bit_length()):
        share = min(1 << step, count - (1 << step)) / count
        loads.append(replay.busiest(_shift(order, -(1 << step), share)))
    return [Algorithm("Bruck", tuple(loads), BRUCK)]


def _shift(order: Sequence[int], by: int, share: float) -> list[Sent]:
    return [(node, order[(rank + by) % len(order)], share) for rank, node in enumerate(order)]


def shift_rounds(ground: Ground, order: Sequence[int]) -> list[list[int]]:
    """Per round how many ranks ahead blocks go, near ones first: as many shifts as every node has links.

    >>> import flitloom as fl
    >>> shift_rounds(Ground(fl.Torus(5)), range(5))
    [[1, 4], [2, 3]]
    """
    count = len(order)
    ports = min(len(ground.outgoing[node]) for node in order)
    distances = iter(sorted(range(1, count), key=lambda by: min(by, count - by)))
    return list(iter(lambda: list(islice(distances, ports)), []))


def exchanges_of_all(ground: Ground, order: Sequence[int]) -> list[Algorithm]:
    """All-to-alls between ranks; the vector of a node holds a block for every rank.

    Shifts send as many blocks at once as the node with the fewest links has, straight to their ranks; Bruck's
    passes half of the blocks on in every round.
    """
    replay, count = Replay(ground), len(order)
    shifts = [
        [one for by in row for one in _shift(order, by, 1 / count)] for row in shift_rounds(ground, order)
    ]
    bruck = []
    for step in range((count - 1).bit_length()):
        blocks = sum(1 for by in range(count) if by >> step & 1)
        bruck.append(_shift(order, 1 << step, blocks / count))
    return [
        Algorithm("shifts", tuple(map(replay.busiest, shifts)), THAKUR),
        Algorithm("Bruck", tuple(map(replay.busiest, bruck)), BRUCK),
    ]
