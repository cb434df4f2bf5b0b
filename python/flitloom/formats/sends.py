"""How formats that list copies over links are read and checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.foreign import Sends, plan_of_sends, report
from flitloom.errors import show_file
from flitloom.formats.format import needed
from flitloom.ground.reading import placed
from flitloom.spec.ground import Ground

Read = Callable[[str | Path, Ground], Sends]


def plan_reader(read: Read) -> Callable[[str | Path, Ground | None], CollectivePlan]:
    """A reader of plans, from one of copies."""

    def read_plan(file: str | Path, ground: Ground | None) -> CollectivePlan:
        return placed(show_file(file), lambda: plan_of_sends(read(file, needed(ground)), needed(ground)))

    return read_plan


def plan_checker(read: Read) -> Callable[[str | Path, Ground | None], dict[str, Any]]:
    """A check of plans, from a reader of copies."""
    return lambda file, ground: report(read(file, needed(ground)), needed(ground))
