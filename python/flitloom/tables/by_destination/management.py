"""Routes to the LIDs of switches, which monitors read counters of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet

#: Switches, and channels by these and all switches; none where a packet goes no further.
SwitchRoutes = tuple[list[int], NDArray[np.uint32]]
#: No channel.
_NONE = 0xFFFFFFFF


def towards(outgoing: Sequence[Sequence[tuple[int, int, int]]], root: int) -> NDArray[np.uint32]:
    """Channels of minimal routes to a switch without hosts, by switch.

    Parameters
    ----------
    outgoing : sequence of sequence of (int, int, int)
        The channels of every switch, as `Subnet.outgoing` lists them.
    root : int
        The switch.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.tables.by_destination.management import towards
    >>> subnet = parse_fabric("h,a\\na,b\\nb,c\\n", hosts="h")
    >>> [switch.name for switch in subnet.switches], towards(subnet.outgoing(), 2)[:2].tolist()
    (['a', 'b', 'c'], [0, 2])
    """
    channels = np.full(len(outgoing), _NONE, dtype=np.uint32)
    seen, queue = {root}, [root]
    for here in queue:
        for channel, _, there in outgoing[here]:
            if there not in seen:
                seen.add(there)
                channels[there] = channel ^ 1
                queue.append(there)
    return channels


def routes_of(subnet: Subnet) -> SwitchRoutes:
    """Those of tables that are made: all other switches have the entries of their first host."""
    roots = [switch for switch, hosts in enumerate(subnet.hosts_per_switch()) if not hosts]
    outgoing = subnet.outgoing()
    rows = [towards(outgoing, switch) for switch in roots]
    return roots, np.array(rows, dtype=np.uint32).reshape(len(roots), len(subnet.switches))


def routes_in(
    subnet: Subnet, ports: NDArray[np.uint8], following: NDArray[np.uint32], roots: Sequence[int]
) -> SwitchRoutes:
    """Those of a dump, where they differ from the entries of the first host of the switch.

    Parameters
    ----------
    ports : array
        Out ports by switch and LID.
    following : array
        Channels by destination and switch.
    roots : sequence of int
        The switch of every destination.
    """
    first: dict[int, int] = {}
    for destination, root in enumerate(roots):
        first.setdefault(root, destination)
    table, here = subnet.channels_by_port(), np.arange(len(subnet.switches))
    found, rows = list[int](), list[NDArray[np.uint32]]()
    for switch, node in enumerate(subnet.switches):
        if not node.lid or node.lid >= ports.shape[1]:
            continue
        row = table[here, ports[:, node.lid]].astype(np.uint32)
        row[switch] = _NONE
        if switch not in first or not np.array_equal(row, following[first[switch]]):
            found.append(switch)
            rows.append(row)
    return found, np.array(rows, dtype=np.uint32).reshape(len(found), len(subnet.switches))
