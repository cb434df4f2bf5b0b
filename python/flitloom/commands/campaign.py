"""``flitloom campaign``: many genetic searches, stopped and resumed at will."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands.actions import perform
from flitloom.commands.options import Json, Preset, Workers

app = typer.Typer(
    help="Run many genetic searches over combinations of parameters; stop and resume at will.\n\n"
    "Example: flitloom campaign run examples/campaigns/small.toml",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The campaign, a TOML file.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", help="SQLite file of finished searches. [default: FILE.sqlite]")
]


@dataclass(frozen=True)
class Asked:
    """All that the command line of a verb says."""

    verb: str
    file: Path
    store: Path | None
    preset: str | None
    workers: int | None = None
    first: int | None = None
    json: bool = False
    out: Path | None = None


@app.command("run")
def run(
    file: File,
    store: StoreFile = None,
    preset: Preset = None,
    workers: Workers = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Number of searches to run, the first ones, e.g. 10.")
    ] = None,
) -> None:
    """Run what is not finished yet; after Ctrl-C everything finished is kept.

    Example: flitloom campaign run examples/campaigns/small.toml

    Example: flitloom campaign run examples/campaigns/small.toml --preset cup-stacking
    """
    perform("campaign", Asked("run", file, store, preset, workers, first))


@app.command("status")
def status(file: File, store: StoreFile = None, preset: Preset = None, json: Json = False) -> None:
    """Show how many searches are finished, by pattern.

    Example: flitloom campaign status examples/campaigns/small.toml
    """
    perform("campaign", Asked("status", file, store, preset, json=json))


@app.command("best")
def best(
    file: File,
    store: StoreFile = None,
    preset: Preset = None,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the best chromosomes, as JSON.")
    ] = None,
) -> None:
    """Show the best search of every pattern and scheme.

    Example: flitloom campaign best examples/campaigns/small.toml
    """
    perform("campaign", Asked("best", file, store, preset, json=json, out=out))


@app.command("export")
def export(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV or Parquet file to write.")],
    store: StoreFile = None,
    preset: Preset = None,
) -> None:
    """Write one row per finished search to a CSV or Parquet file.

    Example: flitloom campaign export examples/campaigns/small.toml --out small.parquet
    """
    perform("campaign", Asked("export", file, store, preset, out=out))
