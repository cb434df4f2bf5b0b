"""Table 2 of cup-stacking-2022 without its genetic columns: durations on a 16x16 torus."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import PATTERNS, PLAIN_REMARK, PRESET, ROUTER_REMARK, network
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "cup-stacking-2022/table-2"
TITLE = "Durations in unison: unit slice, whole packets, slices at the best interval"

COLUMNS = ("unit slice t_d0", "unit slice T_e", "p=14 s=1", "p=14 us", "p=28 s=1", "p=28 us")
PUBLISHED = {
    "bcmp": (65, 62, 109, 104, 193, 181),
    "brev": (108, 105, 199, 179, 381, 326),
    "brot": (91, 86, 178, 147, 363, 259),
    "shfl": (95, 90, 243, 152, 427, 269),
    "torn": (67, 64, 123, 131, 235, 259),
    "trns": (74, 71, 130, 138, 242, 266),
}

THICKNESS_REMARK = (
    "T_e is the span of the network: from the first flit over any link to the last one over any link. By the "
    "paper's words it is the largest occupation of a link, as in the plain lines; that is 46, 104, 69, 85, "
    "64 and 64 cycles with the papers' router."
)


def row(preset: str | None, pattern: str, context: Context) -> list[int]:
    """The values of a pattern with the papers' router, or with the plainest reading of all their words."""
    net = network(preset=preset)
    unit = fl.simulate(net, fl.Collective(pattern, payload=7))
    computed = [unit.duration, unit.effective_thickness if preset is None else unit.span]
    for payload, slices in ((14, 2), (28, 4)):
        collective = fl.Collective(pattern, payload=payload, slices=slices)
        stacking = fl.stack(net, collective, threads=context.threads)
        computed += [stacking.whole, stacking.duration]
    return computed


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    cells = []
    for number, pattern in enumerate(PATTERNS):
        computed, plain = (row(preset, pattern, context) for preset in (PRESET, None))
        cells += [
            Cell(pattern, column, paper, value, plain=other)
            for column, paper, value, other in zip(COLUMNS, PUBLISHED[pattern], computed, plain, strict=True)
        ]
        if context.progress:
            context.progress("patterns", number + 1, len(PATTERNS))
    return Report(IDENTIFIER, TITLE, cells, [ROUTER_REMARK, PLAIN_REMARK, THICKNESS_REMARK])
