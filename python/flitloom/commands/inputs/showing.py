"""Pages of what a file says, and the totals of what they show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.commands import screen
from flitloom.commands.view import Asked
from flitloom.network import Network
from flitloom.plans.plan import Plan
from flitloom.plans.proofs import messages_of
from flitloom.routing.tables import Tables
from flitloom.spec import Collective, Experiment, Packets
from flitloom.stacking import stack
from flitloom.view import Film, Loads, film, write_page
from flitloom.view.page import Shown


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


def film_of_experiment(spec: Experiment, stop_at: int | None = None) -> Film:
    """The simulation of an experiment, up to a cycle or as it says itself."""
    return film(
        Network(spec.topology, spec.router),
        spec.traffic,
        seed=spec.seed,
        stop_at=spec.stop_at if stop_at is None else stop_at,
        cycle_limit=spec.cycle_limit,
        throttle=spec.throttle,
    )


def show(asked: Asked, shown: Sequence[Shown], title: str | None = None) -> None:
    """Print the totals of what a page shows, and write it."""
    print_totals(shown, asked.page.as_json)
    write_page(shown, asked.page.out, title)


def print_totals(shown: Sequence[Shown], as_json: bool) -> None:
    """Print the totals of what a page shows; of several parts beside each other."""
    facts = [part.all_facts() for part in shown]
    if as_json:
        screen.print_json([{"title": part.title, **one} for part, one in zip(shown, facts, strict=True)])
    elif len(shown) == 1:
        screen.print_fields(facts[0])
    else:
        names = list(dict.fromkeys(name for one in facts for name in one))
        rows: list[list[Any]] = [[name, *(one.get(name, "-") for one in facts)] for name in names]
        screen.print_table(["", *(part.title for part in shown)], rows)
