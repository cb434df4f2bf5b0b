"""What ``flitloom check`` does before it is known what is checked."""

from __future__ import annotations

import typer

from flitloom.commands import inputs
from flitloom.commands.check import Asked
from flitloom.errors import SpecError
from flitloom.ground.outputs import check_output


def run(context: typer.Context, asked: Asked) -> None:
    """Check the input."""
    of_fabric, judged = asked.of_fabric, asked.judged
    if of_fabric.fabric is not None and of_fabric.network is not None:
        raise SpecError("give either --fabric or --network")
    has_fabric = of_fabric.fabric is not None or of_fabric.network is not None
    if judged.twist and judged.torus is None and not has_fabric:
        raise SpecError.at("--twist", "no torus is named", "write --torus 4x4x8 --twist")
    if judged.certificate is not None:
        check_output(judged.certificate, (".json",), "--certificate")
    inputs.use("check", context, asked.file, asked)
