"""Hosts of switches, where ranks are placed: the routes between them, their order, their names."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.fabric.allocation import names_of_hosts
from flitloom.fabric.model import Subnet
from flitloom.fabric.names import Names, read_hosts
from flitloom.ground.numerals import counted
from flitloom.networks.pipelined import far_ends, host_rows
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.product import network_of

#: Pairs of a switch with hosts and a host up to which routes are followed.
MOST_WAYS = 1 << 22
#: No channel.
NONE = 0xFFFFFFFF


@dataclass(frozen=True)
class HostWays:
    """Channels of the routes between all hosts; channel ``2 * i`` runs along cable ``i`` from its first end.

    Attributes
    ----------
    rows : array
        Per host the number of its switch among those with hosts.
    starts : array
        Where the channels from a switch to a host begin in `channels`, by row and host.
    channels : array
        Channels of all routes, one after the other.
    numbers : int
        Channels that there are.
    missing : array
        By row and host, whether the tables lead there.
    between : int
        Channels between switches; with the cables of hosts, a channel from and to every host follows.
    """

    rows: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    channels: NDArray[np.uint32]
    numbers: int
    missing: NDArray[np.bool_]
    between: int

    def with_hosts(self) -> HostWays:
        """The same with the cables of hosts, whose load is what leaves one of several ranks.

        Raises
        ------
        SpecError
            There are too many hosts.

        Examples
        --------
        >>> from flitloom.networks.fabric import Fabric
        >>> ways = host_ways(Fabric(network="circulant(4;1)")).with_hosts()
        >>> ways.numbers, ways.channels[ways.starts[1] : ways.starts[2]].tolist(), ways.way(0, 1)
        (16, [8, 0, 13], [0])
        """
        hosts = len(self.rows)
        if hosts**2 > MOST_WAYS:
            raise SpecError.at(
                "per_node",
                f"of {hosts} hosts",
                f"several ranks are placed on {math.isqrt(MOST_WAYS)} at most",
            )
        pairs = (self.rows[:, None].astype(np.int64) * hosts + np.arange(hosts)).ravel()
        sources, destinations = np.divmod(np.arange(hosts**2), hosts)
        apart = sources != destinations
        begins, lengths = self.starts[pairs].astype(np.int64), np.diff(self.starts)[pairs].astype(np.int64)
        lengths = np.where(apart, lengths + 2, 0)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        channels = np.zeros(int(ends[-1]), dtype=np.uint32)
        place = np.arange(len(channels)) - np.repeat(starts, lengths)
        inner = (place > 0) & (place < np.repeat(lengths, lengths) - 1)
        channels[inner] = self.channels[(np.repeat(begins, lengths) + place - 1)[inner]]
        channels[starts[apart]] = self.between + sources[apart]
        channels[ends[apart] - 1] = self.between + hosts + destinations[apart]
        return replace(
            self,
            rows=np.arange(hosts, dtype=np.uint32),
            starts=np.concatenate([[0], ends]).astype(np.uint32),
            channels=channels,
            numbers=self.between + 2 * hosts,
            missing=self.missing[self.rows],
        )

    def missing_between(self, hosts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """From which of these hosts to which the tables do not lead."""
        missing: NDArray[np.bool_] = self.missing[np.ix_(self.rows[hosts], hosts)]
        return missing

    def used(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> tuple[list[int], ...]:
        """Of every pair the two hosts and the channels of its way."""
        ends = zip(sources.tolist(), destinations.tolist(), strict=True)
        return tuple([source, end, *self.way(source, end)] for source, end in ends)

    def way(self, source: int, destination: int) -> list[int]:
        """The channels between switches from a host to another one."""
        pair = int(self.rows[source]) * len(self.rows) + destination
        channels = self.channels[self.starts[pair] : self.starts[pair + 1]].tolist()
        return [channel for channel in channels if channel < self.between]


def host_ways(topology: AnyNetwork) -> HostWays:
    """The routes that the tables by destination of a network say.

    Raises
    ------
    SpecError
        There are too many.

    Examples
    --------
    >>> from flitloom.networks.fabric import Fabric
    >>> ways = host_ways(Fabric(network="circulant(4;1)"))
    >>> ways.numbers, len(ways.way(0, 2)), ways.way(0, 0)
    (8, 2, [])
    """
    tables = topology.forwarding()
    assert tables is not None
    subnet = tables.subnet
    switch = np.array([host.switch for host in subnet.hosts], dtype=np.int64)
    used, rows = np.unique(switch, return_inverse=True)
    hosts = len(switch)
    if len(used) * hosts > MOST_WAYS:
        raise SpecError.at(
            "network",
            f"{topology} at {counted(len(used), 'switch')}",
            f"ranks are placed where switches with hosts times hosts are at most {MOST_WAYS}",
        )
    towards, following = far_ends(tables), tables.following[host_rows(tables)]
    at = np.repeat(used[:, None], hosts, axis=1)
    missing = np.zeros(at.shape, dtype=bool)
    steps = [np.full(at.shape, NONE, dtype=np.uint32)]
    for _ in range(len(subnet.switches)):
        under = (at != switch) & ~missing
        if not under.any():
            break
        channels = following[np.arange(hosts), at]
        missing |= under & (channels >= len(towards))
        under &= ~missing
        steps.append(np.where(under, channels, NONE).astype(np.uint32))
        at[under] = towards[channels[under]]
    # What has not arrived by now goes round in a circle.
    missing |= at != switch
    taken = np.stack(steps, axis=-1)
    taken[missing] = NONE
    there = taken != NONE
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=-1).ravel())])
    return HostWays(
        rows.astype(np.uint32),
        starts.astype(np.uint32),
        taken[there],
        2 * len(subnet.cables),
        missing,
        2 * len(subnet.cables),
    )


def host_names(subnet: Subnet) -> list[str]:
    """What the hosts are called, in a word each: as their switches where the file names no hosts.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> host_names(parse_fabric("a,b\\nb,c\\nc,a\\n"))
    ['a', 'b', 'c']
    """
    return [(name.split() or [name])[0] for name in names_of_hosts(subnet).called]


def names_of(topology: AnyNetwork, hosts: str | Path | None = None) -> Names:
    """What the nodes of a network are called, by a file of hosts or by the network.

    None of a torus, a mesh or a product has a name.

    Examples
    --------
    >>> import flitloom as fl
    >>> names_of(fl.Torus(4, 4)).numbers("0-2")
    [0, 1, 2]
    >>> names_of(fl.Graph(["0-1"], nodes=2, names=["a", "b"])).number("b")
    1
    """
    if hosts is not None:
        return Names(topology.nodes, read_hosts(hosts, topology.nodes))
    if topology.subnet is not None:
        return names_of_hosts(topology.subnet)
    return Names(topology.nodes, topology.node_names)


def named_nodes(fields: dict[str, Any], hosts: str | Path | None) -> Names:
    """The same of a network that its fields describe."""
    return names_of(network_of(fields), hosts)
