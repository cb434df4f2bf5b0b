"""The search for the load at which a network saturates: where its busiest source queue is always busy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flitloom.analysis.limit import LONGER, Limit, Point, find_limit, near, settled
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
FIRST = 4_000
#: Slopes of the utilisation over the load, as logarithms, that steps are made by; the first one.
SLOPES, FIRST_SLOPE = (1.5, 20.0), 2.0
#: Logarithms of a step down and up at most.
STEPS = (-0.4, 0.5)
#: Share of a load by which longer runs may find a limit beyond the ends that shorter ones found.
ASIDE = 0.1
#: Scatter of points about a line above which it is taken to be curved.
SCATTER = 3.0
#: Points of a line that is believed, and after which runs become longer if it is not.
ENOUGH, MANY = 4, 8
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
    #: Cycles of the longest run near the limit.
    longest: int = 0
    #: Cycles of the next run.
    cycles: int = FIRST
    #: Largest load that was steady in runs of as many cycles, smallest that was growing or is proven to be.
    low: float = 0.0
    high: float = 1.0
    #: Between which loads to look.
    floor: float = 0.0
    ceiling: float = 1.0

    def __post_init__(self) -> None:
        self.reach = most_generated(self.experiment)
        self.cap = self.high = self.ceiling = min(self.reach, math.inf if self.bound is None else self.bound)
        # Of a queue that is busy all the time short runs say anything: nothing is run at the bound itself.
        self.top = round(self.cap * (1 - self.within), 6)
        # Every limit is compared with one of shorter runs.
        self.cycles = min(FIRST, max(1, self.settings["limit"] // LONGER))

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
        self.cycles = min(max(self.cycles, run.least()), self.settings["limit"])
        found = run.look(self.cycles)
        self.longest = max(self.longest, self.cycles)
        self.told()
        point = Point(load, found.log, found.error, found.verdict, self.cycles)
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
            guess = find_limit(self.points)
            points = [point for point in self.points if point.cycles == self.cycles]
            found = find_limit(points) if len(points) >= ENOUGH else None
            if found is not None and 2 * found.error < self.within / 2:
                if row := self._confirmed(found):
                    return row
                if self.cycles >= self.settings["limit"]:
                    break
                self._longer()
            elif self._is_narrow() and (guess is None or len(points) >= ENOUGH):
                # Too steep for a line: what is known is between which loads it is, if longer runs agree.
                if self._agree():
                    return self._between()
                continue
            elif found is not None and (2 * found.error > self.within or len(points) >= MANY):
                self._longer()
            load = 0.0
            if guess := found or guess:
                if found is not None and found.scatter > SCATTER:
                    distance = max(distance / 2, self.within / 2) if math.isfinite(distance) else 0.02
                step = min(distance, max(0.015, min(2 * guess.error, ASIDE)))
                load, side = guess.load * math.exp(side * step), -side
            point = self.measure(self._inside(load))
            if point.load >= self.top and (ended := self._at_the_top(point)):
                return ended
        return self._open()

    def _open(self) -> dict[str, Any]:
        """What is known where no interval is believed: the cycles ran out."""
        found = settled(self.points, self.cycles) or find_limit(self.points)
        row = self._row(found, "undecided")
        if found is None and self.low and self.high < self.cap:
            row = self._bracket("undecided")
        text = f"not known to {100 * self.within:g} % after {self.runs} runs of up to {self.cycles} cycles"
        longer = LONGER * self.settings["limit"]
        advice = f"--limit {longer} or " if self.cycles >= self.settings["limit"] else ""
        return {**row, "cause": f"{text}; try {advice}a larger --within"}

    def _is_narrow(self) -> bool:
        """Whether verdicts alone say where the limit is."""
        return bool(self.low) and self.high - self.low < self.within * self.high

    def _agree(self) -> bool:
        """Whether longer runs at both ends of the bracket say the same."""
        low, high = self.low, self.high
        self._longer()
        self.low, self.high = 0.0, self.cap
        if high != self.cap and self.measure(high).verdict != GROWING:
            return False
        return self.measure(low).verdict == STEADY

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
            if load >= self.top and (ended := self._at_the_top(point, patient=True)):
                return ended
            if self.high <= LEAST:
                return {"outcome": "below", "above": self.high, "points": self.runs}
            if self._is_narrow():
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
        """A load between the ends, which are never left; amid them for one that is not."""
        low, high = max(self.low, self.floor), min(self.high, self.ceiling)
        if low >= high:
            # Longer runs say otherwise than shorter ones.
            low, high = (low, low * (1 + ASIDE)) if self.low >= high else (high * (1 - ASIDE), high)
        if high >= self.cap and load > self.top:
            return self.top
        if not low < load < high:
            load = (low + min(high, self.top)) / 2
        return round(load, 6)

    def _at_the_top(self, point: Point, *, patient: bool = False) -> dict[str, Any] | None:
        """A load just below the bound, or what nodes can send, that is steady or, if patient, may be."""
        if not patient and point.verdict != STEADY:
            return None
        before = None
        # A run is compared with a shorter one, as far as there are longer ones.
        while point.verdict != STEADY or before != STEADY:
            if point.verdict == GROWING:
                return None
            if self.cycles >= self.settings["limit"]:
                if point.verdict == STEADY:
                    break
                return None
            before = point.verdict
            self._longer()
            point = self.measure(self.top)
        proven = self.bound is not None and self.bound < self.reach
        row = self._steady_row(self.top)
        if row.pop("verdict") == GROWING:
            return None
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
        """Take longer runs, if there are, which verdicts of shorter ones do not bind."""
        if self.cycles >= self.settings["limit"]:
            return
        self.cycles = min(LONGER * self.cycles, self.settings["limit"])
        self.floor = self.low * (1 - ASIDE) or self.floor
        self.ceiling = min(self.high * (1 + ASIDE), self.ceiling)
        self.low, self.high = 0.0, self.cap

    def _confirmed(self, found: Limit) -> dict[str, Any] | None:
        """What was found, if shorter runs and runs on both sides agree with it."""
        above, below = found.load * (1 + self.within), found.load * (1 - self.within)
        line = settled(self.points, self.cycles)
        if line is None and self.cycles >= self.settings["limit"]:
            self._shorter(found)
            line = settled(self.points, self.cycles)
        if above >= self.cap and (ended := self._at_the_top(self.measure(self.top))):
            return ended
        if line is None or 2 * line.error > self.within:
            return None
        if above < self.high:
            point = self.measure(above)
            if point.verdict == STEADY or point.log < -2 * point.error:
                return None
        row = self._steady_row(below)
        return None if row.pop("verdict") == GROWING else {**self._row(line, "measured"), **row}

    def _shorter(self, found: Limit) -> None:
        """Measure what a limit is compared with, where no shorter runs were near it."""
        kept = self.cycles, self.low, self.high
        for place in range(ENOUGH):
            self.cycles = kept[0] // LONGER
            self.measure(min(round(found.load * math.exp(0.015 * (-1) ** place), 6), self.top))
        self.cycles, self.low, self.high = kept

    def _steady_row(self, load: float) -> dict[str, Any]:
        """Accepted load and latency just below the limit."""
        limit = min(self.settings["limit"], max(2 * self.cycles, FIRST))
        row = run_steady(self.at(load), **{**self.settings, "limit": limit}, tables=self.tables).row
        self.told()
        kept = {name: row[name] for name in (*BELOW, "verdict")}
        # Of a load below the limit that is as much as a verdict.
        above = (row["utilisation"] or 0.0) - 2 * (row["utilisation_error"] or 0.0) > 1
        return {**kept, "verdict": GROWING} if above else kept

    def plateau(self, saturation: float | None) -> float | None:
        """The load accepted beyond a saturation; nothing where sources do not reach that far, or deadlock."""
        load = round(BEYOND * (saturation or math.inf), 6)
        if load > self.reach * (1 - self.within):
            return None
        # Of few cycles the noise would hide that less is accepted than below.
        measure = max(self.settings["measure"], FIRST)
        settings = {**self.settings, "limit": FIRST, "warm_up": self.cycles, "measure": measure}
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
