"""Duration over the interval between slices: the papers' curves of simple stacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from flitloom.plots.canvas import figure
from flitloom.plots.style import FAINT
from flitloom.stacking import Stacking


def plot_stackings(
    panels: Mapping[str, Sequence[tuple[str, Stacking]]], path: str | Path, *, columns: int = 3
) -> None:
    """Draw curves of simple stacking, a panel per entry (cup-stacking-2022, Fig. 1).

    Parameters
    ----------
    panels : mapping of str to sequence of (str, Stacking)
        Titles, and the curves of a panel with their labels.
    path : path
        The picture: PNG, PDF or SVG.
    columns : int
        Panels side by side.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with figure(path, 1 + 5 * columns, 3.8 * rows + 0.5) as drawing:
        grid = drawing.subplots(rows, columns, squeeze=False).ravel()
        for axes, (title, curves) in zip(grid, panels.items(), strict=False):
            _draw(axes, title, curves)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)


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
