"""What a plan is worth when the nodes do not start together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import DeadlockError, SpecError
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.networks.network import Network, network_of
from flitloom.networks.running import duration
from flitloom.plans.operation import PLANS
from flitloom.plans.plan import Plan, require_plan
from flitloom.scheduling.search import check_seed
from flitloom.spec import Router
from flitloom.spec.base import require_whole
from flitloom.tables.verdict import circle

#: Largest delay of a node, in cycles.
LONGEST = 1 << 20

#: Makes the workload of one trial from the delay of every node.
Late = Callable[[NDArray[np.int64]], _core.Workload]


@explained
@dataclass(frozen=True)
class JitterStudy:
    """Durations of a plan and of unison sending when every node is late by 0 to `jitter` cycles.

    Attributes
    ----------
    jitter : int
        Largest delay of a node, in cycles; delays are uniform and the same for both.
    plan, unison : list of int
        Duration of every trial, in cycles, from the common start; -1 for a deadlock.
    """

    jitter: int
    plan: list[int]
    unison: list[int]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return fields_html(f"late by up to {counted(self.jitter, 'cycle')}", self.summary())

    def summary(self) -> dict[str, float | int | None]:
        """Means, extremes and deadlocks; ``None`` where every trial ended in a deadlock."""
        fields: dict[str, float | int | None] = {"jitter": self.jitter, "trials": len(self.plan)}
        for name, durations in (("plan", self.plan), ("unison", self.unison)):
            ended = [duration for duration in durations if duration >= 0]
            fields[f"{name}_mean"] = round(float(np.mean(ended)), 2) if ended else None
            fields[f"{name}_worst"] = max(ended, default=None)
            fields[f"{name}_deadlocks"] = len(durations) - len(ended)
        return fields


def check_jitter(jitter: int, trials: int) -> None:
    """Refuse delays and numbers of trials that make no sense."""
    require_whole("jitter", jitter, 0, LONGEST, "cycles")
    require_whole("trials", trials, 1, 1_000_000)


def late_durations(network: Network, late: Late, jitter: int, trials: int, key: tuple[int, int]) -> list[int]:
    """Durations of trials whose delays are a function of the key (seed, stream) alone; -1 for a deadlock."""
    seed, stream = key
    durations = []
    for trial in range(trials):
        workload = late(_core.delays(network.nodes, jitter, seed, (stream << 32) + trial))
        try:
            durations.append(duration(network.one_cycle(PLANS), workload))
        except DeadlockError:
            durations.append(-1)
    return durations


def require_independent(plan: Plan) -> None:
    """Refuse a plan whose nodes pass on what they receive: one that is late would make others late, too."""
    if plan.operation is not None and plan.operation.get("name") != "all-to-all":
        raise SpecError.at(
            "plan",
            f"in {plan.traffic}, a node that is late makes those late that wait for its data",
            "that is not simulated, so there is no study of late nodes for this plan",
        )


def with_channels(network: Network, plan: Plan) -> Network:
    """The network, with as many virtual channels as the plan needs.

    Raises
    ------
    SpecError
        The channels are for a router that counts other datelines.
    """
    if plan.channels is None:
        return network
    if network.channels < plan.channels:
        router = Router(**{**network.router.model_dump(), "channels": plan.channels})
        network = Network(network.topology, router)
    first = bytes(plan.first_channels())
    facts = _core.plan_dependencies(
        network.one_cycle(PLANS), plan.table, plan.directions(), network.channels, first
    )
    if facts["cycle"]:
        raise SpecError.at(
            "plan.channels",
            "packets can wait for each other where a router counts "
            f"datelines = {network.router.datelines!r}: {circle(facts['cycle'])}",
            "make them for this router, plan.separated(network)",
        )
    return network


def study_jitter(
    network: Network | str | Path,
    plan: Plan,
    jitter: int,
    trials: int = 100,
    seed: int = 1,
    *,
    separate: bool = False,
    lead: int = 0,
) -> JitterStudy:
    """Simulate a plan, and its packets sent in unison, with nodes that are late.

    Parameters
    ----------
    network : Network, str or path
        The network; now its buffers, channels and arbitration matter.
    plan : Plan
        The plan; all starts of a node are late by the same delay.
    jitter : int
        Largest delay in cycles.
    trials : int
        Simulations, each with its own delays.
    seed : int
        Seed of the delays.
    separate : bool
        Virtual channels that keep late nodes from a deadlock (`Plan.separated`), as many as that takes.
    lead : int
        Cycles by which nodes, expecting to be late, aim before their planned starts (but not before 0).

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(8, 8))
    >>> plan = fl.plans.search(net, fl.Collective("trns"))
    >>> fl.plans.study_jitter(net, plan, jitter=0, trials=1).plan == [plan.duration]
    True
    """
    network = network_of(network)
    require_plan(plan)
    check_jitter(jitter, trials)
    check_seed(seed)
    require_whole("lead", lead, 0, LONGEST, "cycles")
    plan.require(network)
    require_independent(plan)
    if separate and plan.channels is None:
        plan = plan.separated(network)
    network = with_channels(network, plan)
    directions = plan.directions()
    channels = bytes(plan.first_channels() if plan.channels else [])
    unison = plan.table.copy()
    # Slices and messages of a node keep their order and leave back to back.
    unison[:, 3] = 0

    def together(delays: NDArray[np.int64]) -> _core.Workload:
        shifted = unison.copy()
        shifted[:, 3] = delays[shifted[:, 0]]
        return _core.plan_workload(network.one_cycle(PLANS), shifted, directions, channels, "plan")

    durations = [
        late_durations(network, late, jitter, trials, (seed, 0))
        for late in (lambda delays: plan.workload(network, delays, lead), together)
    ]
    return JitterStudy(jitter, *durations)
