"""Lower bounds on networks of switches with hosts, for any tables.

Messages between ranks of one switch use no cable. At most as many messages of a rank stay at its switch as
the switch has other places. The rest leaves over the channels of the switch. The same holds for any set of
switches: the messages that must leave it share the channels of its cut. Hop-bytes, or bytes times lengths
of cables, are at least those of the largest messages at the least distances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.placing.traffic import Traffic

#: A bound and its proof.
Bounded = tuple[int, dict[str, Any]]
Whole = NDArray[np.int64]
#: Lengths begin with this and change by halves of it.
LENGTH = 48
#: Kinds of cables whose lengths differ, trials of lengths, and sources times cables up to which they change.
MOST_KINDS, MOST_TRIALS, MOST_STEPS = 6, 64, 1 << 22
#: Switches from which cuts grow, most cuts along the order of the hosts, and entries of a table of messages.
STARTS, MOST_CUTS, MOST_ENTRIES = 8, 256, 1 << 22
#: Kinds of axes whose traffic across any border is known.
KNOWN = ("a2a", "ring", "line")


class Wires:
    """Switches and cables of a network, with the places that ranks can have."""

    def __init__(self, subnet: Subnet, per_node: int) -> None:
        self.core = subnet.core()
        self.per_node = per_node
        self.places = np.array(subnet.hosts_per_switch(), dtype=np.int64) * per_node
        self.ends = subnet.cable_ends().astype(np.int64)
        self.switches = len(self.places)
        self.degrees = np.bincount(self.ends.ravel(), minlength=self.switches)
        self.used = np.flatnonzero(self.places)

    @cached_property
    def near(self) -> list[list[int]]:
        """Per switch the switches at its cables, as often as there are cables."""
        found: list[list[int]] = [[] for _ in range(self.switches)]
        for a, b in self.ends.tolist():
            found[a].append(b)
            found[b].append(a)
        return found

    def distances(self, lengths: Whole) -> Whole:
        """Least sums of lengths from switches with hosts to all; what is not reached is as far as any."""
        found = _core.fabric_distances(self.core, lengths.tolist())[self.used]
        return np.where(found < 0, found.max(), found)

    def kinds(self) -> NDArray[np.int64]:
        """Per cable a number of those that look like it: by its ends, and by whether it is in a triangle."""
        colours = list(zip(self.places.tolist(), self.degrees.tolist(), strict=True))
        count = len(set(colours))
        while True:
            around = [
                (colours[n], tuple(sorted(colours[m] for m in near))) for n, near in enumerate(self.near)
            ]
            number = {one: place for place, one in enumerate(sorted(set(around)))}
            colours = [(number[one], 0) for one in around]
            if len(number) == count:
                break
            count = len(number)
        near = [set(one) for one in self.near]
        looks = [(*sorted((colours[a], colours[b])), bool(near[a] & near[b])) for a, b in self.ends.tolist()]
        numbers = {look: place for place, look in enumerate(dict.fromkeys(looks))}
        return np.array([numbers[look] for look in looks], dtype=np.int64)


@dataclass(frozen=True)
class Messages:
    """The messages of every rank: what it sends (0), receives (1), and exchanges with a partner (2)."""

    traffic: Traffic

    @cached_property
    def columns(self) -> tuple[Whole, Whole, Whole]:
        """Sources, destinations and bytes."""
        traffic = self.traffic
        sources, destinations = traffic.sources.astype(np.int64), traffic.destinations.astype(np.int64)
        return sources, destinations, traffic.bytes.astype(np.int64)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.traffic.ranks

    @cached_property
    def divisor(self) -> int:
        """Greatest common divisor of all bytes."""
        return gcd(*np.unique(self.columns[2]).tolist()) or 1

    def of_ranks(self, side: int) -> list[Whole]:
        """Per rank the bytes of its messages, the largest first."""
        sources, destinations, amounts = self.columns
        ends = sources if side == 0 else destinations
        if side == 2:
            both = np.concatenate([sources * self.ranks + destinations, destinations * self.ranks + sources])
            pairs, place = np.unique(both, return_inverse=True)
            ends, sums = pairs // self.ranks, np.zeros(len(pairs), dtype=np.int64)
            np.add.at(sums, place, np.concatenate([amounts, amounts]))
            amounts = sums
        order = np.lexsort((-amounts, ends))
        first = np.searchsorted(ends[order], np.arange(self.ranks + 1))
        return [amounts[order][a:b] for a, b in pairwise(first)]

    def alike(self, side: int) -> list[tuple[Whole, int, int]]:
        """The same, with the first rank that has them and how many have."""
        found: dict[bytes, list[Any]] = {}
        for rank, amounts in enumerate(self.of_ranks(side)):
            found.setdefault(amounts.tobytes(), [amounts, rank, 0])[2] += 1
        return [(amounts, rank, count) for amounts, rank, count in found.values()]

    def outwards(self) -> Whole:
        """By number of ranks, the least that any set of as many sends to the others, or receives."""
        most = np.zeros(self.ranks + 1, dtype=np.int64)
        for side in (0, 1):
            lists = self.of_ranks(side)
            longest = max(map(len, lists))
            if self.ranks * (longest + 1) > MOST_ENTRIES:
                continue
            left = np.zeros((self.ranks, longest + 1), dtype=np.int64)
            for rank, amounts in enumerate(lists):
                left[rank, : len(amounts)] = amounts[::-1].cumsum()[::-1]
            # Of n ranks each keeps its n - 1 largest messages inside at best.
            sums = np.sort(left, axis=0).cumsum(axis=0)
            counts = np.arange(1, min(self.ranks, longest + 1) + 1)
            few = np.zeros(self.ranks + 1, dtype=np.int64)
            few[counts] = sums[counts - 1, counts - 1]
            most = np.maximum(most, np.maximum(few, few[::-1]))
        axes = [axis for axis in self.traffic.axes if axis.size > 1]
        if axes and all(axis.kind in KNOWN for axis in axes):
            counts = np.arange(self.ranks + 1)
            load, units = self._worst_edge()
            across = [-(-8 * int(n) * (self.ranks - int(n)) * units // load) for n in counts]
            most = np.maximum(most, np.array(across, dtype=np.int64))
        return -(-most // self.divisor) * self.divisor

    def _worst_edge(self) -> tuple[int, int]:
        """If all pairs send one unit along the axes: eight times the load of an edge, and its bytes."""
        load, units = 0, 1
        for axis in self.traffic.axes:
            size = axis.size
            if size == 1:
                continue
            if axis.kind == "a2a" or size == 2:
                each = 8
            elif axis.kind == "ring":
                each = size * size - size % 2
            else:
                each = 8 * (size // 2) * -(-size // 2)
            each *= self.ranks // size
            if each * units > load * axis.bytes:
                load, units = each, axis.bytes
        return load, units


def host_bounds(subnet: Subnet, traffic: Traffic, per_node: int, plain: int) -> tuple[Bounded, Bounded]:
    """The bounds of the busiest channel and of hop-bytes.

    Parameters
    ----------
    subnet : Subnet
        Switches, hosts and cables.
    traffic : Traffic
        Bytes between ranks.
    per_node : int
        Ranks that a host can have.
    plain : int
        The busiest channel of ranks in the order of the hosts.

    Examples
    --------
    >>> from flitloom.placing import axes_traffic, parse_axes
    >>> from flitloom.networks.fabric import Fabric
    >>> ring = Fabric(network="ring6").subnet
    >>> traffic = axes_traffic(parse_axes("all=6:ring:5"))
    >>> channel, hops = host_bounds(ring, traffic, 1, 5)
    >>> channel, hops[0]
    ((5, {'kind': 'message', 'source': 0, 'destination': 1}), 60)
    """
    wires, messages = Wires(subnet, per_node), Messages(traffic)
    ones = np.ones(len(wires.ends), dtype=np.int64)
    hops: Bounded = (0, {"kind": "nothing"})
    if not len(traffic.bytes):
        return hops, hops
    step, own = messages.divisor, {"hosts": 1} if per_node > 1 else {}
    hops = (
        _up(_nearest(wires, messages, ones, 1), step),
        {"kind": "sorted", "lengths": ones.tolist(), **own},
    )
    found = []
    if per_node > 1:
        # A host is as a switch with one cable, over which all leaves that does not stay.
        found += [
            (value, {**proof, "host": True})
            for value, proof in (
                _leaving(messages, [(per_node - 1, 1)]),
                _component(messages, per_node),
                _across(messages, len(subnet.hosts), per_node),
            )
            if value
        ]
    if len(ones):
        spots = sorted(set(zip(wires.places[wires.used] - 1, wires.degrees[wires.used], strict=True)))
        found += [_leaving(messages, spots), _component(messages, int(wires.places.max()))]
        found += [_cut(wires, messages), _sorted(wires, messages)]
    if _is_uniform(wires, traffic, per_node):
        found.append((plain, {"kind": "uniform"}))
    value, proof = max(found, key=lambda one: one[0], default=(0, {"kind": "nothing"}))
    return (_up(value, step), proof), hops


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _is_uniform(wires: Wires, traffic: Traffic, per_node: int) -> bool:
    pairs = traffic.ranks * (traffic.ranks - 1)
    full = traffic.ranks == int(wires.places.sum()) and per_node == 1
    return full and len(traffic.bytes) == pairs and len(np.unique(traffic.bytes)) == 1


def _leaving(messages: Messages, spots: list[tuple[int, int]]) -> Bounded:
    """What a rank sends to other switches, or receives from there, wherever it is.

    `spots` are the places besides its own that it may have at its switch, and the channels of the switch.
    """
    best: Bounded = (0, {"kind": "nothing"})
    if any(channels == 0 for _, channels in spots):
        return best
    for sends in (True, False):
        for amounts, rank, _ in messages.alike(0 if sends else 1):
            sums = np.concatenate([[0], amounts.cumsum()])
            who = {"rank": rank, "sends": sends}
            shared = 1
            while (last := max(aside + (shared - 1) * d + 1 for aside, d in spots)) <= len(amounts):
                many = [int(aside + (shared - 1) * d + 1) for aside, d in spots]
                values = [int(sums[count] - sums[count - shared]) for count in many]
                at = int(np.argmin(values))
                if values[at] > best[0]:
                    channels = int(spots[at][1])
                    best = (values[at], {"kind": "packing", **who, "channels": channels, "shared": shared})
                    if last == 1:
                        best = (values[at], _message(messages, values[at]))
                shared += 1
            values = [-(-int(sums[-1] - sums[min(aside, len(amounts))]) // int(d)) for aside, d in spots]
            at = int(np.argmin(values))
            if values[at] > best[0]:
                aside, channels = map(int, spots[at])
                best = (values[at], {"kind": "degree", **who, "channels": channels})
                best[1].update({"aside": aside} if aside else {})
    return best


def _across(messages: Messages, hosts: int, per_node: int) -> Bounded:
    """What the host with the most ranks sends to others, or receives, at least."""
    outwards = messages.outwards()
    least = int(outwards[-(-messages.ranks // hosts) : min(per_node, messages.ranks) + 1].min())
    return least, {"kind": "across"}


def _component(messages: Messages, most: int) -> Bounded:
    """The largest messages that join more ranks than any switch has places: one of them leaves a switch."""
    sources, destinations, amounts = messages.columns
    group = {rank: [rank] for rank in range(messages.ranks)}
    for at in np.argsort(-amounts, kind="stable").tolist():
        one, other = group[int(sources[at])], group[int(destinations[at])]
        if one is other:
            continue
        few, many = sorted((one, other), key=len)
        many += few
        if len(many) > most:
            amount = int(amounts[at])
            return amount, {"kind": "component", "ranks": sorted(many), "bytes": amount}
        for rank in few:
            group[rank] = many
    return 0, {"kind": "nothing"}


def _message(messages: Messages, amount: int) -> dict[str, Any]:
    """The proof that one message goes over a cable, since no two ranks share a switch."""
    sources, destinations, amounts = messages.columns
    at = int(np.flatnonzero(amounts == amount)[0])
    return {"kind": "message", "source": int(sources[at]), "destination": int(destinations[at])}


def _nearest(wires: Wires, messages: Messages, lengths: Whole, of_host: int = 0) -> int:
    """At least this many bytes times lengths: every rank's largest partners at the least distances.

    The cable of a host counts `of_host` where hosts have several ranks.
    """
    partners = messages.alike(2)
    most = max(len(amounts) for amounts, _, _ in partners)
    between = wires.distances(lengths)[:, wires.used]
    places = wires.places[wires.used]
    beside = wires.per_node - 1
    rows = []
    for source, row in enumerate(between):
        order = np.argsort(row, kind="stable")
        free = places.copy()
        # Its own host and its own switch are the nearest.
        free[source] -= 1 + beside
        far = np.repeat(row[order] + 2 * of_host * (beside > 0), free[order])
        rows.append(np.concatenate([np.zeros(beside, dtype=np.int64), far])[:most])
    table = np.unique(np.array(rows), axis=0)
    total = sum(
        count * int((table[:, : len(amounts)] @ amounts[: table.shape[1]]).min())
        for amounts, _, count in partners
    )
    return -(-total // 2)


def _sorted(wires: Wires, messages: Messages) -> Bounded:
    """The best of some lengths: all cables alike, one kind alone, and steps from the best of these."""
    kinds = wires.kinds()
    count = int(kinds.max()) + 1
    best: Bounded = (0, {"kind": "nothing"})
    starts = [[LENGTH] * count]
    if 1 < count <= MOST_KINDS:
        starts += [[LENGTH * (one == kind) for one in range(count)] for kind in range(count)]
    tried: dict[tuple[int, ...], int] = {}

    def worth(chosen: list[int]) -> int:
        key = tuple(chosen)
        if key not in tried and any(chosen) and len(tried) < MOST_TRIALS:
            lengths = np.array(chosen, dtype=np.int64)[kinds]
            tried[key] = -(-_nearest(wires, messages, lengths) // (2 * int(lengths.sum())))
        return tried.get(key, 0)

    value, chosen = max((worth(lengths), lengths) for lengths in starts)
    step = LENGTH // 2 if len(wires.used) * len(kinds) <= MOST_STEPS and 1 < count <= MOST_KINDS else 0
    while step > 0:
        better = False
        for kind in range(count):
            for change in (step, -step):
                changed = [max(0, one + change * (n == kind)) for n, one in enumerate(chosen)]
                if worth(changed) > value:
                    value, chosen, better = worth(changed), changed, True
        step = step if better else step // 2
    if value > 0:
        best = (value, {"kind": "sorted", "lengths": np.array(chosen, dtype=np.int64)[kinds].tolist()})
    return best


def _cut(wires: Wires, messages: Messages) -> Bounded:
    """The best of some cuts: what any set of this many ranks sends outwards, over the channels that leave."""
    outwards, places = messages.outwards(), int(wires.places.sum())
    best: Bounded = (0, {"kind": "nothing"})
    for side in _sides(wires):
        channels = int((side[wires.ends[:, 0]] != side[wires.ends[:, 1]]).sum())
        inside = int(wires.places[side].sum())
        few, many = max(0, messages.ranks - (places - inside)), min(inside, messages.ranks)
        if channels == 0:
            continue
        value = -(-int(outwards[few : many + 1].min()) // channels)
        if value > best[0]:
            proof = {
                "kind": "cut",
                "switches": np.flatnonzero(side).tolist(),
                "nodes": inside,
                "channels": channels,
            }
            best = (value, proof)
    return best


def _sides(wires: Wires) -> Iterator[NDArray[np.bool_]]:
    """Switches on one side of a cut: the first ones in the order of the hosts, and what grows from some."""
    for count in np.unique(np.linspace(1, len(wires.used), min(len(wires.used), MOST_CUTS)).astype(int)):
        side = np.zeros(wires.switches, dtype=bool)
        side[wires.used[:count]] = True
        yield _with_middle(wires, side)
    starts = wires.used[np.linspace(0, len(wires.used) - 1, min(len(wires.used), STARTS)).astype(int)]
    for start in np.unique(starts).tolist():
        side = np.zeros(wires.switches, dtype=bool)
        adds = wires.degrees.astype(np.int64).copy()
        one = start
        for _ in range(min(wires.switches - 1, MOST_CUTS)):
            side[one] = True
            for other, cables in Counter(wires.near[one]).items():
                adds[other] -= 2 * cables
            yield side.copy()
            one = int(np.where(side, np.iinfo(np.int64).max, adds).argmin())


def _with_middle(wires: Wires, side: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Switches without hosts join the side to which most of their cables lead."""
    free = wires.places == 0
    for _ in range(4):
        inside = np.zeros(wires.switches, dtype=np.int64)
        np.add.at(inside, wires.ends[:, 0], side[wires.ends[:, 1]])
        np.add.at(inside, wires.ends[:, 1], side[wires.ends[:, 0]])
        joined = np.where(free, 2 * inside > wires.degrees, side)
        if (joined == side).all():
            break
        side = joined
    return side
