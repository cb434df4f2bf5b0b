"""What ``flitloom validate load`` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import typer

from flitloom.commands import screen
from flitloom.ground import interrupts
from flitloom.load.known import KNOWN, WIDTHS, Compared, compare_known
from flitloom.load.running import run_all
from flitloom.load.validation import Held, hold

Made = TypeVar("Made")


def run(cases: int, seed: int, known: bool, json: bool) -> None:
    """Compare saturations with long runs, or with limits that another program measured."""
    if known:
        compared = _all(compare_known, len(KNOWN))
        _end(_print_known, compared, json, [one for one in compared if not one.agrees])
    else:
        found = _all(partial(hold, seed=seed), cases)
        _end(_print_held, found, json, [held for held in found if held.wrong])


def _all(work: Callable[[int], Made], count: int) -> list[Made]:
    """What comes of all cases, on all cores; after Ctrl-C nothing is said of those that are finished."""
    with screen.progress("cases") as told:
        made, interrupted = run_all(work, [(number,) for number in range(count)], progress=told)
    found = [one for one in made if one is not None]
    if interrupted:
        interrupts.tell(f"interrupted: {len(found)} of {count} cases are finished")
        raise typer.Exit(interrupts.INTERRUPTED)
    return found


def _end(show: Callable[[Any], None], found: Sequence[Any], json: bool, wrong: Sequence[Any]) -> None:
    if json:
        screen.print_json([one.fields() for one in found])
    else:
        show(found)
    if wrong:
        raise typer.Exit(1)


def _print_held(found: Sequence[Held]) -> None:
    wrong = [held for held in found if held.wrong]
    for held in wrong:
        problems = "; ".join(held.wrong)
        screen.echo(f"case {held.number}, {held.name}: saturation {held.saturation:g}: {problems}")
    outcomes = Counter(held.outcome for held in found)
    screen.echo(", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common()))
    loads = sum(held.checked for held in found)
    screen.echo(f"wrong: {len(wrong)} of {len(found)} cases, {loads} loads")


def _print_known(found: Sequence[Compared]) -> None:
    columns = ["setting", "limit", "+-", "saturation", "+-", "outcome", "runs"]
    names = ("name", "limit", "limit_error", "saturation", "half_width", "outcome", "points")
    screen.print_table(columns, [[getattr(one, name) for name in names] for one in found])
    agree = sum(one.agrees for one in found)
    screen.echo(f"within {WIDTHS} half widths: {agree} of {len(found)}")
