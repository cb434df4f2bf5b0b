"""What of a plan is computed anew: what its packets take, its messages, and its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.networks.running import duration
from flitloom.plans.operation import PLANS, Operation, operation_phases

if TYPE_CHECKING:
    from flitloom.networks.network import Network
    from flitloom.plans.values import PlanValues


def measure(plan: PlanValues) -> int:
    """What the packets of a plan take, in cycles.

    Raises
    ------
    SpecError
        Two packets hold a port or link at once, or a route is wrong.
    """
    network = plan.network()
    if plan.router is not None:
        # Its packets wait for each other: only its own arbitration says how long.
        return simulated_with(plan, network)
    return _core.check_plan(network.one_cycle(PLANS), plan.table, plan.directions())


def simulated_with(plan: PlanValues, network: Network) -> int:
    """Cycles that a plan takes on a network, simulated."""
    return duration(network.one_cycle(PLANS), plan.workload(network))


def packets_of(plan: PlanValues, sizes: list[int]) -> list[int]:
    """Packets of every phase, from its messages."""
    slices = messages_of(plan)[:, 3]
    ends = np.cumsum(sizes)
    return [int(slices[end - size : end].sum()) for size, end in zip(sizes, ends.tolist(), strict=True)]


def operation_of(plan: PlanValues) -> Operation:
    """The operation that a plan is for."""
    try:
        return Operation(**(plan.operation or {}))
    except TypeError:
        raise SpecError.at("operation", "has other fields than name, payload, root and nodes") from None


def phase_sizes(plan: PlanValues) -> list[int]:
    """Messages of every phase of a plan's operation, which must be its own; all of them without one."""
    messages = messages_of(plan)
    if plan.operation is None:
        if plan.phases:
            raise SpecError.at("operation", "is missing", "a plan in phases says which operation it is for")
        return [len(messages)]
    operation = operation_of(plan)
    phases, _ = operation_phases(plan.network(), operation)
    if not np.array_equal(np.concatenate(phases), messages):
        raise SpecError.at("packets", f"are not the messages of {operation.name}, phase by phase")
    return [len(phase) for phase in phases]


def prove_bound(plan: PlanValues) -> int:
    """The lower bound computed anew; an operation's messages and their order are checked, too.

    Raises
    ------
    SpecError
        The packets are not those of the operation, or leave too early.
    """
    if plan.router is not None:
        return waiting_bound(plan)
    network, messages, sizes = plan.network(), messages_of(plan), phase_sizes(plan)
    algorithm_bound = 0
    if plan.operation is not None:
        algorithm_bound = operation_phases(network, operation_of(plan))[1]
        if not _core.phases_respected(network.one_cycle(PLANS), plan.table, plan.directions(), sizes):
            raise SpecError.at("packets", "one starts before what its node needs for it has arrived")
    kind = (plan.interval, plan.free_slices) if len(sizes) == 1 else (None, False)
    phases = sizes if len(sizes) > 1 else None
    problem = _core.ScheduleProblem(network.one_cycle(PLANS), messages, plan.routes, *kind, phases=phases)
    return max(problem.proof()[0], algorithm_bound)


def waiting_bound(plan: PlanValues) -> int:
    """What packets that may wait take at least on their routes, whenever they start, in cycles."""
    network = plan.network()
    table = plan.table.copy()
    table[:, 3] = 0
    workload = _core.plan_workload(
        network.one_cycle(PLANS), np.ascontiguousarray(table), plan.directions(), b"", "plan"
    )
    bound = _core.lower_bound(network.one_cycle(PLANS), workload)
    return int(bound[0]) if bound else 0


def messages_of(plan: PlanValues) -> NDArray[np.int64]:
    """The messages of a plan: source, destination, slice length, slices."""
    messages: list[list[int]] = []
    for packet in plan.packets:
        if packet.slice == 0:
            messages.append([packet.source, packet.destination, packet.length, 1])
            continue
        if not messages:
            raise SpecError("packets[0].slice: a message begins with slice 0")
        last = messages[-1]
        if [packet.source, packet.destination, packet.length] != last[:3] or packet.slice != last[3]:
            raise SpecError.at(
                "packets", f"the slices of a message from node {packet.source} do not follow one another"
            )
        last[3] += 1
    return np.array(messages, dtype=np.int64).reshape(-1, 4)
