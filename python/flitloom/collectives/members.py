"""Which node every rank of a file is: all nodes, those that work, or those that a table beside it names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text
from flitloom.spec.ground import Ground


def ranks_file(file: str | Path) -> Path:
    """The table of ranks beside a file.

    >>> ranks_file("plan.mscclpp.json").name, ranks_file("plan.xml").name
    ('plan.mscclpp.ranks.csv', 'plan.ranks.csv')
    """
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix(path.suffix)}.ranks.csv")


def members_of(ground: Ground, count: int, file: str | Path) -> tuple[int, ...]:
    """The node of every rank of a file with this many ranks.

    Raises
    ------
    SpecError
        The table beside the file is wrong; or there is none, and the network has another number of nodes.
    """
    if count == ground.nodes:
        return tuple(range(count))
    table = ranks_file(file)
    if table.is_file():
        return _read(table, ground, count, file)
    if count == len(ground.working):
        return ground.working
    working = "" if len(ground.working) == ground.nodes else f", of which {len(ground.working)} work"
    advice = "" if count > len(ground.working) else "name the failed ones, e.g. --fail node:5, "
    raise SpecError.at(
        show_file(file),
        f"{count} gpus, the network has {counted(ground.nodes, 'node')}{working}",
        f"{advice}or say which they are in {table.name}",
    )


def _read(table: Path, ground: Ground, count: int, file: str | Path) -> tuple[int, ...]:
    """The nodes in a table of ranks."""
    lines = read_text(table, limits.COLUMN_BYTES).splitlines()
    if not lines or lines[0].strip() != "rank,node":
        raise SpecError.at(show_file(table), "is not a table of ranks", "it begins with rank,node")
    members: list[int] = []
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 2 or not all(c.isascii() and c.isdigit() and len(c) <= 9 for c in cells):
            raise SpecError(f"{show_file(table)}, line {number}: a rank and its node are needed, e.g. 0,4")
        rank, node = map(int, cells)
        if rank != len(members):
            raise SpecError(f"{show_file(table)}, line {number}: rank {rank} where {len(members)} is next")
        if node not in ground.working:
            what = "has failed" if node < ground.nodes else "does not exist"
            raise SpecError(f"{show_file(table)}, line {number}: node {node} {what}")
        members.append(node)
    if len(members) != count or len(set(members)) != count:
        raise SpecError(
            f"{show_file(table)}: {counted(len(set(members)), 'node')} for the "
            f"{counted(count, 'rank')} of {show_file(file)}"
        )
    return tuple(members)


def links_between(ground: Ground, members: tuple[int, ...]) -> Counter[tuple[int, int]]:
    """All working links between ranks, by their numbers.

    >>> import flitloom as fl
    >>> sorted(links_between(Ground(fl.Torus(4)), (2, 3)))
    [(0, 1), (1, 0)]
    """
    ranks = {node: rank for rank, node in enumerate(members)}
    ends = ((a, b, number) for (a, b), number in ground.links.items() if a in ranks and b in ranks)
    return Counter({(ranks[a], ranks[b]): number for a, b, number in ends})
