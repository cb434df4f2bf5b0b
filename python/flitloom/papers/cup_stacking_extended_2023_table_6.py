"""Table 6 of cup-stacking-extended-2023: second sort keys and additional functions T01 to T10."""

from __future__ import annotations

from typing import Any

from flitloom.papers.cup_stacking import ROUTER_REMARK
from flitloom.papers.cup_stacking_genetic import searches, table
from flitloom.papers.cup_stacking_optimal import optimal_columns
from flitloom.papers.report import Context, Report

IDENTIFIER = "cup-stacking-extended-2023/table-6"
TITLE = "Shortest durations by additional item, two 8-flit slices"
#: Options that change what is computed.
OPTIONS = ("quick", "full", "searches")

PUBLISHED = {
    "bcmp": (85, 85, 85, 85, 86, 85, 84, 84, 94, 86),
    "brev": (145, 145, 147, 146, 147, 145, 144, 145, 160, 148),
    "brot": (134, 134, 134, 135, 136, 135, 134, 134, 148, 135),
    "shfl": (127, 126, 127, 125, 127, 126, 126, 126, 137, 129),
    "torn": (131, 131, 131, 131, 131, 131, 131, 131, 133, 131),
    "trns": (136, 136, 136, 136, 136, 136, 136, 135, 136, 136),
}

#: Item (Table 5) to its parameter.
ITEMS: dict[str, dict[str, Any]] = {
    "T01": {},
    "T02": {"sort_key": "or"},
    "T03": {"sort_key": "ob"},
    "T04": {"sort_key": "thickness"},
    "T05": {"sort_key": "thickness-reversed"},
    "T06": {"sort_key": "tb"},
    "T07": {"sort_key": "lb"},
    "T08": {"reinitialise_slices": True},
    "T09": {"sort_key": "thickness-only"},
    "T10": {"interlock_slices": True},
}

#: Columns to choose from.
SEARCHED_COLUMNS = tuple(ITEMS)


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    campaigns = [searches(name, context, genetic=fields) for name, fields in ITEMS.items()]
    cells, remark = table(PUBLISHED, campaigns, context)
    beside = {pattern: [row] for pattern, row in PUBLISHED.items()}
    shortest, comparison = optimal_columns({"optimal": 2}, beside, context)
    return Report(IDENTIFIER, TITLE, [*cells, *shortest], [remark, *comparison, ROUTER_REMARK])
