"""Parts of a subnet taken out: what a failure would leave."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property

from flitloom.errors import SpecError, show
from flitloom.fabric.model import Cable, Subnet
from flitloom.fabric.names import Names, two_ends
from flitloom.fabric.recognition import Recognition, recognise

_COORDINATES = re.compile(r"\((\d{1,6}(?:,\d{1,6})*)\)")


def fail_parts(subnet: Subnet, parts: Iterable[str]) -> Subnet:
    """The subnet without some switches and cables.

    Parameters
    ----------
    parts : iterable of str
        ``node:NAME`` or ``node:(0,1,2)``: a switch with its hosts, by name, GUID or coordinates, or a host;
        ``cable:NAME/3``: the cable at a port; ``link:NAME-NAME``: all cables between two switches, or a host
        and its switch; ``link:(0,1)+x``: those that leave a place in a direction.

    Raises
    ------
    SpecError
        There is no such part.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.failures import fail_parts
    >>> ring = parse_fabric("".join(f"s{n},s{(n + 1) % 5}\\n" for n in range(5)))
    >>> len(fail_parts(ring, ["node:s2", "link:s0-s1"]).cables)
    2
    """
    switches: set[int] = set()
    cables: set[int] = set()
    ports: set[int] = set()
    whole = _Parts(subnet)
    for part in parts:
        kind, _, what = part.partition(":")
        if kind == "node" and whole.is_host(what):
            ports.update(whole.hosts.of(what))
        elif kind in ("node", "switch"):
            switches.add(whole.switch(what))
        elif kind == "link" and (found := whole.ports(part)):
            ports.update(found)
        elif kind in ("cable", "link"):
            cables.update(whole.cables(part))
        else:
            raise SpecError.at("--fail", f"{show(part)} is not a failed part", whole.advice(part))
    kept = tuple(host for port, host in enumerate(subnet.hosts) if port not in ports)
    return without(replace(subnet, hosts=kept), switches, cables)


def without(subnet: Subnet, switches: AbstractSet[int], cables: AbstractSet[int]) -> Subnet:
    """The subnet without switches (and their hosts) and cables, by index."""
    kept = [index for index in range(len(subnet.switches)) if index not in switches]
    place = {index: number for number, index in enumerate(kept)}
    lost = [switch for index, switch in enumerate(subnet.switches) if index in switches]
    return replace(
        subnet,
        gone=(*subnet.gone, *(switch.guid for switch in lost if switch.guid is not None)),
        gone_names=(*subnet.gone_names, *(switch.name for switch in lost)),
        switches=tuple(subnet.switches[index] for index in kept),
        hosts=tuple(
            replace(host, switch=place[host.switch]) for host in subnet.hosts if host.switch in place
        ),
        cables=tuple(
            Cable(place[cable.a], cable.a_port, place[cable.b], cable.b_port)
            for index, cable in enumerate(subnet.cables)
            if index not in cables and cable.a in place and cable.b in place
        ),
    )


class _Parts:
    """Switches, hosts and cables of a subnet by their names, GUIDs or coordinates."""

    def __init__(self, subnet: Subnet) -> None:
        self.subnet = subnet
        self.names = Names(len(subnet.switches), tuple(switch.name for switch in subnet.switches), "switch")
        self.hosts = Names(len(subnet.hosts), tuple(host.name for host in subnet.hosts), "host")
        self.guids = {
            f"0x{switch.guid:016x}": index
            for index, switch in enumerate(subnet.switches)
            if switch.guid is not None
        }

    @cached_property
    def recognition(self) -> Recognition:
        """What the subnet is."""
        return recognise(self.subnet)

    def is_host(self, name: str) -> bool:
        """Whether a failed part names a host, and no switch."""
        return name in self.hosts and not self._knows(name)

    def ports(self, part: str) -> list[int]:
        """The ports of a host at a switch that a failed link names; none where it names two switches."""
        what = part.partition(":")[2]
        if what.startswith("(") or "-" not in what:
            return []
        ends = two_ends(part, lambda name: self._knows(name) or name in self.hosts)
        host = next(filter(self.is_host, ends), None)
        if host is None:
            return []
        switch = self.switch(ends[ends[0] == host])
        found = [port for port in self.hosts.of(host) if self.subnet.hosts[port].switch == switch]
        if not found:
            raise SpecError.at("--fail", f"{show(part)}: there is no such cable", self.advice())
        return found

    def switch(self, name: str) -> int:
        """The switch that a failed part names."""
        if match := _COORDINATES.fullmatch(name):
            place = tuple(int(number) for number in match[1].split(","))
            known = self.recognition.coordinates
            if place not in known:
                what = "no switch has these" if known else "the switches of a graph have no"
                raise SpecError.at("--fail", f"{show(name)}: {what} coordinates", self.advice())
            return known.index(place)
        found = self.guids.get(name)
        if found is None and name not in self.names and not name.isdecimal():
            # Names the nearest of all.
            nodes = (*self.names.called, *self.hosts.called)
            return Names(len(nodes), nodes, "switch or host").of(name, "--fail")[0]
        return self.names.number(name, "--fail") if found is None else found

    def cables(self, part: str) -> list[int]:
        """The cables that a failed part names."""
        what = part.partition(":")[2]
        if match := re.fullmatch(r"(.+)/(\d{1,3})", what):
            end = self.switch(match[1]), int(match[2])
            found = [
                index
                for index, cable in enumerate(self.subnet.cables)
                if end in ((cable.a, cable.a_port), (cable.b, cable.b_port))
            ]
        elif match := re.fullmatch(r"(\(.+\))([+-])([xyzuvw])", what):
            here = self.switch(match[1])
            there = _beside(self.recognition, here, "xyzuvw".index(match[3]), 1 if match[2] == "+" else -1)
            found = self._between(here, there)
        else:
            found = self._between(*map(self.switch, two_ends(part, self._knows)))
        if not found:
            raise SpecError.at("--fail", f"{show(part)}: there is no such cable", self.advice())
        return found

    def _knows(self, name: str) -> bool:
        return name in self.names or name in self.guids or _COORDINATES.fullmatch(name) is not None

    def _between(self, a: int, b: int) -> list[int]:
        return [index for index, cable in enumerate(self.subnet.cables) if {cable.a, cable.b} == {a, b}]

    def advice(self, part: str = "") -> str:
        """How failed parts of this subnet are written."""
        if self._knows(part) or not self.subnet.cables:
            return f"write node:{part or self.subnet.switches[0].name}"
        cable = self.subnet.cables[0]
        a, b = self.subnet.switches[cable.a].name, self.subnet.switches[cable.b].name
        port = self.subnet.port_name(cable.a, cable.a_port)
        return f"write node:{a}, cable:{port} or link:{a}-{b}; of a torus also node:(0,1) or link:(0,1)+x"


def _beside(recognition: Recognition, switch: int, dimension: int, step: int) -> int:
    if dimension >= len(recognition.sizes):
        return -1
    place = list(recognition.coordinates[switch])
    place[dimension] += step
    # The rows of closed ways form a triangle: each leaves the coordinates before its first entry alone.
    for way in recognition.closed:
        first = next(index for index, entry in enumerate(way) if entry)
        times = place[first] // way[first]
        place = [coordinate - times * entry for coordinate, entry in zip(place, way, strict=True)]
    wanted = tuple(place)
    return recognition.coordinates.index(wanted) if wanted in recognition.coordinates else -1
