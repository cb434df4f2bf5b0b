"""What a replay of somebody else's algorithm found: as a report, and as a plan."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.contents import Buffers, Hop
from flitloom.collectives.foreign import plan_of_moves
from flitloom.collectives.search import collective
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground


class Replayed(Protocol):
    """A replay that has ended."""

    buffers: Buffers
    problems: list[str]
    hops: list[Hop]
    steps: int

    @property
    def chunks(self) -> int:
        """Chunks per node, or per pair, as plans count them."""

    def inputs(self, gpu: int) -> int:
        """Input chunks of a GPU."""

    def root(self) -> int | None:
        """The GPU whose input is in all outputs at the end."""


def report(replay: Replayed, ground: Ground | None, members: tuple[int, ...] | None = None) -> dict[str, Any]:
    """What a replay found, beside the bound of the network; `members` are the nodes of its ranks."""
    algorithm = replay.buffers
    found: dict[str, Any] = {
        "passed": not replay.problems,
        "steps": replay.steps,
        "problems": replay.problems,
        "operation": algorithm.collective,
        "gpus": algorithm.gpus,
        "chunks": replay.chunks,
    }
    bound = None if ground is None else _bound(replay, ground, members or ground.working)
    if bound is not None:
        found["bound"] = bound
        found["optimal"] = found["passed"] and replay.steps == bound
    return found


def _bound(replay: Replayed, ground: Ground, members: tuple[int, ...]) -> int | None:
    """The bound of what an algorithm does, on a network."""
    algorithm, total, root = replay.buffers, replay.inputs(0), None
    if total == 0:
        return None
    if algorithm.collective == "all-reduce" and total % algorithm.gpus:
        # Every sum needs a transfer per other node to be complete, and one per other node afterwards.
        return -(-2 * total * (algorithm.gpus - 1) // max(sum(ground.links.values()), 1))
    if algorithm.collective in ("broadcast", "reduce"):
        root = replay.root()
        if root is None:
            return None
        root = members[root]
    plan = collective(
        ground.topology,
        algorithm.collective,
        chunks=replay.chunks,
        root=root,
        nodes=_group(ground, members),
    )
    return plan.bound


def _group(ground: Ground, members: tuple[int, ...]) -> tuple[int, ...] | None:
    """The nodes that take part, if they are not all that work."""
    return None if set(members) == set(ground.working) else members


def replayed_plan(replay: Replayed, ground: Ground, members: tuple[int, ...]) -> CollectivePlan:
    """What was replayed, as a plan; `members` are the nodes of its ranks."""
    if replay.problems:
        raise SpecError(replay.problems[0])
    algorithm = replay.buffers
    name, chunks, total = algorithm.collective, replay.chunks, replay.inputs(0)
    if name in ("reduce-scatter", "all-reduce", "all-to-all") and total % algorithm.gpus:
        raise SpecError(
            f"{name} of {total} chunks is not a plan; chunks are dealt to {counted(algorithm.gpus, 'node')}"
        )
    root = replay.root() if name in ("broadcast", "reduce") else None
    root = None if root is None else members[root]
    group = _group(ground, members)
    if replay.hops and all(hop.given >= 0 for hop in replay.hops):
        # Steps that a plan was written with hold if they are possible.
        with suppress(SpecError):
            steps = max(hop.given for hop in replay.hops) + 1
            given = [replace(hop, step=hop.given) for hop in replay.hops]
            rows = _rows(given, name, chunks, root, members)
            return plan_of_moves(ground, name, chunks, *rows, steps=steps, root=root, nodes=group)
    rows = _rows(replay.hops, name, chunks, root, members)
    return plan_of_moves(ground, name, chunks, *rows, steps=replay.steps, root=root, nodes=group)


def _rows(
    hops: list[Hop], name: str, chunks: int, root: int | None, members: tuple[int, ...]
) -> tuple[list[list[int]], list[list[int]]]:
    """Copies and sums as the rows of plans; `members` are the nodes of ranks."""
    rows: dict[bool, list[list[int]]] = {False: [], True: []}
    for hop in hops:
        chunk, gpus = hop.content
        source = members[gpus.bit_length() - 1]
        block = [source, chunk]
        if name == "reduce":
            block = [int(root or 0), chunk]
        elif name not in ("all-gather", "broadcast"):
            owner, part = divmod(chunk, chunks)
            block = [*([source] if name == "all-to-all" else []), members[owner], part]
        rows[hop.adds].append([hop.step, members[hop.start], members[hop.end], *block])
    return rows[False], rows[True]
