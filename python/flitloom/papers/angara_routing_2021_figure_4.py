"""Figure 4 of angara-routing-2021: calls of the single-source search."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "angara-routing-2021/figure-4"
TITLE = "Calls of BUILD_SSSP with and without the stage of unique routes"

#: Systems of growing size in two, three and four dimensions.
SYSTEMS = (
    "2x2",
    "4x2",
    "4x4",
    "6x4",
    "6x6",
    "8x8",
    "3x3x3",
    "4x4x2",
    "4x4x4",
    "5x5x4",
    "3x3x2x2",
    "4x2x2x2",
    "4x4x2x2",
)

REMARK = (
    "The figure has no numbers in its text, only that the calls lie between the number of nodes and its "
    "square without the stage of unique routes, and significantly lower with it."
)


def reproduce(context: Context) -> Report:
    """Count the calls anew."""
    cells = []
    counts: list[tuple[int, int, int]] = []
    for number, sizes in enumerate(SYSTEMS):
        topology = fl.Torus(sizes)
        calls = [
            fl.tables.make(topology, method="sssp", unique_first=unique, exact_bound=False).calls or 0
            for unique in (False, True)
        ]
        counts.append((topology.nodes, calls[0], calls[1]))
        cells += [
            Cell(sizes, "nodes", None, topology.nodes),
            Cell(sizes, "sort and group", None, calls[0]),
            Cell(sizes, "unique routes, sort and group", None, calls[1]),
            Cell(
                sizes,
                "between N and N^2 without unique routes",
                True,
                topology.nodes <= calls[0] <= topology.nodes**2,
            ),
        ]
        if context.progress:
            context.progress("systems", number + 1, len(SYSTEMS))
    files = []
    file = context.file(IDENTIFIER, ".png")
    if file is not None:
        from flitloom.plots.canvas import figure

        counts.sort()
        with figure(file, 6, 4) as drawing:
            axes = drawing.subplots()
            nodes = [row[0] for row in counts]
            axes.plot(nodes, [node**2 for node in nodes], ":", color="0.6", label="$N^2$ (every pair)")
            # Several systems have as many nodes, and some need no call at all.
            axes.plot(nodes, [row[1] for row in counts], "o", label="sort and group")
            axes.plot(nodes, [row[2] for row in counts], "s", label="unique routes, sort and group")
            axes.plot(nodes, nodes, "--", color="0.3", label="$N$")
            axes.set(xlabel="nodes", ylabel="calls of BUILD_SSSP", ylim=(-0.2, 2 * nodes[-1] ** 2))
            axes.set_yscale("symlog", linthresh=1)
            axes.legend()
        files.append(file)
    return Report(IDENTIFIER, TITLE, cells, [REMARK], files)
