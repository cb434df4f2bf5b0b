"""Tori of tori: equal tori or meshes, whose neighbours are joined by links between some of their switches.

Opposite sides of squares belong together. Whatever belongs together with a cable of a switch that has no link
out of its torus is a cable of tori. Everything is then verified: the tori are equal, they stand on a torus or
mesh themselves, or are all joined, and their links lead to equal places.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import prod
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.spec.families import spread

#: Switches, and neighbours of one, beyond which nobody looks for tori.
_SWITCHES = 1 << 14
_NEIGHBOURS = 16
#: Cables of a kind that must end at switches without links, as a fraction.
_SEEN = 0.25

Edge = tuple[int, int]
Place = tuple[int, ...]


@dataclass(frozen=True)
class Nested:
    """Equal tori or meshes on the places of an outer torus or mesh.

    Attributes
    ----------
    inner, outer : tuple of str
        The factors of each, e.g. ``ring8``, ``line4`` or ``full3``.
    coordinates : tuple of tuple of int
        Of every switch: inside its torus, then of the torus.
    missing_switches : tuple of tuple of int
        Coordinates where no switch stands.
    missing_cables : tuple of (int, int)
        Switches without the cable that belongs between them.
    places : tuple of tuple of int
        Coordinates inside a torus from which links lead to its neighbours.
    name : str
        What :func:`~flitloom.spec.families.build` makes the same of; empty if there is no such name.
    """

    inner: tuple[str, ...]
    outer: tuple[str, ...]
    coordinates: tuple[Place, ...]
    missing_switches: tuple[Place, ...]
    missing_cables: tuple[Edge, ...]
    places: tuple[Place, ...]
    name: str


@dataclass(frozen=True)
class _Grid:
    """Sizes of a torus or mesh, and which dimensions are rings."""

    sizes: Place
    rings: tuple[bool, ...]

    def factors(self) -> tuple[str, ...]:
        return tuple(
            f"{'ring' if ring else 'line'}{size}" for size, ring in zip(self.sizes, self.rings, strict=True)
        )

    def places(self) -> list[Place]:
        return list(product(*map(range, self.sizes)))

    def after(self, place: Place) -> Iterator[Place]:
        """Neighbours of a place in the positive directions."""
        for at, (size, ring) in enumerate(zip(self.sizes, self.rings, strict=True)):
            if place[at] + 1 < size or (ring and size > 2):
                yield (*place[:at], (place[at] + 1) % size, *place[at + 1 :])

    def turns(self) -> list[Callable[[Place], Place]]:
        """Exchanges of equal dimensions and of their senses."""
        dims = range(len(self.sizes))
        alike = [(size, ring) for size, ring in zip(self.sizes, self.rings, strict=True)]
        orders = [
            order for order in permutations(dims) if all(alike[a] == alike[b] for a, b in enumerate(order))
        ]

        def turn(order: Sequence[int], signs: Sequence[int]) -> Callable[[Place], Place]:
            last = [0 if ring else size - 1 for size, ring in alike]
            return lambda place: tuple(
                place[of] if sign > 0 else (last[at] - place[of]) % self.sizes[at]
                for at, (of, sign) in enumerate(zip(order, signs, strict=True))
            )

        return [turn(order, signs) for order in orders for signs in product((1, -1), repeat=len(dims))]

    def shifted(self, place: Place, by: Place) -> Place:
        """A place moved along rings; along lines nothing moves."""
        return tuple((a + b) % size for a, b, size in zip(place, by, self.sizes, strict=True))

    def between(self, to: Place, place: Place) -> Place | None:
        """By how much one place is moved from another; None if it is along a line."""
        moved = tuple((a - b) % size for a, b, size in zip(to, place, self.sizes, strict=True))
        return moved if all(ring or not by for ring, by in zip(self.rings, moved, strict=True)) else None


def tori_of_tori(switches: int, cables: Sequence[Edge], names: Sequence[str]) -> Nested | None:
    """The torus of tori that cables make, parts of which may be missing; None if they make none.

    Parallel cables count once. Of names only what is before their last number is looked at, to find tori
    where cables do not tell them apart.

    Examples
    --------
    >>> from flitloom.spec.families import build
    >>> built = build("tori(4x3;5;4)")
    >>> found = tori_of_tori(60, built.cables[1:], [""] * 60)
    >>> found.name, found.inner, found.outer, len(found.missing_cables)
    ('tori(4x3;5;4)', ('ring4', 'ring3'), ('ring5',), 1)
    """
    around: list[set[int]] = [set() for _ in range(switches)]
    for a, b in cables:
        if a != b:
            around[a].add(b)
            around[b].add(a)
    if not 8 <= switches <= _SWITCHES or max(map(len, around)) > _NEIGHBOURS:
        return None
    edges = sorted((a, b) for a, near in enumerate(around) for b in near if a < b)
    tried: set[tuple[int, ...]] = set()
    for parts in _partitions(around, edges, names):
        if len({*parts}) > 1 and parts not in tried:
            tried.add(parts)
            if found := _verified(parts, edges):
                return found
    return None


def _partitions(around: list[set[int]], edges: list[Edge], names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Ways to divide the switches among tori."""
    kinds = _kinds(around, edges)
    members: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges:
        members[kinds[edge]].append(edge)
    for degree, _ in Counter(map(len, around)).most_common(4):
        kept = [
            edge
            for of_kind in members.values()
            if len(of_kind) > 1
            and sum(degree in (len(around[a]), len(around[b])) for a, b in of_kind) > _SEEN * len(of_kind)
            for edge in of_kind
        ]
        yield _parts(len(around), kept)
    heads = [re.sub(r"[0-9]+[^0-9]*$", "", name) for name in names]
    numbers = {head: number for number, head in enumerate(dict.fromkeys(heads))}
    yield tuple(numbers[head] for head in heads)


