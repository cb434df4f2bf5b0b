"""Impulses: how long a network feels a burst of packets on top of a steady load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom.analysis.averages import Values, moving_sum
from flitloom.analysis.outcomes import Measurement
from flitloom.analysis.series import check_series
from flitloom.errors import SpecError
from flitloom.ground.fixed import explained

if TYPE_CHECKING:
    import xarray as xr

#: Windows per average of the largest age.
AVERAGING = 20
#: A peak below so many times the mean before the impulse is not seen.
VISIBLE = 1.25
#: Windows at the end in which received and generated flits are compared.
LAST = 50


@explained
@dataclass(frozen=True)
class Recovery:
    """What an impulse does to a network.

    Attributes
    ----------
    duration : Measurement
        Cycles from the impulse until ages are back where they were; or ``not visible``, ``not recovered``,
        ``collapsed``.
    before, spread : float
        Mean and standard deviation of the averaged largest age before the impulse, in cycles.
    peak : float
        Its largest value after the impulse, in cycles.
    delivered_share : float
        Received over generated flits in the last 50 windows.
    """

    duration: Measurement
    before: float
    spread: float
    peak: float
    delivered_share: float

    def as_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "duration": self.duration.as_dict(),
            "before": self.before,
            "spread": self.spread,
            "peak": self.peak,
            "delivered_share": self.delivered_share,
        }


def impulse_duration(series: xr.Dataset, start: int, averaging: int = AVERAGING) -> Recovery:
    """How long the largest age of delivered packets stays up after an impulse.

    M(t) is the centred moving average of the largest age of the packets delivered in a window. With mean and
    standard deviation of M before the impulse, its first third left out, the duration ends when M, after its
    peak, is first at most mean + deviation (scaling-effects-2007, 4.5, made robust: the paper waits for the
    mean).

    Parameters
    ----------
    series : Dataset
        A run at constant load with an impulse.
    start : int
        Cycle of the impulse.
    averaging : int
        Windows per average.

    Returns
    -------
    Recovery
        Its duration is ``not visible`` if the peak is below 1.25 of the mean before. If M does not come down,
        it is ``collapsed`` where fewer flits are received than generated in the last 50 windows (by more than
        two standard deviations of what random sources generate), else ``not recovered``.

    Raises
    ------
    SpecError
        The run is too short before or after the impulse.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.analysis.series import made_series
    >>> load, ages = np.full(600, 0.1), np.full(600, 60)
    >>> ages[200:300] = 500
    >>> series = made_series(load, load, window_cycles=10, age_max=ages)
    >>> impulse_duration(series, 2000).duration.value            # 100 windows, and half an average
    1100.0
    """
    check_series(series, "age_max", "delivered_packets", "generated_flits", "ejected_flits")
    width = float(series.attrs["window_cycles"])
    first = float(series["window"].values[0])
    at = math.floor((start - first) / width)
    ages = _averaged(series["age_max"].values, series["delivered_packets"].values > 0, averaging)
    half = averaging // 2
    # Average number i is about window i + half; those before the impulse reach no window of it.
    before = ages[max(at - averaging, 0) // 3 : max(at - averaging + 1, 0)]
    after = ages[max(at - half, 0) :]
    if len(before) < 2 or len(after) < 2 or at + LAST > series.sizes["window"]:
        raise SpecError.at(
            "start",
            f"an impulse in cycle {start} leaves too few windows",
            f"at least {averaging + 2} before it and {LAST} after it are needed",
        )
    mean, spread = float(before.mean()), float(before.std(ddof=1))
    top = int(after.argmax())
    peak = float(after[top])
    share, noise = _delivered(series)
    back = np.flatnonzero(after[top:] <= mean + spread)
    if peak < VISIBLE * mean:
        duration = Measurement.none(
            "not visible", "cycles", f"the largest age peaks below {VISIBLE} of its mean; send more packets"
        )
    elif len(back):
        duration = Measurement.of((top + int(back[0])) * width, "cycles")
    else:
        duration = _still_up((series.sizes["window"] - at) * width, share, noise)
    return Recovery(duration, mean, spread, peak, share)


def _delivered(series: xr.Dataset) -> tuple[float, float]:
    """The share of what was generated at the end that is delivered, and how far noise takes it from one."""
    generated = float(series["generated_flits"].values[-LAST:].sum())
    received = float(series["ejected_flits"].values[-LAST:].sum())
    if not generated:
        return 1.0, 0.0
    return received / generated, 2 * math.sqrt(float(series.attrs["packet_length"]) / generated)


def _still_up(length: float, share: float, noise: float) -> Measurement:
    """The outcome of ages that are up at the end of a run."""
    if share < 1 - noise:
        return Measurement.none(
            "collapsed",
            "cycles",
            f"after {length:.0f} cycles {share:.0%} of the load is delivered: the network stays "
            "congested at a load it accepted before; lower the load",
        )
    return Measurement.none(
        "not recovered", "cycles", f"ages are still up after {length:.0f} cycles; run longer"
    )


def _averaged(ages: Any, some: Any, averaging: int) -> Values:
    """Moving average over the windows that delivered something; without any, the last one that did."""
    count = moving_sum(some, averaging)
    total = moving_sum(np.where(some, ages, 0), averaging)
    known = count > 0.5
    average = np.divide(total, count, out=np.zeros_like(total), where=known)
    return average[np.maximum.accumulate(np.where(known, np.arange(len(known)), 0))]
