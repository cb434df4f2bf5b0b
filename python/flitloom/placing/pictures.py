"""Loads of channels before and after ranks were placed, and who sits where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from flitloom.placing.placement import Placement
from flitloom.plots.canvas import panels
from flitloom.plots.style import BOUND, COLOURS, FAINT

#: Planes side by side in a row of the picture, and most of them that are drawn.
ACROSS, MOST_PLANES = 4, 16
#: Cells of a plane up to which ranks are written in them.
WRITTEN = 256


def draw_placement(
    placement: Placement, path: str | Path | None = None, *, ax: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw the loads of all channels, row-major and placed (or phase by phase), and the ranks plane by plane.

    A plane has the first two dimensions; there is one for every place in the others (the first 16). Of hosts
    of switches a row of a plane is a switch, and a plane a group of them, where the network says so. A
    colour is a place on the last axis of at most 20; a node without a rank is white.

    Parameters
    ----------
    placement : Placement
        What is drawn.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : sequence of Axes, optional
        Where to draw instead: one for the loads, and one per plane.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    sizes = _sizes(placement)
    wide, high = sizes[0], sizes[1] if len(sizes) > 1 else 1
    planes = min(placement.topology.nodes // (wide * high), MOST_PLANES)
    rows = 1 + math.ceil(planes / ACROSS)
    columns = min(planes, ACROSS)
    if ax is None:
        width = max(7.0, 2.2 * columns)
        with panels(path, None, width, 2.6 * rows, rows, columns) as all_axes:
            for unused in all_axes[1:columns] + all_axes[columns + planes :]:
                unused.set_axis_off()
            top = all_axes[0]
            if columns > 1:
                grid = top.get_gridspec()
                figure = top.get_figure(root=True)
                assert grid is not None
                assert figure is not None
                top.remove()
                top = figure.add_subplot(grid[0, :])
            drawn = [top, *all_axes[columns : columns + planes]]
            _draw(placement, drawn, wide, high)
    else:
        with panels(None, ax, 1, 1, 1, 1 + planes) as drawn:
            _draw(placement, drawn, wide, high)
    return drawn


def _draw(placement: Placement, axes: Sequence[Axes], wide: int, high: int) -> None:
    top = axes[0]
    drawn = [(placement.row_major_loads, "row-major", FAINT), (placement.loads, "placed", COLOURS[0])]
    if placement.phases:
        # The busiest channels of phases are added up, not their loads.
        drawn = [
            (phase.loads, f"placed, {phase.name}", COLOURS[number % len(COLOURS)])
            for number, phase in enumerate(placement.phases)
        ]
    for loads, words, colour in drawn:
        falling = np.sort(loads)[::-1]
        top.stairs(falling, np.arange(len(falling) + 1), label=words, color=colour, fill=words == "row-major")
    if placement.minimised == "channel" and not placement.phases:
        top.axhline(placement.bound, color=BOUND, linestyle="--", label=f"bound: {placement.bound}")
    told = "busiest channels of all phases" if placement.phases else "busiest channel"
    top.set_title(f"{placement.topology}: {told} {placement.busiest_channel}")
    top.set_xlabel("channels, busiest first")
    top.set_ylabel("bytes")
    top.legend()
    groups, words = _groups(placement)
    ranks = np.full(placement.topology.nodes, -1)
    ranks[placement.nodes[::-1]] = np.arange(len(placement.nodes))[::-1]
    for plane, one in enumerate(axes[1:]):
        here = ranks[plane * wide * high : (plane + 1) * wide * high].reshape(high, wide)
        colours = np.where(here < 0, np.nan, groups[np.maximum(here, 0)])
        one.imshow(colours, origin="lower", cmap="tab20", vmin=0, vmax=19, alpha=0.6)
        if wide * high <= WRITTEN:
            for (y, x), rank in np.ndenumerate(here):
                if rank >= 0:
                    one.text(x, y, str(rank), ha="center", va="center", fontsize=5 if wide > 8 else 6)
        rest = np.unravel_index(plane, _sizes(placement)[2:], order="F")
        place = ", ".join(f"{name}={at}" for name, at in zip("zuvw", rest, strict=False))
        if placement.topology.grid is None and place:
            place = f"group {plane}"
        one.set_title(f"{place or words}", fontsize="small")
        one.set_xticks([])
        one.set_yticks([])


def _sizes(placement: Placement) -> tuple[int, ...]:
    """Sizes of what is drawn: of hosts of switches, sizes of a mesh in whose order they are."""
    topology = placement.topology
    return topology.order


def _groups(placement: Placement) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], str]:
    """A number of a colour per rank: its place on the last axis that is short enough."""
    stride, best, words = 1, np.zeros(placement.traffic.ranks, dtype=np.int64), "ranks"
    for number, size in enumerate(placement.traffic.mesh):
        if 1 < size <= 20:
            best = np.arange(placement.traffic.ranks) // stride % size
            words = placement.traffic.axes[number].name if placement.traffic.axes else f"axis {number}"
        stride *= size
    return best, f"coloured by {words}"
