"""What the experiments of scaling-effects-2007 share: routings, critical loads, steps and impulses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import flitloom as fl
from flitloom import analysis
from flitloom.analysis.demands import make_demands
from flitloom.papers.congestion import KNOWN, Run, Setting, on_all_cores, series
from flitloom.papers.report import Context
from flitloom.plots import style

if TYPE_CHECKING:
    import xarray as xr

#: Dimension order, simple adaptive, cross line (Section 3).
ROUTINGS = ("do", "sa", "cl")
COLOURS = dict(zip(ROUTINGS, style.COLOURS, strict=False))
#: Random traffic, and with 1 % of the packets to the middle node (4.3).
TRAFFIC: dict[str, dict[str, Any]] = {
    "rn": {"pattern": "rand"},
    "hs": {"pattern": "hots", "hotspot_fraction": 0.01},
}
#: Flits per packet, and how sources start them (Eq. 1).
SOURCES: dict[str, Any] = {"length": 8, "process": "gap"}
#: Sources of 8-flit packets that are idle for a cycle in between reach no more than 8/9.
MOST = 0.88
#: Windows of 100 cycles that critical loads average over.
AVERAGING = 20

READING = (
    "The router is the plainest reading of the paper's words (docs/router.md, preset s07), sa and cl "
    "that of its "
    "references; the paper has curves only, and gives neither buffers nor packet lengths. Critical loads are "
    "those of the 95 % level, which single sources and receivers may not sustain."
)


def setting(size: int, routing: str = "do") -> Setting:
    """The paper's network."""
    return Setting("s07", size, routing)


def estimate(size: int, traffic: str = "rn") -> float:
    """What the critical load is about: 8/N, or what the hot node can eject."""
    rule = min(8 / size, MOST)
    if traffic == "rn":
        return rule
    load = fl.Load(**TRAFFIC[traffic], rate=0.1, cycles=1)
    return min(rule, float(make_demands(setting(size).network(), load).receive_bound))


@dataclass(frozen=True)
class Curve:
    """What came of a ramp.

    Attributes
    ----------
    throughput, age, network_age : DataArray
        Moving averages, in flits/node/cycle and cycles, with the coordinate ``offered``.
    delivered : DataArray
        Received over generated flits of the same windows, as `throughput`.
    critical_load : Measurement
        By the level rule, read in the middle of its average (4.3).
    """

    throughput: xr.DataArray
    age: xr.DataArray
    network_age: xr.DataArray
    delivered: xr.DataArray
    critical_load: analysis.Measurement


def follow(run: Run, averaging: int, warm_up: int = 0) -> Curve:
    """Run a ramp and average it, what comes before `warm_up` left out."""
    counted = series(run)
    counted = counted.sel(window=slice(warm_up, None))
    received = analysis.throughput(counted, averaging)
    generated = analysis.moving_average(counted.generated_flits.values, averaging)
    cells = counted.attrs["nodes"] * counted.attrs["window_cycles"]
    return Curve(
        received,
        analysis.mean_age(counted, averaging, since="generation"),
        analysis.mean_age(counted, averaging),
        received * cells / np.maximum(generated, 1),
        analysis.critical_load(counted, averaging, at="middle"),
    )


def warmed_ramp(
    size: int, routing: str, traffic: str, low: float, high: float, cycles: int, seed: int
) -> tuple[Run, int]:
    """A load that is constant, then rises (Eq. 4), and the cycle in which it begins to."""
    warm_up = max(2_000, 20 * size)
    profile = [(0, low), (warm_up, low), (warm_up + cycles, high)]
    fields = {**TRAFFIC[traffic], **SOURCES, "profile": profile}
    return Run(setting(size, routing), fields, warm_up + cycles, 100, seed), warm_up


def critical_curves(
    context: Context,
    sizes: tuple[int, ...],
    traffics: tuple[str, ...] = ("rn",),
    routings: tuple[str, ...] = ROUTINGS,
) -> dict[tuple[int, str, str], Curve]:
    """Ramps through the critical load, by size, routing and traffic; every one is run once per process."""
    keys = [(size, routing, traffic) for size in sizes for traffic in traffics for routing in routings]

    def name(key: tuple[int, str, str]) -> tuple[Any, ...]:
        return ("critical", context.seed, *key)

    missing = [key for key in keys if name(key) not in KNOWN]
    tasks = []
    # The longest first, so that no core is left with one of them at the end.
    missing.sort(key=lambda key: (-key[0], key[1] == "do"))
    for size, routing, traffic in missing:
        about = estimate(size, traffic)
        run, warm_up = warmed_ramp(
            size,
            routing,
            traffic,
            0.4 * about,
            min((1.2 if traffic == "rn" else 1.8) * about, 1.2 * estimate(size), MOST),
            max(20_000, 500 * size),
            context.seed,
        )
        tasks.append((run, AVERAGING, warm_up))
    for key, curve in zip(missing, on_all_cores(context, "ramps", follow, tasks), strict=True):
        KNOWN[name(key)] = curve
    return {key: KNOWN[name(key)] for key in keys}


def critical_loads(
    context: Context, sizes: tuple[int, ...], routings: tuple[str, ...] = ROUTINGS
) -> dict[tuple[int, str], float]:
    """Critical loads under random traffic, by size and routing; the rule 8/N where none was reached."""
    curves = critical_curves(context, sizes, routings=routings)
    return {
        (size, routing): curve.critical_load.value or estimate(size)
        for (size, routing, _), curve in curves.items()
    }


def step(size: int, routing: str, rate: float, cycles: int, seed: int) -> xr.Dataset:
    """A constant load on an empty network, in windows of 10 cycles (4.4)."""
    return series(Run(setting(size, routing), {**TRAFFIC["rn"], **SOURCES, "rate": rate}, cycles, 10, seed))


