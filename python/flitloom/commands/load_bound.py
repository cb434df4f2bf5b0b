"""``flitloom load bound``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.load_options import Graph
from flitloom.commands.options import Group, grouped


class Where(Group, part="topology", only=("torus", "mesh", "wrap", "twist", "fail")):
    """The network."""

    network: options.Switches = None
    graph: Graph = None
    hosts: options.HostList = None
    no_hosts: options.NoHosts = False
    model: Annotated[str | None, options.shown("model")] = None

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self)


class Asked(Group, part="traffic", only=("pattern", "destinations", "hotspot_fraction", "hotspot_target")):
    """The traffic, and the routings whose loads it fixes."""

    routing: Annotated[
        str | None,
        typer.Option(
            help="Routings whose loads are fixed: do, o1turn, valiant; switches with hosts have tables "
            "instead. [default: do,o1turn,valiant]",
            metavar="NAME,...",
        ),
    ] = None
    ties: Annotated[
        str,
        typer.Option(
            help="At half of a ring: balanced (half of the packets go either way) or wrap (over the edge); "
            "or split: half of every packet.",
            metavar="RULE",
        ),
    ] = "balanced"
    seed: options.Seed = None
    json: options.Json = False


@grouped
def command(*, where: Where, asked: Asked) -> None:
    """Print the highest load that a network allows, without simulating it: exact loads and bounds.

    Loads are in flits per node and cycle. Dimension order, O1TURN and Valiant have loads that the traffic
    fixes; the bound over minimal routes holds for every minimal routing, adaptive ones included. Switches
    with hosts have the loads of their tables by destination, and a bound over any routes.

    \b
    For example:
      flitloom load bound --torus 32x32 --pattern bcmp
      flitloom load bound --torus 32x32 --pattern hots --hotspot-fraction 0.01 --json
      flitloom load bound --network "full8 x full8" --pattern torn
      flitloom load bound --network "dragonfly(4,2,2)" --pattern rand
    """
    perform("load_bound", where, asked)
