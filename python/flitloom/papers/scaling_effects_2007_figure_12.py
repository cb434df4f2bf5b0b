"""Fig. 12 of scaling-effects-2007: durations of impulses over the size of the torus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from flitloom.analysis.impulse import Recovery
from flitloom.papers.congestion import on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.scaling_effects import (
    COLOURS,
    IMPULSES,
    READING,
    ROUTINGS,
    SAME_POWER,
    apart,
    critical_loads,
    exponent,
    over_sizes,
    recover,
)

IDENTIFIER = "scaling-effects-2007/figure-12"
TITLE = "Durations of impulses over the size of the torus, at 0.8 of the critical load"
OPTIONS = ("quick", "full")

QUICK, FULL = (8, 16, 32), (8, 16, 32, 64, 128)
#: Packets of an impulse, per node.
QUICK_PACKETS = {"random": (5,), "transpose": (5,), "hotspot": (1,)}
FULL_PACKETS = {"random": (5, 20), "transpose": (5, 20), "hotspot": (1,)}
#: Patterns whose rates are compared, and the seeds that takes: durations of one pattern differ by a third.
COMPARED, QUICK_SEEDS, FULL_SEEDS = ("random", "transpose"), 12, 4


#: Recoveries by kind of impulse, packets, routing and size.
Found = Mapping[tuple[str, int, str, int], Recovery]


def reproduce(context: Context) -> Report:
    """Run the impulses anew."""
    full = context.quick is False
    sizes, amounts = (FULL, FULL_PACKETS) if full else (QUICK, QUICK_PACKETS)
    critical = critical_loads(context, sizes)
    keys, tasks = [], []
    for size in reversed(sizes):
        for routing in ROUTINGS:
            for kind in IMPULSES:
                for packets in amounts[kind]:
                    background = round(0.8 * critical[size, routing], 5)
                    keys.append((kind, packets, routing, size))
                    tasks.append((size, routing, kind, packets, background, context.seed, 3 if full else 2))
    found = dict(zip(keys, on_all_cores(context, "impulses", recover, tasks), strict=True))
    cells, powers = _cells(found, sizes, amounts)
    first = {kind: amounts[kind][0] for kind in IMPULSES}
    recovered = {
        (kind, routing, size)
        for (kind, packets, routing, size), recovery in found.items()
        if packets == first[kind] and recovery.duration.value
    }
    differences = compare(context, sizes, first, critical, recovered)
    mean, differ = apart(differences)
    if mean is not None:
        row = " less ".join(reversed(COMPARED))
        cells += [
            Cell(row, "power of N", None, round(mean.mean, 2)),
            Cell(row, "+-", None, round(mean.half_width, 2)),
            Cell(row, "pairs", None, len(differences)),
        ]
    cells += [
        Cell("all", "durations grow with N", True, bool(powers) and min(powers.values()) > 0),
        Cell("all", "the rate depends on the pattern", True, differ),
        Cell(
            "all",
            "impulses that are not recovered from",
            None,
            sum(recovery.duration.outcome in ("collapsed", "not recovered") for recovery in found.values()),
        ),
    ]
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            "Durations in cycles; outcomes that are not numbers: not visible, not recovered within "
            "a few times what the "
            "impulse's flits need, collapsed. The hotspot takes all packets of its impulse, one flit "
            "per cycle.",
            "Rates are compared by the powers of N of transpose and random impulses, in pairs of one "
            f"routing and one of {FULL_SEEDS if full else QUICK_SEEDS} seeds, over the sizes at which "
            "both are recovered from: they differ if the 95 % interval of the mean leaves 0 out, and "
            f"are the same if it lies within {SAME_POWER} of it.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        _draw(picture, found, sizes, amounts)
        report.files.append(picture)
    return report


def _cells(
    found: Found, sizes: Sequence[int], amounts: Mapping[str, Sequence[int]]
) -> tuple[list[Cell], dict[tuple[str, int, str], float]]:
    """A cell per duration, and the powers of N by which they grow."""
    cells: list[Cell] = []
    powers: dict[tuple[str, int, str], float] = {}
    for kind in IMPULSES:
        for packets in amounts[kind]:
            for routing in ROUTINGS:
                row = f"{kind} np={packets} {routing}"
                known = []
                for size in sizes:
                    duration = found[kind, packets, routing, size].duration
                    value = None if duration.value is None else int(duration.value)
                    cells.append(Cell(row, f"N={size}", None, duration.outcome if value is None else value))
                    if value:
                        known.append((size, float(value)))
                if len(known) > 1:
                    powers[kind, packets, routing] = exponent([s for s, _ in known], [v for _, v in known])
                    cells.append(Cell(row, "power of N", None, round(powers[kind, packets, routing], 2)))
    return cells, powers


def _draw(picture: Path, found: Found, sizes: Sequence[int], amounts: Mapping[str, Sequence[int]]) -> None:
    """Durations over sizes, of the smallest impulse of each kind."""
    from flitloom.plots.canvas import figure

    with figure(picture, 8, 5) as drawing:
        axes = drawing.subplots()
        for kind, marker in zip(IMPULSES, "os^", strict=True):
            packets = amounts[kind][0]
            for routing in ROUTINGS:
                points = [
                    (size, found[kind, packets, routing, size].duration.value)
                    for size in sizes
                    if found[kind, packets, routing, size].duration.value
                ]
                if points:
                    label = f"{kind} np={packets} {routing}"
                    axes.plot(
                        *zip(*points, strict=True),
                        marker=marker,
                        color=COLOURS[routing],
                        lw=0.8,
                        label=label,
                    )
        over_sizes(axes, sizes, "duration (cycles)")
        axes.set_title("at 0.8 of the critical load")
        axes.legend(frameon=False, fontsize="small")


def compare(
    context: Context,
    sizes: tuple[int, ...],
    packets: dict[str, int],
    critical: dict[tuple[int, str], float],
    recovered: set[tuple[str, str, int]],
) -> list[float]:
    """Differences of the powers of N of the compared patterns, by routing and seed."""
    full = context.quick is False
    common = {
        routing: [size for size in sizes if all((kind, routing, size) in recovered for kind in COMPARED)]
        for routing in ROUTINGS
    }
    keys, tasks = [], []
    for seed in range(context.seed, context.seed + (FULL_SEEDS if full else QUICK_SEEDS)):
        for routing, both in common.items():
            for size in reversed(both if len(both) > 1 else []):
                for kind in COMPARED:
                    background = round(0.8 * critical[size, routing], 5)
                    keys.append((routing, seed, kind, size))
                    tasks.append((size, routing, kind, packets[kind], background, seed, 3 if full else 2))
    made = on_all_cores(context, "impulses of other seeds", recover, tasks)
    lasted = {key: recovery.duration.value for key, recovery in zip(keys, made, strict=True)}
    differences = []
    for routing, seed in dict.fromkeys((routing, seed) for routing, seed, _, _ in keys):
        values = [[lasted[routing, seed, kind, size] for size in common[routing]] for kind in COMPARED]
        measured = [[value for value in row if value] for row in values]
        if all(len(row) == len(common[routing]) for row in measured):
            one, other = (exponent(common[routing], row) for row in measured)
            differences.append(other - one)
    return differences
