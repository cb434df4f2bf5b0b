"""A verb that takes several inputs: which one it is, whether all options apply, and what is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import options
from flitloom.commands.inputs.known import choose, refuse_others
from flitloom.errors import SpecError
from flitloom.ground import ranks


def use(
    verb: str, context: typer.Context, file: Path | None, asked: Any, overrules: Sequence[str] | None = None
) -> None:
    """Do what a verb does with its input.

    Parameters
    ----------
    verb : str
        Words of the verb.
    context : typer.Context
        The command line.
    file : path, optional
        The first argument.
    asked : object
        What the command line says, for the input's `Use.run`.
    overrules : sequence of str, optional
        Further arguments, NAME=VALUE, which not all inputs take.
    """
    written = options.typed(context) | ({"overrules": overrules[0]} if overrules else {})
    found = choose(verb, file, {name: context.params.get(name) for name in written})
    refuse_others(verb, found, written)
    does = found.uses[verb]
    if ranks.started() > 1 and not does.several_ranks:
        raise SpecError(f"{found.title} is not for several ranks (mpiexec); start one")
    does.run(asked)
