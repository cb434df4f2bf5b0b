"""flitloom's own plans in rounds (JSON)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from flitloom.collectives.checking import wrong_plan
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.goal import move_operations
from flitloom.collectives.making import make_rounds
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_hops import hop_by_hop
from flitloom.collectives.rounds_messages import rounds_operations
from flitloom.collectives.rounds_plan import RoundsPlan, read_rounds
from flitloom.collectives.rounds_steps import to_steps
from flitloom.collectives.telling import Told, share, untold
from flitloom.errors import show_file
from flitloom.formats.format import Format, Writing
from flitloom.ground import limits
from flitloom.spec import Torus
from flitloom.spec.ground import Ground
from flitloom.traces.operations import Ranks


def _sniff(start: bytes) -> bool:
    return b'"flitloom rounds' in start


def read_right_rounds(file: str | Path, told: Told = untold) -> RoundsPlan:
    """Read a plan in rounds, and replay it; `told` is told how many of how many rounds are done.

    Raises
    ------
    SpecError
        The file cannot be read, or does not do what it claims.
    """
    plan = read_rounds(file)
    if problems := check_rounds(plan, told)["problems"]:
        raise wrong_plan(show_file(file), problems)
    return plan


def _read(file: str | Path, _ground: Ground | None, told: Told = untold) -> CollectivePlan:
    return to_steps(read_right_rounds(file, told))


def _messages(file: str | Path, how: Writing) -> Ranks:
    plan = read_right_rounds(file, how.told_of_reading)
    if not how.by_hop:
        return rounds_operations(plan, how.chunk_bytes, how.told)
    hops = hop_by_hop(plan, share(how.told, plan.rounds, 0.0, 0.5))
    told = share(how.told, plan.rounds, 0.5, 1.0)
    return move_operations(hops.transfers, plan.ground.nodes, -(-how.chunk_bytes // hops.unit), told)


def _check(file: str | Path, _ground: Ground | None, told: Told = untold) -> dict[str, Any]:
    return check_rounds(read_rounds(file), told)


@cache
def _seed() -> bytes:
    plan = make_rounds(Torus(3, 2), "all-reduce", "spheres", 1024, 1e-6, 5e10)
    return json.dumps(plan.model_dump()).encode()


FORMAT = Format(
    name="rounds",
    title="plan in rounds of a collective operation",
    endings=(".json",),
    limit=limits.COLLECTIVE_BYTES,
    form="json",
    seed=_seed,
    sniff=_sniff,
    read_plan=_read,
    check_plan=_check,
    plan_messages=_messages,
    keeps_links=True,
    tells=True,
)
