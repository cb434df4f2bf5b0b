"""Table 2 of cup-stacking-extended-2023: simple stacking under the ten channel-selection schemes."""

from __future__ import annotations

import flitloom as fl
from flitloom.papers.cup_stacking import PATTERNS, PLAIN_REMARK, PRESET, ROUTER_REMARK, SCHEMES, network
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "cup-stacking-extended-2023/table-2"
TITLE = "Shortest durations in simple stacking, two 8-flit slices, by channel-selection scheme"

PUBLISHED = {
    "bcmp": (104, 102, 104, 102, 104, 91, 101, 101, 91, 91),
    "brev": (179, 194, 179, 194, 172, 208, 173, 173, 208, 208),
    "brot": (147, 155, 147, 155, 176, 146, 189, 189, 146, 148),
    "shfl": (152, 154, 152, 154, 161, 147, 159, 159, 147, 150),
    "torn": (131, 131, 131, 131, 131, 138, 131, 131, 138, 138),
    "trns": (138, 138, 138, 138, 138, 137, 138, 138, 137, 137),
}


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    cells = []
    for pattern in PATTERNS:
        for scheme, paper in zip(SCHEMES, PUBLISHED[pattern], strict=True):
            collective = fl.Collective(pattern, payload=14, slices=2)
            computed, plain = (
                fl.stack(network(arbitration=scheme, preset=preset), collective, threads=context.threads)
                for preset in (PRESET, None)
            )
            cells.append(Cell(pattern, scheme, paper, computed.duration, plain=plain.duration))
            if context.progress:
                context.progress("patterns and schemes", len(cells), len(PATTERNS) * len(SCHEMES))
    return Report(IDENTIFIER, TITLE, cells, [ROUTER_REMARK, PLAIN_REMARK])
