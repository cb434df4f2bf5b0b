"""What happens before what, whatever the order in which threadblocks run: vector clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Chains of which all events are told about at once; more take several passes.
COLUMNS = 2048


class Order:
    """Events in the order of one run, each with those that precede it in every run.

    The events of a chain follow each other. An event knows of a chain how many of its events precede it;
    that is its clock (C. Fidge, 1988; F. Mattern, 1989), and it answers which events precede it.

    Examples
    --------
    >>> from flitloom.collectives.order import Order
    >>> order = Order()
    >>> one, other = order.chain(group=0), order.chain(group=1)
    >>> send = order.add(one)
    >>> later = order.add(one)
    >>> receive = order.add(other, [send])
    >>> order.unordered([(send, receive), (later, receive)])
    [1]
    """

    def __init__(self) -> None:
        self._preds: list[list[int]] = []
        self._chain: list[int] = []
        #: Which of the events of its chain an event is, from 1.
        self._place: list[int] = []
        self._group: list[int] = []
        self._last: list[int] = []
        self._groups: list[int] = []
        self._relaxed: list[tuple[int, int]] = []
        #: Per chain how many events of other chains its events have been told to follow.
        self._told: list[dict[int, int]] = []

    def chain(self, group: int) -> int:
        """A new chain of events, of a group (a GPU)."""
        self._last.append(-1)
        self._groups.append(group)
        self._told.append({})
        return len(self._last) - 1

    def add(self, chain: int, preds: Iterable[int] = ()) -> int:
        """A new event of a chain, which the chain's last one and `preds` precede."""
        last = self._last[chain]
        known = [last] if last >= 0 else []
        told = self._told[chain]
        for event in preds:
            if event != last:
                known.append(event)
                other, place = self._chain[event], self._place[event]
                if other >= 0 and told.get(other, 0) < place:
                    told[other] = place
        self._last[chain] = len(self._preds)
        return self._append(chain, 1 + (self._place[last] if last >= 0 else 0), self._groups[chain], known)

    def follows(self, first: int, then: int) -> bool:
        """Whether the last event of a chain follows an event of a chain for a reason that is seen at once.

        That is where it, or an event before it in its chain, was added with this one or a later one of its
        chain in `preds`. False says nothing.
        """
        chain, other = self._chain[then], self._chain[first]
        if chain < 0 or other < 0 or self._last[chain] != then:
            return False
        return (first <= then) if chain == other else self._told[chain].get(other, 0) >= self._place[first]

    def add_loose(self, group: int, preds: Iterable[int]) -> int:
        """A new event of no chain; it is nobody's first event in `unordered`."""
        return self._append(-1, 0, group, list(preds))

    def precede(self, first: int, then: int) -> None:
        """Note that an event precedes a later one of the run."""
        self._preds[then].append(first)

    def precede_relaxed(self, first: int, then: int) -> None:
        """Note that an event precedes a later one without making known what was written before it."""
        self._relaxed.append((first, then))

    def relax(self) -> bool:
        """Count what `precede_relaxed` has noted like everything else from now on; whether there is any."""
        found = bool(self._relaxed)
        for first, then in self._relaxed:
            self.precede(first, then)
        self._relaxed = []
        return found

    def last(self, chain: int) -> int:
        """The last event of a chain."""
        return self._last[chain]

    def _append(self, chain: int, place: int, group: int, preds: list[int]) -> int:
        self._chain.append(chain)
        self._place.append(place)
        self._group.append(group)
        self._preds.append(preds)
        return len(self._preds) - 1

    def unordered(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        """Which of the pairs (event of a chain, event) are not in this order in every run.

        An event and itself are in order.
        """
        left = [
            number
            for number, (first, then) in enumerate(pairs)
            if self._chain[first] != self._chain[then] or first > then
        ]
        if len({self._chain[pairs[number][0]] for number in left}) > COLUMNS // 4:
            # Most are in order within a GPU, or after a message from the GPU of the first one.
            left = self._left(pairs, left, self._near_columns())
        chains = sorted({self._chain[pairs[number][0]] for number in left})
        found: list[int] = []
        for begin in range(0, len(chains), COLUMNS):
            column = {chain: place for place, chain in enumerate(chains[begin : begin + COLUMNS])}
            now = [number for number in left if self._chain[pairs[number][0]] in column]
            found += self._left(pairs, now, column)
        return sorted(found)

    def _near_columns(self) -> list[dict[int, int]]:
        """Per group its own chains, and those of other groups whose events directly precede its own."""
        near: list[dict[int, int]] = [{} for _ in range(max(self._groups, default=-1) + 1)]
        for chain, group in enumerate(self._groups):
            near[group].setdefault(chain, len(near[group]))
        for event, preds in enumerate(self._preds):
            group = self._group[event]
            for one in preds:
                if self._group[one] != group and self._chain[one] >= 0:
                    near[group].setdefault(self._chain[one], len(near[group]))
        return near

    def _left(
        self,
        pairs: Sequence[tuple[int, int]],
        numbers: Sequence[int],
        columns: dict[int, int] | list[dict[int, int]],
    ) -> list[int]:
        """Pairs of which clocks with the given columns do not know that they are in order."""
        asked: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            asked[pairs[number][1]].append(number)
        uses = np.zeros(len(self._preds), dtype=np.int64)
        for preds in self._preds:
            for one in preds:
                uses[one] += 1
        waiting: list[int] = uses.tolist()
        near = isinstance(columns, list)
        clocks: dict[int, NDArray[np.int32]] = {}
        left: list[int] = []
        for event, preds in enumerate(self._preds):
            group, chain = self._group[event], self._chain[event]
            column = columns[group] if isinstance(columns, list) else columns
            clock: NDArray[np.int32] | None = None
            others: list[NDArray[np.int32]] = []
            direct: list[int] = []
            for one in preds:
                waiting[one] -= 1
                if near and self._group[one] != group:
                    direct.append(one)
                    known = clocks.pop(one, None) if waiting[one] == 0 else None
                    continue
                known = clocks.get(one)
                if waiting[one] == 0:
                    clocks.pop(one, None)
                    if clock is None and known is not None:
                        # Nobody else needs it any more.
                        clock, known = known, None
                if known is not None:
                    others.append(known)
            place = column.get(chain, -1)
            if clock is None and (others or direct or place >= 0):
                clock = others.pop().copy() if others else np.zeros(len(column), dtype=np.int32)
            if clock is not None:
                for known in others:
                    np.maximum(clock, known, out=clock)
                for one in direct:
                    where = column.get(self._chain[one], -1)
                    if where >= 0:
                        clock[where] = max(clock[where], self._place[one])
                if place >= 0:
                    clock[place] = self._place[event]
            for number in asked.get(event, ()):
                first = pairs[number][0]
                where = column.get(self._chain[first], -1)
                if clock is None or where < 0 or clock[where] < self._place[first]:
                    left.append(number)
            if clock is not None and waiting[event] > 0:
                clocks[event] = clock
        return left
