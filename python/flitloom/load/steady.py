"""The steady state of a network at a constant load: warm-up, a measured stretch, drain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom import ranks
from flitloom._core import LIMITS
from flitloom.analysis import batch_means, fairness, percentile
from flitloom.analysis import warm_up as find_warm_up
from flitloom.analysis.critical_load import LEVEL
from flitloom.analysis.series import sending
from flitloom.errors import SpecError
from flitloom.fixed import explained
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.simulation import Simulation, begin_experiment
from flitloom.spec import Experiment, Load
from flitloom.spec.base import require_whole

if TYPE_CHECKING:
    import xarray as xr

    from flitloom.tables.by_source.tables import Tables

#: What is told of a distribution of ages.
STATISTICS = ("mean", "median", "p95", "p99", "max")

Progress = Callable[[int, int], None]


@explained
@dataclass(frozen=True)
class Steady:
    """What came of a constant load.

    Attributes
    ----------
    row : dict
        ``rate`` (offered), ``generated`` and ``accepted`` in flits per node and cycle; ``saturated``;
        ``latency`` (mean age from generation), its half ``confidence`` interval (95 %, batch means), median,
        ``p95``, ``p99`` and ``max`` in cycles, ``None`` where saturated; ``network_latency`` and its
        quantiles, from injection; fairness (packets delivered by source); ``warm_up``, ``measured`` and
        ``cycles``; the ``bound`` of the routing, and what the ``router`` is like.
    series : xarray.Dataset
        What happened in windows, the warm-up included.
    """

    row: dict[str, Any]
    series: xr.Dataset

    @property
    def saturated(self) -> bool:
        """Whether the network receives less than is generated."""
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
        Most cycles of a warm-up, and of the wait for measured packets, in cycles.
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
    load = experiment.traffic
    if not isinstance(load, Load) or load.rate is None or load.impulse is not None:
        raise SpecError.at("traffic.rate", "a steady state needs a load of constant rate")
    if load.changes:
        raise SpecError.at(
            "traffic.changes", "a steady state needs a load that does not change", "take load step"
        )
    for name, value in (("window", window), ("measure", measure), ("limit", limit)):
        require_whole(name, value, 1, LIMITS["start"], "cycles")
    if warm_up is not None:
        require_whole("warm_up", warm_up, 0, LIMITS["start"], "cycles")
    load = load.model_copy(update={"cycles": LIMITS["start"]})
    endless = experiment.model_copy(update={"traffic": load})
    ways: dict[str, Any] = {"threads": threads, "tables": tables, "on_ranks": ranks.started() > 1}
    simulation = begin_experiment(endless, links=False, windows=window, saves=False, **ways)
    measured_cycles = -(-measure // window) * window
    beside = {**ideal_loads(experiment, tables), "router": router_text(experiment, tables)}
    # Proven, and nobody would see it at the level of 95 % just above the bound.
    beyond = load.outstanding is None and beside["bound"] is not None and load.rate > beside["bound"]
    begin, settled = _warm_up(simulation, window, warm_up, limit, _before(measured_cycles, progress))
    end = begin + measured_cycles
    simulation.measure(begin, end)
    simulation.run(until=end, progress=progress)
    series = simulation.windows()
    measured = series.sel(window=slice(begin, end - 1))
    keeps_up = settled and not beyond and _keeps_up(measured)
    last = end
    # Packets of a network that is not saturated arrive soon.
    while keeps_up and last < end + limit:
        last += max(window, (last - end) // window * window)
        simulation.run(until=last, progress=progress)
        series = simulation.windows()
        if series.attrs["measured_delivered"] == series.attrs["measured_packets"]:
            break
    else:
        keeps_up = False
    row = _row(series, load, begin, end, not keeps_up)
    return Steady({**row, **beside}, series)


def _before(cycles: int, progress: Progress | None) -> Progress | None:
    """What tells of the cycles before others."""
    return None if progress is None else lambda done, total: progress(done, total + cycles)


def _keeps_up(series: xr.Dataset) -> bool:
    """Whether the network receives what is generated, but for the level of the level rule."""
    return bool(series.ejected_flits.sum() >= LEVEL * series.generated_flits.sum())


def _warm_up(
    simulation: Simulation, window: int, given: int | None, limit: int, progress: Progress | None
) -> tuple[int, bool]:
    """Run through the warm-up; the cycle in which it ends, and whether the network had settled then."""
    if given is not None:
        begin = -(-given // window) * window
        simulation.run(until=begin, progress=progress)
        return begin, True
    horizon = max(50, -(-8 * sum(simulation.network.topology.sizes) // window)) * window
    while True:
        simulation.run(until=horizon, progress=progress)
        series = simulation.windows()
        half = series.sizes["window"] // 2
        columns = [series.in_flight, series.ejected_flits]
        # Beyond saturation ages grow for good, and whatever is in the network settles.
        if _keeps_up(series.isel(window=slice(half, None))):
            columns.append(series.age_sum / series.delivered_packets.clip(1))
        if all(find_warm_up(column.values).measured for column in columns):
            return horizon, True
        if 2 * horizon > limit:
            return horizon, False
        horizon *= 2


def _row(series: xr.Dataset, load: Load, begin: int, end: int, saturated: bool) -> dict[str, Any]:
    """What is told of a steady state."""
    measured = series.sel(window=slice(begin, end - 1))
    sends = sending(series)
    node_cycles = (end - begin) * int(sends.sum())
    generated = int(measured.generated_flits.sum()) / node_cycles
    accepted = int(measured.ejected_flits.sum()) / node_cycles
    row: dict[str, Any] = {
        "rate": load.rate,
        "generated": generated,
        "accepted": accepted,
        "saturated": saturated,
    }
    age: dict[str, float | None] = dict.fromkeys(STATISTICS) if saturated else ages(series, "age")
    network_age = ages(series, "network_age")
    row |= {"latency": age["mean"], "confidence": None, "correlation": None}
    with suppress(SpecError):
        # Without packets in some batch there is no interval.
        found = batch_means(measured.age_sum.values, measured.delivered_packets.values)
        if not saturated:
            row |= {"confidence": found.half_width, "correlation": found.correlation}
    row |= {name: age[name] for name in STATISTICS[1:]}
    row["network_latency"] = network_age["mean"]
    row |= {f"network_{name}": network_age[name] for name in STATISTICS[1:]}
    row["in_flight"] = float(measured.in_flight.mean())
    by_source = series.delivered_by_source.values
    served = fairness(by_source[sends])
    row |= {
        "source_min": served.minimum,
        "source_p10": served.tenth_percentile,
        "source_median": served.median,
        "source_max": served.maximum,
        "starved": served.starved,
        "worst_node": int(np.where(sends, by_source, by_source.max() + 1).argmin()),
        "best_node": int(by_source.argmax()),
    }
    row |= {
        "warm_up": begin,
        "measured": end - begin,
        "cycles": series.sizes["window"] * series.attrs["window_cycles"],
    }
    return row


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
