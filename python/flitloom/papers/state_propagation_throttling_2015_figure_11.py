"""Fig. 11 of state-propagation-throttling-2015: busy buffers above the critical load, with throttling."""

from __future__ import annotations

from flitloom.papers.congestion import on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import READING, THROTTLES, busy_share, chart_under_load

IDENTIFIER = "state-propagation-throttling-2015/figure-11"
TITLE = "Busy buffers at 1.1 of the critical load, without and with throttling (32x32, bcmp)"
OPTIONS = ("quick", "full")

#: First cycle in the ramp, and the load there.
START, LOAD = 1_220_400, 0.12204
CYCLES = 400


def reproduce(context: Context) -> Report:
    """Draw the charts anew."""
    full = context.quick is False
    tasks = [
        (throttle, START * 1e-7 if full else LOAD, context.seed, full, CYCLES)
        for throttle in THROTTLES.values()
    ]
    charts = dict(zip(THROTTLES, on_all_cores(context, "charts", chart_under_load, tasks), strict=True))
    shares = {name: busy_share(busy) for name, busy in charts.items()}
    cells = [Cell(name, "share of buffers full", None, round(share, 4)) for name, share in shares.items()]
    cells += [
        Cell("th(0)", "relaxes congestion", True, shares["th(0)"] < shares["no-th"]),
        Cell("th(8)", "suppresses congestion", True, shares["th(8)"] < shares["th(0)"] / 2),
    ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "The charts are those of the paper's ramp."
            if full
            else "Quick: at a constant load, after 10,000 cycles; --full takes them from the paper's ramp.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.space_time import compare_space_time

        compare_space_time(list(charts.items()), picture)
        report.files.append(picture)
    return report
