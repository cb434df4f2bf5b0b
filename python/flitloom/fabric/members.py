"""Slim Flies and circulant networks, also with parts missing: which one a network of switches is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flitloom.spec.families import FAMILIES, build

#: A network that lacks more than this part of its cables may be anything.
_MOST_MISSING = 0.2
#: Switches of the largest networks that are looked at.
MOST_SWITCHES = 4096
#: Switches of all circulant networks of one size that are compared with a network, and of all sizes.
_MOST_NUMBERS, _MOST_OF_ALL = 20_000_000, 40_000_000
#: The likest circulant networks, several of which may be the same, and those on which switches are placed.
_COMPARED, _TRIED = 20_000, 20
#: Steps of the search for places: some, and those for each switch.
_STEPS, _STEPS_EACH = 5_000, 20

#: Neighbours of every switch.
_Near = Sequence[set[int]]


@dataclass(frozen=True)
class Member:
    """A network of a family, and what it lacks.

    Attributes
    ----------
    name : str
        The whole network, as ``--network`` takes it.
    places : tuple of int
        Of every switch its number in the whole network, as `flitloom.spec.families.build` numbers them.
    switches : tuple of tuple of int
        Of every missing switch those of its neighbours that are there.
    cables : tuple of (int, int)
        Missing cables between two switches that are there.
    """

    name: str
    places: tuple[int, ...]
    switches: tuple[tuple[int, ...], ...]
    cables: tuple[tuple[int, int], ...]


def member_of_family(count: int, ends: Iterable[tuple[int, int]]) -> Member | None:
    """The Slim Fly or circulant network that a network of switches is, if it is one with few parts missing.

    Every switch has another place there, and every cable joins two neighbours. Networks in which a switch
    is joined to half of the others or more are none: several names fit them.

    Examples
    --------
    >>> cables = list(build("slimfly(5)").cables)
    >>> member_of_family(50, cables[1:]).name, member_of_family(50, cables[1:]).cables == (cables[0],)
    ('slimfly(5)', True)
    >>> member_of_family(13, [(n, (n + step) % 13) for n in range(13) for step in (2, 3)]).name
    'circulant(13;1,5)'
    """
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in ends:
        near[a].add(b)
        near[b].add(a)
    degree = max(map(len, near), default=0)
    there = sum(map(len, near)) // 2
    if degree < 3 or count > MOST_SWITCHES:
        return None
    root = max(range(count), key=lambda n: (len(near[n]), sum(len(near[other]) for other in near[n])))
    best: Member | None = None
    left = _MOST_OF_ALL
    for least, lost in sorted(_losses(count, there, degree)):
        numbers = math.comb(max(0, (count + lost - 3) // 2), degree // 2 - 1) * (count + lost)
        left -= numbers if numbers <= _MOST_NUMBERS else 0
        if left < 0:
            break
        # A name that leaves fewer parts missing is nearer to the truth.
        if best is None or least < _parts(best):
            found = _with_lost(near, root, degree, lost, least - lost)
            best = min(filter(None, (best, found)), key=_parts, default=None)
    return best


def _parts(member: Member) -> int:
    return len(member.switches) + len(member.cables)


def _losses(count: int, there: int, degree: int) -> Iterator[tuple[int, int]]:
    """How many switches may be missing, each behind the fewest parts that are missing then."""
    for lost in range((degree * count - 2 * there) // (degree - 1) + 1):
        size = count + lost
        absent = degree * size // 2 - there
        # Missing switches may be neighbours of each other.
        spare = absent - lost * degree + lost * (lost - 1) // 2
        if absent <= _MOST_MISSING * degree * size / 2 and spare >= 0 and 2 * degree < size:
            yield lost + spare, lost


def _with_lost(near: _Near, root: int, degree: int, lost: int, spare: int) -> Member | None:
    """The network of a family that a network is less some switches and at most `spare` cables."""
    size = len(near) + lost
    for name, roots in _candidates(near, root, size, degree):
        cables = build(name).cables
        if 2 * len(cables) != degree * size:
            continue
        far = [0] * size
        for a, b in cables:
            far[a] |= 1 << b
            far[b] |= 1 << a
        for place in roots:
            if places := _placed(near, far, (root, place), spare):
                return _compared(near, far, places, name)
    return None


def _compared(near: _Near, far: Sequence[int], places: Sequence[int], name: str) -> Member:
    """What a network lacks whose switches are at these places of another one."""
    at = {place: switch for switch, place in enumerate(places)}
    around = [[at[other] for other in _bits(mask) if other in at] for mask in far]
    cables = tuple(
        (switch, other)
        for switch, place in enumerate(places)
        for other in sorted(around[place])
        if switch < other and other not in near[switch]
    )
    switches = tuple(tuple(sorted(around[place])) for place in range(len(far)) if place not in at)
    return Member(name, tuple(places), switches, cables)


def _candidates(near: _Near, root: int, size: int, degree: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Networks of a size and degree, and the places in them that the first switch may have."""
    prime = math.isqrt(size // 2)
    if 2 * prime * prime == size and FAMILIES["slimfly"].fits(prime):
        # The switches of either half are alike.
        yield f"slimfly({prime})", (0, prime * prime)
    for steps in _circulants(near, root, size, degree):
        yield f"circulant({size};{','.join(map(str, steps))})", (0,)


def _circulants(near: _Near, root: int, size: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Steps of circulant networks in which as many walks lead from a switch to others, the likest first."""
    ways = Counter(there for here in near[root] for there in near[here] if there != root)
    # Two different steps lead to a place in either order, unless cables are missing.
    less = (degree - 1) * (degree - len(near[root])) + sum(degree - len(near[here]) for here in near[root])
    if sum(number == 1 for number in ways.values()) > degree + less:
        return
    rows = _all_steps(size, degree)
    if not len(rows):
        return
    known = np.unique(rows)
    turns = np.outer(known, np.arange(size // 2 + 1)) % size
    around = np.cos(turns * (2 * np.pi / size)) * np.where(2 * known == size, 1, 2)[:, None]
    for hops in (3, 6):
        walks = np.sort(np.pad(_walks(near, root, hops), (size - len(near), 0)))
        kept = [rows[:0]]
        for part in np.array_split(rows, len(rows) * size // 1_000_000 + 1):
            waves = around[np.searchsorted(known, part)].sum(axis=1)
            there = np.fft.irfft((1 + waves) ** hops, size, axis=1).round()
            there = np.sort(there.astype(np.int16 if (degree + 1) ** hops < 1 << 15 else np.int64), axis=1)
            # Missing parts take walks away and add none.
            kept.append(part[(there >= walks).all(axis=1)])
        rows = np.concatenate(kept)
    balls = _balls(near, root)
    order = sorted((_unlike(steps, size, balls), steps) for steps in rows[:_COMPARED].tolist())
    names = dict.fromkeys(_least_steps(steps, size) for _, steps in islice(order, 10 * _TRIED))
    yield from islice(names, _TRIED)


def _balls(near: _Near, root: int) -> list[int]:
    """How many switches are within every number of hops from one."""
    seen, sphere, balls = {root}, {root}, list[int]()
    while sphere:
        balls.append(len(seen))
        sphere = {there for here in sphere for there in near[here]} - seen
        seen |= sphere
    return balls


def _unlike(steps: Sequence[int], size: int, balls: Sequence[int]) -> int:
    """By how many places at each distance a circulant network differs from these numbers."""
    whole, here, unlike = (1 << size) - 1, 1, 0
    for number in balls:
        unlike += abs(here.bit_count() - number)
        new = here
        for step in steps:
            # Places beyond the end are those at the beginning.
            new |= here << step | here >> size - step | here >> step | here << size - step
        here = new & whole
    return unlike


def _walks(near: _Near, root: int, hops: int) -> NDArray[np.float64]:
    """The number of walks of this length from a switch to every one; any of their hops may be a rest."""
    ends = np.array([(here, there) for here, around in enumerate(near) for there in around])
    walks = np.zeros(len(near))
    walks[root] = 1
    for _ in range(hops):
        walks = walks + np.bincount(ends[:, 0], walks[ends[:, 1]], len(near))
    return walks


def _all_steps(size: int, degree: int) -> NDArray[np.int64]:
    """Steps of all circulant networks, a row each; every one is there up to multiplication by a unit.

    Of the steps of a row the first one divides the number of switches, and no other has a smaller divisor
    in common with it. There are none where they are too many.
    """
    half = [size // 2] if degree % 2 else []
    rows = list[tuple[int, ...]]()
    for divisor in range(1, (size + 1) // 2 if degree * size % 2 == 0 else 1):
        if size % divisor:
            continue
        others = [
            step for step in range(1, (size + 1) // 2) if step != divisor and math.gcd(step, size) >= divisor
        ]
        if math.comb(len(others), degree // 2 - 1) * size > _MOST_NUMBERS:
            break
        rows += [
            (divisor, *rest, *half)
            for rest in combinations(others, degree // 2 - 1)
            if divisor == 1 or math.gcd(divisor, size, *rest, *half) == 1
        ]
    return np.array(rows, dtype=np.int64).reshape(-1, (degree + 1) // 2)


def _least_steps(steps: Sequence[int], size: int) -> tuple[int, ...]:
    """The first in order of all steps that a unit makes of these: they mean the same network."""
    return min(
        tuple(sorted(min(unit * step % size, -unit * step % size) for step in steps))
        for unit in range(1, size)
        if math.gcd(unit, size) == 1
    )


class _Step(NamedTuple):
    """A switch that has been placed: where it may be, places not tried, and what that changed."""

    switch: int
    mask: int
    choice: int
    changed: list[tuple[int, int]]
    lacking: list[int]


def _placed(near: _Near, far: Sequence[int], first: tuple[int, int], spare: int) -> list[int] | None:
    """Different places for all switches so that all cables join neighbours; None if none are found.

    Parameters
    ----------
    near, far : sequence
        Neighbours of every switch, and of every place as bits.
    first : (int, int)
        A switch and its place.
    spare : int
        Neighbouring places that may have switches without a cable.
    """
    places, at = [-1] * len(near), [-1] * len(far)
    free = (1 << len(far)) - 1
    # Of every switch, the cables that may be missing besides those between places that are taken.
    less = [far[first[1]].bit_count() - len(around) for around in near]
    # Ends of a cable with a neighbour in common have one at their places, too.
    close = [sum(1 << other for other in _bits(mask) if mask & far[other]) for mask in far]
    may: dict[int, int] = {}
    trail: list[_Step] = []
    switch, mask = first[0], 1 << first[1]
    choice = mask
    for _ in range(_STEPS + _STEPS_EACH * len(near)):
        place = (choice & -choice).bit_length() - 1
        taken = [at[other] for other in _bits(far[place] & ~free)]
        lacking = [other for other in taken if other not in near[switch]]
        changed = [(other, may.get(other, -1)) for other in near[switch] if places[other] < 0]
        trail.append(_Step(switch, mask, choice & choice - 1, changed, lacking))
        places[switch], at[place], free = place, switch, free ^ 1 << place
        for other, before in changed:
            may[other] = before & (far if near[switch].isdisjoint(near[other]) else close)[place]
        spare -= len(lacking)
        less[switch] -= len(lacking)
        for other in lacking:
            less[other] -= 1
        fits = spare >= 0 and less[switch] >= 0 and all(less[other] >= 0 for other in lacking)
        if fits and len(trail) == len(near):
            return places
        choice = 0
        if may and fits:
            switch = _fewest(may, free)
            mask = may.pop(switch)
            choice = mask & free
            if not choice:
                may[switch] = mask
        while not choice:
            if not trail:
                return None
            switch, mask, choice, changed, lacking = trail.pop()
            free |= 1 << places[switch]
            places[switch] = -1
            spare += len(lacking)
            less[switch] += len(lacking)
            for other in lacking:
                less[other] += 1
            for other, before in changed:
                if before < 0:
                    del may[other]
                else:
                    may[other] = before
            if not choice:
                may[switch] = mask
    return None


def _fewest(may: dict[int, int], free: int) -> int:
    """The switch with the fewest places."""
    best, least = -1, -1
    for switch, mask in may.items():
        number = (mask & free).bit_count()
        if number <= 1:
            return switch
        if least < 0 or number < least:
            best, least = switch, number
    return best


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
