"""Plans that nodes may be late for: guards behind every packet, and spare time where links have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.scheduling.jitter import LONGEST, check_jitter, late_durations, with_channels
from flitloom.scheduling.operation import Operation
from flitloom.scheduling.plan import Plan
from flitloom.scheduling.search import schedule
from flitloom.spec import Collective, Packets, TrafficMatrix

#: Guards that are tried if nothing else is said, in cycles.
GUARDS = (0, 1, 2, 3, 4)
#: Cycles given away for spare time that are tried if nothing else is said.
EXTRAS = (0, 1, 2, 3, 4, 6, 8)
#: Moves per packet when spare time is spread.
SWEEPS = 200


def spread(plan: Plan, jitter: int, extra: int = 0, *, seed: int = 1) -> Plan:
    """Shift the packets of a plan so that gaps widen where links have time to spare.

    Parameters
    ----------
    plan : Plan
        A plan without phases.
    jitter : int
        Largest delay of a node, in cycles; gaps of twice that need no widening.
    extra : int
        Cycles by which the plan may become longer.
    seed : int
        Seed of the search.

    Returns
    -------
    Plan
        On the same routes, of at most ``plan.duration + extra`` cycles.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.schedule(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl"))
    >>> wide = fl.spread(plan, jitter=8)
    >>> wide.duration == plan.duration, wide.packets == plan.packets
    (True, False)
    """
    if plan.operation is not None and plan.operation.get("name") != "all-to-all":
        raise SpecError("plan: its packets wait for each other, so its spare time can not be spread")
    if not 1 <= jitter <= LONGEST:
        raise SpecError(f"jitter: {jitter} is out of range; it must be 1 to 2^20 cycles")
    if not 0 <= extra <= LONGEST:
        raise SpecError(f"extra: {extra} is out of range; it must be 0 to 2^20 cycles")
    network = plan.network()
    routes = plan.directions()
    _core.check_plan(network._core, plan.table, routes)
    # Delays add up along the way; gaps wider than the plan is long change nothing.
    reach = min(2 * jitter, plan.duration + extra)
    together = not plan.free_slices
    starts = _core.spread_plan(
        network._core, plan.table, routes, together, plan.duration + extra, reach, SWEEPS, seed
    )
    table = plan.table.copy()
    table[:, 3] = starts
    duration = _core.check_plan(network._core, table, routes)
    packets = [
        packet.model_copy(update={"start": start}) for packet, start in zip(plan.packets, starts, strict=True)
    ]
    changes: dict[str, Any] = {"duration": duration, "optimal": duration == plan.bound, "spread": jitter}
    return Plan(**{**plan.model_dump(), **changes, "packets": packets})


@dataclass(frozen=True)
class Candidate:
    """A plan that was tried under delays.

    Attributes
    ----------
    plan : Plan
        The plan; its ``guard`` and ``spread`` say what it is.
    mean : float
        Mean duration over the trials, in cycles; infinite if one ended in a deadlock.
    """

    plan: Plan
    mean: float


def guarded_plans(
    network: Network,
    traffic: Collective | Packets | TrafficMatrix | Operation,
    jitter: int,
    *,
    guards: Sequence[int] = GUARDS,
    extras: Sequence[int] = EXTRAS,
    trials: int = 20,
    seed: int = 1,
    separate: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **search: Any,
) -> list[Candidate]:
    """Try guards, and spare time spread where links have it, under delays of 0 to `jitter` cycles.

    Parameters
    ----------
    network : Network
        The network with its router.
    traffic : Collective, Packets, TrafficMatrix or Operation
        What is sent.
    jitter : int
        Largest delay of a node, in cycles.
    guards : sequence of int
        Cycles to keep free behind every packet; 0, no guard, is always tried.
    extras : sequence of int
        Cycles the unguarded plan may become longer to spread spare time; none for uniform guards only.
    trials, seed : int
        Simulations of each plan, all with the same delays; seed of these and of the searches.
    separate : bool
        As in `study_jitter`.
    progress : callable, optional
        Called with the number of plans tried and of all.
    **search
        Further arguments of `schedule`.

    Returns
    -------
    list of Candidate
        The one with the smallest mean first; of equal ones that with the shorter plan.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(8, 8))
    >>> best = fl.guarded_plans(net, fl.Collective("brev"), jitter=8)[0]
    >>> best.plan.spread, best.plan.guard
    (8, 0)
    """
    check_jitter(jitter, trials)
    kinds: list[Callable[[], Plan]] = []
    plain = schedule(network, traffic, guard=0, seed=seed, **search)
    kinds.append(lambda: plain)

    def guarded(guard: int) -> Callable[[], Plan]:
        return lambda: schedule(network, traffic, guard=guard, seed=seed, **search)

    def widened(extra: int) -> Callable[[], Plan]:
        return lambda: spread(plain, jitter, extra, seed=seed)

    kinds += [guarded(guard) for guard in guards if guard]
    waits = plain.operation is not None and plain.operation["name"] != "all-to-all"
    if jitter and not waits:
        kinds += [widened(extra) for extra in extras]
    tried = []
    for number, make in enumerate(kinds):
        plan = make()
        if separate:
            plan = plan.separated()
        tried.append(Candidate(plan, mean_duration(network, plan, jitter, trials, (seed, 1))))
        if progress is not None:
            progress(number + 1, len(kinds))
    return sorted(tried, key=lambda candidate: (candidate.mean, candidate.plan.duration))


def mean_duration(network: Network, plan: Plan, jitter: int, trials: int, key: tuple[int, int]) -> float:
    """Mean duration of a plan under delays, in cycles; infinite if a trial ends in a deadlock."""
    network = with_channels(network, plan)
    durations = late_durations(network, lambda delays: plan.workload(network, delays), jitter, trials, key)
    return float("inf") if min(durations) < 0 else float(np.mean(durations))


def best_plan(network: Network, plans: Sequence[Plan], jitter: int, seed: int, trials: int = 20) -> Plan:
    """The plan with the smallest mean duration under delays, of equal ones the shortest."""
    means = [mean_duration(network, plan, jitter, trials, (seed, 1)) for plan in plans]
    return min(zip(means, plans, strict=True), key=lambda entry: (entry[0], entry[1].duration))[1]
