"""The saturation point of a load-latency curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flitloom.analysis.critical_load import LEVEL, UNIT
from flitloom.analysis.outcomes import Measurement
from flitloom.errors import SpecError


def saturation_point(rates: ArrayLike, accepted: ArrayLike, level: float = LEVEL) -> Measurement:
    """The load at which a curve of accepted over offered load leaves the diagonal.

    Parameters
    ----------
    rates, accepted : array_like
        Offered load, rising, and accepted throughput of every point, in flits per node and cycle.
    level : float
        Share of the offered load that a network below saturation accepts at least.

    Returns
    -------
    Measurement
        In flits per node and cycle, interpolated between the last point that accepts `level` and the next;
        ``not reached`` where all do; ``saturated throughout`` where none does.

    Examples
    --------
    >>> found = saturation_point([0.1, 0.2, 0.3], [0.1, 0.2, 0.24])
    >>> round(found.value, 3)
    0.225
    >>> saturation_point([0.1, 0.2], [0.1, 0.2]).outcome
    'not reached'
    """
    offered, taken = np.asarray(rates, dtype=np.float64), np.asarray(accepted, dtype=np.float64)
    if not len(offered) or offered.shape != taken.shape or not (offered > 0).all():
        raise SpecError.at("rates", "give one accepted throughput for every rate, and rates above 0")
    if not (np.diff(offered) > 0).all():
        raise SpecError.at("rates", "must rise from point to point")
    share = taken / offered
    below = np.flatnonzero(share < level)
    if not len(below):
        advice = f"all of the load is accepted up to {offered[-1]:.4g} {UNIT}; offer more"
        return Measurement.none("not reached", UNIT, advice)
    first = int(below[0])
    if not first:
        advice = f"even {offered[0]:.4g} {UNIT} is too much; offer less"
        return Measurement.none("saturated throughout", UNIT, advice)
    high, low = share[first - 1], share[first]
    part = (high - level) / (high - low)
    return Measurement.of(offered[first - 1] + part * (offered[first] - offered[first - 1]), UNIT)
