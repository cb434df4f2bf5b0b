"""A plan in rounds of a collective operation; it is simulated and shown part by part, as a plan in steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_hops import Hops, hop_by_hop, is_direct
from flitloom.collectives.rounds_plan import RoundsPlan, read_rounds
from flitloom.collectives.rounds_steps import shown_steps, to_steps
from flitloom.commands import options, screen
from flitloom.commands.check import Asked
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import CHECK, print_report
from flitloom.commands.inputs.input import Input
from flitloom.commands.options.simulation import Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import show_file
from flitloom.formats import format_of
from flitloom.formats.rounds import read_right_rounds
from flitloom.spec import Topology


def sniff(file: Path) -> bool:
    """Whether a file is such a plan."""
    form = format_of(file)
    return form is not None and form.name == "rounds"


def check(asked: Asked) -> None:
    """Replay the plan; exit code 1 if it is not what it claims."""
    judged = asked.judged
    assert asked.file is not None
    found = read_rounds(asked.file)
    fields = options.topology_fields(judged.torus, judged.mesh, None, judged.fail, judged.twist)
    if fields:
        collective.require_network(found.ground, Topology(**fields))
    with screen.progress(f"check of {show_file(asked.file)}", "rounds") as told:
        report = check_rounds(found, told)
    print_report(report, judged.as_json)


def simulate(asked: Simulated) -> None:
    """Run the plan on routers hop by hop, beside its time in the model."""
    assert asked.file is not None
    fields = asked.fields()
    plan = _read(asked.file)
    if "topology" in fields:
        collective.require_network(plan.ground, options.part(Topology, fields))
    collective.run(asked, _hops(plan), fields)


def view(asked: Viewed) -> None:
    """Show the plan part by part, in the steps in which links transfer them."""
    page = asked.page
    assert asked.file is not None
    plan = _read(asked.file)
    fields = options.topology_fields(page.torus, page.mesh, None, None, page.twist)
    if fields:
        collective.require_network(plan.ground, Topology(**fields))
    collective.show_steps(asked, to_steps(plan) if is_direct(plan) else shown_steps(_hops(plan)))


def _read(file: Path) -> RoundsPlan:
    with screen.progress(f"check of {show_file(file)}", "rounds") as told:
        return read_right_rounds(file, told)


def _hops(plan: RoundsPlan) -> Hops:
    with screen.progress("routes of chunks", "rounds") as told:
        return hop_by_hop(plan, told)


INPUT = Input(
    title="a plan in rounds of a collective operation",
    given="give one that ends in .json",
    sniff=sniff,
    uses={
        **collective.USES,
        "simulate": replace(collective.USES["simulate"], run=simulate),
        "view": replace(collective.USES["view"], run=view),
        "check": replace(CHECK, run=check),
    },
)
