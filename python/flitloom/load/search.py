"""The load at which a network saturates: where its busiest source queue is busy in every cycle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flitloom._core import LIMITS
from flitloom.analysis.limit import Limit, Point, find_limit, near
from flitloom.analysis.utilisation import GROWING, STEADY
from flitloom.errors import DeadlockError, SpecError
from flitloom.jobs import Job, Store
from flitloom.load.bounds import ideal_loads, most_generated, router_text
from flitloom.load.cases import Case, at_load, routes_of
from flitloom.load.full_start import full_start
from flitloom.load.kept import Kept, job
from flitloom.load.level import level_saturation
from flitloom.load.running import Pool, run_all
from flitloom.load.steady import Progress, begin_run, run_steady
from flitloom.load.unsteady import never_steady
from flitloom.load.verdicts import check_within
from flitloom.spec import Load
from flitloom.spec.experiment import Experiment, build_experiment

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: A search ends below this load, in flits per node and cycle.
LEAST = 1e-4
#: Cycles of the first run of a search.
FIRST = 8_000
#: Slopes of the utilisation over the load, as logarithms, that steps are made by; the first one.
SLOPES, FIRST_SLOPE = (1.5, 20.0), 2.0
#: Logarithms of a step down and up at most.
STEPS = (-0.4, 0.5)
#: Scatter of points about a line above which it is taken to be curved.
SCATTER = 3.0
#: Points of a line that is believed.
ENOUGH = 4
#: Runs of a search at most.
RUNS = 40
#: How far beyond the saturation the plateau is measured, as a share of it.
BEYOND = 1.2


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
    saturation. Loads above the bound of the routing are not run.

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
        "undecided": the cycles ran out, with the interval so far, "no steady state": at no load, by the
        throttle, "deadlock", "impossible": the case cannot be run, with its ``cause``); the ``accepted``
        load and the ``latency`` (cycles, from generation) just below; the ``plateau``: the load accepted at
        1.2 times the saturation, which may be larger than it while some sources get less; ``full_start``, if
        asked for: the largest load up to ``below`` at which full source queues empty; ``bound``,
        ``bound_of``, ``router`` as in `run_steady`; number of ``points``. And whether Ctrl-C ended the rest.

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
    loads = [spec.traffic for spec in specs if isinstance(spec, Experiment)]
    if any(isinstance(load, Load) and load.outstanding is not None for load in loads):
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


#: What a row says of the network at the load just below.
_BELOW = ("accepted", "latency")
#: What it says of the bound.
_BOUND = ("bound", "bound_of", "receive_bound", "router")


def empty_row(outcome: str, cause: str | None = None, **known: Any) -> dict[str, Any]:
    """A row without a saturation."""
    names = ("saturation", "half_width", "below", "above", "slope", "worst_node")
    return {
        **dict.fromkeys(names),
        "outcome": outcome,
        "cause": cause,
        **dict.fromkeys(_BELOW),
        "plateau": None,
        "full_start": None,
        **dict.fromkeys(_BOUND),
        "points": 0,
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
        row = {**empty_row("undecided", **known), **search.run()}
        if how.full_starts and row["below"]:
            row["full_start"] = full_start(search, row["below"])
        return row | {"plateau": search.plateau(row["saturation"])}
    except DeadlockError as error:
        return empty_row("deadlock", str(error), **known, points=search.runs)


@dataclass
class Search:
    """One search for the load at which the busiest source queue is busy in every cycle."""

    experiment: Experiment
    within: float
    settings: dict[str, Any]
    tables: Tables | None
    bound: float | None
    progress: Progress | None
    points: list[Point] = field(default_factory=list)
    #: The busiest source of every point.
    worst: list[int] = field(default_factory=list)
    runs: int = 0
    cycles: int = FIRST
    #: Largest load that was steady, smallest that was growing or is proven to be.
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self.reach = most_generated(self.experiment)
        self.cap = self.high = min(self.reach, math.inf if self.bound is None else self.bound)
        # Of a queue that is busy all the time short runs say anything: nothing is run at the bound itself.
        self.top = round(self.cap * (1 - self.within), 6)

    def at(self, load: float) -> Experiment:
        """The experiment at a load, with its own seed."""
        return at_load(self.experiment, load, self.experiment.seed + self.runs)

    def told(self) -> None:
        """One more run is finished."""
        self.runs += 1
        if self.progress is not None:
            self.progress(self.runs, self.runs + 1)

    def measure(self, load: float) -> Point:
        """How busy the source queues are at a load."""
        run = begin_run(
            self.at(load), self.settings["window"], threads=self.settings["threads"], tables=self.tables
        )
        found = run.look(min(max(self.cycles, run.least()), self.settings["limit"]))
        self.told()
        point = Point(load, found.log, found.error, found.verdict)
        self.points.append(point)
        self.worst.append(found.worst // run.series.sizes.get("queue", 1))
        if point.verdict == STEADY:
            self.low = max(self.low, load)
        if point.verdict == GROWING and load < self.high:
            self.high = load
        return point

    def run(self) -> dict[str, Any]:
        """Search, and what was found."""
        if ended := self._approach():
            return ended
        distance, side = math.inf, 1
        while self.runs < RUNS:
            found = find_limit(self.points)
            if self.low and self.high - self.low < self.within * self.high:
                # Too steep for a line: what is known is between which loads it is, if longer runs agree.
                self.cycles = min(4 * self.cycles, self.settings["limit"])
                if self._agree():
                    return self._between()
                continue
            if found is None:
                self.measure(round((self.low + min(self.high, self.top)) / 2, 6))
                continue
            if found.points >= ENOUGH and 2 * found.error < self.within / 2:
                if row := self._confirmed(found):
                    return row
                self._longer()
            elif found.points >= ENOUGH and 2 * found.error > self.within:
                self._longer()
            if found.scatter > SCATTER:
                distance = max(distance / 2, self.within / 2) if math.isfinite(distance) else 0.02
            step = min(distance, max(0.015, 2 * found.error))
            self.measure(self._inside(found.load * math.exp(side * step)))
            side = -side
        found = find_limit(self.points)
        # No line was believed: neither is its interval.
        return (
            self._bracket("undecided") if self.low and self.high < self.cap else self._row(found, "undecided")
        )

    def _agree(self) -> bool:
        """Whether longer runs at both ends of the bracket say the same; else it is as wide as others say."""
        low, high = self.low, self.high
        if high != self.cap and self.measure(high).verdict != GROWING:
            growing = [point.load for point in self.points if point.verdict == GROWING and point.load > high]
            self.high = min(growing, default=self.cap)
            return False
        if self.measure(low).verdict != STEADY:
            steady = [point.load for point in self.points if point.verdict == STEADY and point.load < low]
            self.low = max(steady, default=0.0)
            return False
        return True

    def _between(self) -> dict[str, Any]:
        """The middle between the largest steady load and the smallest growing one."""
        row = self._steady_row(self.low) if self.low else {}
        row.pop("verdict", None)
        return {**row, **self._bracket("measured")}

    def _bracket(self, outcome: str) -> dict[str, Any]:
        """What is known without a line."""
        return {
            "saturation": round((self.low + self.high) / 2, 6),
            "half_width": round((self.high - self.low) / 2, 6),
            "below": self.low,
            "above": self.high,
            "worst_node": self.worst[-1],
            "outcome": outcome,
            "points": self.runs,
        }

    def _approach(self) -> dict[str, Any] | None:
        """Come near the limit by secants; what was found if that ends the search."""
        load = min(self.top, self.high / 2)
        while len(near(self.points)) < 3 and self.runs < RUNS:
            point = self.measure(load)
            at_top = load >= self.top and point.verdict != GROWING
            if at_top and (ended := self._at_the_top(point)):
                return ended
            if self.high <= LEAST:
                return {"outcome": "below", "above": self.high, "points": self.runs}
            if self.low and self.high - self.low < self.within * self.high:
                break
            load = self._inside(point.load * math.exp(self._step()))
        return None

    def _step(self) -> float:
        """The next step, as a logarithm, by the slope between the last two points."""
        slope, last = FIRST_SLOPE, self.points[-1]
        if len(self.points) > 1:
            before = self.points[-2]
            if last.load != before.load and math.isfinite(before.log):
                slope = (last.log - before.log) / math.log(last.load / before.load)
        slope = min(max(slope, SLOPES[0]), SLOPES[1])
        step = min(max(-last.log / slope, STEPS[0]), STEPS[1])
        # Points at one place say nothing of the slope.
        return step if abs(step) > 0.01 else math.copysign(0.015, step)

    def _inside(self, load: float) -> float:
        """A load within the bracket, which is never left."""
        if self.high == self.cap and load > self.top:
            return self.top
        if not self.low < load < self.high:
            load = (self.low + self.high) / 2
        return round(load, 6)

    def _at_the_top(self, point: Point) -> dict[str, Any] | None:
        """A load just below the bound, or below what nodes can send, that does not grow."""
        while point.verdict != STEADY:
            if self.cycles >= self.settings["limit"] or point.verdict == GROWING:
                return None
            self._longer()
            point = self.measure(self.top)
        proven = self.bound is not None and self.bound < self.reach
        row = self._steady_row(self.top)
        row.pop("verdict", None)
        return {
            **row,
            "saturation": self.bound if proven else None,
            "half_width": self.bound * self.within if proven and self.bound else None,
            "below": self.top,
            "above": self.bound if proven else None,
            "outcome": "proven" if proven else "not reached",
            "worst_node": self.worst[-1],
            "points": self.runs,
        }

    def _longer(self) -> None:
        self.cycles = min(2 * self.cycles, self.settings["limit"])

    def _confirmed(self, found: Limit) -> dict[str, Any] | None:
        """What was found, if runs on both sides agree with it."""
        above, below = found.load * (1 + self.within), found.load * (1 - self.within)
        if above >= self.cap:
            ended = self._at_the_top(self.measure(self.top))
            if ended is not None:
                return ended
        elif above < self.high and self.measure(above).verdict == STEADY:
            return None
        row = self._steady_row(below)
        return None if row.pop("verdict") == GROWING else {**self._row(found, "measured"), **row}

    def _steady_row(self, load: float) -> dict[str, Any]:
        """Accepted load and latency just below the limit."""
        limit = min(self.settings["limit"], max(8 * self.cycles, FIRST))
        row = run_steady(self.at(load), **{**self.settings, "limit": limit}, tables=self.tables).row
        self.told()
        return {name: row[name] for name in (*_BELOW, "verdict")}

    def plateau(self, saturation: float | None) -> float | None:
        """The load accepted beyond a saturation; nothing where sources do not reach that far, or deadlock."""
        load = round(BEYOND * (saturation or math.inf), 6)
        if load > self.reach * (1 - self.within):
            return None
        settings = {**self.settings, "limit": FIRST, "warm_up": self.cycles}
        try:
            row = run_steady(self.at(load), **settings, tables=self.tables).row
        except DeadlockError:
            # That ends no search for the saturation.
            return None
        self.told()
        return float(row["accepted"])

    def _row(self, found: Limit | None, outcome: str) -> dict[str, Any]:
        """What a line through the points says."""
        if found is None:
            return {"below": self.low or None, "above": self.high, "outcome": outcome, "points": self.runs}
        near_limit = min(range(len(self.points)), key=lambda place: abs(self.points[place].log))
        saturation = min(found.load, self.bound or math.inf)
        return {
            "saturation": round(saturation, 6),
            "half_width": round(found.half_width, 6),
            "below": round(found.load - found.half_width, 6),
            "above": round(min(found.load + found.half_width, max(self.bound or math.inf, saturation)), 6),
            "slope": round(found.slope, 2),
            "worst_node": self.worst[near_limit],
            "outcome": outcome,
            "points": self.runs,
        }
