"""Traffic as phases of messages that are to be scheduled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.limits import LISTED_PACKETS
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.plans.operation import Operation, operation_phases
from flitloom.spec import Collective, Packets, TrafficMatrix
from flitloom.workload import ends_among_working


def _check_count(packets: int) -> None:
    if packets > LISTED_PACKETS:
        raise SpecError.at(
            "traffic", counted(packets, "packet"), f"at most {LISTED_PACKETS} can be scheduled"
        )


def phases_of(
    network: Network, traffic: Collective | Packets | TrafficMatrix | Operation, seed: int
) -> tuple[list[NDArray[np.int64]], int, str]:
    """The messages phase by phase, a bound known beforehand, and words for the file."""
    match traffic:
        case Operation():
            phases, bound = operation_phases(network, traffic)
            return phases, bound, str(traffic.among_working(network))
        case Collective():
            _check_count(network.nodes * traffic.packets * traffic.slices)
            ends = ends_among_working(network, traffic, seed)
            rows = [(*pair, traffic.slice_length, traffic.slices) for pair in ends]
            name = traffic.pattern or "given destinations"
            words = f"{name}, payload {traffic.payload}"
            words += f" in {counted(traffic.slices, 'slice')}" if traffic.slices > 1 else ""
            words += f", {counted(traffic.packets, 'packet')}" if traffic.packets > 1 else ""
        case Packets():
            rows = [(row[0], row[1], row[2], 1) for row in traffic.table]
            words = counted(len(rows), "given packet")
        case TrafficMatrix():
            _check_count(sum(map(sum, traffic.matrix)))
            rows = [(row[0], row[1], row[2], 1) for row in traffic.packet_table()]
            words = f"{counted(len(rows), 'packet')} of a matrix"
        case _:
            raise SpecError.at("traffic", "a schedule needs a collective, packets, a matrix or an operation")
    return [np.array(rows, dtype=np.int64).reshape(-1, 4)], 0, words
