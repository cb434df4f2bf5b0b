"""Percentiles of ages, from their histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from flitloom.analysis.outcomes import Measurement
from flitloom.errors import SpecError

if TYPE_CHECKING:
    import xarray as xr


def percentile(histogram: xr.DataArray, share: float) -> Measurement:
    """The least age that at least `share` of the packets do not exceed.

    Parameters
    ----------
    histogram : DataArray
        Packets by age, along one dimension; its coordinate is the least age of each bin, in cycles. The last
        bin is open: what is older than all others is in it.
    share : float
        As 0.99 for the 99th percentile.

    Returns
    -------
    Measurement
        In cycles, the largest age of its bin, so that the true one is never larger; ``no packets``; or
        ``beyond`` where it lies in the open last bin.

    Examples
    --------
    >>> import xarray as xr
    >>> histogram = xr.DataArray([50, 49, 1, 0], {"age": [10, 11, 12, 20]}, ("age",))
    >>> percentile(histogram, 0.5).value, percentile(histogram, 0.99).value, percentile(histogram, 1.0).value
    (10.0, 11.0, 19.0)
    """
    if histogram.ndim != 1 or histogram.dims[0] not in histogram.coords:
        raise SpecError.at(
            "histogram", "must have one dimension, with the least age of every bin as its coordinate"
        )
    if not 0 < share <= 1:
        raise SpecError.at(
            "share", f"{share} is not a share of the packets", "it must be above 0 and at most 1"
        )
    edges = np.asarray(histogram[histogram.dims[0]].values)
    counts = np.asarray(histogram.values)
    if not (np.diff(edges) > 0).all() or (counts < 0).any():
        raise SpecError.at("histogram", "ages must rise from bin to bin, and no bin holds less than nothing")
    total = int(counts.sum())
    if not total:
        return Measurement.none(
            "no packets", "cycles", "nothing was delivered; run longer or offer more load"
        )
    # Rounding must not ask for one packet more than the share is.
    rank = max(math.ceil(round(share * total, 9)), 1)
    at = int(np.searchsorted(np.cumsum(counts), rank))
    if at == len(counts) - 1:
        return Measurement.none(
            "beyond", "cycles", f"it is {edges[at]:.0f} cycles or more, beyond what the histogram tells apart"
        )
    return Measurement.of(int(edges[at + 1]) - 1, "cycles")
