"""What ``flitloom view`` does before it is known what is shown."""

from __future__ import annotations

import typer

from flitloom.commands import inputs
from flitloom.commands.view import Asked
from flitloom.errors import SpecError
from flitloom.outputs import check_output
from flitloom.view import write_live_page


def run(context: typer.Context, asked: Asked) -> None:
    """Show the input, or write the page with the engine inside."""
    file, page = asked.file, asked.page
    check_output(page.out, (".html",), "--out")
    named = page.fabric if page.network is None else page.network
    if page.fabric is not None and page.network is not None:
        raise SpecError("give either --fabric or --network")
    if page.live == (file is not None or named is not None) or (file is None and page.fail and named is None):
        raise SpecError("name a file to show, or give --live for a page with the engine inside")
    if page.twist and page.torus is None:
        raise SpecError.at("--twist", "no torus is named", "write --torus 4x4x8 --twist")
    if page.fail and named is None and not page.twist:
        raise SpecError.at("--fail", "belongs to --fabric or --torus --twist", "other files say what failed")
    if page.preset is not None and (file is None or file.suffix not in (".nc", ".toml")):
        raise SpecError.at("--preset", "only experiments (.toml) are simulated anew")
    if page.live:
        write_live_page(page.out)
    else:
        inputs.use("view", context, file, asked)
