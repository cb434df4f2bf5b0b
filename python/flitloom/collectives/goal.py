"""GOAL: a plan of a collective operation as sends and receives of every rank that wait for each other."""

from __future__ import annotations

from itertools import groupby

from flitloom.collectives.plan import CollectivePlan
from flitloom.collectives.transfers import Transfer, transfers
from flitloom.errors import SpecError
from flitloom.traces.operations import MOST_OPERATIONS, Operation, Ranks


def plan_operations(
    plan: CollectivePlan, chunk_bytes: int = 1024
) -> tuple[Ranks, list[list[Transfer | None]]]:
    """A plan as operations of its ranks, and the transfer that every send is (None for receives).

    A send waits for what brought its chunk and for the send before it on its link; a receive that is added up
    counts as done when it has arrived. Chunks of one link keep their order, so tags are 0.
    """
    moves = transfers(plan)
    if 2 * len(moves) > MOST_OPERATIONS:
        raise SpecError(f"plan: {2 * len(moves)} operations; at most {MOST_OPERATIONS} are written")
    ranks: Ranks = [[] for _ in range(plan.ground.nodes)]
    parts: list[list[Transfer | None]] = [[] for _ in range(plan.ground.nodes)]
    received: dict[int, int] = {}
    sent: dict[int, int] = {}

    def add(rank: int, one: Operation, part: Transfer | None) -> int:
        ranks[rank].append(one)
        parts[rank].append(part)
        return len(ranks[rank]) - 1

    # The receives of a step stand behind its sends, none of which waits for them.
    for _, group in groupby(enumerate(moves), key=lambda entry: entry[1].step):
        batch = list(group)
        for number, one in batch:
            after = {received[other] for other in one.needs}
            after |= {sent[one.before]} if one.before >= 0 else set()
            message = Operation("send", chunk_bytes, one.end, requires=sorted(after))
            sent[number] = add(one.start, message, one)
        for number, one in batch:
            before = [received[one.before]] if one.before >= 0 else []
            message = Operation("recv", chunk_bytes, one.start, requires=before)
            received[number] = add(one.end, message, None)
    return ranks, parts


def goal_text(plan: CollectivePlan, chunk_bytes: int = 1024) -> str:
    """A plan as a GOAL text: rank r is node r, every move a message of `chunk_bytes` bytes.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.goal import goal_text
    >>> print(goal_text(fl.collective(fl.Torus(3), "broadcast"), 64))
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
    from flitloom.traces.goal import goal_text as text_of

    return text_of(plan_operations(plan, chunk_bytes)[0])
