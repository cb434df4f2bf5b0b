"""Settling: how long the overshoot after a step of the load lasts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from flitloom.analysis.averages import moving_average
from flitloom.analysis.outcomes import Measurement
from flitloom.analysis.series import per_node_and_cycle
from flitloom.errors import SpecError

if TYPE_CHECKING:
    import xarray as xr

#: Largest distance from the final throughput of a network that has settled.
TOLERANCE = 0.1


def windows_needed(nodes: int) -> int:
    """Windows that a settling time takes, of a network of this size: three averages.

    >>> windows_needed(32 * 32), windows_needed(512 * 512)
    (15, 195)
    """
    return 3 * (2 * (math.isqrt(nodes) // 16) + 1)


def settling_time(series: xr.Dataset, tolerance: float = TOLERANCE, start: int = 0) -> Measurement:
    """Time after which the throughput stays near its final value, from the first window or `start` on.

    The last time at which the average over ``2 floor(N/16) + 1`` windows is more than `tolerance` off the
    mean of the last third of the run, where N is the side of the torus.

    Parameters
    ----------
    series : Dataset
        A run at constant load; windows of 10 cycles are usual (scaling-effects-2007, 4.4).
    tolerance : float
        Largest relative distance.
    start : int
        Cycle from which on time counts; what happened before does not.

    Returns
    -------
    Measurement
        In cycles, 0 where it never was further off; ``not settled`` where it still is in the last third; or
        ``nothing delivered``.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.analysis.series import made_series
    >>> received = np.where(np.arange(300) < 50, 0.4, 0.2)
    >>> series = made_series(np.full(300, 0.5), received, nodes=64, window_cycles=10)
    >>> settling_time(series).value
    500.0
    """
    if not 0 < tolerance < 1:
        raise SpecError.at("tolerance", f"{tolerance} must be between 0 and 1")
    cycles = int(series.attrs["window_cycles"])
    if start:
        series = series.isel(window=slice(-(-start // cycles), None))
    received = per_node_and_cycle(series, "ejected_flits")
    needed = windows_needed(int(series.attrs["nodes"]))
    width, half = needed // 3, needed // 6
    if len(received) < needed:
        raise SpecError.at("series.window", f"{len(received)} windows are too few", f"{needed} are needed")
    tail = len(received) - len(received) // 3
    final = float(received[tail:].mean())
    if final <= 0:
        return Measurement.none(
            "nothing delivered", "cycles", "the last third of the run delivers nothing; offer more load"
        )
    average = moving_average(received, width)
    off = np.flatnonzero(np.abs(average - final) > tolerance * final)
    if not len(off):
        return Measurement.of(0, "cycles")
    last = int(off[-1]) + half
    if last >= tail:
        return Measurement.none(
            "not settled",
            "cycles",
            f"the throughput is still more than {100 * tolerance:.0f} % off its mean in the last third; run "
            "longer",
        )
    return Measurement.of(float((last + 1) * cycles), "cycles")
