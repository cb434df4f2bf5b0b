"""How many links are busy in every step of a collective operation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flitloom.collectives.plan import CollectivePlan
from flitloom.plots.canvas import figure


def draw_busy(plan: CollectivePlan, file: str | Path) -> None:
    """Draw the share of all links that are busy, step by step.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    file : path
        The picture: PNG, PDF or SVG.
    """
    busy = plan.busy()
    with figure(file, 8, 3) as drawing:
        axes = drawing.subplots()
        axes.stairs(100 * busy, np.arange(len(busy) + 1), fill=True, alpha=0.6)
        axes.axvline(plan.bound, color="black", linewidth=1, label=f"bound: {plan.bound} steps")
        axes.set_title(f"{plan.operation}, {plan.ground.topology}: {plan.steps} steps")
        axes.set_xlabel("step")
        axes.set_ylabel("busy links (%)")
        axes.set_ylim(0, 105)
        axes.legend(fontsize="small", loc="lower left")
