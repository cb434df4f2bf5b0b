"""Fig. 11 of scaling-effects-2007: how the duration of an impulse is measured."""

from __future__ import annotations

from flitloom import analysis
from flitloom.papers.congestion import on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import READING, critical_loads, impulse

IDENTIFIER = "scaling-effects-2007/figure-11"
TITLE = "The duration of an impulse, by the largest age in a window (N=32, cl)"
OPTIONS = ()

SIZE, PACKETS = 32, 5


def reproduce(context: Context) -> Report:
    """Run the impulse anew."""
    background = round(0.8 * critical_loads(context, (SIZE,), ("cl",))[SIZE, "cl"], 5)
    [(counted, start)] = on_all_cores(
        context, "impulse", impulse, [(SIZE, "cl", "transpose", PACKETS, background, context.seed, 2)]
    )
    recovery = analysis.impulse_duration(counted, start)
    value = recovery.duration.value
    cells = [
        Cell("duration", "cycles", None, recovery.duration.outcome if value is None else int(value)),
        Cell("largest age before", "cycles", None, round(recovery.before, 1)),
        Cell("its deviation", "cycles", None, round(recovery.spread, 1)),
        Cell("peak", "cycles", None, round(recovery.peak, 1)),
    ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "The paper waits until the largest age is back at its mean. The age here, averaged over 20 "
            "windows, has to come back "
            "to mean plus deviation after its peak, so that noise neither ends nor prolongs it.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure
        from flitloom.plots.style import COLOURS

        with figure(picture, 8, 4.5) as drawing:
            axes = drawing.subplots()
            axes.plot(counted.window, counted.age_max, color="0.75", lw=0.6, label="largest age in a window")
            average = analysis.moving_average(counted.age_max.values, 20)
            axes.plot(
                counted.window[10 : 10 + len(average)],
                average,
                color=COLOURS[0],
                label="average of 20 windows",
            )
            axes.axhline(
                recovery.before + recovery.spread, color=COLOURS[2], ls="--", label="mean + deviation before"
            )
            if value is not None:
                axes.axvspan(start, start + value, color=COLOURS[3], alpha=0.15, label=f"{value:.0f} cycles")
            axes.set(xlabel="cycles", ylabel="age (cycles)")
            axes.set_title(f"cl, N={SIZE}, transpose, np={PACKETS}")
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False)
        report.files.append(picture)
    return report
