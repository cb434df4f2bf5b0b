"""What measured series of a network mean: critical load, settling, recovery, confidence, fairness.

Pure functions on labelled arrays; nothing here runs a simulation. A `series` is an `xarray.Dataset` with one
entry per measuring window, see `series`. A result that does not exist is a named outcome with advice
(`Measurement`), never a NaN.

Examples
--------
>>> import numpy as np
>>> from flitloom.analysis import critical_load
>>> from flitloom.analysis.series import made_series
>>> windows = np.arange(1000)
>>> offered = windows / 1000                                    # a ramp; the network takes 0.5 at most
>>> series = made_series(offered, np.minimum(offered, 0.5), nodes=64, packet_length=8)
>>> found = critical_load(series, averaging=20)
>>> found.outcome, round(found.value, 2)
('measured', 0.54)
"""

from __future__ import annotations

from flitloom.analysis.averages import mean_age, moving_average, throughput
from flitloom.analysis.batches import Confidence, batch_means
from flitloom.analysis.critical_load import critical_load
from flitloom.analysis.fairness import Fairness, fairness
from flitloom.analysis.impulse import Recovery, impulse_duration
from flitloom.analysis.outcomes import MEASURED, Measurement
from flitloom.analysis.percentiles import percentile
from flitloom.analysis.saturation import saturation_point
from flitloom.analysis.settling import settling_time
from flitloom.analysis.slope import slope_critical_load, slope_noise
from flitloom.analysis.warm_up import warm_up

__all__ = [
    "MEASURED",
    "Confidence",
    "Fairness",
    "Measurement",
    "Recovery",
    "batch_means",
    "critical_load",
    "fairness",
    "impulse_duration",
    "mean_age",
    "moving_average",
    "percentile",
    "saturation_point",
    "settling_time",
    "slope_critical_load",
    "slope_noise",
    "throughput",
    "warm_up",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
