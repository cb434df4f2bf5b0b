"""``flitloom load``: where a network saturates, and how it behaves before and beyond."""

from __future__ import annotations

import typer

from flitloom.commands import load_bound

app = typer.Typer(
    help="Where a network saturates, and how it behaves before and beyond: curves and responses.\n\n"
    "Example: flitloom load bound --torus 32x32 --pattern bcmp",
    no_args_is_help=True,
)
app.command("bound")(load_bound.command)


@app.callback()
def _group() -> None:
    """Keep a group of what may have one command only."""
