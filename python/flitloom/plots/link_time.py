"""Link-time charts: what every link did in every cycle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from flitloom.ground.numerals import counted
from flitloom.plots import style
from flitloom.plots.canvas import legend_below, panel, panels
from flitloom.plots.codes import BLOCKED
from flitloom.plots.style import COLOURS, colour

if TYPE_CHECKING:
    from xarray import DataArray

    from flitloom.networks.experiment import Experiment
    from flitloom.networks.network import Network


class Recorded(Protocol):
    """What a chart shows of a result."""

    network: Network
    spec: Experiment

    @property
    def link_time(self) -> DataArray:
        """Codes by cycle, node and direction."""

    @property
    def duration(self) -> int:
        """Cycles of the run."""


def plot_link_time(result: Recorded, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw one chart, to a file or into axes, and return its axes; see `compare_link_time`."""
    with panel(path, ax, 8.5, 7) as axes:
        _draw(axes, result, len(result.link_time), 1.0)
        axes.set_title(_title("", result))
        axes.set_ylabel("time (cycles)")
        handles = _legend([result])
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=len(handles))
    return axes


def compare_link_time(
    results: Sequence[tuple[str, Recorded]],
    path: str | Path | None = None,
    *,
    share: float = 1.0,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the link-time charts of several results below each other on one time scale.

    Horizontally the links, router by router, each router's in the order of its ports (N, E, S, W in two
    dimensions; cup-stacking-2022, Fig. 2); vertically the cycles. A dot has the colour of the slice whose
    flit crosses the link; gray means that flits wait for a busy buffer, white that there are none.

    Parameters
    ----------
    results : sequence of (str, Result)
        Titles and results.
    path : path, optional
        The picture: PNG, PDF or SVG.
    share : float
        Share of the routers to draw, from the first on.
    ax : sequence of Axes, optional
        Where to draw instead, one per result.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    end = max(len(result.link_time) for _, result in results)
    count = len(results)
    with panels(path, ax, 8.5, 1 + 4 * count, rows=count, sharey=True) as drawn:
        for axes, (title, result) in zip(drawn, results, strict=True):
            _draw(axes, result, end, share)
            axes.set_title(_title(title, result))
            axes.set_ylabel("time (cycles)")
        legend_below(drawn, path, _legend([result for _, result in results]))
    return drawn


def _title(words: str, result: Recorded) -> str:
    """What was simulated, and how long it took."""
    text = f"{result.spec.traffic.describe(result.network)}: {counted(result.duration, 'cycle')}"
    return f"{words}\n{text}" if words else text


def _legend(results: Sequence[Recorded]) -> list[Patch]:
    slices = max(map(_slices, results))
    names = [f"slice {number + 1}" for number in range(min(slices, len(COLOURS)))] if slices > 1 else ["busy"]
    called = [result.spec.traffic.drawn.get("busy") for result in results]
    names = [name for name in called if name is not None][:1] or names
    patches = [Patch(color=colour(number), label=name) for number, name in enumerate(names)]
    return [*patches, Patch(color=style.BLOCKED, label="blocked")]


def _draw(axes: Axes, result: Recorded, end: int, share: float) -> None:
    cells = result.link_time.to_numpy()
    dimensions = cells.shape[2] // 2
    # Ports in the routers' own order: + of the last dimension first, then all -.
    order = [*range(2 * dimensions - 2, -1, -2), *range(2 * dimensions - 1, 0, -2)]
    cells = cells[:, :, order].reshape(len(cells), -1)
    cells = cells[:, : round(cells.shape[1] * share)]
    palette = np.full((256, 3), 255, dtype=np.uint8)
    for number in range(254):
        palette[1 + number] = np.rint(255 * np.array(to_rgb(colour(number))))
    palette[BLOCKED] = np.rint(255 * np.array(to_rgb(style.BLOCKED)))
    extent = (0.0, float(cells.shape[1]), 0.0, float(len(cells)))
    axes.imshow(palette[cells], origin="lower", aspect="auto", interpolation="nearest", extent=extent)
    axes.set_ylim(0, end)
    ports = ", ".join(result.network.directions[index] for index in order)
    axes.set_xlabel(f"link (router by router, ports {ports})")


def _slices(result: Recorded) -> int:
    cells = result.link_time.to_numpy()
    return int(np.max(cells, where=cells != BLOCKED, initial=0))
