"""Plans beside other methods of sending."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from flitloom.errors import UnreachableError
from flitloom.ground.numerals import counted
from flitloom.networks.network import Network, network_of
from flitloom.plans.plan import Plan
from flitloom.plans.proofs import messages_of
from flitloom.scheduling.stacking import stack
from flitloom.spec import Collective, Packets
from flitloom.view.films import Film, film


def plan_title(plan: Plan) -> str:
    """What a plan's page is called.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan_title(fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl")))
    'shfl, payload 7 on 4x4 torus'
    """
    return f"{plan.traffic} on {plan.network().topology}"


def plan_films(
    network: Network | str | Path, plan: Plan, before: Collective | None = None, seed: int = 1
) -> list[Film]:
    """A plan beside sending in unison, and beside the best simple stacking where that is another.

    Parameters
    ----------
    network : Network, str or path
        The network, or what names it.
    plan : Plan
        The plan.
    before : Collective, optional
        What was planned; without it the messages of the plan are sent in unison.
    seed : int
        Seed of random patterns.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Torus(4, 4))
    >>> [one.title for one in plan_films(network, fl.plans.search(network, fl.Collective("shfl")))]
    ['unison', 'planned, proven optimal']
    """
    network, shown = network_of(network), []
    # Among the nodes that work, only the plan's own messages are sent.
    if before is not None and not network.topology.failed_nodes:
        shown.append(film(network, before, "unison", seed=seed))
        if before.slices > 1:
            best = stack(network, before, seed=seed).best
            shown.append(
                film(network, best, f"stacked, a slice every {counted(best.interval, 'cycle')}", seed=seed)
            )
    elif plan.operation is None:
        table = [
            (source, destination, length, 0, number)
            for source, destination, length, slices in messages_of(plan).tolist()
            for number in range(slices)
        ]
        # Dimension order may lead over failed parts, around which the plan goes.
        with suppress(UnreachableError):
            shown.append(film(network, Packets(table=table), "unison", seed=seed))
    proof = "proven optimal" if plan.optimal else f"bound {plan.bound}"
    facts = {
        "planned duration": counted(plan.duration, "cycle"),
        "bound of the schedule": counted(plan.bound, "cycle"),
    }
    shown.append(film(network, plan, f"planned, {proof}", facts=facts))
    return shown
