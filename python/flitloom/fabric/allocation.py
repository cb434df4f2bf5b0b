"""The hosts of a job, by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flitloom.errors.remarks import tell
from flitloom.fabric.identifiers import has_none, with_identifiers
from flitloom.fabric.model import NO_HOSTS, Subnet
from flitloom.fabric.names import Names


def part_of(subnet: Subnet, hosts: Iterable[int]) -> Subnet:
    """The subnet with all its switches and cables, but only some of its hosts, by their numbers."""
    if has_none(subnet):
        # The same identifiers as in tables of the whole subnet.
        subnet = with_identifiers(subnet)
    return replace(subnet, hosts=tuple(subnet.hosts[index] for index in hosts))


def names_of_hosts(subnet: Subnet) -> Names:
    """What the hosts are called: as their switches where the file names no hosts.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> names_of_hosts(parse_fabric("a,b\\nb,c\\nc,a\\n")).numbers("c,a")
    [2, 0]
    """
    if NO_HOSTS in subnet.remarks:
        called = [subnet.switches[host.switch].name for host in subnet.hosts]
    else:
        called = [host.name for host in subnet.hosts]
    return Names(len(called), tuple(called), "host")


def first_ports(subnet: Subnet) -> Subnet:
    """The subnet with the first port alone of every host: a host is one source of messages.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> dual = parse_fabric("SwitchName=a Nodes=n[0-3]\\nSwitchName=b Nodes=n[0-3]\\n")
    >>> len(dual.hosts), len(first_ports(dual).hosts)
    (8, 4)
    """
    ports = subnet.ports_of_hosts()
    if len(ports) == len(subnet.hosts):
        return subnet
    tell("hosts with several ports send and receive by the first one")
    return part_of(subnet, sorted(each[0] for each in ports))
