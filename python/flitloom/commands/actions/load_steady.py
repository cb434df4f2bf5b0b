"""What ``flitloom load steady`` does."""

from __future__ import annotations

from flitloom.analysis.utilisation import GROWING, UNDECIDED
from flitloom.commands import pictures, screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.actions.load_points import run_points
from flitloom.commands.load_curve import Measured, Windows
from flitloom.load import curve_rows, told


def run(measured: Measured, rate: str, ending: Windows) -> None:
    """Measure the steady states, print them, and write what is asked for."""
    cases = shared.cases(measured.compared, measured.packets, measured.router)
    out, plot = load_common.check_outputs(ending.out, ending.plot, (".nc",))
    loads = load_common.read_rates(rate, "--rate")
    points, interrupted = run_points(cases, loads, measured.how, "load", full_starts=ending.full_start)
    rows = curve_rows(points)
    if out is not None and rows:
        shared.write_series(out, points)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and rows and not interrupted:
        several = [name for name in cases[0].labels if len({case.labels[name] for case in cases}) > 1]
        named = {
            ", ".join(
                [*(told(name, case.labels[name]) for name in several), told("rate", float(point.row["rate"]))]
            ): point.series
            for case, point in points
            if point.series is not None
        }
        pictures.plot_series(named, plot, title=shared.common("Steady state", cases))
    if ending.json:
        screen.print_json(load_common.marked(rows, interrupted, len(cases) * len(loads)))
    else:
        for row in rows:
            screen.print_fields(
                row if row["cause"] else row | {"verdict": VERDICTS.get(row["verdict"], row["verdict"])}
            )
            screen.echo()
    load_common.end_interrupted(interrupted, len(rows), len(cases) * len(loads))


#: What verdicts mean.
VERDICTS = {
    GROWING: "growing: what waits at some source grows for good",
    UNDECIDED: "undecided: longer runs may tell (--limit)",
}
