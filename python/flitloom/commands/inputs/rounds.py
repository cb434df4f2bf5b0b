"""A plan in rounds of a collective operation; it is simulated and shown part by part, as a plan in steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import read_rounds
from flitloom.commands import options
from flitloom.commands.check import Asked
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import CHECK, print_report
from flitloom.commands.inputs.input import Input
from flitloom.formats import format_of
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
    print_report(check_rounds(found), judged.as_json)


INPUT = Input(
    title="a plan in rounds of a collective operation",
    given="give one that ends in .json",
    sniff=sniff,
    uses={**collective.USES, "check": replace(CHECK, run=check)},
)
