"""Ways of packets that routing tables say, as channels per pair of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork
from flitloom.tables.by_source.making import route

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: Nodes up to which ways are listed.
MOST_LISTED = 1024
#: Names of routings; a file of tables is one, too.
ROUTINGS = ("do", "balanced")


def tables_for(topology: AnyNetwork, routing: str | Tables | None) -> tuple[str, Tables | None]:
    """The name of a routing and its tables; dimension order has none.

    Parameters
    ----------
    topology : AnyNetwork
        The network. With failed parts the routing is ``balanced`` unless told otherwise.
    routing : str or Tables, optional
        ``do``, ``balanced`` (tables of `flitloom.tables.make` for equal traffic of all pairs), or tables.

    Raises
    ------
    SpecError
        The routing does not serve the network.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing.ways import tables_for
    >>> tables_for(fl.Torus(4, 4), None)
    ('do', None)
    >>> tables_for(fl.Torus(4, 4, failed_links=[(0, 1)]), None)[0]
    'balanced'
    """
    damaged = topology.damaged
    if any(topology.full) and (damaged or routing not in (None, "do")):
        raise SpecError.at(
            "network",
            f"ranks are placed on {topology} by dimension order and without failed parts only",
            "leave --routing and --fail out",
        )
    if routing is None:
        routing = "balanced" if damaged else "do"
    if routing == "do":
        if damaged:
            raise SpecError.at(
                "routing", "do does not go around failed parts", "leave --routing out, or give tables"
            )
        return "do", None
    if topology.twist:
        raise SpecError.at(
            "topology.twist",
            "ranks are placed by dimension order on healthy twisted tori only",
            "a node left out with --nodes still passes messages on, and a failed one does not",
        )
    if topology.nodes > MOST_LISTED:
        raise SpecError.at(
            "topology",
            f"has {counted(topology.nodes, 'node')}",
            f"routes of tables, which failed parts need, are followed on at most {MOST_LISTED} nodes; a node "
            "left out with --nodes still passes messages on, and a failed one does not",
        )
    if isinstance(routing, str):
        if routing not in ROUTINGS:
            raise SpecError.at("routing", f"is one of {', '.join(ROUTINGS)} or tables, not {routing!r:.40}")

        return routing, route(topology)
    if not routing.topology.is_as(topology):
        raise SpecError.at("routing", f"the tables are for the {routing.topology}, not for the {topology}")
    return "tables", routing


def hosts_for(topology: AnyNetwork, routing: str | Tables | None) -> str:
    """The name of the routing between hosts of switches: that of the network's own tables by destination.

    Raises
    ------
    SpecError
        Another one is asked for.

    Examples
    --------
    >>> from flitloom.networks.fabric import Fabric
    >>> hosts_for(Fabric(network="dragonfly(3,1,2)"), None)
    'balanced'
    """
    if routing not in (None, "balanced"):
        name = routing if isinstance(routing, str) else "source routes"
        raise SpecError.at(
            "routing",
            f"between hosts of {topology} is by tables by destination, not {name:.40}",
            "leave it out, or give a folder of such tables",
        )
    return "balanced" if topology.tables_file is None else "tables"


@dataclass(frozen=True)
class TableWays:
    """The ways that tables by source say."""

    tables: Tables

    @cached_property
    def _listed(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return listed_ways(self.tables)

    @property
    def rows(self) -> NDArray[np.uint32]:
        """Per node its place in `starts`."""
        return np.arange(self.tables.topology.nodes, dtype=np.uint32)

    @property
    def starts(self) -> NDArray[np.uint32]:
        """Where the channels from a node to another one begin in `channels`."""
        return self._listed[0]

    @property
    def channels(self) -> NDArray[np.uint32]:
        """Channels of all routes, one after the other."""
        return self._listed[1]

    @property
    def numbers(self) -> int:
        """Channels that there are."""
        return self.tables.topology.nodes * 2 * len(self.tables.topology.sizes)

    def missing_between(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """From which of these nodes to which the tables do not lead."""
        counts = np.diff(self.starts.astype(np.int64)).reshape(self.tables.topology.nodes, -1)
        missing: NDArray[np.bool_] = counts[np.ix_(nodes, nodes)] == 0
        np.fill_diagonal(missing, False)
        return missing

    def used(self, sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> tuple[list[int], ...]:
        """Of every pair the nodes of its way."""
        count = self.tables.topology.nodes
        begins, ends, offsets, through = self.tables.listed()
        keys = begins.astype(np.int64) * count + ends
        order = np.argsort(keys)
        at = order[np.searchsorted(keys, sources * count + destinations, sorter=order)]
        return tuple(through[offsets[one] : offsets[one + 1]].tolist() for one in at.tolist())


def listed_ways(tables: Tables) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Channels (node times directions plus direction) of all pairs, and where each pair's begin.

    Pairs without a route have no channels.

    Examples
    --------
    >>> import flitloom as fl
    >>> starts, channels = listed_ways(fl.tables.make(fl.Torus(4)))
    >>> channels[starts[3] : starts[4]].tolist()      # from node 0 to node 3: -x
    [1]
    """
    topology = tables.topology
    sources, destinations, offsets, nodes = (part.astype(np.int64) for part in tables.listed())
    hops = np.diff(offsets) - 1
    order = np.argsort(sources * topology.nodes + destinations, kind="stable")
    counts = np.zeros(topology.nodes**2, dtype=np.int64)
    counts[sources * topology.nodes + destinations] = hops
    starts = np.concatenate([[0], np.cumsum(counts)])
    # The hops of all routes, in the order of the pairs.
    first = np.repeat(offsets[:-1][order], hops[order])
    place = np.arange(len(first)) - np.repeat(starts[:-1][counts > 0], counts[counts > 0])
    here, there = nodes[first + place], nodes[first + place + 1]
    channels = channels_between(topology, here, there)
    return starts.astype(np.uint32), channels.astype(np.uint32)


def goes_up(steps: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which differences of coordinates are hops upwards, over the edge of a ring as well.

    >>> goes_up(np.array([1, -3, -1, 0]), 4).tolist()
    [True, True, False, False]
    """
    up: NDArray[np.bool_] = (steps == 1) | ((steps == 1 - size) & (size > 2))
    return up


def channels_between(
    topology: AnyNetwork, here: NDArray[np.int64], there: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The channel of every hop between neighbours of a plain torus or mesh."""
    channels = np.full(len(here), -1, dtype=np.int64)
    directions, stride = 2 * len(topology.sizes), 1
    for dimension, size in enumerate(topology.sizes):
        ahead = there // stride % size - here // stride % size
        plus, minus = goes_up(ahead, size), goes_up(-ahead, size)
        channels[plus] = here[plus] * directions + 2 * dimension
        channels[minus] = here[minus] * directions + 2 * dimension + 1
        stride *= size
    return channels
