"""LIDs and GUIDs of fabrics whose file names none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count

from flitloom.errors import SpecError
from flitloom.fabric.model import Host, Subnet, Switch
from flitloom.ground.numerals import counted

_MADE_UP = "some nodes have no LID or GUID; made-up ones stand in the tables, which no subnet loads"


def has_none(subnet: Subnet) -> bool:
    """Whether no node has a LID or GUID, as in files that are not of a running subnet."""
    everything: tuple[Switch | Host, ...] = (*subnet.switches, *subnet.hosts)
    return not any(node.lid or node.guid is not None for node in everything)


def with_identifiers(subnet: Subnet) -> Subnet:
    """The subnet with LIDs and GUIDs made up where the file has none; a remark says so."""
    everything: tuple[Switch | Host, ...] = (*subnet.switches, *subnet.hosts)
    if all(node.lid for node in subnet.hosts) and all(node.guid is not None for node in everything):
        return subnet
    return with_made_up(subnet)


def with_made_up(subnet: Subnet) -> Subnet:
    """The subnet with LIDs and GUIDs made up for all nodes without, switches included; a remark says so."""
    everything: tuple[Switch | Host, ...] = (*subnet.switches, *subnet.hosts)
    used = {node.lid for node in everything if node.lid}
    guids = {node.guid for node in everything} | {node.port_guid for node in subnet.hosts}
    spare = (guid for guid in count(0x300000) if guid not in guids)

    @cache
    def unused(guid: int) -> int:
        return next(spare) if guid in guids else guid

    free = (lid for lid in range(1, 0xC000) if lid not in used)
    if len(everything) > 0xBFFF:
        raise SpecError.at("fabric", counted(len(everything), "node"), "unicast LIDs end at 0xbfff")
    switches = tuple(
        replace(
            node,
            guid=node.guid if node.guid is not None else unused(0x200000 + n),
            lid=node.lid or next(free),
        )
        for n, node in enumerate(subnet.switches)
    )
    # All ports of a host have its GUID.
    owner = {port: each[0] for each in subnet.ports_of_hosts() for port in each}
    hosts = tuple(
        replace(
            node,
            guid=node.guid if node.guid is not None else unused(0x100000 + 2 * owner[n]),
            port_guid=node.port_guid if node.port_guid is not None else unused(0x100001 + 2 * n),
            lid=node.lid or next(free),
        )
        for n, node in enumerate(subnet.hosts)
    )
    return replace(subnet, switches=switches, hosts=hosts, remarks=(*subnet.remarks, _MADE_UP))


def is_made_up(guid: int) -> bool:
    """Whether a GUID is as those of `with_identifiers` and of networks that are named; vendors' are longer.

    >>> is_made_up(0x200003), is_made_up(0x0002C90200000003)
    (True, False)
    """
    return guid < 1 << 24


def are_made_up(subnet: Subnet) -> bool:
    """Whether some LIDs or GUIDs of the subnet are those of `with_identifiers`.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.identifiers import are_made_up, with_identifiers
    >>> pair = parse_fabric("a,b")
    >>> are_made_up(pair), are_made_up(with_identifiers(pair))
    (False, True)
    """
    return _MADE_UP in subnet.remarks
