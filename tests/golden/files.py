"""The golden files: one line of JSON per entry, sorted as in the catalogue, a file per group."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from golden import kinds
from golden.catalogue import Entry

FOLDER = Path(__file__).parent


def file_of(group: str) -> Path:
    return FOLDER / f"{group.replace(' ', '-')}.jsonl"


def key(entry: Entry) -> str:
    """An entry as a text that is its own."""
    return json.dumps([entry[1], entry[2]])


def read(group: str) -> dict[str, kinds.Facts]:
    """What is written down of a group, by entry."""
    file = file_of(group)
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {json.dumps([kind, arguments]): facts for kind, arguments, facts in rows}


def write(group: str, entries: list[Entry], found: dict[str, kinds.Facts]) -> None:
    """Write a group anew."""
    rows = [[entry[1], entry[2], found[key(entry)]] for entry in entries if entry[0] == group]
    file_of(group).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _facts(entry: Entry) -> kinds.Facts:
    return kinds.plain(kinds.facts(entry[1], entry[2]))


def computed(entries: list[Entry], processes: int | None = None) -> Iterator[tuple[Entry, Any]]:
    """What comes of entries now, several at a time."""
    with ProcessPoolExecutor(processes or os.cpu_count()) as pool:
        yield from zip(entries, pool.map(_facts, entries, chunksize=4), strict=True)
