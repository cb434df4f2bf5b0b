"""Pictures of genetic searches: how they converge, and how they vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from flitloom.plots.canvas import figure


def plot_generations(
    runs: Mapping[str, tuple[Sequence[float], Sequence[float]]], path: str | Path, *, title: str = ""
) -> None:
    """Draw best and average scores over the generations.

    Parameters
    ----------
    runs : mapping
        Name of a search to its best and its average score per generation, in cycles.
    path : path
        PNG, PDF or SVG file.
    title : str
        What is shown.
    """
    with figure(path, 8, 4.5) as drawing:
        axes = drawing.subplots()
        for number, (name, (best, average)) in enumerate(runs.items()):
            colour = f"C{number}"
            generations = range(len(best))
            axes.plot(generations, average, color=colour, linewidth=0.7, alpha=0.6, label=f"avg({name})")
            axes.plot(generations, best, color=colour, linewidth=1.6, label=f"best({name})")
        axes.set_xlabel("generation")
        axes.set_ylabel("duration (cycles)")
        axes.set_title(title)
        axes.grid(alpha=0.3)
        # Averages leave no room for it inside.
        drawing.legend(loc="outside lower center", ncols=4, fontsize="small")


def plot_variation(
    points: Mapping[str, Sequence[tuple[float, float]]], path: str | Path, *, title: str = ""
) -> None:
    """Draw the best over the average duration of repeated searches, a dot per combination of parameters.

    Parameters
    ----------
    points : mapping
        Pattern to (average, best) of the searches of each combination, in cycles.
    path : path
        PNG, PDF or SVG file.
    title : str
        What is shown.
    """
    with figure(path, 6, 6) as drawing:
        axes = drawing.subplots()
        every = [value for dots in points.values() for dot in dots for value in dot]
        span = (min(every) - 2, max(every) + 2)
        axes.plot(span, span, color="0.4", linewidth=1, label="average = best")
        for name, dots in points.items():
            average, best = zip(*dots, strict=True)
            axes.scatter(average, best, s=14, alpha=0.7, label=name)
        axes.set_xlim(span)
        axes.set_ylim(span)
        axes.set_aspect("equal")
        axes.set_xlabel("average duration of the searches of a combination (cycles)")
        axes.set_ylabel("best duration of them (cycles)")
        axes.set_title(title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
