"""MSCCL XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.msccl import check_msccl, msccl_plan, msccl_text
from flitloom.collectives.msccl.write import msccl_lines
from flitloom.collectives.telling import Told, untold
from flitloom.formats.for_gpus import write_for_gpus
from flitloom.formats.format import Format, Writing, needed, sample
from flitloom.ground import limits
from flitloom.ground.garbage import uncollected
from flitloom.spec.ground import Ground


def _read(file: str | Path, ground: Ground | None, told: Told = untold) -> CollectivePlan:
    return msccl_plan(file, needed(ground), told)


def _check(file: str | Path, ground: Ground | None, told: Told = untold) -> dict[str, Any]:
    with uncollected():
        return check_msccl(file, ground, told)


def _write(plan: CollectivePlan, file: Path, how: Writing) -> list[str]:
    return write_for_gpus(plan, file, how, "msccl", msccl_lines)


FORMAT = Format(
    name="msccl",
    title="MSCCL XML",
    endings=(".xml",),
    limit=limits.FOREIGN_BYTES,
    form="xml",
    seed=lambda: msccl_text(sample("all-reduce")).encode(),
    # Any XML that is nothing else, so that its reader says what is wrong.
    sniff=lambda _start: True,
    target=".xml",
    read_plan=_read,
    check_plan=_check,
    write_plan=_write,
    tells=True,
)
