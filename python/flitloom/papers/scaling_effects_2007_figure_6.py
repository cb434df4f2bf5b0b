"""Fig. 6 of scaling-effects-2007: throughput and latency of do, sa and cl in a small and a large torus."""

from __future__ import annotations

from flitloom.papers.congestion import CRITICAL_LOAD
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import COLOURS, READING, ROUTINGS, critical_curves, draw_ramps

IDENTIFIER = "scaling-effects-2007/figure-6"
TITLE = "Throughput and latency while the load rises: do, sa and cl, small and large"
OPTIONS = ("quick", "full")


def reproduce(context: Context) -> Report:
    """Run the ramps anew."""
    full = context.quick is False
    sizes = (32, 256) if full else (16, 32)
    found = critical_curves(context, sizes)
    cells = []
    for size in sizes:
        for routing in ROUTINGS:
            curve = found[size, routing, "rn"]
            value = curve.critical_load.value
            row = f"N={size} {routing}"
            cells += [
                Cell(
                    row,
                    CRITICAL_LOAD,
                    None,
                    curve.critical_load.outcome if value is None else round(value, 4),
                ),
                Cell(row, "most throughput", None, round(float(curve.throughput.max()), 4)),
                Cell(row, "throughput at the end", None, round(float(curve.throughput[-1]), 4)),
            ]
    first, second = ({r: found[size, r, "rn"].critical_load.value or 0.0 for r in ROUTINGS} for size in sizes)
    change = (first["cl"] > first["do"]) != (second["cl"] > second["do"])
    cells.append(Cell("do and cl", "change places", True, change))
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "The paper shows N = 32 and 256 and finds cl and do change places."
            + ("" if full else " Quick: N = 16 and 32 in their place."),
        ],
    )
    panels = {
        f"N={size}": {routing: (COLOURS[routing], found[size, routing, "rn"]) for routing in ROUTINGS}
        for size in sizes
    }
    report.files += draw_ramps(context, IDENTIFIER, panels, "lower right")
    return report
