"""The packets of destinations where every entry of every switch is of either of two sets of tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.tables.by_destination.tables import (
    LEVELS,
    NONE,
    ForwardingTables,
    lanes_of_links,
    port_rows,
)

#: Entries of tables that are looked at together.
_TOGETHER = 200_000
#: Channels through which a cycle is looked for that is shorter than one that is found.
_STARTS = 200
#: No pairs of channels.
NOTHING = np.zeros(0, dtype=np.int64)
#: Lanes that an entry of a lane table may name; on the last one packets are dropped.
LANES = LEVELS - 1


def places_of(subnet: Subnet) -> int:
    """Numbers of pairs of a channel and a lane."""
    return max(1, len(subnet.cables) * 2 * LANES)


def in_cycles(
    before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of numbers less those that are in no cycle, or lead neither from one nor to one.

    Examples
    --------
    >>> [part.tolist() for part in in_cycles(np.array([0, 1, 2, 3]), np.array([1, 2, 1, 0]))]
    [[1, 2], [2, 1]]
    """
    count = int(max(before.max(initial=0), after.max(initial=0))) + 1
    while len(before):
        # What nothing waits for, and what waits for nothing, is in no cycle.
        waits, waited_for = np.zeros((2, count), dtype=bool)
        waits[before], waited_for[after] = True, True
        kept = waited_for[before] & waits[after]
        if kept.all():
            break
        before, after = before[kept], after[kept]
    return before, after


def are_acyclic(before: NDArray[np.int64], after: NDArray[np.int64]) -> bool:
    """Whether pairs of numbers have no cycle."""
    return not len(in_cycles(before, after)[0])


