"""What ``flitloom load saturation`` does."""

from __future__ import annotations

from typing import Any

from flitloom._core import LIMITS
from flitloom.commands import screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.load_curve import Measured, Rows
from flitloom.load import compared as sentence
from flitloom.load import run_saturation
from flitloom.load.bounds import THROTTLED


def run(measured: Measured, within: float, ending: Rows) -> None:
    """Find where all cases saturate, print it, and write what is asked for."""
    cases = shared.cases(measured.compared, measured.packets, measured.router)
    out, _ = load_common.check_outputs(ending.out, None, (".csv",))
    workers, threads = shared.shared_out(measured.how.threads, len(cases))
    settings = measured.how.settings(workers, threads)
    steady = {"kind": "load", "cycles": LIMITS["start"], "rate": 1.0}
    shared.foretell_memory(((case, steady) for case in cases), workers)
    with load_common.progress("case", len(cases), "points") as show:
        rows, interrupted = run_saturation(cases, within=within, **settings, progress=show)
    written = load_common.marked(rows, interrupted, len(cases))
    if out is not None and rows:
        write_rows(written, out)
    names = list(cases[0].labels)
    if ending.json:
        screen.print_json(written)
    elif rows:
        _print(rows, names, interrupted)
    load_common.end_interrupted(interrupted, len(rows), len(cases))


def _print(rows: list[dict[str, Any]], names: list[str], interrupted: bool) -> None:
    columns = [*names, "saturation", "outcome", "latency", "bound", "bound_of"]
    screen.print_table(columns, [[row[name] for name in columns] for row in rows])
    for like in dict.fromkeys(row["router"].partition(THROTTLED)[0] for row in rows):
        screen.echo(like)
    # What is missing may be the first case, which the others are held against.
    if not interrupted and (told := sentence(rows, names)):
        screen.echo(told)
