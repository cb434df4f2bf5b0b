"""What verbs share on the screen: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from flitloom.errors import FlitloomError, remarks
from flitloom.ground import interrupts, settings
from flitloom.ground.numerals import counted

if TYPE_CHECKING:
    from flitloom.run.outlook import TimeLine

Progress = Callable[[int, int], None]


class ReaderLeftError(Exception):
    """The reader of standard output has closed it."""


def echo(text: str = "") -> None:
    """Print a line of data.

    Raises
    ------
    FlitloomError
        Standard output is closed, or what it goes to is full.
    """
    if sys.stdout is None:
        raise FlitloomError("standard output: cannot be written: it is closed")
    try:
        typer.echo(text)
    except BrokenPipeError:
        raise ReaderLeftError from None
    except OSError as error:
        raise FlitloomError(f"standard output: cannot be written: {error.strerror or error}") from None


@contextmanager
def report() -> Iterator[None]:
    """A report whose verdict stands, and is acted on, whether or not its reader stays to the end."""
    with suppress(ReaderLeftError):
        yield


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    echo(json.dumps(value, indent=2, allow_nan=False))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[bool] | None = None
) -> None:
    """Print aligned columns: text to the left, numbers to the right, unless `right` says which are which."""
    table = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(columns, *table, strict=True)]
    numeric = right or [
        bool(rows) and all(value is None or isinstance(value, int | float) for value in column)
        for column in (zip(*rows, strict=True) if rows else [()] * len(columns))
    ]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return "  ".join(aligned).rstrip()

    echo(line(columns))
    echo("  ".join("-" * width for width in widths))
    for cells in table:
        echo(line(cells))


def print_rows(rows: Sequence[Mapping[str, object]], as_json: bool = False) -> None:
    """Print rows of equal names as a table, or as JSON."""
    if as_json:
        print_json(list(rows))
    elif rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows])


def print_fields(fields: dict[str, object]) -> None:
    """Print names and values, one pair a line."""
    width = max(map(len, fields))
    for name, value in fields.items():
        echo(f"{name.ljust(width)}  {_cell(value)}")


def say(message: str) -> None:
    """Tell the user something that is not data, unless only errors are wanted."""
    if settings.get("verbosity") != "quiet":
        _tell(message)


@contextmanager
def notes() -> Iterator[None]:
    """Print what is remarked while files are read, each remark once."""
    said: set[str] = set()

    def note(remark: str) -> None:
        if remark not in said:
            said.add(remark)
            say(f"note: {remark}")

    with remarks.heard(note):
        yield


def shows_progress() -> bool:
    """Whether somebody watches, and wants to be told more than errors."""
    return settings.get("verbosity") != "quiet" and sys.stderr.isatty()


def _tell(message: str) -> None:
    # A standard error that is full or closed is no reason to lose the work.
    with suppress(OSError):
        typer.echo(message, err=True)


def complain(message: str) -> None:
    """Tell the user what is wrong."""
    _tell(f"error: {message}")


def foretell_memory(needs: Iterable[int], side_by_side: int | None = 1) -> None:
    """Say how many bytes this many simulations at once need, if that is much.

    Parameters
    ----------
    needs : iterable of int
        Bytes that each needs.
    side_by_side : int, optional
        How many run at once; without it as many as there are cores.
    """
    from flitloom.ground.workers import usable_cores
    from flitloom.run.outlook import memory_line

    largest = sorted(needs, reverse=True)[: side_by_side or usable_cores()]
    if line := memory_line(sum(largest), settings.get("memory_from")):
        say(line if len(largest) == 1 else f"{line} for {counted(len(largest), 'simulation')} side by side")


@contextmanager
def progress(label: str, unit: str = "") -> Iterator[Progress]:
    """A function that shows how many of how many are done, on a terminal and if it takes a while.

    How long the rest of a long run will take is said once, on any standard error, in a unit or in what the
    label says.
    """
    with several_progresses({label: unit or label}) as show:
        yield lambda done, total: show(label, done, total)


@contextmanager
def several_progresses(units: Mapping[str, str] | None = None) -> Iterator[Callable[[str, int, int], None]]:
    """As `progress`, for several things: the function takes the label of one, done and total.

    Labels say what is counted, where `units` do not.
    """
    lines: dict[str, TimeLine] = {}

    def foretell(label: str, done: int, total: int) -> None:
        if label not in lines:
            from flitloom.run.outlook import TimeLine

            lines[label] = TimeLine(say, settings.get("time_from"))
        lines[label](done, total, (units or {}).get(label, label))

    if not shows_progress():
        yield foretell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}
    most: dict[tuple[str, int], int] = {}
    begin = time.monotonic()
    started = False

    def show(label: str, done: int, total: int) -> None:
        nonlocal started
        # Another attempt at the same thing takes nothing back.
        done = most[label, total] = max(done, most.get((label, total), 0))
        foretell(label, done, total)
        if label not in tasks:
            tasks[label] = bar.add_task(label, total=total)
        if not started and time.monotonic() - begin > settings.get("progress_after"):
            with interrupts.later():
                bar.start()
                started = True
        bar.update(tasks[label], completed=done, total=total)

    try:
        yield show
    finally:
        if started:
            bar.stop()


def follow(text: str) -> None:
    """Let a line on the terminal say how a search goes, instead of what it said before."""
    with suppress(OSError):
        typer.echo(f"\r{text}\033[K", err=True, nl=False)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)
