"""Check plans by means that independent of the search; certify their virtual channels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.ground.claims import Claims
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.networks.network import Network
from flitloom.plans.operation import PLANS, operation_phases
from flitloom.plans.plan import Plan, require_plan
from flitloom.plans.proofs import (
    measure,
    messages_of,
    operation_of,
    packets_of,
    phase_sizes,
    prove_bound,
    simulated_with,
)
from flitloom.spec import Router
from flitloom.tables.verdict import circle

#: Where the rules of a verdict come from.
IN_FILE = "from the file"
ASSUMED_CHANNELS = "assumed: as many virtual channels as dimension order needs, at least three"
#: Routes that a search chooses among link by link.
ROUTES = _core.LISTS["routes"]

#: Arbitration schemes under which a plan is simulated.
SCHEMES = ("C00", "C04", "C09")
#: Placements tried to find a schedule below a bound that is CP-SAT's word.
REFUTING_MOVES = 200_000
#: What nothing in the packets says.
MAKING = ("method", "seed", "reproducible", "version")


def check_plan(plan: Plan) -> dict[str, Any]:
    """Check a plan independently of the search.

    Every route is followed link by link; no two packets may hold a port or link at once; duration and
    lower bound are computed anew; the messages and the order of an operation are those that it needs; the
    routes are among those the plan names, slices, guards and phases as it says; the channels of a plan with
    separated channels cannot wait for each other in a circle; the engine simulates it under several
    arbitration schemes. A plan of a genetic search, in which packets wait, is simulated under its own
    arbitration instead.

    A bound that is CP-SAT's word is not proven again: it is listed as not verified, and a problem only if a
    short search finds a schedule below it.

    Returns
    -------
    dict
        ``passed``, ``problems`` (a list of messages), ``duration``, ``bound`` (proven here), ``optimal``
        ("proven", "by CP-SAT, not verified here" or "not proven"), ``simulated``, ``channels`` (virtual
        channels looked at) and ``cycle``: a shortest list of channels that late packets can wait for in a
        cycle, empty if there is none. It is a problem only if the plan says that its channels are separated.
        ``rules`` and ``rules_from`` say what the verdict about late packets rests on, ``verified`` and
        ``not_verified`` what became of every claim of the file.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns"))
    >>> report = fl.plans.check(plan.model_copy(update={"claimed_bound": 9999}))
    >>> report["problems"][0]
    'bound: the file says 9999, the packets take 20'
    """
    require_plan(plan)
    network = plan.network()
    claims = Claims()
    report: dict[str, Any] = {
        "passed": False,
        "problems": claims.problems,
        "duration": None,
        "bound": None,
        "optimal": "not proven",
        "simulated": {},
        "channels": None,
        "cycle": None,
        "rules": None,
        "rules_from": None,
        "verified": claims.verified,
        "not_verified": claims.not_verified,
    }
    try:
        duration = report["duration"] = measure(plan)
        if plan.router is None:
            report["channels"], report["cycle"], _ = late_dependencies(plan)
            report["rules"] = {"virtual_channels": report["channels"], "datelines": True, "bubble": False}
            report["rules_from"] = rules_from(plan)
        else:
            report["simulated"]["its own arbitration"] = duration
            report["rules"] = network.router.model_dump(mode="json")
            report["rules_from"] = IN_FILE
    except SpecError as error:
        claims.problems.append(str(error))
        return report
    if plan.channels is not None:
        wait = f"late packets can wait in a circle: {circle(report['cycle'])}"
        claims.hold("channels", not report["cycle"], wait)
    said = plan.duration == duration
    claims.hold("duration", said, f"the file says {plan.duration}, the packets take {duration}")
    try:
        report["bound"] = prove_bound(plan)
    except SpecError as error:
        claims.problems.append(str(error))
    _judge_bound(claims, plan, report)
    _judge_parts(claims, plan)
    for name in MAKING:
        claims.leave(name, "nothing in the packets says so")
    if plan.router is None:
        _simulate(claims, plan, report)
    report["passed"] = not claims.problems
    return report


def _simulate(claims: Claims, plan: Plan, report: dict[str, Any]) -> None:
    """Simulate a plan under several arbitration schemes, which must not matter to it."""
    for scheme in SCHEMES:
        same = Network(plan.network().topology, Router(arbitration=scheme))
        simulated = report["simulated"][scheme] = simulated_with(plan, same)
        if simulated != report["duration"]:
            claims.problems.append(
                f"simulated with {scheme}: {counted(simulated, 'cycle')} instead of {report['duration']}"
            )


def rules_from(plan: Plan) -> str:
    """Where the number of virtual channels comes from that a verdict about late packets rests on."""
    return IN_FILE if plan.channels is not None else ASSUMED_CHANNELS


def _judge_bound(claims: Claims, plan: Plan, report: dict[str, Any]) -> None:
    """Hold bound and optimality against what is proven here; say whose word the rest is."""
    claimed, proven, duration = plan.claimed_bound, report["bound"], report["duration"]
    if claimed > duration:
        claims.problems.append(f"bound: the file says {claimed}, the packets take {duration}")
    elif proven is not None and claimed <= proven:
        claims.verified.append("bound")
    elif proven is not None and plan.bound_proof == "filter":
        claims.problems.append(f"bound: the file says {claimed}, only {proven} can be proven")
    elif proven is not None:
        shorter = _shorter(plan)
        if shorter is None:
            claims.problems.append("bound: CP-SAT decides about no plan of this kind")
        elif shorter < claimed:
            claims.problems.append(f"bound: the file says {claimed}, there is a schedule of {shorter}")
        else:
            claims.leave("bound", f"{claimed} is the word of CP-SAT; {proven} is proven here")
    if plan.claimed_optimal != (plan.duration == claimed):
        claims.problems.append("optimal: does not agree with duration and bound")
    if not claims.problems and duration == max(claimed, proven or 0):
        by_others = plan.rests_on_cp_sat
        report["optimal"] = "by CP-SAT, not verified here" if by_others else "proven"
        if by_others:
            claims.leave("optimal", "it rests on the bound")
        elif plan.claimed_optimal:
            claims.verified.append("optimal")


def _shorter(plan: Plan) -> int | None:
    """A duration that a short search reaches for a plan's messages; None for kinds that CP-SAT leaves."""
    routes_known = plan.routes in ROUTES
    if plan.router is not None or not routes_known or len(phase_sizes(plan)) > 1:
        return None
    network, messages = plan.network(), messages_of(plan)
    problem = _core.ScheduleProblem(
        network.one_cycle(PLANS), messages, plan.routes, plan.interval, plan.free_slices
    )
    found = problem.search(None, 1, REFUTING_MOVES)
    return None if found is None else int(found["duration"])


