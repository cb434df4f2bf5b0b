"""Hosts of switches for jobs that share a network."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import mul

from flitloom.placing.hosts import order_of
from flitloom.spec.switched import Switched


def free_hosts(topology: Switched, wanted: int, taken: Iterable[int]) -> list[int] | None:
    """The hosts of a job that wants so many: of one switch, else of one group, else the first free ones.

    Of several switches or groups with enough free hosts the one with the fewest is taken, so that larger jobs
    find room.

    Returns
    -------
    list of int or None
        The hosts; None where not so many are free.

    Examples
    --------
    >>> dragonfly = Switched(network="dragonfly(4,2,2)")
    >>> free_hosts(dragonfly, 2, [0]), free_hosts(dragonfly, 5, [0, 1])
    ([2, 3], [2, 3, 4, 5, 6])
    """
    gone = set(taken)
    free = [host for host in range(topology.nodes) if host not in gone]
    if wanted > len(free):
        return None
    # The last block is the whole network.
    for block in accumulate(order_of(topology), mul):
        rooms: dict[int, list[int]] = {}
        for host in free:
            rooms.setdefault(host // block, []).append(host)
        enough = [room for room in rooms.values() if len(room) >= wanted]
        if enough:
            return min(enough, key=len)[:wanted]
    return free[:wanted]


def share_switch(topology: Switched, hosts: Iterable[int]) -> bool:
    """Whether hosts are at one switch, so that no message between them takes a cable between switches.

    >>> share_switch(Switched(network="dragonfly(4,2,2)"), [0, 1])
    True
    """
    listed = topology.subnet.hosts
    return len({listed[host].switch for host in hosts}) == 1
