"""Routes as CSV: source, destination, and the nodes of the route."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from flitloom.errors import SpecError, show
from flitloom.ground.limits import DIGITS
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_csv
from flitloom.spec import Topology
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.form import Format
from flitloom.tables.formats.format import Listed, are_nodes, index_of, without_heading


def _read(file: str, lines: Iterator[tuple[int, str]], _: Topology) -> tuple[NDArray[Any], ...]:
    listed = Listed(file)
    for number, text in lines:
        place = f"{file}, line {number}"
        row = [cell.strip() for cell in text.rstrip("\r\n").replace('"', "").split(",")]
        if number == 1:
            if row != ["source", "destination", "nodes"]:
                raise SpecError(f"{place}: the heading must be source,destination,nodes")
            continue
        if row == [""]:
            continue
        if len(row) != 3:
            raise SpecError(
                f"{place}: {counted(len(row), 'value')}; source, destination and nodes are needed"
            )
        cells = [*row[:2], *row[2].split()]
        if not all(cell.isascii() and cell.isdigit() and len(cell) <= DIGITS for cell in cells):
            raise SpecError(f"{place}: {show(','.join(row))} is not made of whole numbers")
        source, destination, *visited = map(int, cells)
        if len(visited) < 2:
            raise SpecError(f"{place}: the nodes of the route, both ends included, are needed")
        if not are_nodes(visited):
            for node in visited:
                index_of(place, node)
        listed.add(index_of(place, source), index_of(place, destination), visited)
    return listed.arrays()


def write(tables: Tables, file: str | Path | None) -> str:
    """All routes as text, and into a file if one is given."""
    rows = ((source, end, " ".join(map(str, nodes))) for source, end, nodes in tables.routes())
    return write_csv(("source", "destination", "nodes"), rows, file)


FORMAT = Format(without_heading(_read), write, lambda start: start.startswith(b"source,"))
