"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    source: Annotated[Path, typer.Argument(help="A plan of a collective operation (.json).")],
    target: Annotated[Path, typer.Argument(help="What to write: MSCCL XML (.xml) or GOAL (.goal).")],
    chunk_bytes: Annotated[int, typer.Option(help="GOAL: bytes of a chunk.")] = 1024,
) -> None:
    """Write a plan of a collective operation in a format that other programs read.

    \b
    For example:
      flitloom convert plan.json plan.xml
      flitloom convert plan.json plan.goal --chunk-bytes 65536
    """
    from flitloom.collectives import read_collective
    from flitloom.collectives.goal import goal_text
    from flitloom.collectives.msccl import msccl_text
    from flitloom.errors import SpecError
    from flitloom.outputs import check_output, write_text

    check_output(target, (".xml", ".goal"), "TARGET")
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    plan = read_collective(source)
    write_text(target, msccl_text(plan) if target.suffix == ".xml" else goal_text(plan, chunk_bytes))
