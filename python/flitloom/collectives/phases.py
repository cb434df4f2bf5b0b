"""Messages of all-reduces that take the dimensions of a torus in turn: buckets, log3, the family.

The vector is cut into a part per dimension. Every part goes through all dimensions, each part in another
order. Along the first ones it is scattered, along the others whole sums are exchanged; then it is gathered
backwards. Every part has two halves, of which the second goes the mirrored way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import accumulate
from math import gcd, lcm, prod

from flitloom.collectives.algorithms import LOG3
from flitloom.collectives.along_rings import Arrival, Exchange, exchanges_along, round_the_ring, windows
from flitloom.collectives.exchanged import runs
from flitloom.collectives.family import Member, members
from flitloom.collectives.rounds_plan import MOST_ROWS, Messages, Row
from flitloom.collectives.stored_sums import STORED
from flitloom.collectives.sums import distance

#: The largest denominator of a share that is taken for a simple fraction.
SIMPLE = 4096
#: Parts of the vector by phase, node and the hops to their owners: first ones and counts.
Ranges = Callable[[int, int, tuple[int, ...]], Sequence[tuple[int, int]]]


class Phases:
    """Who sends what when all parts go through all dimensions.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the torus.
    gathers : sequence of sequences
        Per phase that scatters and part the rounds of its all-gather, which the scatter mirrors.
    exchanges : sequence of sequences
        Per further phase and part its rounds of sums.
    shares : sequence of float
        How large the parts are.
    owned : bool
        Whether the parts are numbered by the nodes that gather them from all dimensions.
    alike : bool
        Whether only what node 0 sends is listed.

    Examples
    --------
    >>> made = bucket_phases((3,), owned=True, alike=True).messages()
    >>> sorted(made.moves)  # half of a chunk either way, on and on
    [(2, 0, 1, 1, 1), (2, 0, 2, 0, 1), (3, 0, 1, 5, 1), (3, 0, 2, 2, 1)]
    """

    def __init__(
        self,
        sizes: Sequence[int],
        gathers: Sequence[Sequence[Sequence[Sequence[Arrival]]]],
        exchanges: Sequence[Sequence[Sequence[Exchange]]],
        shares: Sequence[float],
        *,
        owned: bool,
        alike: bool,
    ) -> None:
        self.sizes, self.gathers, self.exchanges = tuple(sizes), gathers, exchanges
        self.owned, self.alike = owned, alike
        self.strides = [prod(self.sizes[:place]) for place in range(len(sizes))]
        self.weights = whole_numbers(shares)
        self.senders = range(1 if alike else prod(sizes))
        self.scattered = len(gathers)
        self.lasting = [max(map(len, rows)) for rows in gathers]
        self.summing = [max(map(len, rows)) for rows in exchanges]

    @property
    def rounds(self) -> int:
        """All rounds."""
        return 2 * sum(self.lasting) + sum(self.summing)

    @property
    def rows(self) -> int:
        """At least as many rows as there are messages."""
        count = len(self.senders) * 2 * len(self.sizes)
        if self.alike:
            return 2 * count * prod(self.sizes)
        return count * (8 * sum(self.lasting) + 2 * sum(self.summing))

    @cached_property
    def dims(self) -> list[list[int]]:
        """The dimensions in the order of every part."""
        count = len(self.sizes)
        return [[(part + phase) % count for phase in range(count)] for part in range(count)]

    def moved(self, node: int, dim: int, hops: int) -> int:
        """The node a number of hops on along a dimension."""
        size, stride = self.sizes[dim], self.strides[dim]
        here = node // stride % size
        return node + ((here + hops) % size - here) * stride

    @cached_property
    def chunks(self) -> list[int]:
        """Chunks of a half of every part: the nodes along the dimensions in which it is scattered."""
        return [
            prod(self.sizes[dim] for dim in self.dims[part][: self.scattered])
            for part in range(len(self.sizes))
        ]

    @cached_property
    def first(self) -> list[int]:
        """Number of the first chunk of every part, where nodes have no share."""
        found = [0]
        for weight, chunks in zip(self.weights, self.chunks, strict=True):
            found.append(found[-1] + (2 * chunks if weight else 0))
        return found

    @cached_property
    def halves(self) -> list[int]:
        """Halves of the parts before every part, of those that are not empty; at last all."""
        return [0, *accumulate(2 * bool(weight) for weight in self.weights)]

    def messages(self) -> Messages:
        """All messages, and how the vector is cut."""
        made = Messages(
            self.halves[-1] if self.owned else self.first[-1],
            self.alike,
            owned=self.owned,
            lengths=self.lengths(),
        )
        for part, weight in enumerate(self.weights):
            if weight:
                for half in (0, 1):
                    # What a node sends one way it receives the other way round.
                    ranges = cache(partial(self._ranges, part, half))
                    self._scatter(made, part, half, ranges)
                    self._exchange(made, part, half, ranges)
        return made

    def lengths(self) -> tuple[int, ...]:
        """Relative lengths of the pieces."""
        if self.owned:
            parts = [weight for weight in self.weights if weight for _ in (0, 1)]
        else:
            whole = lcm(*self.chunks)
            parts = [
                weight * whole // chunks
                for weight, chunks in zip(self.weights, self.chunks, strict=True)
                if weight
                for _ in range(2 * chunks)
            ]
        shortest = gcd(*parts)
        return () if len(set(parts)) == 1 else tuple(one // shortest for one in parts)

    def _scatter(self, made: Messages, part: int, half: int, ranges: Ranges) -> None:
        """Sums to where they are completed, and the way back."""
        begin, dims = 0, self.dims[part]
        for phase, rows in enumerate(self.gathers):
            table, dim = rows[part], dims[phase]
            for turn, row in enumerate(reversed(table)):
                for arrival in row:
                    owners = arrival.owners[half]
                    for node in self.senders if owners else ():
                        end = self.moved(node, dim, arrival.hops)
                        for numbers in ranges(phase, node, owners):
                            made.sums.append((begin + turn, node, end, *numbers))
                        # On the way back it is the receiver whose owners count.
                        end = self.moved(node, dim, -arrival.hops)
                        for numbers in ranges(phase, end, owners):
                            made.moves.append((self.rounds - 1 - begin - turn, node, end, *numbers))
            begin += self.lasting[phase]

    def _exchange(self, made: Messages, part: int, half: int, ranges: Ranges) -> None:
        """Whole sums along the further dimensions."""
        begin, dims = sum(self.lasting), self.dims[part]
        for phase, rows in enumerate(self.exchanges):
            dim = dims[self.scattered + phase]
            for turn, exchange in enumerate(rows[part]):
                for node in self.senders:
                    (numbers,) = ranges(self.scattered, node, (0,))
                    for pieces, hops in exchange(node // self.strides[dim] % self.sizes[dim], half):
                        row: Row = (begin + turn, node, self.moved(node, dim, hops), *numbers)
                        if pieces is None:
                            made.sums.append(row)
                            continue
                        named = ((begin + when, self.moved(node, dim, whence)) for when, whence in pieces)
                        made.partials.append((*row, *(number for pair in named for number in pair)))
            begin += self.summing[phase]

    def _ranges(
        self, part: int, half: int, phase: int, node: int, owners: tuple[int, ...]
    ) -> list[tuple[int, int]]:
        """Parts of the vector: first ones and counts.

        They are those whose owner has the coordinates of the node in the dimensions before a phase, and is
        some hops on in that of the phase.
        """
        dims = self.dims[part]
        if not self.owned:
            fixed, rest = 0, self.chunks[part]
            for dim in dims[: min(phase, self.scattered)]:
                rest //= self.sizes[dim]
                fixed += node // self.strides[dim] % self.sizes[dim] * rest
            first = self.first[part] + half * self.chunks[part] + fixed
            if phase == self.scattered:
                return [(first, 1)]
            size = self.sizes[dims[phase]]
            here, rest = node // self.strides[dims[phase]], rest // size
            several = runs((here + hops) % size for hops in owners)
            return [(first + one * rest, count * rest) for one, count in several]
        nodes = [self.moved(node, dims[phase], hops) for hops in owners]
        for dim in dims[phase + 1 :]:
            nodes = [self.moved(one, dim, hops) for one in nodes for hops in range(self.sizes[dim])]
        return list(runs(one * self.halves[-1] + self.halves[part] + half for one in nodes))


def whole_numbers(shares: Sequence[float]) -> list[int]:
    """Shares as whole numbers: exactly if they are simple fractions, else to a millionth.

    >>> whole_numbers([0.25, 0.75]), whole_numbers([2**-0.5, 1 - 2**-0.5])
    ([1, 3], [707107, 292893])
    """
    simple = [Fraction(share).limit_denominator(SIMPLE) for share in shares]
    if sum(simple) != 1 or any(abs(a - b) > 1e-9 for a, b in zip(simple, shares, strict=True)):
        simple = [Fraction(round(share * 10**6), 10**6) for share in shares]
    whole = lcm(*(one.denominator for one in simple))
    found = [int(one * whole) for one in simple]
    return [one // gcd(*found) for one in found]


def phase_makers(sizes: Sequence[int], owned: bool, alike: bool) -> dict[str, Callable[[], Messages]]:
    """What makes the messages of such algorithms on a torus, by their names; none of too many messages.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the torus.
    owned : bool
        Whether every node has a share: of all-gathers and reduce-scatters.
    alike : bool
        Whether all nodes can do the same, shifted.

    Examples
    --------
    >>> list(phase_makers((8, 8), owned=False, alike=True))[:4]
    ['bucket', 'family (sums,sums)', 'family (2,sums)', 'family (2,pairs)']
    """
    whole = ("sums over all",)
    found = {"bucket": bucket_phases(sizes, owned or alike, alike)}
    found |= {
        one.name: member_phases(sizes, one, one.halves and (owned or alike), one.halves and alike)
        for one in members(sizes)
        if one.pick != whole and (one.halves or not owned)
    }
    if not owned and all(size in LOG3 for size in sizes):
        found["log3"] = log3_phases(sizes)
    makers = {name: phases.messages for name, phases in found.items() if phases.rows <= MOST_ROWS}
    if not owned:
        makers |= {
            one.name: partial(whole_sums_messages, sizes) for one in members(sizes) if one.pick == whole
        }
    return makers


def bucket_phases(sizes: Sequence[int], owned: bool, alike: bool) -> Phases:
    """Rings in all dimensions and both directions at once."""
    count = len(sizes)
    gathers = [
        [round_the_ring(sizes[(part + phase) % count]) for part in range(count)] for phase in range(count)
    ]
    return Phases(sizes, gathers, [], [1 / count] * count, owned=owned, alike=alike)


def log3_phases(sizes: Sequence[int]) -> Phases:
    """Sums at +-1 and then +-3 hops."""
    return _phases(sizes, ("log3",) * len(sizes), [1 / len(sizes)] * len(sizes), owned=False, alike=False)


def member_phases(sizes: Sequence[int], member: Member, owned: bool, alike: bool) -> Phases:
    """A member of the family; `owned` and `alike` need one that scatters in all dimensions."""
    return _phases(sizes, member.pick, member.shares, owned=owned, alike=alike)


def _phases(
    sizes: Sequence[int], pick: Sequence[int | str], shares: Sequence[float], *, owned: bool, alike: bool
) -> Phases:
    parts = range(len(sizes))
    gathers, exchanges = [], []
    for phase, what in enumerate(pick):
        along = [sizes[(part + phase) % len(sizes)] for part in parts]
        if isinstance(what, int):
            gathers.append([windows(size, what) for size in along])
        else:
            exchanges.append([exchanges_along(what, size) for size in along])
    return Phases(sizes, gathers, exchanges, shares, owned=owned, alike=alike)


def whole_sums_messages(sizes: Sequence[int]) -> Messages:
    """Sums over all dimensions at once, a part of the vector per turn of the dimensions and sign.

    >>> made = whole_sums_messages((8, 8))
    >>> made.pieces, len(made.sums), len(made.partials)  # 4 parts and 64 nodes, which send to 4 others
    (4, 1536, 1536)
    """
    second, third = STORED[tuple(sizes)]
    count = len(sizes)
    points = [_point(sizes, node) for node in range(prod(sizes))]
    images = [(turn, sign) for turn in range(count) for sign in (1, -1)]
    made = Messages(len(images), alike=False, owned=False)
    near = [unit for unit in points if distance(unit, sizes) == 1]
    origin = (0,) * count
    # What a sum consists of: the round in which it came, and from where.
    rounds = [
        [(unit, [(0, origin)]) for unit in near],
        [(whence, [(0, one) for one in parts]) for whence, parts in second],
        [
            (whence, [*((0, one) for one in singles), *((1, second[one][0]) for one in wholes)])
            for whence, singles, wholes in third
        ],
    ]
    for number, (turns, sign) in enumerate(images):
        for turn, row in enumerate(rounds):
            had = 1 + sum(map(len, rounds[:turn]))
            for whence, pieces in row:
                for node, point in enumerate(points):
                    start = _beside(sizes, point, whence, turns, sign)
                    here = _number(sizes, start)
                    head: Row = (turn, here, node, number, 1)
                    if len(pieces) == had:
                        made.sums.append(head)
                        continue
                    named = [
                        (when, _number(sizes, _beside(sizes, start, one, turns, sign)))
                        for when, one in pieces
                    ]
                    made.partials.append((*head, *(value for pair in named for value in pair)))
    return made


def _point(sizes: Sequence[int], node: int) -> tuple[int, ...]:
    return tuple(node // prod(sizes[:place]) % size for place, size in enumerate(sizes))


def _number(sizes: Sequence[int], point: Sequence[int]) -> int:
    return sum(x * prod(sizes[:place]) for place, x in enumerate(point))


def _beside(
    sizes: Sequence[int], point: Sequence[int], vector: Sequence[int], turns: int, sign: int
) -> tuple[int, ...]:
    """A point and a vector, whose dimensions are turned round."""
    turned = [sign * vector[(place - turns) % len(sizes)] for place in range(len(sizes))]
    return tuple((x + step) % size for x, step, size in zip(point, turned, sizes, strict=True))
