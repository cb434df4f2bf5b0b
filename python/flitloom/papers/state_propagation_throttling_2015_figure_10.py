"""Fig. 10 of state-propagation-throttling-2015: packets in flight during collective communication."""

from __future__ import annotations

from flitloom.papers.congestion import burst_series, on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import COLOURS, PACKETS, PATTERNS, READING, THROTTLES, setting

IDENTIFIER = "state-propagation-throttling-2015/figure-10"
TITLE = "Packets in flight during collective communication (32x32, ten packets of eight flits per node)"

#: Cycles of a window (5.3).
WINDOW = 10


def reproduce(context: Context) -> Report:
    """Run the bursts anew."""
    keys = [(pattern, name) for pattern in PATTERNS for name in THROTTLES]
    tasks = [(setting(THROTTLES[name]), pattern, PACKETS, WINDOW, context.seed) for pattern, name in keys]
    found = dict(zip(keys, on_all_cores(context, "bursts", burst_series, tasks), strict=True))
    cells = []
    for pattern in PATTERNS:
        most = {}
        for name in THROTTLES:
            counted, duration = found[pattern, name]
            most[name] = int(counted.in_flight.max())
            cells += [
                Cell(pattern, f"most {name}", None, most[name]),
                Cell(pattern, f"mean {name}", None, round(float(counted.in_flight.mean()), 1)),
                Cell(pattern, f"duration {name}", None, duration),
            ]
        held = [most[name] <= most["no-th"] for name in ("th(0)", "th(8)")]
        cells.append(Cell(pattern, "throttling keeps more packets out", True, all(held)))
    report = Report(
        IDENTIFIER, TITLE, cells, [READING, "The paper has curves only. Marks are ends of durations."]
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 9.5, 12) as drawing:
            panels = drawing.subplots(4, 2).ravel()
            for axes, pattern in zip(panels, PATTERNS, strict=True):
                for name in THROTTLES:
                    counted, duration = found[pattern, name]
                    ends = counted.window + WINDOW
                    axes.plot(ends, counted.in_flight, color=COLOURS[name], lw=1, label=name)
                    axes.plot([duration], [0], "|", color=COLOURS[name], markersize=14, markeredgewidth=2)
                axes.set(title=pattern, xlabel="cycles", ylabel="packets in flight")
                axes.set_xlim(left=0)
                axes.set_ylim(bottom=0)
            panels[0].legend(frameon=False)
        report.files.append(picture)
    return report
