"""Pages of plans and tables."""

from __future__ import annotations

from pathlib import Path

from flitloom.network import Network
from flitloom.plans.plan import Plan
from flitloom.plans.proofs import messages_of
from flitloom.routing.tables import Tables
from flitloom.spec import Collective, Packets
from flitloom.stacking import stack
from flitloom.view import Film, Loads, film, write_page


def plan_title(plan: Plan) -> str:
    """What a plan's page is called."""
    return f"{plan.traffic} on {plan.network().topology}"


def plan_films(network: Network, plan: Plan, before: Collective | None = None, seed: int = 1) -> list[Film]:
    """A plan beside sending in unison, and beside the best simple stacking where that is another."""
    shown = []
    if before is not None:
        shown.append(film(network, before, "unison", seed=seed))
        if before.slices > 1:
            best = stack(network, before, seed=seed).best
            shown.append(film(network, best, f"stacked, a slice every {best.interval} cycles", seed=seed))
    elif plan.operation is None:
        table = [
            (source, destination, length, 0, number)
            for source, destination, length, slices in messages_of(plan).tolist()
            for number in range(slices)
        ]
        shown.append(film(network, Packets(table=table), "unison", seed=seed))
    proof = "proven optimal" if plan.optimal else f"bound {plan.bound}"
    facts = {"planned duration": f"{plan.duration} cycles", "bound of the schedule": f"{plan.bound} cycles"}
    shown.append(film(network, plan, f"planned, {proof}", facts=facts))
    return shown


def write_tables_page(made: list[Tables], file: Path) -> None:
    """Tables of one network side by side, against their best bound."""
    bound = max(tables.bound for tables in made)
    write_page([Loads(tables, bound) for tables in made], file, f"Routing tables of the {made[0].topology}")
