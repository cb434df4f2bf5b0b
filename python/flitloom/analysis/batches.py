"""Confidence in a mean, by batch means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flitloom.errors import SpecError
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted

#: Batches a run is cut into.
BATCHES = 20


@explained
@dataclass(frozen=True)
class Confidence:
    """A mean and how well it is known.

    Attributes
    ----------
    mean : float
        The mean, in the unit of the values.
    half_width : float
        Half the width of the confidence interval about it.
    level : float
        The probability with which the interval covers the true mean.
    correlation : float
        Correlation of neighbouring batches; above about 0.4 the interval is too narrow: run longer.
    """

    mean: float
    half_width: float
    level: float
    correlation: float

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end."""
        return self.mean - self.half_width, self.mean + self.half_width


def batch_means(
    values: ArrayLike, weights: ArrayLike | None = None, *, batches: int = BATCHES, level: float = 0.95
) -> Confidence:
    """Mean of the windows of a steady state, with its confidence interval.

    The windows are cut into batches of equal length, long enough for their means to be nearly independent;
    Student's distribution of these means gives the interval (A. M. Law: Simulation Modeling and Analysis,
    Section 9.5.3).

    Parameters
    ----------
    values : array_like
        A sum or value per window.
    weights : array_like, optional
        What the sums are over, per window: with sums of ages and numbers of packets, the mean age of a
        packet.
    batches : int
        Number of batches; windows left over are left out at the beginning.
    level : float
        Probability of the interval.

    Raises
    ------
    SpecError
        There are fewer windows than batches, fewer than two batches, or a batch without weight.

    Examples
    --------
    >>> found = batch_means([4, 6] * 100, batches=2)
    >>> found.mean, found.half_width
    (5.0, 0.0)
    >>> batch_means([10, 30], [1, 2], batches=2).mean
    13.33...
    """
    given = np.asarray(values, dtype=np.float64)
    over = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
    if not 2 <= batches <= len(given) or given.shape != over.shape:
        raise SpecError.at(
            "batches",
            f"{batches} of {counted(len(given), 'window')}",
            "it must be 2 to the number of windows",
        )
    if not 0 < level < 1:
        raise SpecError.at("level", f"{level} is not a probability", "it must be between 0 and 1")
    length = len(given) // batches
    sums = given[len(given) - batches * length :].reshape(batches, length).sum(axis=1)
    sizes = over[len(over) - batches * length :].reshape(batches, length).sum(axis=1)
    if not (sizes > 0).all():
        raise SpecError.at("batches", f"one of {batches} has no packets", "take fewer, or run longer")
    mean = float(sums.sum() / sizes.sum())
    # Of a ratio of sums: every batch's residual, relative to the mean weight.
    residuals = (sums - mean * sizes) / sizes.mean()
    squares = float((residuals**2).sum())
    spread = math.sqrt(squares / (batches - 1) / batches)
    neighbours = float((residuals[1:] * residuals[:-1]).sum())
    return Confidence(
        mean, spread * student_quantile(level, batches - 1), level, neighbours / squares if squares else 0.0
    )


def student_quantile(level: float, degrees: int) -> float:
    """The t with which a Student variable lies between -t and t with probability `level`.

    Examples
    --------
    >>> round(student_quantile(0.95, 19), 3), round(student_quantile(0.95, 1), 2)
    (2.093, 12.71)
    """
    low, high = 0.0, 1.0
    while _student(high, degrees) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, degrees) < level else (low, middle)
    return high


def _student(t: float, degrees: int) -> float:
    """Probability that a Student variable lies between -t and t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    if degrees % 2:
        term, total = cosine, 0.0
        for odd in range(1, degrees - 1, 2):
            total += term
            term *= cosine**2 * (odd + 1) / (odd + 2)
        return 2 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for even in range(0, degrees - 1, 2):
        total += term
        term *= cosine**2 * (even + 1) / (even + 2)
    return sine * total
