"""Critical load by the level rule: where a network first delivers less than it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from flitloom.analysis.averages import AVERAGING, moving_average, moving_sum
from flitloom.analysis.outcomes import Measurement
from flitloom.analysis.series import check_series, per_node_and_cycle
from flitloom.errors import SpecError

if TYPE_CHECKING:
    import xarray as xr

UNIT = "flits/node/cycle"
#: Share of the generated flits that a network below its critical load delivers at least.
LEVEL = 0.95


def critical_load(
    series: xr.Dataset,
    averaging: int = AVERAGING,
    level: float = LEVEL,
    *,
    at: Literal["end", "middle"] = "end",
) -> Measurement:
    """Critical load of a ramp by the level rule.

    The load offered at the end, or in the middle, of the first averaging window in which the received
    flits are below `level` of the flits generated in that window, and stay so for half an averaging length
    more. An empty network that fills receives less than is generated, too: before that window there must be
    as many averages in a row at the level or above it.

    Parameters
    ----------
    series : Dataset
        A run in which the load rises.
    averaging : int
        Windows per average.
    level : float
        Share of the generated flits, 0 to 1.
    at : {"end", "middle"}
        When the load is read: at the end of that window all of what the average saw has been offered; its
        middle is where averages over as many windows before as behind are drawn (scaling-effects-2007, 4.3).

    Returns
    -------
    Measurement
        In flits per node and cycle; or ``not reached``, ``not confirmed`` where the run ends too soon after
        the first window below the level, or ``from the start`` where there is none above it before.

    Raises
    ------
    SpecError
        The series is too short for one average.

    Notes
    -----
    Unlike a rule on the slope it does not depend on the noise of a difference: its noise is that of the mean
    of `averaging` windows, a fraction of a per cent for networks of a few hundred nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.analysis.series import made_series
    >>> ramp = np.arange(2000) / 8000
    >>> critical_load(made_series(ramp, np.where(ramp < 0.111, ramp, 0.05)), averaging=20).value
    0.111...
    >>> critical_load(made_series(ramp, np.where(ramp < 0.111, ramp, 0.05)), averaging=20, at="middle").value
    0.1099...
    >>> print(critical_load(made_series(ramp, ramp)))
    not reached: all of the load is delivered up to 0.2499 flits/node/cycle; let the load rise further
    """
    _check_level(level)
    check_series(series, "offered_flits", "generated_flits", "ejected_flits")
    generated = moving_sum(series["generated_flits"].values, averaging)
    received = moving_sum(series["ejected_flits"].values, averaging)
    offered = per_node_and_cycle(series, "offered_flits")
    # The load of a ramp rises evenly, so its mean is that in the middle.
    load = offered[averaging - 1 :] if at == "end" else moving_average(offered, averaging)
    below = received < level * generated
    stay = averaging // 2 + 1
    # The first of `stay` averages in a row below the level, behind as many that are not.
    if len(below) >= stay:
        short = moving_sum(below, stay)
        held = np.flatnonzero(short > stay - 0.5)
        follows = np.flatnonzero(short < 0.5)
        if len(held) and not len(follows):
            return Measurement.none(
                "from the start",
                UNIT,
                f"less than {level:.0%} is delivered from the start on, while the network fills or because "
                "its throughput is lower; let the load begin lower and rise more slowly",
            )
        held = held[held > follows[0]] if len(follows) else held
        if len(held):
            return Measurement.of(load[held[0]], UNIT)
    return _not_there(bool(below[-1]), float(load[-1]), level)


def _not_there(below: bool, load: float, level: float) -> Measurement:
    """The outcome of a run whose load does not rise far enough."""
    if below:
        return Measurement.none(
            "not confirmed",
            UNIT,
            f"less than {level:.0%} is delivered only just before the end, at {load:.4g} {UNIT}; "
            "let the load rise further",
        )
    return Measurement.none(
        "not reached",
        UNIT,
        f"all of the load is delivered up to {load:.4g} {UNIT}; let the load rise further",
    )


def _check_level(level: float) -> None:
    if not 0 < level <= 1:
        raise SpecError.at(
            "level", f"{level} is not a share of the generated flits", "it must be above 0 and at most 1"
        )
