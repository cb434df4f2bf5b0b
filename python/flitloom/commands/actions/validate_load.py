"""What ``flitloom validate load`` does."""

from __future__ import annotations

from collections import Counter
from functools import partial

import typer

from flitloom.commands import screen
from flitloom.load.running import run_all
from flitloom.load.validation import hold


def run(cases: int, seed: int, json: bool) -> None:
    """Hold the saturations of drawn cases against long runs, and print what is wrong."""
    with screen.progress("cases") as told:
        made, _ = run_all(partial(hold, seed=seed), [(number,) for number in range(cases)], progress=told)
    found = [held for held in made if held is not None]
    wrong = [held for held in found if held.wrong]
    if json:
        screen.print_json([held.fields() for held in found])
    else:
        for held in wrong:
            problems = "; ".join(held.wrong)
            screen.echo(f"case {held.number}, {held.name}: saturation {held.saturation:g}: {problems}")
        outcomes = Counter(held.outcome for held in found)
        screen.echo(", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common()))
        loads = sum(held.checked for held in found)
        screen.echo(f"wrong: {len(wrong)} of {len(found)} cases, {loads} loads")
    if wrong:
        raise typer.Exit(1)
