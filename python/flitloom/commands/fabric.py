"""``flitloom fabric``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands.actions import perform
from flitloom.commands.options import Json, Network

app = typer.Typer(
    help="Recognise a fabric described by ibnetdiscover, OpenSM, ibsim or Slurm.", no_args_is_help=True
)


@app.callback()
def _fabrics() -> None:
    """Keep the group a group."""


@app.command()
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="What ibnetdiscover prints, opensm-subnet.lst, a netlist of ibsim, GraphML, anynet, "
            "topology.conf, or a CSV of cables."
        ),
    ] = None,
    network: Network = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes of the torus, if not with the fewest dimensions, e.g. 4x2x2.")
    ] = None,
    torus_config: Annotated[
        Path | None, typer.Option(help="OpenSM's torus-2QoS.conf, for your own coordinates and datelines.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of it (.png, .pdf or .svg).")] = None,
    as_json: Json = False,
) -> None:
    """Say what a fabric is: torus, mesh, twisted torus or graph, missing parts and wrong cables.

    Example: flitloom fabric show cluster.topo

    Example: flitloom fabric show --network "dragonfly(6,3)" --picture dragonfly.png
    """
    perform("fabric", file, network, (sizes, torus_config), picture, as_json)
