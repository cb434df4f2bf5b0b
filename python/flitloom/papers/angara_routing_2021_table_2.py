"""Table 2 of angara-routing-2021: balance of routing tables on the Desmos cluster."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "angara-routing-2021/table-2"
TITLE = "Balance of routing tables on node sets of the Desmos cluster, with the proven optimum"

#: The natural sub-tori of the 4x2x2x2 torus, by number of nodes.
SYSTEMS = {2: (2,), 4: (4,), 8: (4, 2), 16: (4, 2, 2), 32: (4, 2, 2, 2)}
COLUMNS = ("max load", "min load", "sigma(4)", "max D")
#: Largest and smallest load, deviation and diameter, by method and number of nodes.
PUBLISHED = {
    "bfs": {
        2: (1, 1, 0, 1),
        4: (2, 2, 0, 2),
        8: (6, 2, 1.429, 3),
        16: (18, 3, 4.341, 4),
        32: (48, 3, 12.254, 5),
    },
    "genetic": {
        2: (1, 1, 0, 1),
        4: (2, 2, 0, 2),
        8: (4, 4, 0, 3),
        16: (11, 5, 1.745, 4),
        32: (27, 8, 6.274, 5),
    },
    "sssp": {
        2: (1, 1, 0, 1),
        4: (2, 2, 0, 2),
        8: (5, 3, 0.707, 3),
        16: (12, 3, 2.319, 4),
        32: (28, 8, 6.298, 5),
    },
}

SYSTEM_REMARK = (
    "The paper does not name its node sets; the perfect loads 16, 8, 4 and 2 of the sub-tori 4x2x2x2, 4x2x2, "
    "4x2 and 4 agree with its deviations. A dimension of size 2 is one pair of links, which all count."
)
TIE_REMARK = (
    "BFS, SSSP and the genetic search depend on how ties are broken and numbers are drawn, which the paper "
    "leaves open; used are the printed algorithms with fixed ties, not tuned to its values."
)
OPTIMUM_REMARK = "optimum is the proven least largest load of any legal tables of minimal routes."


def reproduce(context: Context) -> Report:
    """Compute the table anew, with our balanced tables and the optimum below."""
    cells = []
    for number, (nodes, sizes) in enumerate(SYSTEMS.items()):
        for method in ("bfs", "genetic", "sssp", "balanced"):
            tables = fl.tables.make(fl.Torus(*sizes), method=method, seed=context.seed)
            computed = (tables.max_load, tables.min_load, round(tables.sigma4, 3), tables.max_distance)
            published = PUBLISHED[method][nodes] if method in PUBLISHED else (None,) * 4
            row = f"{method}, {nodes} nodes"
            cells += [Cell(row, *entry) for entry in zip(COLUMNS, published, computed, strict=True)]
            if method == "balanced":
                cells.append(
                    Cell(row, "optimum", None, tables.bound if tables.optimal else f">= {tables.bound}")
                )
        if context.progress:
            context.progress("systems", number + 1, len(SYSTEMS))
    cells.sort(key=lambda cell: [*PUBLISHED, "balanced"].index(cell.row.split(",")[0]))
    return Report(IDENTIFIER, TITLE, cells, [SYSTEM_REMARK, TIE_REMARK, OPTIMUM_REMARK])
