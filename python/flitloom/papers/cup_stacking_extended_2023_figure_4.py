"""Fig. 4 of cup-stacking-extended-2023: best and average durations over the generations."""

from __future__ import annotations

from typing import Any

import flitloom as fl
from flitloom import genetic
from flitloom.ground.outputs import write_csv
from flitloom.papers.cup_stacking import generations, network
from flitloom.papers.report import Cell, Context, Report
from flitloom.plots.genetic import plot_generations

IDENTIFIER = "cup-stacking-extended-2023/figure-4"
TITLE = "Best and average durations over the generations of single genetic searches (16x16, brev, two slices)"
#: Options that change what is computed.
OPTIONS = ("quick",)

#: Name, as in the figure, to its restarts and the number of its seed.
RUNS = {"w0": ("watchdog", 2), "w1": ("watchdog", 3), "l0": ("lifetime", 0), "l1": ("lifetime", 1)}

#: Of the papers' values, those with which crossover shows.
PARAMETERS: dict[str, Any] = {"mutation_rate": 0.02, "mutation_levels": 1, "crossover_rate": 0.6}

REMARKS = [
    "The paper does not say which pattern and which parameters its runs have; here they are bit-reverse, "
    "r_m = 0.02 and r_c = 0.6, with a watchdog (w) or a lifetime (l) of 200 generations. As in the paper, "
    "survivors do not count for the average.",
    "Published: the average dips with every crossover, since it overwrites most chromosomes with children of "
    "strong ones.",
]


def reproduce(context: Context) -> Report:
    """Compute the curves anew."""
    length = generations(context.quick, 2)
    net, collective = network(), fl.Collective("brev", payload=14, slices=2)
    runs: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {}
    cells = []
    for number, (name, (restart, seed)) in enumerate(RUNS.items()):
        fields = {restart: length // 5, "generations": length, "training": length // 10}
        settings = genetic.GeneticSettings(**PARAMETERS, **fields)
        found = genetic.search(
            net, collective, settings, seed=context.seed + seed, averages=True, threads=context.threads
        )
        runs[name] = (found.best, found.average)
        cells += [
            Cell(name, "best", None, found.score),
            Cell(name, "dips with crossover", True, _dips(found.average, settings)),
        ]
        if step := context.step("searches"):
            step(number + 1, len(RUNS))
    report = Report(IDENTIFIER, TITLE, cells, list(REMARKS))
    if picture := context.file(IDENTIFIER, ".png"):
        plot_generations(runs, picture, title="bit-reverse on 16x16, two 8-flit slices")
        data = picture.with_suffix(".csv")
        rows = (
            [name, generation, *values]
            for name, (best, average) in runs.items()
            for generation, values in enumerate(zip(best, average, strict=True))
        )
        write_csv(["run", "generation", "best", "average"], rows, data)
        report.files += [picture, data]
    return report


def _dips(average: tuple[float, ...], settings: genetic.GeneticSettings) -> bool:
    """Whether most generations with crossover average below the one before."""
    first = -(-settings.training // settings.crossover_interval) * settings.crossover_interval
    crossed = range(first, len(average), settings.crossover_interval)
    return sum(average[at] < average[at - 1] for at in crossed) > len(crossed) / 2
