"""Space-time charts: busy buffers along lines of routers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from flitloom.ground.numerals import counted
from flitloom.plots.canvas import legend_below, panels
from flitloom.plots.style import colour

if TYPE_CHECKING:
    import xarray as xr

#: The directions of travel of two dimensions by the names of the winds; +y is north, as the port on that
#: side.
WINDS = {"+y": "N", "+x": "E", "-y": "S", "-x": "W"}
#: Cycles that ticks lie apart: five, as in the paper, where that can be told apart.
STEPS = (5, 10, 20, 50, 100, 200, 500, 1000, 5000)
GAP = 4


def plot_space_time(
    busy: xr.Dataset, path: str | Path | None = None, title: str = "", *, ax: Axes | None = None
) -> Axes:
    """Draw one chart, to a file or into axes, and return its axes; see `compare_space_time`."""
    return compare_space_time([(title, busy)], path, ax=None if ax is None else [ax])[0]


def compare_space_time(
    charts: Sequence[tuple[str, xr.Dataset]],
    path: str | Path | None = None,
    *,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw space-time charts below each other, on one scale of time.

    Horizontally the routers along the lines, direction by direction (N, E, S, W in two dimensions);
    vertically the cycles, downwards, from the first one noted. A router has the colour of the virtual channel
    whose buffer is busy, or those of several side by side (state-propagation-throttling-2015, Figs. 3 to 6).

    Parameters
    ----------
    charts : sequence of (str, Dataset)
        Titles and what `flitloom.run.space_time.record_space_time` noted.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : sequence of Axes, optional
        Where to draw instead, one per chart.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    longest = max(busy.sizes["cycle"] for _, busy in charts)
    channels = max(busy.sizes["channel"] for _, busy in charts)
    count = len(charts)
    height = min(max(longest / 60, 4), 13 if count == 1 else 6)
    with panels(path, ax, 8, 1 + (0.5 + height) * count, rows=count) as drawn:
        for axes, (title, busy) in zip(drawn, charts, strict=True):
            _draw(axes, busy, longest)
            axes.set_title("\n".join(part for part in (title, _line_names(busy)) if part))
            axes.set_ylabel("time (cycles, downwards)")
        legend = [Patch(color=colour(number), label=f"channel {number}") for number in range(channels)]
        margin = charts[0][1].attrs["margin"]
        state = "full" if margin == 0 else f"at most {counted(margin, 'flit')} free"
        legend_below(drawn, path, legend, f"buffer {state}", 5)
    return drawn


def _line_names(busy: xr.Dataset) -> str:
    """Which lines of routers are shown.

    >>> import xarray as xr
    >>> _line_names(xr.Dataset(attrs={"lines": "x: y=5, y: x=2"}))
    'row y=5, column x=2'
    """
    lines: str = busy.attrs.get("lines", "")
    if lines.startswith("x: y=") and ", y: x=" in lines and lines.count("=") == 2:
        return "row " + lines.removeprefix("x: ").replace(", y: ", ", column ")
    return f"lines along {lines}" if "=" in lines else ""


def _coloured(busy: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Dots by cycle and place: as many per router as there are channels, shared by its busy ones."""
    cycles, routers, channels = busy.shape
    colours = [to_rgb(colour(number)) for number in range(channels)]
    palette = np.rint(255 * np.array([*colours, (1, 1, 1)])).astype(np.uint8)
    count = busy.sum(axis=2)
    # Busy channels first, in their order.
    ranked = np.argsort(~busy, axis=2, kind="stable")
    dots = np.empty((cycles, routers, channels), dtype=np.intp)
    for dot in range(channels):
        which = np.take_along_axis(ranked, (dot * count // channels)[:, :, None], axis=2)[:, :, 0]
        dots[:, :, dot] = np.where(count > 0, which, channels)
    coloured: NDArray[np.uint8] = palette[dots.reshape(cycles, routers * channels)]
    return coloured


def _draw(axes: Axes, busy: xr.Dataset, longest: int) -> None:
    dimensions = len(busy.data_vars) // 2
    names = [str(name) for name in busy.data_vars]
    # Ports in the routers' own order: + of the last dimension first, then all -.
    order = [*range(2 * dimensions - 2, -1, -2), *range(2 * dimensions - 1, 0, -2)]
    cycles = busy.sizes["cycle"]
    blocks, places, labels, edges = [], [], [], []
    at = 0
    for index in order:
        name = names[index]
        cells = busy[name].values
        picture = _coloured(cells)
        width = picture.shape[1]
        wind = f"{WINDS[name]} " if dimensions == 2 else ""
        blocks += [picture, np.full((cycles, GAP, 3), 190, dtype=np.uint8)]
        places.append(at + width / 2)
        labels.append(f"{wind}({name})")
        edges.append(at)
        at += width + GAP
    image = np.concatenate(blocks[:-1], axis=1)
    first = int(busy["cycle"].values[0])
    extent = (0.0, float(image.shape[1]), float(first + cycles), float(first))
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent)
    axes.set_ylim(first + longest, first)
    axes.set_xticks(places, labels)
    axes.set_xlabel("routers along the lines, by direction of travel")
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
    step = next((step for step in STEPS if longest / step <= 60), STEPS[-1])
    axes.yaxis.set_major_locator(MultipleLocator(4 * step))
    axes.yaxis.set_minor_locator(MultipleLocator(step))
    axes.tick_params(axis="y", which="both", right=True)
    axes.tick_params(axis="x", length=0)
