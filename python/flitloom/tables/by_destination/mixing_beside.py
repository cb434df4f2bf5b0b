"""Managers, multicast and replies beside mixtures of two sets of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.tables.by_destination.beside import Beside, assumed_tree, read_multicast
from flitloom.tables.by_destination.management import routes_of
from flitloom.tables.by_destination.mixtures import (
    LANES,
    NOTHING,
    Mixture,
    Ways,
    are_acyclic,
    parts_of,
    places_of,
    plain_lanes,
    shortest_cycle,
)
from flitloom.tables.by_destination.tables import NONE, ForwardingTables

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


def of_switches(tables: ForwardingTables) -> NDArray[np.uint32]:
    """Channels to the LIDs of all switches, by switch and switch: those to their first host, or others.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> tables = route_subnet(parse_fabric("h,a\\na,b\\nb,c\\n", hosts="h")).forwarding()
    >>> of_switches(tables)[2, :2].tolist()
    [0, 2]
    """
    switches = len(tables.subnet.switches)
    found = np.full((switches, switches), NONE, dtype=np.uint32)
    first = {root: row for row, root in reversed(list(enumerate(tables.roots)))}
    found[list(first)] = tables.following[list(first.values())]
    roots, rows = tables.to_switches or routes_of(tables.subnet)
    found[roots] = rows
    return found


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
        #: Channels to the LIDs of switches, by set.
        self.entries = [of_switches(each) for each in tables]

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
        unsafe = self.unsafe_places(tried)
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
        """What packets of pairs wait for, those with managers on the levels of managers and switches, too."""
        first = self.mixture.levels[0]
        hosts, owners = np.arange(len(self.subnet.hosts)), self.tables[0].owners
        concerned = np.isin(owners, managers)[:, None] | np.isin(hosts, managers)[None, :]
        levels = self.manager_levels
        found = [self.waits([np.where(concerned, np.uint8(level), first) for level in levels])]
        found += [self.from_switches(list(managers)), self.to_switches(list(managers))]
        return np.unique(np.concatenate(found))

    @property
    def manager_levels(self) -> list[int]:
        """Levels that managers have beside either set."""
        return sorted({each.manager_level for each in self.besides})

    def from_switches(self, managers: Sequence[int]) -> NDArray[np.int64]:
        """What answers of all switches to managers wait for, and those of hosts there."""
        rows = np.flatnonzero(np.isin(self.tables[0].owners, managers))
        roots = self.mixture.host_switches[self.tables[0].owners[rows]]
        switches = np.arange(self.mixture.none)
        found = [NOTHING]
        for some in self.mixture.together(len(rows)):
            ways = Ways(self.mixture, [each.following[rows[some]] for each in self.tables], roots[some])
            row = np.repeat(np.arange(len(ways.roots)), len(switches))
            at = np.tile(switches, len(ways.roots))
            found.append(ways.waits(row, at, self.mixture.row_of_switch[at], self.manager_levels))
        return np.unique(np.concatenate(found))

    def to_switches(self, managers: Sequence[int]) -> NDArray[np.int64]:
        """What questions of managers to all switches wait for."""
        found = [NOTHING]
        for some in self.mixture.together(self.mixture.none):
            ways = Ways(
                self.mixture, [each[some] for each in self.entries], np.arange(self.mixture.none)[some]
            )
            row = np.repeat(np.arange(len(ways.roots)), len(managers))
            host = np.tile(np.array(managers, dtype=np.int64), len(ways.roots))
            at, begin = self.mixture.host_switches[host], self.mixture.row_of_host[host]
            found.append(ways.waits(row, at, begin, self.manager_levels))
        return np.unique(np.concatenate(found))

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

    def unsafe_places(self, places: Sequence[int]) -> list[int]:
        """Places of which one manager closes a cycle."""
        tables, mixture = self.tables, self.mixture
        lanes = plain_lanes(*tables)
        if lanes is not None:
            return self.unsafe_on(lanes, places)
        if self.fits(self.of_managers(range(len(self.subnet.hosts)))):
            return []
        roots = mixture.host_switches[tables[0].owners]
        everything = Ways(mixture, [each.following for each in tables], roots)
        rows = np.arange(len(roots))
        sent: dict[int, NDArray[np.int64]] = {}
        unsafe = []
        for host in places:
            begin = int(mixture.row_of_host[host])
            if begin not in sent:
                at = np.full(len(rows), mixture.host_switches[host])
                to_hosts = everything.waits(rows, at, np.full(len(rows), begin), self.manager_levels)
                sent[begin] = np.union1d(to_hosts, self.to_switches([host]))
            if not self.fits(np.union1d(sent[begin], self.from_switches([host]))):
                unsafe.append(host)
        return unsafe

    def unsafe_on(self, lanes: int, places: Sequence[int]) -> list[int]:
        """The same where lanes are levels modulo a number."""
        before, after = np.divmod(self.known, self.places)
        known = np.stack([*np.divmod(before, LANES), *np.divmod(after, LANES)], axis=1).astype(np.uint32)
        own: dict[int, list[int]] = {}
        for row, owner in enumerate(self.tables[0].owners.tolist()):
            own.setdefault(owner, []).append(row)
        at = self.mixture.host_switches.tolist()
        first, second = (
            (each.following, entries) for each, entries in zip(self.tables, self.entries, strict=True)
        )
        used = sum(1 << lane for lane in {level % lanes for level in self.manager_levels})
        found = _core.unsafe_managers(
            self.subnet.core(),
            self.tables[0].roots,
            first,
            second,
            known,
            [(at[host], own.get(host, [])) for host in places],
            used,
            lanes,
        )
        return [places[number] for number in found]
