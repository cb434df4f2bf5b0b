"""``flitloom schedule``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Grid, Group, grouped


class Sent(Group):
    """Who sends what on which network."""

    network: options.GridNetwork = None
    pattern: options.Pattern = None
    destinations: options.Destinations = None
    matrix: Annotated[Path | None, options.shown("matrix", default=False)] = None
    operation: Annotated[
        str | None,
        typer.Option(help=f"{options.one_of('operations')}.", metavar="NAME"),
    ] = None
    payload: Annotated[int, options.shown("payload", default=False)] = 7
    slices: Annotated[int, options.shown("slices", default=False)] = 1
    packets: Annotated[int, options.shown("packets", default=False)] = 1
    length: Annotated[int, options.shown("length", default=False)] = 8


class Sought(Group):
    """Which plans are meant, and how they are searched for."""

    method: Annotated[
        str,
        typer.Option(
            help="exact, greedy or genetic; or names of methods with shares: few-bends:0.3,joint:0.7."
        ),
    ] = "exact"
    generations: Annotated[int, typer.Option(help="Genetic: generations of 50 chromosomes.")] = 1000
    genes: Annotated[
        str, typer.Option(help="Genetic: what may vary, full, timing or without-timing.", metavar="NAME")
    ] = "full"
    routes: Annotated[
        str | None,
        typer.Option(
            help="dor, balanced-ties, any-order (XY or YX), minimal (two bends) or, for all-to-all, "
            "staircase (any bends). [default: dor; all-to-all: staircase where there is one, else "
            "balanced-ties]",
            metavar="NAME",
        ),
    ] = None
    free_slices: Annotated[
        bool, typer.Option("--free-slices", help="Every slice at its own time, not at one interval.")
    ] = False
    interval: Annotated[
        int | None, typer.Option(help="A given interval between slices. [default: the best]")
    ] = None
    root: Annotated[
        str | None, typer.Option(help="Operation broadcast: the sender. [default: first]", metavar="NODE")
    ] = None
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Operation: only these nodes, e.g. 0-7,12 or node[0-7,12], or a file.", metavar="LIST"
        ),
    ] = None
    hosts: options.HostNames = None
    as_one: Annotated[
        bool, typer.Option("--as-one", help="Operation: no barriers; a node continues when it can.")
    ] = False
    guard: Annotated[
        str,
        typer.Option(help="Cycles kept free behind every packet, or auto (with --jitter).", metavar="G"),
    ] = "0"
    jitter: Annotated[
        int | None, typer.Option(help="With --guard auto: every node is late by 0 to this many cycles.")
    ] = None
    separate: Annotated[
        bool,
        typer.Option("--separate", help="Virtual channels that keep late nodes from a deadlock, certified."),
    ] = False
    seed: Annotated[int, options.shown("seed", default=False)] = 1
    moves: Annotated[
        int | None, typer.Option(help="Placements to try. [default: 2000000, unless --seconds is given]")
    ] = None
    seconds: Annotated[
        str | None, typer.Option("--seconds", help="Wall-clock limit, e.g. 60 or 2m; then not reproducible.")
    ] = None
    cp_sat: Annotated[
        str | None, typer.Option("--cp-sat", help="Time for CP-SAT to finish or refute, e.g. 30s.")
    ] = None
    _threads: options.CommonThreads = None


class Reported(Group):
    """What is made of the plan."""

    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the plan to this file (.json).")] = (
        None
    )
    chart: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Draw unison, stacked and planned link-time charts (.png, .pdf, .svg)."
        ),
    ] = None
    html: options.Html = None
    json: options.Json = False


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    grid: Grid
    sent: Sent
    sought: Sought
    reported: Reported


@grouped
def command(context: typer.Context, *, grid: Grid, sent: Sent, sought: Sought, reported: Reported) -> None:
    """Find when every packet should start so that none ever waits, and prove how good that is.

    \b
    For example:
      flitloom schedule --torus 16x16 --pattern shfl --payload 14 --slices 2 -o plan.json
      flitloom schedule --torus 16x16 --pattern brot --payload 14 --slices 2 --routes minimal --seconds 20
      flitloom schedule --torus 4x4x4 --operation all-to-all --seconds 10
      flitloom schedule --torus 8x8 --operation all-to-all --routes staircase
      flitloom schedule --torus 8x8 --operation all-reduce --nodes 0-15,20 --as-one
      flitloom schedule --torus 16x16 --pattern bcmp --payload 14 --slices 2 --method genetic
      flitloom schedule --torus 16x16 --pattern brev --guard auto --jitter 8 -o plan.json
    """
    perform("schedule", context, Asked(grid, sent, sought, reported))
