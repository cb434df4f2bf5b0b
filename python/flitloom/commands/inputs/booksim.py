"""A file of BookSim2, or a spec for its router."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flitloom.booksim import Options, Outcome, is_booksim, read_options, run
from flitloom.booksim.curves import run_curve
from flitloom.booksim.printing import lines
from flitloom.booksim.results import results
from flitloom.commands import load_options, pictures, screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.convert import Asked as Converted
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.load_curve import Asked as Curve
from flitloom.commands.load_curve import Points
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError
from flitloom.load import verdict
from flitloom.outputs import check_output, write_csv, write_text

#: Columns of the table.
_COLUMNS = {
    "packets": "packets",
    "packet_latency": "packet latency [cycles]",
    "network_latency": "network latency [cycles]",
    "flit_latency": "flit latency [cycles]",
    "hops": "hops",
    "accepted": "accepted [flits/node/cycle]",
}


def simulate(asked: Simulated) -> None:
    """Run the file, and print the result as ours or as BookSim2 does."""
    assert asked.file is not None
    if asked.printed.json and asked.printed.as_booksim:
        raise SpecError("--booksim, --json: print different things; give one of them")
    options = _read(asked.file, asked.overrules)
    limit = int(options["max_samples"]) if options["max_samples"].isdigit() else 0
    samples = 0
    with screen.progress("samples") as told:

        def seen(event: dict[str, Any], _: int) -> None:
            nonlocal samples
            samples += event["kind"] == "sample"
            told(min(samples, limit), limit)

        outcome = run(options, seen=seen)
    if asked.printed.as_booksim:
        for line in lines(outcome.events):
            screen.echo(line)
        for line in results(outcome.events, options) if options.prints_results else ():
            screen.echo(line)
    else:
        _print(outcome, asked.printed.json)
    if outcome.outcome == "unstable":
        screen.say(
            "the mean latency passed latency_thres: the offered load is beyond saturation; lower "
            "injection_rate, or raise latency_thres if the network is slow and not full"
        )


def _print(outcome: Outcome, json: bool) -> None:
    """Print the result."""
    if json:
        classes = [
            {name: None if math.isnan(value) else value for name, value in facts.items()}
            for facts in outcome.classes
        ]
        screen.print_json({"outcome": outcome.outcome, "cycles": outcome.cycles, "classes": classes})
    else:
        rows = [[int(facts["class"]), *(facts[name] for name in _COLUMNS)] for facts in outcome.classes]
        screen.print_fields({"outcome": outcome.outcome, "cycles": outcome.cycles})
        screen.print_table(["class", *_COLUMNS.values()], rows)


def _read(file: Path, changes: Sequence[str]) -> Options:
    """Read a file, and say what surprises in it."""
    options = read_options(file, changes)
    for warning in options.warnings:
        screen.say(f"warning: {warning}")
    return options


def convert(asked: Converted) -> None:
    """Write a file of BookSim2 as a spec, or a spec as such a file."""
    source, target = asked.source, asked.target
    check_output(target, (".toml", ".cfg"), "TARGET")
    options = _read(source, [])
    write_text(target, options.spec() if target.suffix == ".toml" else options.text())


#: Columns of a curve.
_POINTS = {"rate": "injection_rate", "offered": "offered [flits/node/cycle]", **_COLUMNS}


def curve(asked: Curve) -> None:
    """Run a file of BookSim2 at several rates, and print the curve."""
    file, ending = asked.measured.compared.spec, asked.points
    assert file is not None
    out, plot = shared.check_outputs(ending.out, ending.plot, (".csv",))
    loads = shared.read_rates(asked.rates, "--rates")
    options, threads = _read(file, asked.overrules), asked.measured.how.threads
    with shared.progress("run", len(loads), "runs") as show:
        rows, interrupted = run_curve(options, loads, refine=ending.refine, workers=threads, progress=show)
    written = shared.marked(rows, interrupted, len(loads))
    if out is not None and rows:
        write_csv(list(written[0]), (row.values() for row in written), out)
    if plot is not None and rows and not interrupted:
        _plot(rows, plot, file.name)
    if ending.json:
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
    pictures.plot_load_curves(curves if len(curves) > 1 else {"": next(iter(curves.values()))}, plot, name)


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


_CURVED = names_of(Points, "rates", "threads")
_WRITTEN_BEHIND = Refusal.plain(
    names_of(load_options.Compared, load_options.Packets, load_options.Router, load_options.Measured)
    - _CURVED,
    "{option} does not go with a file of BookSim2; write NAME=VALUE behind the file",
)
INPUT = Input(
    title="a file of BookSim2",
    given="give one that ends in .cfg",
    sniff=is_booksim,
    uses={
        "simulate": Use(
            simulate,
            names_of("json", "as_booksim", "overrules"),
            otherwise="write NAME=VALUE behind the file",
        ),
        "convert": Use(convert),
        "load curve": Use(curve, _CURVED | {"overrules"}, (_WRITTEN_BEHIND,)),
    },
)
