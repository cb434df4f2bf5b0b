"""What the verbs of ``flitloom load`` do alike, whatever is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError
from flitloom.ground import interrupts, ranks
from flitloom.ground.outputs import check_output
from flitloom.jobs import Store
from flitloom.sweep import read_values


def check_outputs(
    out: Path | None, plot: Path | None, endings: tuple[str, ...] = (".csv", ".nc")
) -> tuple[Path | None, Path | None]:
    """Refuse files that cannot be written before any work is done; those that this process is to write."""
    options.check_files(out, endings, plot)
    return (out, plot) if ranks.speaks() else (None, None)


def progress(what: str, runs: int, unit: str = "cycles") -> AbstractContextManager[screen.Progress]:
    """How many of all ramps, steps and so on are done; of a single one, how much of it in its unit.

    Ranks do one after the other, and tell of each.

    Examples
    --------
    >>> with progress("ramp", 1) as show:
    ...     show(100, 200)
    """
    if runs == 1 or ranks.started() > 1:
        return screen.progress(f"{what} ({unit})", unit)
    return screen.progress(f"{what}s")


def read_rates(text: str, place: str) -> list[float]:
    """Offered loads from a list or a range."""
    rates = []
    for value in read_values(text, place):
        if isinstance(value, bool | str) or not 0 < value <= 1:
            raise SpecError(
                f"{place}: {value} is not a load; it must be above 0 and at most 1 flits/node/cycle"
            )
        rates.append(float(value))
    return rates


def marked(rows: list[dict[str, Any]], interrupted: bool, count: int) -> list[dict[str, Any]]:
    """The rows for files and JSON; after Ctrl-C each says how much of what was asked for there is."""
    stopped = {"stopped": f"{len(rows)} of {count} simulations are finished"} if interrupted else {}
    return [{**row, **stopped} for row in rows]


@contextmanager
def stored(file: Path | None) -> Iterator[Store | None]:
    """The store of finished simulations, if there is to be one.

    Raises
    ------
    SpecError
        It cannot be used, or several ranks would write it.
    """
    if file is None:
        yield None
        return
    if ranks.started() > 1:
        raise SpecError.at("--store", "one process writes it, and there are several ranks", "leave it out")
    store = Store(check_output(file, place="--store").absolute())
    try:
        yield store
    finally:
        store.close()


def end_interrupted(interrupted: bool, finished: int, count: int, store: Path | None = None) -> None:
    """Say after Ctrl-C what is finished, and end with its exit code."""
    if interrupted:
        where = "" if store is None else f" and kept in {store}"
        interrupts.tell(f"interrupted: {finished} of {count} simulations are finished{where}")
        raise typer.Exit(interrupts.INTERRUPTED)
