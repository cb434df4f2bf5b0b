"""Fig. 1 of cup-stacking-2022: durations over the interval between slices, 32 payload flits."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import PATTERNS, ROUTER_REMARK, network
from flitloom.papers.report import Cell, Context, Report
from flitloom.scheduling.pictures import plot_stackings
from flitloom.scheduling.stacking import Stacking, save_curves

IDENTIFIER = "cup-stacking-2022/figure-1"
TITLE = "Durations over the interval between slices (16x16, payload 32, 2 to 16 slices)"

SLICES = (2, 4, 8, 16)
#: Section 3: splitting wins in many patterns, except tornado and transpose.
SPLITTING_WINS = {pattern: pattern not in {"torn", "trns"} for pattern in PATTERNS}

REMARKS = [
    "The text does not name the patterns of Fig. 1 (a) and (b); all six are drawn. Published values are its "
    "statement that splitting wins in many patterns, except tornado and transpose.",
    ROUTER_REMARK,
]


def reproduce(context: Context) -> Report:
    """Compute the curves anew."""
    net = network()
    panels: dict[str, list[tuple[str, Stacking]]] = {}
    cells = []
    for number, pattern in enumerate(PATTERNS):
        curves = []
        for slices in SLICES:
            collective = fl.Collective(pattern, payload=32, slices=slices)
            curves.append((f"p32s{slices}", fl.stack(net, collective, threads=context.threads)))
        title = f"{pattern} on {net.topology}, 32 payload flits"
        panels[title] = [(f"{made.collective.slices} slices", made) for _, made in curves]
        whole = curves[0][1].whole
        cells.append(Cell(pattern, "whole packet", None, whole))
        cells += [Cell(pattern, label, None, stacking.duration) for label, stacking in curves]
        wins = min(stacking.duration for _, stacking in curves) < whole
        cells.append(Cell(pattern, "splitting wins", SPLITTING_WINS[pattern], wins))
        if context.progress:
            context.progress("patterns", number + 1, len(PATTERNS))
    report = Report(IDENTIFIER, TITLE, cells, list(REMARKS))
    if picture := context.file(IDENTIFIER, ".png"):
        plot_stackings(panels, picture)
        data = picture.with_suffix(".csv")
        save_curves([stacking for curves in panels.values() for _, stacking in curves], data)
        report.files += [picture, data]
    return report
