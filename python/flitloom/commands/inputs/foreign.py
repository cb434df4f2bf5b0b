"""A plan of a collective operation in a third-party format."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.actions.grids import ground_of_options
from flitloom.commands.check import Asked
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import OF_FABRICS, OF_PACKETS, TAKES, print_report
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Use
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError, show_file
from flitloom.formats import check as check_file
from flitloom.formats import format_of


def sniff(file: Path) -> bool:
    """Whether a file is such a plan."""
    form = format_of(file)
    return form is not None and form.name != "plan" and form.read_plan is not None


def simulate(asked: Simulated) -> None:
    """Say what can be simulated instead.

    Raises
    ------
    SpecError
        Always.
    """
    assert asked.file is not None
    name = show_file(asked.file)
    raise SpecError.at(
        name,
        "is a plan in a third-party format",
        f"flitloom convert {name} plan.json makes one that can be simulated",
    )


def check(asked: Asked) -> None:
    """Check the plan, with a network also its links; exit code 1 if it is wrong."""
    judged = asked.judged
    assert asked.file is not None
    ground = ground_of_options(judged.torus, judged.mesh, judged.fail, judged.twist)
    print_report(check_file(asked.file, ground), judged.as_json)


INPUT = Input(
    title="a plan in a third-party format",
    given="give one that ends in .xml or .json",
    sniff=sniff,
    uses={
        "simulate": Use(simulate),
        "check": Use(check, TAKES - OF_PACKETS.names, (*OF_FABRICS, OF_PACKETS)),
        "view": Use(collective.view),
        "convert": Use(convert),
    },
)
