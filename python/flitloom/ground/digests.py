"""What stands in files, as numbers by which it is told from anything else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.reading import opened

#: The files that are read of a folder of tables by destination.
OF_TABLES = ("opensm-lfts.dump", "path-sl.txt", "sl2vl.dump", "lane-rises.txt", "report.json")


def digest(place: str | Path) -> str:
    """SHA-256 of what stands in a file, or in the files of a folder of tables.

    A pipe, which can be read only once, has none: the text is empty.

    Raises
    ------
    SpecError
        It cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "path-sl.txt")
    ...     _ = file.write_text("a,b\\n")
    ...     first = digest(file), digest(folder)
    ...     _ = file.write_text("a,c\\n")
    ...     first[0][:8], first[0] == digest(file), first[1] == digest(folder)
    ('5be08c96', False, False)
    """
    place = Path(place)
    # Unlike methods of paths, these refuse no name: `opened` says what is wrong with one.
    if os.path.isdir(place):
        inside = (place / name for name in OF_TABLES)
        names = "".join(f"{digest(file)} {file.name}\n" for file in inside if file.exists())
        return hashlib.sha256(names.encode()).hexdigest()
    if os.path.exists(place) and not os.path.isfile(place):
        return ""
    found = hashlib.sha256()
    with opened(place, limits.STATE_BYTES) as source:
        for piece in source.pieces():
            found.update(piece)
    return found.hexdigest()


def require_same(places: Sequence[str | Path], digests: Sequence[str], field: str) -> None:
    """Refuse files that are not what they were when a spec was made of them.

    Raises
    ------
    SpecError
        One of them has changed; the message names it.
    """
    for place, given in zip(places, digests, strict=True):
        if digest(place) != given:
            raise SpecError.at(
                field,
                f"{show_file(place)} has changed since this spec was made",
                "give it as it was, or make the spec anew",
            )


def require_files(fields: Mapping[str, Any]) -> None:
    """Refuse an experiment of which a file can be read only once: what is kept of it has no name.

    Raises
    ------
    SpecError
        A file of its topology is a pipe.
    """
    if "" in fields["topology"].get("content", ()):
        raise SpecError.at("topology", "a pipe is read only once", "write its contents to a file first")
