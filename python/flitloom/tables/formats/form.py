"""What a format of files of tables is, whatever it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from flitloom.ground.limits import TABLE_BYTES

Held = TypeVar("Held")


@dataclass(frozen=True)
class Format(Generic[Held]):
    """A format of files that hold tables by source.

    Attributes
    ----------
    read : function
        Reads an open file.
    write : function
        Writes tables to a file; gives the text, if there is one, or None.
    sniff : function or None
        Whether a file that begins with these bytes is one; without it the ending says so.
    limit : int
        Most bytes of a file that the ending tells.
    lists : bool
        Whether it lists every route, which is for few nodes.
    """

    read: Callable[..., Held]
    write: Callable[[Held, str | Path | None], str | None]
    sniff: Callable[[bytes], bool] | None
    limit: int = TABLE_BYTES
    lists: bool = True
