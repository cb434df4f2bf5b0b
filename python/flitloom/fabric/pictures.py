"""Pictures of fabrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from flitloom.fabric.layout import stand
from flitloom.fabric.networks import named_subnet
from flitloom.fabric.recognition import Recognition
from flitloom.ground.numerals import counted
from flitloom.plots.canvas import panel
from flitloom.plots.style import BOUND, COLOURS
from flitloom.spec.families import is_family

#: Where each dimension shifts a switch on the page.
_SHIFTS = ((1.0, 0.0), (0.0, 1.0), (0.31, 0.23), (0.11, -0.07), (0.04, 0.05), (0.02, -0.015))
#: Where a hung switch stands beside the one that it is joined to.
_HUNG = (0.3, 0.3)


def draw_fabric(found: Recognition, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw switches and cables; cables over the edges are dotted, what is missing or wrong is reddish.

    A fat tree is drawn by its levels, a product with full meshes and a graph on a circle.

    Parameters
    ----------
    found : Recognition
        The fabric, and what was recognised in it.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    subnet = found.subnet
    count = len(subnet.switches)
    # A hung switch stands close to the one that it is joined to.
    near = [found.coordinates[found.service.get(n, (n,))[0]] for n in range(count)] if found.grid() else []
    if near:
        shifts = np.array(_SHIFTS[: len(found.sizes)])
        points = np.array(near, dtype=float) @ shifts
        points[list(found.service)] += _HUNG
        gone = np.array(found.missing_switches, dtype=float).reshape(-1, len(found.sizes)) @ shifts
    else:
        places = np.array(stand(found))
        points, gone = places[:count], places[count:]
    with panel(path, ax, 8, 8) as axes:
        misfits = set(found.misfits)
        for index, cable in enumerate(subnet.cables):
            ends = points[[cable.a, cable.b]]
            over = bool(near) and any(
                abs(p - q) > 1 for p, q in zip(near[cable.a], near[cable.b], strict=True)
            )
            color, style = (BOUND, "-") if index in misfits else ("0.75", ":") if over else ("0.4", "-")
            axes.plot(
                ends[:, 0],
                ends[:, 1],
                style,
                color=color,
                linewidth=1.6 if index in misfits else 0.6,
                zorder=1,
            )
        for a, b in found.missing_cables:
            axes.plot(points[[a, b], 0], points[[a, b], 1], "--", color=BOUND, linewidth=1, zorder=2)
        axes.scatter(points[:, 0], points[:, 1], s=max(4, 3000 / count), color=COLOURS[0], zorder=3)
        axes.scatter(gone[:, 0], gone[:, 1], s=40, marker="x", color=BOUND, zorder=3)
        axes.set_title(found.describe(), wrap=True)
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
    return axes


def draw_network(text: str, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a named network: products by their coordinates, fat trees by levels, others on a circle.

    Parameters
    ----------
    text : str
        A product or a family, as for `named_subnet`.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    subnet = named_subnet(text)
    names = [switch.name for switch in subnet.switches]
    points, is_grid = _points(names), not is_family(text)
    with panel(path, ax, 6, 6) as axes:
        for cable in subnet.cables:
            start, end = points[[cable.a, cable.b]]
            along = end - start
            # Cables over several routers of a line would hide each other and what they pass.
            bend = is_grid and np.hypot(*along) > 1.1
            t = np.linspace(0, 1, 13 if bend else 2)[:, None]
            line = start + t * along + 0.72 * bend * t * (1 - t) * np.array([-along[1], along[0]])
            axes.plot(line[:, 0], line[:, 1], color="0.55", linewidth=0.7, zorder=1)
        axes.scatter(points[:, 0], points[:, 1], s=max(6, 2200 / len(names)), color=COLOURS[0], zorder=3)
        axes.set_title(f"{text}: {len(names)} routers, {counted(len(subnet.cables), 'cable')}", wrap=True)
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
    return axes


def _points(names: list[str]) -> NDArray[np.float64]:
    """Where the routers of a named network stand on the page."""
    if names[0].startswith("S"):
        places = np.array([[int(part) for part in name[1:].split("-")] for name in names], dtype=float)
        return np.asarray(places @ np.array(_SHIFTS[: places.shape[1]]), dtype=np.float64)
    if names[0].startswith("edge"):
        levels = ("edge", "middle", "top")
        of = [next(level for level, word in enumerate(levels) if name.startswith(word)) for name in names]
        rows = [sorted(place for place, one in enumerate(of) if one == level) for level in range(len(levels))]
        width = max(map(len, rows))
        points = np.zeros((len(names), 2))
        for level, row in enumerate(rows):
            points[row, 0] = (np.arange(len(row)) + 0.5) * width / len(row)
            points[row, 1] = level * width / 4
        return points
    angles = 2 * np.pi * np.arange(len(names)) / len(names)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
