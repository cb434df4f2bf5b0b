"""Fig. 2 of scaling-effects-2007: ramp responses at several slew rates."""

from __future__ import annotations

import numpy as np

from flitloom.papers.congestion import Run, on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import (
    MOST,
    READING,
    SOURCES,
    TRAFFIC,
    Curve,
    draw_ramps,
    estimate,
    follow,
    setting,
)
from flitloom.plots.style import COLOURS

IDENTIFIER = "scaling-effects-2007/figure-2"
TITLE = "Throughput and latency while the load rises from 0, by slew rate (dimension order)"
OPTIONS = ("quick", "full")

#: Slew rates by size, in cycles per unit of load.
QUICK = {32: (5_000, 50_000, 500_000), 64: (50_000, 200_000, 1_000_000)}
FULL = {32: (5_000, 50_000, 500_000), 256: (50_000, 500_000, 5_000_000)}


def reproduce(context: Context) -> Report:
    """Run the ramps anew."""
    cases = FULL if context.quick is False else QUICK
    keys, tasks = [], []
    for size, slews in cases.items():
        top = min(1.6 * estimate(size), MOST)
        for slew in slews:
            cycles = round(slew * top)
            window = 10 if cycles < 50_000 else 100
            fields = {**TRAFFIC["rn"], **SOURCES, "profile": [(0, 0.0), (cycles, top)]}
            keys.append((size, slew))
            # A hundredth of the ramp per average, as the picture shows it.
            tasks.append(
                (Run(setting(size), fields, cycles, window, context.seed), max(1, cycles // window // 100))
            )
    order = sorted(range(len(tasks)), key=lambda place: -tasks[place][0].cycles * keys[place][0] ** 2)
    made = on_all_cores(context, "ramps", follow, [tasks[place] for place in order])
    found = {keys[place]: curve for place, curve in zip(order, made, strict=True)}
    cells = []
    for size, slews in cases.items():
        off = {slew: lag(found[size, slew], size) for slew in slews}
        cells += [
            Cell(f"N={size}, sl={slew}", "off the diagonal below 0.6 of 8/N", None, round(off[slew], 4))
            for slew in slews
        ]
        ordered = [off[slew] for slew in slews]
        cells.append(
            Cell(f"N={size}", "slower ramps are truer", True, ordered == sorted(ordered, reverse=True))
        )
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "How far the received flits are off the generated ones on average, relative to them: "
            "delay and noise. The "
            "paper finds sl = 50K enough at N = 32, and 5M or more needed at N = 256.",
        ],
    )
    panels = {
        f"N={size}": {
            f"sl={slew}": (colour, found[size, slew]) for slew, colour in zip(slews, COLOURS, strict=False)
        }
        for size, slews in cases.items()
    }
    report.files += draw_ramps(context, IDENTIFIER, panels, "upper left")
    return report


def lag(curve: Curve, size: int) -> float:
    """Mean relative distance of received from offered flits between 0.2 and 0.6 of 8/N."""
    offered = curve.throughput.offered.values
    below = (offered > 0.2 * estimate(size)) & (offered < 0.6 * estimate(size))
    return float(np.mean(np.abs(curve.delivered.values[below] - 1)))
