"""Series: what was counted in every measuring window of a run, as a labelled data set."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flitloom.errors import SpecError
from flitloom.ground.lazy import xr
from flitloom.ground.series import VARIABLES

#: Attributes every series has.
ATTRIBUTES = ("window_cycles", "nodes", "packet_length")


def check_series(series: xr.Dataset, *names: str) -> None:
    """Refuse a data set that is not a series, or lacks variables that are needed.

    Raises
    ------
    SpecError
        A coordinate, attribute or variable is missing, or a variable holds what is not a number.

    Examples
    --------
    >>> check_series(made_series([0.1], [0.1]), "ejected_flits")
    >>> check_series(made_series([0.1], [0.1]), "fish")
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: series.fish: is missing; there are offered_flits, generated_flits, ...
    """
    if "window" not in series.coords or not series.sizes["window"]:
        raise SpecError.at("series.window", "there is no measuring window", "give the first cycle of each")
    for name in ATTRIBUTES:
        value = series.attrs.get(name)
        if not isinstance(value, int | float | np.integer | np.floating) or not value > 0:
            raise SpecError(f"series.attrs.{name}: {value!r} is not a number above 0")
    for name in names:
        if name not in series:
            raise SpecError(f"series.{name}: is missing; there are {', '.join(map(str, series.data_vars))}")
        values = np.asarray(series[name].values)
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise SpecError(f"series.{name}: holds something that is not a finite number")


def per_node_and_cycle(series: xr.Dataset, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A count per node that sends and cycle, window by window.

    Examples
    --------
    >>> per_node_and_cycle(made_series([0.25, 0.5], [0.25, 0.25]), "ejected_flits").tolist()
    [0.25, 0.25]
    """
    check_series(series, name)
    senders = sending(series).sum() if "sends" in series.coords else series.attrs["nodes"]
    cells = float(senders) * float(series.attrs["window_cycles"])
    return np.asarray(series[name].values, dtype=np.float64) / cells


def sending(series: xr.Dataset) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which nodes send: all of them, unless the series says that some do not.

    Examples
    --------
    >>> int(sending(made_series([0.1], [0.1], nodes=64)).sum())
    64
    """
    if "sends" in series.coords:
        return np.asarray(series.sends.values, dtype=bool)
    return np.ones(int(series.attrs["nodes"]), dtype=bool)


def side(series: xr.Dataset) -> float:
    """Side N of the square torus that has as many nodes."""
    return math.sqrt(float(series.attrs["nodes"]))


def made_series(
    offered: ArrayLike,
    received: ArrayLike,
    *,
    nodes: int = 1024,
    window_cycles: int = 100,
    packet_length: int = 8,
    **variables: ArrayLike,
) -> xr.Dataset:
    """A series made of given loads, in flits per node and cycle, for examples and tests.

    The sources generate what is offered. `variables` are further variables, as counts per window.

    Examples
    --------
    >>> series = made_series([0.1, 0.2], [0.1, 0.1], age_max=[40, 90])
    >>> series.window.values.tolist(), series.age_max.values.tolist()
    ([0, 100], [40, 90])
    """
    cells = nodes * window_cycles
    asked, got = np.asarray(offered, dtype=np.float64), np.asarray(received, dtype=np.float64)
    counts: dict[str, Any] = {
        "offered_flits": asked * cells,
        "generated_flits": asked * cells,
        "ejected_flits": got * cells,
        "delivered_packets": got * cells / packet_length,
        **{name: np.asarray(values) for name, values in variables.items()},
    }
    return xr.Dataset(
        {
            name: ("window", values, {"units": VARIABLES[name][0] if name in VARIABLES else "1"})
            for name, values in counts.items()
        },
        {"window": ("window", np.arange(len(asked)) * window_cycles, {"units": "cycles"})},
        {"window_cycles": window_cycles, "nodes": nodes, "packet_length": packet_length},
    )
