"""``flitloom version``."""

from __future__ import annotations

from flitloom.commands import screen
from flitloom.ground import provenance


def command() -> None:
    """Print the version, and the commit it was made from ("+": with changes).

    \b
    For example:
      flitloom version
    """
    commit = provenance.commit()
    short = commit[:12] + "+" * commit.endswith("+")
    screen.echo(f"flitloom {provenance.version()}" + (f" ({short})" if commit else ""))
