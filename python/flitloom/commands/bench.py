"""``flitloom bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError


def command(
    what: Annotated[str, typer.Argument(help="Which benchmark.", metavar="[NAME]")] = "network",
    seconds: Annotated[
        float, typer.Option(help="CPU time per measurement, in seconds; three are made.")
    ] = 0.5,
    everything: Annotated[
        bool, typer.Option("--all", help="Every engine, also where it has no goal.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Measure how fast flitloom is here, on one core, in CPU time.

    \b
    For example:
      flitloom bench
    """
    from flitloom.benchmarks import Context, run

    if not 0.001 <= seconds <= 3600:
        raise SpecError(f"--seconds {seconds:g}: must be 0.001 to 3600")
    with screen.progress("benchmarks") as progress:
        rows = run(what, Context(seconds, everything, progress))
    if json:
        screen.print_json(rows)
    else:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