def _judge_parts(claims: Claims, plan: Plan) -> None:
    """Hold what the file says about routes, slices, guards and phases against its packets."""
    network, table = plan.network(), plan.table
    routes = plan.directions()
    try:
        other = _core.other_route(network.one_cycle(PLANS), table, routes, plan.routes)
        claims.hold("routes", other is None, f"that of packets[{other}] is not among those of {plan.routes}")
    except SpecError as error:
        claims.problems.append(str(error))
    try:
        sizes = phase_sizes(plan)
        messages_of(plan)
    except SpecError:
        # Said already, where the bound was proven.
        return
    later = np.flatnonzero(table[:, 4] > 0)
    name = "free_slices" if plan.interval is None else "interval"
    if plan.free_slices:
        claims.hold(name, plan.interval is None, "free slices have no interval")
    else:
        waiting = plan.router is not None
        gaps = np.zeros(len(later), dtype=np.int64) if waiting else table[later, 2]
        wanted = gaps if plan.interval is None else np.full(len(later), plan.interval)
        wrong = later[table[later, 3] - table[later - 1, 3] != wanted]
        claims.hold(name, not len(wrong), f"packets[{wrong[0] if len(wrong) else 0}] does not keep it")
    if plan.guard:
        problem = _guard_problem(plan, sizes)
        claims.hold("guard", problem is None, f"{plan.guard} cycles are not kept: {problem}")
    if plan.spread:
        claims.leave("spread", "nothing in the packets says so")
    if plan.operation is None:
        claims.leave("traffic", "nothing in the packets says so")
        if plan.algorithm_bound is not None:
            claims.problems.append("algorithm_bound: only an operation has one")
        return
    operation = operation_of(plan)
    claims.hold("traffic", plan.traffic == str(operation), f"the operation is {operation}")
    bound = operation_phases(network, operation)[1]
    if plan.algorithm_bound is not None:
        claims.equal("algorithm_bound", plan.algorithm_bound, bound)
    if plan.phases:
        claims.hold("phases", _phases_fit(plan, sizes), "packets of one do not lie between its beginnings")


