"""GOAL: a plan of a collective operation as sends and receives of every rank that wait for each other."""

from __future__ import annotations

from itertools import groupby

from flitloom.collectives.plan import CollectivePlan
from flitloom.collectives.transfers import transfers
from flitloom.errors import SpecError

#: Most operations of a text.
MOST = 1 << 22


def goal_text(plan: CollectivePlan, chunk_bytes: int = 1024) -> str:
    """A plan as a GOAL text: rank r is node r, every move a message of `chunk_bytes` bytes.

    A send waits for what brought its chunk and for the send before it on its link; a receive that is added up
    counts as done when it has arrived. Chunks of one link keep their order, so tags are 0.

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
    moves = transfers(plan)
    if 2 * len(moves) > MOST:
        raise SpecError(f"goal: {2 * len(moves)} operations; at most {MOST} are written")
    ranks: list[list[str]] = [[] for _ in range(plan.ground.nodes)]
    counts = [0] * plan.ground.nodes
    received: dict[int, str] = {}
    sent: dict[int, str] = {}

    def add(rank: int, what: str, after: list[str]) -> str:
        counts[rank] += 1
        label = f"l{counts[rank]}"
        ranks[rank].append(f"{label}: {what}")
        ranks[rank] += [f"{label} requires {other}" for other in dict.fromkeys(after)]
        return label

    # The receives of a step stand behind its sends, none of which waits for them.
    for _, group in groupby(enumerate(moves), key=lambda entry: entry[1].step):
        batch = list(group)
        for number, one in batch:
            after = [received[other] for other in one.needs]
            after += [sent[one.before]] if one.before >= 0 else []
            sent[number] = add(one.start, f"send {chunk_bytes}b to {one.end} tag 0", after)
        for number, one in batch:
            after = [received[one.before]] if one.before >= 0 else []
            received[number] = add(one.end, f"recv {chunk_bytes}b from {one.start} tag 0", after)
    blocks = [
        f"rank {rank} {{\n" + "".join(f"{line}\n" for line in lines) + "}" for rank, lines in enumerate(ranks)
    ]
    return f"num_ranks {plan.ground.nodes}\n" + "\n".join(blocks) + "\n"
