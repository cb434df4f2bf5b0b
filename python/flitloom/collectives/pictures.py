"""How many links are busy in every step of a collective operation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from flitloom.collectives.advice import Advice
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.ground.numerals import counted
from flitloom.ground.units import show_size
from flitloom.plots.canvas import panel
from flitloom.plots.style import BOUND, COLOURS, colour, marker

#: Algorithms that are drawn though they never win.
RIVALS = 3


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
        axes.axvline(plan.bound, color=BOUND, linestyle="--", label=f"bound: {counted(plan.bound, 'step')}")
        axes.set_title(f"{plan.operation}, {plan.ground.topology}: {counted(plan.steps, 'step')}")
        axes.set_xlabel("step")
        axes.locator_params(axis="x", integer=True)
        axes.set_ylabel("busy links (%)")
        axes.set_ylim(0, 105)
        axes.legend(loc="lower left", frameon=True)
    return axes


def draw_advice(
    advice: Advice, title: str, path: str | Path | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the time of the best algorithm over the bound by message size, beside three that never win.

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
    ratios = np.array(advice.seconds).T / np.array(advice.bounds)
    best = [advice.best(row) for row in range(len(advice.sizes))]
    winners = list(dict.fromkeys(best))
    # The published ones that come nearest over all sizes.
    own = [one.source == "this project" for one in advice.algorithms]
    others = sorted(
        set(range(len(own))) - set(winners), key=lambda one: (own[one], float(np.prod(ratios[one])))
    )
    with panel(path, ax, 9, 5) as axes:
        for place, one in enumerate(winners):
            rows = [row for row, number in enumerate(best) if number == one]
            # On to where the next one takes over.
            rows = sorted({*rows, *(row + 1 for row in rows if row + 1 < len(best))})
            axes.loglog(
                [advice.sizes[row] for row in rows],
                ratios[one][rows],
                marker="os"[place // len(COLOURS) % 2],
                markersize=4,
                label=advice.algorithms[one].name,
                color=colour(place),
                linewidth=2.5,
            )
        for place, one in enumerate(others[:RIVALS]):
            axes.loglog(
                advice.sizes,
                ratios[one],
                marker=marker(place + 2),
                markersize=5,
                markevery=(place, 3),
                label=f"{advice.algorithms[one].name} (never best)",
                color="grey",
                linewidth=1,
                linestyle="--",
            )
        for size, _ in crossovers[1:]:
            axes.axvline(size, color="black", linewidth=0.6, alpha=0.4)
        ticks = [2.0**power for power in range(0, 60, 5) if advice.sizes[0] <= 2.0**power <= advice.sizes[-1]]
        axes.set_xticks(ticks, [show_size(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_title(f"{title}: the best algorithm by size")
        axes.set_xlabel("vector of every node")
        axes.set_ylabel("time / lower bound")
        axes.set_ylim(0.9, 30)
        axes.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.grid()
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return axes
