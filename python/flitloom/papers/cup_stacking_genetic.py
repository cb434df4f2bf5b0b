"""What the tables of genetic searches share: their budgets, and a store that lets them resume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitloom.campaign import Store, run_campaign
from flitloom.campaign.jobs import Campaign, Job, parse_campaign
from flitloom.papers.cup_stacking import PATTERNS
from flitloom.papers.report import Cell, Context

#: Finished searches of all tables, in the output folder.
STORE = "flitloom-papers.sqlite"

#: The papers' parameters (cup-stacking-extended-2023, A.3): 288 combinations, five runs each.
GRID: dict[str, list[Any]] = {
    "mutation_rate": [0.1, 0.05, 0.02],
    "crossover_interval": [10, 20],
    "crossover_rate": [0.1, 0.2, 0.4, 0.6, 0.8, 0.9],
    "ties": ["random", "age"],
    "lifetime": [0, 100, 200],
    "watchdog": [0, 100, 200],
}

#: Remarks on what was run.
QUICK_REMARK = (
    "--quick: one search of 100 generations per cell with default parameters, instead of the papers' 1440 "
    "searches of 1000 generations; --full runs those and resumes where it was stopped. Values above the "
    "papers' are not reached."
)
FULL_REMARK = "--full: the papers' 1440 searches per cell; finished ones are kept in " + STORE + "."


def remark(context: Context) -> str:
    """What was run."""
    return FULL_REMARK if context.quick is False else QUICK_REMARK


def searches(name: str, context: Context, slices: int = 2, **fields: Any) -> Campaign:
    """The searches behind one column: the papers' budget, or a small one."""
    genetic = fields.pop("genetic", {})
    grid = fields.pop("grid", GRID)
    budget: dict[str, Any] = {"grid": grid, "repeats": 5, "restarts": "one"}
    if context.quick is not False:
        genetic = {"generations": 100, "training": 10, **genetic}
        budget = {}
    return parse_campaign(
        {
            "name": name,
            "topology": {"sizes": "16x16"},
            "payload": 7 * slices,
            "slices": slices,
            "seed": context.seed,
            "genetic": genetic,
            **budget,
            **fields,
        }
    )


def run(campaigns: list[Campaign], context: Context) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Run campaigns; rows of their finished searches by campaign and pattern."""
    jobs: list[Job] = [job for campaign in campaigns for job in campaign.jobs()]
    store = Store((context.folder or Path()) / STORE if context.quick is False else ":memory:")
    try:
        run_campaign(jobs, store, workers=context.threads, progress=context.step("searches"))
        found: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in store.rows(jobs):
            found.setdefault(row["campaign"], {}).setdefault(row["pattern"], []).append(row)
    finally:
        store.close()
    return found


def columns(
    published: Mapping[str, tuple[int, ...]], campaigns: list[Campaign], context: Context
) -> list[Cell]:
    """A column of best durations per campaign, beside the published rows."""
    found = run(campaigns, context)
    return [
        Cell(pattern, campaign.name, paper, min(row["duration"] for row in found[campaign.name][pattern]))
        for pattern in PATTERNS
        for campaign, paper in zip(campaigns, published[pattern], strict=True)
    ]
