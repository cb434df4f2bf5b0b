"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options


def command(
    source: Annotated[
        Path,
        typer.Argument(
            help="A plan of a collective operation (.json), MSCCL XML or trees of ForestColl (.xml), or a "
            "schedule of TE-CCL (.json)."
        ),
    ],
    target: Annotated[Path, typer.Argument(help="What to write: .json, MSCCL XML (.xml) or GOAL (.goal).")],
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    fail: options.Fail = None,
    chunk_bytes: Annotated[int, typer.Option(help="GOAL: bytes of a chunk.")] = 1024,
) -> None:
    """Write a plan of a collective operation in a format that other programs read.

    Files of others do not say what links there are: --torus or --mesh does.

    \b
    For example:
      flitloom convert plan.json plan.xml
      flitloom convert plan.json plan.goal --chunk-bytes 65536
      flitloom convert foreign.xml plan.json --torus 4x4
    """
    from flitloom.collectives.formats import read_plan_of
    from flitloom.collectives.goal import goal_text
    from flitloom.collectives.ground import Ground
    from flitloom.collectives.msccl import msccl_text
    from flitloom.errors import SpecError
    from flitloom.outputs import check_output, write_text
    from flitloom.spec import Topology

    check_output(target, (".json", ".xml", ".goal"), "TARGET")
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    fields = options.topology_fields(torus, mesh, None, fail)
    plan = read_plan_of(source, Ground(Topology(**fields)) if "sizes" in fields else None)
    if target.suffix == ".json":
        plan.save(target)
    else:
        write_text(target, msccl_text(plan) if target.suffix == ".xml" else goal_text(plan, chunk_bytes))
