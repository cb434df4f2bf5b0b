"""``flitloom recheck``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError, show_file

#: The program; it imports nothing of flitloom, and says with exit code 2 that a file needs a certificate.
PROGRAM = Path(__file__).parents[1] / "programs" / "recheck.py"


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Tables, a plan or a placement (.json), a folder of tables, or an experiment (.toml)."
        ),
    ] = None,
    certificate: Annotated[Path | None, typer.Argument(help="Its certificate (.json).")] = None,
    rules: Annotated[
        str | None, typer.Option(help="Rules that the tables were checked with, e.g. angara.", metavar="NAME")
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print where the program is, to read it or run it alone.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Verify a certificate with an independent program.

    Exit code 1 says that the certificate does not hold, or is not understood.

    \b
    For example:
      flitloom recheck tables.json certificate.json
      flitloom recheck out/ certificate.json
      flitloom recheck experiment.toml certificate.json
      flitloom recheck plan.json
      flitloom recheck placement.json
    """
    if program:
        screen.echo(str(PROGRAM))
        return
    if file is None:
        raise SpecError.at("recheck", "name the tables, the plan or the placement")
    files = [file, *([] if certificate is None else [certificate])]
    for place in files:
        if not place.is_file() and not (place == file and place.is_dir()):
            raise SpecError(f"{place}: there is no such file")
    for place in files:
        if place.is_file() and place.suffix not in (".json", ".toml"):
            raise SpecError.at(
                show_file(place), "has no certificate in it", "give tables, a plan or a placement in JSON"
            )
    alone = len(files) == 1 and (file.is_dir() or file.suffix == ".toml")
    code = 2 if alone else _run(files, rules, as_json)
    if code == 2:
        raise SpecError.at(
            "recheck", f"{show_file(file)} has no certificate in it", "name its certificate, too"
        )
    raise typer.Exit(code)


def _run(files: list[Path], rules: str | None, as_json: bool) -> int:
    """Print what the program says of files, and give its exit code."""
    more = [*([] if rules is None else ["--rules", rules]), *(["--json"] if as_json else [])]
    words = [sys.executable, "-I", str(PROGRAM), *(str(file.absolute()) for file in files), *more]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if done.returncode != 2:
        with screen.report():
            if as_json:
                screen.print_json(json.loads(done.stdout) | {"file": str(files[0])})
            else:
                screen.echo(done.stdout.rstrip("\n"))
    return done.returncode
