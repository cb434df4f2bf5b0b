"""``flitloom bench place``: 70 placements of axes, stencils and kernels, with bounds and proofs."""

from __future__ import annotations

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.place_cases import Case, cases

#: Cases that are drawn where not all are asked for: every fifth.
EVERY = 5


def run(context: Context) -> list[Row]:
    """Search all cases with the default effort: every fifth, or all of them.

    `row_major` and `busiest` are bytes on the busiest channel, `gap` what the placement has above the bound,
    in percent; seconds are wall-clock times with bounds. The last row has the number of placements that are
    proven optimal and the mean gap.
    """
    chosen = cases() if context.everything else cases()[::EVERY]
    rows = searched(context, chosen, "channel", ("busiest_channel", "busiest"))
    return [*rows, total(rows, "all")]


def searched(context: Context, chosen: list[Case], minimise: str, named: tuple[str, str]) -> list[Row]:
    """A row for every case; `named` is what is minimised as a placement calls it, and as the column does."""
    rows: list[Row] = []
    for case in chosen:
        found = fl.placing.place(fl.Torus(*case.sizes), case.make(), minimise=minimise)
        rows.append(
            {
                "torus": "x".join(map(str, case.sizes)),
                "traffic": case.name,
                "row_major": found.row_major[named[0]],
                named[1]: found.reached,
                "bound": found.bound,
                "proof": found.bound_proof["kind"],
                "optimal": found.optimal,
                "gap": round(100 * (found.reached / found.bound - 1), 1),
                "seconds": round(found.seconds, 2),
            }
        )
        context.progress(len(rows), len(chosen))
    return rows


def total(rows: list[Row], name: str) -> Row:
    """How many of these placements are proven optimal, and their mean gap."""
    return {
        **dict.fromkeys(rows[0], ""),
        "torus": name,
        "traffic": f"{len(rows)} cases",
        "optimal": sum(row["optimal"] for row in rows),
        "gap": round(sum(row["gap"] for row in rows) / len(rows), 1),
        "seconds": round(sum(row["seconds"] for row in rows), 2),
    }
