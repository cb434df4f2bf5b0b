"""Table 2 of state-propagation-throttling-2015: durations of collective communication."""

from __future__ import annotations

from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import PATTERNS, RANDOM, READING, THROTTLES, TORN, durations

IDENTIFIER = "state-propagation-throttling-2015/table-2"
TITLE = "Durations of collective communication (32x32 torus, ten packets of eight flits per node)"

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "trns": (1301, 1301, 1307),
    "shfl": (2295, 2108, 2108),
    "bcmp": (1271, 920, 950),
    "brev": (1820, 1714, 1656),
    "brot": (1842, 1547, 1446),
    "torn": (1056, 869, 578),
    "rand": (671.5, 653.3, 633.1),
    "rpar": (1013.3, 991.8, 949.5),
}
#: Experiments with random patterns, as in the paper.
REPEATS = 10


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    found = durations(context, (32,), REPEATS)
    cells = []
    for pattern in PATTERNS:
        computed = {}
        for name, paper in zip(THROTTLES, PUBLISHED[pattern], strict=True):
            values = found[32, pattern, name]
            computed[name] = sum(values) / len(values)
            value = computed[name] if pattern in RANDOM else values[0]
            cells.append(Cell(pattern, name, int(paper) if pattern not in RANDOM else paper, value))
        cells += [
            Cell(pattern, f"no-th / {name}", None, round(computed["no-th"] / computed[name], 3))
            for name in ("th(0)", "th(8)")
        ]
        if pattern not in ("trns", "torn"):
            faster = min(computed["th(0)"], computed["th(8)"]) < computed["no-th"]
            cells.append(Cell(pattern, "throttling makes it faster", True, faster))
    close = [
        abs(float(cell.computed) / float(cell.paper) - 1)
        for cell in cells
        if isinstance(cell.computed, int | float)
        and isinstance(cell.paper, int | float)
        and cell.row != "torn"
        if not isinstance(cell.paper, bool)
    ]
    near = sum(gap <= 0.05 for gap in close)
    return Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            f"Without torn, {near} of {len(close)} durations are within 5 % of the published ones, "
            "and all within "
            f"{max(close):.0%}. Random patterns are means of {REPEATS} experiments, as in the paper.",
            TORN,
        ],
    )
