"""Many results: kept in a store after Ctrl-C, and rows of them in files, CSV or Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import screen
from flitloom.ground import interrupts
from flitloom.ground.extras import need
from flitloom.ground.outputs import check_output, write_bytes, write_csv
from flitloom.jobs import Store


def check_rows(out: Path) -> None:
    """Refuse a file that rows cannot be written to."""
    check_output(out, (".csv", ".parquet"), "--out")
    if out.suffix == ".parquet":
        need("parquet", "--out *.parquet")


def write_rows(rows: list[dict[str, Any]], out: Path) -> None:
    """Write rows of equal names, at least one, as the ending of the file says."""
    if out.suffix != ".parquet":
        write_csv(list(rows[0]), (row.values() for row in rows), out)
        return
    image = io.BytesIO()
    table = import_module("pyarrow").Table.from_pylist(rows)
    import_module("pyarrow.parquet").write_table(table, image)
    write_bytes(out, image.getbuffer())


@contextmanager
def kept(results: Store, identifiers: Sequence[str], what: str) -> Iterator[screen.Progress]:
    """The progress of a block that fills a store; after Ctrl-C says how much of it is kept, and ends.

    Parameters
    ----------
    results : Store
        What is finished.
    identifiers : sequence of str
        All that is asked for.
    what : str
        What these are, e.g. searches.
    """
    try:
        with interrupts.keeping(), screen.progress(what) as show:
            yield show
    except KeyboardInterrupt:
        interrupts.kept()
        finished = results.finished()
        count = sum(one in finished for one in identifiers)
        interrupts.tell(f"interrupted: {count} of {len(identifiers)} {what} are finished and kept")
        raise typer.Exit(interrupts.INTERRUPTED) from None
