"""Fig. 6 of state-propagation-throttling-2015: space-time charts below, at and above the critical load."""

from __future__ import annotations

from flitloom.papers.congestion import on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import READING, busy_share, chart_under_load, drift

IDENTIFIER = "state-propagation-throttling-2015/figure-6"
TITLE = "Busy buffers below, at and above the critical load (32x32, bcmp)"
OPTIONS = ("quick", "full")

#: Loads of the three charts (note 4), in flits/node/cycle, and the first cycles of them in the ramp.
LOADS = {"(a) uncongested": 0.0985, "(b) critical": 0.11095, "(c) saturated": 0.12204}
STARTS = {"(a) uncongested": 998_500, "(b) critical": 1_109_500, "(c) saturated": 1_220_400}
CYCLES = 400


def reproduce(context: Context) -> Report:
    """Draw the charts anew."""
    full = context.quick is False
    tasks = [
        # In the ramp of 1e-7 flits/node/cycle per cycle, these are the paper's first cycles.
        ("none", STARTS[name] * 1e-7 if full else load, context.seed, full, CYCLES)
        for name, load in LOADS.items()
    ]
    charts = dict(zip(LOADS, on_all_cores(context, "charts", chart_under_load, tasks), strict=True))
    shares = {name: busy_share(busy) for name, busy in charts.items()}
    cells = []
    for name, busy in charts.items():
        cells += [
            Cell(name, "load", None, LOADS[name]),
            Cell(name, "share of buffers full", None, round(shares[name], 4)),
        ]
        if (hop := drift(busy)) is not None:
            cells.append(Cell(name, "cycles from a full buffer to the next one upstream", None, hop))
            if name != "(a) uncongested":
                cells.append(Cell(name, "moves one hop against the packets per packet time", True, hop == 8))
    low, middle, high = shares.values()
    cells.append(Cell("full buffers", "become more with the load", True, low < middle < high))
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "The charts are those of the paper's ramp at its three cycles."
            if full
            else "Quick: at constant loads, after 10,000 cycles; --full takes them from the paper's ramp.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.space_time import compare_space_time

        compare_space_time([(f"{name}: {LOADS[name]}", busy) for name, busy in charts.items()], picture)
        report.files.append(picture)
    return report
