"""Fig. 9 of scaling-effects-2007: step responses of cl in a small and a larger torus."""

from __future__ import annotations

from flitloom.analysis.critical_load import LEVEL
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import READING, critical_loads, draw_steps, steps, unsteadiness

IDENTIFIER = "scaling-effects-2007/figure-9"
TITLE = "Step responses of cl just above the critical load, small and larger"
OPTIONS = ("quick", "full")

#: Loads in units of the critical one.
LOADS = (0.8, 1.05, 1.1, 1.2)


def reproduce(context: Context) -> Report:
    """Run the steps anew."""
    full = context.quick is False
    sizes = (32, 128) if full else (16, 32)
    critical = critical_loads(context, sizes, ("cl",))
    loads = {(size, part): round(part * critical[size, "cl"], 5) for size in sizes for part in LOADS}
    found = steps(context, [(size, "cl", load) for (size, _), load in loads.items()])
    cells = []
    received = {}
    for (size, part), load in loads.items():
        counted = found[size, "cl", load]
        last = counted.isel(window=slice(2 * counted.sizes["window"] // 3, None))
        received[size, part] = float(last.ejected_flits.sum() / last.generated_flits.sum())
        row = f"N={size} {part} r_c"
        cells += [
            Cell(row, "load", None, load),
            Cell(row, "received / generated in the last third", None, round(received[size, part], 3)),
            Cell(row, "unsteadiness", None, round(unsteadiness(counted, size), 4)),
        ]
    small, large = (min(received[size, part] for part in LOADS[1:]) for size in sizes)
    cells.append(Cell("above r_c", "breaks down deeper at the larger size", True, large < small))
    # The first of the loads at which it delivers less than the level rule asks for.
    broken = [next((part for part in LOADS if received[size, part] < LEVEL), 2.0) for size in sizes]
    for size, part in zip(sizes, broken, strict=True):
        cells.append(Cell(f"N={size}", "breaks down from", None, f"{part} r_c" if part < 2 else "nowhere"))
    cells.append(Cell("above r_c", "breaks down no later at the larger size", True, broken[1] <= broken[0]))
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "Unsteadiness is the standard deviation over the mean of the throughput in the second "
            "half, averaged over N "
            "windows of 10 cycles. The paper sees cl become unstable just above the critical load, "
            "differently by size.",
            *([] if full else ["Quick: N = 16 and 32 in place of the paper's 32 and 128."]),
        ],
    )
    panels = {
        f"cl, N={size}": (size, {f"{part} r_c": found[size, "cl", loads[size, part]] for part in LOADS})
        for size in sizes
    }
    report.files += draw_steps(context, IDENTIFIER, panels)
    return report
