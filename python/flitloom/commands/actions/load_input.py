"""What ``flitloom load curve`` does before it is known what is measured."""

from __future__ import annotations

import typer

from flitloom.commands import inputs
from flitloom.commands.load_curve import Asked


def run(context: typer.Context, asked: Asked) -> None:
    """Measure the input."""
    more = {"overrules": asked.overrules[0]} if asked.overrules else {}
    inputs.use("load curve", context, asked.measured.compared.spec, asked, more)
