"""How many links are busy in every step of a collective operation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from flitloom.collectives.advise import Advice
from flitloom.collectives.plan import CollectivePlan
from flitloom.plots.canvas import panel
from flitloom.plots.style import BOUND, marker


def draw_busy(plan: CollectivePlan, file: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the share of all links that are busy, step by step.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    file : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    busy = plan.busy()
    with panel(file, ax, 8, 3) as axes:
        axes.stairs(100 * busy, np.arange(len(busy) + 1), fill=True, alpha=0.6)
        axes.axvline(plan.bound, color=BOUND, linestyle="--", label=f"bound: {plan.bound} steps")
        axes.set_title(f"{plan.operation}, {plan.ground.topology}: {plan.steps} steps")
        axes.set_xlabel("step")
        axes.set_ylabel("busy links (%)")
        axes.set_ylim(0, 105)
        axes.legend(loc="lower left", frameon=True)
    return axes


def draw_advice(
    advice: Advice, title: str, file: str | Path | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the time of every algorithm over the bound, by message size.

    Parameters
    ----------
    advice : Advice
        What was compared.
    title : str
        Title of the picture.
    file : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    best = {name for _, name in advice.crossovers()}
    with panel(file, ax, 8, 5) as axes:
        for number, one in enumerate(advice.algorithms):
            ratios = [row[number] / bound for row, bound in zip(advice.seconds, advice.bounds, strict=True)]
            wins = one.name in best
            axes.loglog(
                advice.sizes,
                ratios,
                # More curves than colours: markers tell those of one colour apart.
                marker=marker(number),
                markersize=4,
                markevery=(number % 3, 3),
                label=one.name if wins or not one.name.startswith("family") else None,
                linewidth=2 if wins else 0.8,
                linestyle="-" if wins else "--",
            )
        axes.set_title(title)
        axes.set_xlabel("bytes")
        axes.set_ylabel("time / lower bound")
        axes.set_ylim(0.9, 30)
        axes.grid()
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return axes