def _kinds(around: list[set[int]], edges: list[Edge]) -> dict[Edge, int]:
    """A number for every edge, the same for opposite sides of squares."""
    number = {edge: at for at, edge in enumerate(edges)}

    def of(a: int, b: int) -> int:
        return number[min(a, b), max(a, b)]

    def opposite_sides() -> Iterator[Edge]:
        for corner, near in enumerate(around):
            for one, other in combinations(sorted(near), 2):
                for far in around[one] & around[other]:
                    if far > corner:
                        yield of(corner, one), of(other, far)
                        yield of(corner, other), of(one, far)

    return dict(zip(edges, _parts(len(edges), opposite_sides()), strict=True))


def _parts(count: int, pairs: Iterable[Edge]) -> tuple[int, ...]:
    """What pairs join, as a number of each."""
    parts = list(range(count))

    def root(at: int) -> int:
        while parts[at] != at:
            parts[at] = parts[parts[at]]
            at = parts[at]
        return at

    for a, b in pairs:
        parts[root(a)] = root(b)
    return tuple(map(root, range(count)))


def _verified(parts: tuple[int, ...], edges: list[Edge]) -> Nested | None:
    """The torus of tori that a division among tori makes, if it is one."""
    numbers = {part: at for at, part in enumerate(dict.fromkeys(parts))}
    tori: list[list[int]] = [[] for _ in numbers]
    for switch, part in enumerate(parts):
        tori[numbers[part]].append(switch)
    of = [numbers[part] for part in parts]
    inside: list[list[Edge]] = [[] for _ in tori]
    links: dict[Edge, list[Edge]] = defaultdict(list)
    for a, b in edges:
        if of[a] == of[b]:
            inside[of[a]].append((a, b))
        else:
            one, other = (a, b) if of[a] < of[b] else (b, a)
            links[of[one], of[other]].append((one, other))
    if min(map(len, tori)) < 3 or len(links) < len(tori) - 1:
        return None
    found = _equal_grids(tori, inside)
    outer = _outer(len(tori), list(links))
    if found is None or outer is None:
        return None
    grid, places = found
    if not _align(grid, places, of, links):
        return None
    return _compared(grid, outer, places, of, (edges, links))


def _equal_grids(tori: list[list[int]], inside: list[list[Edge]]) -> tuple[_Grid, dict[int, Place]] | None:
    """What every torus is, and where each switch stands inside its own."""

    def recognised(number: int, sizes: Place | None) -> tuple[_Grid, list[Place]] | None:
        at = {switch: place for place, switch in enumerate(tori[number])}
        ends = [(at[a], at[b]) for a, b in inside[number]]
        told = _recognised(len(at), ends, sizes)
        if told is None:
            return None
        rings = tuple(bool(ring) for ring in told["wraps"])
        return _Grid(tuple(told["sizes"]), rings), [tuple(place) for place in told["coordinates"]]

    first = [recognised(number, None) for number in range(len(tori))]
    usual = Counter(one[0] for one in first if one is not None).most_common(1)
    if not usual:
        return None
    grid = usual[0][0]
    places: dict[int, Place] = {}
    for number, one in enumerate(first):
        known = one if one is not None and one[0] == grid else recognised(number, grid.sizes)
        if known is None or known[0] != grid:
            return None
        places.update(zip(tori[number], known[1], strict=True))
    return grid, places


def _outer(count: int, pairs: list[Edge]) -> tuple[tuple[str, ...], Place, list[Place]] | None:
    """Factors, sizes, and the place of every torus; whether they are all joined comes first."""
    if len(pairs) == count * (count - 1) // 2:
        kind = "line" if count == 2 else "ring" if count == 3 else "full"
        return (f"{kind}{count}",), (count,), [(number,) for number in range(count)]
    told = _recognised(count, pairs)
    if told is None or told["missing_switches"] or told["missing_cables"]:
        return None
    grid = _Grid(tuple(told["sizes"]), tuple(map(bool, told["wraps"])))
    return grid.factors(), grid.sizes, [tuple(place) for place in told["coordinates"]]


