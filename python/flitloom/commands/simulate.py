"""``flitloom simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import inputs
from flitloom.commands.options import Grid, Router, Run, Traffic, grouped
from flitloom.commands.options.simulation import (
    Brought,
    Kept,
    Late,
    Outputs,
    Printed,
    Simulated,
    Sizes,
)


@grouped
def command(
    context: typer.Context,
    spec: Annotated[
        Path | None,
        typer.Argument(
            help="An experiment in TOML (options override it), a message graph (.goal, .bin, .et), a plan "
            "of a collective operation (.json), or a file of BookSim2 (.cfg, or without an ending)."
        ),
    ] = None,
    overrules: Annotated[
        list[str] | None,
        typer.Argument(
            help="Options that override a file of BookSim2, e.g. injection_rate=0.3, and further such files.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    *,
    grid: Grid,
    traffic: Traffic,
    router: Router,
    run: Run,
    brought: Brought,
    late: Late,
    sizes: Sizes,
    printed: Printed,
    kept: Kept,
    outputs: Outputs,
) -> None:
    """Simulate traffic on a network, cycle by cycle.

    \b
    For example:
      flitloom simulate --torus 16x16 --pattern shfl --payload 14 --slices 2 --interval 76
      flitloom simulate experiment.toml --set router.buffer=8 --out result.nc --html page.html
      flitloom simulate --torus 32x32 --pattern bcmp --packets 10 --space-time chart.png
      flitloom simulate --torus 16x16 --pattern torn --routing valiant
      flitloom simulate --torus 8x4 --flow-control bubble --buffer 16 --pattern torn --tables tables.json
      flitloom simulate --preset t15 --torus 32x32 --pattern bcmp --packets 10 --throttle spth:margin=8
      flitloom simulate --plan plan.json --jitter 4 --trials 100
      flitloom simulate trace.goal --torus 4x4
      flitloom simulate --placement p.json
      flitloom simulate collective.json --flits 64 --flow-control cut-through --buffer 64
      flitloom simulate long.toml --checkpoint long.flit --every 10m
      flitloom simulate --resume long.flit --checkpoint long.flit
      flitloom simulate --torus 256x256 --pattern rand --rate 0.3 --cycles 2000 --threads 4
      flitloom simulate --torus 4x4x8 --twist --pattern bcmp
      flitloom simulate --graph cluster.topo --tables out/
      flitloom simulate --network "dragonfly(4,2,2)" --pattern rand --rate 0.2 --cycles 2000
      flitloom simulate --model pipelined --torus 8x8 --pattern torn --rate 0.1 --cycles 2000
      flitloom simulate mesh.cfg injection_rate=0.3 --booksim
    """
    groups = (grid, traffic, router, run, brought, late, sizes, printed, kept, outputs)
    inputs.use("simulate", context, spec, Simulated(spec, overrules or [], *groups), overrules)
