"""Provably shortest schedules beside the tables of the cup-stacking papers, run on the same router."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import flitloom as fl
from flitloom.papers.cup_stacking import PATTERNS, network
from flitloom.papers.report import Cell, Context


def optimal(pattern: str, slices: int) -> int:
    """Cycles of a schedule whose duration is its proven bound, as the papers' router runs it.

    Raises
    ------
    AssertionError
        The schedule is not proven, or the router takes another time.

    Examples
    --------
    >>> optimal("bcmp", 1)
    42
    """
    routers = network()
    plan = fl.plans.search(routers, fl.Collective(pattern, payload=7 * slices, slices=slices))
    duration = int(fl.simulate(routers, plan.as_packets(routers)).duration)
    if not duration == plan.duration == plan.bound:
        raise AssertionError(f"{pattern}, {slices} slices: {duration}, {plan.duration}, {plan.bound}")
    return duration


def optimal_columns(
    columns: Mapping[str, int], published: Mapping[str, Sequence[Sequence[int]]], context: Context
) -> tuple[list[Cell], list[str]]:
    """Columns of shortest durations, and what they say of the published ones; none beside chosen columns.

    Parameters
    ----------
    columns : mapping
        Column to its number of slices.
    published : mapping
        Pattern to the published durations that each column is beside.
    context : Context
        How the reproduction runs.
    """
    if context.columns:
        return [], []
    cells, below, cases = [], 0, 0
    for pattern in PATTERNS:
        for (column, slices), values in zip(columns.items(), published[pattern], strict=True):
            best = optimal(pattern, slices)
            cells.append(Cell(pattern, column, None, best))
            below += sum(value < best for value in values)
            cases += len(values)
    remark = (
        "Columns named optimal are of schedules by fl.plans.search on the same router and routes; these take "
        f"as many cycles as their proven bounds. {below or 'None'} of the {cases} published durations "
        f"beside them {'is' if below < 2 else 'are'} shorter."
    )
    return cells, [remark]
