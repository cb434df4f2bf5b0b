"""What a subnet is: switches, hosts and the cables between their ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted

#: Sizes, closed ways and coordinates of a torus or mesh.
Grid = tuple[list[int], list[list[int]], list[list[int]]]

#: What is said of a file whose hosts are made up.
NO_HOSTS = "the file names no hosts; every switch is given one"
#: Ports of a switch: what InfiniBand numbers, in one byte.
PORTS = 254


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
    """A cable between two switches, by their indices and ports; or a link that leads from `a` to `b` only."""

    a: int
    a_port: int
    b: int
    b_port: int
    one_way: bool = False


@explained
@dataclass(frozen=True)
class PortLanes:
    """Virtual lanes that ports of switches have.

    Attributes
    ----------
    lanes : dict
        How many, by the GUID of the switch and the port there.
    source : str
        What says so, e.g. ``OperVLs in ports.txt``.
    """

    lanes: Mapping[tuple[int, int], int]
    source: str


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
    gone_names : tuple of str
        Names of the same switches, which have no GUIDs in a file that names none.
    named : dict or None
        The fields of a topology that name it, if it was made from a name or a file.
    port_lanes : PortLanes or None
        Virtual lanes of ports, if a file says.

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
    gone_names: tuple[str, ...] = field(default=())
    named: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    port_lanes: PortLanes | None = field(default=None, compare=False, repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "switches": len(self.switches),
            "cables": len(self.cables),
            "hosts": len(self.ports_of_hosts()),
        }
        return fields_html("fabric", fields)

    def taken_for(self) -> str:
        """What the description was taken for, in a few words.

        Examples
        --------
        >>> from flitloom.fabric import parse_fabric
        >>> parse_fabric("n0,sw\\nn1,sw\\n").taken_for()
        '1 switch and 2 hosts'
        """
        if NO_HOSTS in self.remarks:
            return f"{counted(len(self.switches), 'switch')} with a host each"
        return f"{counted(len(self.switches), 'switch')} and {self.count_hosts()}"

    def count_hosts(self) -> str:
        """How many hosts there are, and how many ports these have if it is more than one each."""
        hosts, ports = len(self.ports_of_hosts()), len(self.hosts)
        return counted(hosts, "host") + (f" with {ports} ports" if ports > hosts else "")

    def ports_of_hosts(self) -> list[list[int]]:
        """The ports of every host by their places in `hosts`: a host may be plugged in several times."""
        ports: dict[tuple[str, int | None], list[int]] = {}
        for port, host in enumerate(self.hosts):
            ports.setdefault((host.name, host.guid), []).append(port)
        return list(ports.values())

    def among(self, whole: Subnet) -> Subnet:
        """The same cables among all switches and hosts of a fabric of which this is a part, found by name.

        Examples
        --------
        >>> from flitloom.fabric import parse_fabric
        >>> from flitloom.fabric.failures import fail_parts
        >>> ring = parse_fabric("a,b\\nb,c\\nc,a\\n")
        >>> left = fail_parts(ring, ["node:b"]).among(ring)
        >>> len(left.switches), [(cable.a, cable.b) for cable in left.cables]
        (3, [(0, 2)])
        """
        place = {switch.name: number for number, switch in enumerate(whole.switches)}
        at = [place[switch.name] for switch in self.switches]
        cables = (replace(cable, a=at[cable.a], b=at[cable.b]) for cable in self.cables)
        return replace(self, switches=whole.switches, hosts=whole.hosts, cables=tuple(cables))

    def fewest_lanes(self) -> tuple[int, str] | None:
        """The fewest lanes of a port of a cable between switches, and its name; None if no file says."""
        known = {} if self.port_lanes is None else self.port_lanes.lanes
        found = []
        for cable in self.cables:
            for switch, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
                lanes = known.get((self.switches[switch].guid or 0, port))
                found += [] if lanes is None else [(lanes, switch, port)]
        lanes, switch, port = min(found, default=(0, 0, 0))
        return (lanes, self.port_name(switch, port)) if found else None

    def pieces(self) -> list[list[int]]:
        """The switches of every part that no cable between switches joins to others, the largest first."""
        near: list[list[int]] = [[] for _ in self.switches]
        for cable in self.cables:
            near[cable.a].append(cable.b)
            near[cable.b].append(cable.a)
        found, seen = [], [False] * len(near)
        for first in range(len(near)):
            if seen[first]:
                continue
            piece, seen[first] = [first], True
            for switch in piece:
                new = [other for other in dict.fromkeys(near[switch]) if not seen[other]]
                for other in new:
                    seen[other] = True
                piece += new
            found.append(sorted(piece))
        return sorted(found, key=lambda piece: (-len(piece), piece))

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

    def core(self, sizes: Sequence[int] | None = None, grid: Grid | None = None) -> _core.Network:
        """The network as the core has it; hosts are in the order of these sizes, else in a row.

        Switches stand on a `grid` of these sizes and closed ways, at these coordinates.
        """
        return _core.Network.of_switches(self.hosts_per_switch(), self.cable_ends(), sizes, grid)

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
