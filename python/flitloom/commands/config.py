"""``flitloom config``: how the command line behaves here, and why."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError, unknown
from flitloom.ground import settings
from flitloom.ground.outputs import check_output, write_text

app = typer.Typer(
    help="Show how the command line behaves here, and why.\n\nExample: flitloom config show",
    no_args_is_help=True,
)


@app.callback()
def _several() -> None:
    """Keep verbs of one group apart."""


@app.command("schema")
def schema(
    file: Annotated[
        str,
        typer.Argument(
            help="experiment, campaign, or output- and a command: what that prints with --json, e.g. "
            "output-load-curve."
        ),
    ] = "experiment",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it to this file (.json). [default: the screen]")
    ] = None,
) -> None:
    """Print the JSON schema of a kind of file, for editors that complete and check fields, or of an output.

    A file names its schema in its first line: "#:schema schemas/experiment.json".

    Example: flitloom config schema experiment -o experiment.json
    """
    from flitloom.commands.actions import schemas
    from flitloom.spec import answer_schemas as answers

    outputs = tuple(answers.PREFIX + name for name in answers.ANSWERS)
    if file not in (*schemas.FILES, *outputs):
        raise SpecError(f"config schema: {unknown(file, (*schemas.FILES, *outputs))}")
    found = (
        schemas.schema(file)
        if file in schemas.FILES
        else answers.answer_schema(file.removeprefix(answers.PREFIX))
    )
    if out is not None:
        check_output(out, (".json",), "--out")
        write_text(out, dumps(found, indent=2) + "\n")
        return
    screen.print_json(found)


@app.command("show")
def show(json: options.Json = False) -> None:
    """Print every setting, its value and its source.

    The first of these that says something decides: an option, a variable of the environment, the user's
    file, the default. Settings never change a result.

    Example: flitloom config show
    """
    chosen = settings.chosen()
    rows = [
        {
            "setting": name,
            "value": chosen[name].value,
            "from": chosen[name].source,
            "variable": settings.variable(name),
            "summary": setting.summary,
        }
        for name, setting in settings.SETTINGS.items()
    ]
    place = settings.file()
    if json:
        screen.print_json({"file": str(place), "file_exists": place.exists(), "settings": rows})
        return
    screen.echo(f"file: {place}" + ("" if place.exists() else " (there is none)"))
    columns = ("setting", "value", "from", "variable", "summary")
    screen.print_table(columns, [[row[column] for column in columns] for row in rows])
