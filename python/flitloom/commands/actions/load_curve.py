"""What ``flitloom load curve`` does with an experiment."""

from __future__ import annotations

from typing import Any

from flitloom.analysis.utilisation import UNDECIDED
from flitloom.commands import pictures, screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.actions.load_points import run_points
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.load_curve import Asked
from flitloom.errors import SpecError
from flitloom.load import bound_text, curve_rows, told, verdict


def run(asked: Asked) -> None:
    """Measure all cases at all loads, print the curves, and write what is asked for."""
    measured, ending = asked.measured, asked.points
    cases = shared.cases(measured.compared, measured.packets, measured.router)
    out, plot = load_common.check_outputs(ending.out, ending.plot)
    loads = load_common.read_rates(asked.rates, "--rates")
    if ending.store is not None and out is not None and out.suffix == ".nc":
        raise SpecError.at("--store", "it keeps rows, no windows", "write rows (.csv), or leave --store out")
    with load_common.stored(ending.store) as store:
        points, interrupted = run_points(
            cases, loads, measured.how, "point", ending.refine, store, ending.full_start
        )
    rows = curve_rows(points)
    written = load_common.marked(rows, interrupted, len(cases) * len(loads))
    if out is not None and rows:
        if out.suffix == ".nc":
            shared.write_series(out, points)
        else:
            write_rows(written, out)
    labels = len(cases[0].labels)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and rows and not interrupted:
        title = shared.common("Load and latency", cases)
        curves = _by_case(rows, labels)
        pictures.plot_load_curves(curves if len(curves) > 1 else {"": rows}, plot, title)
    if ending.json:
        screen.print_json(written)
    elif rows:
        _print_curve(rows, labels, loads, shared.are_closed(cases))
    load_common.end_interrupted(interrupted, len(rows), len(cases) * len(loads), ending.store)


def _by_case(rows: list[dict[str, Any]], labels: int) -> dict[str, list[dict[str, Any]]]:
    """The points by curve; what all curves have in common is not in their names."""
    names = list(rows[0])[:labels]
    differing = [name for name in names if len({row[name] for row in rows}) > 1]
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        called = ", ".join(told(name, row[name]) for name in differing or names[:1])
        curves.setdefault(called, []).append(row)
    return curves


def _print_curve(rows: list[dict[str, Any]], labels: int, loads: list[float], closed: bool) -> None:
    names = list(rows[0])[:labels]
    columns = [
        *names,
        "rate",
        "accepted",
        "latency",
        "+-",
        "median",
        "p95",
        "p99",
        "max",
        "in network" if "network" in names else "network",
        "starved",
    ]
    keys = ("median", "p95", "p99", "max", "network_latency", "starved")
    table = [
        [
            *(row[name] for name in names),
            row["rate"],
            row["accepted"],
            _latency(row),
            _interval(row),
            *(row[key] for key in keys),
        ]
        for row in rows
    ]
    screen.print_table(columns, table)
    for cause in dict.fromkeys(row["cause"] for row in rows if row["cause"]):
        screen.echo(cause)
    for name, points in _by_case(rows, labels).items():
        told = verdict(points, loads, closed=closed)
        if told["outcome"] == "incomplete":
            screen.echo(f"{name}: {told['text']}")
            continue
        screen.echo(f"{name} {told['text']}")
        screen.echo(f"  {points[0]['router']}; {bound_text(points[0])}")
    if any(_depends(row) for row in rows):
        screen.echo(
            "?: batches depend on each other, so the interval is too narrow; measure longer (--measure)"
        )


#: Correlation of neighbouring batches above which an interval is too narrow.
DEPENDENT = 0.4


def _depends(row: dict[str, Any]) -> bool:
    return row["correlation"] is not None and row["correlation"] > DEPENDENT


def _latency(row: dict[str, Any]) -> str:
    """The latency, or why there is none."""
    if row["latency"] is not None:
        return f"{row['latency']:.1f}"
    return "?" if row["verdict"] in (UNDECIDED, None) else row["verdict"]


def _interval(row: dict[str, Any]) -> str:
    return "" if row["confidence"] is None else f"{row['confidence']:.1f}{'?' * _depends(row)}"
