"""Message graphs on nodes with several ports: those whose messages go over single links run as plans do."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush

from flitloom.collectives.run import CollectiveRun, simulate_transfers
from flitloom.collectives.transfers import Transfer
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec import Router
from flitloom.spec.ground import Ground
from flitloom.traces.graph import MessageGraph
from flitloom.traces.operations import Operation, Ranks

#: A rank and one of its operations.
Place = tuple[int, int]


def simulate_graph(
    graph: MessageGraph,
    ground: Ground,
    router: Router | None = None,
    *,
    flit_bytes: int = 16,
    packet_payload: int = 16,
    ports: int | None = None,
) -> CollectiveRun:
    """Run a message graph on nodes with several ports, as a plan that was exported: rank r is node r.

    Parameters
    ----------
    graph : MessageGraph
        Messages of one size over single links, which wait for messages of other ranks and for those before
        them on their link.
    ground : Ground
        The network.
    router : Router, optional
        The router at every node.
    flit_bytes : int
        Bytes of a flit.
    packet_payload : int
        Most flits of a packet besides its header.
    ports : int, optional
        Ports of a node; as many as it has links without.

    Raises
    ------
    SpecError
        It has other messages, with the field ``messages`` and what the first of them is; or a number is out
        of range.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.goal import goal_text
    >>> from flitloom.messages import MessageGraph
    >>> from flitloom.spec.ground import Ground
    >>> plan = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    >>> graph = MessageGraph(goal_text(plan, 256))
    >>> run = simulate_graph(graph, Ground(fl.Torus(4, 4)))
    >>> run.cycles == fl.collectives.simulate(plan).cycles
    True
    """
    moves, size = as_transfers(graph.operations(), ground)
    steps = 1 + max((one.step for one in moves), default=-1)
    flits = max(-(-size // flit_bytes), 1)
    return simulate_transfers(
        ground, moves, steps, router, flits=flits, packet_payload=packet_payload, ports=ports
    )


def as_transfers(ranks: Ranks, ground: Ground) -> tuple[list[Transfer], int]:
    """The messages of a graph as transfers over links, and the bytes of each.

    Raises
    ------
    SpecError
        A message does not go over one link, or waits for what transfers do not wait for.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.goal import plan_operations
    >>> from flitloom.spec.ground import Ground
    >>> plan = fl.collectives.plan(fl.Mesh(3), "broadcast")
    >>> moves, size = as_transfers(plan_operations(plan, 64), Ground(fl.Mesh(3)))
    >>> [(one.start, one.end, one.step, one.needs) for one in moves], size
    ([(0, 1, 0, ()), (1, 2, 1, (0,))], 64)
    """
    if len(ranks) > ground.nodes:
        raise SpecError.at("messages", f"of {counted(len(ranks), 'rank')} on {counted(ground.nodes, 'node')}")
    whence = _matched(ranks)
    sizes = {one.size for operations in ranks for one in operations}
    if len(sizes) > 1:
        raise _other("have several sizes")
    waits: dict[Place, tuple[list[Place], list[Place]]] = {}
    for rank, operations in enumerate(ranks):
        for place, one in enumerate(operations):
            if one.kind == "send":
                _require_link(rank, one, ground)
                waits[rank, place] = _waits(rank, one, operations, whence)
            elif any(operations[other].peer != one.peer for other in one.requires):
                raise _other(f"at rank {rank} are received one after the other")
    return _in_order(ranks, waits), sizes.pop() if sizes else 1


def _other(problem: str) -> SpecError:
    return SpecError.at("messages", problem, "such graphs run on nodes with one port")


def _require_link(rank: int, one: Operation, ground: Ground) -> None:
    if (rank, one.peer) not in ground.links:
        raise _other(f"go over several links, as from rank {rank} to rank {one.peer}")


def _matched(ranks: Ranks) -> dict[Place, Place]:
    """By receive its send: messages of two ranks under one tag match in their order."""
    sends: defaultdict[tuple[int, int, int], list[Place]] = defaultdict(list)
    receives: defaultdict[tuple[int, int, int], list[Place]] = defaultdict(list)
    for rank, operations in enumerate(ranks):
        for place, one in enumerate(operations):
            if one.kind == "calc":
                raise _other(f"of rank {rank} wait for computations")
            if one.follows or one.cpu or one.nic:
                raise _other(f"of rank {rank} have separate starts, processors or network ports")
            if one.kind == "send":
                sends[rank, one.peer, one.tag].append((rank, place))
            else:
                receives[one.peer, rank, one.tag].append((rank, place))
    if any(len(sends[key]) != len(receives[key]) for key in {*sends, *receives}):
        raise _other("are not all sent and received")
    return {
        got: sent for key, several in receives.items() for got, sent in zip(several, sends[key], strict=True)
    }


def _waits(
    rank: int, one: Operation, operations: list[Operation], whence: dict[Place, Place]
) -> tuple[list[Place], list[Place]]:
    """The sends that bring what a send waits for, and those before it on its link."""
    needs, before = list[Place](), list[Place]()
    for place in one.requires:
        other = operations[place]
        if other.kind == "recv":
            needs.append(whence[rank, place])
        elif other.peer == one.peer:
            before.append((rank, place))
        else:
            raise _other(f"from rank {rank} to rank {one.peer} wait until others have left it")
    return needs, before


def _in_order(ranks: Ranks, waits: dict[Place, tuple[list[Place], list[Place]]]) -> list[Transfer]:
    """Transfers, each behind all that it waits for, those of a rank in the order of its operations."""
    after: defaultdict[Place, list[Place]] = defaultdict(list)
    missing: dict[Place, int] = {}
    earlier: dict[int, Place] = {}
    for place, (needs, before) in waits.items():
        ahead = {*needs, *before, *([earlier[place[0]]] if place[0] in earlier else [])}
        earlier[place[0]] = place
        missing[place] = len(ahead)
        for other in ahead:
            after[other].append(place)
    ready = [place for place, count in missing.items() if not count]
    heapify(ready)
    numbers: dict[Place, int] = {}
    found: list[Transfer] = []
    while ready:
        place = heappop(ready)
        needs, before = waits[place]
        rank, one = place[0], ranks[place[0]][place[1]]
        step = 1 + max((found[numbers[other]].step for other in (*needs, *before)), default=-1)
        needed = tuple(sorted(numbers[other] for other in needs))
        last = max((numbers[other] for other in before), default=-1)
        numbers[place] = len(found)
        found.append(Transfer(step, rank, one.peer, place, False, needed, last))
        for other in after[place]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, other)
    if len(found) < len(waits):
        raise _other("of a rank do not wait in the order in which it lists them")
    return found
