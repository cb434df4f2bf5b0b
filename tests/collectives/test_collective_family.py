"""All-reduces in rounds, followed contribution by contribution and link by link."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import pytest

from flitloom.collectives.algorithms import algorithms
from flitloom.collectives.family import (
    LONGEST_SUMS,
    Member,
    members,
    ring_rounds,
    ring_sums,
    sums_loads,
    whole_sums,
)

Node = tuple[int, ...]
#: Part of the vector, and who gets its sum first.
Element = tuple[Any, ...]


class Message(NamedTuple):
    sender: Node
    dimension: int
    hops: int
    element: Element
    #: Whose contributions it sums up, as a bit set.
    sums: int
    #: Further dimensions and hops.
    then: tuple[tuple[int, int], ...] = ()


class Machine:
    """Nodes that hold sums of contributions, and links that carry them."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self.nodes = list(product(*map(range, sizes)))
        self.all = (1 << len(self.nodes)) - 1
        #: What a node holds of an element: sums that came in one message each.
        self.pieces: dict[tuple[Node, Element], list[int]] = {}
        self.size: dict[Element, Fraction] = {}
        self.loads: list[Fraction] = []

    def begin(self, element: Element, size: Fraction) -> None:
        self.size[element] = size
        self.pieces |= {(node, element): [1 << number] for number, node in enumerate(self.nodes)}

    def held(self, node: Node, element: Element) -> int:
        return sum(self.pieces[node, element])

    def moved(self, node: Node, dimension: int, hops: int) -> Node:
        return (*node[:dimension], (node[dimension] + hops) % self.sizes[dimension], *node[dimension + 1 :])

    def round(self, messages: Iterable[Message]) -> None:
        load: dict[tuple[Node, int, int], Fraction] = {}
        arrived = []
        for sender, first, far, element, sums, then in messages:
            inside = [piece for piece in self.pieces[sender, element] if piece & sums]
            assert sum(inside) == sums, "a sum that its sender does not have"
            here = sender
            for dimension, hops in ((first, far), *then):
                sense = 1 if hops > 0 else -1
                for _ in range(abs(hops)):
                    # Rings of two have one link per node.
                    link = (here, dimension, 1 if self.sizes[dimension] == 2 else sense)
                    load[link] = load.get(link, Fraction()) + self.size[element]
                    here = self.moved(here, dimension, sense)
            arrived.append((here, element, sums))
        for receiver, element, sums in arrived:
            if sums == self.all:
                self.pieces[receiver, element] = [sums]
            else:
                assert not self.held(receiver, element) & sums, "added twice"
                self.pieces[receiver, element].append(sums)
        self.loads.append(max(load.values()))

    def everybody_has_everything(self) -> bool:
        return all(pieces == [self.all] or sum(pieces) == self.all for pieces in self.pieces.values())


