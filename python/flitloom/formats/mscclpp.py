"""Execution plans of MSCCL++ (JSON)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.members import links_between, members_of
from flitloom.collectives.mscclpp import Replay, mscclpp_text, read_mscclpp
from flitloom.collectives.mscclpp.write import mscclpp_lines
from flitloom.collectives.replayed import replayed_plan, report
from flitloom.collectives.telling import Told, untold
from flitloom.errors import show_file
from flitloom.formats.for_gpus import write_for_gpus
from flitloom.formats.format import Format, Writing, needed, sample
from flitloom.ground import limits
from flitloom.ground.garbage import uncollected
from flitloom.ground.reading import placed
from flitloom.spec.ground import Ground


def _sniff(start: bytes) -> bool:
    # Older execution plans have a typing error in the key.
    return b'"gpus"' in start and (b'"collective"' in start or b'"colletive"' in start)


def _read(file: str | Path, ground: Ground | None, told: Told = untold) -> CollectivePlan:
    plan, there = read_mscclpp(file), needed(ground)
    members = members_of(there, plan.buffers.gpus, file)
    links = links_between(there, members)
    return placed(show_file(file), lambda: replayed_plan(Replay(plan, links, told), there, members))


def _check(file: str | Path, ground: Ground | None, told: Told = untold) -> dict[str, Any]:
    with uncollected():
        plan = read_mscclpp(file)
        if ground is None:
            return report(Replay(plan, None, told), None)
        members = members_of(ground, plan.buffers.gpus, file)
        return report(Replay(plan, links_between(ground, members), told), ground, members)


def _write(plan: CollectivePlan, file: Path, how: Writing) -> list[str]:
    return write_for_gpus(plan, file, how, "mscclpp", mscclpp_lines)


FORMAT = Format(
    name="mscclpp",
    title="execution plan of MSCCL++",
    endings=(".json",),
    limit=limits.FOREIGN_BYTES,
    form="json",
    seed=lambda: mscclpp_text(sample("all-reduce")).encode(),
    sniff=_sniff,
    target=".mscclpp.json",
    read_plan=_read,
    check_plan=_check,
    write_plan=_write,
    tells=True,
)
