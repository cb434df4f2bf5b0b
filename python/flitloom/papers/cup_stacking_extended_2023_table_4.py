"""Table 4 of cup-stacking-extended-2023: all methods of genetic search beside each other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from flitloom.papers.cup_stacking import PATTERNS, ROUTER_REMARK
from flitloom.papers.cup_stacking_genetic import searches, table
from flitloom.papers.cup_stacking_optimal import optimal_columns
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "cup-stacking-extended-2023/table-4"
TITLE = "Shortest durations by method, two 8-flit slices"
#: Options that change what is computed.
OPTIONS = ("quick", "full", "searches")

#: Columns from the fifth on; those before it are other tables.
PUBLISHED = {
    "bcmp": (85, 91, 87, 85, 86, 88, 87, 89, 87, 85, 86, 83, 90),
    "brev": (145, 138, 148, 145, 144, 149, 149, 151, 148, 145, 144, 141, 137),
    "brot": (134, 139, 137, 134, 136, 137, 135, 142, 137, 134, 136, 130, 137),
    "shfl": (127, 136, 130, 127, 127, 126, 128, 133, 130, 127, 127, 125, 135),
    "torn": (131, 131, 131, 131, 131, 131, 131, 131, 131, 131, 131, 131, 131),
    "trns": (136, 137, 136, 136, 136, 136, 136, 138, 136, 136, 136, 135, 136),
}

#: Column to what its searches do.
METHODS: dict[str, dict[str, Any]] = {
    "full GA": {},
    "w/o T_adj": {"genes": "without-timing"},
    "S1-S2": {"slices": 1, "extrapolate": 2},
    "S2-S2": {"slices": 2, "extrapolate": 2},
    "S4-S2": {"slices": 4, "extrapolate": 2},
    "E2-S2": {"slices": 1, "extrapolate": 2, "genetic": {"objective": "estimate", "estimated_slices": 2}},
    "E4-S2": {"slices": 1, "extrapolate": 2, "genetic": {"objective": "estimate", "estimated_slices": 4}},
    "post C00(S1)": {"slices": 1, "extrapolate": 2, "genes": "timing", "genetic": {"synonyms": True}},
    "post S1": {"slices": 1, "extrapolate": 2, "genetic": {"synonyms": True}},
    "post S2": {"slices": 2, "extrapolate": 2, "genetic": {"synonyms": True}},
    "post S4": {"slices": 4, "extrapolate": 2, "genetic": {"synonyms": True}},
    "optimal int. full": {"genetic": {"perturbation": 5}},
    "optimal int. w/o": {"genes": "without-timing", "genetic": {"perturbation": 5}},
}

#: Columns to choose from.
SEARCHED_COLUMNS = tuple(METHODS)


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    campaigns = [searches(name, context, **fields) for name, fields in METHODS.items()]
    cells, remark = table(PUBLISHED, campaigns, context)
    beside = {pattern: [row] for pattern, row in PUBLISHED.items()}
    shortest, comparison = optimal_columns({"optimal": 2}, beside, context)
    remarks = [remark, *comparison, *statements(cells), ROUTER_REMARK]
    return Report(IDENTIFIER, TITLE, [*cells, *shortest], remarks)


#: How two columns compare, and for which patterns, as the paper says in Sections 5.4, 6.1 to 6.3 and 7.1.
STATEMENTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("full GA", "shorter than", "w/o T_adj", ("bcmp", "brot", "shfl")),
    ("w/o T_adj", "shorter than", "full GA", ("brev",)),
    ("S1-S2", "not shorter than", "full GA", PATTERNS),
    ("E4-S2", "shorter than", "E2-S2", ("bcmp", "brot")),
    ("post S2", "as long as", "S2-S2", PATTERNS),
    ("optimal int. full", "not longer than", "full GA", PATTERNS),
    ("optimal int. w/o", "shorter than", "optimal int. full", ("brev",)),
)
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "shorter than": operator.lt,
    "not shorter than": operator.ge,
    "as long as": operator.eq,
    "not longer than": operator.le,
}


def statements(cells: Sequence[Cell]) -> list[str]:
    """Which of the paper's statements on its columns hold for the computed values."""
    computed = {(cell.row, cell.column): cell.computed for cell in cells}
    found = []
    for one, compared, other, patterns in STATEMENTS:
        pairs = [
            (pattern, computed.get((pattern, one)), computed.get((pattern, other))) for pattern in patterns
        ]
        known = [(name, a, b) for name, a, b in pairs if isinstance(a, int) and isinstance(b, int)]
        wrong = [f"{name} {a} and {b}" for name, a, b in known if not _COMPARED[compared](a, b)]
        if known:
            count = f"{len(known) - len(wrong)} of {len(known)} patterns"
            others = f" (not: {', '.join(wrong)})" if wrong else ""
            found.append(f"Published: {one} is {compared} {other}. Here so in {count}{others}.")
    return found
