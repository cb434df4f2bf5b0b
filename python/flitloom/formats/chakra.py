"""Chakra execution traces: a file per rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.chakra import chakra_files, chakra_plan
from flitloom.collectives.checking import wrong_plan
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.errors import show_file
from flitloom.formats.format import Format, Writing, sample
from flitloom.ground import limits
from flitloom.spec.ground import Ground
from flitloom.traces.chakra import read_chakra, write_chakra, write_files


def _read(file: str | Path, _ground: Ground | None) -> CollectivePlan:
    plan, found = chakra_plan(file)
    if found["problems"]:
        raise wrong_plan(show_file(file), found["problems"])
    return plan


def _check(file: str | Path, _ground: Ground | None) -> dict[str, Any]:
    return chakra_plan(file)[1]


def _write(plan: CollectivePlan, file: Path, how: Writing) -> list[str]:
    write_files(chakra_files(plan, how.chunk_bytes, how.as_collective, how.told), file)
    return []


FORMAT = Format(
    name="chakra",
    title="Chakra trace",
    endings=(".et",),
    limit=limits.FOREIGN_BYTES,
    form="binary",
    seed=lambda: chakra_files(sample())[0],
    target=".et",
    read_plan=_read,
    check_plan=_check,
    write_plan=_write,
    read_messages=read_chakra,
    write_messages=write_chakra,
    keeps_links=True,
)
