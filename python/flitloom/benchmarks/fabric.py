"""Tables by destination for fabrics as OpenSM routes them: load, bound, lanes and CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from flitloom.benchmarks import Context, Row
from flitloom.fabric import Subnet, examples
from flitloom.tables.by_destination.making import route_subnet


@dataclass(frozen=True)
class Case:
    """A fabric, and the largest load its tables should have.

    Attributes
    ----------
    name : str
        What it is.
    make : callable
        Makes it.
    above : int
        Host pairs above the bound that are good enough.
    lanes : int
        Lanes that should suffice.
    large : bool
        Only with ``--all``.
    """

    name: str
    make: Callable[[], Subnet]
    above: int = 0
    lanes: int = 8
    large: bool = False


CASES = (
    Case("4x4x4", lambda: examples.torus((4, 4, 4))),
    Case("16x16", lambda: examples.torus((16, 16))),
    Case("8x8x8", lambda: examples.torus((8, 8, 8))),
    Case("10x10x10", lambda: examples.torus((10, 10, 10)), 2, large=True),
    Case("8x8x8 less a switch", lambda: examples.torus((8, 8, 8), 0, 1), 1),
    Case("8x8x8 less a switch, 3 cables", lambda: examples.torus((8, 8, 8), 3, 1), 2),
    Case("8x8x8 less 5 % of cables", lambda: examples.torus((8, 8, 8), 76), 6, large=True),
    Case("16x16 mesh, express cables of 4", lambda: examples.express_mesh(16, 4), 8),
    Case("random regular, 128 of degree 6", lambda: examples.random_regular(128, 6), 2),
    Case("dragonfly, 19 groups of 6", lambda: examples.dragonfly(6, 3), 0),
    Case("HyperX 6x6", lambda: examples.hyperx((6, 6))),
    Case("fat tree of 8 ports", lambda: examples.fat_tree(8), 2),
    Case("twisted torus 4x4x8", lambda: examples.twisted_torus((4, 4, 8)), 2),
    Case("twisted torus 4x8x8", lambda: examples.twisted_torus((4, 8, 8)), 4, large=True),
)


def run(context: Context) -> list[Row]:
    """Make the tables of every case; each is checked on its own before it counts."""
    rows: list[Row] = []
    cases = [case for case in CASES if context.everything or not case.large]
    for done, case in enumerate(cases):
        context.progress(done, len(cases))
        subnet = case.make()
        begin = time.process_time()
        tables = route_subnet(subnet, safe_for=())
        seconds = time.process_time() - begin
        load, bound = tables.report.max_load, tables.bound["value"]
        good = load <= bound + case.above and tables.lanes <= case.lanes and tables.report.passed
        rows.append(
            {
                "fabric": case.name,
                "load": load,
                "bound": bound,
                "lanes": tables.lanes,
                "mode": tables.mode,
                "seconds": round(seconds, 3),
                "goal": f"load <= bound + {case.above}" if case.above else "load = bound",
                "verdict": "reached" if good else "missed",
            }
        )
    return rows
