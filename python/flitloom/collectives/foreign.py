"""Transfers of others as plans: checked by the same replay, in the steps in which links can transfer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flitloom.collectives.checking import check_collective
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.contents import some
from flitloom.collectives.search import collective
from flitloom.errors import SpecError
from flitloom.spec.ground import Ground


def plan_of_moves(
    ground: Ground,
    operation: str,
    chunks: int,
    moves: Sequence[list[int]],
    sums: Sequence[list[int]] = (),
    *,
    steps: int,
    root: int | None = None,
    nodes: tuple[int, ...] | None = None,
    checked: bool = True,
) -> CollectivePlan:
    """A plan of given moves, with the bound of its network.

    Raises
    ------
    SpecError
        It does not do what `operation` says (if `checked`).
    """
    known = collective(ground.topology, operation, chunks=chunks, root=root, nodes=nodes)
    update = {
        "directions": [], "adds": [], "sends": [], "paths": [],
        "sums": sorted(sums), "moves": sorted(moves),
        "steps": steps, "optimal": steps == known.bound,
    }  # fmt: skip
    plan = known.model_copy(update=update)
    if checked:
        problems = check_collective(plan)["problems"]
        if problems:
            raise SpecError(problems[0])
    return plan


@dataclass(frozen=True)
class Send:
    """A chunk over a link, as others list it.

    Attributes
    ----------
    start, end : int
        The nodes of the link.
    block : tuple of int
        The chunk, as plans name it.
    where : str
        Its place in the file.
    epoch : int
        When it leaves, if the file says so; -1 otherwise. It arrives in a later epoch.
    """

    start: int
    end: int
    block: tuple[int, ...]
    where: str
    epoch: int = -1


@dataclass(frozen=True)
class Sends:
    """An operation of copies, as others list it.

    Attributes
    ----------
    operation : str
        ``all-gather`` or ``all-to-all``.
    chunks : int
        Chunks per node, or per pair.
    sends : list of Send
        The copies, those of a link in the order in which it would rather take them.
    owners : dict
        Where every chunk is at first.
    """

    operation: str
    chunks: int
    sends: list[Send]
    owners: dict[tuple[int, ...], int]


def plan_of_sends(listed: Sends, ground: Ground) -> CollectivePlan:
    """A plan of listed copies, in the steps in which links can transfer them.

    Raises
    ------
    SpecError
        Something is wrong with them.
    """
    rows, problems = as_soon_as_possible(ground, listed.sends, listed.owners)
    if problems:
        raise SpecError(problems[0])
    steps = max((row[0] for row in rows), default=-1) + 1
    return plan_of_moves(ground, listed.operation, listed.chunks, rows, steps=steps)


def report(listed: Sends, ground: Ground) -> dict[str, Any]:
    """What is wrong with listed copies, and how many steps they take beside the bound."""
    rows, problems = as_soon_as_possible(ground, listed.sends, listed.owners)
    steps = max((row[0] for row in rows), default=-1) + 1
    plan = plan_of_moves(ground, listed.operation, listed.chunks, rows, steps=steps, checked=False)
    if not problems:
        problems = check_collective(plan)["problems"]
    return {
        "passed": not problems,
        "steps": steps,
        "problems": some(problems),
        "operation": listed.operation,
        "gpus": ground.nodes,
        "chunks": listed.chunks,
        "bound": plan.bound,
        "optimal": not problems and steps == plan.bound,
    }


def as_soon_as_possible(
    ground: Ground, sends: Sequence[Send], owners: dict[tuple[int, ...], int]
) -> tuple[list[list[int]], list[str]]:
    """Steps for copies in the order in which their links take them, and what keeps the others from leaving.

    A link transfers one chunk per step and takes the first of its list that has arrived. Links that do not
    exist are reported, once each, and transfer chunks all the same.

    Parameters
    ----------
    ground : Ground
        The network.
    sends : sequence of Send
        The copies, those of a link in the order in which it would rather take them.
    owners : dict
        Where every chunk is at first.
    """
    problems: dict[tuple[int, int], str] = {}
    queues: dict[tuple[int, int], list[int]] = {}
    for number, send in enumerate(sends):
        link = (send.start, send.end)
        queues.setdefault(link, []).append(number)
        if link not in ground.links and link not in problems:
            problems[link] = f"{send.where}: there is no link from node {send.start} to node {send.end}"
    early = _too_early(sends, owners)
    since: dict[tuple[int, tuple[int, ...]], int] = {(node, block): 0 for block, node in owners.items()}
    rows: list[list[int]] = []
    step = 0
    while queues:
        arrivals: list[tuple[int, tuple[int, ...]]] = []
        moved = False
        for link, queue in list(queues.items()):
            for _ in range(max(ground.links[link], 1)):
                for place, number in enumerate(queue):
                    send = sends[number]
                    if since.get((send.start, send.block), step + 1) <= step:
                        rows.append([step, send.start, send.end, *send.block])
                        arrivals.append((send.end, send.block))
                        del queue[place]
                        moved = True
                        break
            if not queue:
                del queues[link]
        if not moved:
            break
        step += 1
        for arrival in arrivals:
            since.setdefault(arrival, step)
    left = [sends[number] for queue in queues.values() for number in queue]
    never = [
        f"{send.where}: node {send.start} never gets chunk {list(send.block)}, which it is to pass on"
        for send in left
    ]
    return rows, [*problems.values(), *(never or early)]


def _too_early(sends: Sequence[Send], owners: dict[tuple[int, ...], int]) -> list[str]:
    """Chunks that leave a node in an epoch in which they cannot have arrived there yet."""
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    for send in sends:
        key = (send.end, send.block)
        first[key] = min(first.get(key, send.epoch), send.epoch)
    return [
        f"{send.where}: node {send.start} passes on chunk {list(send.block)} in epoch {send.epoch}, before "
        f"it has come: it leaves for there in epoch {first[send.start, send.block]}"
        for send in sends
        if send.epoch >= 0
        and owners.get(send.block) != send.start
        and first.get((send.start, send.block), -1) >= send.epoch
    ]
