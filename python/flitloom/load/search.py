"""The search for the load at which a network saturates: where its busiest source queue is always busy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flitloom.analysis.limit import Limit, Point, find_limit, near
from flitloom.analysis.utilisation import GROWING, STEADY
from flitloom.errors import DeadlockError
from flitloom.load.bounds import most_generated
from flitloom.load.cases import at_load
from flitloom.load.steady import Progress, begin_run, run_steady
from flitloom.networks.experiment import Experiment

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
#: What a row says of the network at the load just below.
BELOW = ("accepted", "latency")


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
        return {name: row[name] for name in (*BELOW, "verdict")}

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
