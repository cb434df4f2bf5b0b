"""Fig. 10 of scaling-effects-2007: impulse responses over time."""

from __future__ import annotations

from flitloom import analysis
from flitloom.papers.congestion import on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import READING, critical_loads, impulse
from flitloom.plots.style import COLOURS

IDENTIFIER = "scaling-effects-2007/figure-10"
TITLE = "Impulse responses: transpose on random traffic at 0.8 of the critical load (cl)"
OPTIONS = ("quick", "full")

#: Packets of an impulse, per node (4.5).
PACKETS = (1, 2, 5, 10, 20, 50)


def reproduce(context: Context) -> Report:
    """Run the impulses anew."""
    full = context.quick is False
    size = 128 if full else 16
    background = round(0.8 * critical_loads(context, (size,), ("cl",))[size, "cl"], 5)
    tasks = [(size, "cl", "transpose", packets, background, context.seed, 4) for packets in PACKETS]
    found = dict(zip(PACKETS, on_all_cores(context, "impulses", impulse, tasks), strict=True))
    cells = []
    for packets, (counted, start) in found.items():
        recovery = analysis.impulse_duration(counted, start)
        value = recovery.duration.value
        row = f"np={packets}"
        cells += [
            Cell(row, "duration", None, recovery.duration.outcome if value is None else int(value)),
            Cell(row, "largest age", None, round(recovery.peak)),
            Cell(row, "received / generated at the end", None, round(recovery.delivered_share, 3)),
        ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            f"Background {background} flits/node/cycle. Outcomes that are not numbers: not visible (the "
            "largest age stays "
            "below 1.25 of its mean), not recovered within the run, collapsed (less is delivered "
            "than generated).",
            *([] if full else ["Quick: N = 16 in place of the paper's 128."]),
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 9, 7) as drawing:
            upper, lower = drawing.subplots(2, 1, sharex=True)
            for (packets, (counted, start)), colour in zip(found.items(), COLOURS, strict=False):
                curve = analysis.throughput(counted, 20)
                upper.plot(curve.window - start, curve, color=colour, lw=0.8, label=f"np={packets}")
                flying = counted.in_flight / counted.attrs["nodes"]
                lower.plot(counted.window - start, flying, color=colour, lw=0.8)
            upper.set(ylabel="throughput (flits/node/cycle)", title=f"cl, N={size}, transpose")
            lower.set(xlabel="cycles after the impulse", ylabel="packets in flight per node")
            for axes in (upper, lower):
                axes.set_ylim(bottom=0)
            upper.legend(frameon=False, ncols=3)
        report.files.append(picture)
    return report
