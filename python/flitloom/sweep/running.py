"""Run the simulations of a sweep that are not finished yet, and read what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from flitloom.errors import CycleLimitError, DeadlockError, UnreachableError
from flitloom.jobs import Store, run_jobs
from flitloom.load.finite import run_judged, window_of
from flitloom.networks.experiment import Experiment
from flitloom.run.simulation import begin_experiment, run_experiment
from flitloom.sweep.points import Point

#: What a row says of a simulation, besides its id, the values of the grid and the seed.
ROWS = (
    "outcome",
    "duration",
    "bound",
    "latency",
    "throughput",
    "saturated",
    "packets_delivered",
    "flit_hops",
    "cycles",
    "seconds",
)


def run_point(spec: dict[str, Any]) -> dict[str, Any]:
    """One simulation; its result is a function of the spec alone, except for the seconds."""
    begin = time.perf_counter()
    totals: dict[str, Any] = {"outcome": "delivered", "duration": None}
    try:
        totals |= _totals(Point(spec).experiment)
        if Point(spec).experiment.stop_at is not None:
            totals["outcome"] = "stopped"
    except DeadlockError as error:
        totals |= {"outcome": "deadlock", "cycles": error.cycle, "cause": str(error)}
    except CycleLimitError as error:
        totals |= {"outcome": "cycle limit", "cycles": error.cycles, "packets_delivered": error.delivered}
        totals["cause"] = str(error)
    except UnreachableError as error:
        totals |= {"outcome": "unreachable", "cause": str(error)}
    return {"totals": totals, "seconds": time.perf_counter() - begin}


def _totals(experiment: Experiment) -> dict[str, Any]:
    """The totals of one simulation; of a load of constant rate also whether the network follows it."""
    window = window_of(experiment)
    if window is None:
        return run_experiment(experiment, links=False).summary()
    simulation = begin_experiment(experiment, links=False, windows=window)
    judged = run_judged(simulation)
    simulation.run(until=experiment.stop_at)
    summary = {**simulation.result().summary(), "throughput": judged.throughput}
    if judged.saturated:
        # It grows with the length of the run.
        summary["latency"] = None
    return {**summary, "saturated": judged.saturated}


def run_sweep(
    points: Sequence[Point],
    store: Store,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run all simulations that the store does not have; see `flitloom.jobs.run_jobs`.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from flitloom.jobs import Store
    >>> from flitloom.sweep import Sweep, run_sweep, sweep_rows
    >>> sweep = Sweep({"topology": {"sizes": "4x4"}, "traffic": {"kind": "collective", "pattern": "shfl"}},
    ...               {"traffic.payload": [7, 14]})
    >>> store = Store(":memory:")
    >>> run_sweep(sweep.points(), store, executor=ThreadPoolExecutor(1))
    2
    >>> [row["duration"] for row in sweep_rows(sweep.points(), store)]
    [13, 20]
    """
    return run_jobs(points, store, run_point, executor=executor, workers=workers, progress=progress)


def sweep_rows(points: Sequence[Point], store: Store) -> Iterator[dict[str, Any]]:
    """One row per finished simulation, in the order of the points."""
    finished = store.finished()
    for point in points:
        if point.id in finished:
            found = store.result(point.id)
            totals = {**found["totals"], "seconds": found["seconds"]}
            yield {
                "id": point.id[:16],
                **point.values,
                "seed": point.spec["seed"],
                **{name: totals.get(name) for name in ROWS},
            }


def sweep_causes(points: Sequence[Point], store: Store) -> dict[str, tuple[int, str, str]]:
    """Why simulations were not delivered: per outcome how many there are, the id of the first, and its cause.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from flitloom.jobs import Store
    >>> from flitloom.sweep import Sweep, run_sweep, sweep_causes
    >>> dead = {"sizes": "4x4", "failed_nodes": [5]}
    >>> traffic = {"kind": "collective", "pattern": "brev"}
    >>> points = Sweep({"topology": dead, "traffic": traffic}, {"seed": [1, 2]}).points()
    >>> store = Store(":memory:")
    >>> run_sweep(points, store, executor=ThreadPoolExecutor(1))
    2
    >>> sweep_causes(points, store)["unreachable"][2].split("; ")[1]
    'node 5 has failed, and no route leads to it: give traffic that leaves it out'
    """
    finished = store.finished()
    causes: dict[str, tuple[int, str, str]] = {}
    for point in points:
        totals = store.result(point.id)["totals"] if point.id in finished else {}
        if "cause" in totals:
            first = causes.get(totals["outcome"], (0, point.id[:16], totals["cause"]))
            causes[totals["outcome"]] = (first[0] + 1, *first[1:])
    return causes
