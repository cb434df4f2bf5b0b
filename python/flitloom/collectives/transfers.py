"""The moves of a plan as messages that wait for each other."""

from __future__ import annotations

from typing import NamedTuple

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.telling import Told, telling, untold


class Transfer(NamedTuple):
    """A chunk over a link.

    Attributes
    ----------
    step : int
        The step of the plan in which it leaves.
    start, end : int
        The nodes of the link.
    block : tuple of int
        The chunk, as plans name it.
    adds : bool
        Whether it is a partial sum that the receiver adds to its own.
    needs : tuple of int
        Transfers, by number, that brought the chunk to its sender.
    before : int
        The transfer before it on its link; -1 for the first one.
    lane : int
        Which of several links between the two nodes it takes, from 0.
    """

    step: int
    start: int
    end: int
    block: tuple[int, ...]
    adds: bool
    needs: tuple[int, ...]
    before: int
    lane: int = 0


def transfers(plan: CollectivePlan, told: Told = untold) -> list[Transfer]:
    """All moves of a plan in the order of time, each with what it waits for.

    A sum waits for all that was added to it before, a copy for what brought it; with several links between
    two nodes, each takes its turn. `told` is told now and then how many of how many are done.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.transfers import transfers
    >>> [one.needs for one in transfers(fl.collectives.plan(fl.Mesh(3), "broadcast"))]
    [(), (0,)]
    """
    moves = plan.expanded()
    rows = sorted(
        [*((row, True) for row in moves.sums), *((row, False) for row in moves.moves)],
        key=lambda entry: entry[0][0],
    )
    wait = 1 + plan.latency
    width = plan.ground.links
    found: list[Transfer] = []
    brought: dict[tuple[int, tuple[int, ...]], tuple[bool, tuple[int, ...]]] = {}
    lanes: dict[tuple[int, int], list[int]] = {}
    landed = 0
    for row, adds in telling(rows, told):
        step, start, end, block = row[0], row[1], row[2], tuple(row[3:])
        while landed < len(found) and found[landed].step + wait <= step:
            one = found[landed]
            is_copy, known = brought.get((one.end, one.block), (False, ()))
            if one.adds:
                brought[one.end, one.block] = is_copy, (*known, landed)
            elif not is_copy:
                brought[one.end, one.block] = True, (landed,)
            landed += 1
        lane = lanes.setdefault((start, end), [])
        count = width[start, end]
        before = lane[-count] if len(lane) >= count else -1
        turn = len(lane) % count
        lane.append(len(found))
        needs = brought.get((start, block), (False, ()))[1]
        found.append(Transfer(step, start, end, block, adds, needs, before, turn))
    return found
