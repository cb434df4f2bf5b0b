"""Saturations of many cases, each searched for in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flitloom._core import LIMITS
from flitloom.errors import DeadlockError, SpecError
from flitloom.jobs import Job, Store
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.load.cases import Case, routes_of
from flitloom.load.full_start import full_start
from flitloom.load.kept import Kept, job
from flitloom.load.level import level_saturation
from flitloom.load.running import Pool, run_all
from flitloom.load.search import BELOW, Search
from flitloom.load.steady import Progress
from flitloom.load.unsteady import never_steady
from flitloom.load.verdicts import check_within
from flitloom.networks.experiment import Experiment, build_experiment

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables


class How(NamedTuple):
    """How a search is made."""

    within: float
    level: float | None
    #: Whether it is the only one, so that what is wrong with it ends all.
    alone: bool
    full_starts: bool


def run_saturation(
    cases: Sequence[Case],
    *,
    within: float = 0.01,
    level: float | None = None,
    full_starts: bool = False,
    window: int = 100,
    warm_up: int | None = None,
    measure: int = 10_000,
    limit: int = 400_000,
    workers: Pool = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    store: Store | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """The saturation of every case: the largest load at which no source queue grows.

    Runs near the limit say how busy the busiest source queue is; where a line through them reaches 1 is the
    saturation. It is compared with that of runs a quarter as long, and runs become longer until both agree.
    Loads above the bound of the routing are not run.

    Parameters
    ----------
    cases : sequence of Case
        What is compared.
    within : float
        Half the interval at which the search ends, as a share of the saturation.
    level : float, optional
        The critical load by the level rule instead: the largest load of which the network accepts this
        share, by bisection, for comparisons with other programs.
    full_starts : bool
        Begin the load just below with 100 packets per node as well.
    window, warm_up, measure, limit
        As in `run_steady`, for the row's latency; `limit` also ends every run of the search.
    workers : int, optional
        Processes; by default one per core, or per `threads` cores.
    threads : int
        Threads of each simulation.
    progress, store
        As in `run_curve`.

    Returns
    -------
    list of dict, bool
        Per case what tells it from others; ``saturation`` with its ``half_width`` and ends ``below`` and
        ``above`` (95 %), in flits per node and cycle; ``slope`` (relative growth of the utilisation over
        that of the load); the ``worst_node``; ``outcome`` ("measured", "proven": equal to the bound, "not
        reached": the network accepts all that nodes can send, "below": not even the smallest load,
        "undecided": the cycles ran out, with the interval so far, and advice as ``cause``, "no steady
        state": at no load, by the throttle, "deadlock", "impossible": the case cannot be run, with its
        ``cause``); the ``accepted`` load and the ``latency`` (cycles, from generation) just below; the
        ``plateau``: the load accepted at 1.2 times the saturation, which may be larger than it while some
        sources get less; ``full_start``, if
        asked for: the largest load up to ``below`` at which full source queues empty; ``bound``,
        ``bound_of``, ``router`` as in `run_steady`; number of ``points``, and cycles of the longest of them,
        ``run_cycles``: a network with two states may collapse later. And whether Ctrl-C ended the rest.

    Examples
    --------
    >>> from flitloom.load import make_cases, run_saturation
    >>> cases = make_cases({}, {"torus": ["4x4"], "pattern": ["rand"]})
    >>> [row], interrupted = run_saturation(cases, within=0.05, measure=1000)
    >>> row["outcome"], row["below"] < row["saturation"] < row["above"]
    ('measured', True)
    """
    how = How(within, level, len(cases) == 1, full_starts)
    _check(how)
    specs = [_possible(case, alone=len(cases) == 1) for case in cases]
    _check_open(specs)
    settings = {"window": window, "warm_up": warm_up, "measure": measure, "limit": limit, "threads": threads}
    fields = [
        spec if isinstance(spec, str) else spec.model_dump(mode="json", exclude_none=True) for spec in specs
    ]
    tasks = [(one, how, settings, case.tables) for case, one in zip(cases, fields, strict=True)]
    kept = None if store is None else Kept(store, _jobs(cases, fields, how, settings), dict, dict)
    made, interrupted = run_all(
        _search, tasks, workers=workers, threads=threads, progress=progress, kept=kept
    )
    rows = [{**case.labels, **row} for case, row in zip(cases, made, strict=True) if row is not None]
    return rows, interrupted


def _check(how: How) -> None:
    """Refuse what cannot be a precision or a level, and a level with full starts."""
    check_within(how.within)
    if how.level is not None and not 0 < how.level < 1:
        raise SpecError.at("level", f"{how.level:g} is not a share of a load", "it must be between 0 and 1")
    if how.level is not None and how.full_starts:
        raise SpecError.at("--full-start", "does not go with --level, which asks for another load")


def _check_open(specs: Sequence[Experiment | str]) -> None:
    """Refuse loads of closed sources."""
    if any(spec.traffic.has_closed_sources for spec in specs if isinstance(spec, Experiment)):
        raise SpecError.at(
            "traffic.outstanding",
            "closed sources accept all that they generate, so no load saturates them",
            "flitloom load curve measures how much they accept at each rate",
        )


def _jobs(
    cases: Sequence[Case],
    fields: Sequence[dict[str, Any] | str],
    how: How,
    settings: dict[str, Any],
) -> list[Job]:
    """All that the results of searches depend on."""
    asked = {**settings, "within": how.within, "level": how.level, "full_starts": how.full_starts}
    return [job("saturation", one, case.tables, **asked) for case, one in zip(cases, fields, strict=True)]


def _possible(case: Case, *, alone: bool) -> Experiment | str:
    """The experiment of a case, or why there is none, if that ends no others."""
    try:
        return case.experiment(kind="load", rate=1.0, cycles=LIMITS["start"])
    except SpecError as error:
        if alone:
            raise
        return str(error)


#: What a row says of the bound.
_BOUND = ("bound", "bound_of", "receive_bound", "router")


def empty_row(outcome: str, cause: str | None = None, **known: Any) -> dict[str, Any]:
    """A row without a saturation."""
    names = ("saturation", "half_width", "below", "above", "slope", "worst_node")
    return {
        **dict.fromkeys(names),
        "outcome": outcome,
        "cause": cause,
        **dict.fromkeys(BELOW),
        "plateau": None,
        "full_start": None,
        **dict.fromkeys(_BOUND),
        "points": 0,
        "run_cycles": 0,
        **known,
    }


def _search(
    fields: dict[str, Any] | str,
    how: How,
    settings: dict[str, Any],
    tables: Path | Tables | None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One search, in a worker process or here; what cannot be run ends no others."""
    if isinstance(fields, str):
        return empty_row("impossible", fields)
    try:
        return _found(fields, how, settings, tables, progress)
    except SpecError as error:
        if how.alone:
            raise
        return empty_row("impossible", str(error))


def _found(
    fields: dict[str, Any],
    how: How,
    settings: dict[str, Any],
    tables: Path | Tables | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """What a search finds."""
    experiment, routes = build_experiment(fields), routes_of(tables)
    known = {**ideal_loads(experiment, routes), "router": router_text(experiment, routes)}
    if never_steady(experiment):
        return empty_row("no steady state", **known)
    search = Search(experiment, how.within, settings, routes, known["bound"], progress)
    try:
        if how.level is not None:
            return {**empty_row("measured", **known), **level_saturation(search, how.level)}
        row = {**empty_row("undecided", **known), **search.run(), "run_cycles": search.longest}
        if how.full_starts and row["below"]:
            row["full_start"] = full_start(search, row["below"])
        return row | {"plateau": search.plateau(row["saturation"])}
    except DeadlockError as error:
        return empty_row("deadlock", str(error), **known, points=search.runs, run_cycles=search.longest)
