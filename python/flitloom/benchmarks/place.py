"""``flitloom bench place``: 70 placements of axes, stencils and kernels, with bounds and proofs."""

from __future__ import annotations

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.place_cases import cases

#: Cases that are drawn where not all are asked for: every fifth.
EVERY = 5


def run(context: Context) -> list[Row]:
    """Search all cases with the default effort: every fifth, or all of them.

    `row_major` and `fullest` are bytes on the fullest channel, `gap` what the placement has above the bound,
    in percent; seconds are wall-clock times with bounds. The last row has the number of placements that are
    proven optimal and the mean gap.
    """
    chosen = cases()
    if not context.everything:
        chosen = chosen[::EVERY]
    rows: list[Row] = []
    for case in chosen:
        found = fl.placing.place(fl.Torus(*case.sizes), case.make())
        rows.append(
            {
                "torus": "x".join(map(str, case.sizes)),
                "traffic": case.name,
                "row_major": found.row_major["fullest_channel"],
                "fullest": found.fullest_channel,
                "bound": found.bound,
                "proof": found.bound_proof["kind"],
                "optimal": found.optimal,
                "gap": round(100 * (found.fullest_channel / found.bound - 1), 1),
                "seconds": round(found.seconds, 2),
            }
        )
        context.progress(len(rows), len(chosen))
    gaps = [row["gap"] for row in rows]
    proven = sum(row["optimal"] for row in rows)
    rows.append(
        {
            **dict.fromkeys(rows[0], ""),
            "torus": "all",
            "traffic": f"{len(gaps)} cases",
            "optimal": proven,
            "gap": round(sum(gaps) / len(gaps), 1),
            "seconds": round(sum(row["seconds"] for row in rows), 2),
        }
    )
    return rows
