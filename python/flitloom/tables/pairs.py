"""Weights of pairs of hosts by the nodes of a network, and of pairs within an allocation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom.errors import SpecError
from flitloom.fabric.model import Subnet
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.tables.traffic import traffic_matrix


def matrix_of_hosts(subnet: Subnet, network: AnyNetwork, matrix: ArrayLike) -> NDArray[np.uint64]:
    """A matrix of the nodes of a product, failed ones included, as one of the hosts of its fabric.

    The switches of the fabric are in the order in which its cables name them.

    Examples
    --------
    >>> import flitloom as fl
    >>> import numpy as np
    >>> from flitloom.fabric.networks import named_subnet
    >>> made = named_subnet("full3 x ring3")
    >>> [switch.name for switch in made.switches[:4]]       # node 6 comes before node 4
    ['S0-0', 'S1-0', 'S2-0', 'S0-1']
    >>> matrix_of_hosts(made, fl.Product("full3 x ring3"), np.diag(range(9))).diagonal().tolist()
    [0, 1, 2, 3, 6, 4, 7, 5, 8]
    """
    weights = traffic_matrix(matrix, network.nodes)
    assert weights is not None
    strides = np.cumprod([1, *network.sizes[:-1]])
    # Switches are called S1-2 at the coordinates (1,2).
    places = [[int(at) for at in subnet.switches[host.switch].name[1:].split("-")] for host in subnet.hosts]
    nodes = np.array(places).reshape(-1, len(strides)) @ strides
    return weights[np.ix_(nodes, nodes)]


def pairs_among(topology: Topology, nodes: Sequence[int], place: str = "nodes") -> NDArray[np.int64]:
    """Weights of pairs: one for every pair of these nodes, none for others.

    Raises
    ------
    SpecError
        One of the nodes has failed; `place` is where the list stands.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.tables.pairs import pairs_among
    >>> pairs_among(fl.Torus(3, 3), [0, 1]).sum()
    np.int64(2)
    """
    allocated = np.zeros(topology.nodes, dtype=np.int64)
    allocated[list(nodes)] = 1
    if gone := [node for node in topology.failed_nodes if allocated[node]]:
        raise SpecError(f"{place}: node {gone[0]} is allocated and failed")
    pairs = np.outer(allocated, allocated)
    np.fill_diagonal(pairs, 0)
    return pairs
