"""Methods of sending side by side: whole packets, slices at the best interval, slices by a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flitloom.networks.network import Network
from flitloom.plans.plan import Plan
from flitloom.run.result import Result
from flitloom.run.simulation import simulate
from flitloom.scheduling.search import schedule
from flitloom.scheduling.stacking import Stacking, stack
from flitloom.spec import Collective


@dataclass(frozen=True)
class Sliced:
    """A pattern sent by three methods.

    Attributes
    ----------
    whole : Result
        One packet per node, in unison.
    stacking : Stacking
        Durations by interval between slices.
    stacked : Result
        Slices in unison at the best interval.
    plan : Plan
        Slices of every node at its own time.
    scheduled : Result
        The simulation of the plan.
    """

    whole: Result
    stacking: Stacking
    stacked: Result
    plan: Plan
    scheduled: Result

    def row(self) -> dict[str, Any]:
        """Durations and bounds in cycles, and the gain of slices over whole packets."""
        return {
            "whole": self.whole.duration,
            "whole_bound": self.whole.lower_bound,
            "sliced": self.stacked.duration,
            "interval": self.stacking.interval,
            "gain": round(self.whole.duration / self.stacked.duration, 3),
            "sliced_bound": self.stacking.lower_bound,
            "scheduled": self.scheduled.duration,
            "scheduled_bound": self.plan.bound,
            "optimal": self.plan.optimal,
        }


def compare_sliced(
    network: Network, pattern: str, *, payload: int, slices: int, threads: int | None = None
) -> Sliced:
    """Send a pattern as whole packets, as slices in unison and as slices by a plan.

    Parameters
    ----------
    network : Network
        The network.
    pattern : str
        Name of the pattern.
    payload : int
        Payload per node, in flits.
    slices : int
        Slices of the payload.
    threads : int, optional
        Threads of the sweep of intervals; by default all cores.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = compare_sliced(fl.Network(fl.Torus(4, 4)), "shfl", payload=6, slices=2)
    >>> found.scheduled.duration <= found.stacked.duration
    True
    """
    stacking = stack(network, Collective(pattern, payload=payload, slices=slices), threads=threads)
    whole = simulate(network, Collective(pattern, payload=payload))
    stacked = simulate(network, stacking.best)
    plan = schedule(network, stacking.collective)
    return Sliced(whole, stacking, stacked, plan, simulate(network, plan))


@dataclass(frozen=True)
class Beside:
    """Methods of sending a collective that need no plan.

    Attributes
    ----------
    unison : Result
        Every node sends as soon as it can.
    stacked : Result
        Slices in unison at the best interval.
    """

    unison: Result
    stacked: Result

    def durations(self) -> dict[str, int]:
        """Durations by method, in cycles."""
        return {"unison": self.unison.duration, "stacked": self.stacked.duration}


def beside(network: Network, collective: Collective, *, seed: int = 1, link_time: bool = False) -> Beside:
    """Simulate a collective in unison and by the best simple stacking.

    Parameters
    ----------
    network : Network
        The network.
    collective : Collective
        What is sent.
    seed : int
        Seed of random patterns.
    link_time : bool
        Whether results can be drawn as link-time charts.

    Examples
    --------
    >>> import flitloom as fl
    >>> beside(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl")).durations()
    {'unison': 13, 'stacked': 13}
    """
    best = collective
    if collective.slices > 1:
        best = stack(network, collective, seed=seed).best
    return Beside(
        simulate(network, collective, seed=seed, link_time=link_time),
        simulate(network, best, seed=seed, link_time=link_time),
    )
