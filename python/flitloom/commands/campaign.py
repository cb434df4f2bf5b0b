"""``flitloom campaign``: many genetic searches, stopped and resumed at will."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands.actions import perform
from flitloom.commands.options import GridNetwork, Group, Json, Preset, Workers, grouped

app = typer.Typer(
    help="Run many genetic searches over combinations of parameters; stop and resume at will.\n\n"
    "Example: flitloom campaign run examples/campaigns/small.toml",
    no_args_is_help=True,
)


class Searches(Group):
    """The campaign, and where its finished searches are."""

    file: Annotated[Path, typer.Argument(help="The campaign, a TOML file.")]
    store: Annotated[
        Path | None, typer.Option("--store", help="SQLite file of finished searches. [default: FILE.sqlite]")
    ] = None
    preset: Preset = None
    network: GridNetwork = None


@app.command("run")
@grouped
def run(
    *,
    searches: Searches,
    workers: Workers = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Number of searches to run, the first ones, e.g. 10.")
    ] = None,
) -> None:
    """Run what is not finished yet; after Ctrl-C everything finished is kept.

    Example: flitloom campaign run examples/campaigns/small.toml

    Example: flitloom campaign run examples/campaigns/small.toml --preset cup-stacking

    Example: flitloom campaign run examples/campaigns/small.toml --network "mesh 4x4" --store mesh.sqlite
    """
    perform("campaign:run", searches, workers, first)


@app.command("status")
@grouped
def status(*, searches: Searches, json: Json = False) -> None:
    """Show how many searches are finished, by pattern.

    Example: flitloom campaign status examples/campaigns/small.toml
    """
    perform("campaign:status", searches, json)


@app.command("best")
@grouped
def best(
    *,
    searches: Searches,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the best chromosomes, as JSON.")
    ] = None,
) -> None:
    """Show the best search of every pattern and scheme.

    Example: flitloom campaign best examples/campaigns/small.toml
    """
    perform("campaign:best", searches, out, json)


@app.command("export")
@grouped
def export(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV or Parquet file to write.")],
    searches: Searches,
) -> None:
    """Write one row per finished search to a CSV or Parquet file.

    Example: flitloom campaign export examples/campaigns/small.toml --out small.parquet
    """
    perform("campaign:export", searches, out)
