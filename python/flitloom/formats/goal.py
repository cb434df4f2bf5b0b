"""GOAL as text."""

from __future__ import annotations

from pathlib import Path

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.goal import plan_operations
from flitloom.collectives.telling import share
from flitloom.formats.format import Format, Writing, sample
from flitloom.ground import limits
from flitloom.ground.outputs import write_text
from flitloom.traces.goal import goal_text, read_goal


def _write_plan(plan: CollectivePlan, file: Path, how: Writing) -> list[str]:
    nodes = plan.ground.nodes
    operations = plan_operations(plan, how.chunk_bytes, share(how.told, nodes, 0.0, 0.75))
    write_text(file, goal_text(operations))
    how.told(nodes, nodes)
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
