"""GOAL as text."""

from __future__ import annotations

from pathlib import Path

from flitloom import limits
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.goal import plan_operations
from flitloom.formats.format import Format, Writing, sample
from flitloom.outputs import write_text
from flitloom.reading import opened, placed
from flitloom.traces.goal import goal_text, is_binary, parse_goal_binary
from flitloom.traces.operations import Ranks


def read_goal(file: str | Path) -> str | Ranks:
    """A GOAL text, or what the binary form says: files of either ending are read as what they are."""
    with opened(file, limits.GOAL_BYTES) as source:
        if is_binary(source.start()):
            return placed(source.name, lambda: parse_goal_binary(source.content()))
        return source.text()


def _write_plan(plan: CollectivePlan, file: Path, how: Writing) -> list[str]:
    write_text(file, goal_text(plan_operations(plan, how.chunk_bytes)))
    return []


FORMAT = Format(
    name="goal",
    title="GOAL as text",
    endings=(".goal",),
    limit=limits.GOAL_BYTES,
    form="text",
    seed=lambda: goal_text(plan_operations(sample(), 33)).encode(),
    target=".goal",
    write_plan=_write_plan,
    read_messages=read_goal,
    write_messages=lambda ranks, file: write_text(file, goal_text(ranks)),
)
