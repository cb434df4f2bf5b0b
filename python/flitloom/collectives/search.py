"""Plan collective operations in which every link works."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.collectives.beside import one_network
from flitloom.collectives.bottlenecks import tightened
from flitloom.collectives.collective_plan import OPERATIONS, CollectivePlan, OperationName, network_fields
from flitloom.collectives.flow import LARGEST, link_lengths
from flitloom.collectives.telling import Told, untold
from flitloom.collectives.trees import over_trees
from flitloom.errors import SpecError, require_kind, show, unknown_parts
from flitloom.fabric.networks import direct_network
from flitloom.ground import provenance
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

#: Further searches for an all-to-all that is above its bound.
RETRIES = 3
#: By how much an all-reduce has more steps than its bound for trees to be tried.
FAR = 1.1
#: About how much of the time has passed when the core has a plan, and when that is in rows.
PERCENT, SEARCHED, PROVEN = 100, 0.7, 0.75
#: Operations of which one node is the root.
ROOTED = ("broadcast", "reduce", "scatter", "gather")


@one_network
def collective(
    topology: AnyNetwork | str | Path,
    operation: OperationName | str,
    *,
    chunks: int = 1,
    root: int | None = None,
    latency: int = 0,
    nodes: Sequence[int] | None = None,
    matrix: ArrayLike | None = None,
    seed: int = 1,
    told: Told = untold,
) -> CollectivePlan:
    """Plan a collective operation so that every link works, and prove how good the plan is.

    Parameters
    ----------
    topology : Topology, Product, Graph, str or path
        A torus, twisted or not, or a mesh, a product with full meshes or parallel links, or a graph, with its
        failed parts; or what names it.
    operation : str
        One of `OPERATIONS`.
    chunks : int
        Chunks per node; per pair for all-to-all; in all for broadcast and reduce.
    root : int, optional
        The root of broadcast, reduce, scatter and gather; the first node that takes part without.
    latency : int
        Steps a chunk spends on a link besides the one in which the link is busy with it.
    nodes : sequence of int, optional
        Nodes that take part; the others only pass things on. All working nodes without, or all working hosts
        where others are switches.
    matrix : array, optional
        For all-to-all-v: chunks from every node (row) to every node (column).
    seed : int
        Seed of everything random.
    told : function
        Told now and then how much of how much is done.

    Raises
    ------
    SpecError
        The description cannot be right, or a node cannot be reached.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.collectives.plan(fl.Torus(4, 4, 8, twist=True), "all-to-all").steps  # 128 without the twist
    74
    >>> fl.collectives.plan(fl.Product("full8 x full8 x full4 x full4"), "all-to-all")
    CollectivePlan(all-to-all on full8 x full8 x full4 x full4: 256 steps, optimal)
    """
    if isinstance(topology, str | Path):
        topology = direct_network(topology)
    _check_numbers(topology, operation, chunks, latency, seed)
    if (operation == "all-to-all-v") != (matrix is not None):
        raise SpecError.at("matrix", "all-to-all-v needs one, and nothing else takes one")
    members = None if nodes is None else sorted({int(node) for node in nodes})
    if members is None and matrix is None and topology.members:
        members = list(topology.members)
    if members is not None and matrix is not None:
        raise SpecError.at("nodes", "the matrix says who takes part in all-to-all-v")
    demands = None if matrix is None else _demands(matrix, topology.nodes)
    root = _root(topology, operation, root, members)
    asked = _Asked(topology, operation, chunks, root, latency, members, demands)
    asked.require_joined()
    return _planned(asked, seed, told)


@dataclass(frozen=True)
class _Asked:
    """A collective operation that is to be planned, checked."""

    topology: AnyNetwork
    operation: str
    chunks: int
    root: int | None
    latency: int
    members: list[int] | None
    demands: list[tuple[int, int, int]] | None

    @property
    def rows(self) -> NDArray[np.uint32] | None:
        """Source and destination of every chunk of a matrix."""
        if self.demands is None:
            return None
        pairs = np.array([row[:2] for row in self.demands], dtype=np.uint32).reshape(-1, 2)
        return np.repeat(pairs, [row[2] for row in self.demands], axis=0)

    @property
    def taking(self) -> list[int]:
        """Nodes that take part."""
        failed = self.topology.failed_nodes
        return self.members or [node for node in range(self.topology.nodes) if node not in failed]

    def require_joined(self) -> None:
        """Refuse members that cables do not join, by the names that a file gives them."""
        topology, taking = self.topology, self.taking
        names = topology.node_names
        if not names or not taking or not all(0 <= node < topology.nodes for node in taking):
            return
        joined = self.reached.keys() & self.ground.distances(taking[0], backwards=True).keys()
        lost = [names[node] for node in taking if node not in joined]
        if lost:
            some = ", ".join(map(show, lost[:3])) + " and others" * (len(lost) > 3)
            raise SpecError.at(
                "collective",
                f"no way leads from {show(names[taking[0]])} to {some} and back",
                "leave nodes out with --nodes, so that the others are joined",
            )

    @cached_property
    def ground(self) -> Ground:
        """The network as nodes and links."""
        return Ground(self.topology)

    @cached_property
    def reached(self) -> dict[int, int]:
        """Hops to every node that the first member reaches."""
        return self.ground.distances(self.taking[0])

    @cached_property
    def apart(self) -> list[int]:
        """Nodes that work and that no way joins to those that take part: they can pass nothing on."""
        topology, members = self.topology, self.members
        whole = topology.grid is not None and not topology.damaged
        if whole or not members or members[0] >= topology.nodes:
            return []
        gone = {*topology.failed_nodes, *members, *self.reached}
        return [node for node in range(topology.nodes) if node not in gone]

    def search(self, seed: int) -> dict[str, Any]:
        """What the core finds with a seed."""
        return _core.plan_collective(
            self.topology.core().without_nodes(self.apart),
            "all-to-all" if self.operation == "all-to-all-v" else self.operation,
            self.chunks,
            self.root or 0,
            self.latency,
            seed,
            self.members,
            self.rows,
        )


def _check_numbers(topology: AnyNetwork, operation: str, chunks: int, latency: int, seed: int) -> None:
    """Refuse what is not an operation or a network, or is out of range."""
    if operation not in OPERATIONS:
        raise SpecError.at("operation", *unknown_parts(operation, OPERATIONS))
    known = "fl.Torus(...), fl.Mesh(...), fl.Product(...) or fl.Graph(...)"
    require_kind("topology", topology, AnyNetwork, "network", known)
    topology.require_no_circulants("plans of collective operations are")
    for name, value, least in (("chunks", chunks, 1), ("latency", latency, 0), ("seed", seed, 0)):
        if not least <= value < 2**32:
            raise SpecError(f"{name}: {value} is out of range; it starts at {least}")


def _root(
    topology: AnyNetwork, operation: str, root: int | None, members: Sequence[int] | None
) -> int | None:
    """The root of an operation, where it has one, which takes part."""
    if operation not in ROOTED:
        if root is not None:
            raise SpecError.at("root", f"{operation} has none", f"{', '.join(ROOTED)} have")
        return None
    failed = topology.failed_nodes
    taking = members or [node for node in range(topology.nodes) if node not in failed]
    if root is None:
        return taking[0]
    if not 0 <= root < topology.nodes:
        raise SpecError.at("root", f"node {root} does not exist", f"nodes are 0 to {topology.nodes - 1}")
    if root not in taking:
        names = topology.node_names
        called = show(names[root]) if names else str(root)
        why = "has failed" if root in failed else "does not take part"
        raise SpecError.at("root", f"node {called} {why}", "name one that takes part")
    return root


def _planned(asked: _Asked, seed: int, told: Told) -> CollectivePlan:
    """The best plan of a few searches, with the bound of its network."""
    begin = time.perf_counter()
    told(0, PERCENT)
    raw = asked.search(seed)
    told(int(PERCENT * SEARCHED), PERCENT)
    topology, operation, rows = asked.topology, asked.operation, asked.rows
    fields: dict[str, Any] = {
        "operation": operation,
        **network_fields(topology),
        "width": [],
        "chunks": asked.chunks,
        "root": asked.root,
        "nodes": asked.members,
        "demands": asked.demands,
        "latency": asked.latency,
        "steps": raw["steps"],
        "bound": raw["bound"],
        "optimal": raw["steps"] == raw["bound"],
        "proof": _proof(raw, topology),
        "seed": seed,
        "version": provenance.version(),
    }
    taking = asked.taking
    if "orbits" in raw:
        fields |= _orbits(raw, topology.sizes)
    else:
        fields |= _moves(raw, operation, taking, asked.chunks, asked.root or 0, rows)
    plan = CollectivePlan.model_construct(**fields)
    told(int(PERCENT * PROVEN), PERCENT)
    if operation in ("all-to-all", "all-to-all-v") and not plan.optimal and not plan.is_orbit:
        plan = _proven(plan)
        if not plan.optimal:
            plan = tightened(plan)
        for other in range(seed + 1, seed + 1 + RETRIES if _is_small(plan) else seed):
            if plan.optimal:
                break
            told(int(PERCENT * PROVEN) + other - seed, PERCENT)
            raw = asked.search(other)
            if raw["steps"] < plan.steps:
                moves = _moves(raw, operation, taking, asked.chunks, 0, rows)
                best = {"steps": raw["steps"], "optimal": raw["steps"] == plan.bound}
                plan = plan.model_copy(update=moves | best)
    elif not plan.optimal:
        plan = tightened(plan)
    # Where all links are busy trees are no better.
    narrow = plan.proof["kind"] != "transfers" or plan.ground.has_relays
    if operation == "all-reduce" and narrow and plan.steps > FAR * plan.bound and not plan.is_orbit:
        plan = _along_trees(plan)
    plan._seconds = time.perf_counter() - begin
    told(PERCENT, PERCENT)
    return plan


def _along_trees(plan: CollectivePlan) -> CollectivePlan:
    """The plan over trees, if that has fewer steps."""
    found = over_trees(plan.ground, plan.members, plan.chunks, plan.latency)
    if found is None or found[2] >= plan.steps:
        return plan
    sums, moves, steps = found
    made = {"sums": sums, "moves": moves, "steps": steps, "optimal": steps == plan.bound}
    return plan.model_copy(update=made)


def _is_small(plan: CollectivePlan) -> bool:
    """Whether a linear program and further searches take seconds at most."""
    return len(plan.members) * len(plan.ground.links) <= LARGEST


def _proven(plan: CollectivePlan) -> CollectivePlan:
    """The same plan with the bound of the linear program, where that is quickly solved and better."""
    if not _is_small(plan):
        return plan
    pairs = None if plan.demands is None else {(a, b): count for a, b, count in plan.demands}
    lengths = link_lengths(plan.ground, plan.members, pairs)
    if not lengths:
        return plan
    other = plan.model_copy(update={"proof": {"kind": "lengths", "lengths": lengths}})
    steps = other.proven()[0]
    if steps <= plan.bound:
        return plan
    return other.model_copy(update={"bound": steps, "optimal": steps == plan.steps})


def _demands(matrix: ArrayLike, nodes: int) -> list[tuple[int, int, int]]:
    table = np.asarray(matrix)
    if table.shape != (nodes, nodes) or not np.issubdtype(table.dtype, np.integer) or (table < 0).any():
        raise SpecError.at(
            "matrix",
            f"{counted(nodes, 'row')} of {nodes} whole numbers from 0 are needed, one per pair of nodes",
        )
    if int(table.sum()) > 1 << 24:
        raise SpecError.at("matrix", counted(int(table.sum()), "chunk"), f"at most {1 << 24} are planned")
    table = table - np.diag(np.diag(table))
    return [(int(a), int(b), int(table[a, b])) for a, b in zip(*np.nonzero(table), strict=True)]


def _proof(raw: dict[str, Any], topology: AnyNetwork) -> dict[str, Any]:
    proof: dict[str, Any] = dict(raw["proof"])
    if proof["kind"] in ("cut", "crossing"):
        rest = set(range(topology.nodes)) - set(topology.failed_nodes) - set(proof["nodes"])
        if len(rest) < len(proof["nodes"]):
            del proof["nodes"]
            proof["all_but"] = sorted(rest)
    if proof["kind"] == "lengths":
        links = raw["links"]
        proof["lengths"] = [
            [*ends, length] for ends, length in zip(links, proof["lengths"], strict=True) if length
        ]
    return proof


def _orbits(raw: dict[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """Rows of the orbits as lists; a later orbit begins when the one before it ends."""
    parts: dict[str, Any] = {"directions": [list(vector) for vector in raw["generators"]]}
    begin = 0
    for kind, steps, rows in raw["orbits"]:
        rows = rows.astype(np.int64)
        rows[:, 0] += begin
        begin += steps
        vectors = _vectors(rows[:, 2], sizes)
        if kind == "paths":
            parts[kind] = _paths(rows, vectors)
        else:
            flat = zip(rows[:, 0].tolist(), rows[:, 1].tolist(), vectors, rows[:, 3].tolist(), strict=True)
            parts[kind] = list(flat)
    return parts


def _vectors(nodes: NDArray[np.int64], sizes: Sequence[int]) -> list[list[int]]:
    columns = []
    for size in sizes:
        columns.append(nodes % size)
        nodes = nodes // size
    vectors: list[list[int]] = np.stack(columns, axis=1).tolist()
    return vectors


def _paths(rows: NDArray[np.int64], vectors: list[list[int]]) -> list[Any]:
    order = np.lexsort((rows[:, 0], rows[:, 3], rows[:, 2]))
    paths: list[Any] = []
    last = None
    for place in order.tolist():
        step, way, offset, chunk = rows[place].tolist()
        if (offset, chunk) != last:
            last = (offset, chunk)
            paths.append((vectors[place], chunk, []))
        paths[-1][2].append((step, way))
    return paths


def _moves(
    raw: dict[str, Any],
    operation: OperationName | str,
    members: Sequence[int],
    chunks: int,
    root: int,
    demands: NDArray[np.uint32] | None,
) -> dict[str, Any]:
    """Moves as lists of numbers, with the items of the core named by their nodes."""
    rows = raw["moves"].astype(np.int64)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    ends = np.array(raw["links"], dtype=np.int64).reshape(-1, 2)[rows[:, 1]]
    who = np.array(members, dtype=np.int64)
    items = rows[:, 2]
    if demands is not None:
        table = demands.astype(np.int64)
        # The chunk's number among those of its pair, which follow one another.
        first = np.r_[True, (table[1:] != table[:-1]).any(axis=1)]
        number = np.arange(len(table)) - np.maximum.accumulate(np.where(first, np.arange(len(table)), 0))
        named = np.column_stack([table, number])[items]
    elif operation == "all-to-all":
        pair, chunk = np.divmod(items, chunks)
        source, target = np.divmod(pair, len(who))
        named = np.column_stack([who[source], who[target], chunk])
    elif operation in ("broadcast", "reduce"):
        named = np.column_stack([np.full(len(items), root), items])
    else:
        place, chunk = np.divmod(items, chunks)
        named = np.column_stack([who[place], chunk])
    table = np.column_stack([rows[:, 0], ends, named])
    adds = rows[:, 3] == 1
    return {"sums": table[adds].tolist(), "moves": table[~adds].tolist()}
