"""Check plans by means that share nothing with the search; certify their virtual channels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.outputs import write_text
from flitloom.scheduling.genetic import waiting_bound
from flitloom.scheduling.plan import Plan, messages_of
from flitloom.spec import Router

#: Arbitration schemes under which a plan is simulated.
SCHEMES = ("C00", "C04", "C09")


def check_plan(plan: Plan) -> dict[str, Any]:
    """Check a plan by means that share nothing with the search.

    Every route is followed link by link; no two packets may hold a port or link at once; duration and
    lower bound are computed anew; the messages and the order of an operation are those that it needs; the
    channels of a plan with separated channels cannot wait for each other in a circle; the engine simulates
    it under several arbitration schemes. A plan of a genetic search, in which packets wait, is simulated
    under its own arbitration instead.

    Returns
    -------
    dict
        ``passed``, ``problems`` (a list of messages), ``duration``, ``bound``, ``simulated``, ``channels``
        (virtual channels looked at) and ``cycle``: a shortest cycle of channels that late packets can wait
        for, empty if there is none. A cycle is a problem only if the plan says that its channels are
        separated.
    """
    network = plan.network()
    report: dict[str, Any] = {
        "passed": False,
        "problems": [],
        "duration": None,
        "bound": None,
        "simulated": {},
        "channels": None,
        "cycle": None,
    }
    problems: list[str] = report["problems"]
    routers: dict[str, Network] = {}
    try:
        routes = plan.directions()
        if plan.router is None:
            duration = report["duration"] = _core.check_plan(network._core, plan.table, routes)
            report["channels"], report["cycle"], _ = late_dependencies(plan)
            routers = {scheme: Network(network.topology, Router(arbitration=scheme)) for scheme in SCHEMES}
        else:
            # Its packets wait for each other: only its own arbitration says how long.
            duration = report["duration"] = _simulated(plan, network)
            report["simulated"]["its own arbitration"] = duration
    except SpecError as error:
        problems.append(str(error))
        return report
    if plan.channels is not None and report["cycle"]:
        problems.append(f"channels: late packets can wait in a circle: {report['cycle']}")
    if duration != plan.duration:
        problems.append(f"duration: the file says {plan.duration}, the packets take {duration}")
    try:
        bound = report["bound"] = _bound(plan, network, routes)
    except SpecError as error:
        problems.append(str(error))
        bound = None
    if bound is not None and bound < plan.bound and not plan.method.endswith("cp-sat"):
        problems.append(f"bound: the file says {plan.bound}, only {bound} can be proven")
    if plan.optimal != (plan.duration == plan.bound):
        problems.append("optimal: does not agree with duration and bound")
    if plan.bound > duration:
        problems.append(f"bound: {plan.bound} is above the duration")
    for scheme, same in routers.items():
        simulated = report["simulated"][scheme] = _simulated(plan, same)
        if simulated != duration:
            problems.append(f"simulated with {scheme}: {simulated} cycles instead of {duration}")
    report["passed"] = not problems
    return report


def _simulated(plan: Plan, network: Network) -> int:
    raw = _core.simulate(network._core, plan.workload(network))
    return int(raw["duration"])


def _bound(plan: Plan, network: Network, routes: list[bytes]) -> int | None:
    """The lower bound computed anew; an operation's messages and their order are checked on the way."""
    messages = messages_of(plan)
    if plan.router is not None:
        return waiting_bound(plan)
    if plan.operation is None:
        if plan.phases:
            raise SpecError("operation: is missing; a plan in phases says which operation it is for")
        return _core.schedule_bound(network._core, messages, plan.routes, plan.interval, plan.free_slices)[0]
    from flitloom.scheduling.operation import Operation, operation_phases

    try:
        operation = Operation(**plan.operation)
    except TypeError:
        raise SpecError("operation: has other fields than name, payload, root and nodes") from None
    phases, algorithm_bound = operation_phases(network, operation)
    if not np.array_equal(np.concatenate(phases), messages):
        raise SpecError(f"packets: are not the messages of {operation.name}, phase by phase")
    sizes = [len(phase) for phase in phases]
    if not _core.phases_respected(network._core, plan.table, routes, sizes):
        raise SpecError("packets: one starts before what its node needs for it has arrived")
    if len(phases) == 1:
        own = _core.schedule_bound(network._core, messages, plan.routes, plan.interval, plan.free_slices)[0]
    else:
        own = _core.phase_bound(network._core, messages, sizes, plan.routes)
    return max(own, algorithm_bound)


def late_dependencies(plan: Plan) -> tuple[int, str, Any]:
    """What the packets of a plan can wait for when nodes are late.

    Returns
    -------
    (int, str, array or None)
        Virtual channels looked at (those of the plan, or as many as dimension order needs), a shortest
        cycle as text or "", and a rank per channel if there is no cycle.
    """
    network = plan.network()
    channels = plan.channels or network.channels
    first = plan.first_channels() if plan.channels else []
    if first and max(first) >= channels:
        raise SpecError(f"packets: one begins in virtual channel {max(first)}; the plan has {channels}")
    routes = plan.directions()
    facts = _core.plan_dependencies(network._core, plan.table, routes, channels, bytes(first))
    return channels, facts["cycle"], facts["ranks"]


def deadlock_certificate(plan: Plan) -> dict[str, Any]:
    """A rank for every virtual channel, such that every packet of the plan only waits for higher ranks.

    However late the nodes are, no circle of waiting can close then (Dally and Seitz 1988). The script
    ``tools/recheck.py`` of the repository verifies it against the plan on its own.

    Raises
    ------
    SpecError
        There is a cycle, or packets of the plan wait even on time.
    """
    if plan.router is not None:
        raise SpecError("plan: its packets wait for each other on time, too; there is no certificate for it")
    channels, cycle, ranks = late_dependencies(plan)
    if ranks is None:
        raise SpecError(
            f"plan: late nodes can cause a deadlock on {channels} virtual channels, there is no certificate: "
            f"{cycle}; make it with --separate"
        )
    network = plan.network()
    topology, names = network.topology, network.directions
    works = network._core.working_links()
    ranked = [
        [link // len(names), names[link % len(names)], channel, int(ranks[link * channels + channel])]
        for link in range(len(works))
        if works[link]
        for channel in range(channels)
    ]
    return {
        "format": "flitloom-certificate",
        "version": 2,
        "sizes": list(topology.sizes),
        "wraps": list(topology.wraps),
        "bubble": False,
        "virtual_channels": channels,
        "datelines": True,
        "channels": ranked,
    }


def write_certificate(plan: Plan, file: str | Path) -> None:
    """Write the certificate of a plan to a file, a channel a line."""
    head = deadlock_certificate(plan)
    rows = ",\n  ".join(json.dumps(row) for row in head.pop("channels"))
    write_text(file, json.dumps(head, indent=1)[:-2] + f',\n "channels": [\n  {rows}\n ]\n}}\n')
