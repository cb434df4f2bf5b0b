"""Fig. 3 of scaling-effects-2007: ramps from 0.8 to 1.2 of the critical load, after a warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitloom.papers.congestion import CRITICAL_LOAD, on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import COLOURS, READING, critical_loads, follow, warmed_ramp

IDENTIFIER = "scaling-effects-2007/figure-3"
TITLE = "Throughput while the load rises from 0.8 to 1.2 of the critical load, after a warm-up"
OPTIONS = ("quick", "full")

ROUTINGS = ("do", "cl")


def reproduce(context: Context) -> Report:
    """Run the ramps anew."""
    full = context.quick is False
    sizes = (32, 256) if full else (16, 32)
    critical = critical_loads(context, sizes, ROUTINGS)
    keys, tasks = [], []
    for size in sizes:
        for routing in ROUTINGS:
            load = critical[size, routing]
            run, warm_up = warmed_ramp(
                size, routing, "rn", 0.8 * load, 1.2 * load, max(20_000, 500 * size), context.seed
            )
            keys.append((size, routing))
            tasks.append((run, 10, warm_up))
    found = dict(zip(keys, on_all_cores(context, "ramps", follow, tasks), strict=True))
    cells = []
    for size, routing in keys:
        curve, load = found[size, routing].delivered, critical[size, routing]
        share = curve.values
        below = share[curve.offered.values < 0.95 * load]
        above = share[curve.offered.values > 1.05 * load]
        row = f"N={size} {routing}"
        cells += [
            Cell(row, CRITICAL_LOAD, None, round(load, 4)),
            Cell(row, "received / offered at the end", None, round(float(share[-20:].mean()), 3)),
            Cell(row, "scatter below", None, round(float(below.std()), 4)),
            Cell(row, "scatter above", None, round(float(_scatter(above)), 4)),
        ]
        if routing == "cl":
            cells.append(
                Cell(row, "unsteady above the critical load", True, bool(_scatter(above) > 2 * below.std()))
            )
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "Scatter is the standard deviation of received over offered flits, above the critical "
            "load about a "
            "straight line. The paper sees throughput vary where the load is high; it does not say "
            "with which routing.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 8, 8) as drawing:
            for axes, size in zip(drawing.subplots(2, 1), sizes, strict=True):
                for routing in ROUTINGS:
                    curve = found[size, routing].throughput
                    axes.plot(curve.offered, curve, color=COLOURS[routing], lw=0.9, label=routing)
                    axes.axvline(
                        critical[size, routing],
                        color=COLOURS[routing],
                        lw=1,
                        ls=":",
                        label=f"{routing}: critical",
                    )
                axes.set(
                    title=f"N={size}",
                    xlabel="load (flits/node/cycle)",
                    ylabel="throughput (flits/node/cycle)",
                )
                axes.legend(frameon=False)
        report.files.append(picture)
    return report


def _scatter(values: Any) -> float:
    """Standard deviation about a straight line."""
    if len(values) < 3:
        return 0.0
    at = np.arange(len(values))
    return float(np.std(values - np.polyval(np.polyfit(at, values, 1), at)))
