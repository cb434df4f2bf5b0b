"""Bursts: how long a collective of several packets per node takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.ground import ranks
from flitloom.load.cases import Case, routes_of
from flitloom.load.running import Pool, run_all
from flitloom.networks.experiment import build_experiment
from flitloom.run.simulation import begin_experiment, left_working

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables


def run_bursts(
    cases: Sequence[Case],
    packets: int,
    *,
    length: int = 8,
    workers: Pool = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """Bursts of all cases: every node sends packets that are all there in cycle 0.

    Parameters
    ----------
    cases : sequence of Case
        What is compared.
    packets : int
        Packets per node.
    length : int
        Flits per packet.
    workers : int, optional
        Processes; by default one per core, or per `threads` cores.
    threads : int
        Threads of each simulation.
    progress : callable, optional
        Told how many of how many are finished.

    Returns
    -------
    list of dict, bool
        What tells a case from others, its ``duration`` (cycles), ``age_sum`` (sum of the ages of all packets,
        in cycles, each with the 2 of `Result.duration`) and ``bound``; and whether Ctrl-C ended the
        rest.

    Examples
    --------
    >>> from flitloom.load import make_cases, run_bursts
    >>> rows, interrupted = run_bursts(make_cases({}, {"torus": ["8x8"], "pattern": ["trns"]}), 4, workers=1)
    >>> rows[0]["duration"] >= rows[0]["bound"]
    True
    """
    traffic = {"kind": "collective", "payload": length - 1, "packets": packets}
    specs = [case.experiment(**traffic).model_dump(mode="json", exclude_none=True) for case in cases]
    tasks = [(fields, case.tables, threads) for case, fields in zip(cases, specs, strict=True)]
    made, interrupted = run_all(_burst, tasks, workers=workers, threads=threads, progress=progress)
    rows = [{**case.labels, **row} for case, row in zip(cases, made, strict=True) if row is not None]
    return rows, interrupted


def _burst(
    fields: dict[str, Any],
    tables: Path | Tables | None,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """One burst, in a worker process or here."""
    on_ranks = ranks.started() > 1
    experiment, _ = left_working(build_experiment(fields))
    routes = routes_of(tables)
    simulation = begin_experiment(experiment, links=False, tables=routes, threads=threads, on_ranks=on_ranks)
    simulation.run(progress=progress)
    result = simulation.result()
    return {
        "duration": result.duration,
        "age_sum": result.age_sum,
        "mean_age": result.age_sum / result.packets_delivered,
        "bound": result.lower_bound,
        "packets_delivered": result.packets_delivered,
    }
