"""Steps that lead from loaded tables to others, of which any two in a row may lie side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.mixtures import NOTHING, are_safe, mixed
from flitloom.tables.by_destination.tables import NONE, ForwardingTables, lanes_of_links, with_lanes

#: Tables with more entries are not compared: every step takes longer than the tables.
MOST = 1 << 20
#: Rounds of entries that are tried.
_ROUNDS = 32
#: The share of pairs of hosts whose packets may be lost in a step.
MOST_LOST = 0.05
#: Names that are shown.
_SHOWN = 3
#: Groups of changes that are tried alone, at most.
_GROUPS = 32

#: What comes after pairs got other levels.
_WAIT = ", and old packets arrive, before the next stage"

Entries = NDArray[np.uint32]
Levels = NDArray[np.uint8]
#: Destinations whose entries change, and destinations and switches of the sources of pairs whose level does.
Change = tuple[NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class Step:
    """Tables between others, and what differs from those before them.

    Attributes
    ----------
    what : str
        What differs, and what it must wait for.
    following, levels : array
        Channel, and service level, by destination and switch.
    """

    what: str
    following: Entries
    levels: Levels


@dataclass(frozen=True)
class Way:
    """How to get from tables to others.

    Attributes
    ----------
    steps : tuple of Step or None
        One after the other, the last one with the other tables; None where no order is known.
    moved : int
        Ordered pairs of hosts that both serve, on another service level.
    """

    steps: tuple[Step, ...] | None
    moved: int


def way(
    subnet: Subnet,
    owners: NDArray[np.int64],
    before: tuple[Entries, Levels],
    after: tuple[Entries, Levels],
    moved_file: str = "moved-pairs.txt",
) -> Way:
    """The steps from tables to others, of which any two in a row may lie side by side.

    Entries that are missing before come first. Then entries change, as many at once as can, and pairs take
    new levels where entries wait for that. Where neither can, some entries are left out for a step: their
    packets are lost meanwhile.

    Parameters
    ----------
    owners : array
        The host of every destination.
    before, after : tuple of array
        Channel, and service level, by destination and switch.
    moved_file : str
        The file that lists pairs whose level moves.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> made = route_subnet(parse_fabric("".join(f"s{n},s{(n + 1) % 5}\\n" for n in range(5))))
    >>> tables = made.following, made.levels
    >>> [step.what for step in way(made.subnet, made.owners, tables, tables).steps]
    ['all entries and levels, in any order']
    """
    lanes = lanes_of_links(max(int(levels.max(initial=0)) for _, levels in (before, after)) + 1)
    return _Search(subnet, owners, moved_file, lanes).way(before, after)


@dataclass(frozen=True)
class _Search:
    """A way that is looked for."""

    subnet: Subnet
    owners: NDArray[np.int64]
    moved_file: str
    #: Lanes of the links.
    lanes: int

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """The switch of every destination."""
        hosts = np.array([host.switch for host in self.subnet.hosts], dtype=np.int64)
        return hosts[self.owners]

    @cached_property
    def sends(self) -> NDArray[np.bool_]:
        """By switch whether it has hosts."""
        return np.array(self.subnet.hosts_per_switch()) > 0

    @cached_property
    def core(self) -> _core.Network:
        """The switches as the core has them."""
        return self.subnet.core()

    def tables(self, entries: Entries, levels: Levels) -> ForwardingTables:
        """Tables in memory."""
        return replace(with_lanes(self.subnet, self.owners, entries, levels, None), lanes=self.lanes)

    def mixed(
        self, one: tuple[Entries, Levels], other: tuple[Entries, Levels]
    ) -> tuple[bool, dict[str, Any]]:
        """Whether both may lie side by side, and what their mixtures do."""
        found = mixed(self.tables(*one), self.tables(*other))
        assert found is not None
        return are_safe(found), found

    def way(self, before: tuple[Entries, Levels], after: tuple[Entries, Levels]) -> Way:
        """See `way`."""
        (old, old_levels), (new, new_levels) = before, after
        # Packets between hosts of one switch are on no channel, and others have no hosts.
        old_levels = np.where(self.sends, old_levels, new_levels)
        rows = np.arange(len(self.roots))
        old_levels[rows, self.roots] = new_levels[rows, self.roots]
        before = old, old_levels
        everything = Step("all entries and levels, in any order", *after)
        if np.array_equal(old, new) and np.array_equal(old_levels, new_levels):
            return Way((everything,), 0)
        passed, found = self.mixed(before, after)
        if passed:
            return Way((everything,), found["moved"])
        steps, start = list[Step](), before
        missing = (old == NONE) & (new != NONE)
        if found["lost"] and missing.any():
            start = np.where(missing, new, old), old_levels
            steps.append(Step(f"{counted(int(missing.sum()), 'entry')} of parts that are back", *start))
        more = self.rounds(start, after)
        if more is None:
            return Way(None, found["moved"])
        last = Step(more[-1].what.removesuffix(_WAIT), new, new_levels)
        steps += [*more[:-1], last]
        known = [before, *((step.following, step.levels) for step in steps)]
        safe = all(self.mixed(*both)[0] for both in pairwise(known))
        return Way(tuple(steps) if safe else None, found["moved"])

    def rounds(self, before: tuple[Entries, Levels], after: tuple[Entries, Levels]) -> list[Step] | None:
        """Steps that change entries, else levels, else both, as many as can; None where some never can."""
        now, steps, served = before, list[Step](), self.reached(before)
        while not (np.array_equal(now[0], after[0]) and np.array_equal(now[1], after[1])):
            if len(steps) == _ROUNDS:
                return None
            aim = self.aim(now[0], after[0], now[1]), after[1]
            for entries, levels in ((True, False), (False, True), (True, True)):
                then = self.together(now, (aim[0] if entries else now[0], aim[1] if levels else now[1]))
                if then is not None:
                    break
            else:
                then = self.left_out(now, after)
                if then is None:
                    return None
            steps.append(Step(self.said(now, then, served), *then))
            now = then
        return steps

    def left_out(
        self, now: tuple[Entries, Levels], after: tuple[Entries, Levels]
    ) -> tuple[Entries, Levels] | None:
        """The tables less the entries that differ, if few pairs need them."""
        stuck = (now[0] != after[0]) & (now[0] != NONE)
        less = np.where(stuck, NONE, now[0]), now[1]
        served = self.reached(now)
        lost = served & ~self.reached(less)
        return less if stuck.any() and lost.sum() <= MOST_LOST * served.sum() else None

    def reached(self, tables: tuple[Entries, Levels]) -> NDArray[np.bool_]:
        """Whether tables serve a destination and a host on another switch."""
        there = self.ahead(tables[0])
        there[np.arange(len(self.roots)), self.roots] = self.roots
        # Twice as far with every step.
        for _ in range(len(self.subnet.switches).bit_length()):
            there = np.take_along_axis(there, there, axis=1)
        hosts = np.array([host.switch for host in self.subnet.hosts], dtype=np.int64)
        others: NDArray[np.bool_] = hosts[None, :] != self.roots[:, None]
        others &= there[:, hosts] == self.roots[:, None]
        return others

    def ahead(self, entries: Entries) -> NDArray[np.int64]:
        """The switch that every entry leads to; the number behind the last one for nowhere."""
        none = len(self.subnet.switches)
        heads = np.append(self.subnet.cable_ends().astype(np.int64)[:, ::-1].reshape(-1), none)
        there = np.full((len(entries), none + 1), none, dtype=np.int64)
        there[:, :none] = heads[np.minimum(entries, len(heads) - 1)]
        return there

    def said(
        self, now: tuple[Entries, Levels], then: tuple[Entries, Levels], served: NDArray[np.bool_]
    ) -> str:
        """What differs between two steps, of pairs that were served at first."""
        entries = counted(int((now[0] != then[0]).sum()), "entry")
        hosts = np.array([host.switch for host in self.subnet.hosts])
        gone = (now[0] != NONE) & (then[0] == NONE)
        if gone.any():
            names = [self.subnet.hosts[owner].name for owner in self.owners[gone.any(axis=1)].tolist()]
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            lost = f"packets to {', '.join(names[:_SHOWN])}{more} are lost until the next stage"
            return f"{entries} are left out, so that old packets leave them:\n{lost}"
        differs = (now[1] != then[1])[:, hosts] & served
        if not differs.any():
            return f"{entries}, in any order"
        pairs = counted(int(differs.sum()), "pair")
        said = (
            f"{pairs} of hosts get the levels that {self.moved_file} lists:\n"
            f"their connections must be opened anew{_WAIT}"
        )
        return f"{entries}, and {said}" if (now[0] != then[0]).any() else said

    def aim(self, now: Entries, new: Entries, levels: Levels) -> Entries:
        """New entries, except that packets to a destination neither go round nor are lost.

        Where all of a destination would let them, an entry changes when the way behind it is new.
        """
        aim = new.copy()
        found = self.mixed((now, levels), (new, levels))[1]
        rows = np.array(sorted({*found["circles"], *(row for row, _ in found["lost"])}), dtype=np.int64)
        if not len(rows):
            return aim
        line, there = np.arange(len(rows))[:, None], self.ahead(new[rows])
        same = np.append(now[rows] == new[rows], np.ones((len(rows), 1), bool), axis=1)
        final = same.copy()
        while not np.array_equal(more := same & final[line, there], final):
            final = more
        ready = final[line, there][:, :-1]
        aim[rows] = np.where(ready, new[rows], now[rows])
        return aim

    def together(
        self, now: tuple[Entries, Levels], aim: tuple[Entries, Levels]
    ) -> tuple[Entries, Levels] | None:
        """As many new entries and levels as may lie beside all others that there are; None for none.

        Entries change by destination, levels by pairs of destinations of switches, both directions at once.
        """
        changes = self.changes(now, aim)
        senders = np.flatnonzero(self.sends)
        column = np.cumsum(self.sends) - 1
        first, second = (
            (entries, np.ascontiguousarray(levels[:, senders])) for entries, levels in (now, aim)
        )
        told = [
            (rows.tolist(), list(zip(row.tolist(), column[switch].tolist(), strict=True)))
            for rows, (row, switch) in changes
        ]
        smallest = max(1, len(changes) // _GROUPS)
        places = self.roots.tolist(), senders.tolist()
        found = _core.change_together(self.core, *places, first, second, told, smallest, self.lanes)
        if found is None:
            return None
        levels = now[1].copy()
        levels[:, senders] = found[1]
        return found[0], levels

    def changes(self, now: tuple[Entries, Levels], aim: tuple[Entries, Levels]) -> list[Change]:
        """What changes together: entries of a destination, or levels of pairs of hosts of two switches.

        Where both change these are all that concern a switch.
        """
        roots = self.roots
        entries = np.flatnonzero((now[0] != aim[0]).any(axis=1))
        row, switch = np.nonzero(now[1] != aim[1])
        no_pair = NOTHING, NOTHING
        if not len(row):
            return [(np.array([one]), no_pair) for one in entries.tolist()]
        switches = len(self.subnet.switches)
        if len(entries):
            near = _grouped(np.concatenate([roots[row], switch]), switches)
            own = _grouped(roots[entries], switches)
            return [
                (entries[mine], (row[pairs % len(row)], switch[pairs % len(row)]))
                for mine, pairs in zip(own, near, strict=True)
                if len(mine) or len(pairs)
            ]
        ends = np.minimum(roots[row], switch) * switches + np.maximum(roots[row], switch)
        _, group = np.unique(ends, return_inverse=True)
        groups = _grouped(group, int(group.max()) + 1)
        return [(NOTHING, (row[pairs], switch[pairs])) for pairs in groups]


def _grouped(keys: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """The places of every key, of a number of keys.

    >>> [places.tolist() for places in _grouped(np.array([2, 0, 2]), 3)]
    [[1], [], [0, 2]]
    """
    ends = np.cumsum(np.bincount(keys, minlength=count))[:-1]
    return np.split(np.argsort(keys, kind="stable"), ends)