def _guard_problem(plan: Plan, sizes: list[int]) -> str | None:
    """What is in the way of a packet, or of all slices of a message, that lasts longer by the guard."""
    network, table, routes = plan.network(), plan.table.copy(), plan.directions()
    together = plan.interval is None and not plan.free_slices
    last = np.append(table[1:, 4] == 0, True)
    table[last if together else slice(None), 2] += plan.guard
    begin = 0
    for end in np.cumsum(packets_of(plan, sizes)).tolist():
        try:
            _core.check_plan(
                network.one_cycle(PLANS), np.ascontiguousarray(table[begin:end]), routes.part(begin, end)
            )
        except SpecError as error:
            return str(error)
        begin = end
    return None


def _phases_fit(plan: Plan, sizes: list[int]) -> bool:
    """Whether every phase starts when the one before has arrived, and its packets not before it."""
    if len(plan.phases) != len(sizes):
        return False
    hops = plan.directions().hops
    table, begin, arrived = plan.table, 0, 0
    for start, end in zip(plan.phases, np.cumsum(packets_of(plan, sizes)).tolist(), strict=True):
        if not arrived <= start <= int(table[begin:end, 3].min()):
            return False
        arrived = int((table[begin:end, 3] + hops[begin:end] + table[begin:end, 2]).max())
        begin = end
    return True


def late_dependencies(plan: Plan) -> tuple[int, list[str], Any]:
    """What the packets of a plan can wait for when nodes are late.

    Returns
    -------
    (int, list of str, array or None)
        Virtual channels looked at (those of the plan, or as many as dimension order needs), a shortest
        cycle, empty if there is none, and a rank per channel if there is no cycle.
    """
    network = plan.network()
    channels = plan.channels or network.channels
    first = plan.first_channels() if plan.channels else []
    if first and max(first) >= channels:
        raise SpecError.at(
            "packets", f"one begins in virtual channel {max(first)}", f"the plan has {channels}"
        )
    routes = plan.directions()
    facts = _core.plan_dependencies(network.one_cycle(PLANS), plan.table, routes, channels, bytes(first))
    return channels, facts["cycle"], facts["ranks"]


def deadlock_certificate(plan: Plan) -> dict[str, Any]:
    """A rank for every virtual channel, such that every packet of the plan only waits for higher ranks.

    However late the nodes are, no circle of waiting can close then (Dally and Seitz 1988). The script
    ``flitloom recheck`` verifies it against the plan on its own.

    Raises
    ------
    SpecError
        There is a cycle, or packets of the plan wait even on time.
    """
    require_plan(plan)
    if plan.router is not None:
        raise SpecError.at(
            "plan", "its packets wait for each other on time, too", "there is no certificate for it"
        )
    channels, cycle, ranks = late_dependencies(plan)
    if ranks is None:
        raise SpecError.at(
            "plan",
            f"late nodes can cause a deadlock on {counted(channels, 'virtual channel')}, there is no "
            f"certificate: {circle(cycle)}",
            "make it with --separate",
        )
    network = plan.network()
    topology, names = network.topology, network.directions
    works = network.working_links()
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
        **({"twist": True} if topology.twist else {}),
        "bubble": False,
        "virtual_channels": channels,
        "datelines": True,
        "rules_from": rules_from(plan),
        "channels": ranked,
    }


def write_certificate(plan: Plan, file: str | Path) -> None:
    """Write the certificate of a plan to a file, a channel a line."""
    head = deadlock_certificate(plan)
    rows = ",\n  ".join(json.dumps(row) for row in head.pop("channels"))
    write_text(file, json.dumps(head, indent=1)[:-2] + f',\n "channels": [\n  {rows}\n ]\n}}\n')
