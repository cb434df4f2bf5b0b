"""Fig. 5 of state-propagation-throttling-2015: a congested area grows against the packets."""

from __future__ import annotations

import itertools

import numpy as np

import flitloom as fl
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import setting
from flitloom.run.space_time import record_space_time

IDENTIFIER = "state-propagation-throttling-2015/figure-5"
TITLE = "A congested area grows against the packets' direction (32x32 torus, two nodes of a row send to one)"

#: The row that the charts look at, and the columns of two senders and of their target.
LINE, FAR, NEAR, TARGET = 10, 10, 22, 24
PACKETS = 24


def reproduce(context: Context) -> Report:
    """Draw the chart anew: two nodes send to a third, which takes half of what they could send."""
    # One after the other, so that neither has its turn at the end.
    packets = [(32 * LINE + x, 32 * LINE + TARGET, 8, 0) for _ in range(PACKETS) for x in (FAR, NEAR)]
    simulation = setting().simulation(fl.Packets(packets))
    busy = record_space_time(simulation)
    full = busy["+x"].any("channel").values
    # From the hindmost buffer that fills on: where it becomes full first, against the packets.
    first = {x: int(np.flatnonzero(full[:, x])[0]) for x in range(32) if full[:, x].any()}
    places = sorted(first, reverse=True)
    delays = [first[behind] - first[ahead] for ahead, behind in itertools.pairwise(places)]
    pace = float(np.mean(delays)) if delays else 0.0
    cells = [
        Cell("buffers that fill", "in the row", None, len(first)),
        Cell("grows against the packets", "+x", True, bool(delays) and min(delays) > 0),
        Cell("cycles per hop", "+x", None, round(pace, 1)),
    ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            "The paper draws artificial examples; this one is simulated. Packets of eight flits, "
            "buffers of sixteen."
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.space_time import plot_space_time

        plot_space_time(busy, picture, f"row {LINE}: {FAR} and {NEAR} send to {TARGET}")
        report.files.append(picture)
    return report
