"""Fig. 2 of cup-stacking-2022: link-time charts of bit-complement on an 8x8 torus."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import network
from flitloom.papers.report import Cell, Context, Report
from flitloom.plots.link_time import compare_link_time

IDENTIFIER = "cup-stacking-2022/figure-2"
TITLE = "What every link does over time: bit-complement on 8x8, whole packets and four slices"

PAYLOAD = 32
REMARKS = [
    "The payload of Fig. 2 is not given; 32 flits are used, as in Fig. 1. Published values are the text's "
    "statements: four slices back to back take longer than whole packets, at an appropriate interval less."
]


def reproduce(context: Context) -> Report:
    """Compute the three charts anew."""
    net = network(8)
    sliced = fl.Collective("bcmp", payload=PAYLOAD, slices=4)
    stacking = fl.stack(net, sliced, threads=context.threads)
    charts = [
        ("(a) whole packets", fl.Collective("bcmp", payload=PAYLOAD)),
        ("(b) four slices, back to back", sliced),
        (f"(c) four slices, interval {stacking.interval}", stacking.best),
    ]
    results = [(title, fl.simulate(net, collective)) for title, collective in charts]
    whole, consecutive, stacked = (result.duration for _, result in results)
    cells = [Cell("duration", title, None, result.duration) for title, result in results]
    cells += [
        Cell("four slices back to back", "slower than whole packets", True, consecutive > whole),
        Cell("four slices, best interval", "faster than whole packets", True, stacked < whole),
    ]
    report = Report(IDENTIFIER, TITLE, cells, list(REMARKS))
    if picture := context.file(IDENTIFIER, ".png"):
        compare_link_time(results, picture)
        data = picture.with_suffix(".nc")
        results[-1][1].to_netcdf(data)
        report.files += [picture, data]
    return report
