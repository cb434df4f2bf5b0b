"""What checks of several inputs have in common: options that do not apply, plans of collective operations."""

from __future__ import annotations

from typing import Any

import typer

from flitloom.commands import screen
from flitloom.commands.actions.grids import ground_of_options
from flitloom.commands.check import Asked, Judged
from flitloom.commands.inputs.input import Refusal, Use, names_of
from flitloom.errors import show_file
from flitloom.formats import check
from flitloom.ground.claims import Claims

#: Options of checks but those of a fabric.
TAKES = names_of(Judged)
#: What is said of these.
OF_FABRICS = (
    Refusal.plain(names_of("nodes", "hca"), "{option} belongs to --fabric"),
    Refusal.plain(
        names_of("lft", "fdbs", "path_sl", "slvl", "lanes"), "{option} belongs to --fabric or --torus --twist"
    ),
)
#: What plans of collective operations have none of.
OF_PACKETS = Refusal.plain(
    names_of("rules", "certificate"), "{option} belongs to plans of packets and to routing tables"
)


def print_report(report: dict[str, Any], as_json: bool) -> None:
    """Print what a check of a plan of a collective operation found; exit code 1 if anything is wrong."""
    with screen.report():
        if as_json:
            screen.print_json(report)
        else:
            rows = {
                name: report[name] for name in report if name not in ("problems", "passed", "not_verified")
            }
            left = Claims(not_verified=report.get("not_verified", {}))
            screen.print_fields({**rows, **dict(left.lines())})
            for line in report["problems"]:
                screen.echo(f"  {line}")
            screen.echo("valid" if report["passed"] else "NOT VALID")
    if not report["passed"]:
        raise typer.Exit(1)


def check_operation(asked: Asked) -> None:
    """Check a plan of a collective operation in a third-party format, with a network also its links."""
    judged = asked.judged
    assert asked.file is not None
    ground = ground_of_options(judged.torus, judged.mesh, judged.fail, judged.twist)
    with screen.progress(f"check of {show_file(asked.file)}", "steps") as told:
        report = check(asked.file, ground, told)
    print_report(report, judged.as_json)


#: The check of plans of collective operations.
CHECK = Use(check_operation, TAKES - OF_PACKETS.names, (*OF_FABRICS, OF_PACKETS))
