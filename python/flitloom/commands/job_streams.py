"""``flitloom place stream``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class Asked(Group):
    """The network, the stream and the policies."""

    torus: options.Torus = None
    mesh: options.Mesh = None
    wrap: options.Wrap = None
    fail: options.Fail = None
    count: Annotated[int, typer.Option("--jobs", help="Jobs of the stream.", metavar="COUNT")] = 2000
    mix: Annotated[
        str,
        typer.Option(help="boxes (sides 1, 2, 4, ...) or mixed (also lines and any sides).", metavar="MIX"),
    ] = "boxes"
    load: Annotated[
        float, typer.Option(help="Node cycles asked for, over those there are; above 1 some jobs wait.")
    ] = 2.0
    policy: Annotated[
        str | None,
        typer.Option(
            help="as-asked, rotate, fold, contact, window (64 waiting jobs are tried) or "
            "largest (256, those with the most nodes first). [default: all]",
            metavar="NAME",
        ),
    ] = None
    seed: options.Seed = None
    json: options.Json = False


@grouped
def command(*, asked: Asked) -> None:
    """Let jobs arrive at a torus and leave it, and tell how much of it each policy keeps busy.

    \b
    For example:
      flitloom place stream --torus 16x16x16 --mix mixed
    """
    perform("place_stream", asked)
