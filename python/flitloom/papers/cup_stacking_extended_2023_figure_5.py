"""Fig. 5 of cup-stacking-extended-2023: best against average durations of five searches each."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitloom.ground.outputs import write_csv
from flitloom.papers.cup_stacking import PATTERNS
from flitloom.papers.cup_stacking_genetic import GRID, run, searches
from flitloom.papers.report import Cell, Context, Report
from flitloom.plots.genetic import plot_variation

IDENTIFIER = "cup-stacking-extended-2023/figure-5"
TITLE = "Best against average durations of five searches per combination of parameters (16x16, two slices)"
#: Options that change what is computed.
OPTIONS = ("quick", "full", "searches")

#: The mutation rate in rows of searches.
RATE = "genetic.mutation_rate"

#: A sample of the papers' combinations.
SAMPLE = {
    "mutation_rate": [0.02, 0.05, 0.1],
    "mutation_levels": [1],
    "crossover_rate": [0.1, 0.4, 0.9],
    "lifetime": [0, 200],
}


def reproduce(context: Context) -> Report:
    """Compute the dots anew."""
    name = "figure 5"
    fields: dict[str, Any] = (
        {} if context.quick is False else {"grid": SAMPLE, "repeats": 5, "restarts": "any"}
    )
    campaign = searches(name, context, **fields)
    points: dict[str, list[tuple[float, float]]] = {}
    found = run([campaign], context, lambda *_: False)[name]
    for pattern, rows in found.items():
        by_parameters: dict[tuple[object, ...], list[int]] = {}
        for row in rows:
            by_parameters.setdefault(tuple(row[f"genetic.{parameter}"] for parameter in GRID), []).append(
                row["duration"]
            )
        points[pattern] = [(float(np.mean(values)), float(min(values))) for values in by_parameters.values()]
    cells: list[Cell] = []
    for pattern in PATTERNS:
        average, best = np.array(points[pattern]).T
        cells.append(Cell(pattern, "combinations", None, len(best)))
        cells.append(Cell(pattern, "best of all", None, int(best.min())))
        # Section 8.1; without variation, or with one search each, correlation says nothing.
        if np.ptp(average) > 0 and np.ptp(best) > 0 and (average != best).any():
            correlated = bool(np.corrcoef(average, best)[0, 1] > 0.3)
            cells.append(Cell(pattern, "average and best correlate", True, correlated))
        rates = sorted({row[RATE] for row in found[pattern]})
        means = {
            rate: float(np.mean([row["duration"] for row in found[pattern] if row[RATE] == rate]))
            for rate in rates
        }
        cells += [
            Cell(pattern, f"average with r_m = {rate:g}", None, round(means[rate], 1)) for rate in means
        ]
        if len(set(means.values())) > 1:
            worst = max(rates, key=means.__getitem__)
            cells.append(Cell(pattern, "the largest r_m is worst", True, worst == rates[-1]))
    size = (
        "five searches each" if context.searches is None else f"at most {context.searches} searches a pattern"
    )
    remarks = [
        f"{size}; --full runs the papers' 288 combinations, without it a sample of 18 is run; --quick has "
        "100 instead of 1000 generations."
    ]
    report = Report(IDENTIFIER, TITLE, cells, remarks)
    if picture := context.file(IDENTIFIER, ".png"):
        plot_variation(points, picture, title="full genetic search, 16x16, two 8-flit slices")
        data = picture.with_suffix(".csv")
        lines = ([pattern, *dot] for pattern, dots in points.items() for dot in dots)
        write_csv(["pattern", "average", "best"], lines, data)
        report.files += [picture, data]
    return report
