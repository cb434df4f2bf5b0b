"""``flitloom recheck``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import screen
from flitloom.errors import SpecError

#: The program; it imports nothing of flitloom.
PROGRAM = Path(__file__).parents[1] / "programs" / "recheck.py"


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Routing tables or a plan (.json), a folder of tables by destination, or a placement."
        ),
    ] = None,
    certificate: Annotated[Path | None, typer.Argument(help="Its certificate (.json).")] = None,
    rules: Annotated[
        str | None, typer.Option(help="Rules that the tables were checked with, e.g. angara.", metavar="NAME")
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print where the program is, to read it or run it alone.")
    ] = False,
) -> None:
    """Verify a certificate by a program that shares nothing with flitloom.

    Exit code 1 says that the certificate does not hold, or is not understood.

    \b
    For example:
      flitloom recheck tables.json certificate.json
      flitloom recheck out/ certificate.json
      flitloom recheck placement.json
    """
    from flitloom.commands.inputs.placement import is_placement
    from flitloom.placing.checking import PROGRAM as PLACEMENTS

    if program:
        screen.echo(str(PROGRAM))
        return
    if file is not None and certificate is None and is_placement(file):
        done = subprocess.run(
            [sys.executable, "-I", str(PLACEMENTS), str(file.absolute())], stdout=subprocess.PIPE, text=True
        )
        screen.echo(done.stdout.rstrip("\n"))
        raise typer.Exit(done.returncode)
    if file is None or certificate is None:
        raise SpecError.at("recheck", "name the tables or the plan, and the certificate")
    for place in (file, certificate):
        if not place.is_file() and not (place == file and place.is_dir()):
            raise SpecError(f"{place}: there is no such file")
    more = [] if rules is None else ["--rules", rules]
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), str(file.absolute()), str(certificate.absolute()), *more],
        stdout=subprocess.PIPE,
        text=True,
    )
    with screen.report():
        screen.echo(done.stdout.rstrip("\n"))
    raise typer.Exit(done.returncode)
