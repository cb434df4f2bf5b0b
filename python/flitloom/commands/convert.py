"""``flitloom convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import inputs, options
from flitloom.commands.options import Group, grouped


class Asked(Group):
    """The files, the network of a plan, and how it is written."""

    source: Annotated[
        Path,
        typer.Argument(
            help="A plan of a collective operation (.json), MSCCL XML or trees of ForestColl (.xml), an "
            "execution plan of MSCCL++ or schedule of TE-CCL (.json), GOAL as text (.goal) or binary (.bin), "
            "a Chakra trace (NAME.0.et), or a file of BookSim2 (.cfg, or its spec, .toml)."
        ),
    ]
    target: Annotated[
        Path,
        typer.Argument(
            help="What to write: .json, MSCCL XML (.xml), an execution plan of MSCCL++ (.mscclpp.json), GOAL "
            "(.goal, .bin), a Chakra trace (NAME.et makes NAME.0.et, NAME.1.et, ...); of GOAL and Chakra a "
            "spec (.toml), of a file of BookSim2 a spec (.toml) or such a file (.cfg)."
        ),
    ]
    torus: options.Torus = None
    mesh: options.Mesh = None
    network: options.Network = None
    fail: options.Fail = None
    twist: options.Twist = False
    loader: Annotated[
        str | None,
        typer.Option(
            "--for",
            help="MSCCL, MSCCL++: the program that is to load it, msccl-executor, msccl or mscclpp; a file "
            "above its limits is refused.",
            metavar="PROGRAM",
        ),
    ] = None
    chunk_bytes: Annotated[
        int | None, typer.Option(help="GOAL, Chakra: bytes of a chunk. [default: 1024]")
    ] = None
    size: Annotated[
        str | None, typer.Option(help="Bytes of the vector instead of those of a chunk, e.g. 1MiB.")
    ] = None
    machine: options.MachineFile = None
    by_hop: Annotated[
        bool,
        typer.Option(
            "--by-hop",
            help="GOAL, Chakra of a plan in rounds: every chunk over every link, as routers run the plan, "
            "instead of a message per round and pair of nodes.",
        ),
    ] = False
    as_collective: Annotated[
        bool,
        typer.Option("--as-collective", help="Chakra: one node for the operation instead of its messages."),
    ] = False


@grouped
def command(context: typer.Context, *, asked: Asked) -> None:
    """Write a plan of a collective operation, a trace of messages, or a file of BookSim2 in another format.

    Of MSCCL XML and MSCCL++ it says which programs take the file, and which limits exclude others.
    Third-party files do not name the network: give --torus, --mesh or --network.
    With --machine it says how long the plan takes on that machine.

    \b
    For example:
      flitloom convert plan.json plan.xml --for msccl-executor
      flitloom convert plan.json plan.goal --chunk-bytes 65536
      flitloom convert rounds.json plan.goal --by-hop --machine machine.toml
      flitloom convert plan.json plan.mscclpp.json
      flitloom convert plan.json plan.et
      flitloom convert foreign.xml plan.json --torus 4x4
      flitloom convert trace.goal trace.bin
      flitloom convert trace.goal spec.toml --torus 4x4
      flitloom convert mesh.cfg spec.toml
    """
    inputs.use("convert", context, asked.source, asked)
