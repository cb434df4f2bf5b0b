"""Fig. 5 of scaling-effects-2007: critical load over the size of the torus."""

from __future__ import annotations

from typing import Any

from flitloom.papers.congestion import CRITICAL_LOAD
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import (
    COLOURS,
    READING,
    ROUTINGS,
    TRAFFIC,
    critical_curves,
    estimate,
    exponent,
    over_sizes,
)

IDENTIFIER = "scaling-effects-2007/figure-5"
TITLE = "Critical load over the size of the torus: do, sa, cl under random and hotspot traffic"
OPTIONS = ("quick", "full")

QUICK = (8, 16, 32)
FULL = (8, 16, 32, 64, 128, 256, 512)
#: How loads are drawn that the hot node does not sustain.
HOLLOW: dict[str, Any] = {"ms": 4, "mfc": "white", "zorder": 3}


def reproduce(context: Context) -> Report:
    """Find the critical loads anew."""
    sizes = FULL if context.quick is False else QUICK
    found = critical_curves(context, sizes, ("rn", "hs"))
    receivable = {size: estimate(size, "hs") for size in sizes}
    cells = []
    ranks: dict[str, set[tuple[str, ...]]] = {traffic: set() for traffic in TRAFFIC}
    for traffic in TRAFFIC:
        for routing in ROUTINGS:
            row = f"{routing} {traffic}"
            known = []
            for size in sizes:
                value = found[size, routing, traffic].critical_load.value
                text = found[size, routing, traffic].critical_load.outcome
                cells.append(Cell(row, f"N={size}", None, text if value is None else round(value, 4)))
                if value is not None:
                    if traffic == "hs":
                        receive = round(value / receivable[size], 3)
                        cells.append(Cell(row, f"of the receive bound, N={size}", None, receive))
                    share = round(value / (8 / size), 3)
                    cells.append(Cell(row, f"of 8/N, N={size}", None, share))
                    known.append((size, value))
            if traffic == "rn":
                # Small tori are limited by their sources, not their links.
                large = [(size, value) for size, value in known if size >= 16]
                power = exponent(*map(list, zip(*large, strict=True))) if len(large) > 1 else 0.0
                cells += [
                    Cell(row, "power of N", None, round(power, 2)),
                    Cell(row, "falls about as 1/N", True, -1.2 < power < -0.8),
                ]
        for size in sizes:
            loads = {r: found[size, r, traffic].critical_load.value or 0.0 for r in ROUTINGS}
            ranks[traffic].add(tuple(sorted(ROUTINGS, key=lambda routing: -loads[routing])))
    cells.append(
        Cell("rn", "the best routing changes with N", True, len({order[0] for order in ranks["rn"]}) > 1)
    )
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "hs sends 1 % of the packets to the middle node, which can eject one flit per cycle: "
            "from N = 13 on that "
            "node, not the links, limits it. At a critical load above that receive bound 95 % of all "
            "flits are received while the node falls behind for good. Such loads are hollow in the "
            "picture. One seed; orders of routings that are close are not "
            "known from one.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 7, 5) as drawing:
            axes = drawing.subplots()
            axes.plot(sizes, [8 / size for size in sizes], ":", color="0.4", label="8/N")
            axes.plot(
                sizes, [receivable[size] for size in sizes], "-.", color="0.7", label="hs: receive bound"
            )
            for traffic, marker in (("rn", "o"), ("hs", "s")):
                for routing in ROUTINGS:
                    points = [(size, found[size, routing, traffic].critical_load.value) for size in sizes]
                    shown = [(size, value) for size, value in points if value is not None]
                    axes.plot(
                        *zip(*shown, strict=True), marker=marker, ms=4, lw=0.8, color=COLOURS[routing],
                        ls="-" if traffic == "rn" else "--", label=f"{routing} {traffic}",
                    )  # fmt: skip
                    beyond = [(size, value) for size, value in shown if value > receivable[size]]
                    if traffic == "hs" and beyond:
                        axes.plot(*zip(*beyond, strict=True), marker, **HOLLOW, mec=COLOURS[routing])
            axes.plot([], [], "s", **HOLLOW, mec="0.4", label="above the receive bound")
            over_sizes(axes, sizes, f"{CRITICAL_LOAD}, flits/node/cycle")
            axes.set_title("NxN torus, random (rn) and hotspot (hs) traffic")
            axes.legend(frameon=False, fontsize="small")
        report.files.append(picture)
    return report
