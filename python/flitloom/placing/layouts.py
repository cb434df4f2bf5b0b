"""Exact placements of grids on tori and meshes in coordinates, moved so that they avoid what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

from flitloom.placing.ground import Ground, grid_cables, strides_of
from flitloom.placing.ways import goes_up
from flitloom.spec import Topology

#: Layouts that are tried.
MOST_LAYOUTS = 400
#: A ring of four is a square of two binary digits: the place of each pair of digits.
GRAY = np.array([0, 1, 3, 2])


def _digits(index: int, sides: Sequence[int]) -> list[int]:
    """The digits of a path through a box whose consecutive places are neighbours."""
    row = []
    for side in sides:
        index, digit = divmod(index, side)
        row.append(side - 1 - digit if index % 2 else digit)
    return row


def _course(sides: Sequence[int], closed: bool) -> NDArray[np.int64]:
    """Places of a path through a box, or of a cycle out along the first side and back through the others.

    Examples
    --------
    >>> _course([2, 3], True).tolist()
    [[0, 0], [1, 0], [1, 1], [1, 2], [0, 2], [0, 1]]
    """
    size = math.prod(sides)
    if not closed or len(sides) == 1:
        return np.array([_digits(index, sides) for index in range(size)])
    first, rest = sides[0], math.prod(sides[1:])
    places = [[index, *_digits(0, sides[1:])] for index in range(first)]
    for index in range(size - first):
        column, place = divmod(index, rest - 1)
        inner = 1 + (rest - 2 - place if column % 2 else place)
        places.append([first - 1 - column, *_digits(inner, sides[1:])])
    return np.array(places)


#: A factor of the network: its dimension, places, whether it closes, and which binary digit of a ring of
#: four it is (None for a whole dimension).
Factor = tuple[int, int, bool, int | None]


def _factors(sizes: Sequence[int], wraps: Sequence[bool]) -> Iterator[list[Factor]]:
    fours = [d for d, (size, wrap) in enumerate(zip(sizes, wraps, strict=True)) if size == 4 and wrap]
    for count in range(len(fours) + 1):
        for split in combinations(fours, count):
            found: list[Factor] = []
            for d, (size, wrap) in enumerate(zip(sizes, wraps, strict=True)):
                if d in split:
                    found += [(d, 2, False, 0), (d, 2, False, 1)]
                else:
                    found.append((d, size, wrap, None))
            yield found


def _ways(size: int, wrap: bool, factors: Sequence[Factor]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Boxes of some factors (their numbers and sides, the one that counts first first) that hold an axis."""
    if size == 1:
        yield ()
        return
    for count in range(1, len(factors) + 1):
        for chosen in permutations(range(len(factors)), count):
            for sides in _sides(size, [factors[one][1] for one in chosen]):
                if wrap and size > 2:
                    if count == 1:
                        _, whole, closes, _ = factors[chosen[0]]
                        if not (closes and sides[0] == whole):
                            continue
                    elif sides[0] % 2:
                        continue
                yield tuple(zip(chosen, sides, strict=True))


