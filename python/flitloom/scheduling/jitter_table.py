"""Ways of sending side by side, when nodes are late: the mean over several patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.networks.network import Network
from flitloom.plans.plan import Plan
from flitloom.scheduling.guards import EXTRAS, GUARDS, REACHES, best_plan, leads_for, mean_duration, spread
from flitloom.scheduling.jitter import Late, check_jitter, late_durations
from flitloom.scheduling.search import schedule
from flitloom.scheduling.stacking import stack
from flitloom.spec import Collective

#: Largest delays of the usual table, in cycles.
JITTERS = (0, 1, 2, 4, 8, 16)


@dataclass(frozen=True)
class JitterTable:
    """Mean durations by way of sending and largest delay.

    Attributes
    ----------
    jitters : tuple of int
        Largest delays, in cycles: the columns.
    means : dict of str to list of float
        Rows, each a mean over the patterns and trials for every delay, in cycles; infinite if a trial
        ended in a deadlock.
    chosen : list of dict
        Per pattern and delay, the uniform guard, the extra cycles spent on spreading spare time, and the
        cycles by which nodes aim early, that were best in the trials they were chosen by.
    """

    jitters: tuple[int, ...]
    means: dict[str, list[float]]
    chosen: list[dict[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        """The table, a row per way of sending; ``None`` where a trial ended in a deadlock."""
        return [
            {"method": name}
            | {
                f"J={jitter}": None if mean == float("inf") else round(mean, 1)
                for jitter, mean in zip(self.jitters, means, strict=True)
            }
            for name, means in self.means.items()
        ]


def jitter_table(
    network: Network,
    collectives: Sequence[Collective],
    jitters: Sequence[int] = JITTERS,
    *,
    guards: Sequence[int] = GUARDS,
    extras: Sequence[int] = EXTRAS,
    trials: int = 30,
    seed: int = 1,
    routes: str = "dor",
    separate: bool = False,
    moves: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> JitterTable:
    """Compare unison, stacked and exact sending, without guards and with, when nodes are late.

    "best guard" is the best uniform guard, "spread" the schedule with spare time where links have it (or
    without, where that was better), "auto" the better of both, with nodes that aim before their planned
    starts by 0 to J cycles. Each is chosen per pattern and delay by 20 separate trials; what the table
    shows are other trials, the same for all rows.

    Parameters
    ----------
    network : Network
        The network with its router.
    collectives : sequence of Collective
        What is sent, usually one per pattern; the rows are means over them.
    jitters : sequence of int
        Largest delays of a node in cycles; every node is late by a uniform number of cycles.
    guards, extras
        As in `guarded_plans`.
    trials, seed : int
        Simulations per entry and collective, and the seed of everything.
    routes : str
        As in `schedule`.
    separate : bool
        Virtual channels that keep late nodes from a deadlock, for the planned rows.
    moves : int, optional
        As in `schedule`.
    progress : callable, optional
        Called with the number of parts done and of all.
    """
    if not collectives or not jitters:
        raise SpecError.at("jitter", "at least one pattern and one delay are needed")
    for jitter in jitters:
        check_jitter(jitter, trials)
    search: dict[str, Any] = {"routes": routes} if moves is None else {"routes": routes, "moves": moves}
    sums: dict[str, list[float]] = {}
    chosen = []
    done = 0
    for collective in collectives:
        plans = _plans(network, collective, {0, *guards}, seed, separate, search)
        for column, jitter in enumerate(jitters):
            entries = _entries(network, collective, jitter, trials, seed)
            wide = [plans[0]]
            if jitter:
                wide += [
                    spread(plans[0], jitter, extra, reach=reach, seed=seed)
                    for extra in extras
                    for reach in REACHES
                ]
            more, choice = _planned_entries(network, plans, wide, jitter, trials, seed)
            chosen.append({"pattern": collective.pattern or "given", "jitter": jitter, **choice})
            for name, mean in {**entries, **more}.items():
                sums.setdefault(name, [0.0] * len(jitters))[column] += mean / len(collectives)
            done += 1
            if progress is not None:
                progress(done, len(collectives) * len(jitters))
    return JitterTable(tuple(jitters), sums, chosen)


def _plans(
    network: Network,
    collective: Collective,
    guards: set[int],
    seed: int,
    separate: bool,
    search: dict[str, Any],
) -> dict[int, Plan]:
    """A plan for every guard."""
    plans = {guard: schedule(network, collective, guard=guard, seed=seed, **search) for guard in guards}
    if not all(plan.reproducible for plan in plans.values()):
        raise KeyboardInterrupt
    return {guard: plan.separated(network) for guard, plan in plans.items()} if separate else plans


def _planned_entries(
    network: Network, plans: dict[int, Plan], wide: list[Plan], jitter: int, trials: int, seed: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Means of the planned rows, and which plans were chosen for them."""

    def measure(plan: Plan, lead: int = 0) -> float:
        return mean_duration(network, plan, jitter, trials, (seed, 0), lead)

    entries = {"exact": measure(plans[0])}
    entries |= {f"guard {guard}": measure(plans[guard]) for guard in sorted(plans) if guard}
    uniform, _ = best_plan(network, list(plans.values()), jitter, seed)
    entries["best guard"] = entries["exact" if not uniform.guard else f"guard {uniform.guard}"]
    best, _ = best_plan(network, wide, jitter, seed)
    entries["spread"] = measure(best)
    auto, lead = best_plan(network, [uniform, best], jitter, seed, leads=[0, *leads_for(jitter)])
    entries["auto"] = measure(auto, lead)
    extra = best.duration - plans[0].duration if best.spread else None
    return entries, {"guard": uniform.guard, "extra": extra, "lead": lead}


def _entries(
    network: Network, collective: Collective, jitter: int, trials: int, seed: int
) -> dict[str, float]:
    """Unison and, of several slices, the best simple stacking."""
    ways = {"unison": collective.model_copy(update={"interval": 0, "delays": ()})}
    if collective.slices > 1:
        ways["stacked"] = stack(network, ways["unison"], seed=seed).best

    def late(way: Collective) -> Late:
        def make(delays: NDArray[np.int64]) -> _core.Workload:
            return way.model_copy(update={"delays": tuple(delays.tolist())}).workload(network, seed)

        return make

    means = {}
    for name, way in ways.items():
        durations = late_durations(network, late(way), jitter, trials, (seed, 0))
        means[name] = float("inf") if min(durations) < 0 else float(np.mean(durations))
    return means