def windows(size: int, rounds: int) -> list[tuple[int, int]]:
    """Window before and chunks added, round by round, read from the loads."""
    loads = ring_rounds(size, rounds)
    assert loads is not None
    found, window = [], 0
    for load in loads:
        ends = [window + added == size // 2 and size % 2 == 0 and size > 2 for added in range(size)]
        added = next(added for added in range(1, size) if added * (added - ends[added] / 2) == load)
        found.append((window, added))
        window += added
    assert window == size // 2
    return found


def gathering(machine: Machine, part: int, dims: list[int], phase: int, rounds: int) -> list[list[Any]]:
    """(receiver's sender, dimension, hops, elements) of an all-gather along one dimension."""
    dimension, size = dims[phase], machine.sizes[dims[phase]]
    table = []
    for window, added in windows(size, min(rounds, max(size // 2, 1))):
        row = []
        for node, sense in product(machine.nodes, (1,) if size == 2 else (1, -1)):
            owners = [(node[dimension] + sense * far) % size for far in range(window + 1, window + added + 1)]
            shared = size % 2 == 0 and size > 2 and window + added == size // 2

            here = [
                one
                for one in machine.size
                if one[0] == part and all(one[2][place] == node[dims[place]] for place in range(phase))
            ]
            # Half way round, a half of the vector comes from either side.
            elements = [
                one
                for one in here
                if one[2][phase] in owners
                and not (shared and one[2][phase] == owners[-1] and one[1] != (sense + 1) // 2)
            ]
            row.append((node, dimension, sense * added, elements))
        table.append(row)
    return table


def sums_of(kind: str, size: int) -> list[Callable[[int, int], list[tuple[tuple[int, ...] | None, int]]]]:
    """Per round what a node at a coordinate sends in a half of the vector: offsets (all: None), hops."""
    if kind == "sums":
        rounds = ring_sums(size)
        assert rounds is not None

        def mirrored(half: int, sendings: Any) -> list[tuple[tuple[int, ...] | None, int]]:
            sign = -1 if half else 1
            return [(tuple(sign * offset for offset in offsets), sign * hops) for offsets, hops in sendings]

        return [lambda _, half, row=row: mirrored(half, row) for row in rounds]  # type: ignore[misc]

    def partner(coordinate: int, half: int, step: int) -> list[tuple[tuple[int, ...] | None, int]]:
        # De Sensi et al. 2024: even nodes go to and odd ones fro; the mirrored collective the other way.
        reach = sum((-2) ** power for power in range(step + 1))
        return [(None, reach if coordinate % 2 == half or size == 2 else -reach)]

    return [lambda at, half, step=step: partner(at, half, step) for step in range(size.bit_length() - 1)]  # type: ignore[misc]


def follow_whole(sizes: tuple[int, ...]) -> Machine:
    """Sums over all dimensions at once, in a part of the vector per direction."""
    machine = Machine(sizes)
    count = len(sizes)
    rounds = whole_sums(sizes)
    assert rounds is not None
    images = list(product(range(count), (1, -1)))
    for image in images:
        machine.begin(image, Fraction(1, len(images)))

    def seen(vector: Node, turns: int, sign: int) -> list[int]:
        """The shortest way in an image; half way round against its sign."""
        hops = [step - size if 2 * step > size else step for step, size in zip(vector, sizes, strict=True)]
        return [sign * hops[(dimension - turns) % count] for dimension in range(count)]

    def beside(node: Node, by: list[int]) -> Node:
        return tuple((x + step) % size for x, step, size in zip(node, by, sizes, strict=True))

    for row in rounds:
        messages = []
        for (turns, sign), node, (whence, parts) in product(images, machine.nodes, row):
            way = seen(whence, turns, sign)
            source = beside(node, way)
            whose = [beside(source, seen(part, turns, sign)) for part in parts]
            bits = sum(1 << machine.nodes.index(other) for other in whose)
            legs = [(dimension, -step) for dimension, step in enumerate(way) if step]
            messages.append(Message(source, *legs[0], (turns, sign), bits, tuple(legs[1:])))
        machine.round(messages)
    return machine


def follow(member: Member, sizes: tuple[int, ...]) -> Machine:
    if member.pick == ("sums over all",):
        return follow_whole(sizes)
    machine = Machine(sizes)
    count = len(sizes)
    outer = [what for what in member.pick if isinstance(what, int)]
    order = [[(part + phase) % count for phase in range(count)] for part in range(count)]
    for part, dims in enumerate(order):
        owners = list(product(*(range(sizes[dims[phase]]) for phase in range(len(outer)))))
        for half, owner in product((0, 1), owners):
            share = Fraction(member.shares[part]).limit_denominator(10**9)
            machine.begin((part, half, owner), share / 2 / len(owners))
    gathers = []
    for phase, rounds in enumerate(outer):
        tables = [gathering(machine, part, dims, phase, rounds) for part, dims in enumerate(order)]
        longest = max(map(len, tables))
        # Parts with fewer rounds are gathered last, and scattered first.
        padded = [[[]] * (longest - len(table)) + table for table in tables]
        gathers.append([[row for table in padded for row in table[turn]] for turn in range(longest)])
    # The scatter is the gather backwards, and sums.
    for turns in gathers:
        for rows in reversed(turns):
            machine.round(
                Message(node, dimension, hops, element, machine.held(node, element))
                for node, dimension, hops, elements in rows
                for element in elements
            )
    for phase in range(len(outer), count):
        first = {key: sum(pieces) for key, pieces in machine.pieces.items()}
        for key in machine.pieces:
            machine.pieces[key] = [first[key]]
        kinds = [sums_of(str(member.pick[phase]), sizes[dims[phase]]) for dims in order]
        for turn in range(max(map(len, kinds))):
            messages = []
            for part, half, node in product(range(count), (0, 1), machine.nodes):
                dims = order[part]
                if turn >= len(kinds[part]):
                    continue
                element = (part, half, tuple(node[dims[place]] for place in range(len(outer))))
                for offsets, hops in kinds[part][turn](node[dims[phase]], half):
                    sums = machine.held(node, element)
                    if offsets is not None:
                        near = (machine.moved(node, dims[phase], offset) for offset in offsets)
                        sums = sum(first[other, element] for other in near)
                    messages.append(Message(node, dims[phase], hops, element, sums))
            machine.round(messages)
    for turns in reversed(gathers):
        for rows in turns:
            machine.round(
                # Who is to get it, from where.
                Message(machine.moved(node, dimension, hops), dimension, -hops, element, machine.all)
                for node, dimension, hops, elements in rows
                for element in elements
            )
    return machine


@pytest.mark.parametrize(
    "sizes", [(8,), (9,), (2, 4), (3, 5), (4, 6), (8, 4), (2, 3, 4), (4, 4, 4), (6, 7), (8, 8)]
)
def test_every_member_adds_up_everything_over_the_links_it_says(sizes: tuple[int, ...]) -> None:
    for member in members(sizes):
        machine = follow(member, sizes)
        assert machine.everybody_has_everything(), member.name
        assert [float(load) for load in machine.loads] == pytest.approx(list(member.loads), abs=1e-6), (
            member.name
        )


def test_sums_reach_27_nodes_in_three_rounds() -> None:
    for size in range(2, LONGEST_SUMS + 1):
        loads = sums_loads(size)
        if size in (25, 26):
            assert loads is None
            continue
        assert loads is not None
        assert len(loads) == next(rounds for rounds in range(4) if 3**rounds >= size)
    assert sums_loads(8) == (1, 2.5)


def halved(
    sizes: tuple[int, ...], partner: Callable[[int, int, bool], int], parts: int, halvings: int
) -> list[float]:
    """Loads of exchanges with partners on even steps, the first so many halved, followed to the end."""
    machine = Machine(sizes)
    counts = [size.bit_length() - 1 for size in sizes]
    steps = range(sum(counts))
    orders = []
    for part in range(parts):
        first = part * len(sizes) // parts
        turn = [(first + place) % len(sizes) for place in range(len(sizes))]
        orders.append([(dim, step) for step in range(max(counts)) for dim in turn if step < counts[dim]])

    def hops(part: int, number: int, node: Node) -> tuple[int, int]:
        dim, step = orders[part][number]
        return dim, partner(node[dim], step, bool(part % 2) and parts > len(sizes))

    # Per part and step what every node ends with, of that which it still exchanges.
    duties: list[list[dict[Node, frozenset[int]]]] = []
    for part in range(parts):
        # Who ends with what: those who still exchange whole sums share an element.
        duty: dict[Node, frozenset[int]] = {}
        for node in machine.nodes:
            if node in duty:
                continue
            group, waiting = {node}, [node]
            while waiting:
                here = waiting.pop()
                fresh = {
                    machine.moved(here, *hops(part, number, here)) for number in steps[halvings:]
                } - group
                group |= fresh
                waiting += fresh
            name = frozenset([len(set(duty.values()))])
            duty |= dict.fromkeys(group, name)
        assert len(set(duty.values())) == 1 << halvings
        table = [duty]
        for number in reversed(steps[:halvings]):
            after = table[-1]
            both = {}
            for node in machine.nodes:
                other = after[machine.moved(node, *hops(part, number, node))]
                assert not after[node] & other
                both[node] = after[node] | other
            table.append(both)
        table.reverse()
        for element in range(1 << halvings):
            machine.begin((part, element), Fraction(1, parts << halvings))
        duties.append(table)

    def exchange(number: int) -> list[Message]:
        messages = []
        for part, node in product(range(parts), machine.nodes):
            dim, way = hops(part, number, node)
            table = duties[part]
            other = machine.moved(node, dim, way)
            given = [(part, element) for element in table[min(number + 1, halvings)][other]]
            messages += [Message(node, dim, way, one, machine.held(node, one)) for one in given]
        return messages

    for number in steps:
        machine.round(exchange(number))
    for number in reversed(steps[:halvings]):
        messages = []
        for part, node in product(range(parts), machine.nodes):
            dim, way = hops(part, number, node)
            done = duties[part][number + 1][node]
            messages += [Message(node, dim, way, (part, element), machine.all) for element in done]
        machine.round(messages)
    assert machine.everybody_has_everything()
    return list(map(float, machine.loads))


def test_exchanges_halve_as_often_as_they_say() -> None:
    def by_swing(at: int, step: int, mirrored: bool) -> int:
        reach = sum((-2) ** power for power in range(step + 1))
        return reach if at % 2 == mirrored else -reach

    def by_bit(at: int, step: int, _: bool) -> int:
        return (at ^ 1 << step) - at

    for sizes in [(8, 8), (4, 4, 4), (4, 8)]:
        known = {one.name: list(one.loads) for one in algorithms(sizes)}
        steps = sum(size.bit_length() - 1 for size in sizes)
        parts = 2 * len(sizes)
        assert halved(sizes, by_swing, parts, 0) == pytest.approx(known["Swing, latency"])
        assert halved(sizes, by_swing, parts, steps) == pytest.approx(known["Swing, bandwidth"])
        for halvings in range(1, steps):
            name = f"family (Swing, {halvings} of {steps} halved)"
            if name in known:
                assert halved(sizes, by_swing, parts, halvings) == pytest.approx(known[name])
    assert any(name.startswith("family (Swing") for name in known)
    # Exchanges by bits go one way round; half way round they may go either way.
    known = {one.name: list(one.loads) for one in algorithms((4, 4))}
    assert len(halved((4, 4), by_bit, 2, 0)) == len(known["recursive doubling"])


@pytest.mark.parametrize("sizes", [(8, 8), (16, 16), (4, 4, 4), (8, 8, 8), (8, 8, 16)])
def test_the_family_is_never_behind(sizes: tuple[int, ...]) -> None:
    """At no size from 1 B to 1 GiB more than 2 % behind the best of all others."""
    known = algorithms(sizes)
    own = [one for one in known if one.source == "this project"]
    others = [one for one in known if one.source != "this project"]
    assert len(others) >= 9
    assert "Swing, bandwidth" in {one.name for one in others}
    for quarter in range(4 * 30 + 1):
        size = 2 ** (quarter / 4)
        for alpha in (1e-7, 1e-6, 1e-5):
            best = min(one.seconds(size, alpha, 50e9) for one in others)
            assert min(one.seconds(size, alpha, 50e9) for one in own) <= 1.02 * best, (size, alpha)
