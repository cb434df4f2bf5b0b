"""Managers, multicast and replies beside mixtures of two sets of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.tables.by_destination.beside import Beside, assumed_tree, read_multicast
from flitloom.tables.by_destination.mixtures import (
    LANES,
    NOTHING,
    Destinations,
    Mixture,
    are_acyclic,
    parts_of,
    places_of,
    shortest_cycle,
)
from flitloom.tables.by_destination.tables import ForwardingTables

#: Places of one manager that are tried; of more hosts so many at equal distances.
_PLACES = 1024
#: Tables with more entries are judged for managers that are named only.
_MOST = 1 << 20


def both_levels(first: ForwardingTables, second: ForwardingTables) -> list[NDArray[np.uint8]]:
    """Levels of either set, by destination and host, that packets have whose pair took that of the reply."""
    owners = first.owners
    base = np.searchsorted(owners, np.arange(len(first.subnet.hosts)))
    levels = (each.levels for each in (first, second) if each.levels is not None)
    return [np.ascontiguousarray(each[base][:, owners].T) for each in levels]


def besides_of(first: Beside, second: Beside, managers: Sequence[str] = ()) -> tuple[Beside, Beside]:
    """What is known of managers and multicast beside each of two sets of tables; managers are those of both.

    >>> [each.managers for each in besides_of(Beside(managers=("a",)), Beside(managers=("b",)))]
    [('a', 'b'), ('a', 'b')]
    """
    named = tuple(managers) or tuple(dict.fromkeys((*first.managers, *second.managers)))
    return replace(first, managers=named), replace(second, managers=named)


class MixedKinds:
    """Kinds of traffic beside a mixture whose host pairs cannot deadlock.

    Parameters
    ----------
    tables : tuple of ForwardingTables
        Both sets.
    besides : tuple of Beside
        What is known of managers and multicast beside each.
    waits : array
        Pairs of channels with their lanes of which one can wait for the other, as numbers.
    """

    def __init__(
        self,
        tables: tuple[ForwardingTables, ForwardingTables],
        besides: tuple[Beside, Beside],
        waits: NDArray[np.int64],
    ) -> None:
        self.tables, self.besides, self.known = tables, besides, waits
        self.subnet = tables[0].subnet
        self.mixture = Mixture(*tables)
        self.places = places_of(self.subnet)

    def facts(self) -> dict[str, Any]:
        """Cycles of every kind beside those before it that have none, as `beside.verdicts` takes them."""
        found: dict[str, Any] = {"places": 0, "unsafe_places": []}
        found["both_ways"] = self.add(self.waits(both_levels(*self.tables)))
        found["multicast"] = self.add(self.multicast())
        managers = self.besides[0].hosts(self.subnet)
        if managers or self.tables[0].following.size > _MOST:
            return found | {"managers": self.add(self.of_managers(managers))}
        hosts = len(self.subnet.hosts)
        tried = list(range(0, hosts, -(-hosts // _PLACES) or 1))
        unsafe = [] if self.fits(self.of_managers(range(hosts))) else self.unsafe_places(tried)
        cycle = self.add(self.of_managers(unsafe[:1])) if unsafe else []
        return found | {"places": len(tried), "unsafe_places": unsafe, "managers": cycle}

    def add(self, more: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Add what more packets wait for, unless that closes a cycle, which comes back then."""
        both = np.union1d(self.known, more)
        cycle = shortest_cycle(*np.divmod(both, self.places))
        if not cycle:
            self.known = both
        return [divmod(place, LANES) for place in cycle]

    def fits(self, more: NDArray[np.int64]) -> bool:
        """Whether it closes none."""
        return are_acyclic(*np.divmod(np.union1d(self.known, more), self.places))

    def waits(self, levels: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
        """What packets wait for that have other levels than those of the tables, too."""
        parts = parts_of(*self.tables, levels)
        return np.unique(np.concatenate([NOTHING, *(part.waits() for part in parts)]))

    def of_managers(self, managers: Sequence[int]) -> NDArray[np.int64]:
        """What packets of pairs wait for, those with managers on the levels of managers, too."""
        first = self.mixture.levels[0]
        hosts, owners = np.arange(len(self.subnet.hosts)), self.tables[0].owners
        concerned = np.isin(owners, managers)[:, None] | np.isin(hosts, managers)[None, :]
        levels = sorted({each.manager_level for each in self.besides})
        return self.waits([np.where(concerned, np.uint8(level), first) for level in levels])

    def multicast(self) -> NDArray[np.int64]:
        """What packets of multicast trees wait for, on a lane of either set."""
        files = [each.multicast for each in self.besides if each.multicast is not None]
        trees = [tree for file in files for tree in read_multicast(self.subnet, file)]
        ends = self.subnet.cable_ends().astype(np.int64).reshape(-1)
        found = [NOTHING]
        for tree in trees if files else assumed_tree(self.subnet):
            channels = np.array(tree, dtype=np.int64)
            tails, heads = ends[channels], ends[channels ^ 1]
            before, after = np.nonzero(heads[:, None] == tails[None, :])
            onwards = channels[before] != channels[after] ^ 1
            pair = channels[before[onwards]], channels[after[onwards]]
            levels = sorted({each.multicast_level for each in self.besides})
            found += [self.on_lanes(*pair, level) for level in levels]
        return np.unique(np.concatenate(found))

    def on_lanes(self, before: NDArray[np.int64], after: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """Channels one behind the other, on each lane that either set has for a level there."""
        mixture = self.mixture
        # What comes first may be on any lane that the level has somewhere.
        everywhere = np.arange(mixture.size, dtype=np.int64)
        lanes = {lane for each in mixture.lanes(everywhere, level) for lane in np.unique(each).tolist()}
        entries = mixture.row_in[before] + mixture.column[after]
        found = [NOTHING]
        for behind in mixture.lanes(entries, level):
            for lane in sorted(lanes - {LANES}):
                kept = behind < LANES
                here = (before[kept] * LANES + lane) * self.places
                found.append(here + after[kept] * LANES + behind[kept])
        return np.unique(np.concatenate(found))

    @cached_property
    def everything(self) -> Destinations:
        """All destinations at once."""
        return Destinations(self.mixture, slice(0, len(self.tables[0].owners)))

    def unsafe_places(self, places: Sequence[int]) -> list[int]:
        """Places of which one manager closes a cycle."""
        switches = self.mixture.host_switches
        ways: dict[int, NDArray[np.int64]] = {}
        unsafe = []
        everyone = np.unique(switches)
        for host in places:
            at = int(switches[host])
            if at not in ways:
                rows = np.arange(len(self.everything.roots))
                ways[at] = self.along(rows, np.full(len(rows), at))
            rows = np.flatnonzero(self.tables[0].owners == host)
            own = self.along(np.repeat(rows, len(everyone)), np.tile(everyone, len(rows)))
            if not self.fits(np.union1d(ways[at], own)):
                unsafe.append(host)
        return unsafe

    def along(self, row: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
        """What packets to destinations wait for from some switches on, on the levels of managers."""
        whole, none = self.everything, self.mixture.none
        seen = np.zeros((len(whole.roots), none + 1), dtype=bool)
        seen[whole.line[:, 0], whole.roots] = True
        seen[:, none] = True
        begun = seen.copy()
        while True:
            fresh = ~seen[row, at]
            row, at = row[fresh], at[fresh]
            if not len(row):
                break
            seen[row, at] = True
            row, at = np.tile(row, 2), whole.next[:, row, at].reshape(-1)
        row, at = np.nonzero(seen & ~begun)
        found, levels = [NOTHING], sorted({each.manager_level for each in self.besides})
        for first in whole.channels:
            channel = first[row, at]
            there = self.mixture.heads[channel]
            passes = (there != none) & (there != whole.roots[row])
            for second in whole.channels:
                behind = second[row[passes], there[passes]]
                leads = behind != len(self.mixture.heads) - 1
                pair = channel[passes][leads], behind[leads]
                found += [self.on_lanes(*pair, level) for level in levels]
        return np.unique(np.concatenate(found))
