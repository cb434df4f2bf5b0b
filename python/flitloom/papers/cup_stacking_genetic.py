"""What the tables of genetic searches share: their budgets, and a store that lets them resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flitloom.campaign import Campaign, Search, Store, parse_campaign, run_campaign, search_rows
from flitloom.ground.outputs import check_output
from flitloom.ground.workers import Workers
from flitloom.papers.cup_stacking import PATTERNS, PRESET, generations
from flitloom.papers.report import Cell, Context

#: Finished searches of all tables, in the output folder.
STORE = "flitloom-papers.sqlite"

#: Rows of finished searches by campaign and pattern.
Found = dict[str, dict[str, list[dict[str, Any]]]]
Table = tuple[list[Cell], str]

#: The papers' parameters (cup-stacking-extended-2023, A.3): 288 combinations, five runs each.
GRID: dict[str, list[Any]] = {
    "mutation_rate": [0.1, 0.05, 0.02],
    "mutation_levels": [1],
    "crossover_interval": [10, 20],
    "crossover_rate": [0.1, 0.2, 0.4, 0.6, 0.8, 0.9],
    "ties": ["random", "age"],
    "lifetime": [0, 100, 200],
    "watchdog": [0, 100, 200],
}

#: What searches are run with otherwise, one combination after the other: no values are best for all
#: patterns.
FEW: dict[str, list[Any]] = {"mutation_rate": [0.05, 0.02], "timing_step": [8, 16]}

#: Where more are asked for: chromosomes that do not improve begin anew as well.
MORE: dict[str, list[Any]] = {"lifetime": [0, 100], **FEW}

#: Searches per value at most.
BUDGET = 4

#: Whether the rows of a campaign's finished searches of one pattern reach the published values.
Reached = Callable[[Campaign, str, list[dict[str, Any]]], bool]


def remark(context: Context, found: Found) -> str:
    """What was run."""
    counts = [len(rows) for patterns in found.values() for rows in patterns.values()]
    if context.quick:
        kind = f"of {generations(True)} generations with default parameters (--quick)"
    elif context.quick is False:
        kind = f"with the papers' parameters (--full; finished ones are kept in {STORE})"
    else:
        kept = f" (finished ones are kept in {STORE})" if context.folder else ""
        lives = ", without and with a lifetime" if max(counts) > BUDGET else ""
        kind = f"with two mutation rates and two timing steps{lives}{kept}"
    return (
        f"{sum(counts)} searches {kind}, {min(counts)} to {max(counts)} per value, each until the published "
        "one was reached; the papers ran 1440 per value."
    )


def searches(name: str, context: Context, slices: int = 2, **fields: Any) -> Campaign:
    """The searches behind one column: with the papers' parameters (`papers_grid`), or a few."""
    genetic = fields.pop("genetic", {})
    papers_grid = fields.pop("papers_grid", GRID)
    wanted = context.searches or BUDGET
    grid = FEW if wanted <= BUDGET else MORE
    budget: dict[str, Any] = {"grid": grid, "repeats": math.ceil(wanted / math.prod(map(len, grid.values())))}
    if context.quick:
        length = generations(context.quick)
        genetic = {"generations": length, "training": length // 10, **genetic}
        budget = {"repeats": context.searches or 1}
    elif context.quick is False:
        budget = {"grid": papers_grid, "repeats": 5, "restarts": "one"}
    return parse_campaign(
        {
            "name": name,
            "topology": {"sizes": "16x16"},
            "router": {"preset": PRESET},
            "payload": 7 * slices,
            "slices": slices,
            "seed": context.seed,
            "genetic": genetic,
            **budget,
            **fields,
        }
    )


def run(campaigns: list[Campaign], context: Context, reached: Reached) -> Found:
    """Run campaigns, every pattern until the published values are reached."""
    waiting: dict[tuple[str, str], list[Search]] = {}
    for campaign in campaigns:
        for job in campaign.jobs():
            waiting.setdefault((campaign.name, job.spec["collective"]["pattern"]), []).append(job)
    if context.searches:
        waiting = {key: jobs[: context.searches] for key, jobs in waiting.items()}
    by_name = {campaign.name: campaign for campaign in campaigns}
    found: Found = {name: {} for name in by_name}
    lasting = context.folder is not None or context.quick is False
    store = Store(check_output((context.folder or Path()) / STORE) if lasting else ":memory:")
    total, done = len(waiting), 0
    pool = Workers(context.threads)
    progress = context.step("published values")
    try:
        while waiting:
            run_campaign([jobs[0] for jobs in waiting.values()], store, executor=pool)
            for key, jobs in list(waiting.items()):
                rows = found[key[0]].setdefault(key[1], [])
                rows += search_rows(store, [jobs.pop(0)])
                if not jobs or reached(by_name[key[0]], key[1], rows):
                    del waiting[key]
                    done += 1
            if progress:
                progress(done, total)
    finally:
        pool.stop()
        store.close()
    return found


def table(published: Mapping[str, tuple[int, ...]], campaigns: list[Campaign], context: Context) -> Table:
    """A column of best durations per campaign, if wanted, beside the published rows; and what was run."""
    column = {campaign.name: number for number, campaign in enumerate(campaigns)}
    campaigns = [
        campaign for campaign in campaigns if not context.columns or campaign.name in context.columns
    ]

    def least(rows: list[dict[str, Any]]) -> int:
        return int(min(row["duration"] for row in rows))

    def reached(campaign: Campaign, pattern: str, rows: list[dict[str, Any]]) -> bool:
        return least(rows) <= published[pattern][column[campaign.name]]

    found = run(campaigns, context, reached)
    cells = [
        Cell(
            pattern,
            campaign.name,
            published[pattern][column[campaign.name]],
            least(found[campaign.name][pattern]),
            at_most=True,
        )
        for pattern in PATTERNS
        for campaign in campaigns
    ]
    return cells, remark(context, found)
