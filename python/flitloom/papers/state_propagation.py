"""What the experiments of state-propagation-throttling-2015 share: patterns, throttles, bursts and ramps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import flitloom as fl
from flitloom import analysis
from flitloom.papers.congestion import Run, Setting, burst, on_all_cores, once, series
from flitloom.papers.report import Context
from flitloom.plots import style
from flitloom.run.space_time import record_space_time

if TYPE_CHECKING:
    import xarray as xr

#: Table 1, in its order; the last two are random.
PATTERNS = ("trns", "shfl", "bcmp", "brev", "brot", "torn", "rand", "rpar")
RANDOM = ("rand", "rpar")
#: The paper's names of its methods, and the throttles.
THROTTLES = {"no-th": "none", "th(0)": "spth:margin=0", "th(8)": "spth:margin=8"}
COLOURS = dict(zip(THROTTLES, style.COLOURS, strict=False))
#: Packets of a node in a collective communication (5.3).
PACKETS = 10
#: Load at the end of the ramp, and its length in cycles (5.2).
TOP, CYCLES = 0.275, 2_750_000
#: Load at which patterns are compared beyond saturation.
BEYOND = 0.27
#: The critical load of bcmp without throttle (3.3, note 4).
CRITICAL = 0.11095

READING = (
    "The router is the plainest reading of the paper's words that reproduces its findings "
    "(docs/router.md, "
    "preset t15); no detail is bent to hit a value."
)
TORN = (
    "torn's published durations lie below what the busiest link allows: 10 packets of 8 flits from "
    "16 nodes of a "
    "ring must pass one link, which takes 1280 cycles on minimal routes with ties that meet at the "
    "wrap-around link, and "
    "at least 640 on any minimal routes; the paper gives 1056, 869 and 578. Its own ramp shows no "
    "gain for torn either."
)


def setting(throttle: str = "none", size: int = 32) -> Setting:
    """The paper's network with a throttle."""
    return Setting("t15", size, throttle=throttle)


def durations(
    context: Context, sizes: tuple[int, ...], repeats: int
) -> dict[tuple[int, str, str], list[int]]:
    """Durations of all bursts by size, pattern and method; of random patterns `repeats` of them."""
    keys, tasks = [], []
    for size in sizes:
        for pattern in PATTERNS:
            for name, throttle in THROTTLES.items():
                for number in range(repeats if pattern in RANDOM else 1):
                    keys.append((size, pattern, name))
                    tasks.append((setting(throttle, size), pattern, PACKETS, context.seed + number))
    # The longest first, so that no core is left with one of them at the end.
    order = sorted(range(len(tasks)), key=lambda place: -keys[place][0])
    made = on_all_cores(context, "bursts", burst, [tasks[place] for place in order])
    found: dict[tuple[int, str, str], list[int]] = {key: [] for key in keys}
    for place, duration in zip(order, made, strict=True):
        found[keys[place]].append(duration)
    return found


@dataclass(frozen=True)
class Ramp:
    """What came of the ramp of one pattern and method.

    Attributes
    ----------
    throughput : DataArray
        Moving average, in flits/node/cycle, with the coordinate ``offered``.
    network_age : DataArray
        Mean age from injection, moving average, in cycles.
    age : DataArray
        Mean age from generation, moving average, in cycles.
    critical_load : Measurement
        By the level rule, read in the middle of its average.
    """

    throughput: xr.DataArray
    network_age: xr.DataArray
    age: xr.DataArray
    critical_load: analysis.Measurement

    def at(self, load: float) -> tuple[float, float, float]:
        """Throughput, network age and age at an offered load."""
        return tuple(  # type: ignore[return-value]
            float(np.interp(load, curve.offered.values, curve.values))
            for curve in (self.throughput, self.network_age, self.age)
        )