def _sides(size: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(most) == 1:
        if 2 <= size <= most[0]:
            yield (size,)
        return
    for side in range(2, min(size // 2, most[0]) + 1):
        if size % side == 0:
            for rest in _sides(size // side, most[1:]):
                yield (side, *rest)


def layouts(shape: Topology, sizes: Sequence[int], wraps: Sequence[bool]) -> Iterator[NDArray[np.int64]]:
    """Coordinates of all positions of a shape, a row each, for every exact layout on a whole network."""
    seen: set[bytes] = set()
    places = np.stack(np.unravel_index(np.arange(shape.nodes), shape.sizes, order="F"), axis=1)

    def assign(
        axis: int, left: list[int], factors: list[Factor]
    ) -> Iterator[list[tuple[tuple[int, int], ...]]]:
        if axis == len(shape.sizes):
            yield []
            return
        there = [factors[one] for one in left]
        for way in _ways(shape.sizes[axis], shape.wraps[axis], there):
            taken = {left[number] for number, _ in way}
            named = tuple((left[number], side) for number, side in way)
            for rest in assign(axis + 1, [one for one in left if one not in taken], factors):
                yield [named, *rest]

    for factors in _factors(sizes, wraps):
        for ways in assign(0, list(range(len(factors))), factors):
            values = np.zeros((shape.nodes, len(factors)), dtype=np.int64)
            for axis, way in enumerate(ways):
                if way:
                    course = _course([side for _, side in way], shape.wraps[axis] and shape.sizes[axis] > 2)
                    values[:, [number for number, _ in way]] = course[places[:, axis]]
            found = np.zeros((shape.nodes, len(sizes)), dtype=np.int64)
            for number, (dimension, _, _, digit) in enumerate(factors):
                found[:, dimension] += values[:, number] << (digit or 0)
            for dimension in {factor[0] for factor in factors if factor[3] is not None}:
                found[:, dimension] = GRAY[found[:, dimension]]
            key = found.tobytes()
            if key not in seen:
                seen.add(key)
                yield found
            if len(seen) >= MOST_LAYOUTS:
                return


def fitted(shape: Topology, ground: Ground) -> tuple[list[int], list[int | tuple[int, int]]] | None:
    """The layout, moved, turned and mirrored, that meets the fewest missing parts, and these parts.

    None where the network has no coordinates or no layout holds the shape.
    """
    topology = ground.topology
    if topology is None:
        return None
    sizes, wraps = topology.sizes, topology.wraps
    strides = strides_of(sizes)
    cables = np.array(grid_cables(shape.sizes, shape.wraps), dtype=np.int64).reshape(-1, 2)
    lost = [_parts(part, sizes, strides) for part in ground.missing]
    best: tuple[int, NDArray[np.int64]] | None = None
    orders = [
        order
        for order in permutations(range(len(sizes)))
        if all((sizes[a], wraps[a]) == (sizes[b], wraps[b]) for a, b in enumerate(order))
    ]
    for base in layouts(shape, sizes, wraps):
        for order, mirrored in product(orders, product((False, True), repeat=len(sizes))):
            places = base[:, order]
            for d, back in enumerate(mirrored):
                if back:
                    places = _mirror(places, d, sizes[d], wraps[d])
            hits = _hits(places, cables, lost, sizes, wraps)
            move = int(hits.argmin())
            if best is None or hits.flat[move] < best[0]:
                shift = np.array(np.unravel_index(move, hits.shape))
                best = int(hits.flat[move]), (places + shift) % np.array(sizes)
            if best[0] == 0:
                break
        if best is not None and best[0] == 0:
            break
    if best is None:
        return None
    nodes = (best[1] * np.array(strides)).sum(axis=1).tolist()
    used = {(min(nodes[a], nodes[b]), max(nodes[a], nodes[b])) for a, b in cables.tolist()}
    held = set(nodes)
    return nodes, [part for part in ground.missing if part in held or part in used]


def _mirror(places: NDArray[np.int64], dimension: int, size: int, wrap: bool) -> NDArray[np.int64]:
    turned = places.copy()
    line = turned[:, dimension]
    turned[:, dimension] = -line % size if wrap else line.max() - line
    return turned


def _parts(
    part: int | tuple[int, int], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], int | None]:
    """A missing part as coordinates, and for a cable the dimension along which it leaves them upwards."""
    node = part if isinstance(part, int) else part[0]
    place = tuple(node // stride % size for stride, size in zip(strides, sizes, strict=True))
    if isinstance(part, int):
        return place, None
    other = tuple(part[1] // stride % size for stride, size in zip(strides, sizes, strict=True))
    dimension = next(d for d in range(len(sizes)) if place[d] != other[d])
    # The cable that closes a ring leaves its last place.
    return (other if other[dimension] - place[dimension] > 1 else place), dimension


def _hits(
    places: NDArray[np.int64],
    cables: NDArray[np.int64],
    lost: Sequence[tuple[tuple[int, ...], int | None]],
    sizes: Sequence[int],
    wraps: Sequence[bool],
) -> NDArray[np.int64]:
    """How many missing parts every translation of a layout needs."""
    axes = tuple(range(len(sizes)))
    nodes = np.zeros(tuple(sizes), dtype=np.int64)
    nodes[tuple(places.T)] = 1
    links = [np.zeros(tuple(sizes), dtype=np.int64) for _ in sizes]
    a, b = places[cables[:, 0]], places[cables[:, 1]]
    apart = b - a
    for d, size in enumerate(sizes):
        plus = goes_up(apart[:, d], size)
        minus = ~plus & (apart[:, d] != 0)
        links[d][tuple(a[plus].T)] = 1
        links[d][tuple(b[minus].T)] = 1
    hits = np.zeros(tuple(sizes), dtype=np.int64)
    for place, dimension in lost:
        needed = nodes if dimension is None else links[dimension]
        # At translation t the part is what stands at its place less t.
        hits += np.roll(np.flip(needed), tuple(at + 1 for at in place), axes)
    for d, (size, wrap) in enumerate(zip(sizes, wraps, strict=True)):
        if not wrap:
            # A layout must not leave a mesh.
            outside = np.arange(size) > size - 1 - places[:, d].max()
            hits[(slice(None),) * d + (outside,)] = np.iinfo(np.int64).max
    return hits
