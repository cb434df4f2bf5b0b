"""``flitloom stack``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Grid, Group, grouped


class Stacked(Group):
    """What is sent on which network, and which intervals and schemes are tried."""

    network: options.GridNetwork = None
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            help="A pattern, or all (the papers' six). May be repeated. [default: all]",
            metavar="NAME",
            callback=options.remarked,
        ),
    ] = None
    destinations: options.Destinations = None
    payload: Annotated[int, options.shown("payload", default=False)] = 14
    slices: Annotated[
        list[int] | None, typer.Option(help="Slices per packet. May be repeated. [default: 2]")
    ] = None
    delays: options.Delays = None
    packets: options.PacketsPerNode = None
    intervals: Annotated[
        str | None,
        typer.Option(
            help="First and last interval, in cycles. [default: slice length to the duration of one slice]",
            metavar="FIRST:LAST",
        ),
    ] = None
    arbitration: Annotated[
        list[str] | None,
        typer.Option(help="A scheme C00 to C09, or all. May be repeated. [default: C00]", metavar="SCHEME"),
    ] = None


class Routers(Group, part="router", only=("preset", "channels", "buffer", "latency", "flow_control")):
    """The router at every node, except for its arbitration."""


class Reported(Group):
    """How it is run and what is made of it."""

    seed: options.Seed = None
    threads: options.Threads = None
    json: options.Json = False
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the curves to this file (.csv or .nc).")
    ] = None
    chart: Annotated[
        Path | None, typer.Option("--picture", help="Draw the curves to this file (.png, .pdf, .svg).")
    ] = None


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    grid: Grid
    stacked: Stacked
    routers: Routers
    reported: Reported

    def experiments(self, patterns: list[str | None], schemes: list[str]) -> list[dict[str, Any]]:
        """Fields of an experiment per pattern, scheme and number of slices."""
        topology, router, sent = self.grid.required(self.stacked.network), self.routers.given(), self.stacked
        common = options.given(
            kind="collective",
            destinations=sent.destinations,
            payload=sent.payload,
            delays=sent.delays,
            packets=sent.packets,
        )
        return [
            {
                "topology": topology,
                "router": {**router, "arbitration": scheme},
                "traffic": {**common, **options.given(pattern=pattern), "slices": count},
                **options.given(seed=self.reported.seed),
            }
            for pattern in patterns
            for scheme in schemes
            for count in sent.slices or [2]
        ]


@grouped
def command(*, grid: Grid, stacked: Stacked, routers: Routers, reported: Reported) -> None:
    """Find the best interval between slices that all nodes send in unison (simple stacking).

    \b
    For example:
      flitloom stack --torus 16x16 --pattern brot --payload 14 --slices 2 --arbitration all
      flitloom stack --torus 16x16 --preset cup-stacking --pattern bcmp --arbitration all
      flitloom stack --torus 16x16 --pattern shfl --payload 32 --slices 2 --slices 4 --picture shfl.png
    """
    perform("stack", Asked(grid, stacked, routers, reported))
