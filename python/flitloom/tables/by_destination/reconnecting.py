"""Repairs in which few pairs get another service level, looked for in several orders of what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
from flitloom.tables.by_destination.patching import Patch, are_few, missing_entries
from flitloom.tables.by_destination.tables import NONE

#: Orders of missing entries that are tried.
_ORDERS = 24


def reconnected(
    subnet: Subnet,
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    there: int,
    choices: Sequence[Sequence[int]],
) -> tuple[dict[str, Any], Sequence[int]] | None:
    """Entries in place of those that are missing, and levels of pairs that cannot keep theirs; None for none.

    The lanes of the first choice with which that is possible come with them. Both directions of a pair get
    the same level. No mixture of old and new entries can deadlock where pairs have their new levels before
    entries change.

    Parameters
    ----------
    following, levels, lost, there
        As of `flitloom.tables.by_destination.patching.patched`.
    choices : sequence of sequence of int
        Lanes that pairs may get, the most welcome one first; all choices are tried one after the other.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.patching import missing_entries
    >>> from flitloom.tables.by_destination.reconnecting import reconnected
    >>> from flitloom.tables.by_destination.repairing import read_old
    >>> from flitloom.tables.by_destination.tables import destinations
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("full6").write(folder)
    ...     left = fl.tables.fabric("full6", fail=["link:(0)-(1)"])
    ...     before = read_old(left, folder, *destinations(left))
    >>> tables = before.following, before.levels, before.lost
    >>> found, lanes = reconnected(left, *tables, 8, [range(8)])
    >>> len(missing_entries(left, before.following)), int((found["levels"] != before.levels).sum())
    (2, 0)
    """
    places = missing_entries(subnet, following)
    if not are_few(subnet, following, places):
        return None
    patch = _Reconnecting(subnet, following, levels, lost, there)
    for lanes in choices if patch.known() else ():
        patch.allowed = lanes
        if (made := patch.found(places)) is not None:
            return made, lanes
    return None


class _Reconnecting(Patch):
    """Tables that are patched where pairs may get another level."""

    def __init__(
        self,
        subnet: Subnet,
        following: NDArray[np.uint32],
        levels: NDArray[np.uint8],
        lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
        there: int,
    ) -> None:
        super().__init__(subnet, following, levels, lost, there)
        #: Lanes that pairs may get.
        self.allowed: Sequence[int] = ()
        self.before: list[list[int]] = following.tolist()
        self.rows_of: dict[int, list[int]] = {}
        for row, root in enumerate(self.roots):
            self.rows_of.setdefault(root, []).append(row)
        # Destination, switch of the source, and the lanes before, as they have changed.
        self.moves: list[tuple[int, int, int]] = []

    def found(self, missing: list[list[int]], orders: int = _ORDERS) -> dict[str, Any] | None:
        made = super().found(missing, orders)
        if made is None:
            return None
        levels = self.levels.copy()
        for row, switch, _ in self.moves:
            levels[row, switch] = self.lanes[row][switch].bit_length() - 1
        return made | {"levels": levels}

    def forget(self, to: tuple[int, int, int]) -> None:
        if to == (0, 0, 0):
            self.take_back(0)
        super().forget(to)

    def take_back(self, to: int) -> None:
        """Give pairs the lanes that they had before some moves."""
        while len(self.moves) > to:
            row, switch, lanes = self.moves.pop()
            self.lanes[row][switch] = lanes

    def patch(self, row: int, switch: int) -> bool:
        return super().patch(row, switch) or any(
            self.moved(row, changes)
            for kinds in (self.choices, self.detours)
            for _, _, changes in sorted(kinds(row, switch))
        )

    def moved(self, row: int, changes: list[tuple[int, int]]) -> bool:
        """Change entries of a destination, and the levels of pairs that cannot keep theirs."""
        moves = len(self.moves)
        taken = self.take(row, changes, self.settled)
        if not taken:
            self.take_back(moves)
        return taken

    def settled(self, row: int, switches: Sequence[int]) -> bool:
        """Whether all that comes through some switches may wait for what is behind them, on some lane."""
        return all(self.settles(row, source) for source in self.behind(row, {*switches}))

    def behind(self, row: int, through: set[int]) -> list[int]:
        """Switches with hosts whose packets to a destination come through some switches."""
        found = []
        for source, hosts in enumerate(self.hosts):
            if hosts and source != self.roots[row]:
                way = self.way(row, source)
                if way is not None and through & {source, *(self.heads[channel] for channel in way)}:
                    found.append(source)
        return found

    def settles(self, row: int, source: int) -> bool:
        """Whether packets of a source can wait for what is behind it, if need be on another lane."""
        kept = self.lanes[row][source].bit_length() - 1
        if self.takes([(row, source)], kept):
            return True
        root = self.roots[row]
        both = [(other, source) for other in self.rows_of[root]]
        both += [(other, root) for other in self.rows_of.get(source, ())]
        for lane in self.allowed:
            if lane != kept and self.takes(both, lane):
                for other, switch in both:
                    self.moves.append((other, switch, self.lanes[other][switch]))
                    self.lanes[other][switch] = 1 << lane
                return True
        return False

    def takes(self, pairs: Sequence[tuple[int, int]], lane: int) -> bool:
        """Have packets wait for what is behind them, by old and new entries; false if they cannot."""
        before = len(self.order.changes)
        for row, source in pairs:
            for entries in (self.next[row], self.before[row]):
                at, channel = source, entries[source]
                while channel != NONE and (at := self.heads[channel]) != self.roots[row]:
                    following = entries[at]
                    if following != NONE and not self.order.add(lane, channel, following):
                        self.order.undo(before)
                        return False
                    channel = following
        return True
