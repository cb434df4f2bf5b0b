"""A plan in rounds of a collective operation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import read_rounds
from flitloom.commands import options
from flitloom.commands.check import Asked
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import CHECK, print_report
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW
from flitloom.commands.options.simulation import Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError
from flitloom.formats import format_of, read_plan
from flitloom.spec import Topology

_TITLE = "a plan in rounds of a collective operation"


def sniff(file: Path) -> bool:
    """Whether a file is such a plan."""
    form = format_of(file)
    return form is not None and form.name == "rounds"


def simulate(asked: Simulated) -> None:
    """Run the plan, part by part, on routers."""
    assert asked.file is not None
    fields = asked.fields()
    plan = read_plan(asked.file)
    if "topology" in fields:
        collective.require_network(plan, options.part(Topology, fields))
    collective.run(asked, plan, fields)


def check(asked: Asked) -> None:
    """Replay the plan; exit code 1 if it is not what it claims."""
    judged = asked.judged
    assert asked.file is not None
    found = read_rounds(asked.file)
    fields = options.topology_fields(judged.torus, judged.mesh, None, judged.fail, judged.twist)
    if fields and not found.ground.routers.is_as(Topology(**fields)):
        raise SpecError.at(
            "plan.topology", f"the plan is for a {found.ground}, not for a {Topology(**fields)}"
        )
    print_report(check_rounds(found), judged.as_json)


def view(asked: Viewed) -> None:
    """Show the plan part by part."""
    assert asked.file is not None
    page = asked.page
    plan = read_plan(asked.file)
    fields = options.topology_fields(page.torus, page.mesh, None, None, page.twist)
    if fields:
        collective.require_network(plan, Topology(**fields))
    collective.show_steps(asked, plan)


INPUT = Input(
    title=_TITLE,
    given="give one that ends in .json",
    sniff=sniff,
    uses={
        "simulate": Use(simulate, collective.TAKES, collective.REFUSALS),
        "check": replace(CHECK, run=check),
        "view": Use(view, names_of("out", "stop_at", "torus", "mesh", "twist", "as_json"), (NOT_ANEW,)),
        "convert": Use(
            convert,
            names_of("loader", "chunk_bytes", "as_collective"),
            (
                Refusal(
                    names_of("torus", "mesh", "twist", "fail"),
                    "{option}",
                    "the plan names its network",
                    "leave it out",
                ),
            ),
        ),
    },
)
