"""Repairs in which no pair gets another service level: other ports where a cable or a switch is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
from flitloom.tables.by_destination.tables import LEVELS, NONE, destinations

#: Whether packets to a destination can go by the entries of some switches that have changed.
Fits = Callable[[int, list[int]], bool]

#: The share of entries that may be missing.
_MOST_MISSING = 0.1
#: Orders of missing entries that are tried.
_ORDERS = 24
#: How often switches turn away so that others can.
_DEPTH = 3
#: Work that is done at most: channels times missing entries, and switches times changes that are tried.
_MOST_WORK = 2_000_000
_MOST_TRIED = 400_000


def patched(
    subnet: Subnet,
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    there: int = 8,
) -> dict[str, Any] | None:
    """Entries in place of those that are missing, at which every pair keeps its level; None for none.

    Every port is such that no mixture of old and new entries can deadlock or send a packet round. Where no
    port is, the entry of the next switch changes first, in a round before, or switches that forwarded to this
    one turn away, in rounds before.

    Parameters
    ----------
    following, levels : array
        Channel, and service level, by destination and switch.
    lost : tuple of array
        The same for destinations that are gone, to which packets may be under way.
    there : int
        Lanes of the links, modulo which levels are lanes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.patching import patched
    >>> from flitloom.tables.by_destination.repairing import read_old
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("full5").write(folder)
    ...     left = fl.tables.fabric("full5", fail=["link:(0)-(1)"])
    ...     before = read_old(left, folder, *destinations(left))
    >>> found = patched(left, before.following, before.levels, before.lost)
    >>> int((found["next"] != before.following).sum()), found["rounds"]
    (2, [])
    """
    places = missing_entries(subnet, following)
    if not are_few(subnet, following, places):
        return None
    patch = Patch(subnet, following, levels, lost, there)
    return patch.found(places) if patch.known() else None


def missing_entries(subnet: Subnet, following: NDArray[np.uint32]) -> list[list[int]]:
    """Destinations and switches without an entry that need one."""
    roots = _roots(subnet)
    missing = following == NONE
    missing[np.arange(len(roots)), roots] = False
    found: list[list[int]] = np.argwhere(missing).tolist()
    return found


def are_few(subnet: Subnet, following: NDArray[np.uint32], places: Sequence[Sequence[int]]) -> bool:
    """Whether so few entries are missing that others are looked for one by one."""
    few = len(places) <= _MOST_MISSING * following.size and len(places) * 2 * len(subnet.cables) <= _MOST_WORK
    by_row = np.bincount([row for row, _ in places], minlength=len(following))
    return few and not (by_row >= following.shape[1] - 1).any()


def _roots(subnet: Subnet) -> list[int]:
    """The switch of every destination."""
    return [subnet.hosts[owner].switch for owner in destinations(subnet)[1].tolist()]


class _Order:
    """What channels wait for, lane by lane: of every channel those behind it, as the bits of a number."""

    def __init__(self, channels: int) -> None:
        self.behind = [[0] * channels for _ in range(LEVELS)]
        self.changes: list[tuple[int, int, int]] = []

    def fill(self, lane: int, edges: list[tuple[int, int]]) -> bool:
        """Take what is known of a lane; false if that has a cycle."""
        following: dict[int, list[int]] = {}
        for one, other in edges:
            following.setdefault(one, []).append(other)
        behind, state = self.behind[lane], [0] * len(self.behind[lane])
        for start in following:
            stack = [start]
            while stack:
                at = stack[-1]
                if state[at] == 0:
                    state[at] = 1
                    for other in following.get(at, ()):
                        if state[other] == 1:
                            return False
                        if state[other] == 0:
                            stack.append(other)
                else:
                    stack.pop()
                    if state[at] == 1:
                        state[at] = 2
                        for other in following.get(at, ()):
                            behind[at] |= behind[other] | 1 << other
        return True

    def add(self, lane: int, one: int, other: int) -> bool:
        """Have a channel wait for another one; false if that closes a cycle."""
        behind = self.behind[lane]
        if behind[one] >> other & 1:
            return True
        if one == other or behind[other] >> one & 1:
            return False
        more = behind[other] | 1 << other
        for at, known in enumerate(behind):
            if (at == one or known >> one & 1) and known | more != known:
                self.changes.append((lane, at, known))
                behind[at] = known | more
        return True

    def undo(self, to: int) -> None:
        """Forget what came after a number of changes."""
        while len(self.changes) > to:
            lane, at, known = self.changes.pop()
            self.behind[lane][at] = known


class Patch:
    """Tables that are patched, destination by destination."""

    def __init__(
        self,
        subnet: Subnet,
        following: NDArray[np.uint32],
        levels: NDArray[np.uint8],
        lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
        there: int,
    ) -> None:
        self.levels, self.lost, self.roots, self.there = levels, lost, _roots(subnet), there
        self.outgoing = subnet.outgoing()
        self.heads = subnet.cable_ends()[:, ::-1].reshape(-1).astype(np.int64).tolist()
        self.next: list[list[int]] = following.tolist()
        self.hosts = subnet.hosts_per_switch()
        sends = np.array(self.hosts) > 0
        self.lanes = np.where(sends, 1 << (levels.astype(np.int64) % there), 0).tolist()
        self.order = _Order(2 * len(subnet.cables))
        self.loads = [0] * (2 * len(subnet.cables))
        # Entries with a way that get another one: destination, switch, and the switches of both ways.
        self.first: list[tuple[int, int, int]] = []
        self.changed: list[tuple[int, int, int]] = []

    def found(self, missing: list[list[int]], orders: int = _ORDERS) -> dict[str, Any] | None:
        """The patched tables; None, and all is as it was, if some entry has no port."""
        self.left = _MOST_TRIED // max(1, len(self.hosts))
        # Entries through which most packets go have the fewest ports.
        missing = sorted(missing, key=lambda place: -bin(self.through(place[0])[0][place[1]]).count("1"))
        for _ in range(orders):
            stuck = next((place for place in missing if not self.patch(*place)), None)
            if stuck is None:
                break
            # What found no port comes before all others.
            missing.remove(stuck)
            missing.insert(0, stuck)
            self.forget((0, 0, 0))
        else:
            return None
        return {
            "next": np.array(self.next, dtype=np.uint32).reshape(-1, len(self.hosts)),
            "levels": self.levels,
            "rounds": self.rounds(),
            "last": [],
        }

    def marked(self) -> tuple[int, int, int]:
        """How much has changed so far, for `forget`."""
        return len(self.order.changes), len(self.changed), len(self.first)

    def forget(self, to: tuple[int, int, int]) -> None:
        """Have all entries as they were at a mark."""
        order, changed, first = to
        rows = {row for row, _, _ in self.changed[changed:]}
        for row in rows:
            self.count(row, -1)
        for row, switch, was in reversed(self.changed[changed:]):
            self.next[row][switch] = was
        for row in rows:
            self.count(row, 1)
        del self.changed[changed:], self.first[first:]
        self.order.undo(order)

    def known(self) -> bool:
        """Take what all packets wait for before, those for destinations that are gone included."""
        edges: list[set[tuple[int, int]]] = [set() for _ in range(LEVELS)]
        lost, levels = self.lost
        sends = np.array(self.hosts) > 0
        gone = np.where(sends, 1 << (levels.astype(np.int64) % self.there), 0).tolist()
        for row, entries in enumerate(self.next):
            self.collect(entries, self.through(row)[0], edges)
            self.count(row, 1)
        for entries, lanes in zip(lost.tolist(), gone, strict=True):
            self.collect(entries, self.along(entries, lanes), edges)
        return all(self.order.fill(lane, sorted(some)) for lane, some in enumerate(edges))

    def collect(self, entries: list[int], masks: list[int], edges: list[set[tuple[int, int]]]) -> None:
        """Add what packets wait for on their way by some entries."""
        for switch, channel in enumerate(entries):
            behind = NONE if channel == NONE else entries[self.heads[channel]]
            if behind != NONE:
                for lane in _bits(masks[switch]):
                    edges[lane].add((channel, behind))

    def along(self, entries: list[int], values: list[int], adds: bool = False) -> list[int]:
        """Of every switch the values of all switches whose way leads through it, joined or added up."""
        total, waiting = list(values), [0] * len(values)
        for channel in entries:
            if channel != NONE:
                waiting[self.heads[channel]] += 1
        ready = [switch for switch, count in enumerate(waiting) if not count]
        for switch in ready:
            if (channel := entries[switch]) != NONE:
                head = self.heads[channel]
                total[head] = total[head] + total[switch] if adds else total[head] | total[switch]
                waiting[head] -= 1
                if not waiting[head]:
                    ready.append(head)
        return total

    def through(self, row: int) -> tuple[list[int], list[int]]:
        """Of every switch the lanes of packets to a destination that come through it, and their sources."""
        entries = self.next[row]
        return self.along(entries, self.lanes[row]), self.along(entries, self.hosts, adds=True)

    def way(self, row: int, switch: int) -> list[int] | None:
        """The channels from a switch to a destination; None where there is no way."""
        found: list[int] = []
        while switch != self.roots[row]:
            channel = self.next[row][switch]
            if channel == NONE or len(found) > len(self.hosts):
                return None
            found.append(channel)
            switch = self.heads[channel]
        return found

    def patch(self, row: int, switch: int) -> bool:
        """Give an entry the port behind which the busiest channel has the least load; false for none."""
        if self.next[row][switch] != NONE:
            return True
        return self.turn(row, switch, _DEPTH)

    def turn(self, row: int, switch: int, depth: int) -> bool:
        """Give an entry another port, if need be after others that turn away, which may need that, too."""
        return (
            self.one_of(row, self.choices(row, switch))
            or self.one_of(row, self.detours(row, switch))
            or (depth > 0 and self.alone(row, switch, depth - 1))
        )

    def one_of(self, row: int, choices: Iterable[tuple[int, int, list[tuple[int, int]]]]) -> bool:
        """Take the best of some changes that can be; false for none."""
        return any(self.take(row, changes) for _, _, changes in sorted(choices))

    def alone(self, row: int, switch: int, depth: int) -> bool:
        """Give an entry a port when switches that forwarded to it have turned away, as many as can."""
        before, entries = self.marked(), self.next[row]
        nearby = [there for _, _, there in self.outgoing[switch]]
        for there in nearby:
            if (channel := entries[there]) != NONE and self.heads[channel] == switch:
                self.turn(row, there, depth)
        if self.turn(row, switch, 0):
            return True
        self.forget(before)
        return False

    def choices(self, row: int, switch: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Ports of a switch with a way to a destination, with the busiest channel's load, the length."""
        for channel, _, there in self.outgoing[switch]:
            way = self.way(row, there)
            if way is not None and all(self.heads[one] != switch for one in way):
                yield max(self.loads[one] for one in (channel, *way)), len(way), [(switch, channel)]

    def detours(self, row: int, switch: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """The same where the next switch gets another port first."""
        for channel, _, there in self.outgoing[switch]:
            if there != self.roots[row]:
                for most, length, changes in self.choices(row, there):
                    way = [changes[0][1], *(self.way(row, self.heads[changes[0][1]]) or [])]
                    if all(self.heads[one] != switch for one in way):
                        yield max(most, self.loads[channel]), length + 1, [*changes, (switch, channel)]

    def take(self, row: int, changes: list[tuple[int, int]], fits: Fits | None = None) -> bool:
        """Change entries of a destination; false, and no change, if packets could wait in a circle.

        That is what `fits` says of the switches whose entries have changed, `self.fits` if it is left out.
        """
        self.left -= 1
        if self.left < 0:
            return False
        before, entries = len(self.order.changes), self.next[row]
        kept = [(switch, entries[switch]) for switch, _ in changes]
        ways = [self.switches(row, switch) for switch, _ in changes]
        self.count(row, -1)
        for switch, channel in changes:
            entries[switch] = channel
        taken = (fits or self.fits)(row, [switch for switch, _ in changes])
        if not taken:
            for switch, was in kept:
                entries[switch] = was
            self.order.undo(before)
        self.count(row, 1)
        if taken:
            self.changed += [(row, switch, was) for switch, was in kept]
            self.first += [
                (row, switch, way | self.switches(row, switch))
                for (switch, was), way in zip(kept, ways, strict=True)
                if was != NONE
            ]
        return taken

    def switches(self, row: int, switch: int) -> int:
        """The switches behind one along its route to a destination, as bits of a number."""
        found, entries = 0, self.next[row]
        while (channel := entries[switch]) != NONE:
            switch = self.heads[channel]
            found |= 1 << switch
        return found

    def rounds(self) -> list[list[int]]:
        """Entries with a way that change, in rounds in which no packet meets two of a destination."""
        found: list[list[int]] = []
        last: dict[int, tuple[int, int, int]] = {}
        for row, switch, ways in self.first:
            number, together, seen = last.get(row, (0, 0, 0))
            if seen >> switch & 1 or together & ways:
                number, together, seen = number + 1, 0, 0
            last[row] = number, together | 1 << switch, seen | ways
            if number == len(found):
                found.append([])
            found[number].append(row * len(self.hosts) + switch)
        return [sorted(places) for places in found]

    def count(self, row: int, times: int) -> None:
        """Count pairs to a destination in the loads of channels."""
        sources = self.through(row)[1]
        for switch, channel in enumerate(self.next[row]):
            if channel != NONE:
                self.loads[channel] += times * sources[switch]

    def fits(self, row: int, switches: list[int]) -> bool:
        """Whether all that comes through some switches may wait for what is behind them."""
        entries, masks = self.next[row], self.through(row)[0]
        for switch in switches:
            if self.way(row, switch) is None:
                return False
            for before, channel in enumerate(entries):
                if channel != NONE and self.heads[channel] == switch:
                    for lane in _bits(masks[before]):
                        if not self.order.add(lane, channel, entries[switch]):
                            return False
            at = switch
            while (there := self.heads[entries[at]]) != self.roots[row]:
                for lane in _bits(masks[at]):
                    if not self.order.add(lane, entries[at], entries[there]):
                        return False
                at = there
        return True


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
