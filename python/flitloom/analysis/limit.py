"""The load at which the utilisation of the busiest source queue is 1, from measurements near it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flitloom.ground.fixed import explained

#: Logarithms of utilisations that a line is fitted to: further ones are curved.
NEAR = 0.6
#: How far a point may be off the line, as a share of its distance from 1.
CURVED = 0.2
#: Least error of a point: beyond it loads differ by other things than noise.
LEAST_ERROR = 0.001
#: Standard errors of half an interval of 95 %.
HALF_WIDTH = 1.96
#: Runs that a limit is compared with are shorter by this factor.
LONGER = 4


@explained
@dataclass(frozen=True)
class Point:
    """What was measured at a load.

    Attributes
    ----------
    load : float
        In flits per node and cycle.
    log : float
        Logarithm of the utilisation of the busiest source queue.
    error : float
        Its standard error.
    verdict : str
        "steady", "growing" or "undecided".
    cycles : int
        Cycles of the run.
    """

    load: float
    log: float
    error: float
    verdict: str
    cycles: int = 0


@explained
@dataclass(frozen=True)
class Limit:
    """Where a line through measurements says that the busiest source queue is busy in every cycle.

    Attributes
    ----------
    load : float
        In flits per node and cycle.
    error : float
        Its standard error, as a share of it.
    slope : float
        Relative growth of the utilisation over that of the load.
    scatter : float
        Chi-square over degrees of freedom: above 1 points are further off than their errors say.
    points : int
        Number of points on the line.
    """

    load: float
    error: float
    slope: float
    scatter: float
    points: int

    @property
    def half_width(self) -> float:
        """Half the interval of 95 %, in flits per node and cycle."""
        return HALF_WIDTH * self.error * self.load


def near(points: Sequence[Point]) -> list[Point]:
    """The points that a line may be fitted to."""
    return [point for point in points if abs(point.log) < NEAR and math.isfinite(point.error)]


def find_limit(points: Sequence[Point]) -> Limit | None:
    """Fit a line to logarithms of utilisation and load; ``None`` with fewer than two loads near the limit.

    Points count by their error and by their distance from 1, since the line is curved.

    Examples
    --------
    >>> points = [Point(load, 4 * math.log(load / 0.4), 0.01, "") for load in (0.37, 0.39, 0.41, 0.44)]
    >>> found = find_limit(points)
    >>> round(found.load, 3), round(found.slope, 1), round(found.error, 3)
    (0.4, 4.0, 0.004)
    """
    used = near(points)
    if len({point.load for point in used}) < 2:
        return None
    x = np.log([point.load for point in used])
    y = np.array([point.log for point in used])
    errors = np.maximum([point.error for point in used], LEAST_ERROR)
    weights = 1 / (errors**2 + (CURVED * y) ** 2)
    total = weights.sum()
    at, level = (weights * x).sum() / total, (weights * y).sum() / total
    spread = (weights * (x - at) ** 2).sum()
    slope = max(1.0, float((weights * (x - at) * (y - level)).sum() / spread))
    crossing = at - level / slope
    residuals = (weights * (y - level - slope * (x - at)) ** 2).sum()
    scatter = float(residuals / max(1, len(used) - 2))
    variance = (1 / total + (crossing - at) ** 2 / spread) / slope**2
    error = math.sqrt(variance * max(1.0, scatter))
    return Limit(math.exp(crossing), error, slope, scatter, len(used))


def settled(points: Sequence[Point], cycles: int) -> Limit | None:
    """The limit by the longest runs, with an error that has what it moved since shorter runs.

    An empty network fills slowly, and one with two states collapses after any time: what runs say of a limit
    depends on their length. A limit that moved by more than noise since runs a quarter as long may move as
    far again. One that did not may have moved by as much as noise hides; of what goes like one over the
    length, a third of that is left.

    Parameters
    ----------
    points : sequence of Point
        What was measured.
    cycles : int
        Cycles of the longest runs, at least.

    Returns
    -------
    Limit or None
        ``None`` unless runs of both lengths have lines.

    Examples
    --------
    >>> loads = (0.37, 0.39, 0.41, 0.44)
    >>> short = [Point(load, 4 * math.log(load / 0.42), 0.01, "", 8000) for load in loads]
    >>> long = [Point(load, 4 * math.log(load / 0.4), 0.01, "", 32_000) for load in loads]
    >>> found, alone = settled([*short, *long], 32_000), find_limit(long)
    >>> found.load == alone.load, found.error > 5 * alone.error
    (True, True)
    """
    long = find_limit([point for point in points if point.cycles >= cycles])
    short = find_limit([point for point in points if cycles <= LONGER * point.cycles < LONGER * cycles])
    if long is None or short is None:
        return None
    noise = math.hypot(long.error, short.error)
    left = max(abs(math.log(long.load / short.load)) - noise, noise / (LONGER - 1))
    return replace(long, error=math.hypot(long.error, left))
