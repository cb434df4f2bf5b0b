"""Fig. 8 of scaling-effects-2007: step responses of many sizes, time and throughput in units of N."""

from __future__ import annotations

from flitloom import analysis
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import READING, overshoot, steps
from flitloom.plots.style import COLOURS

IDENTIFIER = "scaling-effects-2007/figure-8"
TITLE = "Step responses to a load of 0.5, time over N and throughput times N (dimension order)"
OPTIONS = ("quick", "full")

QUICK, FULL = (16, 32, 64, 128), (16, 32, 64, 128, 256, 512)
LOAD = 0.5


def reproduce(context: Context) -> Report:
    """Run the steps anew."""
    sizes = FULL if context.quick is False else QUICK
    found = steps(context, [(size, "do", LOAD) for size in sizes])
    cells, settled = [], {}
    for size in sizes:
        counted = found[size, "do", LOAD]
        time = analysis.settling_time(counted)
        row = f"N={size}"
        cells += [
            Cell(row, "settling time", None, time.outcome if time.value is None else int(time.value)),
            Cell(row, "peak over final throughput", None, round(overshoot(counted, size), 2)),
        ]
        if time.value is not None and time.value > 0:
            settled[size] = time.value
            cells.append(Cell(row, "settling time / N", None, round(time.value / size, 1)))
    large = [settled[size] / size for size in settled if size >= 32]
    if len(large) > 1:
        even = max(large) <= 1.5 * min(large)
        cells.append(Cell("N >= 32", "settles in time about proportional to N", True, even))
    remark = "Runs of 60 N cycles. A network of 256 nodes does not stay within 10 % of its mean for long."
    report = Report(IDENTIFIER, TITLE, cells, [READING, remark])
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 8, 5) as drawing:
            axes = drawing.subplots()
            for size, colour in zip(sizes, COLOURS, strict=False):
                curve = analysis.throughput(found[size, "do", LOAD], 2 * (size // 16) + 1)
                axes.plot(curve.window / size, curve * size, color=colour, lw=0.9, label=f"N={size}")
            axes.set(xlabel="cycles / N", ylabel="throughput x N (flits/node/cycle)", xlim=(0, 60))
            axes.set_title(f"do, random traffic, load {LOAD}")
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False)
        report.files.append(picture)
    return report
