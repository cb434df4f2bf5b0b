"""Readers of CSV files that a spec names; every message names the file and the line.

What stands in such a file is never shown: a spec of somebody else's could name any file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.lazy import np
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Progress, opened
from flitloom.spec.base import Problems, each, problem, show, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns of a packet table; the last may be left out.
PACKET_COLUMNS = ("source", "destination", "length", "start", "slice")

Check = Callable[[Any, Any], Any]


def column(name: str, check: Check) -> Callable[[Any, ValidationInfo], Any]:
    """A reader of files with one whole number per line, with or without the heading `name`."""
    given = each(check)

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return given(value, info)
        file = locate(value, info)
        numbers: list[int] = []
        lines = Lines(file, limits.COLUMN_BYTES)
        for row in lines:
            if not numbers and lines.first and row == [name]:
                continue
            if len(row) != 1:
                lines.wrong(f"{counted(len(row), 'value')}; one {name} per line is needed")
            elif len(numbers) == limits.ENTRIES:
                raise problem(f"{lines.place}: more than {limits.ENTRIES} lines with a {name}")
            else:
                numbers.append(lines.whole(name, row[0], check))
        lines.end()
        if not numbers:
            raise problem(f"{show_file(file)}: no {name} in the file", "one per line is needed")
        return tuple(numbers)

    return read


def matrix(check: Check) -> Callable[[Any, ValidationInfo], Any]:
    """A reader of square matrices of whole numbers, from files or as they are."""
    given = each(each(check, limits.MATRIX_ROWS), limits.MATRIX_ROWS)

    def read(value: Any, info: ValidationInfo) -> Any:
        rows: Any = []
        where = ""
        if isinstance(value, str | Path):
            file = locate(value, info)
            where = f"{show_file(file)}: "
            rows = read_matrix(file, check, tuple)
        else:
            rows = value.tolist() if hasattr(value, "tolist") else value
            if isinstance(rows, list | tuple) and all(isinstance(row, list | tuple) for row in rows):
                rows = given(rows, info)
            else:
                rows = ()
        if not rows:
            raise problem(f"{where}no square matrix of whole numbers")
        if any(len(row) != len(rows) for row in rows):
            raise problem(
                f"{where}{counted(len(rows), 'row')} of {len(rows[0])} columns", "a square matrix is needed"
            )
        return tuple(rows)

    return read


def read_matrix(
    file: Path,
    check: Check,
    make: Callable[[list[int]], Any],
    most: int = limits.MATRIX_ROWS,
    progress: Progress | None = None,
    exactly: int | None = None,
) -> list[Any]:
    """The rows of a CSV file of whole numbers, all of one length, each made into what `make` gives."""
    rows: list[Any] = []
    columns, needed = exactly, f"one per node ({exactly}) is needed"
    lines = Lines(file, limits.MATRIX_BYTES, progress)
    for row in lines:
        if len(rows) == most or (exactly is None and len(row) > most):
            raise problem(f"{lines.place}: more than {counted(most, 'row')} or columns")
        if columns is None:
            columns, needed = len(row), f"the first row has {len(row)}"
        if len(row) != columns:
            lines.wrong(f"{counted(len(row), 'value')}; {needed}")
        else:
            cells = [lines.whole(f"column {place}", cell, check) for place, cell in enumerate(row, 1)]
            rows.append(make(cells))
    lines.end()
    return rows


def weights(file: Path, nodes: int, progress: Progress | None = None) -> list[NDArray[np.int64]]:
    """The rows of a CSV file of `nodes` whole numbers each."""

    def row(cells: list[int]) -> NDArray[np.int64]:
        return np.array(cells, dtype=np.int64)

    try:
        return read_matrix(file, whole_number(0, 2**63 - 1), row, nodes, progress, exactly=nodes)
    except PydanticCustomError as error:
        problems = Problems()
        problems.add("", error)
        raise SpecError(problems.text()) from None


def packet_table(checks: tuple[Check, ...]) -> Callable[[Any, ValidationInfo], Any]:
    """A reader of packets, from a file with a heading or as rows of four or five numbers."""

    def packet(row: Any, _: Any) -> tuple[int, ...]:
        if hasattr(row, "tolist"):
            row = row.tolist()
        if not isinstance(row, list | tuple) or len(row) not in (4, 5):
            raise problem(f"{show(row)} is not a packet", f"give {', '.join(PACKET_COLUMNS)}")
        numbers = []
        problems = Problems()
        for place, (check, value) in enumerate(zip(checks, (*row, 0), strict=False)):
            try:
                numbers.append(check(value, None))
            except PydanticCustomError as error:
                problems.add(place, error)
        problems.end()
        return tuple(numbers)

    given = each(packet, limits.LISTED_PACKETS, 1)

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return given(value, info)
        return packets_in(locate(value, info), checks)

    return read


def packets_in(
    file: Path, checks: tuple[Check, ...], number_of: Callable[[str], int | str | None] = str
) -> tuple[tuple[int, ...], ...]:
    """The packets of a file with a heading; `number_of` finds the number of a node by its name, or none."""
    lines = Lines(file, limits.COLUMN_BYTES)
    heading = tuple(next(iter(lines), []))
    if heading not in (PACKET_COLUMNS, PACKET_COLUMNS[:4]):
        needed = f"the heading must be {','.join(PACKET_COLUMNS)} (slice may be left out)"
        raise problem(f"{show_file(file)}, line {max(lines.number, 1)}: {needed}")
    packets: list[tuple[int, ...]] = []
    for row in lines:
        if len(packets) == limits.LISTED_PACKETS:
            raise problem(f"{lines.place}: more than {limits.LISTED_PACKETS} packets")
        if len(row) != len(heading):
            lines.wrong(f"{counted(len(row), 'value')}; {len(heading)} are needed")
            continue
        ends = [number_of(name) for name in row[:2]]
        if None in ends:
            lines.wrong(f"{heading[ends.index(None)]} is not a host of the network")
            continue
        cells = zip(heading, (*map(str, ends), *row[2:]), checks, strict=False)
        numbers = [lines.whole(name, cell, check) for name, cell, check in cells]
        packets.append((*numbers, 0)[:5])
    lines.end()
    return tuple(packets)


class Lines:
    """The rows of a CSV file, and what is wrong with them: the first few problems, and a count.

    Blank lines and lines that begin with # are skipped.
    """

    def __init__(self, file: Path, most: int, progress: Progress | None = None) -> None:
        self.file, self.number, self.first = show_file(file), 0, True
        self._problems: list[str] = []
        self._more = 0
        self._rows = self._read(file, most, progress)

    def __iter__(self) -> Iterator[list[str]]:
        return self._rows

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}, line {self.number}"

    def _read(self, file: Path, most: int, progress: Progress | None) -> Iterator[list[str]]:
        try:
            with opened(file, most) as source:
                for self.number, line in source.lines(progress):
                    if not line.endswith("\n"):
                        raise problem(f"{self.place}: the line does not end; the file is cut off")
                    if not line.startswith("#") and not line.isspace():
                        yield self._cells(line)
                        self.first = False
        except SpecError as error:
            raise problem(str(error)) from None

    def _cells(self, line: str) -> list[str]:
        if '"' not in line:
            return [cell.strip() for cell in line.split(",")]
        try:
            row = next(csv.reader([line.rstrip("\r\n")], strict=True))
        except csv.Error as error:
            raise problem(f"{self.place}: {error}") from None
        return [cell.strip() for cell in row]

    def wrong(self, message: str) -> None:
        """Note what is wrong with the line."""
        if len(self._problems) < limits.PROBLEMS:
            self._problems.append(f"{self.place}: {message}")
        else:
            self._more += 1

    def whole(self, name: str, text: str, check: Check) -> int:
        """The number in a cell; if it is none, or not in its range, that is noted."""
        if not (text.isascii() and text.isdigit() and len(text) <= limits.DIGITS):
            self.wrong(f"{name} is not a whole number from 0")
            return 0
        number = int(text)
        try:
            check(number, None)
        except PydanticCustomError as error:
            self.wrong(f"{name} {error.message().partition(' ')[2]}")
        return number

    def end(self) -> None:
        """Raise what was noted, if anything was."""
        if self._problems:
            found: list[tuple[list[str | int], str]] = [([], text) for text in self._problems]
            raise problem("several problems", problems=found, more=self._more)


def locate(value: str | Path, info: ValidationInfo) -> Path:
    """The file a spec names, relative to the folder of the spec."""
    folder = (info.context or {}).get("folder", "")
    return Path(folder) / value
