"""``flitloom bench scale``: how near to the bound, and in which time, on small and large tori."""

from __future__ import annotations

import time

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.spec import PERMUTATIONS

#: Seconds that a search gets on a torus, and the gap in percent that is its goal.
SCALES = {"16x16": (1.0, 0.0), "32x32": (5.0, 0.8), "64x64": (30.0, 1.0), "128x128": (60.0, 2.5)}


def run(context: Context) -> list[Row]:
    """Durations of one 8-flit packet per node in dimension order, by torus and pattern.

    A search ends at the lower bound, or after the seconds of its torus: 1, 5, 30 and 60 for half a second per
    measurement, in proportion for others. Seconds printed are CPU time. The goal for the gap is in percent.
    """
    sizes = [size for size in SCALES if context.everything or size != "128x128"]
    rows: list[Row] = []
    for size in sizes:
        limit, goal = SCALES[size]
        network = fl.Network(fl.Torus(size))
        for pattern in PERMUTATIONS:
            collective = fl.Collective(pattern, payload=7)
            begin = time.process_time()
            plan = fl.plans.search(network, collective, seconds=limit * context.seconds / 0.5)
            seconds = time.process_time() - begin
            rows.append(
                {
                    "torus": size,
                    "pattern": pattern,
                    "duration": plan.duration,
                    "bound": plan.bound,
                    "gap_percent": round(100 * (plan.duration / plan.bound - 1), 2),
                    "goal_percent": goal,
                    "seconds": round(seconds, 2),
                }
            )
            context.progress(len(rows), len(sizes) * len(PERMUTATIONS))
    return rows
