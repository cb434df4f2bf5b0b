"""Hosts of switches for jobs that share a network."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import mul

from flitloom.fabric.model import Subnet
from flitloom.spec.any_network import AnyNetwork


def free_hosts(topology: AnyNetwork, wanted: int, taken: Iterable[int]) -> list[int] | None:
    """The hosts of a job that wants this many: of one switch, else of one group, else the first free ones.

    Of several switches or groups with enough free hosts the one with the fewest is taken, so that larger jobs
    find room.

    Returns
    -------
    list of int or None
        The hosts; None where not this many are free.

    Examples
    --------
    >>> from flitloom.networks.fabric import Fabric
    >>> dragonfly = Fabric(network="dragonfly(4,2,2)")
    >>> free_hosts(dragonfly, 2, [0]), free_hosts(dragonfly, 5, [0, 1])
    ([2, 3], [2, 3, 4, 5, 6])
    """
    gone = set(taken)
    free = [host for host in range(topology.nodes) if host not in gone]
    if wanted > len(free):
        return None
    # The last block is the whole network.
    for block in accumulate(topology.order, mul):
        rooms: dict[int, list[int]] = {}
        for host in free:
            rooms.setdefault(host // block, []).append(host)
        enough = [room for room in rooms.values() if len(room) >= wanted]
        if enough:
            return min(enough, key=len)[:wanted]
    return free[:wanted]


def share_switch(subnet: Subnet, hosts: Iterable[int]) -> bool:
    """Whether hosts are at one switch, so that no message between them takes a cable between switches.

    >>> from flitloom.networks.fabric import Fabric
    >>> share_switch(Fabric(network="dragonfly(4,2,2)").subnet, [0, 1])
    True
    """
    return len({subnet.hosts[host].switch for host in hosts}) == 1
