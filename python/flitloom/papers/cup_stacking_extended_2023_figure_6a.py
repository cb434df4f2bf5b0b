"""Fig. 6 (a) of cup-stacking-extended-2023: simple stacking of bit-complement, link by link."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import network
from flitloom.papers.report import Cell, Context, Report
from flitloom.plots.link_time import compare_link_time

IDENTIFIER = "cup-stacking-extended-2023/figure-6a"
TITLE = "What the links do over time in simple stacking: bit-complement on 16x16, four 8-flit slices"

REMARKS = [
    "The number of slices is not given; the four colours named in Section 8.3 suggest four. As in the paper, "
    "the first quarter of the links is drawn."
]


def reproduce(context: Context) -> Report:
    """Compute the chart anew."""
    net = network()
    stacking = fl.stack(net, fl.Collective("bcmp", payload=28, slices=4), threads=context.threads)
    result = fl.simulate(net, stacking.best)
    cells = [
        Cell("bcmp", "interval", None, stacking.interval),
        # cup-stacking-2022, Table 2 has the same case in its column p=28, us.
        Cell("bcmp", "duration", 181, result.duration),
    ]
    report = Report(IDENTIFIER, TITLE, cells, list(REMARKS))
    if picture := context.file(IDENTIFIER, ".png"):
        title = f"(a) simple stacking, interval {stacking.interval}"
        compare_link_time([(title, result)], picture, share=0.25)
        data = picture.with_suffix(".nc")
        result.to_netcdf(data)
        report.files += [picture, data]
    return report
