"""What a file says of switches, hosts and cables, collected in any order and checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.fabric.kinds import OTHERWISE, guessed_hosts
from flitloom.fabric.model import NO_HOSTS, PORTS, Cable, Host, PortLanes, Subnet, Switch
from flitloom.fabric.names import Names
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.numerals import counted

#: Characters of a name; InfiniBand's descriptions of nodes have 64.
NAME = 256
#: Largest identifiers of InfiniBand; the last LIDs are those of multicast groups.
_LARGEST = {"guid": 2**64 - 1, "lid": 0xBFFF, "lmc": 7}
#: Characters of a line about one cable or node.
LONGEST = 4096


#: What only matters if cables differ in it.
_RELATIVE = re.compile(r"speed|rate|bandwidth|bw|capacity|weight|width|cost", re.IGNORECASE)
#: InfiniBand's name of a node that adds messages up in a switch (SHARP).
_AGGREGATION = re.compile(r"\bAggregation Node\b")


#: Kinds of nodes by their words in dumps of InfiniBand, in lower case; all others are hosts.
_INFINIBAND = {"sw": "switch", "switch": "switch", "rt": "subnet router", "router": "subnet router"}


def infiniband_kind(word: str) -> str:
    """The kind of a node by its word in a dump of InfiniBand: ``SW``, ``Rt``, ``Ca`` and their like.

    >>> infiniband_kind("SW"), infiniband_kind("Rt"), infiniband_kind("Hca")
    ('switch', 'subnet router', 'host')
    """
    return _INFINIBAND.get(word.lower(), "host")


@dataclass
class Node:
    """A node while a file is read: a ``switch``, ``host``, ``subnet router`` or ``aggregation`` node."""

    kind: str
    name: str
    guid: int | None = None
    lid: int | None = None
    lmc: int = 0
    place: str = ""
    #: Of the port, where the file has ports for nodes.
    port_guid: int | None = None


class _Nodes(dict[str, Node]):
    """Nodes by their identifiers, not more than there may be."""

    def __setitem__(self, identifier: str, node: Node) -> None:
        if len(self) >= FABRIC_PARTS and identifier not in self:
            raise SpecError.at("fabric", f"more than {FABRIC_PARTS} switches and hosts")
        super().__setitem__(identifier, node)


@dataclass
class Assembly:
    """Collects nodes and cables of a file, in any order, and checks them against each other."""

    source: str
    nodes: dict[str, Node] = field(default_factory=lambda: _Nodes())
    ends: dict[tuple[str, int], tuple[str, int, str]] = field(default_factory=dict)
    port_facts: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    #: Where a file says of the cable that ends at a port that it leads there only.
    one_way: dict[tuple[str, int], str] = field(default_factory=dict)
    #: Ports of nodes where a file names none.
    used: Counter[str] = field(default_factory=Counter)
    #: What cables are said to be that nothing here uses: by the name of the fact its values.
    unused: dict[str, Counter[str]] = field(default_factory=dict)
    #: Cables of which something unused is known.
    said: set[tuple[tuple[str, int], tuple[str, int]]] = field(default_factory=set)

    def add_node(self, identifier: str, node: Node) -> None:
        """Add a node; the same one may stand twice if both agree."""
        known = self.nodes.get(identifier)
        if known is not None and known.place and node.place:
            raise SpecError(f"{node.place}: {identifier} is described a second time, first at {known.place}")
        self.nodes[identifier] = node

    def connect(self, here: tuple[str, int], there: tuple[str, int], place: str) -> None:
        """Add a cable; it may be named from both ends, which must agree."""
        if len(self.ends) > 2 * FABRIC_PARTS:
            raise SpecError(f"{place}: more than {FABRIC_PARTS} cables")
        for end, other in ((here, there), (there, here)):
            known = self.ends.get(end)
            if known is not None and known[:2] != other:
                raise SpecError(
                    f"{place}: port {end[1]} of {end[0]} leads to {other[0]} port {other[1]} here and to "
                    f"{known[0]} port {known[1]} at {known[2]}"
                )
            self.ends.setdefault(end, (*other, place))

    @staticmethod
    def require_cables(count: int, place: str) -> None:
        """Refuse more cables than a fabric has, before any is made."""
        if count > FABRIC_PARTS:
            raise SpecError(f"{place}: {count} cables; a network has at most {FABRIC_PARTS}")

    @staticmethod
    def require_two(a: str, b: str, place: str) -> None:
        """Refuse a cable whose ends are the same node."""
        if a == b:
            raise SpecError(f"{place}: a cable joins {show(a)} to itself; name two nodes, or leave it out")

    def leave_out(self, fact: str, value: str, cables: int = 1) -> None:
        """Remember what a file says of cables that is not used."""
        if value:
            self.unused.setdefault(fact, Counter())[value] += cables

    def leave_out_of(self, ends: tuple[tuple[str, int], tuple[str, int]], fact: str, value: str) -> None:
        """The same of the cable between two ports, of which each may say it: it counts once."""
        key = (min(ends), max(ends))
        if key not in self.said:
            self.said.add(key)
            self.leave_out(fact, value)

    def plug(self, name: str) -> tuple[str, int]:
        """The next free port of a node, refused where a switch has no more of them."""
        self.used[name] += 1
        node = self.nodes.get(name)
        if self.used[name] > PORTS and node is not None and node.kind == "switch":
            raise self._too_many_ports(node.name)
        return name, self.used[name]

    def _too_many_ports(self, switch: str) -> SpecError:
        return SpecError(
            f"{self.source}: {show(switch)} has more than {PORTS} ports "
            "(hosts included); no switch has that many"
        )

    def join(self, a: str, b: str, place: str, one_way: bool = False) -> None:
        """Add a cable between the next free ports of two nodes, or a link that leads from `a` to `b` only."""
        self.require_two(a, b, place)
        here, there = self.plug(a), self.plug(b)
        self.connect(here, there, place)
        if one_way:
            self.one_way[there] = place

    def finish(self, hosts: Sequence[str] | None = None, *, one_way: bool = False) -> Subnet:
        """The subnet; hosts are given to every switch if there are none.

        Parameters
        ----------
        hosts : sequence of str, optional
            Lists of the nodes that are hosts, where the file does not say what its nodes are; empty for none.
        one_way : bool
            Whether links between switches may lead one way.
        """
        if self.one_way:
            self._tell_one_way(one_way)
        self._check_ends()
        own = self._settle_kinds(hosts)
        switches = sorted(
            (name for name, node in self.nodes.items() if node.kind == "switch"), key=self._order
        )
        if not switches:
            raise SpecError(f"{self.source}: no switches found")
        for node in self.nodes.values():
            place = node.place or self.source
            if len(node.name) > NAME:
                raise SpecError(
                    f"{place}: the name {show(node.name)} has {len(node.name)} characters; at most {NAME} "
                    "are supported"
                )
            self._in_range({"guid": node.guid, "lid": node.lid, "lmc": node.lmc}, f"{place}:", node.name)
        for (name, port), facts in self.port_facts.items():
            self._in_range(facts, f"{self.source}: port {port} of", name)
        index = {name: place for place, name in enumerate(switches)}
        cables, found, lost = [], [], 0
        for (name, port), (other, other_port, _) in self.ends.items():
            if name in index and other in index:
                ends = ((index[name], port), (index[other], other_port))
                if ends[0][0] == ends[1][0]:
                    lost += ends[0] < ends[1]
                elif (name, port) in self.one_way:
                    cables.append(Cable(*ends[1], *ends[0], one_way=True))
                elif ends[0] < ends[1] and (other, other_port) not in self.one_way:
                    cables.append(Cable(*ends[0], *ends[1]))
            elif other in index and self.nodes[name].kind == "host":
                if at := self.one_way.get((name, port)) or self.one_way.get((other, other_port)):
                    raise SpecError(f"{at}: leads one way; a host sends and receives over its cable")
                found.append(self._host(name, port, index[other], other_port))
        if lost:
            self.remarks.append(f"{lost} cables join a switch to itself; they are left out")
        if not found and own in (set(), set(switches)):
            self.remarks.append(NO_HOSTS)
            own = set(switches)
        found += self._one_each(cables, found, [index[name] for name in switches if name in own], switches)
        found.sort(key=lambda host: (host.switch, host.switch_port))
        cables.sort(key=lambda cable: (cable.a, cable.a_port))
        made = tuple(
            Switch(self.nodes[name].name, self.nodes[name].guid, self.nodes[name].lid) for name in switches
        )
        self._distinct("GUID", [switch.guid for switch in made])
        self._distinct("LID", [*(switch.lid for switch in made), *(host.lid for host in found)])
        plugged = [(host.switch, host.switch_port) for host in found]
        for cable in cables:
            plugged += [(cable.a, cable.a_port), (cable.b, cable.b_port)]
        for switch, port in plugged:
            if port > PORTS:
                raise self._too_many_ports(made[switch].name)
        subnet = Subnet(made, tuple(found), tuple(cables), port_lanes=self._port_lanes())
        return replace(subnet, remarks=(*self.remarks, *self._told(subnet)))

    def _port_lanes(self) -> PortLanes | None:
        """Lanes of the ports of switches, if the file says any."""
        lanes = {
            (guid, port): facts["lanes"]
            for (name, port), facts in self.port_facts.items()
            if "lanes" in facts and (guid := self.nodes[name].guid)
        }
        return PortLanes(lanes, f"VLCap in {self.source}") if lanes else None

    def _tell_one_way(self, known: bool) -> None:
        """Say that links lead one way, or refuse them."""
        if not known:
            others = f", as do {counted(len(self.one_way), 'edge')} in all" if len(self.one_way) > 1 else ""
            raise SpecError(
                f"{next(iter(self.one_way.values()))}: leads one way{others}; only flitloom collective knows "
                "such links: write undirected edges, or each both ways"
            )
        several = len(self.one_way)
        self.remarks.append(f"{counted(several, 'link')} {'leads' if several == 1 else 'lead'} one way")

    def _check_ends(self) -> None:
        """Refuse cables of nodes that are described nowhere."""
        for (name, _), (other, _, place) in self.ends.items():
            for side in (name, other):
                if side not in self.nodes:
                    raise SpecError(f"{place}: {side!r} is described nowhere")

    def _take_for_hosts(self, hosts: Sequence[str]) -> set[str]:
        """Let these nodes be hosts, all others of no kind relays; which of them the file calls switches."""
        identifiers, called = list(self.nodes), [node.name for node in self.nodes.values()]
        names, chosen = Names(len(called), tuple(called)), set[str]()
        for item in hosts:
            numbers = names.of(item, "hosts") if item in called else names.numbers(item, "hosts")
            chosen.update(identifiers[number] for number in numbers)
        stated = {name for name, node in self.nodes.items() if node.kind == "host"}
        own = set()
        for name, node in self.nodes.items():
            shown = show(node.name)
            if not node.kind:
                node.kind = "host" if name in chosen else "switch"
            elif name in stated - chosen:
                problem = f"{self.source} says that {shown} is a host, and it is not among them"
                raise SpecError.at("hosts", problem, "name it as well, or do not say which nodes are hosts")
            elif name in chosen and node.kind in ("switch", "aggregation"):
                if stated or node.kind != "switch":
                    kind = "a switch" if node.kind == "switch" else "an aggregation node"
                    problem = f"{self.source} says that {shown} is {kind}"
                    raise SpecError.at("hosts", problem, "leave it out of them")
                own.add(name)
        return own

    def _settle_kinds(self, hosts: Sequence[str] | None) -> set[str]:
        """Settle the kinds that the file does not say; the names of switches that are hosts as well."""
        taken = set() if hosts is None else self._take_for_hosts(hosts)
        near: dict[str, list[str]] = {name: [] for name in self.nodes}
        for (name, _), (other, _, _) in self.ends.items():
            near[name].append(other)
        if unknown := [name for name, node in self.nodes.items() if not node.kind]:
            guessed, why = guessed_hosts({name: near[name] for name in unknown})
            for name in unknown:
                self.nodes[name].kind = "host" if name in guessed else "switch"
            if guessed:
                some = _some([show(self.nodes[name].name)[1:-1] for name in sorted(guessed, key=self._order)])
                self.remarks.append(f"{some} are taken for hosts {why}; {OTHERWISE}")
        for node in self.nodes.values():
            if node.kind == "host" and _AGGREGATION.search(node.name):
                node.kind = "aggregation"
        if routers := [node for node in self.nodes.values() if node.kind == "subnet router"]:
            # Routes of the subnet lead to them as to hosts.
            for node in routers:
                node.kind = "host"
            what = counted(len(routers), "router")
            self.remarks.append(f"{what} between subnets taken for hosts, e.g. {show(routers[0].name)}")
        if left := sum(node.kind == "aggregation" for node in self.nodes.values()):
            what = counted(left, "aggregation node")
            self.remarks.append(f"{what} left out: they are not hosts, and no routes lead to them")
        is_host = {name for name, node in self.nodes.items() if node.kind == "host"}
        if apart := [name for name in is_host if not near[name]]:
            what = counted(len(apart), "host")
            self.remarks.append(f"{what} without a cable left out, e.g. {show(min(apart))}")
        own = {name for name in is_host if any(other in is_host for other in near[name])}
        for name in own:
            self.nodes[name].kind = "switch"
        return own | taken

    def _told(self, subnet: Subnet) -> list[str]:
        """What is to be said of a network: hosts with several ports, pieces, and what is not used."""
        told = []
        several = [ports for ports in subnet.ports_of_hosts() if len(ports) > 1]
        if several:
            name = show(subnet.hosts[several[0][0]].name)
            what = counted(len(several), "host")
            told.append(f"{what} with several ports, e.g. {name} with {len(several[0])}")
        pieces = subnet.pieces()
        if len(pieces) > 1:
            named = [_some([subnet.switches[switch].name for switch in piece]) for piece in pieces]
            kind = "planes, in which every host has a port," if _are_planes(subnet, pieces) else "pieces"
            told.append(f"{len(pieces)} {kind} that no cable between switches joins: {_some(named, '; ')}")
        for fact, values in self.unused.items():
            if len(values) == 1 and _RELATIVE.search(fact) and values.total() >= len(self.ends) // 2:
                # What all cables have in common changes no load.
                continue
            some = _some([f"{value} ({count})" for value, count in values.most_common()])
            told.append(f"{fact} of cables is not used, all cables count alike: {some}")
        return told

    @staticmethod
    def _in_range(facts: Mapping[str, int | None], place: str, node: str) -> None:
        for name, largest in _LARGEST.items():
            value = facts.get(name)
            if value is not None and not 0 <= value <= largest:
                where = f"{place} {show(node)}"
                raise SpecError(
                    f"{where}: {name.upper()} {show(value)} is out of range; it is 0 to {largest}"
                )

    def _distinct(self, what: str, values: list[int | None]) -> None:
        seen: set[int] = set()
        for value in values:
            if value:
                if value in seen:
                    raise SpecError(f"{self.source}: {what} 0x{value:x} belongs to two nodes")
                seen.add(value)

    def _order(self, name: str) -> tuple[bool, int, list[tuple[int, str]]]:
        guid = self.nodes[name].guid
        parts = [
            (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)
        ]
        return (guid is None, guid or 0, parts)

    def _host(self, name: str, port: int, switch: int, switch_port: int) -> Host:
        node = self.nodes[name]
        facts = self.port_facts.get((name, port), {})
        return Host(
            node.name,
            node.guid,
            facts.get("guid", node.port_guid or node.guid),
            facts.get("lid", node.lid),
            facts.get("lmc", node.lmc),
            switch,
            switch_port,
        )

    def _one_each(
        self, cables: list[Cable], hosts: list[Host], wanted: list[int], switches: list[str]
    ) -> list[Host]:
        """A host at each of these switches, which has its name."""
        used = [0] * len(switches)
        for cable in cables:
            used[cable.a] = max(used[cable.a], cable.a_port)
            used[cable.b] = max(used[cable.b], cable.b_port)
        for host in hosts:
            used[host.switch] = max(used[host.switch], host.switch_port)
        count = Counter(self.nodes[name].name for name in switches)
        names = [self.nodes[switches[n]].name for n in wanted]
        # Hosts of one name would be ports of one host.
        names = [name if count[name] == 1 else f"host{n}" for n, name in zip(wanted, names, strict=True)]
        return [
            Host(name, None, None, None, 0, n, used[n] + 1) for name, n in zip(names, wanted, strict=True)
        ]


def _are_planes(subnet: Subnet, pieces: Sequence[Sequence[int]]) -> bool:
    """Whether every host has a port in every piece: the planes, or rails, of a network."""
    piece_of = {switch: number for number, piece in enumerate(pieces) for switch in piece}
    reached = [{piece_of[subnet.hosts[port].switch] for port in ports} for ports in subnet.ports_of_hosts()]
    return bool(reached) and all(len(some) == len(pieces) for some in reached)


def _some(names: Sequence[str], separator: str = ", ") -> str:
    """The first of some names."""
    return separator.join([*names[:3], *(["..."] if len(names) > 3 else [])])
