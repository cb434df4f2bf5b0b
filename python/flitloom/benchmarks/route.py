"""How good routing tables are and how long they take, in CPU time of one core."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from flitloom.benchmarks import Context, Row
from flitloom.spec import Torus
from flitloom.tables.by_source.checking import check
from flitloom.tables.by_source.making import route

#: Measurements; the median counts. Very fast cases are measured more often.
MEASUREMENTS, MOST = 3, 21


@dataclass(frozen=True)
class Case:
    """A torus and what its balanced tables should reach.

    Attributes
    ----------
    sizes : str
        The torus.
    max_load, above_bound : int or None
        Largest load, absolutely or above the lower bound.
    min_load : int or None
        Smallest load.
    sigma4 : float or None
        Deviation of the loads.
    seconds : float
        CPU time of making them.
    """

    sizes: str
    seconds: float
    max_load: int | None = None
    min_load: int | None = None
    sigma4: float | None = None
    above_bound: int = 0
    failed: tuple[int, ...] = ()


CASES = (
    Case("4x2", 0.002, 4, 4),
    Case("4x2x2", 0.002, 10, 6),
    Case("4x2x2x2", 0.002, 26, 9, 6.185),
    Case("4x4x4", 0.05, 32),
    Case("8x8x8", 0.05, 512),
    Case("8x8x8x2", 0.3, above_bound=2),
    Case("8x8x8x2", 1.0, failed=(0,)),
    Case("8x8x8x8", 2.0),
    Case("16x16x16", 2.0),
)
#: The check of a table of 4096 nodes.
CHECKED = ("8x8x8x8", 5.0)


def run(context: Context) -> list[Row]:
    """Make the tables of every case, and check the largest."""
    rows: list[Row] = []
    for done, case in enumerate(CASES):
        times: list[float] = []
        while not times or (
            sum(times) < (context.seconds if len(times) < MEASUREMENTS else 0.02) and len(times) < MOST
        ):
            started = time.process_time()
            tables = route(Torus(case.sizes), failed_nodes=case.failed, exact_bound=False)
            times.append(time.process_time() - started)
        wanted = case.max_load if case.max_load is not None else tables.bound + case.above_bound
        good = tables.max_load <= wanted
        good &= case.min_load is None or tables.min_load >= case.min_load
        good &= case.sigma4 is None or tables.sigma4 <= case.sigma4
        seconds = median(times)
        goal = f"load <= {wanted}" + (f", >= {case.min_load}" if case.min_load is not None else "")
        goal += f", sigma4 <= {case.sigma4}" if case.sigma4 is not None else ""
        rows.append(
            _row(
                f"balanced tables, {case.sizes}" + (" less a node" if case.failed else ""),
                f"{tables.min_load} to {tables.max_load}",
                tables.bound,
                round(tables.sigma4, 4),
                seconds,
                f"{goal} in {case.seconds:g} s",
                _verdict(good, seconds <= case.seconds),
            )
        )
        context.progress(done + 1, len(CASES) + 1)
    tables = route(Torus(CHECKED[0]))
    started = time.process_time()
    passed = check(tables).passed
    seconds = time.process_time() - started
    goal = f"passed in {CHECKED[1]:g} s"
    verdict = _verdict(passed, seconds <= CHECKED[1])
    rows.append(_row(f"check, {CHECKED[0]}", "", None, None, seconds, goal, verdict))
    context.progress(len(CASES) + 1, len(CASES) + 1)
    return rows


def _row(
    case: str, loads: str, bound: int | None, sigma4: float | None, seconds: float, goal: str, verdict: str
) -> Row:
    return {
        "case": case,
        "loads": loads,
        "bound": bound,
        "sigma4": sigma4,
        "seconds": round(seconds, 5),
        "goal": goal,
        "verdict": verdict,
    }


def _verdict(good: bool, quick: bool) -> str:
    if good and quick:
        return "reached"
    return "missed: " + " and ".join(text for text, met in (("quality", good), ("time", quick)) if not met)
