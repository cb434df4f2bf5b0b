"""What nodes receive and send along a ring: in rounds of an all-gather, and of exchanges of whole sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from flitloom.collectives.family import Sending, ring_sums, ring_windows


@dataclass(frozen=True)
class Arrival:
    """What a node receives in a round of an all-gather along a ring.

    Attributes
    ----------
    hops : int
        From the node a number of hops on.
    owners : tuple of tuples of int
        Per half of the part: whose chunks, by the hops to their owners.
    """

    hops: int
    owners: tuple[tuple[int, ...], tuple[int, ...]]


#: A sum that is sent: of all that the sender has, or of what came in rounds from nodes a number of hops
#: on (what it had itself, with 0 hops), and how many hops it goes.
Sum = tuple[tuple[tuple[int, int], ...] | None, int]
#: The sums of a round by the coordinate of the sender and the half of the part.
Exchange = Callable[[int, int], Sequence[Sum]]


def windows(size: int, rounds: int) -> list[list[Arrival]]:
    """An all-gather along a ring in a number of rounds, or as few as it needs: see `ring_windows`.

    >>> windows(4, 2)[1]  # at last the opposite node's chunk, half from either side
    [Arrival(hops=1, owners=((), (2,))), Arrival(hops=-1, owners=((-2,), ()))]
    """
    # A small ring may need fewer rounds than the phase has.
    counts = range(min(rounds, max(size // 2, 1)), 0, -1)
    found, window = [], 0
    for hops, _ in next(known for count in counts if (known := ring_windows(size, count))):
        row = []
        for sense in (1, -1) if size > 2 else (1,):
            far = [sense * one for one in range(window + 1, window + hops + 1)]
            shared = size > 2 and 2 * (window + hops) == size
            fewer = tuple(far[:-1])
            halves = (fewer, tuple(far)) if sense > 0 else (tuple(far), fewer)
            row.append(Arrival(sense * hops, halves if shared else (tuple(far), tuple(far))))
        found.append(row)
        window += hops
    return found


def round_the_ring(size: int) -> list[list[Arrival]]:
    """An all-gather round a ring between neighbours, half of every chunk either way.

    >>> round_the_ring(3)[1]
    [Arrival(hops=1, owners=((2,), ())), Arrival(hops=-1, owners=((), (-2,)))]
    """
    if size == 2:
        return [[Arrival(1, ((1,), (1,)))]]
    return [[Arrival(1, ((far,), ())), Arrival(-1, ((), (-far,)))] for far in range(1, size)]


def exchanges_along(kind: str, size: int) -> list[Exchange]:
    """Rounds in which all nodes of a ring get the sum over it.

    Parameters
    ----------
    kind : str
        ``sums``, ``pairs`` or ``log3``, as the family and the algorithm call them.
    size : int
        Nodes of the ring.

    Examples
    --------
    >>> [one(0, 0) for one in exchanges_along("sums", 8)]  # at last not what came from ahead
    [[(None, -1), (None, 1)], [(None, -3), (((0, 0), (0, -1)), 2)]]
    """
    if kind == "pairs":
        return [partial(_partner, size, step) for step in range(size.bit_length() - 1)]
    rounds = ring_sums(size)
    if kind == "log3" and size == 8:
        rounds = ((((0,), -1), ((0,), 1)), (((-1, 0, 1), -3), ((0, 1), 3)))
    assert rounds is not None
    return [partial(_mirrored, row) for row in named_pieces(rounds)]


def _partner(size: int, step: int, coordinate: int, half: int) -> list[Sum]:
    reach = (1 - (-2) ** (step + 1)) // 3
    return [(None, reach if coordinate % 2 == half or size == 2 else -reach)]


def _mirrored(row: Sequence[Sum], _: int, half: int) -> list[Sum]:
    if not half:
        return list(row)
    return [(pieces and tuple((turn, -whence) for turn, whence in pieces), -hops) for pieces, hops in row]


def named_pieces(rounds: Sequence[Sequence[Sending]]) -> list[list[Sum]]:
    """Sums over nodes as sums of what the sender has: when it came, and from where."""
    had: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): (0,)}
    found = []
    for turn, row in enumerate(rounds):
        table: list[Sum] = []
        for offsets, hops in row:
            pieces = tuple(name for name, piece in had.items() if set(piece) <= set(offsets))
            assert sorted(one for name in pieces for one in had[name]) == sorted(offsets)
            table.append((None if len(pieces) == len(had) else pieces, hops))
        for offsets, hops in row:
            had[turn, -hops] = tuple(offset - hops for offset in offsets)
        found.append(table)
    return found
