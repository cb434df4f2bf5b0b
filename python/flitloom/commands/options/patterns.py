"""Names of patterns that other simulators use for other patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """The same of the patterns in the fields of a file, wherever it names some, each name once."""
    remarked([*dict.fromkeys(_patterns(fields))])


def _patterns(value: object) -> Iterator[str]:
    """Names of patterns in fields.

    >>> [*_patterns({"patterns": ["torn"], "traffic": {"pattern": "next", "changes": [{"pattern": "rand"}]}})]
    ['torn', 'next', 'rand']
    """
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name in ("pattern", "patterns"):
                yield from (
                    one for one in (part if isinstance(part, list) else [part]) if isinstance(one, str)
                )
            else:
                yield from _patterns(part)
    elif isinstance(value, list):
        for part in value:
            yield from _patterns(part)
