"""``flitloom fabric``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands.actions import perform
from flitloom.commands.options import Group, HostList, Json, Network, NoHosts, grouped, take_hosts

app = typer.Typer(
    help="Recognise a fabric described by ibnetdiscover, OpenSM, ibsim or Slurm.", no_args_is_help=True
)


@app.callback()
def _fabrics() -> None:
    """Keep the group a group."""


class Where(Group):
    """The fabric."""

    file: Annotated[
        Path | None,
        typer.Argument(
            help="What ibnetdiscover prints, opensm-subnet.lst, a netlist of ibsim, GraphML, anynet, "
            "topology.conf, or a CSV of cables."
        ),
    ] = None
    network: Network = None
    hosts: HostList = None
    no_hosts: NoHosts = False

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        take_hosts(self, "file")


@app.command()
@grouped
def show(
    *,
    where: Where,
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
    perform("fabric", where, (sizes, torus_config), picture, as_json)
