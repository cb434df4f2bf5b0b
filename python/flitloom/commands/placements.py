"""The part of ``check`` and ``recheck`` that deals with placements."""

from __future__ import annotations

from pathlib import Path

import typer

#: Bytes that hold the beginning of any placement.
HEAD = 4096


def is_placement(file: Path) -> bool:
    """Whether a file is a placement of ranks."""
    from flitloom.limits import TABLE_BYTES
    from flitloom.reading import opened

    if file.suffix != ".json" or not file.is_file():
        return False
    with opened(file, TABLE_BYTES) as source:
        return b'"flitloom placement' in source.start()[:HEAD]


def check_placement_file(file: Path, as_json: bool) -> None:
    """Check a placement, and end with exit code 1 if something does not hold."""
    from flitloom.commands import screen
    from flitloom.placing import check_placement

    report = check_placement(file)
    if as_json:
        screen.print_json({"passed": report.passed, "problem": report.problem, **report.facts})
    else:
        if report.passed:
            screen.print_fields({name.replace("_", " "): str(value) for name, value in report.facts.items()})
        else:
            screen.echo(f"problem  {report.problem}")
        screen.echo("passed" if report.passed else "FAILED")
    if not report.passed:
        raise typer.Exit(1)
