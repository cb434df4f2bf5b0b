"""Networks of published families: who is joined to whom, and where the hosts are, from a name and numbers."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import NamedTuple

from flitloom.errors import SpecError, show, unknown_parts
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.numerals import counted
from flitloom.spec.factors import are_factors

_NUMBER = re.compile(r"\s*[0-9]{1,7}\s*", re.ASCII)
#: Names of two routers with a cable between them.
Pair = tuple[str, str]


def dragonfly(routers: int, ports: int) -> Iterator[Pair]:
    """Complete groups of routers with `ports` global cables each, as many groups as fit (Kim et al. 2008)."""
    groups = routers * ports + 1
    for g in range(groups):
        yield from ((f"g{g}s{a}", f"g{g}s{b}") for a, b in combinations(range(routers), 2))
    for a, b in combinations(range(groups), 2):
        far = b - a - 1
        yield f"g{a}s{far // ports}", f"g{b}s{(groups - 2 - far) // ports}"


def fat_tree(arity: int) -> Iterator[Pair]:
    """Three levels of switches with `arity` ports, hosts below the lowest (Al-Fares et al. 2008)."""
    half = arity // 2
    for pod in range(arity):
        for low, high in product(range(half), range(half)):
            yield f"edge{pod}-{low}", f"middle{pod}-{high}"
            yield f"middle{pod}-{high}", f"top{high}-{low}"


def slim_fly(prime: int) -> Iterator[Pair]:
    """Routers at most two hops apart, in two halves (McKay et al. 1998, Besta and Hoefler 2014).

    >>> pairs = list(slim_fly(5))
    >>> len(pairs), len({name for pair in pairs for name in pair})
    (175, 50)
    """
    powers: list[int] = []
    for root in range(2, prime):
        powers = [pow(root, n, prime) for n in range(prime - 1)]
        if len(set(powers)) == prime - 1:
            break
    half = (prime - 1) // 2
    # Steps along a row of the first half; each is there with its negative.
    steps = powers[::2] if prime % 4 == 1 else powers[:half:2] + powers[half::2]
    for side, along in (("a", set(steps)), ("b", {powers[1] * step % prime for step in steps})):
        for row, (p, q) in product(range(prime), combinations(range(prime), 2)):
            if q - p in along:
                yield f"{side}{row}-{p}", f"{side}{row}-{q}"
    for x, m, c in product(range(prime), repeat=3):
        yield f"a{x}-{(m * x + c) % prime}", f"b{m}-{c}"


def circulant(size: int, *steps: int) -> Iterator[Pair]:
    """A ring whose routers are also joined to those further ahead.

    >>> list(circulant(4, 1, 2))
    [('s0', 's1'), ('s1', 's2'), ('s2', 's3'), ('s3', 's0'), ('s0', 's2'), ('s1', 's3')]
    """
    for step in steps:
        for node in range(size if 2 * step != size else step):
            yield f"s{node}", f"s{(node + step) % size}"


def random_regular(size: int, degree: int, seed: int = 1) -> Iterator[Pair]:
    """A graph drawn at random in which every router has `degree` neighbours (Singla et al. 2012)."""
    draw = random.Random(seed)
    edges = [(n, (n + k) % size) for n in range(size) for k in range(1, degree // 2 + 1)]
    if degree % 2:
        edges += [(n, n + size // 2) for n in range(size // 2)]
    there = {frozenset(edge) for edge in edges}
    # Two cables exchange an end, many times over.
    for _ in range(20 * len(edges)):
        one, other = draw.sample(range(len(edges)), 2)
        (a, b), (c, d) = edges[one], edges[other]
        if len({a, b, c, d}) == 4 and not {frozenset((a, d)), frozenset((c, b))} & there:
            there -= {frozenset((a, b)), frozenset((c, d))}
            there |= {frozenset((a, d)), frozenset((c, b))}
            edges[one], edges[other] = (a, d), (c, b)
    yield from ((f"s{a}", f"s{b}") for a, b in edges)


def tori(*numbers: int) -> Iterator[Pair]:
    """Equal tori on the places of an outer torus, neighbours joined by some links between equal places.

    The numbers are those of :func:`torus_parts`. The links are spread over the routers, whose last
    coordinate counts fastest, at equal distances.

    >>> pairs = list(tori(2, 4, 3, 1, 3, 4))
    >>> len(pairs), pairs[-1]
    (84, ('t2-3-0', 't0-3-0'))
    """
    inner, outer, links = torus_parts(numbers)
    places = list(product(*map(range, inner)))
    joined = [places[at] for at in spread(links, len(places))]
    blocks = list(product(*map(range, outer)))
    for block in blocks:
        yield from ((_torus_name(block, a), _torus_name(block, b)) for a, b in ring_links(places, inner))
    for one, other in ring_links(blocks, outer):
        yield from ((_torus_name(one, place), _torus_name(other, place)) for place in joined)


def spread(links: int, places: int) -> list[int]:
    """The places that this many links join.

    >>> spread(4, 32)
    [0, 8, 16, 24]
    """
    return [link * places // links for link in range(links)]


def torus_parts(numbers: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes of the inner tori and of the outer torus, and the links between neighbours.

    >>> torus_parts((2, 8, 4, 1, 4, 16))
    ((8, 4), (4,), 16)
    """
    inner, outer = numbers[1 : numbers[0] + 1], numbers[numbers[0] + 2 : -1]
    return inner, outer, numbers[-1]


