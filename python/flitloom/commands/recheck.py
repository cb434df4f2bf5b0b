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
        typer.Argument(help="Tables or a plan (.json), a folder of tables by destination, or a placement."),
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
      flitloom recheck plan.json
      flitloom recheck placement.json
    """
    if program:
        screen.echo(str(PROGRAM))
        return
    if file is not None and certificate is None and (alone := _program_of(file)):
        raise typer.Exit(_run(alone, file))
    if file is None or certificate is None:
        raise SpecError.at("recheck", "name the tables or the plan, and the certificate")
    for place in (file, certificate):
        if not place.is_file() and not (place == file and place.is_dir()):
            raise SpecError(f"{place}: there is no such file")
    raise typer.Exit(_run(PROGRAM, file, certificate, rules=rules))


def _program_of(file: Path) -> Path | None:
    """What verifies a file that has its certificates in it."""
    from flitloom.commands.inputs import collective
    from flitloom.commands.inputs.placement import is_placement
    from flitloom.placing.checking import PROGRAM as PLACEMENTS

    if is_placement(file):
        return PLACEMENTS
    return PROGRAM.with_name("recheck_collective.py") if collective.sniff(file) else None


def _run(program: Path, *files: Path, rules: str | None = None) -> int:
    """Print what a program says of files, and give its exit code."""
    more = [] if rules is None else ["--rules", rules]
    words = [sys.executable, "-I", str(program), *(str(file.absolute()) for file in files), *more]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    with screen.report():
        screen.echo(done.stdout.rstrip("\n"))
    return done.returncode
