"""Files of BookSim2 on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flitloom.commands import load_options as shared
from flitloom.commands import options as given
from flitloom.commands import screen

if TYPE_CHECKING:
    from flitloom.booksim import Options

#: Columns of the table.
_COLUMNS = {
    "packets": "packets",
    "packet_latency": "packet latency [cycles]",
    "network_latency": "network latency [cycles]",
    "flit_latency": "flit latency [cycles]",
    "hops": "hops",
    "accepted": "accepted [flits/node/cycle]",
}


def simulate_booksim(file: Path, changes: Sequence[str], as_booksim: bool, json: bool) -> None:
    """Run a file of BookSim2, and print the result as ours or as BookSim2 does."""
    from flitloom.booksim import run
    from flitloom.booksim.printing import lines

    options = _read(file, changes)
    limit = int(options["max_samples"]) if options["max_samples"].isdigit() else 0
    samples = 0
    with screen.progress("samples") as told:

        def seen(event: dict[str, Any], _: int) -> None:
            nonlocal samples
            samples += event["kind"] == "sample"
            told(min(samples, limit), limit)

        outcome = run(options, seen=seen)
    if as_booksim:
        for line in lines(outcome.events):
            screen.echo(line)
    elif json:
        classes = [
            {name: None if math.isnan(value) else value for name, value in facts.items()}
            for facts in outcome.classes
        ]
        screen.print_json({"outcome": outcome.outcome, "cycles": outcome.cycles, "classes": classes})
    else:
        rows = [[int(facts["class"]), *(facts[name] for name in _COLUMNS)] for facts in outcome.classes]
        screen.print_fields({"outcome": outcome.outcome, "cycles": outcome.cycles})
        screen.print_table(["class", *_COLUMNS.values()], rows)
    if outcome.outcome == "unstable":
        screen.say(
            "the mean latency passed latency_thres: the offered load is beyond saturation; lower "
            "injection_rate, or raise latency_thres if the network is slow and not full"
        )


def _read(file: Path, changes: Sequence[str]) -> Options:
    """Read a file, and say what surprises in it."""
    from flitloom.booksim import read_options

    options = read_options(file, changes)
    for warning in options.warnings:
        screen.say(f"warning: {warning}")
    return options


def convert_booksim(source: Path, target: Path) -> None:
    """Write a file of BookSim2 as a spec, or a spec as such a file."""
    from flitloom.outputs import check_output, write_text

    check_output(target, (".toml", ".cfg"), "TARGET")
    options = _read(source, [])
    write_text(target, options.spec() if target.suffix == ".toml" else options.text())


#: Columns of a curve.
_POINTS = {"rate": "injection_rate", "offered": "offered [flits/node/cycle]", **_COLUMNS}


def curve_booksim(
    context: typer.Context,
    file: Path,
    changes: Sequence[str],
    rates: str,
    refine: float,
    json: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Run a file of BookSim2 at several rates, and print the curve."""
    from flitloom.booksim.curves import run_curve
    from flitloom.load import verdict
    from flitloom.outputs import write_csv

    taken = {"rates", "refine", "json", "out", "plot", "threads"}
    ignored = [name for name in given.typed(context) if name not in taken]
    given.refuse(context, ignored, "does not go with a file of BookSim2; write NAME=VALUE behind the file")
    out, plot = shared.check_outputs(out, plot, (".csv",))
    loads = shared.read_rates(rates, "--rates")
    options = _read(file, changes)
    threads = context.params["threads"]
    with shared.progress("run", len(loads), "runs") as show:
        rows, interrupted = run_curve(options, loads, refine=refine, workers=threads, progress=show)
    written = shared.marked(rows, interrupted, len(loads))
    if out is not None and rows:
        write_csv(list(written[0]), (row.values() for row in written), out)
    if plot is not None and rows and not interrupted:
        _plot(rows, plot, file.name)
    if json:
        screen.print_json(written)
    elif rows:
        table = [
            [row["class"], *(row[name] for name in _POINTS), "unstable" if row["saturated"] else "stable"]
            for row in rows
        ]
        screen.print_table(["class", *_POINTS.values(), "outcome"], table)
        screen.echo(_verdict(verdict(rows, loads)))
        bound = rows[0]["bound"]
        if bound is not None:
            screen.echo(f"the fullest link allows an injection_rate of at most {bound:.4g}")
    shared.end_interrupted(interrupted, len({row["rate"] for row in rows}), len(loads))


def _plot(rows: Sequence[Mapping[str, Any]], plot: Path, name: str) -> None:
    """Draw a curve per class over the offered load."""
    from flitloom.plots.load import plot_load_curves

    curves: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        bound = row["bound"] and row["bound"] * row["offered"] / row["rate"]
        curves.setdefault(f"class {row['class']}", []).append(
            {
                "rate": row["offered"],
                "latency": row["packet_latency"],
                "confidence": None,
                "accepted": row["accepted"],
                "bound": bound,
                "bound_of": "the fullest link",
            }
        )
    plot_load_curves(curves if len(curves) > 1 else {"": next(iter(curves.values()))}, plot, name)


def _verdict(found: Mapping[str, Any]) -> str:
    """Where a file becomes unstable, in a sentence."""
    match found["outcome"]:
        case "between":
            return f"becomes unstable between injection_rate {found['below']:g} and {found['above']:g}"
        case "not reached":
            return f"is stable up to injection_rate {found['below']:g}; try higher rates"
        case "below":
            return f"is unstable at injection_rate {found['above']:g} already; try lower rates"
    return "not all rates were run: no verdict"
