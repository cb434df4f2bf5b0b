"""Traffic as phases of messages that are to be scheduled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_PACKETS
from flitloom.ground.numerals import counted
from flitloom.networks.network import Network
from flitloom.plans.operation import Operation, operation_phases
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.traffic.known import KINDS


def phases_of(
    network: Network, traffic: PlannedTraffic | Operation, seed: int
) -> tuple[list[NDArray[np.int64]], int, str]:
    """The messages phase by phase, a bound known beforehand, and words for the file."""
    if isinstance(traffic, Operation):
        phases, bound = operation_phases(network, traffic)
        return phases, bound, str(traffic.among_working(network))
    if not isinstance(traffic, PlannedTraffic):
        planned = ", ".join(kind.noun for kind in KINDS.values() if issubclass(kind, PlannedTraffic))
        raise SpecError.at("traffic", f"a schedule needs {planned} or an operation")
    if (packets := traffic.count(network.nodes)) > LISTED_PACKETS:
        raise SpecError.at(
            "traffic", counted(packets, "packet"), f"at most {LISTED_PACKETS} can be scheduled"
        )
    rows, words = traffic.to_plan(network, seed)
    return [np.array(rows, dtype=np.int64).reshape(-1, 4)], 0, words
