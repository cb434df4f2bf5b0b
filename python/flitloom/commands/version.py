"""``flitloom version``."""

from __future__ import annotations

import typer

from flitloom import __version__
from flitloom._core import build


def command() -> None:
    """Print the version and the commit it was built from.

    Example: flitloom version
    """
    commit = build()[1]
    typer.echo(f"flitloom {__version__}" + (f" ({commit[:12]})" if commit else ""))
