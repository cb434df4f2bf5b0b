"""What tables say of the network they are for, so that their file alone is enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitloom.analysis.demands import Demands
from flitloom.tables.by_source.tables import Tables

#: The depth of the queues with bubble flow control, in flits, where packets are not longer.
ROOMY = 16


def network_fields(tables: Tables) -> dict[str, Any]:
    """The fields of a topology that tables are for, failed parts included.

    Examples
    --------
    >>> import flitloom as fl
    >>> network_fields(fl.tables.make(fl.Torus(4, 4), failed_links=[(0, 1)]))
    {'kind': 'torus', 'sizes': [4, 4], 'failed_links': [[0, 1]]}
    """
    topology = tables.topology
    return {"kind": topology.kind, **topology.model_dump(mode="json", exclude_defaults=True)}


def router_fields(tables: Tables, length: int) -> dict[str, Any]:
    """The fields of a router in which tables are deadlock-free: bubbles, or enough virtual channels.

    Examples
    --------
    >>> import flitloom as fl
    >>> router_fields(fl.tables.make(fl.Torus(4, 4)), length=8)
    {'flow_control': 'bubble', 'buffer': 16}
    """
    rules = tables.rules
    if rules.any_walk and rules.virtual_channels is None:
        return {}
    if rules.virtual_channels is None:
        # A packet that enters a ring leaves room for another one.
        return {"flow_control": "bubble", "buffer": max(ROOMY, 2 * length)}
    return {"channels": max(3, rules.virtual_channels)}


def largest_load(tables: Tables, demands: Demands) -> float:
    """Load of the busiest link at 1 flit per node and cycle, with packets on the routes of tables.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.analysis.demands import make_demands
    >>> network, tables = fl.Network(fl.Torus(4, 4)), fl.tables.make(fl.Torus(4, 4))
    >>> round(largest_load(tables, make_demands(network, fl.Load("rand", rate=0.1, cycles=9))), 3)
    0.533
    """
    nodes = demands.topology.nodes
    weights = np.zeros((nodes, nodes), dtype=np.int64)
    np.add.at(weights, (demands.pairs[:, 0], demands.pairs[:, 1]), demands.pairs[:, 2])
    for sending, receiving in demands.products:
        weights += np.outer(sending, receiving)
    sources, destinations, offsets, visited = tables.listed()
    of_route = weights[sources.astype(np.int64), destinations.astype(np.int64)]
    # A hop is a pair of nodes of one route, one behind the other.
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    route = np.repeat(np.arange(len(starts)), ends - starts)
    inside = route[1:] == route[:-1]
    links = visited[:-1][inside].astype(np.int64) * nodes + visited[1:][inside].astype(np.int64)
    _, place = np.unique(links, return_inverse=True)
    loads = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(loads, place, of_route[route[1:][inside]])
    return int(loads.max(initial=0)) / demands.scale
