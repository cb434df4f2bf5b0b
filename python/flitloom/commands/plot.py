"""``flitloom plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands.screen import say
from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.extras import check_picture, need
from flitloom.ground.numerals import counted
from flitloom.ground.reading import opened


def command(
    file: Annotated[Path, typer.Argument(help="Rows of a sweep or campaign (.csv or .parquet).")],
    x: Annotated[
        str,
        typer.Option(help="Column along the horizontal axis, e.g. traffic.rate or rate.", metavar="COLUMN"),
    ],
    y: Annotated[
        str,
        typer.Option(help="Column along the vertical axis, e.g. latency.", metavar="COLUMN"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The picture (.png, .pdf, .svg).",
            show_default="the file's name with .png",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Column with a curve per value, e.g. router.buffer. May be repeated.", metavar="COLUMN"
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the picture.")] = "",
) -> None:
    """Draw columns of a table as curves: means over seeds, with bands from the least to the largest.

    \b
    For example:
      flitloom plot out.csv --x traffic.rate --y latency --by router.buffer -o out.png
    """
    picture = file.with_suffix(".png") if out is None else out
    check_picture(picture, "--out")
    rows = _read(file)
    from flitloom.plots.curves import plot_curves

    plot_curves(rows, x, y, by or [], title=title or _common(rows, by or []), path=picture)
    say(f"wrote {picture}")


def _common(rows: list[dict[str, Any]], by: list[str]) -> str:
    """A title: what all rows of a file of ``flitloom load`` have in common."""
    from flitloom.load.cases import FIELDS, told

    names = [name for name in ("tables", "network", *FIELDS) if name in rows[0] and name not in by]
    return ", ".join(
        told(name, rows[0][name]) for name in names if len({str(row[name]) for row in rows}) == 1
    )


def _read(file: Path) -> list[dict[str, Any]]:
    import csv
    import io

    if file.suffix == ".parquet":
        rows = _read_parquet(file)
    else:
        with opened(file, limits.MATRIX_BYTES) as source:
            text = source.text()
        values = text.count(",") + text.count("\n")
        if values > limits.TABLE_VALUES:
            raise SpecError(
                f"{show_file(file)}: {counted(values, 'value')}; at most {limits.TABLE_VALUES} are read"
            )
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True))
        except csv.Error as error:
            raise SpecError(f"{show_file(file)}: is not a CSV table: {error}") from None
    if not rows:
        raise SpecError(f"{show_file(file)}: has no rows")
    return rows


def _read_parquet(file: Path) -> list[dict[str, Any]]:
    import io

    name = show_file(file)
    need("parquet", name)
    from pyarrow import ArrowException, parquet

    with opened(file, limits.MATRIX_BYTES) as source:
        content = io.BytesIO(source.content())
    try:
        table = parquet.ParquetFile(content)
        about = table.metadata
        size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        values = about.num_rows * about.num_columns
        if size > limits.MATRIX_BYTES or values > limits.TABLE_VALUES:
            raise SpecError(
                f"{name}: {counted(values, 'value')} of {counted(size, 'byte')}; at most "
                f"{limits.TABLE_VALUES} values and "
                f"{limits.MATRIX_BYTES} bytes are read"
            )
        rows: list[dict[str, Any]] = table.read().to_pylist()
    except (ArrowException, OSError, ValueError, KeyError) as error:
        raise SpecError(f"{name}: is not a Parquet file: {str(error)[:200]}") from None
    return rows
