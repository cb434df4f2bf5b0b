"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options

#: Endings of message graphs.
GRAPHS = (".goal", ".bin", ".et")


def command(
    source: Annotated[
        Path,
        typer.Argument(
            help="A plan of a collective operation (.json), MSCCL XML or trees of ForestColl (.xml), an "
            "execution plan of MSCCL++ or schedule of TE-CCL (.json), GOAL as text (.goal) or binary (.bin), "
            "or a Chakra trace (NAME.0.et)."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="What to write: .json, MSCCL XML (.xml), an execution plan of MSCCL++ (.mscclpp.json), GOAL "
            "(.goal, .bin) or a Chakra trace (NAME.et makes NAME.0.et, NAME.1.et, ...)."
        ),
    ],
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    fail: options.Fail = None,
    twist: Annotated[bool, typer.Option("--twist", help="The torus is twisted.")] = False,
    chunk_bytes: Annotated[int, typer.Option(help="GOAL, Chakra: bytes of a chunk.")] = 1024,
    as_collective: Annotated[
        bool,
        typer.Option("--as-collective", help="Chakra: one node for the operation instead of its messages."),
    ] = False,
) -> None:
    """Write a plan of a collective operation, or a trace of messages, in a format that other programs read.

    Files of others do not say what links there are: --torus or --mesh does.

    \b
    For example:
      flitloom convert plan.json plan.xml
      flitloom convert plan.json plan.goal --chunk-bytes 65536
      flitloom convert plan.json plan.mscclpp.json
      flitloom convert plan.json plan.et
      flitloom convert foreign.xml plan.json --torus 4x4
      flitloom convert trace.goal trace.bin
    """
    from flitloom.collectives.chakra import chakra_files
    from flitloom.collectives.formats import read_plan_of
    from flitloom.collectives.ground import Ground
    from flitloom.errors import SpecError
    from flitloom.outputs import check_output, write_text
    from flitloom.spec import Topology
    from flitloom.traces.chakra import write_files

    check_output(target, (".json", ".xml", *GRAPHS), "TARGET")
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    if as_collective and target.suffix != ".et":
        raise SpecError.at("--as-collective", "belongs to a Chakra trace", "end TARGET in .et")
    if source.suffix in GRAPHS and target.suffix in GRAPHS and not as_collective:
        _convert_graph(source, target)
        return
    if source.suffix in (".goal", ".bin"):
        raise SpecError(f"TARGET: {target.name}: a message graph becomes .goal, .bin or .et")
    fields = options.topology_fields(torus, mesh, None, fail)
    plan = read_plan_of(source, Ground(Topology(**fields), twist) if "sizes" in fields else None)
    if target.suffix == ".json" and not target.name.endswith(".mscclpp.json"):
        plan.save(target)
    elif target.suffix == ".et":
        write_files(chakra_files(plan, chunk_bytes, as_collective), target)
    elif target.suffix == ".bin":
        from flitloom.collectives.goal import plan_operations
        from flitloom.outputs import write_bytes
        from flitloom.traces import goal_binary

        write_bytes(target, goal_binary(plan_operations(plan, chunk_bytes)))
    elif target.name.endswith(".mscclpp.json"):
        write_text(target, plan.to_mscclpp())
    else:
        write_text(target, plan.to_msccl() if target.suffix == ".xml" else plan.to_goal(chunk_bytes))


def _convert_graph(source: Path, target: Path) -> None:
    """Write a trace in another form of traces."""
    from flitloom.errors import show_file
    from flitloom.messages import MessageGraph
    from flitloom.outputs import write_bytes, write_text
    from flitloom.reading import placed
    from flitloom.traces import goal_binary, goal_text, write_chakra

    graph = MessageGraph.read(source)
    ranks = placed(show_file(source), graph.operations)
    if target.suffix == ".et":
        write_chakra(ranks, target)
    elif target.suffix == ".bin":
        write_bytes(target, goal_binary(ranks))
    else:
        write_text(target, goal_text(ranks))
