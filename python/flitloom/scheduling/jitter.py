"""What a plan is worth when the nodes do not start together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flitloom import _core
from flitloom.errors import DeadlockError, SpecError
from flitloom.network import Network
from flitloom.scheduling.plan import Plan
from flitloom.spec import Router


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

    def summary(self) -> dict[str, float | int]:
        """Means, extremes and deadlocks."""
        fields: dict[str, float | int] = {"jitter": self.jitter, "trials": len(self.plan)}
        for name, durations in (("plan", self.plan), ("unison", self.unison)):
            ended = [duration for duration in durations if duration >= 0]
            fields[f"{name}_mean"] = round(float(np.mean(ended)), 2) if ended else float("nan")
            fields[f"{name}_worst"] = max(ended, default=-1)
            fields[f"{name}_deadlocks"] = len(durations) - len(ended)
        return fields


def study_jitter(
    network: Network, plan: Plan, jitter: int, trials: int = 100, seed: int = 1, *, separate: bool = False
) -> JitterStudy:
    """Simulate a plan, and its packets sent in unison, with nodes that are late.

    Parameters
    ----------
    network : Network
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
        Twice the virtual channels, the upper half for packets that do not go in dimension order (YX), so
        that XY and YX packets never wait for each other in a circle.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(8, 8))
    >>> plan = fl.schedule(net, fl.Collective("trns"))
    >>> fl.study_jitter(net, plan, jitter=0, trials=1).plan == [plan.duration]
    True
    """
    if not 0 <= jitter <= 1 << 20:
        raise SpecError(f"jitter: {jitter} is out of range; it must be 0 to 2^20 cycles")
    if not 1 <= trials <= 1_000_000:
        raise SpecError(f"trials: {trials} is out of range; it must be 1 to 1000000")
    plan.require(network)
    directions = plan.directions()
    channels: list[int] = []
    if separate:
        usual = network.channels
        router = network.router.model_copy(update={"channels": 2 * usual})
        network = Network(network.topology, Router(**router.model_dump()))
        channels = [0 if list(route) == sorted(route) else usual for route in directions]
    unison = plan.table.copy()
    # Slices and messages of a node keep their order and leave back to back.
    unison[:, 3] = 0
    together = _core.plan_workload
    random = np.random.Generator(np.random.Philox(seed))
    results: tuple[list[int], list[int]] = ([], [])
    for _ in range(trials):
        delays = random.integers(0, jitter + 1, network.nodes)
        shifted = unison.copy()
        shifted[:, 3] += delays[shifted[:, 0]]
        workloads = (
            plan.workload(network, delays, channels),
            together(network._core, shifted, directions, bytes(channels)),
        )
        for durations, workload in zip(results, workloads, strict=True):
            try:
                raw = _core.simulate(network._core, workload, None, None, False, False, False)
                durations.append(int(raw["duration"]))
            except DeadlockError:
                durations.append(-1)
    return JitterStudy(jitter, *results)
