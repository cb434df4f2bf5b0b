"""GOAL: a plan of a collective operation as sends and receives of every rank that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from flitloom import traces
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.telling import Told, share, telling, untold
from flitloom.collectives.transfers import Transfer, transfers
from flitloom.errors import SpecError
from flitloom.traces.operations import MOST_OPERATIONS, Operation, Ranks


class Event(NamedTuple):
    """One end of a transfer.

    Attributes
    ----------
    rank, number : int
        Whose operation it is, and which of its operations.
    move : Transfer
        The transfer.
    sends : bool
        Whether it is its sending end.
    requires : list of int
        Operations of the rank that must be complete before, in ascending order.
    """

    rank: int
    number: int
    move: Transfer
    sends: bool
    requires: list[int]


def events(moves: list[Transfer], nodes: int, told: Told = untold) -> Iterator[Event]:
    """Sends and receives of all ranks, each rank's in order; transfers are those of a plan.

    A send waits for what brought its chunk and for the send before it on its link; a receive that is added up
    counts as done when it has arrived. The receives of a step follow its sends, none of which waits for
    them. `told` is told now and then how much of how much is done.

    Raises
    ------
    SpecError
        There are too many.
    """
    if 2 * len(moves) > MOST_OPERATIONS:
        raise SpecError.at("plan", f"{2 * len(moves)} operations", f"at most {MOST_OPERATIONS} are written")
    count = [0] * nodes
    received = [0] * len(moves)
    sent = [0] * len(moves)
    numbered = enumerate(telling(moves, share(told, nodes, 0.5, 1.0)))
    for _, group in groupby(numbered, key=lambda entry: entry[1].step):
        batch = list(group)
        for number, one in batch:
            rank, before = one.start, one.before
            after = {received[other] for other in one.needs}
            if before >= 0:
                after.add(sent[before])
            sent[number] = count[rank]
            count[rank] += 1
            yield Event(rank, sent[number], one, True, sorted(after))
        for number, one in batch:
            rank, before = one.end, one.before
            received[number] = count[rank]
            count[rank] += 1
            yield Event(rank, received[number], one, False, [received[before]] if before >= 0 else [])


def plan_operations(plan: CollectivePlan, chunk_bytes: int = 1024, told: Told = untold) -> Ranks:
    """A plan as operations of its ranks; chunks of a link keep their order, and each of several has a tag."""
    nodes = plan.ground.nodes
    return move_operations(transfers(plan, share(told, nodes, 0.0, 0.5)), nodes, chunk_bytes, told)


def move_operations(moves: list[Transfer], nodes: int, chunk_bytes: int, told: Told = untold) -> Ranks:
    """Transfers of a plan as operations of its ranks, as `plan_operations`.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.transfers import transfers
    >>> ranks = move_operations(transfers(fl.collectives.plan(fl.Mesh(3), "broadcast")), 3, 64)
    >>> [[(one.kind, one.peer, one.requires) for one in operations] for operations in ranks]
    [[('send', 1, [])], [('recv', 0, []), ('send', 2, [0])], [('recv', 1, [])]]
    """
    ranks: Ranks = [[] for _ in range(nodes)]
    for rank, _, one, sends, requires in events(moves, nodes, told):
        kind: Literal["send", "recv"] = "send" if sends else "recv"
        peer = one.end if sends else one.start
        ranks[rank].append(Operation(kind, chunk_bytes, peer, one.lane, requires=requires))
    return ranks


def goal_text(plan: CollectivePlan, chunk_bytes: int = 1024) -> str:
    """A plan as a GOAL text: rank r is node r, every move a message of `chunk_bytes` bytes.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.goal import goal_text
    >>> print(goal_text(fl.collectives.plan(fl.Torus(3), "broadcast"), 64))
    num_ranks 3
    rank 0 {
    l1: send 64b to 1 tag 0
    l2: send 64b to 2 tag 0
    }
    rank 1 {
    l1: recv 64b from 0 tag 0
    }
    rank 2 {
    l1: recv 64b from 0 tag 0
    }
    <BLANKLINE>
    """
    return traces.goal_text(plan_operations(plan, chunk_bytes))
