"""Tables by destination for all traffic of a subnet: what they are safe for, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Callable

from flitloom.benchmarks import Context, Row
from flitloom.fabric import Subnet, examples
from flitloom.tables.by_destination.beside import KINDS
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.making import route_subnet

#: Fabrics, whether only with ``--all``, and how they are made: tori less a switch and 5 % of their cables.
CASES: tuple[tuple[str, bool, Callable[[], Subnet]], ...] = (
    ("4x4x4 less 1 + 9", False, lambda: examples.torus((4, 4, 4), 9, 1)),
    ("5x5x5 less 1 + 18", True, lambda: examples.torus((5, 5, 5), 18, 1)),
    ("6x6 less 1 + 4", False, lambda: examples.torus((6, 6), 4, 1)),
    ("8x8 less 1 + 6", False, lambda: examples.torus((8, 8), 6, 1)),
    ("16x16", True, lambda: examples.torus((16, 16))),
    ("8x8x8", True, lambda: examples.torus((8, 8, 8))),
    ("dragonfly(6,3)", False, lambda: examples.dragonfly(6, 3)),
    ("random, 32 of degree 4", False, lambda: examples.random_regular(32, 4)),
    ("fat tree of 8 ports", False, lambda: examples.fat_tree(8)),
)
#: Lanes of the links.
LANES = (8, 6, 4)


def safe_kinds(tables: SubnetTables) -> str:
    """Which of the four kinds of traffic are safe, in a few words."""
    unsafe = [kind.kind for kind in tables.report.kinds if kind.deadlock is not False]
    if len(unsafe) == len(KINDS) - 1:
        return KINDS[0]
    return f"all but {', '.join(unsafe)}" if unsafe else "all"


def run(context: Context) -> list[Row]:
    """Make tables for everything and for host pairs alone; a row per fabric and number of lanes."""
    rows: list[Row] = []
    cases = [case for case in CASES if context.everything or not case[1]]
    for done, (name, _, make) in enumerate(cases):
        subnet = make()
        for step, lanes in enumerate(LANES):
            context.progress(len(LANES) * done + step, len(LANES) * len(cases))
            begin = time.process_time()
            tables = route_subnet(subnet, lanes=lanes)
            seconds = time.process_time() - begin
            plain = route_subnet(subnet, lanes=lanes, safe_for=())
            rows.append(
                {
                    "fabric": name,
                    "lanes": lanes,
                    "bound": tables.bound["value"],
                    "load": tables.report.max_load,
                    "safe for": safe_kinds(tables),
                    "for pairs": plain.report.max_load,
                    "these safe for": safe_kinds(plain),
                    "seconds": round(seconds, 2),
                }
            )
    return rows
