"""Search for a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, unknown_parts
from flitloom.genetic import GeneticSettings
from flitloom.ground import provenance
from flitloom.ground.extras import need
from flitloom.ground.numerals import real
from flitloom.ground.packed import Routes
from flitloom.networks.network import Network, network_of
from flitloom.plans.operation import PLANS, Operation
from flitloom.plans.phases import phases_of
from flitloom.plans.plan import Plan
from flitloom.plans.values import packets_of_core
from flitloom.scheduling.cp_sat import finish
from flitloom.scheduling.genetic import genetic_plan
from flitloom.spec import Collective
from flitloom.spec.any_traffic import PlannedTraffic
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
#: What goes around failed parts where no minimal route is left.
GO_AROUND_OPERATIONS = "a schedule keeps to minimal routes; flitloom collective goes around failed parts"
GO_AROUND_PAIRS = (
    "a schedule keeps to minimal routes; routing tables go around failed parts: flitloom route, then "
    "flitloom simulate --tables"
)
#: Placements tried if nothing else is said.
MOVES = 2_000_000


def check_seed(seed: int) -> None:
    """Refuse a seed that the core cannot take."""
    require_whole("seed", seed, 0, 2**64 - 1)


@dataclass(frozen=True)
class _Wanted:
    """What kind of schedule is asked for."""

    method: str
    routes: str | None
    free_slices: bool
    interval: int | None
    guard: int
    as_one: bool

    @property
    def is_sliced(self) -> bool:
        """Whether slices have separate times, or a given interval."""
        return self.free_slices or self.interval is not None


@dataclass(frozen=True)
class _Effort:
    """What a search may cost, and who is told."""

    seed: int
    moves: int
    seconds: float | None
    cp_sat_seconds: float
    progress: Callable[[int, int, int, int], None] | None


def schedule(
    network: Network | str | Path,
    traffic: PlannedTraffic | Operation,
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
    network : Network, str or path
        The network, with routers of one cycle, whichever: buffers and arbitration do not matter.
    traffic : Collective, Packets, TrafficMatrix or Operation
        What is sent, among the nodes that work; intervals, delays and start times in it are ignored.
    method : str
        ``exact`` searches until the plan is proven optimal or the budget ends, by the methods that suit the
        problem; ``greedy`` is one pass of list scheduling; ``genetic`` the cup-stacking papers' search for a
        collective, in whose plan packets wait for each other. Others of `METHODS`, with shares of the budget
        if there are several, are used as given: ``few-bends:0.5,joint:0.5``.
    routes : {"dor", "balanced-ties", "any-order", "minimal", "staircase"}, optional
        Dimension order; dimension order with ties split by parity (the default for all-to-all);
        dimensions in any order and either way round at ties; all minimal routes with two bends (the default
        where parts have failed); for all-to-all on tori, minimal routes with any number of bends.
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
        before there is a schedule; in a genetic search with 0, 0, the generations done and all of them.

    Returns
    -------
    Plan
        Checked as by `flitloom.plans.check`; after Ctrl-C the best found so far (``reproducible`` False).

    Raises
    ------
    SpecError
        The parts do not fit together.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.plans.search(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl"), method="greedy").optimal
    False
    """
    network = network_of(network)
    network.one_cycle(PLANS)
    wanted = _Wanted(method, routes, free_slices, interval, guard, as_one)
    effort = _Effort(seed, moves, seconds, cp_sat_seconds, progress)
    return _scheduled(network, traffic, wanted, effort, genetic, genes)


