"""``flitloom view``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class Page(Group):
    """The page, and the network where a file does not say it."""

    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write (.html).")]
    stop_at: Annotated[
        int | None,
        typer.Option(help="Show a simulation up to the start of this cycle, a plan up to this step: 500."),
    ] = None
    torus: options.Torus = None
    mesh: options.Mesh = None
    twist: Annotated[bool, options.shown("twist", note="for files that do not say")] = False
    fabric: Annotated[
        Path | None,
        typer.Option(
            "--fabric", "--graph", help="A fabric: what ibnetdiscover prints, a netlist, GraphML, a CSV."
        ),
    ] = None
    network: options.Network = None
    hosts: options.HostList = None
    no_hosts: options.NoHosts = False
    fail: options.Fail = None
    preset: options.Preset = None
    live: Annotated[
        bool, typer.Option("--live", help="No file: a page with the engine inside, to try anything.")
    ] = False
    as_json: options.Json = False

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self, "fabric")


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    file: Path | None
    page: Page


@grouped
def command(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A result (.nc), an experiment (.toml), a plan of schedule or collective, a placement "
            "(.json), routing tables (.json, .csv, .npz, an OpenSM dump), or with --fabric its tables."
        ),
    ] = None,
    *,
    page: Page,
) -> None:
    """Show a result, a plan, tables, a placement or a fabric as one HTML page that needs no network.

    Every link is coloured by what it does, or by load. A slider goes through the cycles, or the steps of a
    plan. The link under the pointer tells its packet or chunk, with its route. Idle links of a plan are
    dashed. Bounds and bottlenecks are marked, and the cycle of a deadlock. The totals are printed.

    \b
    For example:
      flitloom view result.nc -o page.html
      flitloom view experiment.toml --preset cup-stacking -o page.html
      flitloom view plan.json -o page.html
      flitloom view tables.json -o page.html
      flitloom view collective.json -o page.html
      flitloom view p.json -o page.html
      flitloom view --fabric cluster.topo out/ -o page.html
      flitloom view --network "dragonfly(6,3)" -o page.html
      flitloom view --live -o live.html
    """
    perform("view", context, Asked(file, page))
