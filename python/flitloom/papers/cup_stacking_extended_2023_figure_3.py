"""Fig. 3 of cup-stacking-extended-2023: simple stacking of bit-rotation under the ten schemes."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import ROUTER_REMARK, SCHEMES, network
from flitloom.papers.cup_stacking_extended_2023_table_2 import PUBLISHED
from flitloom.papers.report import Cell, Context, Report
from flitloom.scheduling.pictures import plot_stackings
from flitloom.scheduling.stacking import save_curves

IDENTIFIER = "cup-stacking-extended-2023/figure-3"
TITLE = "Durations over the interval between two 8-flit slices, bit-rotation on 16x16, by scheme"


def reproduce(context: Context) -> Report:
    """Compute the curves anew."""
    curves = []
    for number, scheme in enumerate(SCHEMES):
        collective = fl.Collective("brot", payload=14, slices=2)
        curves.append((scheme, fl.stack(network(arbitration=scheme), collective, threads=context.threads)))
        if context.progress:
            context.progress("schemes", number + 1, len(SCHEMES))
    cells = [
        Cell(scheme, "minimum", paper, stacking.duration)
        for (scheme, stacking), paper in zip(curves, PUBLISHED["brot"], strict=True)
    ]
    distinct = len({stacking.durations for _, stacking in curves})
    cells.append(Cell("all schemes", "some curves identical", True, distinct < len(SCHEMES)))
    report = Report(IDENTIFIER, TITLE, cells, [ROUTER_REMARK])
    if picture := context.file(IDENTIFIER, ".png"):
        plot_stackings({"brot, 16x16, two 8-flit slices": curves}, picture)
        data = picture.with_suffix(".csv")
        save_curves([stacking for _, stacking in curves], data)
        report.files += [picture, data]
    return report
