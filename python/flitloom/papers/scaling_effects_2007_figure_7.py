"""Fig. 7 of scaling-effects-2007: step responses of do and cl in a large torus."""

from __future__ import annotations

from flitloom import analysis
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import (
    READING,
    critical_loads,
    draw_steps,
    overshoot,
    steps,
    unsteadiness,
)

IDENTIFIER = "scaling-effects-2007/figure-7"
TITLE = "Step responses at 0.8 and 1.2 of the critical load and at 0.5: do and cl in a large torus"
OPTIONS = ("quick", "full")

ROUTINGS = ("do", "cl")
LOADS = ("0.8 r_c", "1.2 r_c", "0.5")


def reproduce(context: Context) -> Report:
    """Run the steps anew."""
    full = context.quick is False
    size = 512 if full else 32
    critical = critical_loads(context, (size,), ROUTINGS)
    loads = {
        (routing, name): 0.5 if name == "0.5" else round(float(name.split()[0]) * critical[size, routing], 5)
        for routing in ROUTINGS
        for name in LOADS
    }
    found = steps(context, [(size, routing, load) for (routing, _), load in loads.items()])
    cells = []
    for (routing, name), load in loads.items():
        counted = found[size, routing, load]
        settled = analysis.settling_time(counted)
        row = f"{routing} {name}"
        cells += [
            Cell(row, "load", None, load),
            Cell(
                row, "settling time", None, settled.outcome if settled.value is None else int(settled.value)
            ),
            Cell(row, "peak over final throughput", None, round(overshoot(counted, size), 2)),
            Cell(row, "unsteadiness", None, round(unsteadiness(counted, size), 4)),
        ]
    over = {key: overshoot(found[size, key[0], load], size) for key, load in loads.items()}
    for routing in ROUTINGS:
        cells += [
            Cell(f"{routing} 0.5", "overshoots", True, over[routing, "0.5"] > 1.2),
            Cell(f"{routing} 0.8 r_c", "does not overshoot", True, over[routing, "0.8 r_c"] < 1.2),
        ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "Unsteadiness is the standard deviation over the mean of the throughput in the second "
            "half, averaged over N "
            "windows of 10 cycles.",
            *([] if full else ["Quick: N = 32 in place of the paper's 512."]),
        ],
    )
    panels = {
        f"{routing}, N={size}": (size, {name: found[size, routing, loads[routing, name]] for name in LOADS})
        for routing in ROUTINGS
    }
    report.files += draw_steps(context, IDENTIFIER, panels)
    return report