def _torus_name(block: tuple[int, ...], place: tuple[int, ...]) -> str:
    return "t" + "-".join(map(str, (*block, *place)))


def ring_links(
    places: list[tuple[int, ...]], sizes: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Neighbours on a torus, once each; a dimension of two has one link."""
    for place in places:
        for dimension, size in enumerate(sizes):
            if size > 2 or place[dimension] == 0:
                yield place, (*place[:dimension], (place[dimension] + 1) % size, *place[dimension + 1 :])


def read_numbers(text: str) -> tuple[int, ...] | None:
    """Numbers between commas or semicolons; None for anything else.

    >>> read_numbers("6, 3"), read_numbers("6,"), read_numbers("6x3")
    ((6, 3), None, None)
    """
    inside = [part.strip() for part in re.split("[,;]", text)]
    return tuple(map(int, inside)) if all(map(_NUMBER.fullmatch, inside)) else None


def _read_tori(text: str) -> tuple[int, ...] | None:
    parts = [[size.strip() for size in part.split("x")] for part in text.split(";")]
    if (
        len(parts) != 3
        or len(parts[2]) > 1
        or not all(_NUMBER.fullmatch(size) for part in parts for size in part)
    ):
        return None
    inner, outer, (links,) = [list(map(int, part)) for part in parts]
    return (len(inner), *inner, len(outer), *outer, links)


def _write_tori(*numbers: int) -> str:
    inner, outer, links = torus_parts(numbers)
    return f"{'x'.join(map(str, inner))};{'x'.join(map(str, outer))};{links}"


def _fit_tori(*numbers: int) -> bool:
    inner, outer, links = torus_parts(numbers)
    return (
        min(*inner, *outer) >= 2
        and len(inner) + len(outer) <= 6
        and math.prod(inner) > 2
        and 0 < links < math.prod(inner)
    )


def _cables_of_tori(*numbers: int) -> int:
    inner, outer, links = torus_parts(numbers)
    cables = [sum(math.prod(sizes) // (2 if size == 2 else 1) for size in sizes) for sizes in (inner, outer)]
    return cables[0] * math.prod(outer) + cables[1] * links


class Family(NamedTuple):
    """What belongs to a name: how it is written, its cables, whether numbers fit, and the hosts at a router.

    Attributes
    ----------
    form : str
        The name with its numbers, the last ones in brackets if they may be left out.
    pairs : callable
        From the numbers that say who is joined to whom, all cables.
    fits : callable
        Whether there is such a network.
    need : str
        What the numbers have to be.
    size : callable
        Number of cables.
    hosts : callable
        From the name of a router and the numbers, how many hosts it has.
    taken : int, optional
        How many of the numbers `pairs` takes; all if none is given.
    order : callable
        From the numbers, sizes of a mesh in whose order the hosts are: of a router, of a group, groups.
    read : callable
        From what stands in brackets, the numbers.
    write : callable
        The numbers as they are written in brackets.
    """

    form: str
    pairs: Callable[..., Iterator[Pair]]
    fits: Callable[..., bool]
    need: str
    size: Callable[..., int]
    hosts: Callable[[str, tuple[int, ...]], int]
    taken: int | None = None
    order: Callable[..., tuple[int, ...]] = lambda routers, *_: (routers,)
    read: Callable[[str], tuple[int, ...] | None] = read_numbers
    write: Callable[..., str] = lambda *numbers: ",".join(map(str, numbers))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % other for other in range(2, int(number**0.5) + 1))


def _one(_name: str, _numbers: tuple[int, ...]) -> int:
    return 1


#: All families by their names.
FAMILIES = {
    "dragonfly": Family(
        "dragonfly(a,h[,p])",
        dragonfly,
        lambda a, h, p=1: a >= 2 and h >= 1 and 1 <= p <= 64,
        "a: routers of a group, from 2; h: global cables of a router, from 1; p: its hosts, 1 to 64",
        lambda a, h, _=1: (a * h + 1) * (a * (a - 1) + a * h) // 2,
        lambda _, numbers: numbers[2] if len(numbers) > 2 else 1,
        2,
        lambda a, h, p=1: (p, a, a * h + 1),
    ),
    "fattree": Family(
        "fattree(k)",
        fat_tree,
        lambda k: 4 <= k <= 254 and k % 2 == 0,
        "k: ports of a switch, even, from 4 to 254",
        lambda k: k**3 // 2,
        lambda name, numbers: numbers[0] // 2 if name.startswith("edge") else 0,
        order=lambda k: (k // 2, k // 2, k),
    ),
    "slimfly": Family(
        "slimfly(q)",
        slim_fly,
        lambda q: 5 <= q < 168 and _is_prime(q),
        "q: an odd prime from 5 to 167",
        lambda q: q * q * (3 * q - 1) // 2,
        _one,
        order=lambda q: (q, 2 * q),
    ),
    "circulant": Family(
        "circulant(n;s1,s2,...)",
        circulant,
        lambda n, *steps: (
            bool(steps) and 0 < min(steps) <= max(steps) <= n // 2 and len({*steps}) == len(steps)
        ),
        "n: routers; s1, s2, ...: different steps from 1 to n/2",
        lambda n, *steps: n * len(steps),
        _one,
        write=lambda n, *steps: f"{n};{','.join(map(str, steps))}",
    ),
    "random": Family(
        "random(n,d[,seed])",
        random_regular,
        lambda n, d, _=1: 2 <= d < n and (n % 2 == 0 or d % 2 == 0) and d <= 64,
        "n: routers; d: neighbours of each, 2 to 64 and fewer than n, one of both even; seed: of the drawing",
        lambda n, d, _=1: n * d // 2,
        _one,
    ),
    "tori": Family(
        "tori(8x4;4x2;c)",
        tori,
        _fit_tori,
        "sizes of equal tori and of the outer torus whose places they take, from 2, at most six in all; c: "
        "links between two neighbours, fewer than routers of one",
        _cables_of_tori,
        _one,
        order=lambda *numbers: (math.prod(torus_parts(numbers)[0]) * math.prod(torus_parts(numbers)[1]),),
        read=_read_tori,
        write=_write_tori,
    ),
}
_TEXT = re.compile(r"\s*([a-z_-]+)\s*\(([0-9x,;\s]*)\)\s*", re.ASCII)


class Built(NamedTuple):
    """A network of a family: names of routers, cables by their numbers, and hosts per router."""

    text: str
    names: tuple[str, ...]
    cables: tuple[tuple[int, int], ...]
    hosts: tuple[int, ...]


def is_family(text: object) -> bool:
    """Whether a text is written like a family, whatever its name. Circulants may be factors of products.

    >>> is_family("dragonfly(6,3)"), is_family("full8 x ring4"), is_family("circulant(16;1,4) x ring4")
    (True, False, False)
    """
    return isinstance(text, str) and "(" in text and not are_factors(text)


def numbers_of(text: str, place: str = "network") -> tuple[str, tuple[int, ...]]:
    """The name of a family and the numbers of a network of it.

    Raises
    ------
    SpecError
        There is no such family, or its numbers do not fit.

    Examples
    --------
    >>> numbers_of("fat-tree(8)"), numbers_of("circulant(12;1,5)")
    (('fattree', (8,)), ('circulant', (12, 1, 5)))
    """
    forms = ", ".join(family.form for family in FAMILIES.values())
    match = _TEXT.fullmatch(text)
    if match is None:
        raise SpecError.at(place, f"{show(text)} is not a network", f"write one of {forms}")
    # As others write them: fat-tree(8), slim_fly(5).
    name = match[1].replace("-", "").replace("_", "")
    if name not in FAMILIES:
        raise SpecError.at(place, *unknown_parts(name, FAMILIES))
    family = FAMILIES[name]
    numbers = family.read(match[2])
    least, most = family.form.split("[")[0].count(",") + 1, family.form.count(",") + 1
    if name in ("circulant", "tori"):
        least, most = 2, 32
    if numbers is None or not least <= len(numbers) <= most or not family.fits(*numbers):
        raise SpecError.at(place, f"{show(text)} does not exist", f"{family.form}, {family.need}")
    if (count := family.size(*numbers)) > FABRIC_PARTS:
        raise SpecError.at(place, f"{text}: {counted(count, 'cable')}; at most {FABRIC_PARTS} are possible")
    return name, numbers


def build(text: str, place: str = "network") -> Built:
    """The network that a name and numbers mean.

    Raises
    ------
    SpecError
        There is no such family, or its numbers do not fit.

    Examples
    --------
    >>> built = build("dragonfly(4, 2, 2)")
    >>> built.text, len(built.names), len(built.cables), set(built.hosts)
    ('dragonfly(4,2,2)', 36, 90, {2})
    """
    name, numbers = numbers_of(text, place)
    family = FAMILIES[name]
    pairs = list(family.pairs(*numbers[: family.taken]))
    names = tuple(dict.fromkeys(router for pair in pairs for router in pair))
    place_of = {router: number for number, router in enumerate(names)}
    written = f"{name}({family.write(*numbers)})"
    cables = tuple((place_of[a], place_of[b]) for a, b in pairs)
    return Built(written, names, cables, tuple(family.hosts(router, numbers) for router in names))
