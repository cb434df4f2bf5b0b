"""Pictures of genetic searches: how they converge, and how they vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from flitloom.plots.canvas import panel
from flitloom.plots.style import FAINT, colour


def plot_generations(
    runs: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: str | Path | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw best and average scores over the generations.

    Parameters
    ----------
    runs : mapping
        Name of a search to its best and its average score per generation, in cycles.
    path : path, optional
        PNG, PDF or SVG file.
    title : str
        What is shown.
    ax : Axes, optional
        Where to draw instead of in a file.

    Returns
    -------
    Axes
        What was drawn in.
    """
    with panel(path, ax, 8, 4.5) as axes:
        for number, (name, (best, average)) in enumerate(runs.items()):
            generations = range(len(best))
            axes.plot(
                generations, average, color=colour(number), linewidth=0.7, alpha=0.6, label=f"avg({name})"
            )
            axes.plot(generations, best, color=colour(number), linewidth=1.6, label=f"best({name})")
        axes.set_xlabel("generation")
        axes.set_ylabel("duration (cycles)")
        axes.set_title(title)
        axes.grid()
        # Averages leave no room for it inside.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4)
    return axes


def plot_variation(
    points: Mapping[str, Sequence[tuple[float, float]]],
    path: str | Path | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the best over the average duration of repeated searches, a dot per combination of parameters.

    Parameters
    ----------
    points : mapping
        Pattern to (average, best) of the searches of each combination, in cycles.
    path : path, optional
        PNG, PDF or SVG file.
    title : str
        What is shown.
    ax : Axes, optional
        Where to draw instead of in a file.

    Returns
    -------
    Axes
        What was drawn in.
    """
    with panel(path, ax, 6, 6) as axes:
        every = [value for dots in points.values() for dot in dots for value in dot]
        span = (min(every) - 2, max(every) + 2)
        axes.plot(span, span, color=FAINT, linewidth=1, label="average = best")
        for name, dots in points.items():
            average, best = zip(*dots, strict=True)
            axes.scatter(average, best, s=14, alpha=0.7, label=name)
        axes.set_xlim(span)
        axes.set_ylim(span)
        axes.set_aspect("equal")
        axes.set_xlabel("average duration of the searches of a combination (cycles)")
        axes.set_ylabel("best duration of them (cycles)")
        axes.set_title(title)
        axes.grid()
        axes.legend()
    return axes
