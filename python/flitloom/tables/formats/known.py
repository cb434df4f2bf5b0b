"""The closed list of formats of tables by source."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from flitloom.tables.formats.form import Format

#: Formats by how the names of files that are written end. A file is read by the one that goes by its ending,
#: or else by the first that takes its beginning.
FORMATS = {
    (".json",): "json_routes",
    (".csv",): "csv_routes",
    (".npz",): "headers",
    (".lft", ".txt"): "lft",
}


def endings() -> tuple[str, ...]:
    """How the names of files that are written end.

    >>> endings()
    ('.json', '.csv', '.npz', '.lft', '.txt')
    """
    return tuple(ending for some in FORMATS for ending in some)


def formats() -> Iterator[tuple[tuple[str, ...], Format[Any]]]:
    """Every format with its endings; each is imported when it is asked for."""
    for some, name in FORMATS.items():
        yield some, import_module(f"flitloom.tables.formats.{name}").FORMAT


def written_as(ending: str) -> Format[Any]:
    """The format of files with an ending."""
    return next(one for some, one in formats() if ending in some)
