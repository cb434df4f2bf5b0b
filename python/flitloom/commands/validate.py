"""``flitloom validate``: what flitloom says compared with other programs and long runs, on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.commands.actions import perform
from flitloom.errors import SpecError, show_file

app = typer.Typer(
    help="Compare results with another simulator or with long runs, on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Compare results with another simulator or with long runs, on this machine."""


@app.command()
def load(
    cases: Annotated[int, typer.Option(help="Cases that are drawn.", min=1, max=100_000)] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the drawing.")] = 0,
    known: Annotated[
        bool, typer.Option("--known", help="Compare with 15 limits that another program measured instead.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Find the saturations of drawn networks, and compare loads near them with long runs.

    A load that is called steady must be accepted from every source in a run ten times as long. A load 2 %
    beyond the saturation must not be called steady.

    \b
    For example:
      flitloom validate load --cases 200 --seed 1
      flitloom validate load --known
    """
    perform("validate_load", cases, seed, known, json)


@app.command()
def doors(json: options.Json = False) -> None:
    """Give every kind of input to every verb, and print which answer, which refuse, and which do so badly.

    A refusal is one message that names the input or its field, and exit code 2. What --network names is
    answered as the shortest form of the same network.

    \b
    For example:
      flitloom validate doors
    """
    perform("validate_doors", json)


@app.command()
def booksim(
    files: Annotated[list[Path] | None, typer.Argument(help="Files of BookSim2, beside those drawn.")] = None,
    binary: Annotated[
        Path | None, typer.Option(help="BookSim2's program, e.g. booksim2/src/booksim.")
    ] = None,
    configs: Annotated[int, typer.Option(help="Configurations that are drawn.", min=0)] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the drawing.")] = 0,
    json: options.Json = False,
) -> None:
    """Run BookSim2 and flitloom on the same configurations, and compare every line of statistics.

    \b
    For example:
      flitloom validate booksim --binary booksim2/src/booksim --configs 50
      flitloom validate booksim mesh.cfg torus.cfg --binary booksim2/src/booksim --configs 0
    """
    from flitloom.booksim.comparing import DIFFERENT, ENDED, EQUAL, REFUSED, check_binary, compare
    from flitloom.booksim.drawing import draw
    from flitloom.booksim.options import read

    if binary is None:
        raise SpecError.at("--binary", "is missing", "give the program that BookSim2's make built")
    check_binary(binary)
    cases = [(show_file(file), read(file)) for file in files or []]
    found = []
    with screen.progress("configurations") as told, tempfile.TemporaryDirectory() as folder:
        cases += [(f"drawn {number}", draw(number, seed, Path(folder))) for number in range(configs)]
        for number, (name, case) in enumerate(cases):
            found.append((name, compare(binary, case)))
            told(number + 1, len(cases))
    if json:
        screen.print_json([{"configuration": name, **one.fields()} for name, one in found])
    else:
        for name, one in found:
            if one.verdict != EQUAL:
                screen.echo(f"{name}: {one.verdict}: {one.detail}")
        equal = [one for _, one in found if one.verdict == EQUAL]
        packets, lines = sum(one.packets for one in equal), sum(one.lines for one in equal)
        screen.echo(
            f"equal: {len(equal)} of {len(found)}, {packets:,} packets, {lines:,} lines of statistics"
        )
        counts = {what: sum(one.verdict == what for _, one in found) for what in (DIFFERENT, REFUSED, ENDED)}
        screen.echo(", ".join(f"{what}: {count}" for what, count in counts.items()))
        theirs, ours = sum(one.theirs for one in equal), sum(one.seconds for one in equal)
        screen.say(f"user CPU time of the equal ones: BookSim2 {theirs:.2f} s, flitloom {ours:.2f} s")
    if any(one.verdict == DIFFERENT for _, one in found):
        raise typer.Exit(1)
