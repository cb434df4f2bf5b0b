"""``flitloom cite``."""

from __future__ import annotations

from flitloom.commands import options, screen


def command(json: options.Json = False) -> None:
    """Name the papers that flitloom is based on.

    \b
    For example:
      flitloom cite
    """
    from flitloom.papers import SOURCES

    if json:
        screen.print_json([{"name": name, "citation": citation} for name, citation in SOURCES.items()])
        return
    for name, citation in SOURCES.items():
        screen.echo(f"[{name}] {citation}")
