"""Plans as ``flitloom schedule`` makes them: over the routes known to be best, or for late nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from flitloom.errors import SpecError
from flitloom.ground import provenance
from flitloom.networks.network import Network
from flitloom.plans.operation import Operation
from flitloom.plans.plan import Plan
from flitloom.scheduling.guards import guarded_plans
from flitloom.scheduling.search import STAIRCASE, schedule
from flitloom.spec.any_traffic import PlannedTraffic

Sendable = PlannedTraffic | Operation


@dataclass(frozen=True)
class Planned:
    """A plan that was searched for.

    Attributes
    ----------
    plan : Plan
        The plan.
    seconds : float
        Time of the search.
    is_for_late_nodes : bool
        Whether it was chosen among plans by trials with late nodes.
    mean : float, optional
        Its mean duration in these, in cycles; none if one ended in a deadlock.
    lead : int
        Cycles by which nodes aim before their planned starts.
    """

    plan: Plan
    seconds: float = 0.0
    is_for_late_nodes: bool = False
    mean: float | None = None
    lead: int = 0

    def after(self, seconds: float) -> Planned:
        """The same with the time of the search."""
        return replace(self, seconds=seconds)

    def facts(self, simulated: int | None = None) -> dict[str, Any]:
        """Everything there is to say, by name; `simulated` is the duration in the engine, in cycles."""
        plan = self.plan
        late = {"guard": plan.guard, "spread": plan.spread, "lead": self.lead, "late": self.mean}
        return {
            "duration": plan.duration,
            "simulated": simulated,
            "bound": plan.bound,
            "gap": round(plan.duration / plan.bound - 1, 4) if plan.bound else 0.0,
            "bound_proof": plan.bound_proof if plan.rests_on_cp_sat else "filter",
            "optimal": plan.optimal,
            "optimal_of": premises(plan),
            "seconds": round(self.seconds, 2),
            "packets": len(plan.packets),
            "routes": plan.routes,
            "reproducible": plan.reproducible,
            **(late if self.is_for_late_nodes else {}),
            "algorithm_bound": plan.algorithm_bound,
            "channels": plan.channels,
            "version": provenance.version(),
        }


def premises(plan: Plan) -> str:
    """Among which plans the bound and optimality are meant.

    Examples
    --------
    >>> import flitloom as fl
    >>> premises(fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"), "greedy"))
    'these messages and dor routes'
    """
    order = "" if plan.operation is None else " in this order"
    return f"these messages{order} and {plan.routes} routes"


def best_known(network: Network, traffic: Sendable, **search: Any) -> Plan:
    """The plan over the routes that are known to be best: staircases for all-to-all where there are any.

    Parameters
    ----------
    network : Network
        The network.
    traffic : Collective, Packets, TrafficMatrix or Operation
        What is sent.
    **search : object
        Other parameters of `schedule`, by name.
    """
    kept = ("guard", "as_one", "free_slices", "interval", "cp_sat_seconds")
    all_to_all = isinstance(traffic, Operation) and traffic.name == "all-to-all" and traffic.nodes is None
    plain = search.get("routes") is None and search.get("method", "exact") == "exact"
    if all_to_all and plain and not any(search.get(name) for name in kept):
        # Sizes without such routes are refused before anything is searched.
        with suppress(SpecError):
            return schedule(network, traffic, **{**search, "routes": STAIRCASE})
    return schedule(network, traffic, **search)


def guarded(
    network: Network,
    traffic: Sendable,
    jitter: int,
    *,
    separate: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **search: Any,
) -> Planned:
    """The best plan for nodes that are late by 0 to `jitter` cycles, among those of `guarded_plans`."""
    best = guarded_plans(network, traffic, jitter, separate=separate, progress=progress, **search)[0]
    mean = best.mean if math.isfinite(best.mean) else None
    return Planned(best.plan, is_for_late_nodes=True, mean=mean, lead=best.lead)
