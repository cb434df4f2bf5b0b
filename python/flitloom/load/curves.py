"""The load-latency curve: steady states at rising loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom._core import LIMITS
from flitloom.errors import DeadlockError, SpecError
from flitloom.jobs import Store
from flitloom.load.cases import Case, routes_of
from flitloom.load.failed import failed, require_possible
from flitloom.load.full_start import doubted
from flitloom.load.kept import Kept, job
from flitloom.load.running import Pool, run_all
from flitloom.load.steady import Progress, Steady, run_steady
from flitloom.load.verdicts import check_refine, middle
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.spec import Load

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables


def run_curve(
    cases: Sequence[Case],
    rates: Sequence[float],
    *,
    window: int = 100,
    warm_up: int | None = None,
    measure: int = 10_000,
    limit: int = 400_000,
    refine: float = 0.0,
    full_starts: bool = False,
    workers: Pool = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    store: Store | None = None,
) -> tuple[list[tuple[Case, Steady]], bool]:
    """Steady states of every case at every rate, on all cores, and around saturation.

    Parameters
    ----------
    cases : sequence of Case
        What is compared.
    rates : sequence of float
        Offered loads in flits per node and cycle.
    window, warm_up, measure, limit
        As in `run_steady`.
    refine : float
        Where a case saturates between two rates, measure loads between them until they differ by this share
        of the larger one; 0 for none.
    full_starts : bool
        Whether a load that is steady must also be so from full source queues; it is undecided otherwise.
    workers : int, optional
        Processes; by default one per core, or per `threads` cores.
    threads : int
        Threads of each simulation.
    progress : callable, optional
        Told how many of how many points are finished.
    store : Store, optional
        Where finished points are kept, as rows without windows; those that are there are not run again.

    Returns
    -------
    list of (Case, Steady), bool
        Finished points in the order of cases and rates, and whether Ctrl-C ended the rest. Of several points
        one that deadlocks or cannot be run says so in its row.

    Examples
    --------
    >>> from flitloom.load import curve_rows, make_cases, run_curve, verdict
    >>> cases = make_cases({}, {"torus": ["8x8"], "pattern": ["bcmp"]})
    >>> points, interrupted = run_curve(cases, [0.1, 0.9], measure=2000, workers=1)
    >>> [row["saturated"] for row in curve_rows(points)]
    [False, True]
    >>> verdict(curve_rows(points))["text"]
    'saturates between 0.1 and 0.9 flits/node/cycle'
    """
    check_refine(refine)
    settings = {"window": window, "warm_up": warm_up, "measure": measure, "limit": limit, "threads": threads}
    if full_starts:
        settings["full_starts"] = True
    pairs = [(case, rate) for case in cases for rate in rates]
    ways = (settings, len(pairs) == 1, workers, threads, progress, store)
    found, interrupted = _measured(pairs, *ways)
    while refine and not interrupted and (pairs := _between(cases, found, refine)):
        # Rounds of refinement are few points each: what is shown is how many of them.
        more, interrupted = _measured(pairs, *ways)
        found += more
    if len({point.row["cause"] for _, point in found}) == 1:
        # What ends all loads alike is not about one of them.
        require_possible(found[0][1])
    order = {id(case): place for place, case in enumerate(cases)}
    return sorted(found, key=lambda point: (order[id(point[0])], point[1].row["rate"])), interrupted


def _between(
    cases: Sequence[Case], found: Sequence[tuple[Case, Steady]], refine: float
) -> list[tuple[Case, float]]:
    """Loads in the middle of the windows in which cases saturate, where these are still too wide."""
    middles = [(case, middle([point.row for of, point in found if of is case], refine)) for case in cases]
    return [(case, rate) for case, rate in middles if rate is not None]


def _measured(
    pairs: Sequence[tuple[Case, float]],
    settings: dict[str, Any],
    alone: bool,
    workers: Pool,
    threads: int,
    progress: Callable[[int, int], None] | None,
    store: Store | None,
) -> tuple[list[tuple[Case, Steady]], bool]:
    """Steady states of cases at loads, on all cores; those that are finished, in order."""
    # Every spec is checked before anything is simulated.
    specs = [(case, case.experiment(kind="load", rate=rate, cycles=LIMITS["start"])) for case, rate in pairs]
    # The highest loads take longest: they begin.
    order = sorted(range(len(specs)), key=lambda place: -_rate(specs[place][1]))
    tasks = [
        (
            specs[place][1].model_dump(mode="json", exclude_none=True),
            settings,
            specs[place][0].tables,
            alone,
        )
        for place in order
    ]
    kept = None
    if store is not None:
        jobs = [job("steady state", fields, routes, **settings) for fields, _, routes, _ in tasks]
        kept = Kept(store, jobs, lambda point: point.row, Steady)
    made, interrupted = run_all(_point, tasks, workers=workers, threads=threads, progress=progress, kept=kept)
    found = {place: point for place, point in zip(order, made, strict=True) if point is not None}
    return [(specs[place][0], found[place]) for place in sorted(found)], interrupted


def _rate(experiment: Experiment) -> float:
    return Load.of(experiment.traffic).rate or 0.0


def _point(
    fields: dict[str, Any],
    settings: dict[str, Any],
    tables: Path | Tables | None,
    alone: bool,
    progress: Progress | None = None,
) -> Steady:
    """One point, in a worker process or here; what cannot be run ends no others."""
    routes, experiment = routes_of(tables), build_experiment(fields)
    try:
        ways = dict(settings)
        full_starts = ways.pop("full_starts", False)
        point = run_steady(experiment, **ways, tables=routes, progress=progress)
        return doubted(point, experiment, ways, routes) if full_starts else point
    except (DeadlockError, SpecError) as error:
        if alone:
            raise
        return failed(experiment, error, routes)


def curve_rows(points: Iterable[tuple[Case, Steady]]) -> list[dict[str, Any]]:
    """One row per point: what tells its case from others, and `Steady.row`."""
    return [{**case.labels, **point.row} for case, point in points]
