"""Collective operations between members that relays join: switches that only pass on what members send.

Members are told apart by digits: which of the equal sets of members around a switch one belongs to, and which
of its members it is. In a phase of an all-gather members that differ in one digit exchange all they have. A
reduce-scatter is its mirror.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.exchanged import mirrored, runs
from flitloom.collectives.rounds import Replay
from flitloom.collectives.rounds_plan import MOST_ROWS, Messages, Row, crowding
from flitloom.spec.ground import Ground

#: Members, of those that digits tell apart, whose exchanges with all others are looked at.
MOST_AT_ONCE = 128
#: A member as digits.
Digits = tuple[int, ...]


@dataclass(frozen=True)
class Exchange:
    """An all-gather, and mirrored a reduce-scatter, between members that differ in one digit.

    Attributes
    ----------
    sizes : tuple of int
        How many values every digit has.
    digits : mapping
        By member its digits.
    orders : tuple of tuple of int
        Per equal part of the vector the digits in the order of the phases.
    at_once : int
        To how many members a member sends in a round, per part.
    """

    sizes: tuple[int, ...]
    digits: Mapping[int, Digits]
    orders: tuple[tuple[int, ...], ...]
    at_once: int

    @property
    def rounds(self) -> int:
        """Rounds of an all-gather."""
        return sum(-(-(size - 1) // self.at_once) for size in self.sizes)

    def shifts(self) -> Iterator[tuple[int, int, int, int, frozenset[int]]]:
        """Round, part, digit, how many values ahead, and the digits that are gathered by then."""
        for part, order in enumerate(self.orders):
            begin = 0
            for place, digit in enumerate(order):
                for ahead in range(1, self.sizes[digit]):
                    gathered = frozenset(order[:place])
                    yield begin + (ahead - 1) // self.at_once, part, digit, ahead, gathered
                begin += -(-(self.sizes[digit] - 1) // self.at_once)

    def held(self, gathered: frozenset[int]) -> int:
        """Of how many members a member has the parts once some digits are gathered."""
        return prod(self.sizes[digit] for digit in gathered)

    def messages(self, owned: bool) -> Messages:
        """All messages of an all-reduce.

        Parameters
        ----------
        owned : bool
            Whether every member has its own parts; else parts are numbered so that each message is one range.

        Examples
        --------
        >>> pairs = Exchange((2,), {4: (0,), 6: (1,)}, ((0,),), 1)
        >>> pairs.messages(True).sums, pairs.messages(True).moves
        ([(0, 6, 4, 0, 1), (0, 4, 6, 1, 1)], [(1, 4, 6, 0, 1), (1, 6, 4, 1, 1)])
        """
        nodes = {digits: node for node, digits in self.digits.items()}
        moves: list[Row] = []
        numbers = [self._numbers(part, owned) for part in range(len(self.orders))]
        known: dict[tuple[int, frozenset[int], Digits], list[tuple[int, int]]] = {}
        for turn, part, digit, ahead, gathered in self.shifts():
            for node, here in self.digits.items():
                fixed = tuple(0 if place in gathered else value for place, value in enumerate(here))
                if (part, gathered, fixed) not in known:
                    free = product(
                        *(
                            range(size) if place in gathered else (fixed[place],)
                            for place, size in enumerate(self.sizes)
                        )
                    )
                    known[part, gathered, fixed] = list(runs(numbers[part][nodes[one]] for one in free))
                moved = (here[digit] + ahead) % self.sizes[digit]
                end = nodes[*here[:digit], moved, *here[digit + 1 :]]
                moves += [(turn, node, end, *run) for run in known[part, gathered, fixed]]
        pieces = len(self.orders) * (1 if owned else len(nodes))
        made = mirrored(pieces, moves, self.rounds)
        return Messages(pieces, False, made.sums, made.moves, owned=owned)

    def _numbers(self, part: int, owned: bool) -> dict[int, int]:
        """By member its part of the vector, of one of the equal parts."""
        count = len(self.orders)
        if owned:
            return {node: place * count + part for place, node in enumerate(sorted(self.digits))}
        # What is gathered first runs fastest, so that all a member has is in a row.
        found = {}
        for node, digits in self.digits.items():
            number = 0
            for digit in reversed(self.orders[part]):
                number = number * self.sizes[digit] + digits[digit]
            found[node] = part * len(self.digits) + number
        return found

    def count_rows(self, owned: bool) -> int:
        """Rows of the messages of an all-reduce, at most."""
        return sum(
            2 * len(self.digits) * (self.held(gathered) if owned else 1) for *_, gathered in self.shifts()
        )


class _Loads:
    """Loads of all links if every member sends to the one that is a number of values ahead in a digit."""

    def __init__(self, replay: Replay, sizes: Digits, digits: Mapping[int, Digits]) -> None:
        self.replay, self.sizes, self.digits = replay, sizes, digits
        self.nodes = {own: node for node, own in digits.items()}
        self.known: dict[tuple[int, int], NDArray[np.float64]] = {}

    def of(self, digit: int, ahead: int) -> NDArray[np.float64]:
        """Of messages of length 1."""
        if (digit, ahead) not in self.known:
            sent = []
            for node, here in self.digits.items():
                moved = (here[digit] + ahead) % self.sizes[digit]
                sent.append((node, self.nodes[*here[:digit], moved, *here[digit + 1 :]], 1.0))
            self.known[digit, ahead] = self.replay.loads(sent)
        return self.known[digit, ahead]

    def by_round(self, one: Exchange) -> tuple[float, ...]:
        """Per round of an all-gather the share of the vector on the busiest link."""
        found = np.zeros((one.rounds, len(self.replay.numbers)))
        share = 1 / len(self.digits) / len(one.orders)
        for turn, _, digit, ahead, gathered in one.shifts():
            found[turn] += share * one.held(gathered) * self.of(digit, ahead)
        return tuple(found.max(axis=1).tolist())


def member_digits(ground: Ground) -> tuple[Digits, dict[int, Digits]]:
    """The sizes of the digits of members, and their digits: of two where switches have equal sets of them.

    Examples
    --------
    >>> import flitloom as fl
    >>> member_digits(Ground(fl.Graph(["0-4", "1-4", "2-5", "3-5", "4-5"], nodes=6, hosts=[0, 1, 2, 3])))
    ((2, 2), {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1)})
    """
    members = ground.members
    known = {*members}
    around = {frozenset(known & {*ends}) for node, ends in ground.incoming.items() if node not in known}
    # Sets of one size that share no member, the small ones first.
    apart: list[list[list[int]]] = []
    for one in sorted(map(sorted, around), key=lambda one: (len(one), one)):
        for sets in apart:
            if len(sets[0]) == len(one) and not {node for other in sets for node in other} & {*one}:
                sets.append(one)
                break
        else:
            apart.append([one])
    split = [
        sets for sets in apart if len(members) == len(sets) * len(sets[0]) and 1 < len(sets) < len(members)
    ]
    if not split:
        return (len(members),), {node: (number,) for number, node in enumerate(members)}
    sets = split[0]
    # Another switch may have one member of every set.
    number = {node: place for one in sets for place, node in enumerate(one)}
    for across in split[1:]:
        rank = {node: place for place, one in enumerate(across) for node in one}
        if all(sorted(rank[node] for node in one) == list(range(len(across))) for one in sets):
            number = rank
            break
    digits = {node: (number[node], place) for place, one in enumerate(sets) for node in one}
    return (len(sets[0]), len(sets)), {node: digits[node] for node in members}


def digits_by_group(ground: Ground) -> tuple[Digits, dict[int, Digits]] | None:
    """The same by groups of switches with further common neighbours, as those of a dragonfly; or none.

    Examples
    --------
    >>> from flitloom.fabric.networks import direct_network
    >>> sizes, digits = digits_by_group(Ground(direct_network("dragonfly(3,1,2)")))
    >>> sizes, digits[0], digits[5], digits[6]  # 4 groups of 3 switches with 2 hosts each
    ((6, 4), (0, 0), (5, 0), (0, 1))
    """
    members = {*ground.members}
    beside: dict[int, set[int]] = {}
    for a, b in ground.links:
        if a not in members and b not in members:
            beside.setdefault(a, set()).add(b)
    group: dict[int, int] = {}
    for first in sorted(beside):
        border = [] if first in group else [first]
        while border:
            node = border.pop()
            if group.setdefault(node, first) == first:
                border += [one for one in beside[node] if one not in group and beside[node] & beside[one]]
    sets: dict[int, list[tuple[int, int]]] = {}
    for member in sorted(members):
        switches = sorted({end for end in ground.outgoing[member] if end not in members})
        if {group.get(one) for one in switches} - {group.get(switches[0]) if switches else None}:
            return None
        if not switches or switches[0] not in group:
            return None
        sets.setdefault(group[switches[0]], []).append((switches[0], member))
    size = len(next(iter(sets.values()), []))
    if not 1 < len(sets) < len(members) or {*map(len, sets.values())} != {size}:
        return None
    digits: dict[int, Digits] = {
        member: (place, number)
        for number, listed in enumerate(sets.values())
        for place, (_, member) in enumerate(sorted(listed))
    }
    return (size, len(sets)), digits


def exchanges_over(ground: Ground, owned: bool) -> list[Algorithm]:
    """All-reduces between members that relays join, in phases of members that differ in one digit.

    `owned` is as of `Exchange.messages`.

    Examples
    --------
    >>> import flitloom as fl
    >>> star = fl.Graph([f"{node}-8" for node in range(8)], nodes=9, hosts=[*range(8)])
    >>> [(one.name, one.rounds, one.factor) for one in exchanges_over(Ground(star), False)]
    [('pairwise (1)', 2, 1.75), ('digits (3)', 6, 1.75), ('pairwise (7)', 14, 1.75)]
    """
    replay, (sizes, digits) = Replay(ground), member_digits(ground)
    links, found = ground.most_links, dict[int, Algorithm]()
    split = [(sizes, digits)]
    if (grouped := digits_by_group(ground)) is not None and grouped[0] != sizes:
        split.append(grouped)
    # Digits, and how many values those of members of one set have together.
    kinds = [(*one, whole[0][0]) for whole in split for one in (whole, _finer(*whole))]
    if len(sizes) > 1 and len(digits) <= MOST_AT_ONCE:
        # All members exchange straight away.
        kinds.append(((len(digits),), {node: (number,) for number, node in enumerate(digits)}, sizes[0]))
    for small, own, count_inside in kinds:
        loads = _Loads(replay, small, own)
        way = tuple(range(len(small)))
        # All sets may come first, or the members of a set; or parts of the vector begin with either.
        inner = next((count for count in way[1:] if prod(small[:count]) == count_inside), len(small))
        outward = (*way[inner:], *way[:inner])
        tried: list[tuple[Digits, ...]] = [(way,)] if outward == way else [(way,), (outward,)]
        if min(len(sizes), len(small), links) > 1:
            tried.append((outward, way))
        for orders in tried:
            for at_once in sorted({max(links // len(orders), 1), len(digits)}):
                one = Exchange(small, own, orders, at_once)
                if one.count_rows(owned) > MOST_ROWS:
                    continue
                made = _algorithm(one, loads, links, owned)
                best = found.get(made.rounds)
                if best is None or made.factor < best.factor * (1 - 1e-9):
                    found[made.rounds] = made
    return [found[rounds] for rounds in sorted(found)]


def _algorithm(one: Exchange, loads: _Loads, links: int, owned: bool) -> Algorithm:
    """The exchange behind its mirror."""
    half = loads.by_round(one)
    ways = {(turn, digit, ahead) for turn, _, digit, ahead, _ in one.shifts()}
    crowd = crowding([sum(turn == way[0] for way in ways) for turn in range(one.rounds)], links)
    name = f"{'pairwise' if len(one.sizes) == 1 else 'digits'} ({one.rounds})"
    made = partial(one.messages, owned)
    return Algorithm(name, (*half[::-1], *half), "this project", True, made, (*crowd[::-1], *crowd))


def _finer(sizes: Sequence[int], digits: Mapping[int, Digits]) -> tuple[Digits, dict[int, Digits]]:
    """Digits whose sizes are prime.

    >>> _finer((6,), {9: (5,)})
    ((2, 3), {9: (1, 2)})
    """
    small = [_factors(size) for size in sizes]
    cut = {}
    for node, values in digits.items():
        parts = []
        for value, factors in zip(values, small, strict=True):
            for factor in factors:
                value, digit = divmod(value, factor)
                parts.append(digit)
        cut[node] = tuple(parts)
    return tuple(factor for factors in small for factor in factors), cut


def _factors(size: int) -> list[int]:
    found, factor = list[int](), 2
    while size > 1:
        while size % factor == 0:
            found.append(factor)
            size //= factor
        factor += 1
    return found
