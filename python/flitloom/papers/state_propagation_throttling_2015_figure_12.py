"""Fig. 12 of state-propagation-throttling-2015: busy buffers during collective communication."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import flitloom as fl
from flitloom.papers.congestion import Setting, on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import PACKETS, READING, THROTTLES, busy_share, setting
from flitloom.run.space_time import record_space_time

if TYPE_CHECKING:
    import xarray as xr

IDENTIFIER = "state-propagation-throttling-2015/figure-12"
TITLE = "Busy buffers during collective communication (32x32, bcmp, ten packets of eight flits per node)"

#: Cycles after which many buffers in the directions E and W become busy (5.4.3).
FIRST = 26


def chart(where: Setting) -> xr.Dataset:
    """Busy buffers of a whole burst."""
    traffic = fl.Collective("bcmp", payload=7, packets=PACKETS)
    return record_space_time(where.simulation(traffic))


def reproduce(context: Context) -> Report:
    """Draw the charts anew."""
    tasks = [(setting(throttle),) for throttle in THROTTLES.values()]
    charts = dict(zip(THROTTLES, on_all_cores(context, "charts", chart, tasks), strict=True))
    cells = []
    shares = {name: busy_share(busy) for name, busy in charts.items()}
    for name, busy in charts.items():
        full = np.flatnonzero((busy["+x"] | busy["-x"].rename(x="x")).any(("x", "channel")).values)
        if name != "th(8)":
            # Our cycles count from the first one; durations and the paper's cycles include the way in and
            # out.
            cells.append(Cell(name, "cycles until buffers fill", FIRST, int(full[0]) + 2))
        cells.append(Cell(name, "share of buffers full", None, round(shares[name], 4)))
        cells.append(Cell(name, "cycles drawn", None, busy.sizes["cycle"]))
    cells.append(Cell("th(8)", "far fewer full buffers", True, shares["th(8)"] < shares["no-th"] / 2))
    report = Report(IDENTIFIER, TITLE, cells, [READING])
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.space_time import compare_space_time

        compare_space_time(list(charts.items()), picture)
        report.files.append(picture)
    return report
