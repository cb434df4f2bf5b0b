"""Connection matrices of htsim: who sends how many bytes to whom."""

from __future__ import annotations

import re

from flitloom.errors import SpecError
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.reading import text_lines

_HEAD = re.compile(r"\s*Nodes[ \t]+\d+[ \t]*\r?\n\s*Connections[ \t]+\d+", re.IGNORECASE)
_COUNT = re.compile(r"(Nodes|Connections|Triggers|Failures)[ \t]+(\d{1,9})", re.IGNORECASE)
_CONNECTION = re.compile(r"(\d{1,9})->(\d{1,9})((?:[ \t]+\w+[ \t]+\w+)*)")


def looks_like(text: str) -> bool:
    """Whether a text is a connection matrix.

    >>> looks_like("Nodes 16\\nConnections 3\\n"), looks_like("0,1,2\\n")
    (True, False)
    """
    return _HEAD.match(text) is not None


def parse(text: str, source: str) -> tuple[int, list[tuple[int, int, int]]]:
    """The number of ranks, and source, destination and bytes of every connection.

    Raises
    ------
    SpecError
        A line is not a connection, names a node that there is not, or lines are missing.

    Examples
    --------
    >>> parse("Nodes 4\\nConnections 1\\n0->3 id 1 start 0 size 2000\\n", "x.cm")
    (4, [(0, 3, 2000)])
    """
    counts: dict[str, int] = {}
    rows: list[tuple[int, int, int]] = []
    for number, line in enumerate(text_lines(text, source), start=1):
        row, place = line.split("#")[0].strip(), f"{source}, line {number}"
        if count := _COUNT.fullmatch(row):
            counts[count[1].lower()] = int(count[2])
        elif match := _CONNECTION.fullmatch(row):
            words = match[3].split()
            size = dict(zip(words[::2], words[1::2], strict=True)).get("size", "")
            if not size.isdecimal() or len(size) > 15:
                raise SpecError(f"{place}: size {size[:20]!r} is not a whole number of bytes")
            ends = int(match[1]), int(match[2])
            if max(ends) >= counts["nodes"]:
                raise SpecError(f"{place}: node {max(ends)} does not exist; there are {counts['nodes']}")
            rows.append((*ends, int(size)))
        elif row and not row.startswith("trigger"):
            raise SpecError(
                f"{place}: {row[:60]!r} is not a connection; write 0->10 id 1 start 0 size 2000000"
            )
    if not 1 <= counts["nodes"] <= FABRIC_PARTS:
        raise SpecError(f"{source}: {counts['nodes']} nodes; a connection matrix has 1 to {FABRIC_PARTS}")
    if len(rows) != counts["connections"]:
        raise SpecError(
            f"{source}: the second line says {counts['connections']} connections, and there are {len(rows)}: "
            "was the file cut off?"
        )
    return counts["nodes"], rows
