"""A family of all-reduces between the fewest rounds and the fewest bytes, searched per message size.

The vector is cut into parts, one per dimension. Every part goes through all dimensions, each part in another
order, so that all links work in every round. In the outer dimensions it is scattered and gathered again, in
few rounds or many; in the inner ones whole sums are exchanged, which takes half the rounds and more bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

import numpy as np

from flitloom.collectives.stored_sums import STORED
from flitloom.collectives.sums import VectorSending, distance, rounds_of
from flitloom.ground.linear import solve

#: Rings for which rounds of sums are known: three rounds reach 27 nodes.
LONGEST_SUMS = 27
#: Most members of unequal parts for which the best split is solved for.
SPLITS = 400


@dataclass(frozen=True)
class Member:
    """An all-reduce of the family.

    Attributes
    ----------
    pick : tuple
        What happens in every phase: a number of rounds, or ``sums`` or ``pairs``. Part p is in dimension
        p + phase then, counted round. Or ``sums over all`` alone: `whole_sums`.
    loads : tuple of float
        Per round the share of the vector on the busiest link.
    shares : tuple of float
        How large the parts of the vector are, one per dimension; of sums over all two.
    """

    pick: tuple[int | str, ...]
    loads: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name, with what happens in every phase."""
        return f"family ({','.join(map(str, self.pick))})"

    @property
    def factor(self) -> float:
        """Bytes on the busiest links, as a multiple of the vector."""
        return sum(self.loads)

    @property
    def halves(self) -> bool:
        """Whether nothing is summed in whole: a reduce-scatter, then an all-gather."""
        return all(isinstance(what, int) for what in self.pick)


def whole_sums(sizes: Sequence[int]) -> list[list[VectorSending]] | None:
    """The sum of all nodes in three rounds over all dimensions at once, where such rounds are stored.

    What node 0 receives, in a part of the vector; the other parts, one per direction of the links, go the
    same way with the dimensions turned round and all signs changed, so that all links have the same load.

    Returns
    -------
    list of rounds, each a list of (from where, whose parts are added up, seen from there), or None

    Examples
    --------
    >>> from flitloom.collectives.family import whole_sums
    >>> [len(row) for row in whole_sums((8, 8))]
    [4, 4, 4]
    """
    stored = STORED.get(tuple(sizes))
    return None if stored is None else rounds_of(sizes, *stored)


@cache
def ring_windows(size: int, rounds: int) -> tuple[tuple[int, float], ...] | None:
    """All-gather on a ring in this many rounds with the least load: per round hops and chunks of a message.

    With a window of w chunks either way a round over h <= 2w + 1 hops adds up to h of them; the chunk half
    way round an even ring comes half from either side. Exact: least sum over all ways of growing the window.

    >>> ring_windows(8, 2), ring_windows(8, 3)
    (((1, 1.0), (3, 2.5)), ((1, 1.0), (1, 1.0), (2, 1.5)))
    """
    if size == 2:
        return ((1, 1.0),) if rounds == 1 else None
    goal = size // 2
    best: dict[int, tuple[float, tuple[tuple[int, float], ...]]] = {0: (0.0, ())}
    for _ in range(rounds):
        following: dict[int, tuple[float, tuple[tuple[int, float], ...]]] = {}
        for window, (cost, sendings) in best.items():
            for added in range(1, min(2 * window + 1, goal - window) + 1):
                tie = 0.5 if size % 2 == 0 and window + added == goal else 0.0
                total = cost + added * (added - tie)
                if total < following.get(window + added, (np.inf, ()))[0]:
                    following[window + added] = (total, (*sendings, (added, added - tie)))
        best = following
    return best[goal][1] if goal in best else None


def ring_rounds(size: int, rounds: int) -> tuple[float, ...] | None:
    """Chunks on the busiest link in every round of `ring_windows`.

    >>> ring_rounds(8, 2), ring_rounds(8, 3), ring_rounds(8, 4)
    ((1.0, 7.5), (1.0, 1.0, 3.0), (1.0, 1.0, 1.0, 0.5))
    """
    windows = ring_windows(size, rounds)
    return None if windows is None else tuple(hops * chunks for hops, chunks in windows)


#: What a node sends in a round: the sum over some of the nodes near it, by offset, so many hops on.
Sending = tuple[tuple[int, ...], int]


