"""Fig. 6 (b, c) of cup-stacking-extended-2023: slices shaped by genetic search, link by link."""

from __future__ import annotations

import flitloom as fl
from flitloom import genetic
from flitloom.papers.cup_stacking import generations, network
from flitloom.papers.report import Cell, Context, Report
from flitloom.plots.link_time import compare_link_time

IDENTIFIER = "cup-stacking-extended-2023/figure-6bc"
TITLE = "What the links do over time in shaped slices: bit-complement on 16x16, four 8-flit slices"
#: Options that change what is computed.
OPTIONS = ("quick",)

#: Column, genes that vary, and the published duration (cup-stacking-2022, Table 2; none for (c)).
PANELS = {
    "(b) original": ("timing", 164),
    "(c) extended": ("full", None),
}

REMARKS = [
    "The number of slices is not given; the four colours named in Section 8.3 suggest four. As in the paper, "
    "the first quarter of the links is drawn. The published value of (b) is the letter's for four slices, "
    "the best of 1440 searches.",
]


def reproduce(context: Context) -> Report:
    """Compute the charts anew."""
    length = generations(context.quick)
    settings = genetic.GeneticSettings(generations=length, training=length // 10)
    net, collective = network(), fl.Collective("bcmp", payload=28, slices=4)
    stacking = fl.stack(net, collective, threads=context.threads)
    panels = [(f"(a) simple stacking: {stacking.duration} cycles", fl.simulate(net, stacking.best))]
    cells = []
    for number, (name, (genes, published)) in enumerate(PANELS.items()):
        found = genetic.search(
            net, collective, settings, genes=genes, seed=context.seed, threads=context.threads
        )
        result = fl.simulate(found.network, found.collective)
        panels.append((f"{name}: {result.duration} cycles", result))
        cells += [
            Cell("bcmp", f"{name}, duration", published, result.duration, at_most=True),
            Cell("bcmp", f"{name}, shorter than simple stacking", True, result.duration < stacking.duration),
        ]
        if step := context.step("searches"):
            step(number + 1, len(PANELS))
    report = Report(IDENTIFIER, TITLE, cells, list(REMARKS))
    if picture := context.file(IDENTIFIER, ".png"):
        compare_link_time(panels, picture, share=0.25)
        data = picture.with_suffix(".nc")
        panels[-1][1].to_netcdf(data)
        report.files += [picture, data]
    return report
