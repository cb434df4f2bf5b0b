"""Fairness: how evenly the sources of a congested network get their packets through."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flitloom.errors import SpecError
from flitloom.ground.fixed import explained

if TYPE_CHECKING:
    import xarray as xr


@explained
@dataclass(frozen=True)
class Fairness:
    """Packets delivered per source in one span of time at constant load.

    Attributes
    ----------
    minimum, tenth_percentile, median, maximum : int
        Packets; percentiles are those of a source, by nearest rank.
    mean : float
        Packets.
    starved : int
        Sources that get less than a tenth of the mean.
    sources : int
        All sources.
    """

    minimum: int
    tenth_percentile: int
    median: int
    maximum: int
    mean: float
    starved: int
    sources: int

    def as_dict(self) -> dict[str, int | float]:
        """All of it by name."""
        return asdict(self)


def fairness(delivered_by_source: ArrayLike | xr.DataArray) -> Fairness:
    """How evenly packets were delivered.

    Parameters
    ----------
    delivered_by_source : array_like
        Packets delivered per source; leave sources out that send nothing.

    Raises
    ------
    SpecError
        There are no sources, or numbers below 0.

    Examples
    --------
    >>> fairness([100, 100, 100, 120, 5])
    Fairness(minimum=5, tenth_percentile=5, median=100, maximum=120, mean=85.0, starved=1, sources=5)
    """
    counts = np.sort(np.asarray(delivered_by_source).ravel())
    if not len(counts) or counts.dtype.kind not in "iu" or counts[0] < 0:
        raise SpecError.at(
            "delivered_by_source", "give a whole number of packets, 0 or more, for every source"
        )
    mean = float(counts.mean())
    return Fairness(
        minimum=int(counts[0]),
        tenth_percentile=int(counts[-(-len(counts) // 10) - 1]),
        median=int(counts[-(-len(counts) // 2) - 1]),
        maximum=int(counts[-1]),
        mean=mean,
        starved=int((10 * counts < mean).sum()),
        sources=len(counts),
    )
