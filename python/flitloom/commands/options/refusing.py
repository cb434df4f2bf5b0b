"""Options that do not apply: which of them stand on the command line, and one message for each."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from flitloom.errors import SpecError


def typed(context: typer.Context) -> dict[str, str]:
    """The options on the command line: names of parameters, and how they are written."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.opts[-1].startswith("-")
        and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    }


def refuse(context: typer.Context, names: Sequence[str], reason: str) -> None:
    """Refuse options that would be ignored: "--length belongs to --matrix".

    Raises
    ------
    SpecError
        One of the parameters stands on the command line.
    """
    there = typed(context)
    for name in names:
        if name in there:
            raise SpecError(f"{there[name]} {reason}")