def _check(wanted: _Wanted, effort: _Effort, operation: bool) -> None:
    """Refuse what cannot be, and what does not go together."""
    shares_of(wanted.method)
    require_whole("guard", wanted.guard, 0, 1024, "cycles")
    require_whole("moves", effort.moves, 1, 2**63 - 1, "placements to try")
    if effort.seconds is not None and not 0 < effort.seconds <= 1e9:
        raise SpecError.at("seconds", f"{effort.seconds} is out of range", "a limit is above 0")
    if wanted.interval is not None:
        require_whole("interval", wanted.interval, 1, 2**20, "cycles")
    check_seed(effort.seed)
    if effort.cp_sat_seconds:
        need("plan", "CP-SAT")
    if wanted.interval is not None and wanted.free_slices:
        raise SpecError.at("interval", "free slices have separate start times, no interval")
    if operation and wanted.routes != STAIRCASE and wanted.is_sliced:
        raise SpecError("interval, free_slices: the messages of an operation are not cut into slices")
    if wanted.as_one and wanted.guard:
        raise SpecError.at("guard", "without barriers (as_one) every gap is closed", "leave one of them out")


def _scheduled(
    network: Network,
    traffic: PlannedTraffic | Operation,
    wanted: _Wanted,
    effort: _Effort,
    genetic: GeneticSettings | None,
    genes: str,
) -> Plan:
    """The plan of traffic, by the method that is wanted."""
    _check(wanted, effort, isinstance(traffic, Operation))
    if isinstance(traffic, Operation):
        traffic = traffic.among_working(network)
    phases, bound, words = phases_of(network, traffic, effort.seed)
    if wanted.method == "genetic":
        _refuse_for_genetic(wanted, effort)
        traffic = Collective.of(traffic, "a genetic search needs a collective")
        if network.topology.failed_nodes:
            raise SpecError.at("method", "genetic needs all nodes", "take another method where nodes failed")
        timed = schedule(network, traffic, "greedy", seed=effort.seed)
        progress = effort.progress
        told = None if progress is None else (lambda done, total: progress(0, 0, done, total))
        return genetic_plan(
            network, traffic, timed.packets, words, genetic, genes=genes, seed=effort.seed, progress=told
        )
    operation = traffic if isinstance(traffic, Operation) else None
    if wanted.routes is None:
        usual = "dor" if operation is None else "balanced-ties"
        wanted = replace(wanted, routes="minimal" if _has_failed_parts(network) else usual)
    if effort.seconds is not None:
        effort = replace(effort, moves=2**62)
    try:
        found, begins = _phase_by_phase(network, phases, wanted, effort)
    except SpecError as error:
        # Of all that can be wrong with messages, this alone has no advice: failures cut every route.
        if not _has_failed_parts(network) or error.field != "traffic" or error.advice:
            raise
        around = GO_AROUND_PAIRS if operation is None else GO_AROUND_OPERATIONS
        advice = around if wanted.routes == "minimal" else "routes minimal may have one: there are more"
        raise SpecError.at("traffic", error.problem, advice) from None
    return _plan_of(network, operation, phases, found, begins, bound, words, wanted, effort)


def _refuse_for_genetic(wanted: _Wanted, effort: _Effort) -> None:
    """Refuse what a genetic search knows nothing of."""
    given: dict[str, Any] = {
        "free_slices": wanted.free_slices,
        "interval": wanted.interval,
        "guard": wanted.guard,
    }
    given |= {"seconds": effort.seconds, "cp_sat_seconds": effort.cp_sat_seconds, "as_one": wanted.as_one}
    for name, value in given.items():
        if value:
            raise SpecError(f"{name}: does not go with a genetic search")
    if wanted.routes not in (None, "dor"):
        raise SpecError.at("routes", f"a genetic search takes dor, not {wanted.routes}")


