"""What the ranks of an application do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted

#: Most operations of all ranks, and most ranks.
MOST_OPERATIONS = 1 << 22
MOST_RANKS = 1 << 20


@dataclass
class Operation:
    """One operation of a rank.

    Attributes
    ----------
    kind : {"send", "recv", "calc"}
        What it does.
    size : int
        Bytes of a message; the duration of a computation, in the trace's unit.
    peer : int
        The other rank of a message.
    tag : int
        Messages of two ranks match in their order under the same tag.
    cpu, nic : int
        Processor and network interface.
    requires : list of int
        Operations of the same rank that must be complete before, in ascending order.
    follows : list of int
        Operations of the same rank that must have started before (``irequires``).
    """

    kind: Literal["send", "recv", "calc"]
    size: int
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    requires: list[int] = field(default_factory=list)
    follows: list[int] = field(default_factory=list)


#: The operations of every rank.
Ranks = list[list[Operation]]


def check_count(ranks: int, operations: int) -> None:
    """Refuse traces that are too large.

    Raises
    ------
    SpecError
        There are more ranks or operations than are read.
    """
    if ranks > MOST_RANKS:
        raise SpecError(f"{counted(ranks, 'rank')}; at most {MOST_RANKS} are read")
    if operations > MOST_OPERATIONS:
        raise SpecError(f"more than {MOST_OPERATIONS} operations")
