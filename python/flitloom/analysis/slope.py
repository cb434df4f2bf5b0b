"""Critical load by the slope rule, and the noise that it needs to be told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from flitloom.analysis.averages import AVERAGING, Values, moving_sum
from flitloom.analysis.critical_load import UNIT, critical_load
from flitloom.analysis.outcomes import Measurement
from flitloom.analysis.series import check_series, per_node_and_cycle, side
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted

if TYPE_CHECKING:
    import xarray as xr

#: Windows over which scaling-effects-2007 (4.3) fits a line.
FITTED = 401
#: Largest relative noise of a slope with which its rule is applied.
LARGEST_NOISE = 0.01


def slope_noise(load: float, slew: float, cycles: float, side: float, packet_length: float) -> float:
    """Relative standard deviation of the slope of received over offered flits in a ramp.

    Packets of L flits that N^2 sources start at random make a least-squares slope over `cycles` cycles of a
    ramp noisy: ``sqrt(12) slew sqrt(load L) / (N cycles^1.5)``.

    Parameters
    ----------
    load : float
        Flits per node and cycle.
    slew : float
        Cycles per unit of load.
    cycles : float
        Length of the fit.
    side : float
        Side N of the torus.
    packet_length : float
        Flits per packet.

    Examples
    --------
    >>> f"{slope_noise(0.111, 1e7, 40_100, 32, 8):.0%}"    # the 2015 paper's ramp, fitted as in 2007
    '13%'
    """
    return float(math.sqrt(12) * slew * math.sqrt(load * packet_length) / (side * cycles**1.5))


def slope_critical_load(series: xr.Dataset, windows: int = FITTED, share: float = 0.95) -> Measurement:
    """Critical load of a ramp by the slope rule, where its noise allows that.

    The load in the middle of the first `windows` windows over which the least-squares slope of received over
    offered flits is below `share` (scaling-effects-2007, 4.3: 0.95; state-propagation-throttling-2015, 5.2:
    0.9).

    Parameters
    ----------
    series : Dataset
        A run in which the load rises evenly.
    windows : int
        Windows of a fit.
    share : float
        Share of the slope of a network that delivers everything, which is 1.

    Returns
    -------
    Measurement
        In flits per node and cycle; ``not reached``; or ``too noisy``, where the noise (`slope_noise`) would
        be above 1 %, with the number of windows that would do.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.analysis.series import made_series
    >>> ramp = np.arange(27_500) * 1e-5
    >>> series = made_series(ramp, np.minimum(ramp, 0.11))
    >>> print(slope_critical_load(series))
    too noisy: the slope is known to 13.0 % over 401 windows; it takes 2221 windows (--windows 2221) ...
    >>> found = slope_critical_load(series, windows=2401)
    >>> round(found.value, 3)                                    # the length of the fit blurs it downwards
    0.101
    """
    if not 0 < share < 1:
        raise SpecError.at("share", f"{share} is not a share of the slope", "it must be between 0 and 1")
    check_series(series, "offered_flits", "ejected_flits")
    offered = per_node_and_cycle(series, "offered_flits")
    received = per_node_and_cycle(series, "ejected_flits")
    if not 2 <= windows <= len(offered):
        raise SpecError.at("windows", f"{windows} of {len(offered)}", f"a slope needs 2 to {len(offered)}")
    width = float(series.attrs["window_cycles"])
    rise = float(offered[-1] - offered[0])
    if rise <= 0:
        raise SpecError.at("series.offered_flits", "the load does not rise", "the slope rule needs a ramp")
    slew = (len(offered) - 1) * width / rise
    level = critical_load(series, min(AVERAGING, len(offered))).value
    load = float(offered[-1]) if level is None else level
    length, across = float(series.attrs["packet_length"]), side(series)
    noise = slope_noise(load, slew, windows * width, across, length)
    if noise > LARGEST_NOISE:
        enough = math.ceil(windows * (noise / LARGEST_NOISE) ** (2 / 3))
        advice = f"the slope is known to {noise:.1%} over {counted(windows, 'window')}".replace("%", " %")
        if enough <= len(offered) // 4:
            advice += f"; it takes {counted(enough, 'window')} (--windows {enough}) to know it to 1 %"
        else:
            advice += (
                f"; it takes {counted(enough, 'window')} to know it to 1 %: let the load rise more slowly"
            )
        return Measurement.none("too noisy", UNIT, advice)
    below = np.flatnonzero(_slopes(offered, received, windows) < share)
    if not len(below):
        return Measurement.none(
            "not reached",
            UNIT,
            f"the slope is kept up to {offered[-1]:.4g} {UNIT}; let the load rise further",
        )
    first = int(below[0])
    return Measurement.of(float(offered[first : first + windows].mean()), UNIT)


def _slopes(x: Values, y: Values, windows: int) -> Values:
    """Least-squares slopes of y over x, over every run of windows; where x does not rise, 1."""
    # Centred, so that products lose no digits.
    x, y = x - x.mean(), y - y.mean()
    sums = [moving_sum(values, windows) for values in (x, y, x * x, x * y)]
    spread = windows * sums[2] - sums[0] ** 2
    rises = spread > 1e-12 * max(float(spread.max(initial=0)), 1e-300)
    return np.divide(windows * sums[3] - sums[0] * sums[1], spread, out=np.ones_like(spread), where=rises)
