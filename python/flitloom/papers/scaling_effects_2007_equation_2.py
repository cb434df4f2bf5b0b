"""Eq. 2 of scaling-effects-2007: load of the links under random traffic, and r_c = 8/N."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import flitloom as fl
from flitloom.analysis.channel_loads import channel_loads
from flitloom.analysis.demands import Demands, make_demands
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "scaling-effects-2007/equation-2"
TITLE = "Load of links under random traffic in dimension order, and the critical load 8/N"

SIZES = (4, 8, 16, 32, 64)
#: Size at which the loads along a row are compared.
ROW = 16


def reproduce(context: Context) -> Report:
    """Count the loads anew, exactly, over all pairs of nodes."""
    del context
    cells = []
    for size in SIZES:
        network = fl.Network(fl.Torus(size, size))
        nodes = size * size
        uniform = make_demands(network, fl.Collective("rand"))
        # The paper's packets also go to their own node: shares of all nodes, not of all others.
        split = channel_loads(uniform, ties="split").largest * Fraction(nodes - 1, nodes)
        wrap = channel_loads(uniform).largest * Fraction(nodes - 1, nodes)
        cells += [
            Cell(f"N={size}", "8/N", 8 / size, float(1 / split), equation=True),
            Cell(f"N={size}", "all ties over the wrap-around link", None, float(1 / wrap)),
        ]
    # Eq. 2 counts, at (h, 0), what the nodes 0 to h of a row send towards +x and does not turn before.
    for h in range(ROW // 2):
        paper = Fraction((h + 1) * (ROW - h - 1), 2 * ROW)
        place = f"N={ROW}, h={h}"
        cells.append(Cell(place, "load of the link at (h,0)+x", float(paper), _row_load(h), equation=True))
    return Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            "Counted over all pairs, with half of the packets at distance N/2 each way, as in the paper. "
            "Its router, like the preset s07, sends all of them one way. That leaves less than 8/N over the "
            "wrap-around link.",
        ],
    )


def _row_load(h: int) -> float:
    """Load of the link at (h, 0)+x by packets of the nodes 0 to h of the row, for a load of 1."""
    topology = fl.Torus(ROW, ROW)
    nodes = topology.nodes
    sending = np.zeros(nodes, dtype=np.int64)
    sending[: h + 1] = 1
    none, everyone = np.zeros((0, 3), dtype=np.int64), np.ones(nodes, dtype=np.int64)
    loads = channel_loads(Demands(topology, none, ((sending, everyone),), nodes), ties="split")
    return float(loads.array().sel(x=h, y=0, direction="+x"))
