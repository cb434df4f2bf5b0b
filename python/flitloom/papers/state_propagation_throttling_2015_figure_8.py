"""Fig. 8 of state-propagation-throttling-2015: throughput and latency while the load rises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import flitloom as fl
from flitloom import analysis
from flitloom.analysis.load_bound import load_bound
from flitloom.ground.outputs import write_csv
from flitloom.papers.congestion import CRITICAL_LOAD
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import (
    BEYOND,
    COLOURS,
    CRITICAL,
    CYCLES,
    PATTERNS,
    READING,
    THROTTLES,
    TOP,
    Ramp,
    critical_loads_of_bcmp,
    ramps,
    setting,
    speed,
)

IDENTIFIER = "state-propagation-throttling-2015/figure-8"
TITLE = "Throughput and network age while the load rises from 0 to 0.275 (32x32)"
OPTIONS = ("quick", "full")

#: How far two critical loads may be apart to count as the same.
SAME = 0.05


def reproduce(context: Context) -> Report:
    """Run the ramps anew."""
    found = ramps(context)
    patterns = PATTERNS[:-1]
    network = setting().network()
    cells = []
    for pattern in patterns:
        bound = load_bound(network, fl.Collective(pattern))
        cells.append(Cell(pattern, "ideal", None, round(float(bound.throughput("do")), 4)))
        critical = {}
        for name in THROTTLES:
            measured = found[pattern, name].critical_load
            critical[name] = measured.value
            value = measured.outcome if measured.value is None else round(measured.value, 5)
            cells.append(Cell(pattern, f"{CRITICAL_LOAD} {name}", None, value))
        for name in THROTTLES:
            throughput, network_age, _ = found[pattern, name].at(BEYOND)
            cells += [
                Cell(pattern, f"throughput {name}", None, round(throughput, 4)),
                Cell(pattern, f"network age {name}", None, round(network_age, 1)),
            ]
        base = critical["no-th"]
        if base is not None:
            moved = [value is not None and abs(value / base - 1) <= SAME for value in critical.values()]
            cells.append(Cell(pattern, "critical load unmoved", True, all(moved)))
    # The one published value.
    by_seed = critical_loads_of_bcmp(context)
    reach = analysis.averages.AVERAGING * 100 * TOP / CYCLES
    if by_seed:
        mean = sum(by_seed) / len(by_seed)
        for column, value in (
            (f"{CRITICAL_LOAD} no-th, {len(by_seed)} seeds", mean),
            ("at the end of the average", mean + reach / 2),
        ):
            cells.append(Cell("bcmp", column, CRITICAL, round(value, 5), tolerance=0.002))
    faster = speed(context)
    remarks = [
        READING,
        f"Throughput (flits/node/cycle) and network age (cycles) are those at a load of {BEYOND}; "
        "ideal is the load "
        "with which the busiest link is always busy. The paper's latency is the network age: from "
        "the cycle in "
        "which a header leaves its source. From generation, throttling adds the wait at the source.",
        "Critical loads follow the level rule: where the average of received flits falls below 95 % of those "
        "generated and stays there. They are read in the middle of that average, as the authors' method does "
        "(scaling-effects-2007, 4.3: an average over 200 samples before and 200 behind, and the load at that "
        f"time); the average reaches over {reach:.3f}, and the load at its end is beside it. The published "
        "0.11095 follows a rule on the slope, whose noise is 13 % here. Computed are means over seeds "
        f"({', '.join(f'{value:.4f}' for value in by_seed)}) at the paper's pace, also with --quick.",
    ]
    if faster > 1:
        remarks.append(
            f"Quick: the load rises {faster} times faster than in the paper; --full takes its time."
        )
    report = Report(IDENTIFIER, TITLE, cells, remarks)
    if picture := context.file(IDENTIFIER, ".png"):
        _draw(picture, found, patterns)
        report.files.append(picture)
        data = picture.with_suffix(".csv")
        write_csv(
            ["pattern", "method", "load", "throughput", "network_age"],
            (
                [pattern, name, round(float(load), 6), float(value), float(age)]
                for (pattern, name), curves in found.items()
                for load, value, age in _rows(curves)
            ),
            data,
        )
        report.files.append(data)
    return report


def _draw(picture: Path, found: Mapping[tuple[str, str], Any], patterns: Sequence[str]) -> None:
    """Throughput and network age over the load, a panel per pattern."""
    from flitloom.plots.canvas import figure

    with figure(picture, 9.5, 13) as drawing:
        panels = drawing.subplots(4, 2).ravel()
        for axes, pattern in zip(panels, patterns, strict=False):
            right = axes.twinx()
            for name in THROTTLES:
                curves = found[pattern, name]
                axes.plot(curves.throughput.offered, curves.throughput, color=COLOURS[name], lw=1.2)
                right.plot(
                    curves.network_age.offered, curves.network_age, color=COLOURS[name], lw=0.7, ls="--"
                )
            axes.set(title=pattern, xlabel="load (flits/node/cycle)", ylabel="throughput (flits/node/cycle)")
            axes.set_ylim(bottom=0)
            right.set_ylabel("network age (cycles)")
            right.set_ylim(bottom=0)
        for axes in panels[len(patterns) :]:
            axes.set_axis_off()
        for name in THROTTLES:
            panels[-1].plot([], [], color=COLOURS[name], label=f"{name}: throughput")
            panels[-1].plot([], [], color=COLOURS[name], ls="--", lw=0.7, label=f"{name}: network age")
        panels[-1].legend(loc="center", frameon=False)


def _rows(curves: Ramp) -> Iterator[tuple[float, float, float]]:
    """Every twentieth point: load, throughput, network age."""
    offered, received = curves.throughput.offered.values, curves.throughput.values
    ages = np.interp(offered, curves.network_age.offered.values, curves.network_age.values)
    yield from zip(offered[::20], received[::20], ages[::20], strict=True)
