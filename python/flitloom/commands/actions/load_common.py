"""What the verbs of ``flitloom load`` do alike, whatever is loaded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import typer

from flitloom import interrupts, ranks
from flitloom.commands import options, screen
from flitloom.errors import SpecError
from flitloom.sweep import read_values


def check_outputs(
    out: Path | None, plot: Path | None, endings: tuple[str, ...] = (".csv", ".nc")
) -> tuple[Path | None, Path | None]:
    """Refuse files that cannot be written before any work is done; those that this process is to write."""
    options.check_files(out, endings, plot)
    return (out, plot) if ranks.speaks() else (None, None)


def progress(what: str, runs: int, unit: str = "cycles") -> AbstractContextManager[screen.Progress]:
    """How many of so many ramps, steps and so on are done; of a single one, how much of it in its unit.

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


def end_interrupted(interrupted: bool, finished: int, count: int) -> None:
    """Say after Ctrl-C what is finished, and end with its exit code."""
    if interrupted:
        interrupts.tell(f"interrupted: {finished} of {count} simulations are finished")
        raise typer.Exit(interrupts.INTERRUPTED)
