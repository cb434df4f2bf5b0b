"""Collective operations as phases of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, unknown_parts
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.networks.network import Network

#: What plans of packets are for: nothing waits in them, so a hop takes the same on any router of one cycle.
PLANS = "plans of packets are for"
#: Names of operations, for editors to offer.
OperationName = Literal["all-to-all", "all-gather", "reduce-scatter", "all-reduce", "broadcast"]


@explained
@dataclass(frozen=True)
class Operation:
    """A collective operation over all nodes or some.

    Nodes that form a box keep the rings of the dimensions; any other set is one ring along a walk through
    the network.

    Parameters
    ----------
    name : str
        all-to-all, all-gather, reduce-scatter, all-reduce (rings per dimension) or broadcast.
    payload : int
        Block of one node, in flits; every message has a header flit besides.
    root : int, optional
        The node that broadcasts; the first by default.
    nodes : sequence of int, optional
        The nodes that take part; by default all that work.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Operation("all-to-all", payload=7))
    >>> plan.duration, plan.optimal
    (125, True)
    >>> part = fl.Operation("all-gather", nodes=[0, 1, 2, 3, 8])
    >>> fl.plans.search(fl.Network(fl.Torus(4, 4)), part).algorithm_bound
    31
    """

    name: OperationName | str
    payload: int = 7
    root: int | None = None
    nodes: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.name not in _core.LISTS["operations"]:
            names = _core.LISTS["operations"]
            raise SpecError.at("operation", *unknown_parts(self.name, names), names)
        if self.root is not None and self.name != "broadcast":
            raise SpecError.at("operation.root", f"{self.name} has none", "only broadcast has one")
        if self.nodes is not None:
            object.__setattr__(self, "nodes", tuple(self.nodes))

    def fields(self) -> dict[str, Any]:
        """Its parts as plain values."""
        nodes = None if self.nodes is None else list(self.nodes)
        return {"name": self.name, "payload": self.payload, "root": self.root, "nodes": nodes}

    def among_working(self, network: Network) -> Operation:
        """The same among the nodes that work, where some have failed and none are named.

        >>> import flitloom as fl
        >>> fl.Operation("all-gather").among_working(fl.Network(fl.Torus(4, failed_nodes=[1]))).nodes
        (0, 2, 3)
        """
        failed = network.topology.failed_nodes
        if not failed or self.nodes is not None:
            return self
        return replace(self, nodes=[node for node in range(network.nodes) if node not in failed])

    def __str__(self) -> str:
        part = "" if self.nodes is None else f" of {counted(len(self.nodes), 'node')}"
        return f"{self.name}{part}, payload {self.payload}"


def operation_phases(network: Network, operation: Operation) -> tuple[list[NDArray[np.int64]], int]:
    """The messages of every phase, and a lower bound for any algorithm in cycles.

    Raises
    ------
    SpecError
        The operation is unknown, or does not fit the network.
    """
    if not _whole(operation.payload) or not 1 <= operation.payload <= 2**20:
        raise SpecError.at(
            "operation.payload", f"{operation.payload} is out of range", "it must be 1 to 2^20 flits"
        )
    last = network.nodes - 1
    failed = network.topology.failed_nodes
    nodes = operation.among_working(network).nodes
    if nodes is not None:
        for node in nodes:
            if not _whole(node) or not 0 <= node <= last:
                raise SpecError.at("operation.nodes", f"node {node} does not exist", f"nodes are 0 to {last}")
            if node in failed:
                raise SpecError.at("operation.nodes", f"node {node} has failed", "leave it out")
        if len(set(nodes)) != len(nodes):
            raise SpecError.at("operation.nodes", "a node is named twice")
        if len(nodes) < 2:
            raise SpecError.at("operation.nodes", "an operation needs at least two nodes")
    root = operation.root
    if root is None:
        root = 0 if nodes is None else min(nodes)
    if not _whole(root) or not 0 <= root <= last:
        raise SpecError.at("operation.root", f"node {root} does not exist", f"nodes are 0 to {last}")
    if nodes is not None and root not in nodes and operation.name == "broadcast":
        why = "has failed" if root in failed else "does not take part"
        raise SpecError.at("operation.root", f"node {root} {why}", "name one that takes part")
    return _core.operation_phases(
        network.one_cycle(PLANS),
        str(operation.name),
        root,
        operation.payload,
        None if nodes is None else list(nodes),
    )


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
