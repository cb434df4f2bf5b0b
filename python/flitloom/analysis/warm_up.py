"""Warm-up: how much of a run's beginning does not belong to its steady state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flitloom.analysis.outcomes import Measurement
from flitloom.errors import SpecError

#: Windows per batch, as in MSER-5.
BATCH = 5


def warm_up(values: ArrayLike, batch: int = BATCH) -> Measurement:
    """How many windows to leave out at the beginning: MSER.

    The number of batches without which the standard error of the mean of the rest is least; it is not looked
    for in the second half (K. P. White, M. J. Cobb, S. C. Spratt: A Comparison of Five Steady-State
    Truncation Heuristics for Simulation. Winter Simulation Conference 2000).

    Parameters
    ----------
    values : array_like
        A measure per window: latency, packets in flight, throughput.
    batch : int
        Windows that are averaged first.

    Returns
    -------
    Measurement
        In windows; or ``not steady`` where the least error lies at the half, as it does while a measure still
        rises: beyond saturation it does so for ever.

    Raises
    ------
    SpecError
        There are fewer than ten batches.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.arange(400) * 7 % 11 / 5
    >>> warm_up(np.where(np.arange(400) < 60, 30, 0) + noise).value
    60.0
    >>> warm_up(np.arange(400)).outcome
    'not steady'
    """
    given = np.asarray(values, dtype=np.float64)
    if batch < 1 or len(given) < 10 * batch:
        raise SpecError.at(
            "windows", f"{len(given)} are too few", f"the warm-up is found in {10 * max(batch, 1)} or more"
        )
    count = len(given) // batch
    # What is left over is left out at the beginning.
    rest = len(given) - count * batch
    means = given[rest:].reshape(count, batch).mean(axis=1)
    left = np.arange(count, 0, -1)
    centred = means - means.mean()
    total, squares = np.cumsum(centred[::-1])[::-1], np.cumsum(centred[::-1] ** 2)[::-1]
    errors = np.maximum(squares - total**2 / left, 0) / left**2
    half = count // 2
    least = int(errors[: half + 1].argmin())
    if least == half and errors[half] > 0:
        return Measurement.none(
            "not steady", "windows", "the measure still changes; run longer or offer less load"
        )
    return Measurement.of(least * batch + (rest if least else 0), "windows")
