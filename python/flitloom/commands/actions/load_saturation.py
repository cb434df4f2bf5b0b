"""What ``flitloom load saturation`` does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from flitloom._core import LIMITS
from flitloom.commands import screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.load_curve import Saturated
from flitloom.errors import SpecError
from flitloom.load import Case, run_saturation, told
from flitloom.load import compared as sentence
from flitloom.load.bounds import THROTTLED
from flitloom.load.comparison import Shape, shape_of


def run(asked: Saturated) -> None:
    """Find where all cases saturate, print it, and write what is asked for."""
    measured, within, level, ending = asked.measured, asked.within, asked.level, asked.rows
    cases = shared.cases(measured.compared, measured.packets, measured.router)
    out, _ = load_common.check_outputs(ending.out, None, (".csv",))
    workers, threads = shared.shared_out(measured.how.threads, len(cases))
    settings = measured.how.settings(workers, threads)
    steady = {"kind": "load", "cycles": LIMITS["start"], "rate": 1.0}
    shared.foretell_memory(((case, steady) for case in cases), workers)
    with (
        load_common.stored(ending.store) as store,
        load_common.progress("case", len(cases), "points") as show,
    ):
        rows, interrupted = run_saturation(
            cases,
            within=within,
            level=level,
            full_starts=ending.full_start,
            **settings,
            progress=show,
            store=store,
        )
    written = load_common.marked(rows, interrupted, len(cases))
    if out is not None and rows:
        write_rows(written, out)
    if ending.json:
        screen.print_json(written)
    elif rows:
        _print(rows, list(cases[0].labels), level, ending.full_start)
        # What is missing may be the first case, which the others are held against.
        if not interrupted and (told := sentence(rows, list(cases[0].labels), _shapes(cases))):
            screen.echo(told)
    load_common.end_interrupted(interrupted, len(rows), len(cases), ending.store)


def _shapes(cases: Sequence[Case]) -> list[Shape | None]:
    """The networks of the cases; none of those that cannot be."""
    shapes: list[Shape | None] = []
    for case in cases:
        shapes.append(None)
        with suppress(SpecError):
            shapes[-1] = shape_of(case.experiment(kind="load", rate=1.0, cycles=1).topology)
    return shapes


#: A plateau below this share of the load just below saturation is no noise.
TIPS = 0.98
#: Columns by the names of fields, where they differ.
_CALLED = {"worst_node": "worst source", "full_start": "full start"}


def _print(rows: list[dict[str, Any]], names: list[str], level: float | None, full: bool) -> None:
    called = "saturation" if level is None else f"critical load ({100 * level:g} % level)"
    keys = ["outcome", "worst_node", "latency", "plateau", "bound", "bound_of"]
    if full:
        keys.insert(keys.index("bound"), "full_start")
    columns = [*names, called, *(_CALLED.get(name, name) for name in keys)]
    screen.print_table(
        columns,
        [[*(row[name] for name in names), interval(row), *(row[key] for key in keys)] for row in rows],
    )
    for like in dict.fromkeys(row["router"].partition(THROTTLED)[0] for row in rows if row["router"]):
        screen.echo(like)
    for row in rows:
        if row["cause"] is not None:
            screen.echo(f"{_case(row, names)}: {row['cause']}")
    less = [] if full else [row for row in rows if tips(row)]
    if less:
        cases = "; ".join(f"{_case(row, names)} ({row['plateau']:.3g})" for row in less)
        screen.echo(f"Beyond saturation less is accepted than below it: {cases}.")
        cycles = max(row["run_cycles"] for row in less)
        screen.echo(
            f"Such a network may collapse after more cycles than were run ({cycles}), and after a burst "
            "above that load, source queues may stay full. "
            "--full-start finds the largest load at which they empty."
        )


def _case(row: dict[str, Any], names: list[str]) -> str:
    """What a row is of."""
    return ", ".join(told(name, row[name]) for name in names)


def tips(row: dict[str, Any]) -> bool:
    """Whether less is accepted beyond saturation than below it, so that full source queues stay full.

    >>> tips({"plateau": 0.293, "below": 0.312}), tips({"plateau": 0.42, "below": 0.402})
    (True, False)
    """
    return None not in (row["plateau"], row["below"]) and row["plateau"] < TIPS * row["below"]


def interval(row: dict[str, Any]) -> str | None:
    """The saturation with half its interval, in as many digits as that has.

    >>> interval({"saturation": 0.40412, "half_width": 0.00163}), interval({"saturation": None})
    ('0.404 +- 0.002', None)
    """
    if row["saturation"] is None:
        return None
    digits = max(3, -math.floor(math.log10(row["half_width"]))) if row["half_width"] else 4
    return f"{row['saturation']:.{digits}f} +- {row['half_width'] or 0:.{digits}f}"
