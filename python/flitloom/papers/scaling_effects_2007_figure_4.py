"""Fig. 4 of scaling-effects-2007: how the critical load is found, by the slope and by the level."""

from __future__ import annotations

import math

from flitloom import analysis
from flitloom.analysis.slope import slope_noise
from flitloom.papers.congestion import Run, on_all_cores, series
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import READING, SOURCES, TRAFFIC, estimate, setting

IDENTIFIER = "scaling-effects-2007/figure-4"
TITLE = "The critical load by the slope rule and by the level rule (N=32, dimension order, random traffic)"
OPTIONS = ("quick", "full")

SIZE, SHARE, WINDOWS = 32, 0.95, 401


def reproduce(context: Context) -> Report:
    """Run the ramp anew and apply both rules."""
    full = context.quick is False
    top = 1.6 * estimate(SIZE)
    slew = 5_000_000 if full else 1_000_000
    cycles = round(slew * top)
    fields = {**TRAFFIC["rn"], **SOURCES, "profile": [(0, 0.0), (cycles, top)]}
    [counted] = on_all_cores(
        context, "ramp", series, [(Run(setting(SIZE), fields, cycles, 100, context.seed),)]
    )
    level = analysis.critical_load(counted, 20, at="middle")
    paper = analysis.slope_critical_load(counted, WINDOWS, SHARE)
    # That of the load which is reached.
    noise = slope_noise(analysis.critical_load(counted, 20).value or top, slew, 100 * WINDOWS, SIZE, 8)
    # As many windows as bring the noise to 1 %.
    enough = math.ceil(1.01 * WINDOWS * (noise / 0.01) ** (2 / 3))
    longer = analysis.slope_critical_load(counted, enough, SHARE)
    cells = [
        Cell("level rule (95 %)", "critical load", None, _value(level)),
        Cell(f"slope rule, {WINDOWS} windows", "critical load", None, _value(paper)),
        Cell(f"slope rule, {WINDOWS} windows", "noise of the slope", None, round(noise, 3)),
        Cell(f"slope rule, {enough} windows", "critical load", None, _value(longer)),
        Cell(f"slope rule, {enough} windows", "load within a fit", None, round(100 * enough / slew, 4)),
    ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            f"The paper fits lines to {WINDOWS} windows and takes the first whose slope is below "
            f"{SHARE:.0%}. The noise "
            "of such a slope is sqrt(12) sl sqrt(r L) / (N (windows x cycles)^1.5): above 1 % the "
            "first crossing comes "
            "from noise, and flitloom refuses it; fits that are long enough blur the critical load "
            "downwards.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure
        from flitloom.plots.style import COLOURS

        curve = analysis.throughput(counted, WINDOWS)
        # The load in the middle of an average, where the level rule reads it, too.
        offered = curve.offered - (WINDOWS - 1) / 2 * 100 / slew
        with figure(picture, 7, 4.5) as drawing:
            axes = drawing.subplots()
            axes.plot(offered, curve, color=COLOURS[0], lw=1, label=f"received, average of {WINDOWS} windows")
            axes.plot([0, top], [0, top], color="0.6", lw=0.8, label="generated")
            axes.plot([0, top], [0, SHARE * top], ":", color="0.6", lw=0.8, label=f"{SHARE:.0%} of it")
            for found, style, label in (
                (level, "-", "level rule"),
                (longer, "--", f"slope rule, {enough} windows"),
            ):
                if found.value is not None:
                    axes.axvline(found.value, color=COLOURS[3], ls=style, lw=1, label=label)
            axes.set(xlabel="load (flits/node/cycle)", ylabel="throughput (flits/node/cycle)")
            axes.legend(frameon=False)
        report.files.append(picture)
    return report


def _value(found: analysis.Measurement) -> float | str:
    return found.outcome if found.value is None else round(found.value, 4)
