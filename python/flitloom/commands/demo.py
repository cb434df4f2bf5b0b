"""``flitloom demo``: the main job in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path("demo-output"),
    json_: options.Json = False,
    threads: options.Threads = None,
) -> None:
    """Six collectives on a 16x16 torus: whole packets, slices at the best interval, and the best schedule.

    Every node sends 28 payload flits, as one packet or as four slices of 8 flits - in unison at the best
    interval, or each node at its own time so that nothing ever waits. Prints durations, the best interval,
    the gain and the lower bound, and draws what every link does over time.

    Example: flitloom demo --out demo-output
    """
    perform("demo", out, json_, threads)
