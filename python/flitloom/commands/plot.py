"""``flitloom plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def command(
    file: Annotated[Path, typer.Argument(help="Rows of a sweep or campaign (.csv or .parquet).")],
    x: Annotated[str, typer.Option(help="Column along the horizontal axis.", metavar="COLUMN")],
    y: Annotated[str, typer.Option(help="Column along the vertical axis.", metavar="COLUMN")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture (.png, .pdf, .svg).")],
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column with a curve per value. May be repeated.", metavar="COLUMN"),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the picture.")] = "",
) -> None:
    """Draw columns of a table as curves: means over seeds, with bands from the least to the largest.

    \b
    For example:
      flitloom plot out.csv --x traffic.rate --y mean_latency --by router.buffer -o out.png
    """
    from flitloom.extras import check_picture

    check_picture(out, "--out")
    rows = _read(file)
    from flitloom.plots.curves import plot_curves

    plot_curves(rows, x, y, by or [], title=title, path=out)


def _read(file: Path) -> list[dict[str, Any]]:
    from flitloom.errors import SpecError
    from flitloom.extras import need

    try:
        if file.suffix == ".parquet":
            need("parquet", str(file))
            from pyarrow import ArrowInvalid, parquet

            try:
                rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
            except ArrowInvalid as error:
                raise SpecError(f"{file}: is no Parquet file: {error}") from None
        else:
            import csv

            with file.open(encoding="utf-8", newline="") as text:
                rows = list(csv.DictReader(text))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise SpecError(f"{file}: has no rows")
    return rows
