"""A plan of a collective operation in a third-party format."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import CHECK
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Use
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError, show_file
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


INPUT = Input(
    title="a plan in a third-party format",
    given="give one that ends in .xml or .json",
    sniff=sniff,
    uses={
        "simulate": Use(simulate),
        "check": CHECK,
        "view": Use(collective.view),
        "convert": Use(convert),
    },
)
