"""Pictures of fabrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from flitloom.fabric.recognition import Recognition
from flitloom.plots.canvas import panel
from flitloom.plots.style import BOUND, COLOURS

#: Where each dimension shifts a switch on the page.
_SHIFTS = ((1.0, 0.0), (0.0, 1.0), (0.31, 0.23), (0.11, -0.07), (0.04, 0.05), (0.02, -0.015))


def draw_fabric(found: Recognition, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw switches and cables; cables over the edges are dotted, what is missing or wrong is reddish.

    A graph is drawn on a circle.

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
    if found.coordinates:
        shifts = np.array(_SHIFTS[: len(found.sizes)])
        points = np.array(found.coordinates, dtype=float) @ shifts
        gone = np.array(found.missing_switches, dtype=float).reshape(-1, len(found.sizes)) @ shifts
    else:
        angles = 2 * np.pi * np.arange(count) / count
        points, gone = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.zeros((0, 2))
    with panel(path, ax, 8, 8) as axes:
        misfits = set(found.misfits)
        for index, cable in enumerate(subnet.cables):
            ends = points[[cable.a, cable.b]]
            over = bool(found.coordinates) and any(
                abs(p - q) > 1
                for p, q in zip(found.coordinates[cable.a], found.coordinates[cable.b], strict=True)
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
