"""``flitloom sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class Asked(Group):
    """The experiment, the grid, and where rows and finished simulations go."""

    spec: Annotated[Path, typer.Argument(help="The experiment, a TOML file.")]
    grid: Annotated[
        list[str],
        typer.Option(
            help="Values of a field: a list 4,8,16, a range 0.02:0.4:0.02 with its end, or names. May be "
            "repeated; all combinations are run.",
            metavar="FIELD=VALUES",
        ),
    ]
    out: Annotated[Path, typer.Option("--out", "-o", help="Rows of all simulations (.csv or .parquet).")]
    network: options.Switches = None
    preset: options.Preset = None
    settings: options.Changes = None
    seeds: Annotated[int, typer.Option(help="Simulations per combination, each with its own seed.")] = 1
    store: Annotated[
        Path | None,
        typer.Option(help="SQLite file of finished simulations. [default: that of --out, .sqlite]"),
    ] = None
    workers: options.Workers = None
    mpi: Annotated[
        bool, typer.Option("--mpi", help="On the ranks of mpiexec -n N python -m mpi4py.futures.")
    ] = False
    json: options.Json = False


@grouped
def command(*, asked: Asked) -> None:
    """Simulate an experiment over a grid of any of its fields; stop and resume at will.

    Every simulation has an id of all it depends on; finished ones are kept in the store and not run again.

    \b
    For example:
      flitloom sweep examples/load.toml --grid router.buffer=4,8 --grid traffic.rate=0.02:0.2:0.02 -o out.csv
      flitloom plot out.csv --x traffic.rate --y latency --by router.buffer -o out.png
    """
    perform("sweep", asked)
