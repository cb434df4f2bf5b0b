"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flitloom.commands import options
from flitloom.commands.screen import progress, say
from flitloom.errors import SpecError, show_file
from flitloom.outputs import check_output, write_bytes, write_csv, write_lines, write_text
from flitloom.reading import placed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flitloom.collectives import CollectivePlan

#: Endings of message graphs.
GRAPHS = (".goal", ".bin", ".et")


def command(
    source: Annotated[
        Path,
        typer.Argument(
            help="A plan of a collective operation (.json), MSCCL XML or trees of ForestColl (.xml), an "
            "execution plan of MSCCL++ or schedule of TE-CCL (.json), GOAL as text (.goal) or binary (.bin), "
            "a Chakra trace (NAME.0.et), or a file of BookSim2 (.cfg, or its spec, .toml)."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="What to write: .json, MSCCL XML (.xml), an execution plan of MSCCL++ (.mscclpp.json), GOAL "
            "(.goal, .bin), a Chakra trace (NAME.et makes NAME.0.et, NAME.1.et, ...); of a file of BookSim2 "
            "a spec (.toml) or such a file (.cfg)."
        ),
    ],
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    fail: options.Fail = None,
    twist: Annotated[bool, typer.Option("--twist", help="The torus is twisted.")] = False,
    loader: Annotated[
        str | None,
        typer.Option(
            "--for",
            help="MSCCL, MSCCL++: the program that is to load it, msccl-executor, msccl or mscclpp; a file "
            "above its limits is refused.",
            metavar="PROGRAM",
        ),
    ] = None,
    chunk_bytes: Annotated[int, typer.Option(help="GOAL, Chakra: bytes of a chunk.")] = 1024,
    as_collective: Annotated[
        bool,
        typer.Option("--as-collective", help="Chakra: one node for the operation instead of its messages."),
    ] = False,
) -> None:
    """Write a plan of a collective operation, a trace of messages, or a file of BookSim2 in another format.

    Of MSCCL XML and MSCCL++ it says which programs take the file, and which limits keep others from it.
    Third-party files do not say what links there are: --torus or --mesh does.

    \b
    For example:
      flitloom convert plan.json plan.xml --for msccl-executor
      flitloom convert plan.json plan.goal --chunk-bytes 65536
      flitloom convert plan.json plan.mscclpp.json
      flitloom convert plan.json plan.et
      flitloom convert foreign.xml plan.json --torus 4x4
      flitloom convert trace.goal trace.bin
      flitloom convert mesh.cfg spec.toml
    """
    from flitloom.booksim import is_booksim
    from flitloom.collectives.chakra import chakra_files
    from flitloom.collectives.formats import read_plan_of
    from flitloom.collectives.ground import Ground
    from flitloom.collectives.loaders import named_loader
    from flitloom.spec import Topology
    from flitloom.traces.chakra import write_files

    if is_booksim(source):
        from flitloom.commands.booksim import convert_booksim

        convert_booksim(source, target)
        return
    check_output(target, (".json", ".xml", *GRAPHS), "TARGET")
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    if as_collective and target.suffix != ".et":
        raise SpecError.at("--as-collective", "belongs to a Chakra trace", "end TARGET in .et")
    form = _loaded(target)
    if loader is not None:
        named_loader(loader, form)
    if source.suffix in GRAPHS and target.suffix in GRAPHS and not as_collective:
        _convert_graph(source, target)
        return
    if source.suffix in (".goal", ".bin"):
        raise SpecError(f"TARGET: {target.name}: a message graph becomes .goal, .bin or .et")
    fields = options.topology_fields(torus, mesh, None, fail)
    plan = read_plan_of(source, Ground(Topology(**fields), twist) if "sizes" in fields else None)
    if form:
        _write_for_gpus(plan, target, form, loader)
    elif target.suffix == ".json":
        plan.save(target)
    elif target.suffix == ".et":
        write_files(chakra_files(plan, chunk_bytes, as_collective), target)
    elif target.suffix == ".bin":
        from flitloom.collectives.goal import plan_operations
        from flitloom.traces import goal_binary

        write_bytes(target, goal_binary(plan_operations(plan, chunk_bytes)))
    else:
        write_text(target, plan.to_goal(chunk_bytes))
    if not (target.suffix == ".json" and not form):
        _say_what_is_lost(plan, target)


def _loaded(target: Path) -> str:
    """The format of a file that a GPU's program loads, or nothing."""
    if target.name.endswith(".mscclpp.json"):
        return "mscclpp"
    return "msccl" if target.suffix == ".xml" else ""


def _write_for_gpus(plan: CollectivePlan, target: Path, form: str, loader: str | None) -> None:
    """Write a plan a GPU after the other, and say who takes it."""
    from flitloom.collectives.loaders import Counts, in_words
    from flitloom.collectives.msccl.write import msccl_lines
    from flitloom.collectives.mscclpp.write import mscclpp_lines

    counts = Counts(loader)
    parts = msccl_lines(plan, counts) if form == "msccl" else mscclpp_lines(plan, counts)
    nodes = len(plan.members)
    with progress(show_file(target)) as step:

        def told() -> Iterator[str]:
            for number, part in enumerate(parts):
                yield part
                step(min(number, nodes), nodes)

        write_lines(target, told())
    if nodes < plan.ground.nodes:
        ranks = target.with_name(f"{target.name.removesuffix(target.suffix)}.ranks.csv")
        write_csv(("rank", "node"), enumerate(plan.members), ranks)
        say(f"note: {show_file(target)}: rank r is the r-th node that takes part, see {show_file(ranks)}")
    for line in in_words(form, counts):
        say(f"note: {show_file(target)}: {line}")


def _say_what_is_lost(plan: CollectivePlan, target: Path) -> None:
    """Say what of a plan other formats have no place for."""
    name = show_file(target)
    if plan.latency and target.suffix != ".et":
        say(
            f"note: {name}: the format cannot hold the latency of links ({plan.latency} steps besides the "
            "one in which a link is busy)"
        )
    if max(plan.width, default=1) > 1 and target.suffix != ".et":
        width = ",".join(map(str, plan.width))
        say(f"note: {name}: the format cannot hold how many parallel links a dimension has ({width})")


def _convert_graph(source: Path, target: Path) -> None:
    """Write a trace in another form of traces."""
    from flitloom.messages import MessageGraph
    from flitloom.traces import goal_binary, goal_text, write_chakra

    graph = MessageGraph.read(source)
    ranks = placed(show_file(source), graph.operations)
    if target.suffix == ".et":
        write_chakra(ranks, target)
    elif target.suffix == ".bin":
        write_bytes(target, goal_binary(ranks))
    else:
        write_text(target, goal_text(ranks))
