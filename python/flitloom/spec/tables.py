"""Readers of CSV files; every message names the file and the line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from flitloom.spec.base import problem, show

#: Largest file that is read, in bytes.
LARGEST = 1 << 30
#: Columns of a packet table; the last may be left out.
PACKET_COLUMNS = ("source", "destination", "length", "start", "slice")


def column(name: str) -> Callable[[Any, ValidationInfo], Any]:
    """A reader of files with one whole number per line, with or without the heading `name`."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return _plain(value)
        file = _locate(value, info)
        numbers: list[int] = []
        for position, (line, row) in enumerate(_rows(file)):
            if position == 0 and row == [name]:
                continue
            if len(row) != 1:
                raise problem(f"{file}, line {line}: {len(row)} values; one {name} per line is needed")
            numbers.append(_whole(file, line, name, row[0]))
        if not numbers:
            raise problem(f"{file}: no {name} in the file; one per line is needed")
        return tuple(numbers)

    return read


def matrix(value: Any, info: ValidationInfo) -> Any:
    """Read a square matrix of whole numbers from a file, or accept a square one."""
    rows: Any = value
    where = ""
    if isinstance(value, str | Path):
        file = _locate(value, info)
        where = f"{file}: "
        rows = []
        for line, row in _rows(file):
            rows.append(
                tuple(_whole(file, line, f"column {place}", cell) for place, cell in enumerate(row, 1))
            )
            if len(row) != len(rows[0]):
                raise problem(f"{file}, line {line}: {len(row)} values; line 1 has {len(rows[0])}")
    rows = _plain(rows)
    if (
        not isinstance(rows, list | tuple)
        or not rows
        or not all(isinstance(row, list | tuple) for row in rows)
    ):
        raise problem(f"{where}no square matrix of whole numbers")
    if any(len(row) != len(rows) for row in rows):
        raise problem(f"{where}{len(rows)} rows of {len(rows[0])} columns; a square matrix is needed")
    return rows


def packet_table(value: Any, info: ValidationInfo) -> Any:
    """Read packets from a file with a heading, or complete rows that lack the slice."""
    if not isinstance(value, str | Path):
        rows = _plain(value)
        for number, row in enumerate(rows if isinstance(rows, list | tuple) else ()):
            if not isinstance(row, list | tuple) or len(row) not in (4, 5):
                raise problem(f"entry {number}: {show(row)} is no packet; give {', '.join(PACKET_COLUMNS)}")
        return tuple((*row, 0)[:5] for row in rows) if isinstance(rows, list | tuple) else rows
    file = _locate(value, info)
    packets = []
    lines = _rows(file)
    heading = tuple(next(lines, (1, []))[1])
    if heading not in (PACKET_COLUMNS, PACKET_COLUMNS[:4]):
        raise problem(
            f"{file}, line 1: the heading must be {','.join(PACKET_COLUMNS)} (slice may be left out)"
        )
    for line, row in lines:
        if len(row) != len(heading):
            raise problem(f"{file}, line {line}: {len(row)} values; {len(heading)} are needed")
        cells = [_whole(file, line, name, cell) for name, cell in zip(heading, row, strict=True)]
        packets.append((*cells, 0)[:5])
    return tuple(packets)


def _plain(value: Any) -> Any:
    """Turn arrays into lists; leave anything else alone."""
    return value.tolist() if hasattr(value, "tolist") else value


def _locate(value: str | Path, info: ValidationInfo) -> Path:
    """The file a spec names, relative to the folder of the spec."""
    folder = (info.context or {}).get("folder", "")
    return Path(folder) / value


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file with their line numbers; blank lines and lines that begin with # are skipped."""
    try:
        if file.stat().st_size > LARGEST:
            raise problem(f"{file}: larger than {LARGEST} bytes")
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise problem(f"cannot read {show(str(file))}: {reason}") from None
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        raise problem(f"{file}, line {len(lines)}: the line does not end; the file is cut off")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            row = next(csv.reader([line.rstrip("\r")], strict=True))
        except csv.Error as error:
            raise problem(f"{file}, line {number}: {error}") from None
        yield number, [cell.strip() for cell in row]


def _whole(file: Path, line: int, name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise problem(f"{file}, line {line}: {name} is {show(text)}; a whole number from 0 is needed")
    return int(text)
