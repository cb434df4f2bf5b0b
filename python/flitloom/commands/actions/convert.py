"""What ``flitloom convert`` does before it is known what is converted."""

from __future__ import annotations

import typer

from flitloom.commands import inputs
from flitloom.commands.convert import Asked


def run(context: typer.Context, asked: Asked) -> None:
    """Convert the input."""
    inputs.use("convert", context, asked.source, asked)
