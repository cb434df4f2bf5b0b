"""Table 4 of cup-stacking-extended-2023: all methods of genetic search beside each other."""

from __future__ import annotations

from typing import Any

from flitloom.papers.cup_stacking import ROUTER_REMARK
from flitloom.papers.cup_stacking_genetic import searches, table
from flitloom.papers.report import Context, Report

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
    return Report(IDENTIFIER, TITLE, cells, [remark, ROUTER_REMARK])
