"""What messages take at least over tables by destination, with any routers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitloom.networks.pipelined import far_ends, host_rows
from flitloom.tables.by_destination.tables import ForwardingTables


def least_duration(tables: ForwardingTables, messages: NDArray[np.int64], latency: int = 1) -> int:
    """Cycles that messages take at least, however they are ordered.

    A host or channel transfers a flit per cycle, and a hop takes the cycles of its link. The largest of:
    what a host sends, what it receives, what crosses a channel, and the way of a single message.

    Parameters
    ----------
    tables : ForwardingTables
        The routes.
    messages : array
        Rows of source host, destination host and flits.
    latency : int
        Cycles from one switch to the next.

    Returns
    -------
    int
        A bound for the duration of a simulation, which counts h + L + 1 cycles for L flits over h hops; 0
        without messages.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> tables = route_subnet(parse_fabric("a,b\\nb,c\\nc,a\\n")).forwarding()
    >>> least_duration(tables, np.array([[0, 1, 8], [2, 1, 8]]))   # host 1 receives 16 flits
    17
    """
    if not len(messages):
        return 0
    hosts = len(tables.subnet.hosts)
    sources, destinations, flits = messages.T
    switch = np.array([host.switch for host in tables.subnet.hosts])
    towards, rows = far_ends(tables), host_rows(tables)
    load_of = np.zeros(len(towards), dtype=np.int64)
    at, hops, left = switch[sources], np.zeros(len(messages), dtype=np.int64), np.arange(len(messages))
    for _ in range(len(tables.subnet.switches)):
        left = left[at[left] != switch[destinations[left]]]
        channels = tables.following[rows[destinations[left]], at[left]]
        known = channels < len(towards)
        left, channels = left[known], channels[known]
        np.add.at(load_of, channels, flits[left])
        at[left] = towards[channels]
        hops[left] += 1
    ways = hops * latency
    sent, received = np.zeros(hosts, dtype=np.int64), np.zeros(hosts, dtype=np.int64)
    np.add.at(sent, sources, flits)
    np.add.at(received, destinations, flits)
    over = int(load_of.max(initial=0))
    return 1 + max(
        int(sent.max()), int(received.max()), int((ways + flits).max()), over + latency if over else 0
    )