def _phase_by_phase(
    network: Network, phases: list[NDArray[np.int64]], wanted: _Wanted, effort: _Effort
) -> tuple[list[dict[str, Any]], list[int]]:
    """What the core found for every phase, and when each begins."""
    shares, cp_sat_seconds, routes = shares_of(wanted.method), effort.cp_sat_seconds, str(wanted.routes)
    if routes == STAIRCASE:
        _refuse_for_staircase(phases, wanted.is_sliced, wanted.guard, cp_sat_seconds)
        shares = [("slots", 0.0)] if wanted.method == "greedy" else shares
    time = None if effort.seconds is None else effort.seconds / len(phases)
    found: list[dict[str, Any]] = []
    begins = []
    begin = 0
    for messages in phases:
        problem = _core.ScheduleProblem(
            network.one_cycle(PLANS), messages, routes, wanted.interval, wanted.free_slices, wanted.guard
        )
        raw = problem.search(shares, effort.seed, effort.moves, time, effort.progress)
        if raw is None:
            _refuse_methods(problem, wanted.method, routes)
        if cp_sat_seconds and raw["duration"] > raw["bound"] and not wanted.guard and not raw["interrupted"]:
            finish(problem, raw, cp_sat_seconds)
        raw["table"][:, 3] += begin
        begins.append(begin)
        # What a phase delivers is there one cycle before its completion.
        begin += int(raw["duration"]) - 1
        found.append(raw)
        if raw["interrupted"]:
            # What is left gets the schedule that costs no time.
            shares, cp_sat_seconds = [("greedy", 1.0)], 0.0
    return found, begins


def _has_failed_parts(network: Network) -> bool:
    topology = network.topology
    return bool(topology.failed_nodes or topology.failed_links)


def _plan_of(
    network: Network,
    operation: Operation | None,
    phases: list[NDArray[np.int64]],
    found: list[dict[str, Any]],
    begins: list[int],
    algorithm_bound: int,
    words: str,
    wanted: _Wanted,
    effort: _Effort,
) -> Plan:
    """A plan of what was found for all phases, with the bound of all of them together."""
    last = found[-1]
    duration = begins[-1] + int(last["duration"])
    stopped = any(raw["stopped"] for raw in found)
    if len(phases) == 1:
        bound = max(algorithm_bound, int(last["bound"]))
    else:
        sizes = [len(phase) for phase in phases]
        together = np.concatenate(phases)
        whole = _core.ScheduleProblem(network.one_cycle(PLANS), together, str(wanted.routes), phases=sizes)
        bound = max(algorithm_bound, whole.proof()[0])
    if wanted.as_one and len(phases) > 1:
        stopped |= _without_barriers(network, found, sizes, bound, effort.seed, effort.moves, effort.seconds)
        duration, begins = _core.check_plan(network.one_cycle(PLANS), *_joined(found)), begins[:1]
    cp_sat_bound = len(phases) == 1 and bool(last.get("cp_sat_bound"))
    plan = Plan(
        duration=duration,
        claimed_bound=bound,
        bound_proof="cp-sat" if cp_sat_bound and bound == last["bound"] else "filter",
        claimed_optimal=duration == bound,
        topology=network.topology.model_dump(mode="json"),
        traffic=words,
        method=wanted.method + (" with cp-sat" if any("cp_sat" in raw for raw in found) else ""),
        routes=wanted.routes,
        interval=wanted.interval,
        free_slices=wanted.free_slices,
        guard=wanted.guard,
        phases=begins if len(begins) > 1 else [],
        operation=None if operation is None else operation.fields(),
        algorithm_bound=None if operation is None else algorithm_bound,
        seed=effort.seed,
        reproducible=effort.seconds is None and not stopped,
        version=provenance.version(),
        packets=[
            packet for raw in found for packet in packets_of_core(raw["table"], Routes(*raw["routes"]).each())
        ],
    )
    _remember(plan, found, len(phases) == 1 and "cp_sat" not in last)
    return plan


def _remember(plan: Plan, found: list[dict[str, Any]], verified: bool) -> None:
    """Have a plan know what was made, proven and verified a moment ago."""
    plan.__dict__["table"] = np.concatenate([raw["table"] for raw in found])
    if plan.bound_proof == "filter":
        plan.__dict__["proven_bound"] = plan.claimed_bound
        if verified:
            plan.__dict__["optimal"] = plan.duration == plan.claimed_bound
    else:
        plan._refuted_here = True


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
        network.one_cycle(PLANS), table, routes, sizes, bound, seed, moves, seconds
    )
    end = 0
    for raw, size in zip(found, sizes, strict=True):
        raw["table"][:, 3] = starts[end : end + size]
        end += size
    return interrupted
