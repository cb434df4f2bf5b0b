"""GA columns of Table 2 of cup-stacking-2022: single slices shaped by injection times, then stacked."""

from __future__ import annotations

from typing import Any

from flitloom.campaign import Campaign
from flitloom.papers.cup_stacking import PATTERNS, ROUTER_REMARK
from flitloom.papers.cup_stacking_genetic import GRID, remark, run, searches
from flitloom.papers.cup_stacking_optimal import optimal_columns
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "cup-stacking-2022/table-2-ga"
TITLE = "Height, effective thickness and stacked durations of slices shaped by genetic search"
#: Options that change what is computed.
OPTIONS = ("quick", "full", "searches")

#: Pattern to t_d, T_e, and durations of two and of four slices.
PUBLISHED = {
    "bcmp": (53, 50, 91, 164),
    "brev": (79, 76, 151, 298),
    "brot": (78, 75, 143, 271),
    "shfl": (71, 67, 133, 256),
    "torn": (64, 64, 131, 259),
    "trns": (71, 71, 138, 266),
}
NAMES = ("unit slice t_d", "unit slice T_e", "p=14 s=2", "p=28 s=4")


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    grid = {**GRID, "crossover_interval": [100, 200]}
    campaigns = [
        searches(
            f"{objective}, stacked {stacked}",
            context,
            slices=1,
            genes="timing",
            genetic={"objective": objective},
            papers_grid=grid,
            extrapolate=stacked,
        )
        for objective in ("duration", "span")
        for stacked in (2, 4)
    ]

    def reached(campaign: Campaign, pattern: str, rows: list[dict[str, Any]]) -> bool:
        height, thickness, two, four = PUBLISHED[pattern]
        score = height if campaign.genetic.objective == "duration" else thickness
        duration = two if campaign.extrapolate == 2 else four
        return all(
            min(int(row[value]) for row in rows) <= goal
            for value, goal in (("score", score), ("duration", duration))
        )

    found = run(campaigns, context, reached)
    cells = []
    for pattern in PATTERNS:

        def least(objective: str, stacked: int, value: str, pattern: str = pattern) -> int:
            return int(min(row[value] for row in found[f"{objective}, stacked {stacked}"][pattern]))

        computed = (
            least("duration", 2, "score"),
            least("span", 2, "score"),
            min(least("duration", 2, "duration"), least("span", 2, "duration")),
            min(least("duration", 4, "duration"), least("span", 4, "duration")),
        )
        cells += [
            Cell(pattern, name, paper, value, at_most=True)
            for name, paper, value in zip(NAMES, PUBLISHED[pattern], computed, strict=True)
        ]
    columns = {"optimal t_d": 1, "optimal p=14": 2, "optimal p=28": 4}
    beside = {pattern: [[row[0]], [row[2]], [row[3]]] for pattern, row in PUBLISHED.items()}
    shortest, comparison = optimal_columns(columns, beside, context)
    cells += shortest
    remarks = [
        remark(context, found),
        *comparison,
        "T_e is the largest occupation of a link, the paper's words; what it prints is the span of the "
        "network (docs/router.md). So torn's published 64 is a T_e in both columns: a slice of 67 cycles has "
        "a span of 64, and 67 is the bound for t_d.",
        ROUTER_REMARK,
    ]
    return Report(IDENTIFIER, TITLE, cells, remarks)