def _align(grid: _Grid, places: dict[int, Place], of: list[int], links: dict[Edge, list[Edge]]) -> bool:
    """Turn and shift the places inside tori until links join equal ones; whether that can be done."""
    gates: dict[int, set[int]] = defaultdict(set)
    beside: dict[int, list[int]] = defaultdict(list)
    members: dict[int, list[int]] = defaultdict(list)
    for (one, other), ends in links.items():
        beside[one].append(other)
        beside[other].append(one)
        for a, b in ends:
            gates[one].add(a)
            gates[other].add(b)
    for switch, torus in enumerate(of):
        members[torus].append(switch)
    turns = grid.turns()
    done, waiting = {0}, [0]
    while waiting:
        here = waiting.pop(0)
        wanted = {places[gate] for gate in gates[here]}
        for there in (other for other in beside[here] if other not in done):
            ends = links[min(here, there), max(here, there)]
            ends = ends if here < there else [(b, a) for a, b in ends]
            best: tuple[int, Callable[[Place], Place]] | None = None
            for turn in turns:
                moves = {grid.between(places[a], turn(places[b])) for a, b in ends}
                move = moves.pop()
                if moves or move is None:
                    continue

                def moved(place: Place, turn: Callable[[Place], Place] = turn, move: Place = move) -> Place:
                    return grid.shifted(turn(place), move)

                common = len(wanted & {moved(places[gate]) for gate in gates[there]})
                if best is None or common > best[0]:
                    best = common, moved
            if best is None:
                return False
            places.update({switch: best[1](places[switch]) for switch in members[there]})
            done.add(there)
            waiting.append(there)
    return len(done) == len(members) and all(
        places[a] == places[b] for ends in links.values() for a, b in ends
    )


def _compared(
    grid: _Grid,
    outer: tuple[tuple[str, ...], Place, list[Place]],
    places: dict[int, Place],
    of: list[int],
    cables: tuple[list[Edge], dict[Edge, list[Edge]]],
) -> Nested | None:
    """What the torus of tori has and the fabric has not; None if that is too much."""
    factors, sizes, at = outer
    edges, links = cables
    usual = Counter(places[a] for ends in links.values() for a, _ in ends)
    standing = {(of[switch], place): switch for switch, place in places.items()}

    def both(place: Place) -> int:
        return sum((one, place) in standing and (other, place) in standing for one, other in links)

    gates = {place for place, count in usual.items() if 2 * count >= both(place)}
    if len(gates) < len(usual) or len(gates) == prod(grid.sizes):
        return None
    there = {*edges}
    wanted = [
        ((torus, place), (torus, after))
        for torus in range(len(at))
        for place in grid.places()
        for after in grid.after(place)
    ]
    wanted += [((one, place), (other, place)) for one, other in links for place in sorted(gates)]
    pairs = [(standing[a], standing[b]) for a, b in wanted if a in standing and b in standing]
    missing = sorted({(min(pair), max(pair)) for pair in pairs} - there)
    lost = [
        (*place, *at[torus])
        for torus in range(len(at))
        for place in grid.places()
        if (torus, place) not in standing
    ]
    if (
        len(pairs) - len(missing) != len(edges)
        or 16 * len(missing) > len(pairs)
        or 4 * len(lost) > len(places)
    ):
        return None
    coordinates = tuple((*places[switch], *at[of[switch]]) for switch in range(len(of)))
    name = _named(grid, gates, factors, sizes)
    return Nested(
        grid.factors(), factors, coordinates, tuple(sorted(lost)), tuple(missing), tuple(sorted(gates)), name
    )


def _named(grid: _Grid, gates: set[Place], factors: tuple[str, ...], sizes: Place) -> str:
    """The name of a torus of tori whose links are spread as that says; empty if they are not."""
    closed = all(ring or size == 2 for ring, size in zip(grid.rings, grid.sizes, strict=True))
    if not closed or not all(factor.startswith("ring") or factor == "line2" for factor in factors):
        return ""
    longest_first = sorted(range(len(grid.sizes)), key=lambda dimension: -grid.sizes[dimension])
    for order in permutations(longest_first):
        inner = tuple(grid.sizes[dimension] for dimension in order)
        all_places = list(product(*map(range, inner)))
        joined = {all_places[at] for at in spread(len(gates), len(all_places))}
        turned = _Grid(inner, tuple(size > 2 for size in inner))
        own = [tuple(place[dimension] for dimension in order) for place in gates]
        for turn in turned.turns():
            seen = [turn(place) for place in own]
            for to in joined:
                move = tuple((a - b) % size for a, b, size in zip(to, seen[0], inner, strict=True))
                if {turned.shifted(place, move) for place in seen} == joined:
                    outside = "x".join(map(str, sorted(sizes, reverse=True)))
                    return f"tori({'x'.join(map(str, inner))};{outside};{len(gates)})"
    return ""


def _recognised(count: int, ends: Sequence[Edge], sizes: Place | None = None) -> dict[str, Any] | None:
    """What the core says of switches and cables that are a healthy torus or mesh; None if they are none."""
    cables = np.array(ends, dtype=np.uint32).reshape(-1, 2)
    told: dict[str, Any] | None = _core.recognise(count, cables, None if sizes is None else list(sizes))
    return None if told is None or told["twisted"] or told["misfits"] else told
