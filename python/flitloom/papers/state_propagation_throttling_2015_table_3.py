"""Table 3 of state-propagation-throttling-2015: how much throttling gains at other sizes."""

from __future__ import annotations

from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import PATTERNS, READING, TORN, durations

IDENTIFIER = "state-propagation-throttling-2015/table-3"
TITLE = "Durations without throttling over those with it, by size of the torus"
OPTIONS = ("quick", "full")

SIZES = (8, 16, 32, 64, 128)
#: th(0) and th(8) per size.
PUBLISHED: dict[str, tuple[float, ...]] = {
    "trns": (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 0.99, 1.00, 1.00),
    "shfl": (1.07, 0.85, 0.88, 0.88, 1.09, 1.09, 1.22, 1.21, 1.13, 1.27),
    "bcmp": (1.00, 1.00, 1.10, 1.08, 1.36, 1.34, 1.31, 1.40, 1.30, 1.38),
    "brev": (1.00, 0.96, 1.02, 1.06, 1.07, 1.10, 1.08, 1.13, 1.07, 1.07),
    "brot": (1.00, 0.95, 1.02, 1.06, 1.20, 1.27, 1.14, 1.39, 1.11, 1.03),
    "torn": (1.00, 1.00, 1.10, 1.26, 1.21, 1.83, 1.24, 3.05, 1.81, 4.42),
    "rand": (0.99, 0.93, 1.00, 1.01, 1.03, 1.06, 1.06, 1.07, 1.05, 1.14),
    "rpar": (0.99, 0.89, 1.03, 1.04, 1.05, 1.08, 1.07, 1.12, 1.08, 1.16),
}


def reproduce(context: Context) -> Report:
    """Compute the table anew."""
    full = context.quick is False
    sizes = SIZES if full else SIZES[:4]
    found = durations(context, sizes, 10 if full else 3)
    cells = []
    gain: dict[tuple[str, int], float] = {}
    for pattern in PATTERNS:
        for place, size in enumerate(sizes):
            mean = {name: sum(found[size, pattern, name]) for name in ("no-th", "th(0)", "th(8)")}
            for offset, name in enumerate(("th(0)", "th(8)")):
                ratio = mean["no-th"] / mean[name]
                gain[pattern, size] = max(gain.get((pattern, size), 0.0), ratio)
                paper = PUBLISHED[pattern][2 * place + offset]
                # Two decimals are printed.
                cells.append(Cell(pattern, f"N={size} {name}", paper, round(ratio, 2), tolerance=0.005))
    gaining = sorted(PATTERNS, key=lambda pattern: -gain[pattern, 32])[:3]
    cells.append(Cell("shfl, brot, bcmp", "gain most at N=32", True, {*gaining} == {"shfl", "brot", "bcmp"}))
    for pattern in ("shfl", "brot", "bcmp"):
        rising = [gain[pattern, size] for size in (8, 16, 32, 64)]
        cells.append(Cell(pattern, "gain grows to N=64", True, rising == sorted(rising)))
    return Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            TORN,
            "The paper's registers have at most 32 bits, which is N/2 up to N=64; at N=128 they have 64 here."
            if full
            else "--full computes N=128 too, and ten experiments per random pattern instead of three.",
        ],
    )
