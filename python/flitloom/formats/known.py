"""The closed list of formats."""

from __future__ import annotations

from flitloom.formats import chakra, forestcoll, goal, goal_binary, msccl, mscclpp, plan, rounds, teccl
from flitloom.formats.format import Format

#: All formats. Of several whose ending fits, the first that takes the beginning of a file is its format.
FORMATS: tuple[Format, ...] = (
    plan.FORMAT,
    rounds.FORMAT,
    forestcoll.FORMAT,
    msccl.FORMAT,
    mscclpp.FORMAT,
    teccl.FORMAT,
    goal.FORMAT,
    goal_binary.FORMAT,
    chakra.FORMAT,
)
