"""Names of patterns that other simulators use for other patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from flitloom.commands import screen

#: What they are here, and in BookSim2.
ELSEWHERE = {
    "tornado": "torn (Nx/2 along x); BookSim2's moves by ceil(k/2) - 1 in every dimension",
    "neighbor": "next (1 along x); BookSim2's moves by 1 in every dimension",
}
Given = TypeVar("Given", str | None, list[str] | None)


def remarked(value: Given) -> Given:
    """The value of an option as it is, after a note on names that mean something else in BookSim2.

    >>> remarked("torn,next")
    'torn,next'
    """
    named = value.split(",") if isinstance(value, str) else value or ()
    for name in named:
        if name in ELSEWHERE:
            screen.say(f"note: {name} is {ELSEWHERE[name]}; --destinations FILE takes any pattern")
    return value


def remarked_in(fields: Mapping[str, Any]) -> None:
    """The same of the pattern in the fields of a file."""
    traffic = fields.get("traffic")
    if isinstance(traffic, Mapping) and isinstance(traffic.get("pattern"), str):
        remarked(traffic["pattern"])
