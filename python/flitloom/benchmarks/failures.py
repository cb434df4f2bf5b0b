"""Tables by destination for failed tori: gaps to the bound, lanes and CPU time over many failures."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from math import prod

from flitloom.benchmarks import Context, Row
from flitloom.fabric import Subnet, examples
from flitloom.fabric.failures import without
from flitloom.tables.by_destination.making import route_subnet

#: Tori that lose one switch or one cable.
SINGLE = ((4, 4, 4), (8, 8), (6, 6, 4), (5, 5, 5), (8, 8, 8))
#: Tori that lose 0.5 to 5 % of their cables and up to two switches.
RANDOM = ((4, 4, 4), (8, 8), (16, 16), (8, 8, 8), (6, 6, 4), (4, 4, 4, 4), (5, 5, 5))
#: Of larger tori every such part fails.
LARGE, STEP = 256, 61
#: Random failures of every shape with ``--all``, and without.
DRAWN, FEW = 8, 2


def singles(sizes: tuple[int, ...], everything: bool) -> Iterator[Subnet]:
    """The torus less a switch or a cable: one of each kind, or all of them; of large ones a part of all."""
    whole = examples.torus(sizes)
    switches, cables = len(whole.switches), len(whole.cables)
    step = STEP if switches > LARGE else 1
    gone = range(0, switches, step) if everything else (0,)
    lost = range(0, cables, step) if everything else range(len(sizes))
    for switch in gone:
        yield without(whole, {switch}, set())
    for cable in lost:
        yield without(whole, set(), {cable})


def drawn(sizes: tuple[int, ...], everything: bool) -> Iterator[Subnet]:
    """The torus less cables and switches drawn at random, always the same ones."""
    for seed in range(DRAWN if everything else FEW):
        draw = random.Random(f"{sizes} {seed}")
        cables = round(prod(sizes) * len(sizes) * draw.uniform(0.005, 0.05))
        yield examples.torus(sizes, cables, draw.randrange(3), seed)


def run(context: Context) -> list[Row]:
    """Make and check the tables of every failed torus; a row per shape and kind of failure."""
    kinds = [("a switch or a cable", SINGLE, singles), ("0.5 to 5 %, 0 to 2 switches", RANDOM, drawn)]
    cases = [(name, sizes, make) for name, shapes, make in kinds for sizes in shapes]
    rows: list[Row] = []
    for done, (name, sizes, make) in enumerate(cases):
        context.progress(done, len(cases))
        gaps, shares, lanes, seconds, within, served = [], [], [], [], 0, 0
        for subnet in make(sizes, context.everything):
            begin = time.process_time()
            tables = route_subnet(subnet, safe_for=())
            seconds.append(time.process_time() - begin)
            bound = tables.bound["value"]
            gap = tables.report.max_load - bound
            served += tables.report.passed
            within += gap <= 2 or 100 * gap <= bound
            gaps.append(gap)
            shares.append(100 * gap / bound)
            lanes.append(tables.lanes)
        rows.append(
            {
                "torus": "x".join(map(str, sizes)),
                "less": name,
                "cases": len(gaps),
                "served": served,
                "largest gap": max(gaps),
                "mean gap %": round(sum(shares) / len(shares), 2),
                "within 2 or 1 %": within,
                "lanes": max(lanes),
                "seconds": round(max(seconds), 2),
            }
        )
    return rows
