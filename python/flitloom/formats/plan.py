"""flitloom's own plans of collective operations (JSON)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.checking import check_collective
from flitloom.collectives.collective_plan import CollectivePlan, plan_text
from flitloom.collectives.reading import read_collective
from flitloom.collectives.telling import Told, untold
from flitloom.formats.format import Format, Writing, sample
from flitloom.ground import limits
from flitloom.spec.ground import Ground


def _sniff(start: bytes) -> bool:
    return b'"flitloom collective' in start


def _read(file: str | Path, _ground: Ground | None, told: Told = untold) -> CollectivePlan:
    return read_collective(file, told=told)


def _check(file: str | Path, _ground: Ground | None, told: Told = untold) -> dict[str, Any]:
    return check_collective(read_collective(file, checked=False), told)


def _write(plan: CollectivePlan, file: Path, _how: Writing) -> list[str]:
    plan.save(file)
    return []


FORMAT = Format(
    name="plan",
    title="plan of a collective operation",
    endings=(".json",),
    limit=limits.COLLECTIVE_BYTES,
    form="json",
    seed=lambda: plan_text(sample()).encode(),
    sniff=_sniff,
    target=".json",
    read_plan=_read,
    check_plan=_check,
    write_plan=_write,
    keeps_links=True,
    tells=True,
)
