"""``flitloom bench place_hops``: the fewest hop-bytes of the placements of ``bench place``, with bounds."""

from __future__ import annotations

from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.place import EVERY, searched, total
from flitloom.benchmarks.place_cases import Case, cases


def run(context: Context) -> list[Row]:
    """Search all cases for few hop-bytes with the default effort: every fifth, or all of them.

    `row_major` and `hop_bytes` are bytes times hops, `gap` what the placement has above the bound, in
    percent. The last rows have the number of placements that are proven optimal and the mean gap: of axes
    without lines, of axes with lines, and of grids and kernels.
    """
    chosen = cases() if context.everything else cases()[::EVERY]
    rows = searched(context, chosen, "hops", ("hop_bytes", "hop_bytes"))
    groups: dict[str, list[Row]] = {}
    for case, row in zip(chosen, rows, strict=True):
        groups.setdefault(group_of(case), []).append(row)
    return [*rows, *(total(part, name) for name, part in groups.items())]


def group_of(case: Case) -> str:
    """Whether a case has axes, and lines among them.

    Examples
    --------
    >>> [group_of(cases()[number]) for number in (0, 1, 40)]
    ['axes with lines', 'axes without lines', 'grids and kernels']
    """
    if case.kind != "axes":
        return "grids and kernels"
    lines = any(axis.kind == "line" and axis.size > 2 for axis in case.make().axes)
    return "axes with lines" if lines else "axes without lines"
