"""The nodes of a job: tables for them alone, or through the others, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.spec import Topology


def without_others(topology: Topology, nodes: Sequence[int]) -> Topology:
    """A network in which all nodes but these have failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> without_others(fl.Torus(2, 2), [0, 1]).failed_nodes
    (2, 3)
    """
    allocated = set(nodes)
    left_out = (node for node in range(topology.nodes) if node not in allocated)
    fields = topology.model_dump()
    fields["failed_nodes"] = tuple(dict.fromkeys((*topology.failed_nodes, *left_out)))
    return Topology(**fields)


def pairs_among(topology: Topology, nodes: Sequence[int], place: str = "nodes") -> NDArray[np.int64]:
    """Weights of pairs: one for every pair of these nodes, none for others.

    Raises
    ------
    SpecError
        One of the nodes has failed; `place` is where the list stands.

    Examples
    --------
    >>> import flitloom as fl
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
