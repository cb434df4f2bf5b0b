"""Search for a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from flitloom import _core, provenance
from flitloom.errors import SpecError, unknown_parts
from flitloom.extras import need
from flitloom.genetic import GeneticSettings
from flitloom.network import Network, require_network
from flitloom.numerals import real
from flitloom.packed import Routes
from flitloom.plans.operation import Operation
from flitloom.plans.phases import phases_of
from flitloom.plans.plan import Plan, packets_of_core
from flitloom.scheduling.cp_sat import finish
from flitloom.scheduling.genetic import genetic_plan
from flitloom.spec import Collective, Packets, TrafficMatrix
from flitloom.spec.base import require_whole

#: The methods of the core, which shorten a schedule one after the other.
CORE_METHODS: tuple[str, ...] = _core.LISTS["schedule_methods"]
#: How a plan is found: by the methods that suit the problem, by one of them, or by a genetic search.
METHODS = ("exact", *CORE_METHODS, "genetic")
#: Which routes a packet may take.
ROUTES = _core.LISTS["routes"]
#: The same, for editors to offer.
MethodName = Literal[
    "exact", "greedy", "slots", "turns", "ejection", "few-bends", "joint", "exchanged", "sweeps", "genetic"
]  # fmt: skip
RoutesName = Literal["dor", "balanced-ties", "any-order", "minimal", "staircase"]
#: All minimal routes, with any number of bends, which are not listed one by one.
STAIRCASE = "staircase"
#: Placements tried if nothing else is said.
MOVES = 2_000_000


def check_seed(seed: int) -> None:
    """Refuse a seed that the core cannot take."""
    require_whole("seed", seed, 0, 2**64 - 1)


def schedule(
    network: Network,
    traffic: Collective | Packets | TrafficMatrix | Operation,
    method: MethodName | str = "exact",
    *,
    routes: RoutesName | str | None = None,
    free_slices: bool = False,
    interval: int | None = None,
    guard: int = 0,
    as_one: bool = False,
    seed: int = 1,
    moves: int = MOVES,
    seconds: float | None = None,
    cp_sat_seconds: float = 0.0,
    genetic: GeneticSettings | None = None,
    genes: str = "full",
    progress: Callable[[int, int, int, int], None] | None = None,
) -> Plan:
    """Find start cycles such that no two packets ever hold a link or port at once.

    Parameters
    ----------
    network : Network
        The network; router and arbitration do not matter.
    traffic : Collective, Packets, TrafficMatrix or Operation
        What is sent; intervals, delays and start times in it are ignored.
    method : str
        ``exact`` searches until the plan is proven optimal or the budget ends, by the methods that suit the
        problem; ``greedy`` is one pass of list scheduling; ``genetic`` the cup-stacking papers' search for a
        collective, in whose plan packets wait for each other. Others of `METHODS`, with shares of the budget
        if there are several, are used as given: ``few-bends:0.5,joint:0.5``.
    routes : {"dor", "balanced-ties", "any-order", "minimal", "staircase"}, optional
        Dimension order; dimension order with ties split by parity (the default for all-to-all);
        dimensions in any order and either way round at ties; all minimal routes with two bends;
        for all-to-all on tori, minimal routes with any number of bends.
    free_slices : bool
        Whether every slice has its own time, or all slices of a message one interval.
    interval : int, optional
        A given interval; by default the best, which is back to back.
    guard : int
        Cycles kept free behind every packet, for nodes that are late.
    as_one : bool
        Let every node of an operation continue as soon as what it needs has arrived, instead of phase by
        phase.
    seed, moves : int
        Seed of the search and placements it may try; the result is a function of both.
    seconds : float, optional
        Wall-clock limit instead; the result then depends on the machine.
    cp_sat_seconds : float
        Time for CP-SAT to find shorter schedules and to refute durations, over fixed or chosen routes, where
        packets have at most 300,000 possible starts in all.
    genetic : GeneticSettings, optional
        Parameters of the genetic search.
    genes : str
        What the genetic search may choose; see `flitloom.genetic.search`.
    progress : callable, optional
        Called with best duration, bound, target and unplaced packets about 20 times a second, the first 0
        before there is a schedule; in a
        genetic search with 0, 0, the generations done and all of them.

    Returns
    -------
    Plan
        Checked by `check_plan`'s verifier; after Ctrl-C the best found so far (``reproducible`` False).

    Raises
    ------
    SpecError
        The parts do not fit together.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.schedule(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl"), method="greedy").optimal
    False
    """
    require_network(network)
    shares = shares_of(method)
    require_whole("guard", guard, 0, 1024, "cycles")
    require_whole("moves", moves, 1, 2**63 - 1, "placements to try")
    if seconds is not None and not 0 < seconds <= 1e9:
        raise SpecError.at("seconds", f"{seconds} is out of range", "a limit is above 0")
    if interval is not None:
        require_whole("interval", interval, 1, 2**20, "cycles")
    check_seed(seed)
    if cp_sat_seconds:
        need("plan", "CP-SAT")
    if interval is not None and free_slices:
        raise SpecError.at("interval", "free slices have separate start times, no interval")
    operation = isinstance(traffic, Operation)
    if operation and routes != STAIRCASE and (free_slices or interval is not None):
        raise SpecError("interval, free_slices: the messages of an operation are not cut into slices")
    if as_one and guard:
        raise SpecError.at("guard", "without barriers (as_one) every gap is closed", "leave one of them out")
    phases, bound, words = phases_of(network, traffic, seed)
    if method == "genetic":
        given = {"free_slices": free_slices, "interval": interval, "guard": guard, "seconds": seconds}
        for name, value in {**given, "cp_sat_seconds": cp_sat_seconds, "as_one": as_one}.items():
            if value:
                raise SpecError(f"{name}: does not go with a genetic search")
        if routes not in (None, "dor"):
            raise SpecError.at("routes", f"a genetic search takes dor, not {routes}")
        if not isinstance(traffic, Collective):
            raise SpecError.at("traffic", "a genetic search needs a collective")
        timed = schedule(network, traffic, "greedy", seed=seed)
        told = None if progress is None else (lambda done, total: progress(0, 0, done, total))
        return genetic_plan(
            network, traffic, timed.packets, words, genetic, genes=genes, seed=seed, progress=told
        )
    if routes is None:
        routes = "balanced-ties" if operation else "dor"
    if seconds is not None:
        moves = 2**62
    found: list[dict[str, Any]] = []
    begins = []
    begin = 0
    if routes == STAIRCASE:
        _refuse_for_staircase(phases, free_slices or interval is not None, guard, cp_sat_seconds)
        shares = [("slots", 0.0)] if method == "greedy" else shares
    for messages in phases:
        problem = _core.ScheduleProblem(network._core, messages, routes, interval, free_slices, guard)
        time = None if seconds is None else seconds / len(phases)
        raw = problem.search(shares, seed, moves, time, progress)
        if raw is None:
            _refuse_methods(problem, method, routes)
        if cp_sat_seconds and raw["duration"] > raw["bound"] and not guard and not raw["interrupted"]:
            finish(problem, raw, cp_sat_seconds)
        raw["table"][:, 3] += begin
        begins.append(begin)
        # What a phase delivers is there one cycle before its completion.
        begin += int(raw["duration"]) - 1
        found.append(raw)
        if raw["interrupted"]:
            # What is left gets the schedule that costs no time.
            shares, cp_sat_seconds = [("greedy", 1.0)], 0.0
    last = found[-1]
    cp_sat_bound = len(phases) == 1 and bool(last.get("cp_sat_bound"))
    duration = begins[-1] + int(last["duration"])
    algorithm_bound = bound if operation else None
    stopped = any(raw["stopped"] for raw in found)
    if len(phases) == 1:
        bound = max(bound, int(last["bound"]))
    else:
        sizes = [len(phase) for phase in phases]
        whole = _core.ScheduleProblem(network._core, np.concatenate(phases), routes, phases=sizes)
        bound = max(bound, whole.proof()[0])
    if as_one and len(phases) > 1:
        stopped |= _without_barriers(network, found, sizes, bound, seed, moves, seconds)
        duration, begins = _core.check_plan(network._core, *_joined(found)), begins[:1]
    packets = [
        packet for raw in found for packet in packets_of_core(raw["table"], Routes(*raw["routes"]).each())
    ]
    plan = Plan(
        duration=duration,
        claimed_bound=bound,
        bound_proof="cp-sat" if cp_sat_bound and bound == last["bound"] else "filter",
        claimed_optimal=duration == bound,
        topology=network.topology.model_dump(mode="json"),
        traffic=words,
        method=method + (" with cp-sat" if any("cp_sat" in raw for raw in found) else ""),
        routes=routes,
        interval=interval,
        free_slices=free_slices,
        guard=guard,
        phases=begins if len(begins) > 1 else [],
        operation=traffic.fields() if isinstance(traffic, Operation) else None,
        algorithm_bound=algorithm_bound,
        seed=seed,
        reproducible=seconds is None and not stopped,
        version=provenance.version(),
        packets=packets,
    )
    # What was made, proven and verified a moment ago is known.
    plan.__dict__["table"] = np.concatenate([raw["table"] for raw in found])
    if plan.bound_proof == "filter":
        plan.__dict__["proven_bound"] = bound
        if len(phases) == 1 and "cp_sat" not in last:
            plan.__dict__["optimal"] = duration == bound
    else:
        plan._refuted_here = True
    return plan


def shares_of(method: str) -> list[tuple[str, float]] | None:
    """The core's methods that a text names, and their shares of a budget; None for those of an exact search.

    >>> shares_of("greedy"), shares_of("few-bends:0.25,joint")
    ([('greedy', 1.0)], [('few-bends', 0.25), ('joint', 1.0)])
    """
    if method in ("exact", "genetic"):
        return None
    shares = []
    for part in method.split(","):
        name, _, share = part.strip().partition(":")
        if name not in CORE_METHODS:
            raise SpecError.at("method", *unknown_parts(name, METHODS))
        try:
            value = real(share or "1")
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise SpecError.at("method", f"the share of {name} is {share!r}", "it must be 0 to 1")
        shares.append((name, value))
    return shares


def _refuse_for_staircase(
    phases: list[NDArray[np.int64]], sliced: bool, guard: int, cp_sat_seconds: float
) -> None:
    if guard:
        raise SpecError.at("guard", "staircase routes leave no room for guards", "choose other routes")
    if sliced:
        raise SpecError.at("interval", "packets on staircase routes have no slices", "choose other routes")
    if cp_sat_seconds:
        raise SpecError.at("cp_sat_seconds", "CP-SAT needs a list of routes, and staircases are too many")
    if len(phases) > 1:
        raise SpecError(_NO_STAIRCASE)


_NO_STAIRCASE = (
    "routes: staircase is for all-to-all among all nodes of a torus without failures, whose sizes "
    "have a common divisor that is a multiple of the packet length or of up to a quarter more"
)


def _refuse_methods(problem: _core.ScheduleProblem, method: str, routes: str) -> NoReturn:
    """Say why no method found a schedule."""
    if routes == STAIRCASE:
        raise SpecError(_NO_STAIRCASE)
    known = ", ".join(problem.methods())
    raise SpecError.at(
        "method", f"{method} does not suit this traffic on {routes} routes", f"these do: {known}"
    )


def _joined(found: list[dict[str, Any]]) -> tuple[NDArray[np.int64], Routes]:
    """The packets of all phases: table and routes."""
    routes = Routes.joined(Routes(*raw["routes"]) for raw in found)
    return np.concatenate([raw["table"] for raw in found]), routes


def _without_barriers(
    network: Network,
    found: list[dict[str, Any]],
    sizes: list[int],
    bound: int,
    seed: int,
    moves: int,
    seconds: float | None,
) -> bool:
    """Shorten a schedule in phases in place, its barriers lifted; whether it was interrupted."""
    table, routes = _joined(found)
    starts, interrupted = _core.tighten_phases(
        network._core, table, routes, sizes, bound, seed, moves, seconds
    )
    end = 0
    for raw, size in zip(found, sizes, strict=True):
        raw["table"][:, 3] = starts[end : end + size]
        end += size
    return interrupted
