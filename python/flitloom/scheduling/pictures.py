"""Duration over the interval between slices: the papers' curves of simple stacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from flitloom.plots.canvas import panels
from flitloom.plots.style import FAINT
from flitloom.scheduling.stacking import Stacking


def plot_stackings(
    charts: Mapping[str, Sequence[tuple[str, Stacking]]],
    path: str | Path | None = None,
    *,
    columns: int = 2,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw curves of simple stacking, a panel per entry (cup-stacking-2022, Fig. 1).

    Parameters
    ----------
    charts : mapping of str to sequence of (str, Stacking)
        Titles, and the curves of a chart with their labels.
    path : path, optional
        The picture: PNG, PDF or SVG.
    columns : int
        Charts side by side.
    ax : Axes or sequence of Axes, optional
        Where to draw instead, one per chart.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    count = len(charts)
    columns = min(columns, count) if ax is None else count
    rows = -(-count // columns)
    with panels(path, ax, 1 + 4.5 * columns, 3.8 * rows + 0.5, rows, columns) as grid:
        for axes, (title, curves) in zip(grid, charts.items(), strict=False):
            _draw(axes, title, curves)
        for axes in grid[count:]:
            axes.set_visible(False)
    return grid[:count]


def _draw(axes: Axes, title: str, curves: Sequence[tuple[str, Stacking]]) -> None:
    # Curves that are the same are drawn once, under all their names.
    same: dict[tuple[tuple[int, ...], tuple[int, ...]], list[str]] = {}
    for label, stacking in curves:
        same.setdefault((stacking.intervals, stacking.durations), []).append(label)
    for (intervals, durations), labels in same.items():
        (line,) = axes.plot(intervals, durations, label=", ".join(labels), linewidth=1)
        least = min(durations)
        axes.plot(intervals[durations.index(least)], least, "o", color=line.get_color(), markersize=4)
    wholes = {stacking.whole for _, stacking in curves}
    if len(wholes) == 1:
        axes.axhline(
            whole := wholes.pop(), color=FAINT, linestyle="--", linewidth=1, label=f"whole packet: {whole}"
        )
    axes.set_title(title)
    axes.set_xlabel("interval between slices (cycles)")
    axes.set_ylabel("duration (cycles)")
    axes.grid()
    if len(same) > 5:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    else:
        axes.legend()