def steps(context: Context, cases: list[tuple[int, str, float]]) -> dict[tuple[int, str, float], xr.Dataset]:
    """Step responses by size, routing and load."""
    tasks = [(size, routing, rate, 60 * size, context.seed) for size, routing, rate in cases]
    order = sorted(range(len(cases)), key=lambda place: -cases[place][0])
    made = on_all_cores(context, "steps", step, [tasks[place] for place in order])
    return {cases[place]: counted for place, counted in zip(order, made, strict=True)}


def unsteadiness(counted: xr.Dataset, side: int) -> float:
    """Standard deviation over mean of the throughput in the second half of a run, averaged over N windows."""
    curve = analysis.throughput(counted, max(side, 1)).values
    half = curve[len(curve) // 2 :]
    return float(half.std() / half.mean()) if half.mean() > 0 else 0.0


def overshoot(counted: xr.Dataset, side: int) -> float:
    """Largest throughput over that of the last third, averaged as for settling."""
    curve = analysis.throughput(counted, 2 * (side // 16) + 1).values
    return float(curve.max() / curve[-len(curve) // 3 :].mean())


def draw_ramps(
    context: Context, identifier: str, panels: dict[str, dict[str, tuple[str, Curve]]], legend: str
) -> list[Path]:
    """Throughput and network age over load, a panel per title; labels with their colours and curves."""
    picture = context.file(identifier, ".png")
    if picture is None:
        return []
    from flitloom.plots.canvas import figure

    with figure(picture, 8, 4 * len(panels)) as drawing:
        rows = drawing.subplots(len(panels), 1, squeeze=False).ravel()
        for axes, (title, curves) in zip(rows, panels.items(), strict=True):
            right = axes.twinx()
            for label, (colour, curve) in curves.items():
                axes.plot(curve.throughput.offered, curve.throughput, color=colour, lw=1, label=label)
                right.plot(curve.network_age.offered, curve.network_age, "--", color=colour, lw=0.7)
            axes.set(title=title, xlabel="load (flits/node/cycle)", ylabel="throughput (flits/node/cycle)")
            axes.set_ylim(bottom=0)
            right.set_ylabel("network age (cycles), dashed")
            right.set_ylim(bottom=0)
            axes.legend(frameon=False, loc=legend)
    return [picture]


def draw_steps(
    context: Context, identifier: str, panels: dict[str, tuple[int, dict[str, xr.Dataset]]]
) -> list[Path]:
    """Throughput over time, a panel per title: the side of its torus, and the responses by their labels."""
    picture = context.file(identifier, ".png")
    if picture is None:
        return []
    from flitloom.plots.canvas import figure

    with figure(picture, 8, 4 * len(panels)) as drawing:
        rows = drawing.subplots(len(panels), 1, squeeze=False).ravel()
        for axes, (title, (side, responses)) in zip(rows, panels.items(), strict=True):
            for (label, counted), colour in zip(responses.items(), style.COLOURS, strict=False):
                curve = analysis.throughput(counted, 2 * (side // 16) + 1)
                axes.plot(curve.window, curve, color=colour, lw=0.8, label=label)
            axes.set(title=title, xlabel="cycles", ylabel="throughput (flits/node/cycle)")
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False)
    return [picture]


def over_sizes(axes: Any, sizes: Sequence[int], label: str) -> None:
    """Logarithmic axes over the sizes of tori, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlabel="N", ylabel=label, xticks=sizes, xticklabels=sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


#: Patterns of impulses (4.5).
IMPULSES: dict[str, dict[str, Any]] = {
    "random": {"pattern": "rand"},
    "transpose": {"pattern": "trns"},
    "hotspot": {"pattern": "hots", "hotspot_fraction": 1.0},
}


def impulse(
    size: int, routing: str, kind: str, packets: int, background: float, seed: int, patience: int
) -> tuple[xr.Dataset, int]:
    """A background load with an impulse, in windows of 10 cycles, and the cycle of the impulse.

    `patience` is how many times the expected duration is waited.
    """
    start = 10 * max(400, 6 * size)
    # One packet after the other crosses the network; those of a hotspot leave it by one port.
    expected = 40 * size + 8 * packets * (size * size if kind == "hotspot" else size // 2)
    cycles = start + 10 * -(-patience * expected // 10)
    fields = {
        **TRAFFIC["rn"],
        **SOURCES,
        "rate": background,
        "impulse": fl.Impulse(**IMPULSES[kind], at=start, packets=packets),
    }
    return series(Run(setting(size, routing), fields, cycles, 10, seed)), start


def recover(
    size: int, routing: str, kind: str, packets: int, background: float, seed: int, patience: int
) -> analysis.Recovery:
    """What an impulse does."""
    counted, start = impulse(size, routing, kind, packets, background, seed, patience)
    return analysis.impulse_duration(counted, start)


def exponent(sizes: list[int], values: list[float]) -> float:
    """The power of N with which values grow, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


#: Powers of N that differ by less are the same for what the paper says of them.
SAME_POWER = 0.1


def apart(differences: list[float]) -> tuple[analysis.Confidence | None, bool | str]:
    """The mean difference of two powers of N over several seeds, and whether they differ.

    They do if its 95 % interval leaves 0 out, and do not if it lies within 0.1 of it; else that is
    ``undecided``.
    """
    if len(differences) < 3:
        return None, "undecided"
    known = analysis.batch_means(differences, batches=len(differences))
    low, high = known.interval
    if low > 0 or high < 0:
        return known, True
    return known, False if max(-low, high) < SAME_POWER else "undecided"