def ramp(run: Run, averaging: int) -> Ramp:
    """Run a ramp and average it."""
    counted = series(run)
    return Ramp(
        analysis.throughput(counted, averaging),
        analysis.mean_age(counted, averaging),
        analysis.mean_age(counted, averaging, since="generation"),
        analysis.critical_load(counted, averaging, at="middle"),
    )


def speed(context: Context) -> int:
    """How many times faster than the paper's the ramps are: 1 for --full, else 10."""
    return 1 if context.quick is False else 10


def ramps(context: Context, patterns: tuple[str, ...] = PATTERNS[:-1]) -> dict[tuple[str, str], Ramp]:
    """Ramps by pattern and method."""
    faster = speed(context)
    cycles = CYCLES // faster
    keys = [(pattern, name) for pattern in patterns for name in THROTTLES]

    def run_all() -> dict[tuple[str, str], Ramp]:
        tasks = [
            (
                Run(
                    setting(THROTTLES[name]),
                    {"pattern": pattern, "profile": [(0, 0.0), (cycles, TOP)], "length": 8},
                    cycles,
                    100,
                    context.seed,
                ),
                analysis.averages.AVERAGING // faster,
            )
            for pattern, name in keys
        ]
        return dict(zip(keys, on_all_cores(context, "ramps", ramp, tasks), strict=True))

    return once(("ramps", faster, context.seed, patterns), run_all)


#: Loads between which a ramp through the critical load of bcmp rises, the cycles of its warm-up before, and
#: how many seeds it is run with.
THROUGH, WARM_UP, SEEDS = (0.095, 0.125), 20_000, 5


def critical_loads_of_bcmp(context: Context) -> list[float]:
    """Critical loads of bcmp without throttle by the level rule, by seed, at the pace of the paper's ramp."""
    low, high = THROUGH
    cycles = WARM_UP + round((high - low) / TOP * CYCLES)
    load = {"pattern": "bcmp", "profile": [(0, low), (WARM_UP, low), (cycles, high)], "length": 8}
    seeds = range(context.seed, context.seed + SEEDS)
    tasks = [(Run(setting(), load, cycles, 100, seed), analysis.averages.AVERAGING) for seed in seeds]
    made = on_all_cores(context, "ramps through the critical load", ramp, tasks)
    return [each.critical_load.value for each in made if each.critical_load.value is not None]


def chart_under_load(throttle: str, load: float, context_seed: int, full: bool, cycles: int) -> xr.Dataset:
    """Busy buffers under bcmp: in the paper's ramp at that load, or at constant load after a warm-up."""
    if full:
        start = round(load / TOP * CYCLES)
        traffic = fl.Load("bcmp", profile=[(0, 0.0), (CYCLES, TOP)], length=8, cycles=CYCLES)
    else:
        start = 10_000
        traffic = fl.Load("bcmp", rate=load, length=8, cycles=start + cycles)
    simulation = setting(throttle).simulation(traffic, seed=context_seed)
    simulation.run(until=start)
    return record_space_time(simulation, cycles)


def busy_share(busy: xr.Dataset) -> float:
    """Share of the buffers on the lines that are full, over all cycles noted."""
    return float(np.mean([values.mean() for values in busy.values()]))


def drift(busy: xr.Dataset, most: int = 24) -> int | None:
    """After how many cycles the buffer one hop upstream most often fills, too; None if few ever do.

    Of all pairs of a buffer that becomes busy and one hop upstream that does up to `most` cycles later, the
    most frequent delay.
    """
    delays = np.zeros(most + 1, dtype=np.int64)
    for name, values in busy.items():
        full = values.values
        starts = full[1:] & ~full[:-1]
        ahead = np.roll(starts, -1 if str(name)[0] == "+" else 1, axis=1)
        # ahead[t, x] is the start of the buffer one hop ahead of x.
        for delay in range(1, most + 1):
            delays[delay] += int((ahead[:-delay] & starts[delay:]).sum())
    return int(delays.argmax()) if delays.sum() >= 100 else None
