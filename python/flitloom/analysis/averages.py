"""Moving averages: throughput and latency that can be read in spite of noise."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from flitloom.analysis.series import check_series, per_node_and_cycle
from flitloom.errors import SpecError
from flitloom.ground.lazy import xr
from flitloom.ground.numerals import counted

Values = np.ndarray[Any, np.dtype[np.float64]]

#: Windows the 2015 paper averages over (state-propagation-throttling-2015, 5.2).
AVERAGING = 200


def moving_average(values: ArrayLike, width: int) -> Values:
    """Averages over all runs of `width` consecutive values.

    Parameters
    ----------
    values : array_like
        One value per window.
    width : int
        Values per average.

    Returns
    -------
    ndarray
        ``len(values) - width + 1`` averages; entry i is over values i to i + width - 1.

    Raises
    ------
    SpecError
        There are fewer than `width` values, or none is asked for.

    Examples
    --------
    >>> moving_average([1, 2, 6, 0], 2).tolist()
    [1.5, 4.0, 3.0]
    """
    averages: Values = moving_sum(values, width) / width
    return averages


def moving_sum(values: ArrayLike, width: int) -> Values:
    """Sums over all runs of `width` consecutive values.

    Examples
    --------
    >>> moving_sum([1, 2, 6, 0], 3).tolist()
    [9.0, 8.0]
    """
    given = np.asarray(values, dtype=np.float64)
    if not 1 <= width <= len(given):
        raise SpecError.at(
            "averaging", f"{counted(width, 'window')} of {len(given)}", f"it must be 1 to {len(given)}"
        )
    # Counts below 2^53 stay whole, so that differences of running sums are exact.
    running = np.concatenate([[0.0], np.cumsum(given)])
    sums: Values = running[width:] - running[:-width]
    return sums


def throughput(series: xr.Dataset, averaging: int = AVERAGING) -> xr.DataArray:
    """Flits ejected per node and cycle, as a moving average over windows.

    Returns
    -------
    DataArray
        By ``window`` (first cycle of the last window of the average), with the coordinate ``offered``: the
        load at that time, in flits per node and cycle.

    Examples
    --------
    >>> from flitloom.analysis.series import made_series
    >>> curve = throughput(made_series([0.1, 0.2, 0.3], [0.1, 0.2, 0.2]), averaging=2)
    >>> curve.values.round(2).tolist(), curve.offered.values.round(2).tolist()
    ([0.15, 0.2], [0.2, 0.3])
    """
    received = moving_average(per_node_and_cycle(series, "ejected_flits"), averaging)
    return _curve(series, received, np.arange(averaging - 1, series.sizes["window"]), "flits/node/cycle")


def mean_age(
    series: xr.Dataset, averaging: int = AVERAGING, *, since: Literal["generation", "injection"] = "injection"
) -> xr.DataArray:
    """Mean age of the packets delivered, as a moving average weighted by packets.

    From its generation a packet's age includes the time in the source queue; from its injection, when its
    header left the source, it does not. The 2015 paper's latency is the second.

    Returns
    -------
    DataArray
        As `throughput`, in cycles; averages over windows without any packet are left out.

    Examples
    --------
    >>> from flitloom.analysis.series import made_series
    >>> ages = [0, 100, 400]
    >>> series = made_series([1, 1, 1], [0, 0.5, 1], nodes=16, window_cycles=10, network_age_sum=ages)
    >>> mean_age(series, averaging=1).values.tolist()
    [10.0, 20.0]
    """
    name = "network_age_sum" if since == "injection" else "age_sum"
    check_series(series, name, "delivered_packets")
    packets = moving_sum(series["delivered_packets"].values, averaging)
    ages = moving_sum(series[name].values, averaging)
    some = np.flatnonzero(packets > 0)
    return _curve(series, ages[some] / packets[some], some + averaging - 1, "cycles")


def _curve(series: xr.Dataset, values: Values, last: Any, unit: str) -> xr.DataArray:
    load = per_node_and_cycle(series, "offered_flits")[last]
    coordinates = {
        "window": ("window", series["window"].values[last], {"units": "cycles"}),
        "offered": ("window", load, {"units": "flits/node/cycle"}),
    }
    return xr.DataArray(values, coordinates, ("window",), attrs={"units": unit})
