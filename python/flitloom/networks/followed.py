"""Tables by destination that packets between pipelined routers follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.topology import Topology

if TYPE_CHECKING:
    from flitloom.fabric.model import Subnet
    from flitloom.tables.by_destination.tables import ForwardingTables

#: No channel.
NONE = 0xFFFFFFFF


@dataclass(frozen=True)
class Followed:
    """Tables by destination whose hosts are the nodes.

    Attributes
    ----------
    tables : ForwardingTables
        The tables.
    channels : array or None
        By node and direction the channel of the tables, all ones where there is none; None where nodes have
        no coordinates.

    Examples
    --------
    >>> import flitloom as fl
    >>> left = followed(fl.Torus(4, 4, failed_nodes=[5]))
    >>> len(left.tables.subnet.hosts), int((left.channels < NONE).sum())
    (16, 56)
    """

    tables: ForwardingTables
    channels: NDArray[np.uint32] | None = None


def among(tables: ForwardingTables, whole: Subnet) -> ForwardingTables:
    """The same tables in a fabric with further switches and hosts, to which they do not lead.

    Switches and hosts are found by their names; cables are the same.
    """
    switches = {switch.name: number for number, switch in enumerate(whole.switches)}
    hosts = {host.name: number for number, host in enumerate(whole.hosts)}
    at = np.array([switches[switch.name] for switch in tables.subnet.switches])
    of = np.array([hosts[host.name] for host in tables.subnet.hosts])
    lost = np.setdiff1d(np.arange(len(hosts)), of)
    count = len(tables.following)
    following = np.full((count + len(lost), len(switches)), NONE, tables.following.dtype)
    following[:count, at] = tables.following
    levels, rows, rising = tables.levels, tables.rows, tables.rising
    if levels is not None:
        spread = np.zeros((count + len(lost), len(hosts)), levels.dtype)
        spread[:count, of] = levels
        levels = spread
    if rows is not None:
        start = np.full(len(switches), len(rows[1]), rows[0].dtype)
        start[at] = rows[0]
        rows = start, rows[1]
    if rising is not None:
        rises = np.zeros(len(switches), dtype=bool)
        rises[at] = rising
        rising = rises
    return replace(
        tables,
        subnet=whole,
        owners=np.append(of[tables.owners], lost),
        following=following,
        levels=levels,
        rows=rows,
        rising=rising,
    )


def followed(topology: AnyNetwork) -> Followed | None:
    """The tables that packets between pipelined routers follow; none where they go in dimension order.

    What is left of a torus or mesh has those of the product of the same rings and lines with the same
    failed parts.
    """
    if tables := topology.forwarding():
        return Followed(tables)
    if not topology.has_tables:
        return None
    failed = frozenset(topology.failed_nodes), frozenset(topology.failed_links)
    return _remaining(topology.sizes, topology.wraps, topology.twist, *failed)


@lru_cache(maxsize=16)
def _remaining(
    sizes: tuple[int, ...],
    wraps: tuple[bool, ...],
    twist: bool,
    failed_nodes: frozenset[int],
    failed_links: frozenset[tuple[int, int]],
) -> Followed:
    from flitloom.fabric.failures import without
    from flitloom.fabric.networks import subnet_of_ground
    from flitloom.tables.by_destination.making import route_subnet

    cut = set(map(frozenset, failed_links))
    whole = Ground(Topology(kind="torus", sizes=sizes, wrap=list(wraps), twist=twist))
    subnet = subnet_of_ground(whole)
    cables = {number for number, cable in enumerate(subnet.cables) if frozenset((cable.a, cable.b)) in cut}
    left = without(subnet, failed_nodes, cables)
    tables = among(route_subnet(left, safe_for=()).forwarding(), left.among(subnet))
    channels = np.full((whole.nodes, 2 * len(sizes)), NONE, dtype=np.uint32)
    for number, (a, b) in enumerate(tables.subnet.cable_ends().tolist()):
        for channel, ends in enumerate(((a, b), (b, a)), 2 * number):
            channels[ends[0], whole.ways[ends]] = channel
    return Followed(tables, channels)
