"""``flitloom bench``."""

from __future__ import annotations

from pathlib import Path
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
    binary: Annotated[
        Path | None, typer.Option(help="BookSim2's program, as booksim2/src/booksim, for bench booksim.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure how fast flitloom is here, on one core, in CPU time.

    \b
    For example:
      flitloom bench
      flitloom bench booksim --binary booksim2/src/booksim
    """
    from flitloom.benchmarks import Context, run

    if not 0.001 <= seconds <= 3600:
        raise SpecError(f"--seconds {seconds:g}: must be 0.001 to 3600")
    if binary is not None and what != "booksim":
        raise SpecError.at("--binary", f"does not go with bench {what}", "leave it out, or run bench booksim")
    with screen.progress("benchmarks") as progress:
        rows = run(what, Context(seconds, everything, progress, binary))
    if json:
        screen.print_json(rows)
    else:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
