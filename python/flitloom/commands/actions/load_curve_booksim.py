"""What ``flitloom load curve`` does with a file of BookSim2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flitloom.analysis.utilisation import GROWING, STEADY
from flitloom.commands import pictures, screen
from flitloom.commands.actions import load_common as shared
from flitloom.commands.actions.rows import write_rows
from flitloom.commands.inputs.booksim import COLUMNS, read
from flitloom.commands.load_curve import Asked
from flitloom.load.booksim_curves import run_curve
from flitloom.load.verdicts import verdict

#: Whose verdict it is.
JUDGE = "BookSim2's own verdict, by its latencies"
#: Columns of a curve.
_POINTS = {"rate": "injection_rate", "offered": "offered [flits/node/cycle]", **COLUMNS}


def run(asked: Asked) -> None:
    """Run a file of BookSim2 at several rates, and print the curve."""
    file, ending = asked.measured.compared.spec, asked.points
    assert file is not None
    out, plot = shared.check_outputs(ending.out, ending.plot, (".csv",))
    loads = shared.read_rates(asked.rates, "--rates")
    options, threads = read(file, asked.overrules), asked.measured.how.threads
    with shared.progress("run", len(loads), "runs") as show:
        rows, interrupted = run_curve(options, loads, refine=ending.refine, workers=threads, progress=show)
    written = shared.marked(rows, interrupted, len(loads))
    if out is not None and rows:
        write_rows(written, out)
    if plot is not None and rows and not interrupted:
        _plot(rows, plot, file.name)
    if ending.json:
        screen.print_json(written)
    elif rows:
        table = [
            [
                row["class"],
                *(row[name] for name in _POINTS),
                "unstable" if row["saturated"] else "stable",
                row["verdict"],
            ]
            for row in rows
        ]
        screen.print_table(["class", *_POINTS.values(), "outcome", "source queues"], table)
        screen.echo(f"{_verdict(verdict(rows, loads))} ({JUDGE})")
        if told := _by_queues(rows):
            screen.echo(told)
        bound = rows[0]["bound"]
        if bound is not None:
            screen.echo(f"the busiest link allows an injection_rate of at most {bound:.4g}")
            beyond = [row["rate"] for row in rows if not row["saturated"] and row["rate"] > bound]
            if beyond:
                screen.echo(stable_beyond(max(beyond)))
    shared.end_interrupted(interrupted, len({row["rate"] for row in rows}), len(loads))


def stable_beyond(rate: float) -> str:
    """Why BookSim2 calls a rate stable that a link does not allow.

    >>> stable_beyond(0.3).partition(":")[0]
    '0.3 is above that'
    """
    return (
        f"{rate:g} is above that: BookSim2 calls it stable, since its samples end before their mean latency "
        "reaches latency_thres; in a longer run queues and latencies grow on"
    )


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
                "saturated": row["saturated"],
                "bound": bound,
                "bound_of": "the busiest link",
            }
        )
    drawn = curves if len(curves) > 1 else {"": next(iter(curves.values()))}
    pictures.plot_load_curves(drawn, plot, name, judge="BookSim2")


def _by_queues(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What source queues say of rates at which all classes have a verdict.

    >>> _by_queues([{"rate": 0.1, "verdict": "steady"}, {"rate": 0.3, "verdict": "growing"}])
    'source queues are steady at injection_rate 0.1 and grow at 0.3 (verdict of flitloom load)'
    """
    steady, growing = (
        {row["rate"] for row in rows if row["verdict"] == verdict} for verdict in (STEADY, GROWING)
    )
    steady -= {row["rate"] for row in rows if row["verdict"] != STEADY}
    said = [f"are steady at injection_rate {max(steady):g}"] if steady else []
    said += [f"grow at {min(growing):g}"] if growing else []
    return f"source queues {' and '.join(said)} (verdict of flitloom load)" if said else None


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
