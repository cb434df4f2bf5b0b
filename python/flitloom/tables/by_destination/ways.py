"""Steps that lead from loaded tables to others, of which any two in a row may lie side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.mixing import judge_mixture
from flitloom.tables.by_destination.mixtures import NOTHING, are_acyclic, parts_of, places_of
from flitloom.tables.by_destination.tables import NONE, ForwardingTables, with_lanes

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
    return _Search(subnet, owners, moved_file).way(before, after)


@dataclass(frozen=True)
class _Search:
    """A way that is looked for."""

    subnet: Subnet
    owners: NDArray[np.int64]
    moved_file: str

    def tables(
        self, entries: Entries, levels: Levels, rows: NDArray[np.int64] | None = None
    ) -> ForwardingTables:
        """Tables in memory, of some destinations."""
        made = with_lanes(self.subnet, self.owners, entries, levels, None)
        if rows is None:
            return made
        assert made.levels is not None
        parts = self.owners[rows], made.following[rows], made.levels[rows]
        return replace(made, owners=parts[0], following=parts[1], levels=parts[2])

    def safe(self, one: tuple[Entries, Levels], other: tuple[Entries, Levels]) -> bool:
        """Whether both may lie side by side."""
        return judge_mixture(self.tables(*one), self.tables(*other)).passed

    def way(self, before: tuple[Entries, Levels], after: tuple[Entries, Levels]) -> Way:
        """See `way`."""
        (old, old_levels), (new, new_levels) = before, after
        # Packets between hosts of one switch are on no channel.
        roots = self.tables(new, new_levels).roots
        old_levels = old_levels.copy()
        old_levels[np.arange(len(roots)), roots] = new_levels[np.arange(len(roots)), roots]
        before = old, old_levels
        everything = Step("all entries and levels, in any order", *after)
        if np.array_equal(old, new) and np.array_equal(old_levels, new_levels):
            return Way((everything,), 0)
        found = judge_mixture(self.tables(*before), self.tables(*after))
        if found.passed:
            return Way((everything,), found.moved)
        steps, start = list[Step](), before
        missing = (old == NONE) & (new != NONE)
        if found.lost and missing.any():
            start = np.where(missing, new, old), old_levels
            steps.append(Step(f"{counted(int(missing.sum()), 'entry')} of parts that are back", *start))
        more = self.rounds(start, after)
        if more is None:
            return Way(None, found.moved)
        last = Step(more[-1].what.removesuffix(_WAIT), new, new_levels)
        steps += [*more[:-1], last]
        known = [before, *((step.following, step.levels) for step in steps)]
        safe = all(self.safe(*both) for both in pairwise(known))
        return Way(tuple(steps) if safe else None, found.moved)

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
        made = self.tables(*tables)
        parts = [part.served[0] for part in parts_of(made, made)]
        return np.concatenate([np.zeros((0, len(self.subnet.hosts)), bool), *parts])

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
        for part in parts_of(self.tables(now, levels), self.tables(new, levels)):
            bad = {*part.circles().tolist(), *(row for row, _ in part.lost())}
            rows = np.array(sorted(bad), dtype=np.int64)
            if not len(rows):
                continue
            line = np.arange(len(rows))[:, None]
            # Behind the last switch is the number for nowhere.
            there = part.next[1][rows]
            same = np.append(
                now[part.rows][rows] == new[part.rows][rows], np.ones((len(rows), 1), bool), axis=1
            )
            final = same.copy()
            while not np.array_equal(more := same & final[line, there], final):
                final = more
            ready = final[line, there][:, :-1]
            aim[part.rows.start + rows] = np.where(ready, new[part.rows][rows], now[part.rows][rows])
        return aim

    def together(
        self, now: tuple[Entries, Levels], aim: tuple[Entries, Levels]
    ) -> tuple[Entries, Levels] | None:
        """As many new entries and levels as may lie beside all others that there are; None for none.

        Entries change by destination, levels by pairs of destinations of switches, both directions at once.
        """
        changes = self.changes(now, aim)
        waits, places = self.waits(now, now, None), places_of(self.subnet)
        then = now[0].copy(), now[1].copy()
        smallest = max(1, len(changes) // _GROUPS)
        taken = False

        def add(some: list[Change]) -> None:
            nonlocal waits, then, taken
            tried = then[0].copy(), then[1].copy()
            for rows, (row, switch) in some:
                tried[0][rows] = aim[0][rows]
                tried[1][row, switch] = aim[1][row, switch]
            rows = np.unique(np.concatenate([NOTHING, *(np.append(one[0], one[1][0]) for one in some)]))
            more = np.union1d(waits, self.waits(now, tried, rows))
            if are_acyclic(*np.divmod(more, places)):
                waits, then, taken = more, tried, True
            elif len(some) > smallest:
                add(some[: len(some) // 2])
                add(some[len(some) // 2 :])

        if changes:
            add(changes)
        return then if taken else None

    def changes(self, now: tuple[Entries, Levels], aim: tuple[Entries, Levels]) -> list[Change]:
        """What changes together: entries of a destination, or levels of pairs of hosts of two switches.

        Where both change these are all that concern a switch.
        """
        roots = np.array([self.subnet.hosts[owner].switch for owner in self.owners.tolist()], dtype=np.int64)
        entries = np.flatnonzero((now[0] != aim[0]).any(axis=1))
        row, switch = np.nonzero(now[1] != aim[1])
        no_pair = NOTHING, NOTHING
        if not len(row):
            return [(np.array([one]), no_pair) for one in entries.tolist()]
        if len(entries):
            return [
                (entries[roots[entries] == one], (row[near], switch[near]))
                for one in range(len(self.subnet.switches))
                if len(near := np.flatnonzero((roots[row] == one) | (switch == one)))
                or (roots[entries] == one).any()
            ]
        ends = np.sort(np.stack([roots[row], switch]), axis=0)
        _, group = np.unique(ends, axis=1, return_inverse=True)
        group = group.reshape(-1)
        return [(NOTHING, (row[group == one], switch[group == one])) for one in range(int(group.max()) + 1)]

    def waits(
        self, one: tuple[Entries, Levels], other: tuple[Entries, Levels], rows: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Pairs of channels of which one can wait for the other, as numbers."""
        parts = parts_of(self.tables(*one, rows), self.tables(*other, rows))
        return np.unique(np.concatenate([NOTHING, *(part.waits() for part in parts)]))
