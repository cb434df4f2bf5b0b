"""One plan for an operation in several groups of nodes at once, each over the links between its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from flitloom.collectives.collective_plan import (
    OPERATIONS,
    CollectivePlan,
    OperationName,
    network_fields,
    nodes_end,
)
from flitloom.collectives.search import ROOTED, collective
from flitloom.collectives.telling import Told, telling, untold
from flitloom.errors import SpecError
from flitloom.ground import provenance
from flitloom.ground.numerals import counted
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.graph import Graph
from flitloom.spec.ground import Ground

#: Operations of groups.
GROUPED = tuple(name for name in OPERATIONS if name not in (*ROOTED, "all-to-all-v"))


def along_axes(topology: AnyNetwork, axes: Sequence[int]) -> list[list[int]]:
    """The working nodes that differ in some dimensions only, the first of these running fastest.

    Raises
    ------
    SpecError
        The network has no such dimensions.

    Examples
    --------
    >>> import flitloom as fl
    >>> along_axes(fl.Torus(2, 3), [1])
    [[0, 2, 4], [1, 3, 5]]
    """
    if topology.grid is None:
        raise SpecError.at("groups", f"{topology} has no axes", "write a file of groups, one a line")
    ground = Ground(topology)
    count = len(ground.sizes)
    if not axes or len({*axes}) < len(axes) or not all(0 <= axis < count for axis in axes):
        known = f"axes 0 to {count - 1}"
        raise SpecError.at("groups", f"axis {','.join(map(str, axes))}", f"{topology} has {known}, each once")
    found: dict[tuple[int, ...], list[int]] = {}
    rest = [place for place in range(count) if place not in axes]
    # The last of the ranges runs fastest.
    order = [*reversed(rest), *reversed(axes)]
    working = {*ground.working}
    for values in product(*(range(ground.sizes[place]) for place in order)):
        point = dict(zip(order, values, strict=True))
        node = ground.number([point[place] for place in range(count)])
        if node in working:
            found.setdefault(values[: len(rest)], []).append(node)
    return [group for group in found.values() if len(group) > 1]


def plan_groups(
    topology: AnyNetwork,
    operation: OperationName | str,
    groups: Sequence[Sequence[int]],
    *,
    chunks: int = 1,
    latency: int = 0,
    seed: int = 1,
    told: Told = untold,
) -> CollectivePlan:
    """Plan an operation in every group, all at the same time.

    A group uses the links between its own nodes only, so no group waits for another one.

    Parameters
    ----------
    topology : AnyNetwork
        The network with its failed parts.
    operation : str
        One of `GROUPED`.
    groups : sequence of sequences of int
        The nodes of every group; no node is in two of them.
    chunks, latency, seed
        As of `flitloom.collectives.plan`.
    told : function
        Told how many of how many groups are planned.

    Raises
    ------
    SpecError
        A group has nodes that do not work, shares one, or is not joined by its own links.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan_groups(fl.Torus(4, 4), "all-gather", along_axes(fl.Torus(4, 4), [0]))
    CollectivePlan(all-gather in 4 groups on 4x4 torus: 2 steps, optimal)
    """
    if operation not in GROUPED:
        raise SpecError.at("groups", f"{operation} has none", f"{', '.join(GROUPED)} have")
    ground = Ground(topology)
    checked_groups(ground, groups)
    known: dict[Any, CollectivePlan] = {}
    sought = partial(collective, operation=operation, chunks=chunks, latency=latency, seed=seed)
    steps, bound, last = 0, 0, nodes_end(operation)
    rows: dict[str, list[list[int]]] = {"sums": [], "moves": []}
    proofs = []
    for number, group in enumerate(telling(groups, told, 1)):
        cables = ground.cables_between(group)
        key = len(group), tuple(cables)
        if key not in known:
            known[key] = _planned(*key, sought, number)
        one = known[key]
        steps, bound = max(steps, one.steps), max(bound, one.bound)
        proofs.append(one.proof)
        for name, listed in (("sums", one.sums), ("moves", one.moves)):
            rows[name] += [[row[0], *(group[node] for node in row[1:last]), *row[last:]] for row in listed]
    fields: dict[str, Any] = {
        "operation": operation,
        **network_fields(topology),
        "groups": [list(group) for group in groups],
        "chunks": chunks,
        "latency": latency,
        "steps": steps,
        "bound": bound,
        "optimal": steps == bound,
        "proof": {"kind": "groups", "proofs": proofs},
        "seed": seed,
        "version": provenance.version(),
        **{name: sorted(found) for name, found in rows.items()},
    }
    made = CollectivePlan.model_construct(**fields)
    made._seconds = sum(one.seconds for one in known.values())
    return made


def checked_groups(ground: Ground, groups: Sequence[Sequence[int]]) -> None:
    """Refuse groups that cannot be.

    Raises
    ------
    SpecError
        There is none, one has a single node or one that does not work, or two share a node.
    """
    if not groups:
        raise SpecError.at("groups", "there is none of two nodes or more")
    if ground.topology.one_way_links:
        raise SpecError.at("groups", "the network has links that lead one way", "groups need cables")
    working, seen = {*ground.working}, dict[int, int]()
    for number, group in enumerate(groups):
        if len(group) < 2:
            raise SpecError.at("groups", f"group {number} has {counted(len(group), 'node')}", "it needs two")
        for node in group:
            if node not in working:
                raise SpecError.at("groups", f"group {number}: node {node} does not exist or has failed")
            if node in seen:
                raise SpecError.at("groups", f"node {node} is in groups {seen[node]} and {number}")
            seen[node] = number


def sub_network(count: int, cables: Sequence[tuple[int, int]], number: int) -> Graph:
    """A group as a network of its own.

    Raises
    ------
    SpecError
        Its cables do not join its nodes.
    """
    network = Graph([f"{a}-{b}" for a, b in cables], nodes=count) if cables else None
    if network is None or len(Ground(network).distances(0)) < count:
        raise SpecError.at(
            "groups", f"the links of group {number} do not join its nodes", "a group uses its own links only"
        )
    return network


def _planned(
    count: int,
    cables: Sequence[tuple[int, int]],
    sought: Callable[[AnyNetwork], CollectivePlan],
    number: int,
) -> CollectivePlan:
    """The plan of a group with these cables, move by move."""
    network = sub_network(count, cables, number)
    ring = sorted([*((one, one + 1) for one in range(count - 1)), (0, count - 1)])
    made = sought(network)
    if not made.optimal and list(cables) == ring:
        around = sought(Topology(sizes=(count,)))
        better, proof = min(made, around, key=_steps), max(made, around, key=_bound)
        changes = {"proof": proof.proof, "bound": proof.bound, "optimal": better.steps == proof.bound}
        made = better.expanded().model_copy(update=changes)
    return made


def _steps(plan: CollectivePlan) -> int:
    return plan.steps


def _bound(plan: CollectivePlan) -> int:
    return plan.bound
