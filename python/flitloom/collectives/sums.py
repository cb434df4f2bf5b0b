"""Sums over a healthy torus in three rounds, over several dimensions at once: found by a search, and stored.

Every node does the same, shifted: in the first round it sends its own part to its neighbours; then sums of
some of the parts it has, to as many nodes as it has links, so that nobody adds the same twice. `python -m
flitloom.collectives.sums 8x8 --seconds 600` prints what it finds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from itertools import product
from math import prod

#: A node, seen from another one.
Vector = tuple[int, ...]
#: From where a node gets a sum, and whose parts it adds up, seen from there.
VectorSending = tuple[Vector, tuple[Vector, ...]]
#: Farthest nodes that sums come from in the second round, in hops.
REACH = 3
#: Seconds for one choice of those nodes.
TURN = 30.0
#: What a node receives in the second and in the third round: from where, and whose parts, seen from there;
#: then which of the sums that came there in the second round as well.
Second = tuple[tuple[Vector, tuple[Vector, ...]], ...]
Third = tuple[tuple[Vector, tuple[Vector, ...], tuple[int, ...]], ...]


def units(sizes: Sequence[int]) -> list[Vector]:
    """The nodes next to node 0."""
    return [
        tuple(step % size if place == dimension else 0 for place, size in enumerate(sizes))
        for dimension in range(len(sizes))
        for step in ((1,) if sizes[dimension] == 2 else (1, -1))
    ]


def added(a: Vector, b: Vector, sizes: Sequence[int]) -> Vector:
    """The sum of two nodes."""
    return tuple((x + y) % size for x, y, size in zip(a, b, sizes, strict=True))


def distance(node: Vector, sizes: Sequence[int]) -> int:
    """Hops from node 0."""
    return sum(min(x, size - x) for x, size in zip(node, sizes, strict=True))


def rounds_of(sizes: Sequence[int], second: Second, third: Third) -> list[list[VectorSending]]:
    """What a node receives, round by round: from where, and the sum of whose parts, seen from there."""
    first: list[VectorSending] = [(unit, ((0,) * len(sizes),)) for unit in units(sizes)]
    last: list[VectorSending] = []
    for whence, singles, wholes in third:
        far = [added(second[one][0], part, sizes) for one in wholes for part in second[one][1]]
        last.append((whence, (*singles, *far)))
    return [first, list(second), last]


def find(
    sizes: Sequence[int], seconds: float, seed: int = 1, hops: int | None = None
) -> tuple[Second, Third] | None:
    """Sums in three rounds with as few hops as are found in this many seconds, fewer than `hops`.

    For random nodes that the second round comes from, a constraint program (OR-Tools CP-SAT) covers every
    node exactly once.

    Examples
    --------
    >>> from flitloom.collectives.sums import find, rounds_of
    >>> found = find((3, 3), seconds=0.5)
    >>> [len(row) for row in rounds_of((3, 3), *found)][0]
    4
    """
    dice = random.Random(seed)
    near = [node for node in product(*map(range, sizes)) if 2 <= distance(node, sizes) <= REACH]
    end = time.monotonic() + seconds
    best: tuple[Second, Third] | None = None
    while best is None or time.monotonic() < end:
        left = max(end - time.monotonic(), 0.1)
        sources = dice.sample(near, min(len(units(sizes)), len(near)))
        found = _covered(sizes, sources, min(TURN, left), dice.randrange(1 << 30), hops)
        if found is not None:
            best = found
            hops = _hops(sizes, found)
        elif time.monotonic() >= end:
            break
    return best


def _hops(sizes: Sequence[int], found: tuple[Second, Third]) -> int:
    return sum(distance(row[0], sizes) for rows in found for row in rows)


def _covered(
    sizes: Sequence[int], sources: list[Vector], seconds: float, seed: int, below: int | None
) -> tuple[Second, Third] | None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    ball = [(0,) * len(sizes), *units(sizes)]
    cover: dict[Vector, list[cp_model.IntVar]] = {node: [] for node in product(*map(range, sizes))}
    parts = {(place, unit): model.new_bool_var("") for place in range(len(sources)) for unit in ball}
    for (place, unit), taken in parts.items():
        cover[added(sources[place], unit, sizes)].append(taken)
    used, singles, wholes = {}, {}, {}
    for whence in list(cover)[1:]:
        used[whence] = model.new_bool_var("")
        for unit in ball:
            singles[whence, unit] = taken = model.new_bool_var("")
            model.add_implication(taken, used[whence])
            cover[added(whence, unit, sizes)].append(taken)
        for place, source in enumerate(sources):
            wholes[whence, place] = whole = model.new_bool_var("")
            model.add_implication(whole, used[whence])
            for unit in ball:
                both = model.new_bool_var("")
                model.add_bool_or(~whole, ~parts[place, unit], both)
                model.add_implication(both, whole)
                model.add_implication(both, parts[place, unit])
                cover[added(added(whence, source, sizes), unit, sizes)].append(both)
    for node, taken_by in cover.items():
        # What is there at first and after the first round must not come again.
        model.add(sum(taken_by) == (0 if node in ball else 1))
    model.add(sum(used.values()) <= len(ball) - 1)
    hops = sum(distance(whence, sizes) * taken for whence, taken in used.items())
    first = sum(distance(source, sizes) for source in sources)
    if below is not None:
        model.add(hops <= below - first - 1)
    model.minimize(hops)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    second = tuple(
        (source, tuple(unit for unit in ball if solver.value(parts[place, unit])))
        for place, source in enumerate(sources)
    )
    third = tuple(
        (
            whence,
            tuple(unit for unit in ball if solver.value(singles[whence, unit])),
            tuple(place for place in range(len(sources)) if solver.value(wholes[whence, place])),
        )
        for whence in used
        if solver.value(used[whence])
    )
    return second, third


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the best sums found for a torus, as this project stores them."""
    parser = argparse.ArgumentParser(prog="python -m flitloom.collectives.sums", description=__doc__)
    parser.add_argument("sizes", help="Sizes, e.g. 8x8.")
    parser.add_argument("--seconds", type=float, default=60.0, help="How long to search.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    sizes = tuple(int(size) for size in given.sizes.split("x"))
    if prod(sizes) > 1 << 10 or min(sizes) < 2:
        parser.error(f"{given.sizes}: sizes of at least 2, and at most 1024 nodes")
    found = find(sizes, given.seconds, given.seed)
    if found is None:
        print(f"nothing found for {given.sizes} in {given.seconds:g} s", file=sys.stderr)
        return 1
    print(f"{sizes}: {found},  # {_hops(sizes, found)} hops")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
