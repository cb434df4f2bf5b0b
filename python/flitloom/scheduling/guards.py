"""Plans that nodes may be late for: guards behind every packet, and spare time where links have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.networks.network import Network, network_of
from flitloom.plans.operation import PLANS, Operation
from flitloom.plans.plan import Plan, require_plan
from flitloom.scheduling.jitter import (
    LONGEST,
    check_jitter,
    late_durations,
    require_independent,
    with_channels,
)
from flitloom.scheduling.search import check_seed, schedule
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.base import require_whole

#: Guards that are tried if nothing else is said, in cycles.
GUARDS = (0, 1, 2, 3, 4)
#: Cycles given away for spare time that are tried if nothing else is said.
EXTRAS = (0, 1, 2, 3, 4, 5, 6)
#: Reaches of spreading that are tried: only the narrowest gaps, or all that delays could close.
REACHES = (2, 3, None)
#: Moves per packet when spare time is spread.
SWEEPS = 300


def spread(plan: Plan, jitter: int, extra: int = 0, *, reach: int | None = None, seed: int = 1) -> Plan:
    """Shift the packets of a plan so that gaps widen where links have time to spare.

    Parameters
    ----------
    plan : Plan
        A plan without phases.
    jitter : int
        Largest delay of a node, in cycles.
    extra : int
        Cycles by which the plan may become longer.
    reach : int, optional
        Gaps from this many cycles on need no widening: by default twice the jitter, since delays add up
        along the way; a small reach spends all spare time on packets without any gap.
    seed : int
        Seed of the search.

    Returns
    -------
    Plan
        On the same routes, of at most ``plan.duration + extra`` cycles.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.plans.search(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl"))
    >>> wide = fl.plans.spread(plan, jitter=8)
    >>> wide.duration == plan.duration, wide.packets == plan.packets
    (True, False)
    """
    require_plan(plan)
    if plan.operation is not None and plan.operation.get("name") != "all-to-all":
        raise SpecError.at("plan", "its packets wait for each other, so its spare time can not be spread")
    require_whole("jitter", jitter, 1, LONGEST, "cycles")
    require_whole("extra", extra, 0, LONGEST, "cycles")
    check_seed(seed)
    network = plan.network()
    routes = plan.directions()
    _core.check_plan(network.one_cycle(PLANS), plan.table, routes)
    if reach is not None:
        require_whole("reach", reach, 1, LONGEST, "cycles")
    # Gaps wider than the plan is long change nothing.
    reach = min(2 * jitter if reach is None else reach, plan.duration + extra)
    together = not plan.free_slices
    starts = _core.spread_plan(
        network.one_cycle(PLANS), plan.table, routes, together, plan.duration + extra, reach, SWEEPS, seed
    )
    table = plan.table.copy()
    table[:, 3] = starts
    duration = _core.check_plan(network.one_cycle(PLANS), table, routes)
    packets = [
        packet.model_copy(update={"start": start}) for packet, start in zip(plan.packets, starts, strict=True)
    ]
    changes = {"duration": duration, "claimed_optimal": duration == plan.claimed_bound, "spread": jitter}
    return Plan(**{**plan.model_dump(), **changes, "packets": packets})


#: What a search gets at least, in seconds.
LEAST_SECONDS = 0.01


@dataclass(frozen=True)
class Candidate:
    """A plan that was tried under delays.

    Attributes
    ----------
    plan : Plan
        The plan; its ``guard`` and ``spread`` say what it is.
    mean : float
        Mean duration over the trials, in cycles; infinite if one ended in a deadlock.
    lead : int
        Cycles by which nodes aim before their planned starts; tried for the best plan only.
    """

    plan: Plan
    mean: float
    lead: int = 0


def guarded_plans(
    network: Network | str | Path,
    traffic: PlannedTraffic | Operation,
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
    network : Network, str or path
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
        Further arguments of `schedule`; `seconds` is a limit for all plans together.

    Returns
    -------
    list of Candidate
        The one with the smallest mean first; of equal ones that with the shorter plan. After Ctrl-C those
        tried by then, the first with ``reproducible`` False.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(8, 8))
    >>> best = fl.plans.guarded(net, fl.Collective("shfl"), jitter=8)[0]
    >>> best.plan.spread, best.plan.guard
    (8, 0)
    """
    network = network_of(network)
    check_jitter(jitter, trials)
    tries = _Tries(network, traffic, jitter, trials, seed, separate, search)
    kinds = tries.kinds(guards, extras)
    ended = False
    try:
        ended = tries.run(kinds, progress)
        tries.aim()
    except KeyboardInterrupt:
        if not tries.tried:
            raise
        ended = True
        tries.sort()
    if ended:
        first = tries.tried[0]
        kept = first.plan.model_copy(update={"reproducible": False})
        tries.tried[0] = Candidate(kept, first.mean, first.lead)
    return tries.tried


class _Tries:
    """Plans that are tried under the same delays."""

    def __init__(
        self,
        network: Network,
        traffic: PlannedTraffic | Operation,
        jitter: int,
        trials: int,
        seed: int,
        separate: bool,
        search: dict[str, Any],
    ) -> None:
        self.network, self.traffic, self.separate, self.search = network, traffic, separate, search
        self.jitter, self.trials, self.seed = jitter, trials, seed
        seconds = search.get("seconds")
        self.deadline = None if seconds is None else perf_counter() + seconds
        self.tried: list[Candidate] = []

    def searched(self, guard: int, left: int) -> Plan:
        """A plan with a guard, of `left` that share the time that is left."""
        own = dict(self.search)
        if self.deadline is not None:
            own["seconds"] = max(LEAST_SECONDS, (self.deadline - perf_counter()) / left)
        return schedule(self.network, self.traffic, guard=guard, seed=self.seed, **own)

    def is_late(self) -> bool:
        """Whether the time for all plans is over."""
        return self.deadline is not None and perf_counter() >= self.deadline

    def kinds(self, guards: Sequence[int], extras: Sequence[int]) -> list[Callable[[], Plan]]:
        """How every plan is made: without a guard, with each, and with spare time spread."""
        uniform = [guard for guard in guards if guard]
        plain = self.searched(0, 1 + len(uniform))
        require_independent(plain)
        kinds: list[Callable[[], Plan]] = [lambda: plain]
        for number, guard in enumerate(uniform):
            kinds.append(partial(self.searched, guard, len(uniform) - number))
        if self.jitter:
            kinds += [
                partial(spread, plain, self.jitter, extra, reach=reach, seed=self.seed)
                for extra in extras
                for reach in REACHES
            ]
        return kinds

    def mean(self, plan: Plan, lead: int = 0) -> float:
        """Mean duration of a plan whose nodes are late."""
        return mean_duration(self.network, plan, self.jitter, self.trials, (self.seed, 1), lead)

    def run(self, kinds: Sequence[Callable[[], Plan]], progress: Callable[[int, int], None] | None) -> bool:
        """Make and try the plans while there is time; whether Ctrl-C ended a search."""
        ended = False
        for number, make in enumerate(kinds):
            if self.tried and self.is_late():
                break
            plan = make()
            # Without a time limit, only Ctrl-C ends a search early.
            ended = not plan.reproducible and self.deadline is None
            if ended and self.tried:
                break
            if self.separate:
                plan = plan.separated(self.network)
            self.tried.append(Candidate(plan, self.mean(plan)))
            if ended:
                break
            if progress is not None:
                progress(number + 1, len(kinds))
        self.sort()
        return ended

    def sort(self) -> None:
        """The best plan first."""
        self.tried.sort(key=lambda candidate: (candidate.mean, candidate.plan.duration))

    def aim(self) -> None:
        """Let the nodes of the best plan aim before their starts, where that is better."""
        for lead in () if self.is_late() else leads_for(self.jitter):
            best = self.tried[0].plan
            mean = self.mean(best, lead)
            if mean < self.tried[0].mean:
                self.tried[0] = Candidate(best, mean, lead)


def leads_for(jitter: int) -> list[int]:
    """Leads worth trying, in cycles: shares of the largest delay."""
    return sorted({jitter // 4, jitter // 2, jitter} - {0})


def mean_duration(
    network: Network, plan: Plan, jitter: int, trials: int, key: tuple[int, int], lead: int = 0
) -> float:
    """Mean duration of a plan under delays, in cycles; infinite if a trial ends in a deadlock."""
    network = with_channels(network, plan)
    durations = late_durations(
        network, lambda delays: plan.workload(network, delays, lead), jitter, trials, key
    )
    return float("inf") if min(durations) < 0 else float(np.mean(durations))


def best_plan(
    network: Network,
    plans: Sequence[Plan],
    jitter: int,
    seed: int,
    *,
    leads: Sequence[int] = (0,),
    trials: int = 20,
) -> tuple[Plan, int]:
    """The plan and lead with the smallest mean duration under delays, of equal ones the shortest plan."""
    choices = [(plan, lead) for plan in plans for lead in leads]
    means = [mean_duration(network, plan, jitter, trials, (seed, 1), lead) for plan, lead in choices]
    ranked = zip(means, choices, strict=True)
    return min(ranked, key=lambda entry: (entry[0], entry[1][0].duration, entry[1][1]))[1]
