"""What ``flitloom view`` does before it is known what is shown."""

from __future__ import annotations

import typer

from flitloom.commands import inputs
from flitloom.commands.options import refuse
from flitloom.commands.view import Asked, Page
from flitloom.errors import SpecError
from flitloom.ground.outputs import check_output
from flitloom.view import write_live_page


def run(context: typer.Context, asked: Asked) -> None:
    """Show the input, or write the page with the engine inside."""
    file, page = asked.file, asked.page
    check_output(page.out, (".html",), "--out")
    named = page.fabric if page.network is None else page.network
    if page.fabric is not None and page.network is not None:
        raise SpecError("give either --fabric or --network")
    if page.live == (file is not None or named is not None):
        raise SpecError("name a file to show, or give --live for a page with the engine inside")
    if page.twist and page.torus is None:
        raise SpecError.at("--twist", "no torus is named", "write --torus 4x4x8 --twist")
    if page.live:
        refuse(
            context, [name for name in Page.names() if name not in ("out", "live")], "does not go with --live"
        )
        write_live_page(page.out)
    else:
        inputs.use("view", context, file, asked)
