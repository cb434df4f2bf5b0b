"""Fig. 13 of state-propagation-throttling-2015: durations over the length of the registers."""

from __future__ import annotations

from flitloom.ground.numerals import counted
from flitloom.papers.congestion import burst, on_all_cores
from flitloom.papers.report import Cell, Context, Report
from flitloom.papers.state_propagation import PACKETS, PATTERNS, RANDOM, READING, setting
from flitloom.plots.style import COLOURS, MARKERS

IDENTIFIER = "state-propagation-throttling-2015/figure-13"
TITLE = "Durations of collective communication over the length of the VCinfo registers (32x32)"
OPTIONS = ("quick", "full")

LENGTHS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
MARGINS = (0, 8)
#: How much longer a burst takes for it to be seen in the figure, and the bits of registers that share a link.
VISIBLE, SHARED = 1.03, 16


def reproduce(context: Context) -> Report:
    """Run the bursts anew."""
    full = context.quick is False
    repeats = 10 if full else 1
    keys, tasks = [], []
    for margin in MARGINS:
        for pattern in PATTERNS:
            for length in LENGTHS:
                throttle = f"spth:margin={margin},length={length}" if length else "none"
                for number in range(repeats if pattern in RANDOM else 1):
                    keys.append((margin, pattern, length))
                    tasks.append((setting(throttle), pattern, PACKETS, context.seed + number))
    found: dict[tuple[int, str, int], list[int]] = {}
    for key, duration in zip(keys, on_all_cores(context, "bursts", burst, tasks), strict=True):
        found.setdefault(key, []).append(duration)
    mean = {key: sum(values) / len(values) for key, values in found.items()}
    cells = []
    best: dict[tuple[int, str], int] = {}
    for margin in MARGINS:
        for pattern in PATTERNS:
            for length in LENGTHS:
                value: float = mean[margin, pattern, length]
                if pattern not in RANDOM:
                    value = int(value)
                cells.append(Cell(f"{pattern} th({margin})", str(length), None, value))
            best[margin, pattern] = min(LENGTHS, key=lambda length: mean[margin, pattern, length])
            cells.append(Cell(f"{pattern} th({margin})", "best length", None, best[margin, pattern]))
    for margin in MARGINS:
        lengths = {best[margin, pattern] for pattern in PATTERNS if pattern not in ("trns", "torn")}
        row = f"all patterns th({margin})"
        cells.append(Cell(row, "best length depends on the pattern", True, len(lengths) > 1))
        worse = [
            pattern
            for pattern in PATTERNS
            if mean[margin, pattern, 1] > 1.02 * min(mean[margin, pattern, length] for length in LENGTHS[4:])
        ]
        cells += [
            Cell(row, "patterns that one bit serves worse", None, len(worse)),
            Cell(row, "short registers hurt", True, bool(worse)),
        ]
    cells += shared_link(context, {key: value for key, value in mean.items() if key[1] not in RANDOM})
    report = Report(
        IDENTIFIER,
        TITLE,
        cells,
        [
            READING,
            f"On a shared link the registers of its channels, {SHARED} bits each, are told one at a time "
            f"(5.4.5); up to {VISIBLE - 1:.0%} of a duration cannot be seen.",
            "Columns are lengths in bits, 0 is no throttling. The paper has curves only, and does "
            "not say its margin.",
            f"Random patterns are means of {counted(repeats, 'experiment')}.",
        ],
    )
    if picture := context.file(IDENTIFIER, ".png"):
        from flitloom.plots.canvas import figure

        with figure(picture, 8, 9) as drawing:
            for axes, margin in zip(drawing.subplots(2, 1), MARGINS, strict=True):
                for number, pattern in enumerate(PATTERNS):
                    values = [mean[margin, pattern, length] for length in LENGTHS]
                    again, place = divmod(number, len(COLOURS))
                    axes.plot(
                        LENGTHS, values, "--" if again else "-", marker=MARKERS[number], markersize=4,
                        color=COLOURS[place], label=pattern,
                    )  # fmt: skip
                axes.set(title=f"th({margin})", xlabel="length (bits; 0: no throttling)")
                axes.set_ylabel("duration (cycles)")
                axes.set_ylim(bottom=0)
                axes.grid(alpha=0.3)
            drawing.axes[1].legend(frameon=False, fontsize="small", ncols=2)
        report.files.append(picture)
    return report


def shared_link(context: Context, dedicated: dict[tuple[int, str, int], float]) -> list[Cell]:
    """Durations over those with a link for every register, of the patterns that are not random."""
    keys = sorted({(margin, pattern) for margin, pattern, _ in dedicated})
    tasks = [
        (setting(f"spth:margin={margin},length={SHARED},link=shared"), pattern, PACKETS, context.seed)
        for margin, pattern in keys
    ]
    cells = []
    longer: dict[int, list[float]] = {}
    for (margin, pattern), duration in zip(
        keys, on_all_cores(context, "bursts over shared links", burst, tasks), strict=True
    ):
        ratio = duration / dedicated[margin, pattern, SHARED]
        longer.setdefault(margin, []).append(ratio)
        cells.append(Cell(f"{pattern} th({margin})", "on a shared link", None, round(ratio, 3)))
    for margin, ratios in longer.items():
        row, mean = f"all patterns th({margin})", sum(ratios) / len(ratios)
        cells.append(Cell(row, "a shared link costs nothing visible on average", True, mean < VISIBLE))
    return cells
