"""Rows of many results in files: CSV or Parquet."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any

from flitloom.extras import need
from flitloom.outputs import check_output, write_bytes, write_csv


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
