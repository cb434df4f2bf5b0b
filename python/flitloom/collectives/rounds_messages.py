"""Plans in rounds as message graphs: what every rank sends in a round to whom, and what it waits for."""

from __future__ import annotations

from collections import defaultdict

from flitloom.collectives.rounds_hops import Arrivals, Message, messages_by_round
from flitloom.collectives.rounds_plan import RoundsPlan, extent
from flitloom.collectives.telling import Told, telling, untold
from flitloom.errors import SpecError
from flitloom.traces.operations import MOST_OPERATIONS, Operation, Ranks


def rounds_operations(plan: RoundsPlan, chunk_bytes: int = 1024, told: Told = untold) -> Ranks:
    """One message per round and pair of nodes, from end to end.

    Rank r is node r; where hosts of switches take part it is the host number r of them.

    A message waits for those of earlier rounds that brought what it consists of. Its tag is its round.

    Parameters
    ----------
    plan : RoundsPlan
        A plan that was checked.
    chunk_bytes : int
        Bytes of a part of length 1.
    told : function
        Told now and then how many of how many rounds are done.

    Raises
    ------
    SpecError
        There are too many messages.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> plan = make_rounds(fl.Torus(4), "all-gather", "Bruck", 4096, 1e-6, 50e9)
    >>> for one in rounds_operations(plan)[0]:
    ...     print(one.kind, one.size, one.peer, one.tag, one.requires)
    send 1024 3 0 []
    recv 1024 1 0 []
    send 2048 2 1 [1]
    recv 2048 2 1 []
    """
    members = plan.members if plan.ground.has_relays else range(plan.ground.nodes)
    rank = {node: number for number, node in enumerate(members)}
    ranks: Ranks = [[] for _ in members]
    rows = messages_by_round(plan)
    if 2 * sum(len({(one.start, one.end) for one in row}) for row in rows) > MOST_OPERATIONS:
        raise SpecError.at("plan", "too many messages", f"at most {MOST_OPERATIONS} operations are written")
    arrivals = Arrivals()
    for turn, row in enumerate(telling(rows, told, 1)):
        together: defaultdict[tuple[int, int], list[Message]] = defaultdict(list)
        for one in row:
            together[one.start, one.end].append(one)
        sizes = {}
        for (start, end), several in together.items():
            length = sum(
                extent((one.first, one.first + one.count), plan.pieces, plan.lengths) for one in several
            )
            sizes[start, end] = chunk_bytes * length
            needs = {
                number
                for one in several
                for part in range(one.first, one.first + one.count)
                for number in arrivals.needed(turn, one, part)
            }
            send = Operation("send", sizes[start, end], rank[end], turn, requires=sorted(needs))
            ranks[rank[start]].append(send)
        # No send of a round waits for what comes in it.
        for (start, end), several in together.items():
            for one in several:
                for part in range(one.first, one.first + one.count):
                    arrivals.note(turn, one, part, len(ranks[rank[end]]))
            ranks[rank[end]].append(Operation("recv", sizes[start, end], rank[start], turn))
    return ranks
