"""Pictures of routing tables: loads on the torus, histograms, sorted load curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from flitloom.plots.canvas import figure
from flitloom.routing.tables import Tables

#: Where the links of dimensions beyond the second point to.
SLANTS = ((0.3, 0.3), (-0.3, 0.3), (0.16, 0.38), (-0.16, 0.38))


def draw_comparison(tables: Sequence[Tables], file: str | Path) -> None:
    """Draw tables of one system side by side: load of every link, histogram, sorted loads and bound."""
    top = max(table.max_load for table in tables)
    with figure(file, 3.6 * max(len(tables), 2), 9) as drawing:
        axes = drawing.subplots(3, len(tables), squeeze=False)
        for column, table in enumerate(tables):
            lines = draw_loads(table, axes[0][column], top)
            axes[0][column].set_title(
                f"{table.method}: loads {table.min_load} to {table.max_load}", fontsize=9
            )
            values, counts = zip(*table.histogram().items(), strict=True)
            axes[1][column].bar(values, counts, width=max(0.8, top / 60))
            axes[1][column].set(xlim=(-1, top + 1), xlabel="load (routes)", ylabel="links")
            curve = np.sort([link[4] for link in table.links()])[::-1]
            axes[2][column].step(range(1, len(curve) + 1), curve, where="mid", label="load")
            axes[2][column].axhline(table.perfect_load, color="0.6", linestyle=":", label="mean")
            axes[2][column].axhline(
                max(tables, key=lambda table: table.bound).bound,
                color="tab:red",
                linestyle="--",
                label="lower bound",
            )
            axes[2][column].set(
                ylim=(0, 1.05 * top), xlabel="links, most loaded first", ylabel="load (routes)"
            )
            axes[2][column].legend(fontsize=7)
        drawing.colorbar(lines, ax=list(axes[0]), label="load (routes)", shrink=0.8)
        drawing.suptitle(f"{tables[0].topology}", fontsize=10)


def draw_loads(tables: Tables, axes: Axes, top: int) -> LineCollection:
    """Draw every link as a line with its load as colour; wrap-around links are half drawn at each rim.

    Two of the dimensions span the drawing; each further pair of dimensions puts planes beside and
    above each other. Links between planes are slanted stubs at the node they leave.
    """
    sizes = (*tables.topology.sizes, 1) if len(tables.topology.sizes) == 1 else tables.topology.sizes
    strides = [[1.0, 0.0], [0.0, 1.0]]
    extent = [float(sizes[0]) + 0.6, float(sizes[1]) + 0.6]
    for dimension in range(2, len(sizes)):
        axis = dimension % 2
        strides.append([extent[0] if axis == 0 else 0.0, extent[1] if axis == 1 else 0.0])
        extent[axis] *= sizes[dimension]

    def place(node: int) -> np.ndarray:
        position = np.zeros(2)
        for size, stride in zip(sizes, strides, strict=True):
            node, coordinate = divmod(node, size)
            position += coordinate * np.array(stride)
        return position

    segments, loads = [], []
    for link, source, target, _, load in tables.links():
        dimension, minus = divmod(link % (2 * len(tables.topology.sizes)), 2)
        start, end = place(source), place(target)
        sign = -1 if minus else 1
        step = np.array(strides[dimension] if dimension < 2 else SLANTS[dimension - 2]) * sign
        if dimension >= 2:
            end = start + step
        elif not np.allclose(end - start, step):
            end = start + 0.45 * step / max(1.0, float(np.abs(step).max()))
        # The two directions of a cable lie side by side.
        aside = (0.06 if dimension < 2 else 0.0) * np.array([-step[1], step[0]])
        segments.append([start + aside, end + aside])
        loads.append(load)
    lines = LineCollection(segments, array=np.array(loads), cmap="viridis", linewidths=1.8)
    lines.set_clim(0, top)
    axes.add_collection(lines)
    points = np.array([place(node) for node in range(tables.topology.nodes)])
    axes.scatter(points[:, 0], points[:, 1], s=6, color="0.3", zorder=3)
    axes.autoscale()
    axes.set_aspect("equal")
    axes.set_axis_off()
    return lines
