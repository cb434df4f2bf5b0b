"""Options that do not apply, and files that cannot be written, are refused before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from flitloom.errors import SpecError
from flitloom.ground.extras import check_picture
from flitloom.ground.outputs import check_output


def typed(context: typer.Context) -> dict[str, str]:
    """The options on the command line: names of parameters, and how they are written there."""
    line = {word.partition("=")[0] for word in context.obj or () if word.startswith("--")}
    return {
        parameter.name: next((name for name in parameter.opts if name in line), max(parameter.opts, key=len))
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


def check_files(
    out: Path | None = None,
    endings: tuple[str, ...] = (),
    picture: Path | None = None,
    html: Path | None = None,
) -> None:
    """Refuse what cannot be written: ``--out`` with one of the endings, ``--picture`` and ``--html``.

    Raises
    ------
    SpecError
        One of them cannot.
    """
    if out is not None:
        check_output(out, endings, "--out")
    if picture is not None:
        check_picture(picture, "--picture")
    if html is not None:
        check_output(html, (".html",), "--html")
