"""``flitloom load curve``, ``flitloom load saturation`` and ``flitloom load steady``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom._core import LIMITS
from flitloom.commands import load_options as shared
from flitloom.commands import options, screen
from flitloom.commands.options import grouped
from flitloom.errors import SpecError
from flitloom.outputs import write_csv

if TYPE_CHECKING:
    from flitloom.load import Case, Steady


@grouped
def curve(
    context: typer.Context,
    *,
    compared: shared.Compared,
    overrules: shared.Overrules = None,
    rates: shared.Rates = "0.02:0.4:0.02",
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    refine: shared.Refine = 0.05,
    json: options.Json = False,
    out: shared.Rows = None,
    plot: shared.Plot = None,
) -> None:
    """Measure the load-latency curve: steady states at rising loads, on all cores.

    Per load: warm-up as long as the network needs, a measured stretch, and the wait for its packets; accepted
    load, latency from generation (with a 95 % confidence interval) and percentiles, network latency from
    injection, and how evenly sources are served. Beyond saturation no latency is printed.
    Where a case saturates between two loads, those between them are measured too (--refine).
    A file of BookSim2 (.cfg, or its spec) runs as BookSim2 runs it, injection_rate being each of --rates.

    \b
    For example:
      flitloom load curve --torus 8x8 --pattern rand --rates 0.1:0.5:0.1
      flitloom load curve --torus 8x8,16x16 --pattern rand,bcmp --rates 0.05:0.3:0.05 --picture curve.png
      flitloom load curve mesh.cfg num_vcs=4 --rates 0.001:0.01:0.001
    """
    from flitloom.booksim import is_booksim
    from flitloom.load import curve_rows

    if compared.spec is not None and is_booksim(compared.spec):
        from flitloom.commands.inputs.booksim import curve_booksim

        curve_booksim(context, compared.spec, overrules or [], rates, refine, json, out, plot)
        return
    if overrules:
        raise SpecError.at(overrules[0], "belongs to a file of BookSim2", "give one that ends in .cfg")
    cases = shared.cases(compared, packets, router, measured.tables)
    out, plot = shared.check_outputs(out, plot)
    loads = shared.read_rates(rates, "--rates")
    points, interrupted = _run(cases, loads, measured, "point", refine)
    rows = curve_rows(points)
    written = shared.marked(rows, interrupted, len(cases) * len(loads))
    if out is not None and rows:
        if out.suffix == ".nc":
            shared.write_series(out, points)
        else:
            write_csv(list(written[0]), (row.values() for row in written), out)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and rows and not interrupted:
        from flitloom.plots.load import plot_load_curves

        plot_load_curves(_by_case(rows, len(cases[0].labels)), plot, shared.common("Load and latency", cases))
    if json:
        screen.print_json(written)
    elif rows:
        _print_curve(rows, len(cases[0].labels), loads, shared.are_closed(cases))
    shared.end_interrupted(interrupted, len(rows), len(cases) * len(loads))


@grouped
def steady(
    *,
    compared: shared.Compared,
    rate: shared.Rate = "0.1",
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    json: options.Json = False,
    out: shared.Series = None,
    plot: shared.Plot = None,
) -> None:
    """Measure one steady state, window by window: accepted load, latency, packets in flight, fairness.

    \b
    For example:
      flitloom load steady --torus 8x8 --pattern bcmp --rate 0.3
      flitloom load steady --torus 8x8 --pattern bcmp --rate 0.3,0.6 --picture steady.png --json
    """
    from flitloom.load import curve_rows

    cases = shared.cases(compared, packets, router, measured.tables)
    out, plot = shared.check_outputs(out, plot, (".nc",))
    loads = shared.read_rates(rate, "--rate")
    points, interrupted = _run(cases, loads, measured, "load")
    rows = curve_rows(points)
    if out is not None and rows:
        shared.write_series(out, points)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and rows and not interrupted:
        from flitloom.plots.load import plot_series

        named = {f"{case.name} {point.row['rate']:g}": point.series for case, point in points}
        plot_series(named, plot, title=shared.common("Steady state", cases))
    if json:
        screen.print_json(shared.marked(rows, interrupted, len(cases) * len(loads)))
    else:
        for row in rows:
            screen.print_fields({name: _told(name, value) for name, value in row.items()})
            screen.echo()
    shared.end_interrupted(interrupted, len(rows), len(cases) * len(loads))


@grouped
def saturation(
    *,
    compared: shared.Compared,
    within: shared.Within = 0.01,
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    json: options.Json = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write rows to this file (.csv).")] = None,
) -> None:
    """Find the load at which each case saturates, by bisection below the bound of its routing, on all cores.

    One row per case: the saturation, the latency just below it, and what the routing allows at most. The
    last line says what each case gains over the first one.

    \b
    For example:
      flitloom load saturation --torus 8x8 --pattern rand --routing do,ma --within 0.05
      flitloom load saturation --torus 8x8x8 --pattern rand --routing all --throttle all
      flitloom load saturation --tables before.json,after.json --pattern rand
    """
    from flitloom.load import compared as sentence
    from flitloom.load import run_saturation
    from flitloom.load.bounds import THROTTLED

    cases = shared.cases(compared, packets, router, measured.tables)
    out, _ = shared.check_outputs(out, None, (".csv",))
    workers, threads = shared.shared_out(measured.threads, len(cases))
    settings = measured.settings(workers, threads)
    steady = {"kind": "load", "cycles": LIMITS["start"], "rate": 1.0}
    shared.foretell_memory(((case, steady) for case in cases), workers)
    with shared.progress("case", len(cases), "points") as show:
        rows, interrupted = run_saturation(cases, within=within, **settings, progress=show)
    written = shared.marked(rows, interrupted, len(cases))
    if out is not None and rows:
        write_csv(list(written[0]), (row.values() for row in written), out)
    names = list(cases[0].labels)
    if json:
        screen.print_json(written)
    elif rows:
        columns = [*names, "saturation", "outcome", "latency", "bound", "bound_of"]
        screen.print_table(columns, [[row[name] for name in columns] for row in rows])
        for like in dict.fromkeys(row["router"].partition(THROTTLED)[0] for row in rows):
            screen.echo(like)
        # What is missing may be the first case, which the others are held against.
        if not interrupted and (told := sentence(rows, names)):
            screen.echo(told)
    shared.end_interrupted(interrupted, len(rows), len(cases))


def _run(
    cases: list[Case], loads: list[float], measured: shared.Measured, what: str, refine: float = 0.0
) -> tuple[list[tuple[Case, Steady]], bool]:
    """All cases at all loads, and whether Ctrl-C ended it before."""
    from flitloom.load import run_curve

    workers, threads = shared.shared_out(measured.threads, len(cases) * len(loads))
    settings = measured.settings(workers, threads)
    steady = {"kind": "load", "cycles": LIMITS["start"]}
    shared.foretell_memory(((case, {**steady, "rate": load}) for case in cases for load in loads), workers)
    # Nobody knows how often a warm-up will be doubled.
    unit = "cycles or more" if measured.warm_up is None else "cycles"
    with shared.progress(what, len(cases) * len(loads), unit) as show:
        return run_curve(cases, loads, **settings, refine=refine, progress=show)


def _told(name: str, value: Any) -> object:
    if name == "saturated":
        return "yes: latencies grow for good" if value else "no"
    return value


def _by_case(rows: list[dict[str, Any]], labels: int) -> dict[str, list[dict[str, Any]]]:
    """The points by curve; what all curves have in common is not in their names."""
    names = list(rows[0])[:labels]
    differing = [name for name in names if len({row[name] for row in rows}) > 1]
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        curves.setdefault(" ".join(str(row[name]) for name in differing or names[:1]), []).append(row)
    return curves


def _print_curve(rows: list[dict[str, Any]], labels: int, loads: list[float], closed: bool) -> None:
    from flitloom.load import bound_text, verdict

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
        "network",
        "starved",
    ]
    keys = ("median", "p95", "p99", "max", "network_latency", "starved")
    table = [
        [
            *(row[name] for name in names),
            row["rate"],
            row["accepted"],
            "saturated" if row["saturated"] else f"{row['latency']:.1f}",
            _interval(row),
            *(row[key] for key in keys),
        ]
        for row in rows
    ]
    screen.print_table(columns, table)
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


def _interval(row: dict[str, Any]) -> str:
    return "" if row["confidence"] is None else f"{row['confidence']:.1f}{'?' * _depends(row)}"
