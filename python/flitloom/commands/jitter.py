"""``flitloom jitter``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Grid, Group, grouped


class Compared(Group):
    """What is sent, how late nodes are, and which methods are compared."""

    network: options.GridNetwork = None
    patterns: Annotated[
        str,
        typer.Option(help="Patterns to take the mean over.", metavar="NAME,...", callback=options.remarked),
    ] = "bcmp,brev,brot,shfl,torn,trns"
    jitter: Annotated[
        str, typer.Option(help="Largest delays: every node is late by 0 to J cycles.", metavar="J,...")
    ] = "0,1,2,4,8,16"
    guards: Annotated[str, typer.Option(help="Cycles kept free behind every packet.", metavar="G,...")] = (
        "1,2,3,4"
    )
    payload: Annotated[int, options.shown("payload", default=False)] = 7
    slices: Annotated[int, options.shown("slices", default=False)] = 1
    trials: Annotated[int, typer.Option(help="Simulations per entry, each with its own delays.")] = 30
    routes: Annotated[str, typer.Option(help=f"{options.one_of('routes')}.", metavar="NAME")] = "dor"
    separate: Annotated[
        bool, typer.Option("--separate", help="Virtual channels that keep late nodes from a deadlock.")
    ] = False
    moves: Annotated[int | None, typer.Option(help="Placements to try per schedule, e.g. 100000.")] = None


class Routers(Group, part="router", only=("preset", "channels", "buffer", "arbitration")):
    """The router at every node."""


class Reported(Group):
    """What is printed, and the seed."""

    seed: Annotated[int, options.shown("seed", default=False)] = 1
    chosen: Annotated[
        bool, typer.Option("--chosen", help="Also show the guard and spare time chosen by pattern and delay.")
    ] = False
    json: options.Json = False


@grouped
def command(*, grid: Grid, compared: Compared, routers: Routers, reported: Reported) -> None:
    """Compare methods of sending when nodes are late: mean durations over patterns and trials, in cycles.

    \b
    For example:
      flitloom jitter --torus 16x16
      flitloom jitter --torus 16x16 --payload 14 --slices 2 --jitter 0,4,8
      flitloom jitter --torus 8x8 --patterns brot,shfl --routes any-order --separate
    """
    perform("jitter", grid, compared, routers, reported)
