"""Table 2 of cup-stacking-2022 without its genetic columns: durations on a 16x16 torus."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import PATTERNS, ROUTER_REMARK, network
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
    "The published T_e column cannot follow the paper's own definition (largest occupation of a link): its "
    "genetic value of t_d for torn, 64 cycles, is 3 below the lower bound of 67 that the load of the fullest "
    "link sets. Ours is the definition to the letter."
)


def row(net: fl.Network, pattern: str, context: Context) -> list[int]:
    """The values of a pattern on a network."""
    unit = fl.simulate(net, fl.Collective(pattern, payload=7))
    ours = [unit.duration, unit.effective_thickness]
    for payload, slices in ((14, 2), (28, 4)):
        collective = fl.Collective(pattern, payload=payload, slices=slices)
        stacking = fl.stack(net, collective, threads=context.threads)
        ours += [stacking.whole, stacking.duration]
    return ours


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    cells = []
    for number, pattern in enumerate(PATTERNS):
        plain, registers = (
            row(network(variant=variant), pattern, context) for variant in ("queues", "registers")
        )
        cells += [
            Cell(pattern, column, paper, value, registers=other)
            for column, paper, value, other in zip(COLUMNS, PUBLISHED[pattern], plain, registers, strict=True)
        ]
        if context.progress:
            context.progress("patterns", number + 1, len(PATTERNS))
    return Report(IDENTIFIER, TITLE, cells, [ROUTER_REMARK, THICKNESS_REMARK])
