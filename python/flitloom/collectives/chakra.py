"""Plans of collective operations as Chakra traces, and back."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pydantic

from flitloom.collectives.checking import check_collective
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.contents import some
from flitloom.collectives.goal import events
from flitloom.collectives.telling import Told, share, untold
from flitloom.collectives.transfers import transfers
from flitloom.collectives.waiting import waiting_problems
from flitloom.errors import SpecError, show_file
from flitloom.ground.reading import json_fields
from flitloom.spec.from_file import refused
from flitloom.traces.chakra import (
    COLLECTIVE,
    COLLECTIVES,
    attribute_bytes,
    chakra_bytes,
    files_of,
    message_node,
    read_nodes,
)

#: Where the metadata keep what a plan is for.
_HEAD = "flitloom_plan"
#: Fields of a plan that its nodes hold.
_ROWS = ("directions", "adds", "sends", "paths", "sums", "moves")


def chakra_files(
    plan: CollectivePlan, chunk_bytes: int = 1024, as_collective: bool = False, told: Told = untold
) -> list[bytes]:
    """A plan as the files of a Chakra trace, one per rank.

    Parameters
    ----------
    plan : CollectivePlan
        The plan; rank r is node r.
    chunk_bytes : int
        Bytes of a chunk.
    as_collective : bool
        Whether every rank has one node for the operation instead of its sends and receives.
    told : function
        Told now and then how much of how much is done.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.chakra import chakra_files
    >>> files = chakra_files(fl.collectives.plan(fl.Torus(4), "all-gather"), 64)
    >>> len(files), files[0][2:9]
    (4, b'\\n\\x050.0.4')
    """
    if as_collective:
        return _collective(plan, chunk_bytes)
    expanded = plan.expanded()
    head = json.dumps(expanded.model_dump(mode="json", exclude=set(_ROWS)))
    begin = chakra_bytes([], {_HEAD: ("string", head)})
    files = [[begin] for _ in range(plan.ground.nodes)]

    steps = cache(lambda step: attribute_bytes({"step": ("int64", step)}))
    chunks = cache(lambda chunk: attribute_bytes({"chunk": ("int64", list(chunk))}))
    sums = cache(lambda adds: attribute_bytes({"adds": ("bool", adds)}))
    nodes = plan.ground.nodes
    moves = transfers(expanded, share(told, nodes, 0.0, 0.5))
    for rank, number, one, sends, requires in events(moves, nodes, told):
        more = b""
        if sends:
            more = steps(one.step) + chunks(one.block) + sums(one.adds)
        ends = (one.start, one.end, sends)
        files[rank].append(message_node(number, *ends, chunk_bytes, requires, more, one.lane))
    return [b"".join(parts) for parts in files]


def _collective(plan: CollectivePlan, chunk_bytes: int) -> list[bytes]:
    if plan.operation not in COLLECTIVES or plan.nodes is not None or plan.groups is not None:
        raise SpecError.at("chakra", f"{plan.operation} over some nodes is not a collective of a trace")
    count = plan.ground.nodes
    whole = plan.operation in ("all-gather", "gather", "broadcast", "reduce")
    size = chunk_bytes * plan.chunks * (1 if whole else count)
    attributes: dict[str, Any] = {
        "is_cpu_op": ("bool", False),
        "comm_type": ("int64", COLLECTIVES.index(plan.operation)),
        "comm_size": ("int64", size),
    }
    if plan.root is not None:
        attributes["comm_root"] = ("int32", plan.root)
    node = {"id": 0, "name": plan.operation.upper().replace("-", "_"), "type": COLLECTIVE, "attr": attributes}
    return [chakra_bytes([node]) for _ in range(count)]


def chakra_plan(file: str | Path) -> tuple[CollectivePlan, dict[str, Any]]:
    """Read a plan from the trace that it was written as, with the report of its check.

    Raises
    ------
    SpecError
        It is not a trace, or one that does not say of which plan it is.
    """
    sums: list[list[int]] = []
    moves: list[list[int]] = []
    head: dict[str, Any] | None = None
    ranks = []
    for rank, name in enumerate(files_of(file)):
        place = show_file(name)
        metadata, nodes = read_nodes(name)
        text = metadata["attr"].get(_HEAD)
        if not isinstance(text, str):
            raise SpecError(
                f"{place}: names no plan; a third-party trace can be simulated and converted to .goal"
            )
        head = head or _fields(text, place)
        ranks.append((place, nodes))
        for node in nodes:
            table = node["attr"]
            block, step, end = table.get("chunk"), table.get("step"), table.get("comm_dst")
            if table.get("comm_src") != rank or end == rank:
                continue
            if not isinstance(block, list) or not isinstance(step, int) or not isinstance(end, int):
                raise SpecError(f"{place}: node {node.get('id', 0)}: attributes step, chunk: are missing")
            (sums if table.get("adds") else moves).append([step, rank, end, *block])
    fields = dict(head or {}) | {"sums": sorted(sums), "moves": sorted(moves)}
    plan = _validated(fields, show_file(file))
    report = check_collective(plan)
    # What nodes should wait for is known of a right plan only.
    problems = some(waiting_problems(ranks, plan)) if report["passed"] else []
    if problems:
        report |= {"passed": False, "optimal": False, "problems": problems}
    return plan, report


def _fields(text: str, place: str) -> dict[str, Any]:
    return json_fields(text, f"{place}: {_HEAD}")


def _validated(fields: dict[str, Any], place: str) -> CollectivePlan:
    try:
        return CollectivePlan.model_validate(fields)
    except pydantic.ValidationError as error:
        raise refused(error, CollectivePlan, place, f"{_HEAD} must say them") from None
