"""GOAL: a plan of a collective operation as sends and receives of every rank that wait for each other."""

from __future__ import annotations

from flitloom.collectives.plan import CollectivePlan
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
    moves = plan.expanded()
    rows = sorted([*moves.sums, *moves.moves], key=lambda row: row[0])
    if 2 * len(rows) > MOST:
        raise SpecError(f"goal: {2 * len(rows)} operations; at most {MOST} are written")
    ranks: list[list[str]] = [[] for _ in range(plan.ground.nodes)]
    counts = [0] * plan.ground.nodes
    brought: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    link: dict[tuple[int, int, str], str] = {}

    def add(rank: int, what: str, after: list[str]) -> str:
        counts[rank] += 1
        label = f"l{counts[rank]}"
        ranks[rank].append(f"{label}: {what}")
        ranks[rank] += [f"{label} requires {other}" for other in dict.fromkeys(after)]
        return label

    first = 0
    while first < len(rows):
        last = first
        while last < len(rows) and rows[last][0] == rows[first][0]:
            last += 1
        arrived = []
        for row in rows[first:last]:
            start, end, block = row[1], row[2], tuple(row[3:])
            after = [*brought.get((start, block), []), *filter(None, [link.get((start, end, "send"))])]
            link[start, end, "send"] = add(start, f"send {chunk_bytes}b to {end} tag 0", after)
            arrived.append((start, end, block))
        for start, end, block in arrived:
            after = [link[end, start, "recv"]] if (end, start, "recv") in link else []
            label = add(end, f"recv {chunk_bytes}b from {start} tag 0", after)
            link[end, start, "recv"] = label
            brought.setdefault((end, block), []).append(label)
        first = last
    blocks = [
        f"rank {rank} {{\n" + "".join(f"{line}\n" for line in lines) + "}" for rank, lines in enumerate(ranks)
    ]
    return f"num_ranks {plan.ground.nodes}\n" + "\n".join(blocks) + "\n"
