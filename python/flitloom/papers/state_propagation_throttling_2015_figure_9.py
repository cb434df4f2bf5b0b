"""Fig. 9 of state-propagation-throttling-2015: how much throttling changes throughput and latency."""

from __future__ import annotations

import numpy as np

from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import BEYOND, COLOURS, PATTERNS, READING, ramps, speed

IDENTIFIER = "state-propagation-throttling-2015/figure-9"
TITLE = "Throughput and network age with throttling over those without (32x32)"
OPTIONS = ("quick", "full")

METHODS = ("th(0)", "th(8)")


def reproduce(context: Context) -> Report:
    """Compute the ratios anew."""
    found = ramps(context)
    patterns = PATTERNS[:-1]
    cells = []
    gain: dict[tuple[str, str], float] = {}
    shorter: dict[str, float] = {}
    for pattern in patterns:
        base = found[pattern, "no-th"].at(BEYOND)
        for name in METHODS:
            computed = found[pattern, name].at(BEYOND)
            gain[pattern, name] = computed[0] / base[0]
            shorter[pattern] = max(shorter.get(pattern, 0.0), base[1] / computed[1])
            cells += [
                Cell(pattern, f"throughput {name}", None, round(computed[0] / base[0], 3)),
                Cell(pattern, f"network age {name}", None, round(computed[1] / base[1], 3)),
                Cell(pattern, f"age from generation {name}", None, round(computed[2] / base[2], 3)),
            ]
    best = max(gain.values())
    cells += [
        Cell("best pattern", "throughput twice (abstract)", True, best >= 1.9),
        Cell("best pattern", "latency a quarter (abstract)", True, max(shorter.values()) >= 3.5),
    ]
    for pattern in ("shfl", "bcmp", "brot"):
        cells.append(Cell(pattern, "gains", True, max(gain[pattern, name] for name in METHODS) > 1.05))
    for pattern in ("trns", "torn"):
        unchanged = all(abs(gain[pattern, name] - 1) < 0.02 for name in METHODS)
        cells.append(Cell(pattern, "unchanged", True, unchanged))
    cells += [
        Cell("brev", "loses with th(0)", True, gain["brev", "th(0)"] < 1),
        Cell("rand", "loses with both", True, max(gain["rand", name] for name in METHODS) < 1),
    ]
    remarks = [
        READING,
        f"Ratios at a load of {BEYOND}; above 1 throughput gains, below 1 latency does. The age from "
        "generation "
        "includes the wait at the source.",
    ]
    if (faster := speed(context)) > 1:
        remarks.append(
            f"Quick: the load rises {faster} times faster than in the paper; --full takes its time."
        )
    report = Report(IDENTIFIER, TITLE, cells, remarks)
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 9, 12) as drawing:
            panels = drawing.subplots(4, 2, sharex=True).ravel()
            for axes, pattern in zip(panels, patterns, strict=False):
                loads = np.linspace(0.01, 0.27, 200)
                base_curve = found[pattern, "no-th"]
                for name in METHODS:
                    ours_curve = found[pattern, name]
                    for kind, style in (("throughput", "-"), ("network_age", "--")):
                        ours_values, base_values = (
                            np.interp(loads, getattr(each, kind).offered.values, getattr(each, kind).values)
                            for each in (ours_curve, base_curve)
                        )
                        axes.plot(loads, ours_values / base_values, style, color=COLOURS[name], lw=1)
                axes.axhline(1, color="0.7", lw=0.7, zorder=0)
                axes.set(title=pattern, ylabel="with / without")
            for axes in panels[len(patterns) :]:
                axes.set_axis_off()
            for axes in panels[len(patterns) - 2 : len(patterns)]:
                # The lowest of their columns.
                axes.tick_params(labelbottom=True)
                axes.set_xlabel("load (flits/node/cycle)")
            for name in METHODS:
                panels[-1].plot([], [], color=COLOURS[name], label=f"{name}: throughput")
                panels[-1].plot([], [], "--", color=COLOURS[name], label=f"{name}: network age")
            panels[-1].legend(loc="center", frameon=False)
        report.files.append(picture)
    return report
