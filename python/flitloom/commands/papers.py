"""``flitloom papers``: published tables and figures, computed anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import screen
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, Json, Threads, grouped, shown
from flitloom.papers import find, identifiers

app = typer.Typer(
    help="Reproduce published tables and figures, with computed beside published values.\n\n"
    "Example: flitloom papers run cup-stacking-2022/table-2",
    no_args_is_help=True,
)


@app.command("list")
def list_(json_: Json = False) -> None:
    """List what can be reproduced.

    Example: flitloom papers list
    """
    entries = [{"identifier": name, "title": find(name).TITLE} for name in identifiers()]
    if json_:
        screen.echo(json.dumps(entries, indent=2))
        return
    width = max(len(entry["identifier"]) for entry in entries)
    for entry in entries:
        screen.echo(f"{entry['identifier']:{width}}  {entry['title']}")


class Asked(Group):
    """What is computed anew, and with what budget."""

    identifier: Annotated[
        str,
        typer.Argument(help="Which one, as 'flitloom papers list' names it; without /..., a whole paper."),
    ]
    json_: Json = False
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for pictures and data, e.g. figures. [default: .]"),
    ] = None
    threads: Threads = None
    seed: Annotated[int, shown("seed", default=False)] = 1
    searches: Annotated[
        int | None, typer.Option(min=1, max=1440, help="Genetic searches per value, at most. [default: 4]")
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Tables of searches: a column to compute, e.g. 'p=14 s=1'. May be repeated. [default: all]"
        ),
    ] = None
    quick: Annotated[
        bool | None, typer.Option("--quick/--full", help="A smaller budget, or the paper's.")
    ] = None


@app.command("run")
@grouped
def run(*, asked: Asked) -> None:
    """Compute a published table or figure anew, or a whole paper, with a page that shows all of it.

    \b
    For example:
      flitloom papers run cup-stacking-2022/table-2 --json
      flitloom papers run state-propagation-throttling-2015 --quick --out folder
    """
    perform("papers", asked)
