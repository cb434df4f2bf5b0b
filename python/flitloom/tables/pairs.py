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
    """A matrix of the nodes of a product as one of the hosts of its fabric, without those that have failed.

    Hosts are in the order of nodes.

    Examples
    --------
    >>> import flitloom as fl
    >>> import numpy as np
    >>> product = fl.Product("full3 x ring3", failed_nodes=[1])
    >>> matrix_of_hosts(fl.tables.fabric(product), product, np.diag(range(9))).diagonal().tolist()
    [0, 2, 3, 4, 5, 6, 7, 8]
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
