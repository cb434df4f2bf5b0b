"""Checks MSCCL files, and reads them as plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.ground import Ground
from flitloom.collectives.msccl.read import Algorithm, read_msccl
from flitloom.collectives.msccl.replay import Replay
from flitloom.collectives.plan import CollectivePlan
from flitloom.errors import SpecError, show_file


def check_msccl(file: str | Path, ground: Ground | None) -> dict[str, Any]:
    """Replay an MSCCL file: whether it does what its name claims, over links that exist, without a deadlock.

    Returns
    -------
    dict
        ``valid``, ``steps`` (link steps of an as-soon-as-possible replay), ``problems``, ``operation``,
        ``gpus``, ``chunks``, and with a network ``bound`` and ``optimal``.

    Raises
    ------
    SpecError
        The file cannot be read, or is for another number of nodes.
    """
    algorithm = read_msccl(file)
    if ground is not None and ground.nodes != algorithm.gpus:
        raise SpecError(f"{show_file(file)}: {algorithm.gpus} gpus, the network has {ground.nodes} nodes")
    return report(algorithm, ground)


def report(algorithm: Algorithm, ground: Ground | None) -> dict[str, Any]:
    """What a replay of an algorithm finds, beside the bound of the network."""
    replay = Replay(algorithm, None if ground is None else ground.links)
    found: dict[str, Any] = {
        "valid": not replay.problems,
        "steps": replay.steps,
        "problems": replay.problems,
        "operation": algorithm.collective,
        "gpus": algorithm.gpus,
        "chunks": replay.chunks,
    }
    bound = None if ground is None else _bound(replay, ground)
    if bound is not None:
        found["bound"] = bound
        found["optimal"] = found["valid"] and replay.steps == bound
    return found


def _bound(replay: Replay, ground: Ground) -> int | None:
    """The bound of what an algorithm does, on a network."""
    from flitloom.collectives.search import collective

    algorithm, total, root = replay.algorithm, replay.inputs(0), None
    if total == 0:
        return None
    if algorithm.collective == "all-reduce" and total % algorithm.gpus:
        # Every sum needs a transfer per other node to be complete, and one per other node afterwards.
        return -(-2 * total * (algorithm.gpus - 1) // max(sum(ground.links.values()), 1))
    if algorithm.collective == "broadcast":
        root = replay.root()
        if root is None:
            return None
    plan = collective(
        ground.topology,
        algorithm.collective,
        chunks=replay.chunks,
        root=root,
        twist=ground.twist,
        width=ground.width,
    )
    return plan.bound


def msccl_plan(file: str | Path, ground: Ground) -> CollectivePlan:
    """Read an MSCCL file as a plan: its chunks over links, in the steps of a replay as soon as possible.

    Raises
    ------
    SpecError
        It is no such file, does not do what it claims, or keeps several partial sums of a part at a node.

    Examples
    --------
    >>> import flitloom as fl, tempfile, pathlib
    >>> from flitloom.collectives.ground import Ground
    >>> from flitloom.collectives.msccl import msccl_plan, write_msccl
    >>> plan = fl.collective(fl.Torus(4, 4), "all-gather")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "plan.xml"
    ...     write_msccl(plan, file)
    ...     msccl_plan(file, Ground(fl.Torus(4, 4))).moves == plan.expanded().moves
    True
    """
    place = show_file(file)
    algorithm = read_msccl(file)
    if ground.nodes != algorithm.gpus:
        raise SpecError(f"{place}: {algorithm.gpus} gpus, the network has {ground.nodes} nodes")
    try:
        return replayed_plan(Replay(algorithm, ground.links), ground)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from None


def replayed_plan(replay: Replay, ground: Ground) -> CollectivePlan:
    """What was replayed, as a plan."""
    from flitloom.collectives.foreign import plan_of_moves

    if replay.problems:
        raise SpecError(replay.problems[0])
    algorithm = replay.algorithm
    name, chunks, total = algorithm.collective, replay.chunks, replay.inputs(0)
    if name in ("reduce-scatter", "all-reduce", "all-to-all") and total % algorithm.gpus:
        raise SpecError(f"{name} of {total} chunks is no plan; chunks are dealt to {algorithm.gpus} nodes")
    root = replay.root() if name == "broadcast" else None
    rows: dict[bool, list[list[int]]] = {False: [], True: []}
    for hop in replay.hops:
        chunk, gpus = hop.content
        source = gpus.bit_length() - 1
        block = [source, chunk]
        if name not in ("all-gather", "broadcast"):
            owner, part = divmod(chunk, chunks)
            block = [*([source] if name == "all-to-all" else []), owner, part]
        rows[hop.adds].append([hop.step, hop.start, hop.end, *block])
    return plan_of_moves(
        ground, name, chunks, rows[False], rows[True], steps=replay.steps, root=root
    )  # fmt: skip
