"""Table 3 of cup-stacking-extended-2023: timing adjustment under the ten channel-selection schemes."""

from __future__ import annotations

from flitloom.papers.cup_stacking import ROUTER_REMARK, SCHEMES
from flitloom.papers.cup_stacking_genetic import searches, table
from flitloom.papers.cup_stacking_optimal import optimal_columns
from flitloom.papers.report import Context, Report

IDENTIFIER = "cup-stacking-extended-2023/table-3"
TITLE = "Shortest durations with timing adjustment, two 8-flit slices, by channel-selection scheme"
#: Options that change what is computed.
OPTIONS = ("quick", "full", "searches")

PUBLISHED = {
    "bcmp": (90, 94, 90, 93, 97, 88, 93, 92, 87, 86),
    "brev": (153, 157, 153, 155, 156, 162, 157, 156, 162, 163),
    "brot": (140, 146, 140, 146, 150, 135, 154, 153, 136, 136),
    "shfl": (131, 130, 132, 130, 136, 134, 136, 135, 134, 135),
    "torn": (131, 131, 131, 131, 131, 138, 131, 131, 138, 138),
    "trns": (138, 138, 138, 137, 138, 136, 138, 138, 136, 136),
}

#: Columns to choose from.
SEARCHED_COLUMNS = tuple(SCHEMES)


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    campaigns = [searches(scheme, context, genes="timing", arbitrations=[scheme]) for scheme in SCHEMES]
    cells, remark = table(PUBLISHED, campaigns, context)
    beside = {pattern: [row] for pattern, row in PUBLISHED.items()}
    shortest, comparison = optimal_columns({"optimal": 2}, beside, context)
    return Report(IDENTIFIER, TITLE, [*cells, *shortest], [remark, *comparison, ROUTER_REMARK])
