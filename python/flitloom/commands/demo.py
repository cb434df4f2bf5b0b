"""``flitloom demo``: five questions, their answers and their pictures."""

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
    """Answer five questions with a picture each, in half a minute.

    Where does a network saturate, and what is the bound? When should each node send, and is that optimal?
    Which routes avoid a dead node? Which rank should run on which node? What do slices and schedules save in
    six collective operations? Prints every question, the command that answers it, and its answer.

    Example: flitloom demo --out demo-output
    """
    perform("demo:answer_all", out, json_, threads)
