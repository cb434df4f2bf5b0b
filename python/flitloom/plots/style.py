"""How all pictures look: colours that people with colour-blindness can tell apart, markers, grids."""

from __future__ import annotations

from typing import Any

from cycler import cycler

#: Colours of one legend, in this order (Okabe and Ito 2008); further ones go round.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000")
MARKERS = "os^Dv<>PX*hpd"
#: Flits that wait for a busy buffer, in charts whose slices have the colours above.
BLOCKED = "#4d4d4d"
#: Lower bounds, and what is wrong.
BOUND = "#a33c00"
#: What there is beside what is shown: links of a fabric, averages.
FAINT = "#999999"
#: Colour map of loads.
LOADS = "viridis_r"
#: Settings of Matplotlib for every picture.
SETTINGS: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "savefig.dpi": 150,
}


def colour(number: int) -> str:
    """The colour of the entry of a legend.

    >>> colour(0) == colour(len(COLOURS))
    True
    """
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """The marker of the entry of a legend."""
    return MARKERS[number % len(MARKERS)]
