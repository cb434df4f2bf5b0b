"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.screen import progress, say
from flitloom.errors import SpecError, show_file
from flitloom.outputs import check_output


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

    Of MSCCL XML and MSCCL++ it says which programs take the file, and which limits exclude others.
    Third-party files do not name the network: give --torus or --mesh.

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
    from flitloom import formats
    from flitloom.booksim import is_booksim
    from flitloom.collectives.ground import Ground
    from flitloom.collectives.loaders import named_loader
    from flitloom.spec import Topology

    if is_booksim(source):
        from flitloom.commands.inputs.booksim import convert_booksim

        convert_booksim(source, target)
        return
    check_output(target, formats.written_endings(), "TARGET")
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    form = formats.target_format(target)
    if as_collective and form.name != "chakra":
        raise SpecError.at("--as-collective", "belongs to a Chakra trace", "end TARGET in .et")
    if loader is not None:
        named_loader(loader, form.name)
    fields = options.topology_fields(torus, mesh, None, fail)
    ground = Ground(Topology(**fields), twist) if "sizes" in fields else None
    with progress(show_file(target)) as step:
        how = formats.Writing(chunk_bytes, as_collective, loader, step)
        notes = formats.convert(source, target, ground, how)
    for note in notes:
        say(f"note: {show_file(target)}: {note}")
