"""Failed parts of a network as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.ground.limits import DIGITS


def read_failed(parts: Iterable[str], place: str = "--fail") -> dict[str, Any]:
    """The fields of a topology that failed parts fill, each written ``node:3`` or ``link:0-1``.

    Raises
    ------
    SpecError
        A part is written otherwise. Whether the network has it, the topology says.

    Examples
    --------
    >>> from flitloom.spec.failed import read_failed
    >>> read_failed(["node:3", "node:(0,1)", "link:(0,1)+x"])
    {'failed_nodes': [3, '(0,1)'], 'failed_links': ['(0,1)+x']}
    """
    fields: dict[str, Any] = {}
    for part in parts:
        kind, _, name = part.partition(":")
        if kind == "node" and name.isascii() and name.isdigit() and len(name) <= DIGITS:
            fields.setdefault("failed_nodes", []).append(int(name))
        elif kind == "node" and name.startswith("("):
            fields.setdefault("failed_nodes", []).append(name)
        elif kind == "link" and name:
            fields.setdefault("failed_links", []).append(name)
        else:
            raise SpecError.at(
                place,
                f"{show(part)} is not a failed part",
                "write node:3, node:(1,2), link:0-1 or link:(0,1)+x",
            )
    return fields
