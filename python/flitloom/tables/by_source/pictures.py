"""Pictures of routing tables: loads on the torus, histograms, sorted load curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from flitloom.plots.canvas import panels
from flitloom.plots.style import BOUND, FAINT, LOADS
from flitloom.tables.by_source.tables import Tables

#: Where links point to: those of dimensions beyond the second are stubs.
STEPS = ((1.0, 0.0), (0.0, 1.0), (0.3, 0.3), (-0.3, 0.3), (0.16, 0.38), (-0.16, 0.38))


def draw_comparison(
    tables: Sequence[Tables], path: str | Path | None = None, *, ax: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw tables of one system: load of every link, histogram, sorted loads and bound; a row per tables.

    Parameters
    ----------
    tables : sequence of Tables
        The tables.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : sequence of Axes, optional
        Where to draw instead: per tables loads, histogram and sorted loads.

    Returns
    -------
    list of Axes
        What was drawn in, row by row.
    """
    top = max(table.max_load for table in tables)
    clip = _end_of_colours(tables)
    low = min(min(table.min_load for table in tables), clip - 1)
    across, high = (size - 0.6 for size in _extent(tables[0].topology.sizes))
    alone = len(tables) == 1
    width = min(max(0.3 * across, 3.8), 9.0 if alone else 5.0)
    height = min(max(width * high / across, 1.6 if alone else 2.2), 12.0)
    bound = max(tables, key=lambda table: table.bound).bound
    # Few inches across, so that everything can be read in a column of text.
    size = (max(width, 6), height + 5.6) if alone else (width + 6.2, (height + 0.3) * len(tables) + 0.4)
    shape: dict[str, Any] = {"rows": len(tables), "columns": 3, "width_ratios": (width, 2.8, 2.8)}
    if alone:
        shape = {"rows": 3, "columns": 1, "height_ratios": (height, 2.4, 2.4)}
    with panels(path, ax, *size, **shape) as drawn:
        maps = drawn[::3]
        for row, table in enumerate(tables):
            axes = drawn[3 * row : 3 * row + 3]
            lines = _draw_lines(table, axes[0], (low, clip))
            axes[0].set_title(f"{table.method}: loads {table.min_load} to {table.max_load}")
            loads, links = np.array(list(table.histogram().items())).T
            step = -(-(top + 1) // 60)
            counts = np.bincount(loads // step, weights=links)
            edges = step * np.arange(len(counts) + 1) - 0.5
            axes[1].stairs(counts, edges, fill=True)
            axes[1].set(xlim=(-0.5, top + step), xlabel="load (routes)", ylabel="links")
            curve = np.sort([link[4] for link in table.links()])[::-1]
            axes[2].step(range(1, len(curve) + 1), curve, where="mid", label="load")
            axes[2].axhline(table.perfect_load, color=FAINT, linestyle=":", label="mean")
            axes[2].axhline(bound, color=BOUND, linestyle="--", label="lower bound")
            axes[2].set(ylim=(0, 1.05 * top), xlabel="links, most loaded first", ylabel="load (routes)")
            axes[2].legend()
        above = clip < top
        label = f"load (routes);\n{clip} and more alike" if above else "load (routes)"
        drawing = drawn[0].get_figure(root=True)
        assert drawing is not None
        drawing.colorbar(lines, ax=maps, label=label, extend="max" if above else "neither", location="left")
        if path is not None:
            drawing.suptitle(f"{tables[0].topology}", fontsize=10)
    return drawn


def _end_of_colours(tables: Sequence[Tables]) -> int:
    """The load from which on all have one colour: few full links must not make all others alike."""
    loads = np.concatenate([[link[4] for link in table.links()] for table in tables])
    most = math.ceil(np.percentile(loads, 98))
    return int(loads.max()) if loads.max() <= 1.25 * most else most


def _extent(sizes: Sequence[int]) -> tuple[float, float]:
    """Width and height of a drawing, in hops."""
    columns, rows = _square(math.prod(sizes[2:]))
    return columns * (sizes[0] + 0.6), rows * ((sizes[1] if len(sizes) > 1 else 1) + 0.6)


def _square(planes: int) -> tuple[int, int]:
    """Columns and rows for planes beside and above each other."""
    columns = math.ceil(math.sqrt(planes))
    return columns, -(-planes // columns)


def _draw_lines(tables: Tables, axes: Axes, span: tuple[int, int]) -> LineCollection:
    """Draw every link as a line with its load as colour; wrap-around links are half drawn at each rim.

    Two dimensions span a plane; the planes of further dimensions lie beside and above each other. Links
    between planes are slanted stubs at the node they leave. Colours go from one load to another, `span`.
    """
    sizes = (*tables.topology.sizes, 1) if len(tables.topology.sizes) == 1 else tables.topology.sizes
    columns, _ = _square(math.prod(sizes[2:]))

    def place(node: int) -> np.ndarray:
        plane, within = divmod(node, sizes[0] * sizes[1])
        y, x = divmod(within, sizes[0])
        row, column = divmod(plane, columns)
        return np.array([x + column * (sizes[0] + 0.6), y + row * (sizes[1] + 0.6)])

    segments, loads = [], []
    for link, source, target, _, load in tables.links():
        dimension, minus = divmod(link % (2 * len(tables.topology.sizes)), 2)
        start, end = place(source), place(target)
        sign = -1 if minus else 1
        step = sign * np.array(STEPS[dimension])
        if dimension >= 2:
            end = start + step
        elif not np.allclose(end - start, step):
            end = start + 0.45 * step / max(1.0, float(np.abs(step).max()))
        # The two directions of a cable lie side by side.
        aside = (0.06 if dimension < 2 else 0.0) * np.array([-step[1], step[0]])
        segments.append([start + aside, end + aside])
        loads.append(load)
    lines = LineCollection(segments, array=np.array(loads), cmap=LOADS, linewidths=1.8)
    lines.set_clim(*span)
    axes.add_collection(lines)
    failed = set(tables.topology.failed_nodes)
    points = np.array([place(node) for node in range(tables.topology.nodes) if node not in failed])
    axes.scatter(points[:, 0], points[:, 1], s=6, color="0.3", zorder=3)
    gone = [place(node) for node in sorted(failed)]
    # A failed cable is marked in its middle, one around the rim beside the first of its nodes.
    for pair in tables.topology.failed_links:
        start, end = (place(node) for node in pair[:2])
        near = float(np.abs(end - start).max()) <= 1
        gone.append((start + end) / 2 if near else start + 0.3 * np.sign(start - end))
    if gone:
        style: dict[str, Any] = {"s": 30, "marker": "x", "color": BOUND, "zorder": 4, "label": "failed"}
        axes.scatter(*np.array(gone).T, **style)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02))
    axes.autoscale()
    axes.set_aspect("equal")
    axes.set_axis_off()
    return lines
