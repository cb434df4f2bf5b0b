"""How many links are busy in every step of a collective operation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from flitloom.collectives.advise import Advice, show_size
from flitloom.collectives.plan import CollectivePlan
from flitloom.plots.canvas import panel
from flitloom.plots.style import BOUND, COLOURS, colour, marker


def draw_busy(plan: CollectivePlan, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the share of all links that are busy, step by step.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    busy = plan.busy()
    with panel(path, ax, 8, 3) as axes:
        axes.stairs(100 * busy, np.arange(len(busy) + 1), fill=True, alpha=0.6)
        axes.axvline(plan.bound, color=BOUND, linestyle="--", label=f"bound: {plan.bound} steps")
        axes.set_title(f"{plan.operation}, {plan.ground.topology}: {plan.steps} steps")
        axes.set_xlabel("step")
        axes.locator_params(axis="x", integer=True)
        axes.set_ylabel("busy links (%)")
        axes.set_ylim(0, 105)
        axes.legend(loc="lower left", frameon=True)
    return axes


def draw_advice(
    advice: Advice, title: str, path: str | Path | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the time of every algorithm over the bound, by message size.

    Parameters
    ----------
    advice : Advice
        What was compared.
    title : str
        Title of the picture.
    path : path, optional
        The picture: PNG, PDF or SVG.
    ax : Axes, optional
        Where to draw instead.

    Returns
    -------
    Axes
        What was drawn in.
    """
    crossovers = advice.crossovers()
    winners = list(dict.fromkeys(name for _, name in crossovers))
    with panel(path, ax, 9, 5) as axes:
        losers = 0
        for number, one in enumerate(advice.algorithms):
            wins = one.name in winners
            if not wins and one.name.startswith("family"):
                continue
            place = winners.index(one.name) if wins else 0
            ratios = [row[number] / bound for row, bound in zip(advice.seconds, advice.bounds, strict=True)]
            axes.loglog(
                advice.sizes,
                ratios,
                marker=None if wins else marker(losers),
                markersize=4,
                markevery=(losers % 3, 3),
                label=one.name,
                color=colour(place) if wins else "grey",
                linewidth=2.2 if wins else 0.8,
                linestyle=("-", "-.")[place // len(COLOURS) % 2] if wins else "--",
            )
            losers += not wins
        for size, _ in crossovers[1:]:
            axes.axvline(size, color="black", linewidth=0.6, alpha=0.4)
        ticks = [2.0**power for power in range(0, 60, 5) if advice.sizes[0] <= 2.0**power <= advice.sizes[-1]]
        axes.set_xticks(ticks, [show_size(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_title(f"{title}: the coloured ones win between the vertical lines")
        axes.set_xlabel("vector of every node")
        axes.set_ylabel("time / lower bound")
        axes.set_ylim(0.9, 30)
        axes.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.grid()
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return axes