class Mixture:
    """Two sets of tables of one subnet, in arrays and one more switch, for where packets go nowhere."""

    def __init__(
        self, first: ForwardingTables, second: ForwardingTables, more: Sequence[NDArray[np.uint8]] = ()
    ) -> None:
        """Two sets of tables, and levels by destination and host that packets may have besides theirs."""
        subnet = first.subnet
        self.subnet, self.tables = subnet, (first, second)
        none = np.zeros((len(first.owners), len(subnet.hosts)), dtype=np.uint8)
        self.levels = [*(none if each.levels is None else each.levels for each in self.tables), *more]
        self.none = len(subnet.switches)
        ends = subnet.cable_ends().astype(np.int64)
        self.heads = np.append(ends[:, ::-1].reshape(-1), self.none)
        self.host_switches = np.array([host.switch for host in subnet.hosts], dtype=np.int64)
        self._lane_rows()

    def _lane_rows(self) -> None:
        """Where a lane table has the entries of a channel in, or of a host, and of a channel out."""
        subnet, rows, outgoing = self.subnet, port_rows(self.subnet), self.subnet.outgoing()
        degrees = np.array([len(lists) for lists in outgoing], dtype=np.int64)
        sizes = degrees * np.array([len(ports) for ports in rows], dtype=np.int64)
        starts = np.cumsum([0, *sizes[:-1]])
        self.column = np.zeros(2 * len(subnet.cables), dtype=np.int64)
        self.row_in = np.zeros(2 * len(subnet.cables), dtype=np.int64)
        for switch, lists in enumerate(outgoing):
            for column, (channel, _, _) in enumerate(lists):
                self.column[channel] = column
                # The channel that comes in by the same port.
                self.row_in[channel ^ 1] = starts[switch] + column * degrees[switch]
        self.row_of_host = np.array(
            [
                starts[host.switch] + rows[host.switch][host.switch_port] * degrees[host.switch]
                for host in subnet.hosts
            ],
            dtype=np.int64,
        )
        self.size = int(sizes.sum())
        # Switches without hosts send their own packets as those of their first port.
        self.row_of_switch = starts.copy()
        for host in range(len(subnet.hosts) - 1, -1, -1):
            self.row_of_switch[self.host_switches[host]] = self.row_of_host[host]

    def together(self, count: int) -> Iterator[slice]:
        """Some of a number of destinations at a time."""
        step = max(1, _TOGETHER // max(1, self.none))
        return (slice(start, min(start + step, count)) for start in range(0, count, step))

    def lanes(self, entries: NDArray[np.int64], level: int) -> Iterator[NDArray[np.int64]]:
        """The lanes of a level at entries of the lane tables, by either set."""
        for tables in self.tables:
            if tables.rows is None:
                yield np.full(len(entries), level % tables.lanes, dtype=np.int64)
            else:
                yield tables.rows[1][entries, level].astype(np.int64)


class Destinations:
    """Some destinations of a mixture: switches that their packets come by, and on which levels."""

    def __init__(self, mixture: Mixture, rows: slice) -> None:
        self.mixture, self.rows = mixture, rows
        tables, none = mixture.tables, mixture.none
        count = rows.stop - rows.start
        #: The channel by set, destination and switch; the number behind the last one where there is none.
        channels = np.array([each.following[rows] for each in tables], dtype=np.int64)
        channels[channels == NONE] = len(mixture.heads) - 1
        self.channels = channels
        self.next = np.full((2, count, none + 1), none, dtype=np.int64)
        self.next[:, :, :none] = mixture.heads[channels]
        self.roots = np.array(tables[0].roots[rows], dtype=np.int64)
        self.owners = tables[0].owners[rows]
        self.line = np.arange(count)[:, None]
        served = np.array([self._served(one) for one in range(2)])
        #: Whether either set serves a host, by set, destination and host on another switch.
        by_host = served[:, :, mixture.host_switches]
        self.others = self.roots[:, None] != mixture.host_switches[None, :]
        self.served = by_host & self.others
        self.unserved = (~by_host & self.others).sum(axis=(1, 2))
        levels = np.array([each[rows] for each in mixture.levels], dtype=np.int64)
        self.levels = levels
        differs = (levels[0] != levels[1]) & self.others
        self.differs = bool(differs.any())
        self.moved = int((self.served.all(axis=0) & differs).sum())
        self.reached = self._reached()

    def _served(self, one: int) -> NDArray[np.bool_]:
        """Switches by destination from which a set of tables leads to it."""
        served = self._at_roots()
        return _settled(lambda known: served | known[self.line, self.next[one]], served)

    def _at_roots(self) -> NDArray[np.bool_]:
        """By destination and switch whether it is the one of the destination."""
        found = np.zeros(self.next.shape[1:], dtype=bool)
        found[self.line[:, 0], self.roots] = True
        return found

    def _reached(self) -> NDArray[np.int64]:
        """By destination and switch the levels, a bit each, on which packets can come there."""
        hosts = self.mixture.host_switches
        reached = np.zeros(self.next.shape[1:], dtype=np.int64)
        for levels in self.levels:
            bits = np.where(self.others, 1 << levels, 0)
            np.bitwise_or.at(reached, (self.line, hosts[None, :]), bits)
        new = reached.copy()
        while new.any():
            row, switch = np.nonzero(new)
            bits, before = new[row, switch], reached.copy()
            for one in range(2):
                np.bitwise_or.at(reached, (row, self.next[one, row, switch]), bits)
            reached[:, -1] = 0
            new = reached & ~before
        return reached

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """By destination and switch whether packets end from there, whatever entries they meet."""
        known = self._at_roots()
        known[:, -1] = True
        first, second = self.next
        return _settled(lambda ends: known | ends[self.line, first] & ends[self.line, second], known)

    def circles(self) -> NDArray[np.int64]:
        """Destinations whose packets can go round in a circle."""
        return np.flatnonzero(((self.reached != 0) & ~self.ends).any(axis=1))

    def circle(self, row: int) -> list[str]:
        """The names of a circle's switches, the first at the end again, and of the destination behind it."""
        mixture = self.mixture
        at = int(np.flatnonzero((self.reached[row] != 0) & ~self.ends[row])[0])
        way: list[int] = []
        while at not in way:
            way.append(at)
            first, second = (int(each) for each in self.next[:, row, at])
            at = second if self.ends[row, first] else first
        names = [mixture.subnet.switches[switch].name for switch in [*way[way.index(at) :], at]]
        return [*names[:-1], f"{names[-1]}, for {mixture.subnet.hosts[self.owners[row]].name}"]

    def lost(self) -> list[tuple[int, int]]:
        """Destination and host of packets that both sets bring there and a mixture may not."""
        others = ~self._at_roots()
        loses = (self.next == self.mixture.none).any(axis=0) & others
        first, second = self.next
        nowhere = _settled(
            lambda known: (loses | known[self.line, first] | known[self.line, second]) & others, loses
        )
        found = self.served.all(axis=0) & nowhere[:, self.mixture.host_switches]
        return [(int(row), int(host)) for row, host in np.argwhere(found)]

    def pair(self, row: int, host: int) -> str:
        """A pair of hosts by name."""
        hosts = self.mixture.subnet.hosts
        return f"{hosts[host].name} to {hosts[self.owners[row]].name}"

    def waits(self) -> NDArray[np.int64]:
        """Pairs of a channel with its lane and the next one, each as a number."""
        mixture, places = self.mixture, places_of(self.mixture.subnet)
        row, switch = np.nonzero(self.reached[:, :-1])
        ways = self.channels[:, row, switch]
        differs = np.concatenate([np.ones(len(row), bool), ways[0] != ways[1]])
        channel, row, switch = ways.reshape(-1), np.tile(row, 2), np.tile(switch, 2)
        kept = differs & (channel != len(mixture.heads) - 1)
        channel, row, switch = channel[kept], row[kept], switch[kept]
        bits = self.reached[row, switch]
        # Where packets that leave a switch for a destination stand in these lists.
        place = np.full((2, *self.reached.shape), -1, dtype=np.int64)
        of_set = (channel != self.channels[0, row, switch]).astype(np.int64)
        place[of_set, row, switch] = np.arange(len(channel))
        head = mixture.heads[channel]
        both = place[:, row, head]
        before = np.concatenate([np.flatnonzero(both[0] >= 0), np.flatnonzero(both[1] >= 0)])
        after = np.concatenate([both[0][both[0] >= 0], both[1][both[1] >= 0]])
        entries = mixture.row_in[channel[before]] + mixture.column[channel[after]]
        found = [NOTHING]
        for level in range(LEVELS):
            some = np.flatnonzero(bits[before] >> level & 1)
            on = self._from_hosts(level, place, channel)
            if not len(some):
                continue
            start, end = before[some], after[some]
            behind = list(mixture.lanes(entries[some], level))
            for lanes in behind:
                np.bitwise_or.at(on, end, 1 << lanes)
            for lane in range(LANES):
                here = np.flatnonzero(on[start] >> lane & 1)
                for lanes in behind:
                    passes = here[lanes[here] < LANES]
                    waiting = channel[start[passes]] * LANES + lane
                    found.append(np.unique(waiting * places + channel[end[passes]] * LANES + lanes[passes]))
        return np.unique(np.concatenate(found))

    def _from_hosts(
        self, level: int, place: NDArray[np.int64], channel: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Lanes, a bit each, that packets of hosts on a level begin on, by place in the lists of `waits`."""
        mixture, on = self.mixture, np.zeros(len(channel), dtype=np.int64)
        row, host = np.nonzero(self.others & (self.levels == level).any(axis=0))
        for one in range(2):
            at = place[one, row, mixture.host_switches[host]]
            leaves = at >= 0
            entries = mixture.row_of_host[host[leaves]] + mixture.column[channel[at[leaves]]]
            for lanes in mixture.lanes(entries, level):
                np.bitwise_or.at(on, at[leaves], 1 << lanes)
        return on


class Ways:
    """Ways of packets on given levels, by entries of either of two sets of tables."""

    def __init__(
        self, mixture: Mixture, entries: Sequence[NDArray[np.uint32]], roots: NDArray[np.int64]
    ) -> None:
        """Channels by set, destination and switch, and the switches of the destinations."""
        self.mixture, self.roots = mixture, roots
        self.channels = np.array(entries, dtype=np.int64)
        self.channels[self.channels == NONE] = len(mixture.heads) - 1
        self.next = np.full((*self.channels.shape[:2], mixture.none + 1), mixture.none, dtype=np.int64)
        self.next[:, :, :-1] = mixture.heads[self.channels]

    def waits(
        self,
        row: NDArray[np.int64],
        at: NDArray[np.int64],
        begin: NDArray[np.int64],
        levels: Sequence[int],
    ) -> NDArray[np.int64]:
        """Pairs of a channel with its lane and the next one, each as a number, for some packets.

        Parameters
        ----------
        row, at, begin : array
            Destinations, switches that packets to them begin at, and where lane tables begin for them.
        levels : sequence of int
            Service levels of these packets.
        """
        begins = at != self.roots[row]
        start = row[begins], at[begins], begin[begins]
        hops = self._hops(*start[:2])
        found = [NOTHING]
        for level in levels:
            found += self._on_lanes(level, start, hops)
        return np.unique(np.concatenate(found))

    def _hops(self, row: NDArray[np.int64], at: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], ...]]:
        """By set of an entry and of the next one: destinations, switches and the switches behind."""
        mixture = self.mixture
        met = np.zeros(self.next.shape[1:], dtype=bool)
        ended = np.zeros_like(met)
        ended[np.arange(len(self.roots)), self.roots], ended[:, -1] = True, True
        while len(row):
            met[row, at] = True
            row, at = np.tile(row, 2), self.next[:, row, at].reshape(-1)
            fresh = ~(met[row, at] | ended[row, at])
            row, at = np.divmod(np.unique(row[fresh] * met.shape[1] + at[fresh]), met.shape[1])
        row, at = np.nonzero(met)
        found = list[tuple[NDArray[np.int64], ...]]()
        for one in range(2):
            there = self.next[one, row, at]
            for other in range(2):
                leads = ~ended[row, there]
                leads[leads] = self.channels[other, row[leads], there[leads]] != len(mixture.heads) - 1
                found.append((row[leads], at[leads], there[leads]))
        return found

    def _on_lanes(
        self,
        level: int,
        start: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        hops: Sequence[tuple[NDArray[np.int64], ...]],
    ) -> list[NDArray[np.int64]]:
        """The same pairs for one level, some of them twice."""
        mixture, places = self.mixture, places_of(self.mixture.subnet)
        # Lanes, a bit each, on which packets are on a channel, by set, destination and switch.
        on = np.zeros(self.channels.shape, dtype=np.int64)
        row, at, begin = start
        for one in range(2):
            channel = self.channels[one, row, at]
            leaves = channel != len(mixture.heads) - 1
            for lanes in mixture.lanes(begin[leaves] + mixture.column[channel[leaves]], level):
                np.bitwise_or.at(on[one], (row[leaves], at[leaves]), 1 << lanes)
        steps = []
        for number, (row, at, there) in enumerate(hops):
            one, other = divmod(number, 2)
            before, after = self.channels[one, row, at], self.channels[other, row, there]
            behind = list(mixture.lanes(mixture.row_in[before] + mixture.column[after], level))
            for lanes in behind:
                np.bitwise_or.at(on[other], (row, there), 1 << lanes)
            steps.append((one, row, at, before, after, behind))
        found = []
        known = int(np.bitwise_or.reduce(on, axis=None))
        for one, row, at, before, after, behind in steps:
            bits = on[one, row, at]
            for lane in (lane for lane in range(LANES) if known >> lane & 1):
                for lanes in behind:
                    waits = (bits >> lane & 1 != 0) & (lanes < LANES)
                    ahead = after[waits] * LANES + lanes[waits]
                    found.append((before[waits] * LANES + lane) * places + ahead)
        return found


def _settled(
    step: Callable[[NDArray[np.bool_]], NDArray[np.bool_]], known: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """What a step leads to that adds to what is known, when it adds nothing more."""
    while not np.array_equal(more := step(known), known):
        known = more
    return known


def parts_of(
    first: ForwardingTables, second: ForwardingTables, more: Sequence[NDArray[np.uint8]] = ()
) -> Iterator[Destinations]:
    """All destinations, some at once, with levels that packets may have besides those of the tables."""
    mixture = Mixture(first, second, more)
    return (Destinations(mixture, rows) for rows in mixture.together(len(first.owners)))


def mixed(first: ForwardingTables, second: ForwardingTables) -> dict[str, Any] | None:
    """What the core says of mixtures; None where lanes are not the levels, modulo the same number.

    Destinations whose packets can go round, pairs that are lost, are not served, or move, by destination and
    host, and whether channels and lanes wait for each other in no circle.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> tables = route_subnet(parse_fabric("a,b\\nb,c\\nc,a\\n")).forwarding()
    >>> found = mixed(tables, tables)
    >>> found["acyclic"], found["circles"], found["unserved"]
    (True, [], [0, 0])
    """
    lanes = plain_lanes(first, second)
    if lanes is None:
        return None
    subnet = first.subnet
    none = np.zeros((len(first.owners), len(subnet.hosts)), dtype=np.uint8)
    one, other = ((each.following, none if each.levels is None else each.levels) for each in (first, second))
    at = [host.switch for host in subnet.hosts]
    found: dict[str, Any] = _core.mixed_forwarding(subnet.core(), first.roots, at, one, other, lanes)
    return found


def are_safe(found: dict[str, Any]) -> bool:
    """Whether mixtures neither deadlock, nor send packets round, nor lose any, as `mixed` says."""
    return bool(found["acyclic"]) and not found["circles"] and not found["lost"]


def plain_lanes(first: ForwardingTables, second: ForwardingTables) -> int | None:
    """The number modulo which levels are lanes with both sets of tables; None if there is none."""
    lanes = {_plain_lanes(each) for each in (first, second)}
    return lanes.pop() if len(lanes) == 1 else None


def _plain_lanes(tables: ForwardingTables) -> int | None:
    """The number modulo which levels are lanes, if they are on all ports."""
    if tables.rows is None:
        return tables.lanes if tables.rising is None else None
    used = 1 if tables.levels is None else int(tables.levels.max(initial=0)) + 1
    for lanes in (lanes_of_links(1), LANES):
        if used <= LANES and (tables.rows[1][:, :used] == np.arange(used) % lanes).all():
            return lanes
    return None


def shortest_cycle(before: NDArray[np.int64], after: NDArray[np.int64]) -> Sequence[int]:
    """A shortest cycle among pairs of numbers, of those through some of them; empty if there is none."""
    before, after = in_cycles(before, after)
    following: dict[int, list[int]] = {}
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        following.setdefault(one, []).append(other)
    best: list[int] = []
    for tried, start in enumerate(following):
        if best and tried >= _STARTS:
            break
        came: dict[int, int] = {}
        waiting = deque([start])
        while waiting and start not in came:
            at = waiting.popleft()
            for other in following.get(at, []):
                if other not in came:
                    came[other] = at
                    waiting.append(other)
        if start in came:
            way = [start]
            while (at := came[way[-1]]) != start:
                way.append(at)
            if not best or len(way) < len(best):
                best = way[::-1]
    return best
