"""The steady state of a network at a constant load: warm-up, a measured stretch, drain."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom._core import LIMITS
from flitloom.analysis import batch_means, fairness, percentile
from flitloom.analysis import warm_up as find_warm_up
from flitloom.analysis.series import sending
from flitloom.analysis.utilisation import GROWING, STEADY, UNDECIDED, Utilisation, utilisation
from flitloom.errors import SpecError
from flitloom.ground import ranks
from flitloom.ground.fixed import explained
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.load.unsteady import never_steady
from flitloom.networks.experiment import Experiment
from flitloom.run.simulation import Simulation, begin_experiment
from flitloom.spec import Load
from flitloom.spec.base import require_whole

if TYPE_CHECKING:
    import xarray as xr

    from flitloom.tables.by_source.tables import Tables

#: Cycles before the first look at the source queues.
FIRST_LOOK = 10_000
#: Packets that a source sends before it.
PACKETS = 50
#: What is told of a distribution of ages.
STATISTICS = ("mean", "median", "p95", "p99", "max")

#: What a row says of a load, beside the bounds and the router.
NAMES = (
    "rate", "generated", "accepted", "accepted_confidence", "verdict", "cause", "saturated",
    "utilisation", "utilisation_error", "latency", "confidence", "correlation", *STATISTICS[1:],
    "network_latency", *(f"network_{name}" for name in STATISTICS[1:]), "in_flight",
    "source_min", "source_p10", "source_median", "source_max", "starved",
    "worst_node", "worst_accepted", "best_node", "warm_up", "measured", "cycles",
)  # fmt: skip

Progress = Callable[[int, int], None]


@explained
@dataclass(frozen=True)
class Steady:
    """What came of a constant load.

    Attributes
    ----------
    row : dict
        ``rate`` (offered), ``generated`` and ``accepted`` in flits per node and cycle, the half interval
        ``accepted_confidence`` (95 %, batch means); the ``verdict`` ("steady", "growing": some source queue
        grows for good, "undecided"; ``None`` of closed sources; points of a curve may be "deadlock" or
        "impossible", with the ``cause``), ``saturated`` (growing; ``None``: undecided), ``utilisation`` of
        the busiest source queue (see `flitloom.analysis.utilisation`), its error, ``worst_node`` and what
        that one gets accepted; ``latency`` (mean age from generation), its half ``confidence`` interval,
        median, ``p95``, ``p99`` and ``max`` in cycles, ``None`` unless steady; ``network_latency`` and its
        quantiles, from injection; fairness (packets delivered by source); ``warm_up``, ``measured`` and
        ``cycles``; the ``bound`` of the routing, and what the ``router`` is like.
    series : xarray.Dataset or None
        What happened in windows, the warm-up included; nothing of a load that could not be run.
    """

    row: dict[str, Any]
    series: xr.Dataset | None = None

    @property
    def saturated(self) -> bool:
        """Whether some source queue grows for good."""
        return bool(self.row["saturated"])


def run_steady(
    experiment: Experiment,
    *,
    window: int = 100,
    warm_up: int | None = None,
    measure: int = 10_000,
    limit: int = 400_000,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Progress | None = None,
) -> Steady:
    """Run a constant load until the network is warm, measure, and wait for the measured packets.

    Parameters
    ----------
    experiment : Experiment
        With a load of constant rate; it runs as long as is needed.
    window : int
        Cycles of a window.
    warm_up : int, optional
        Cycles before the measured stretch; found by MSER without it: the run is doubled until
        the transient lies in its first half.
    measure : int
        Cycles measured, rounded up to windows.
    limit : int
        Most cycles until the verdict, of a warm-up, and of the wait for measured packets, in cycles.
    threads : int
        Threads, each with some rows of the network; the result does not depend on it.
    tables : Tables, optional
        Routes of all packets, for the experiment's network; those of its routing without.
    progress : callable, optional
        Told how many of how many cycles are done.

    Raises
    ------
    SpecError
        The load is not constant, or a number is out of range.
    """
    load = constant_load(experiment)
    for name, value in (("window", window), ("measure", measure), ("limit", limit)):
        require_whole(name, value, 1, LIMITS["start"], "cycles")
    if warm_up is not None:
        require_whole("warm_up", warm_up, 0, LIMITS["start"], "cycles")
    run = begin_run(experiment, window, threads=threads, tables=tables, progress=progress)
    beside = {**ideal_loads(experiment, tables), "router": router_text(experiment, tables)}
    closed = load.outstanding is not None
    run.after = measure
    if warm_up is not None:
        # What is measured may lie before the first look.
        run.measure(warm_up, measure)
    found = None
    if not closed:
        found = PROVEN if is_proven(experiment, load.rate, beside["bound"]) else run.judged(limit)
    latent = False
    while True:
        settles = found is None or found.verdict == STEADY
        if warm_up is None:
            # Beyond saturation ages grow for good.
            settles = run.warm_up(limit, settles=settles) and settles
            run.measure(run.now, measure)
        latent = settles and run.drain(limit)
        if found is None or found.verdict != STEADY or run.holds():
            break
        # Some networks collapse after they seemed steady.
        found = run.judged(limit, 2 * run.now)
        latent = latent and found.verdict == STEADY
        if warm_up is not None or 2 * run.now > limit:
            break
    row = _row(run.series, load, run.begin, run.end, found, latent=latent)
    return Steady({**row, **beside}, run.series)


def constant_load(experiment: Experiment) -> Load:
    """The load of an experiment, which must be constant.

    Raises
    ------
    SpecError
        It is not.
    """
    needed = "a steady state needs a load of constant rate"
    load = Load.of(experiment.traffic, needed, "traffic.rate")
    if load.rate is None or load.impulse is not None:
        raise SpecError.at("traffic.rate", needed)
    if load.changes:
        raise SpecError.at(
            "traffic.changes", "a steady state needs a load that does not change", "take load step"
        )
    return load


#: The utilisation of a load that a bound rules out: nothing is measured.
PROVEN = Utilisation(GROWING, math.nan, math.nan, math.nan, -1)


def is_proven(experiment: Experiment, rate: float | None, bound: float | None) -> bool:
    """Whether some source queue grows for good by a bound of links, receivers or sources, or a throttle."""
    beyond = rate is not None and (rate >= 1 or (bound is not None and rate > bound))
    return beyond or never_steady(experiment)


@dataclass
class Run:
    """A constant load that runs as long as is needed, and what was seen of it."""

    simulation: Simulation
    rate: float | None
    window: int
    progress: Progress | None
    #: Cycles that follow those that are run now, for whoever is told of the progress.
    after: int = 0
    now: int = 0
    begin: int = 0
    end: int = 0
    series: xr.Dataset = field(init=False)

    def until(self, cycle: int) -> None:
        """Continue to the end of the window of a cycle."""
        cycle = -(-cycle // self.window) * self.window
        if cycle > self.now:
            after, tell = self.after, self.progress
            told = None if tell is None else lambda done, total: tell(done, total + after)
            self.simulation.run(until=cycle, progress=told)
            self.now = cycle
        self.series = self.simulation.windows()

    def measure(self, begin: int, cycles: int) -> None:
        """Measure a stretch of cycles, to its end."""
        begin, cycles = (-(-number // self.window) * self.window for number in (begin, cycles))
        self.begin, self.end, self.after = begin, begin + cycles, 0
        self.until(begin)
        self.simulation.measure(begin, self.end)
        self.until(self.end)

    def look(self, cycle: int) -> Utilisation:
        """Continue to a cycle, and look at the source queues."""
        self.until(max(cycle, self.now))
        return utilisation(self.series, self.rate)

    def holds(self) -> bool:
        """Whether a load that is called steady still looks so at the end of what was measured."""
        measured = self.series.sel(window=slice(self.begin, self.end - 1))
        kept = (measured.generated_flits - measured.ejected_flits).values
        try:
            found = batch_means(kept)
        except SpecError:
            return True
        return found.mean <= 2 * found.half_width and self.look(self.now).verdict == STEADY

    def judged(self, limit: int, first: int = FIRST_LOOK) -> Utilisation:
        """Look at the source queues after more and more cycles, until a verdict or a limit."""
        horizon = min(max(first, self.least()), max(limit, 16 * self.window))
        while True:
            found = self.look(horizon)
            if found.verdict != UNDECIDED or 2 * self.now > limit:
                return found
            horizon = 2 * self.now

    def least(self) -> int:
        """Cycles in which flits cross the network and every source sends some packets."""
        load = Load.of(self.simulation.spec.traffic)
        packets = 0 if not self.rate else math.ceil(PACKETS * load.length / self.rate)
        return max(8 * sum(self.simulation.network.topology.dimensions), packets)

    def warm_up(self, limit: int, *, settles: bool, level: float = 0.0) -> bool:
        """Continue until the transient lies in the first half, if the load settles; whether it does.

        Where less than a level of what is generated arrives, ages grow for good, and only what is in the
        network has to settle.
        """
        horizon = max(self.now, 50 * self.window, 8 * sum(self.simulation.network.topology.dimensions))
        while True:
            self.until(horizon)
            series = self.series
            if not settles:
                return False
            columns = [series.in_flight, series.ejected_flits]
            later = series.isel(window=slice(series.sizes["window"] // 2, None))
            if later.ejected_flits.sum() >= level * later.generated_flits.sum():
                columns.append(series.age_sum / series.delivered_packets.clip(1))
            if all(find_warm_up(column.values).measured for column in columns):
                return True
            if 2 * self.now > limit:
                return False
            horizon = 2 * self.now

    def drain(self, limit: int) -> bool:
        """Continue until the packets of the measured stretch have arrived; whether they do."""
        last = self.end
        while last < self.end + limit:
            if self.series.attrs["measured_delivered"] == self.series.attrs["measured_packets"]:
                return True
            last += max(self.window, last - self.end)
            self.until(last)
        return bool(self.series.attrs["measured_delivered"] == self.series.attrs["measured_packets"])


def begin_run(
    experiment: Experiment,
    window: int,
    *,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Progress | None = None,
) -> Run:
    """An experiment with a load of constant rate, from an empty network on, as long as is needed."""
    constant_load(experiment)
    return begin_endless(experiment, window, threads=threads, tables=tables, progress=progress)


def begin_endless(
    experiment: Experiment,
    window: int,
    *,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Progress | None = None,
) -> Run:
    """The same with an experiment whose load may have an impulse."""
    load = Load.of(experiment.traffic).model_copy(update={"cycles": LIMITS["start"]})
    endless = experiment.model_copy(update={"traffic": load})
    ways: dict[str, Any] = {"threads": threads, "tables": tables, "on_ranks": ranks.started() > 1}
    simulation = begin_experiment(endless, links=False, windows=window, **ways)
    return Run(simulation, load.rate, window, progress)


def _row(
    series: xr.Dataset, load: Load, begin: int, end: int, found: Utilisation | None, *, latent: bool
) -> dict[str, Any]:
    """What is told of a load; `latent`: whether its packets have a latency."""
    measured = series.sel(window=slice(begin, end - 1))
    sends = sending(series)
    per_window = int(sends.sum()) * series.attrs["window_cycles"]
    verdict = None if found is None else found.verdict
    row: dict[str, Any] = {
        "rate": load.rate,
        "generated": float(measured.generated_flits.mean()) / per_window,
        "accepted": float(measured.ejected_flits.mean()) / per_window,
        "accepted_confidence": None,
        "verdict": verdict,
        "cause": None,
        "saturated": None if verdict == UNDECIDED else verdict == GROWING,
        "utilisation": None,
        "utilisation_error": None,
    }
    with suppress(SpecError):
        row["accepted_confidence"] = batch_means(measured.ejected_flits.values / per_window).half_width
    if found is not None and found.worst >= 0:
        row |= {"utilisation": found.value, "utilisation_error": found.value * found.error}
    age: dict[str, float | None] = ages(series, "age") if latent else dict.fromkeys(STATISTICS)
    network_age = ages(series, "network_age")
    row |= {"latency": age["mean"], "confidence": None, "correlation": None}
    with suppress(SpecError):
        # Without packets in some batch there is no interval.
        interval = batch_means(measured.age_sum.values, measured.delivered_packets.values)
        if latent:
            row |= {"confidence": interval.half_width, "correlation": interval.correlation}
    row |= {name: age[name] for name in STATISTICS[1:]}
    row["network_latency"] = network_age["mean"]
    row |= {f"network_{name}": network_age[name] for name in STATISTICS[1:]}
    row["in_flight"] = float(measured.in_flight.mean())
    row |= _by_source(series, sends, found)
    return row | {
        "warm_up": begin,
        "measured": end - begin,
        "cycles": series.sizes["window"] * series.attrs["window_cycles"],
    }


def _by_source(series: xr.Dataset, sends: NDArray[np.bool_], found: Utilisation | None) -> dict[str, Any]:
    """How evenly the sources are served, and which is worst off: the busiest one, where that is known."""
    by_source = series.delivered_by_source.values
    served = fairness(by_source[sends])
    worst = int(np.where(sends, by_source, by_source.max() + 1).argmin())
    if found is not None and found.worst >= 0:
        worst = found.worst // series.sizes.get("queue", 1)
    cycles = series.attrs["measured_to"] - series.attrs["measured_from"]
    return {
        "source_min": served.minimum,
        "source_p10": served.tenth_percentile,
        "source_median": served.median,
        "source_max": served.maximum,
        "starved": served.starved,
        "worst_node": worst,
        "worst_accepted": float(by_source[worst]) * series.attrs["packet_length"] / cycles,
        "best_node": int(by_source.argmax()),
    }


def ages(series: xr.Dataset, name: str) -> dict[str, float | None]:
    """Mean, median, 95th and 99th percentile and maximum of a histogram of ages, in cycles."""
    histogram = series[f"{name}_histogram"]
    counts = histogram.values[:-1]
    if not counts.sum():
        return dict.fromkeys(STATISTICS)
    # Ages of a class count as its middle; classes are one cycle wide up to 2047.
    edges = series[name].values
    mean = float((counts * (edges[:-1] + edges[1:] - 1) / 2).sum() / counts.sum())
    shares = (0.5, 0.95, 0.99, 1.0)
    return dict(
        zip(STATISTICS, [mean, *(percentile(histogram, share).value for share in shares)], strict=True)
    )
