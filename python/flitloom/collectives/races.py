"""Who reads and writes which place of the GPUs' buffers, and whether anything orders that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flitloom.collectives.contents import Place
from flitloom.collectives.order import Order


class Access(NamedTuple):
    """A read or write of a place.

    Attributes
    ----------
    start : int
        The event whose predecessors are over when it begins.
    end : list of int
        The event before which it is over; empty as long as nothing waits for it.
    work : int
        Which piece of work it belongs to; those of one piece are in order.
    actor : int
        Who does it; later pieces of work of an actor are over later.
    name : object
        The step or operation; `str` names it.
    writes : bool
        Whether it writes.
    proven : bool
        Whether who reads it waits for the data themselves, as for packets.
    """

    start: int
    end: list[int]
    work: int
    actor: int
    name: object
    writes: bool
    proven: bool = False


class _Cell:
    """The last write of a place, and the reads after it, the last one of every actor."""

    __slots__ = ("reads", "write")

    def __init__(self) -> None:
        self.write: Access | None = None
        #: Most places have one reader, and there are very many.
        self.reads: Access | dict[int, Access] | None = None

    def readers(self) -> list[Access]:
        """The last read of every actor."""
        if self.reads is None:
            return []
        return list(self.reads.values()) if isinstance(self.reads, dict) else [self.reads]

    def read(self, access: Access) -> None:
        """Note a read."""
        known = self.reads
        if known is None or (isinstance(known, Access) and known.actor == access.actor):
            self.reads = access
        elif isinstance(known, Access):
            self.reads = {known.actor: known, access.actor: access}
        else:
            known[access.actor] = access


class Accesses:
    """All accesses of a run, in its order.

    Examples
    --------
    >>> from flitloom.collectives.order import Order
    >>> from flitloom.collectives.races import Access, Accesses
    >>> order = Order()
    >>> one, other = (order.add(order.chain(group=0)) for _ in range(2))
    >>> accesses = Accesses(order)
    >>> accesses.note(0, ("o", 3), Access(one, [one], 0, 0, "step 4", writes=True))
    >>> accesses.note(0, ("o", 3), Access(other, [other], 1, 1, "step 5", writes=False))
    >>> accesses.races()
    ['step 5: reads chunk 3 of buffer o of gpu 0, and nothing orders this with step 4, which writes it']
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self._cells: dict[tuple[int, Place], _Cell] = {}
        #: Pairs of accesses of which at least one writes, by the work they belong to.
        self._pairs: dict[tuple[int, int, bool], tuple[Access, Access, int, Place]] = {}

    def note(self, gpu: int, place: Place, access: Access, proven: bool = False) -> None:
        """Note an access to a place of a GPU; `proven` if it waited for what was written there last."""
        key = (gpu, place)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell()
        if access.writes:
            for read in cell.readers():
                self._pair(read, access, gpu, place)
            if cell.write is not None and not (cell.write.proven and cell.reads):
                self._pair(cell.write, access, gpu, place)
            cell.write, cell.reads = access, None
            return
        if cell.write is not None and not proven:
            self._pair(cell.write, access, gpu, place)
        cell.read(access)

    def writer(self, gpu: int, place: Place) -> object | None:
        """The step or operation that has written to a place last; None if nothing has."""
        cell = self._cells.get((gpu, place))
        return None if cell is None or cell.write is None else cell.write.name

    def _pair(self, first: Access, then: Access, gpu: int, place: Place) -> None:
        if first.work != then.work and not (first.end and self.order.follows(first.end[0], then.start)):
            self._pairs.setdefault((first.work, then.work, first.writes), (first, then, gpu, place))

    def races(self, meetings: Sequence[tuple[int, int, str]] = ()) -> list[str]:
        """Accesses that nothing orders, each named with both steps.

        Before them come the texts of `meetings`, each behind the events that it needs in order, that are not.
        """
        found = list(self._pairs.values())
        known = [one for one in found if one[0].end]
        asked = [(one[0].end[0], one[1].start) for one in known]
        late = self.order.unordered([*((first, then) for first, then, _ in meetings), *asked])
        mixed = [meetings[number][2] for number in late if number < len(meetings)]
        found = [one for one in found if not one[0].end] + [
            known[number - len(meetings)] for number in late if number >= len(meetings)
        ]
        if self.order.relax():
            # A signal without release and acquire orders what was read before it, but not what was written.
            reads = self._unordered([one for one in found if not one[0].writes])
            found = [one for one in found if one[0].writes] + reads
        found.sort(key=lambda one: (one[1].work, one[0].work))
        return mixed + [
            f"{then.name}: {'writes' if then.writes else 'reads'} chunk {place[1]} of buffer {place[0]} of "
            f"gpu {gpu}, and nothing orders this with {first.name}, which "
            f"{'writes' if first.writes else 'reads'} it"
            for first, then, gpu, place in found
        ]

    def _unordered(
        self, pairs: list[tuple[Access, Access, int, Place]]
    ) -> list[tuple[Access, Access, int, Place]]:
        known = [one for one in pairs if one[0].end]
        asked = [(one[0].end[0], one[1].start) for one in known]
        return [one for one in pairs if not one[0].end] + [
            known[number] for number in self.order.unordered(asked)
        ]