@cache
def ring_sums(size: int) -> tuple[tuple[Sending, ...], ...] | None:
    """Every node gets the sum over a ring in ceil(log3 size) rounds, one message either way in each.

    A node sends sums of neighbouring nodes that it can put together from what it got before. These are the
    messages for one half of the vector; the other half goes the mirrored way. Up to 27
    nodes, except for 25 and 26.

    Returns
    -------
    tuple of rounds, each a tuple of sendings, or None
        A sending is the offsets, from its sender, of the nodes summed up, and the hops it goes.

    Examples
    --------
    >>> from flitloom.collectives.family import ring_sums
    >>> ring_sums(8)  # the neighbours, then three nodes from 3 hops away and two from 2
    ((((0,), -1), ((0,), 1)), (((-1, 0, 1), -3), ((-1, 0), 2)))
    """
    if not 3 <= size <= LONGEST_SUMS:
        return (((((0,), 1),),)) if size == 2 else None
    # Sums that came in one message, and one's own part, from left to right.
    pieces: list[tuple[int, ...]] = [(0,)]
    rounds: list[tuple[Sending, ...]] = []
    while True:
        reach = max(map(max, pieces))
        rest = size - 2 * reach - 1
        if rest == 0:
            return tuple(rounds)
        whole = 2 * reach + 1
        if rest >= 2 * whole:
            window = tuple(range(-reach, reach + 1))
            rounds.append(((window, -whole), (window, whole)))
            beyond = tuple(offset - whole for offset in window)
            pieces = [beyond, *pieces, tuple(offset + whole for offset in window)]
            continue
        # From the right some, from the left the others, on as few hops as can be.
        ways = [
            (right, left)
            for count in range((rest + 1) // 2, rest + 1)
            if (right := _nearest(pieces, count, reach + 1)) is not None
            and (left := _nearest(pieces, rest - count, reach + 1)) is not None
        ]
        if not ways:
            return None
        right, left = min(ways, key=lambda way: (abs(way[0][1]) + abs(way[1][1]), way))
        last: list[Sending] = [(right[0], -right[1])]
        if left[0]:
            # Mirrored: offsets and hops change their sign.
            last.append((tuple(sorted(-offset for offset in left[0])), left[1]))
        rounds.append(tuple(last))
        return tuple(rounds)


def _nearest(pieces: Sequence[tuple[int, ...]], count: int, first: int) -> Sending | None:
    """Pieces in a row that are the nodes `first`, ..., `first + count - 1` of who is fewest hops back."""
    if count == 0:
        return (), 0
    rows = [
        tuple(offset for piece in pieces[start:end] for offset in piece)
        for start in range(len(pieces))
        for end in range(start + 1, len(pieces) + 1)
    ]
    # A sender `hops` ahead has at offset o what the receiver has at hops + o.
    fitting = [(first - row[0], row) for row in rows if len(row) == count]
    if not fitting:
        return None
    hops, row = min(fitting, key=lambda found: (abs(found[0]), found[1]))
    return row, hops


def sums_loads(size: int) -> tuple[float, ...] | None:
    """Vectors on the busiest link in every round of `ring_sums`, both halves of the vector together.

    >>> sums_loads(8), sums_loads(16), sums_loads(9)
    ((1.0, 2.5), (1.0, 3.0, 3.5), (1.0, 3.0))
    """
    rounds = ring_sums(size)
    if rounds is None:
        return None
    if size == 2:
        return (1.0,)
    # Each half has its messages one way, the other half the same the other way.
    return tuple(sum(abs(hops) for _, hops in sendings) / 2 for sendings in rounds)


def pairs_loads(size: int) -> tuple[float, ...] | None:
    """The same for exchanges with partners at 1, 1, 3, 5, 11, ... hops (Swing), plain and mirrored.

    >>> pairs_loads(8)
    (0.5, 0.5, 1.5)
    """
    count = size.bit_length() - 1
    if 1 << count != size or size < 2:
        return None
    if size == 2:
        return (1.0,)
    return tuple(abs(1 - (-2) ** (step + 1)) / 3 / 2 for step in range(count))


#: The ways of having sums exchanged, by name.
SUMS: dict[str, Callable[[int], tuple[float, ...] | None]] = {"sums": sums_loads, "pairs": pairs_loads}


def _half(sizes: tuple[int, ...], pick: tuple[int | str, ...]) -> tuple[list[list[float]], int] | None:
    """Per round and part (of a whole vector each) the load of its busiest link; how many rounds are sums."""
    parts = len(sizes)
    scattering: list[list[float]] = []
    summing: list[list[float]] = []
    for phase, what in enumerate(pick):
        rows: list[tuple[float, ...]] = []
        for part in range(parts):
            size = sizes[(part + phase) % parts]
            row: tuple[float, ...] | None
            if isinstance(what, str):
                row = SUMS[what](size)
            else:
                # A small ring may need fewer rounds than the phase has.
                counts = range(min(what, max(size // 2, 1)), 0, -1)
                row = next((row for count in counts if (row := ring_rounds(size, count))), None)
                row = row and tuple(reversed(row))
            if row is None:
                return None
            outer = sum(isinstance(other, int) for other in pick[:phase])
            left = prod(sizes[(part + before) % parts] for before in range(outer))
            rows.append(tuple(load / left / (1 if isinstance(what, str) else size) for load in row))
        rounds = max(map(len, rows))
        if isinstance(what, int) and rounds < what:
            return None
        table = [[row[turn] if turn < len(row) else 0.0 for row in rows] for turn in range(rounds)]
        if isinstance(what, str):
            summing += table
        else:
            scattering += table
    return [*scattering, *summing], len(summing)


def _picks(sizes: tuple[int, ...]) -> list[tuple[int | str, ...]]:
    """Rounds of the outer dimensions, and the way of exchanging sums in the inner ones."""
    parts = len(sizes)
    numbers = range(1, max(sizes) // 2 + 1)
    found: list[tuple[int | str, ...]] = []
    for scattered in range(parts + 1):
        for outer in product(numbers, repeat=scattered):
            inner = SUMS if scattered < parts else ("",)
            found.extend((*outer, *(kind,) * (parts - scattered)) for kind in inner)
    return found


#: Rounds, bytes with equal parts, what happens, loads of a half per round and part, rounds of sums.
Entry = tuple[int, float, tuple[int | str, ...], list[list[float]], int]


def members(sizes: Sequence[int]) -> list[Member]:
    """All members that no other one beats in both rounds and bytes, those of few rounds first.

    Where sizes differ, so may the parts: the split with the fewest bytes is that of a linear program.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the torus.

    Examples
    --------
    >>> from flitloom.collectives.family import members
    >>> [(one.name, len(one.loads), one.factor) for one in members((8, 8))][:2]
    [('family (sums over all)', 3, 7.25), ('family (sums,sums)', 4, 3.5)]
    """
    return list(_members(tuple(sizes)))


@cache
def _members(sizes: tuple[int, ...]) -> tuple[Member, ...]:
    tables: list[Entry] = []
    for pick in _picks(sizes):
        half = _half(sizes, pick)
        if half is not None:
            table, sums = half
            twice = [*([2.0] * (len(table) - sums)), *([1.0] * sums)]
            # With equal parts.
            factor = sum(max(row) * times for row, times in zip(table, twice, strict=True)) / len(sizes)
            tables.append((len(table) * 2 - sums, factor, pick, table, sums))
    tables.sort(key=lambda entry: (entry[0], entry[1], str(entry[2])))
    equal = len(set(sizes)) == 1
    found = []
    whole = whole_sums(sizes)
    if whole is not None:
        hops = [sum(distance(whence, sizes) for whence, _ in row) for row in whole]
        images = 2 * len(sizes)
        found.append(Member(("sums over all",), tuple(one / images for one in hops), (1 / images,) * images))
    for _, _, pick, table, sums in tables if equal else _promising(tables):
        shares = [1 / len(sizes)] * len(sizes) if equal else _split(table, sums)
        loads = [max(load * share for load, share in zip(row, shares, strict=True)) for row in table]
        outer = loads[: len(loads) - sums]
        loads = [*loads, *reversed(outer)]
        found.append(Member(pick, tuple(loads), tuple(shares)))
    return tuple(_undominated(found))


def _promising(tables: list[Entry]) -> list[Entry]:
    """The best by equal parts of every number of rounds, a few each."""
    kept: dict[int, list[Entry]] = {}
    for entry in tables:
        kept.setdefault(entry[0], []).append(entry)
    each = max(SPLITS // len(kept), 1)
    return [entry for entries in kept.values() for entry in entries[:each]]


def _undominated(found: Sequence[Member]) -> list[Member]:
    """Those that no other one beats or equals in both rounds and bytes, by rounds."""
    best = np.inf
    kept = []
    for one in sorted(found, key=lambda one: (len(one.loads), one.factor)):
        if one.factor < best - 1e-12:
            best = one.factor
            kept.append(one)
    return kept


def _split(table: Sequence[Sequence[float]], sums: int) -> list[float]:
    """Shares of the parts with the least sum over rounds of the busiest link's load."""
    parts, rounds = len(table[0]), len(table)
    # Variables: the shares, then per round its load; rows: load of round - share * load of part >= 0, sum 1.
    rows, columns, numbers = [], [], []
    for turn, loads in enumerate(table):
        for part, load in enumerate(loads):
            row = turn * parts + part
            rows += [row, row]
            columns += [part, parts + turn]
            numbers += [-load, 1.0]
    last = rounds * parts
    rows += [last] * parts
    columns += list(range(parts))
    numbers += [1.0] * parts
    cost = [*[0.0] * parts, *[2.0] * (rounds - sums), *[1.0] * sums]
    bounds = np.zeros(last + 1)
    bounds[-1] = 1.0
    above = np.full(last + 1, np.inf)
    above[-1] = 1.0
    found = solve(cost, (rows, columns, numbers), bounds, above, method="simplex")
    if found is None:
        return [1 / parts] * parts
    shares = np.maximum(found.variables[:parts], 0)
    return list(map(float, shares / shares.sum()))
