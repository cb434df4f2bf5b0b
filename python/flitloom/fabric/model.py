"""What a subnet is: switches, hosts and the cables between their ports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, show
from flitloom.fixed import explained
from flitloom.limits import FABRIC_PARTS
from flitloom.notebook import fields_html

#: Characters of a name; InfiniBand's descriptions of nodes have 64.
NAME = 256
#: What is said of a file whose hosts are made up.
NO_HOSTS = "the file names no hosts; every switch is given one"
#: Ports of a switch: what InfiniBand numbers, in one byte.
PORTS = 254
#: Largest identifiers of InfiniBand; the last LIDs are those of multicast groups.
_LARGEST = {"guid": 2**64 - 1, "lid": 0xBFFF, "lmc": 7}


@explained
@dataclass(frozen=True)
class Switch:
    """A switch.

    Attributes
    ----------
    name : str
        Its description, or its identifier in the file.
    guid : int or None
        Its node GUID, if the file says.
    lid : int or None
        Its local identifier.
    """

    name: str
    guid: int | None = None
    lid: int | None = None


@explained
@dataclass(frozen=True)
class Host:
    """A port of a host, where it is plugged into a switch.

    Attributes
    ----------
    name : str
        Its description, or its identifier in the file.
    guid, port_guid : int or None
        GUIDs of the node and of the port.
    lid : int or None
        Its first local identifier; there are ``2**lmc`` of them.
    lmc : int
        LID mask count.
    switch, switch_port : int
        Index of the switch and the port there.
    """

    name: str
    guid: int | None
    port_guid: int | None
    lid: int | None
    lmc: int
    switch: int
    switch_port: int


@explained
@dataclass(frozen=True)
class Cable:
    """A cable between two switches, by their indices and ports."""

    a: int
    a_port: int
    b: int
    b_port: int


@explained
@dataclass(frozen=True)
class Subnet:
    """A fabric as a file describes it; switches are sorted by GUID, or by name.

    Attributes
    ----------
    switches, hosts, cables : tuple
        What there is. Channel ``2 * i`` runs along cable ``i`` from its first end, ``2 * i + 1`` back.
    remarks : tuple of str
        What was odd about the description but could be understood.
    gone : tuple of int
        GUIDs of switches that were taken out since; files of tables may speak of them.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> subnet = parse_fabric("a,1,b,1\\nb,2,c,1\\nc,2,a,2\\n", "ring.csv")
    >>> len(subnet.switches), len(subnet.cables), subnet.port_name(0, 1)
    (3, 3, 'a/1')
    """

    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    cables: tuple[Cable, ...]
    remarks: tuple[str, ...] = field(default=())
    gone: tuple[int, ...] = field(default=())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"switches": len(self.switches), "cables": len(self.cables), "hosts": len(self.hosts)}
        return fields_html("fabric", fields)

    def port_name(self, switch: int, port: int) -> str:
        """A port as ``name/port``."""
        return f"{self.switches[switch].name}/{port}"

    def channel_name(self, channel: int) -> str:
        """A channel as the ports at its ends."""
        cable = self.cables[channel // 2]
        ends = [self.port_name(cable.a, cable.a_port), self.port_name(cable.b, cable.b_port)]
        return " -> ".join(reversed(ends) if channel % 2 else ends)

    def cable_ends(self) -> NDArray[np.uint32]:
        """Both switches of every cable."""
        return np.array([(cable.a, cable.b) for cable in self.cables], dtype=np.uint32).reshape(-1, 2)

    def hosts_per_switch(self) -> list[int]:
        """Number of hosts at every switch."""
        counts = [0] * len(self.switches)
        for host in self.hosts:
            counts[host.switch] += 1
        return counts

    def channels_by_port(self) -> NDArray[np.uint32]:
        """The channel that leaves a switch by a port; all ones for none."""
        table = np.full((len(self.switches), 256), 0xFFFFFFFF, dtype=np.uint32)
        for index, cable in enumerate(self.cables):
            table[cable.a, cable.a_port] = 2 * index
            table[cable.b, cable.b_port] = 2 * index + 1
        return table

    def outgoing(self) -> list[list[tuple[int, int, int]]]:
        """Per switch its channels in ascending order: channel, port here, neighbour."""
        lists: list[list[tuple[int, int, int]]] = [[] for _ in self.switches]
        for index, cable in enumerate(self.cables):
            lists[cable.a].append((2 * index, cable.a_port, cable.b))
            lists[cable.b].append((2 * index + 1, cable.b_port, cable.a))
        return lists


#: Characters of a line about one cable or node.
LONGEST = 4096


@dataclass
class Node:
    """A node while a file is being read."""

    kind: str
    name: str
    guid: int | None = None
    lid: int | None = None
    lmc: int = 0
    place: str = ""


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
    #: Ports of nodes where a file names none.
    used: Counter[str] = field(default_factory=Counter)

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

    def plug(self, name: str) -> tuple[str, int]:
        """The next free port of a node."""
        self.used[name] += 1
        return name, self.used[name]

    def join(self, a: str, b: str, place: str) -> None:
        """Add a cable between the next free ports of two nodes."""
        self.connect(self.plug(a), self.plug(b), place)

    def finish(self) -> Subnet:
        """The subnet; hosts are given to every switch if the file names none."""
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
            self._in_range(
                {"guid": node.guid, "lid": node.lid, "lmc": node.lmc}, f"{place}: {show(node.name)}"
            )
        for (name, port), facts in self.port_facts.items():
            self._in_range(facts, f"{self.source}: port {port} of {show(name)}")
        index = {name: place for place, name in enumerate(switches)}
        cables, hosts, lost = [], [], 0
        for (name, port), (other, other_port, place) in self.ends.items():
            for side in (name, other):
                if side not in self.nodes:
                    raise SpecError(f"{place}: {side!r} is described nowhere")
            if name in index and other in index:
                ends = ((index[name], port), (index[other], other_port))
                if ends[0][0] == ends[1][0]:
                    lost += ends[0] < ends[1]
                elif ends[0] < ends[1]:
                    cables.append(Cable(*ends[0], *ends[1]))
            elif other in index:
                hosts.append(self._host(name, port, index[other], other_port))
        if lost:
            self.remarks.append(f"{lost} cables join a switch to itself; they are left out")
        if not hosts:
            self.remarks.append(NO_HOSTS)
            hosts = self._one_each(cables, len(switches))
        hosts.sort(key=lambda host: (host.switch, host.switch_port))
        cables.sort(key=lambda cable: (cable.a, cable.a_port))
        made = tuple(
            Switch(self.nodes[name].name, self.nodes[name].guid, self.nodes[name].lid) for name in switches
        )
        self._distinct("GUID", [switch.guid for switch in made])
        self._distinct("LID", [*(switch.lid for switch in made), *(host.lid for host in hosts)])
        plugged = [(host.switch, host.switch_port) for host in hosts]
        for cable in cables:
            plugged += [(cable.a, cable.a_port), (cable.b, cable.b_port)]
        for switch, port in plugged:
            if port > PORTS:
                raise SpecError(
                    f"{self.source}: {show(made[switch].name)} has more than {PORTS} ports "
                    "(hosts included); no switch has that many"
                )
        return Subnet(made, tuple(hosts), tuple(cables), tuple(self.remarks))

    @staticmethod
    def _in_range(facts: Mapping[str, int | None], place: str) -> None:
        for name, largest in _LARGEST.items():
            value = facts.get(name)
            if value is not None and not 0 <= value <= largest:
                raise SpecError(
                    f"{place}: {name.upper()} {show(value)} is out of range; it is 0 to {largest}"
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
            facts.get("guid", node.guid),
            facts.get("lid", node.lid),
            facts.get("lmc", node.lmc),
            switch,
            switch_port,
        )

    @staticmethod
    def _one_each(cables: list[Cable], count: int) -> list[Host]:
        used = [0] * count
        for cable in cables:
            used[cable.a] = max(used[cable.a], cable.a_port)
            used[cable.b] = max(used[cable.b], cable.b_port)
        return [Host(f"host{n}", None, None, None, 0, n, used[n] + 1) for n in range(count)]
