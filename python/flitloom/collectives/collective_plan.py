"""A plan of a collective operation: who forwards what over which link in which step; a JSON file."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, PrivateAttr

from flitloom._core import LISTS
from flitloom.collectives.proofs import Premises, evaluate
from flitloom.errors import SpecError
from flitloom.errors.renamed import moved
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import Frozen
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of, with_beside

#: Form of plan files; readers refuse others.
FORMAT: Literal["flitloom collective 1"] = "flitloom collective 1"
#: Most moves that orbits are expanded to.
MOST_MOVES = 1 << 25

#: Names of the operations.
OPERATIONS = (*LISTS["collectives"], "all-to-all-v")
#: The same, for editors to offer.
OperationName = Literal[
    "all-gather", "reduce-scatter", "all-reduce", "broadcast", "reduce", "scatter", "gather", "all-to-all",
    "all-to-all-v",
]  # fmt: skip
Whole = Annotated[int, Field(ge=0, lt=2**32)]
Hop = tuple[Whole, Whole]
OrbitRow = tuple[Whole, Whole, list[Whole], Whole]
OrbitPath = tuple[list[Whole], Whole, list[Hop]]
MoveRow = Annotated[list[Whole], Field(min_length=5, max_length=6)]


class CollectivePlan(Frozen):
    """Who forwards which chunk over which link in which step.

    In one step a link transfers at most one chunk; a node uses all its links at once, keeps what it ever held
    and may copy or add. On a healthy torus all nodes do the same, shifted, and the plan is kept as orbits.

    Attributes
    ----------
    steps : int
        Steps until the last chunk has arrived.
    bound : int
        No plan that forwards whole chunks has fewer steps.
    optimal : bool
        Whether the steps are the bound.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.collectives.plan(fl.Torus(8, 8, 8), "all-gather")
    >>> plan.steps, plan.bound, plan.optimal, len(plan.sends)
    (86, 86, True, 511)
    >>> print(plan.proof_text)
    511 chunks enter node 0 over 6 links: at least 86 steps
    """

    model_config = ConfigDict(extra="forbid", ignored_types=(cached_property,))
    format: Literal["flitloom collective 1"] = FORMAT
    operation: OperationName = Field(description="What is to be done.")
    topology: dict[str, Any] = Field(description="The network, as in an experiment file.")
    twist: bool = Field(default=False, description="Whether the torus is twisted.")
    width: list[Annotated[int, Field(ge=1, le=64)]] = Field(
        default_factory=list, description="Parallel links per dimension; none: one each."
    )
    chunks: int = Field(
        ge=1,
        lt=2**25,
        description="Chunks per node; per pair for all-to-all; in all for broadcast and reduce.",
    )
    root: Whole | None = Field(default=None, description="The root, where the operation has one.")
    nodes: list[Whole] | None = Field(default=None, description="Nodes that take part; null: all that work.")
    groups: list[list[Whole]] | None = Field(
        default=None,
        description="Nodes of every group, where several do the same at once, each over its own links.",
    )
    demands: list[tuple[Whole, Whole, Whole]] | None = Field(
        default=None, description="all-to-all-v: source, destination and number of chunks."
    )
    latency: int = Field(
        default=0, ge=0, le=2**16, description="Steps on a link besides the one in which it is busy."
    )
    steps: Whole = Field(description="Steps until the last chunk has arrived.")
    bound: Whole = Field(description="Proven lower bound on the steps.")
    optimal: bool = Field(description="Whether the steps are the bound.")
    proof: dict[str, Any] = Field(description="What proves the bound: its kind and what it is about.")
    seed: int = Field(default=1, ge=0, lt=2**64, description="Seed of the search.")
    version: str = Field(default="", description="The flitloom that made it.")
    directions: list[list[int]] = Field(
        default=[], description="Orbits: the vector of every link of a node; parallel links are repeated."
    )
    adds: list[OrbitRow] = Field(
        default=[],
        description="Orbits: [step, direction, offset, chunk]: every node v sends its partial sum of the "
        "part of node v - offset over the direction, where it is added.",
    )
    sends: list[OrbitRow] = Field(
        default=[],
        description="Orbits: [step, direction, offset, chunk]: over the direction every node v gets the "
        "chunk of node v - offset.",
    )
    paths: list[OrbitPath] = Field(
        default=[],
        description="Orbits: [offset, chunk, [[step, direction], ...]]: how the chunk of every node v for "
        "node v + offset travels.",
    )
    sums: list[MoveRow] = Field(
        default=[],
        description="Moves: [step, from, to, node, chunk]: a partial sum that the receiver adds to its own.",
    )
    moves: list[MoveRow] = Field(
        default=[],
        description="Moves: [step, from, to, node, chunk], node the one whose chunk it is (its destination "
        "for scatter); [step, from, to, source, destination, chunk] for all-to-all.",
    )
    _seconds: float = PrivateAttr(default=0.0)

    def __eq__(self, other: object) -> bool:
        """Whether another plan says the same; how long the search took does not count."""
        if not isinstance(other, CollectivePlan):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    def __hash__(self) -> int:
        """The same for plans that say the same."""
        return hash((self.operation, self.steps, self.bound, len(self.moves)))

    def __repr__(self) -> str:
        proof = "optimal" if self.optimal else f"bound {self.bound}"
        several = "" if self.groups is None else f" in {counted(len(self.groups), 'group')}"
        what = f"{self.operation}{several} on {self.ground}"
        return f"CollectivePlan({what}: {counted(self.steps, 'step')}, {proof})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "steps": self.steps,
            "lower bound": self.bound,
            "optimal": self.optimal,
            "proof": self.proof_text,
        }
        return fields_html(f"{self.operation} on {self.ground}", fields)

    @property
    def seconds(self) -> float:
        """Seconds the search took; 0 for a plan from a file."""
        return self._seconds

    @property
    def is_orbit(self) -> bool:
        """Whether all nodes do the same, shifted."""
        return bool(self.directions)

    @cached_property
    def ground(self) -> Ground:
        """The network it is for."""
        try:
            return Ground(with_beside(network_of(self.topology), self.twist, self.width))
        except (SpecError, TypeError) as error:
            raise SpecError.at("plan.topology", str(error)) from None

    @cached_property
    def proof_text(self) -> str:
        """The proof of the bound as text, with its numbers counted anew."""
        return self.proven()[1]

    def proven(self) -> tuple[int, str]:
        """The steps that its proof proves, and the proof as text.

        Raises
        ------
        SpecError
            The proof is none for this operation.
        """
        if self.groups is not None:
            found = [one.proven() for one in self.by_group(rows=False)]
            number = max(range(len(found)), key=lambda number: found[number][0])
            return found[number][0], f"group {number}, its nodes by their places in it: {found[number][1]}"
        premises = Premises(
            self.ground,
            self.operation,
            self.members,
            self.nodes is None,
            self.chunks,
            self.latency,
            self.root,
            self.demands,
        )
        return evaluate(premises, self.proof)

    @property
    def members(self) -> tuple[int, ...]:
        """Nodes that take part."""
        if self.groups is not None:
            return tuple(sorted(node for group in self.groups for node in group))
        return self.ground.working if self.nodes is None else tuple(self.nodes)

    def by_group(self, rows: bool = True) -> list[CollectivePlan]:
        """A plan for every group over the links between its nodes, which are numbered by their places in it.

        Parameters
        ----------
        rows : bool
            Whether they have their moves and sums, which proofs do not need.

        Raises
        ------
        SpecError
            Groups share nodes, something goes from group to group, or their proofs are incomplete.

        Examples
        --------
        >>> from flitloom.collectives.groups import plan_groups
        >>> import flitloom as fl
        >>> for one in plan_groups(fl.Mesh(2, 2), "all-gather", [[0, 1], [2, 3]]).by_group():
        ...     print(one.moves)
        [[0, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
        [[0, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
        """
        groups, ground = self.groups or [], self.ground
        at = {
            node: (number, place) for number, group in enumerate(groups) for place, node in enumerate(group)
        }
        proofs = self.proof.get("proofs")
        if len(at) < sum(map(len, groups)) or not {*at} <= {*ground.working} or self.nodes is not None:
            raise SpecError.at("groups", "they share nodes, or have some that do not work")
        if self.proof.get("kind") != "groups" or not isinstance(proofs, list) or len(proofs) != len(groups):
            raise SpecError.at("plan.proof", "is not one proof for every group")
        if self.root is not None or self.demands is not None or self.is_orbit:
            raise SpecError.at("groups", "they are of operations without a root or a matrix, move by move")
        last = nodes_end(self.operation)
        found: list[dict[str, list[list[int]]]] = [{"sums": [], "moves": []} for _ in groups]
        for name, listed in (("sums", self.sums), ("moves", self.moves)) if rows else ():
            for row in listed:
                named = {at.get(node, (-1, -1))[0] for node in row[1:last]}
                if len(named) > 1 or -1 in named:
                    raise SpecError.at(name, f"{row}: the nodes are not of one group")
                places = [at[node][1] for node in row[1:last]]
                found[named.pop()][name].append([row[0], *places, *row[last:]])
        plans = []
        for number, group in enumerate(groups):
            cables = [list(ends) for ends in ground.cables_between(group)]
            topology = {"kind": "graph", "cables": cables, "nodes": len(group)}
            changes = {
                "topology": topology,
                "twist": False,
                "width": [],
                "groups": None,
                "proof": proofs[number],
            }
            # Not a copy, which would keep the ground.
            plans.append(type(self).model_construct(**{**dict(self), **changes, **found[number]}))
        return plans

    def expanded(self) -> CollectivePlan:
        """The same plan move by move.

        Raises
        ------
        SpecError
            It would have too many moves.

        Examples
        --------
        >>> import flitloom as fl
        >>> len(fl.collectives.plan(fl.Torus(4, 4), "all-gather").expanded().moves)
        240
        """
        if not self.is_orbit:
            return self
        ground = self.ground
        hops = sum(len(path[2]) for path in self.paths)
        if (len(self.adds) + len(self.sends) + hops) * ground.nodes > MOST_MOVES:
            raise SpecError.at("plan", f"more than {MOST_MOVES} moves", "it is kept as orbits")
        shift = _shifts(ground)
        sums = [
            [step, node, shift(node, self.directions[way]), shift(node, offset, -1), chunk]
            for step, way, offset, chunk in self.adds
            for node in range(ground.nodes)
        ]
        moves = [
            [step, shift(node, self.directions[way], -1), node, shift(node, offset, -1), chunk]
            for step, way, offset, chunk in self.sends
            for node in range(ground.nodes)
        ]
        for offset, chunk, hops_ in self.paths:
            for node in range(ground.nodes):
                target, here = shift(node, offset), node
                for step, way in hops_:
                    there = shift(here, self.directions[way])
                    moves.append([step, here, there, node, target, chunk])
                    here = there
        moves.sort()
        return self.model_copy(
            update={"directions": [], "adds": [], "sends": [], "paths": [], "sums": sums, "moves": moves}
        )

    def to_msccl(self) -> str:
        """Stays for one release: `flitloom.collectives.msccl.msccl_text`."""
        return str(moved("CollectivePlan.to_msccl", "flitloom.collectives.msccl.msccl_text")(self))

    def to_mscclpp(self) -> str:
        """Stays for one release: `flitloom.collectives.mscclpp.mscclpp_text`."""
        return str(moved("CollectivePlan.to_mscclpp", "flitloom.collectives.mscclpp.mscclpp_text")(self))

    def to_goal(self, chunk_bytes: int = 1024) -> str:
        """Stays for one release: `flitloom.collectives.goal.goal_text`."""
        return str(moved("CollectivePlan.to_goal", "flitloom.collectives.goal.goal_text")(self, chunk_bytes))

    def to_chakra(self, chunk_bytes: int = 1024, as_collective: bool = False) -> list[bytes]:
        """Stays for one release: `flitloom.collectives.chakra.chakra_files`."""
        files = moved("CollectivePlan.to_chakra", "flitloom.collectives.chakra.chakra_files")
        return list(files(self, chunk_bytes, as_collective))

    def busy(self) -> NDArray[np.float64]:
        """Share of all links that are busy, per step."""
        counts = np.zeros(self.steps)
        if self.is_orbit:
            total = sum(self.ground.directions.values())
            steps = [row[0] for row in self.adds] + [row[0] for row in self.sends]
            steps += [step for path in self.paths for step, _ in path[2]]
        else:
            total = sum(self.ground.links.values())
            steps = [row[0] for row in self.sums] + [row[0] for row in self.moves]
        np.add.at(counts, np.array(steps, dtype=np.int64), 1)
        return counts / max(total, 1)

    def count_rows(self) -> int:
        """How many rows its file has."""
        return sum(len(rows) for rows in (self.adds, self.sends, self.paths, self.sums, self.moves))

    def save(self, file: str | Path) -> None:
        """Write it as JSON, a row a line."""
        write_text(file, plan_text(self))


def network_fields(network: AnyNetwork) -> dict[str, Any]:
    """What files of plans say of their network.

    >>> import flitloom as fl
    >>> network_fields(fl.Product("ring4"))["topology"]["network"]
    'ring4'
    """
    return {"topology": network.model_dump(mode="json"), "twist": network.twist}


def nodes_end(operation: str) -> int:
    """Where the nodes of a row of moves or sums end, which begin behind its step.

    Of an all-to-all these are also the source and the destination of the chunk, else one of them.

    >>> nodes_end("all-to-all"), nodes_end("all-gather")
    (5, 4)
    """
    return 5 if operation == "all-to-all" else 4


def vector_chunks(plan: CollectivePlan) -> int:
    """Chunks of the vector that a node has before (all-reduce, all-to-all) or after it (all-gather).

    >>> import flitloom as fl
    >>> [vector_chunks(fl.collectives.plan(fl.Torus(4), one)) for one in ("all-gather", "broadcast")]
    [4, 1]
    """
    whole = plan.operation in ("broadcast", "reduce")
    return plan.chunks * (1 if whole else len(plan.members))


def facts_of(plan: CollectivePlan, chunks: int) -> dict[str, Any]:
    """What there is to say of a plan that was made for this many chunks, by name.

    Examples
    --------
    >>> import flitloom as fl
    >>> facts_of(fl.collectives.plan(fl.Torus(4, 4), "all-gather"), 1)["steps"]
    4
    """
    busy = plan.busy()
    facts: dict[str, Any] = {
        "operation": plan.operation,
        "network": str(plan.ground),
        "steps": plan.steps,
        "bound": plan.bound,
        "optimal": plan.optimal,
        "bound_proof": plan.proof_text,
        "seconds": round(plan.seconds, 6),
        "chunks": chunks,
        "rows": plan.count_rows(),
        "busy": round(float(busy.mean()), 4) if len(busy) else 0.0,
    }
    if plan.proof["kind"] == "cut":
        facts["cut"] = plan.proof
    return facts


def plan_text(plan: CollectivePlan) -> str:
    """A plan as JSON, a row a line."""
    lists = ("adds", "sends", "paths", "sums", "moves")
    head = plan.model_dump(exclude={*lists, *({"groups"} if plan.groups is None else ())})
    parts = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    for name in lists:
        rows = getattr(plan, name)
        if rows:
            text = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in rows)
            parts.append(f" {json.dumps(name)}: [\n  {text}\n ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _shifts(ground: Ground) -> Any:
    """A function that gives the node at an offset from a node; remembers what it has computed."""
    points = [ground.point(node) for node in range(ground.nodes)]
    known: dict[tuple[tuple[int, ...], int], list[int]] = {}

    def shift(node: int, offset: list[int], sign: int = 1) -> int:
        key = (tuple(offset), sign)
        if key not in known:
            known[key] = [
                ground.number(ground.normal([a + sign * b for a, b in zip(point, offset, strict=True)]))
                for point in points
            ]
        return known[key][node]

    return shift
