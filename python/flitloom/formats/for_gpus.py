"""Writes what programs on GPUs load: a GPU after the other, and who takes the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.loaders import Counts, in_words
from flitloom.collectives.members import ranks_file
from flitloom.errors import SpecError, show_file
from flitloom.formats.format import Writing
from flitloom.ground.outputs import write_csv, write_lines


def write_for_gpus(
    plan: CollectivePlan,
    file: Path,
    how: Writing,
    format_: str,
    lines: Callable[[CollectivePlan, Counts], Iterator[str]],
) -> list[str]:
    """Write the texts of all GPUs, and where not all nodes take part a table of ranks beside the file.

    Returns
    -------
    list of str
        Which programs take the file, and where the table is.
    """
    if plan.groups is not None:
        raise SpecError.at(
            "plan",
            f"{format_} has one operation of all ranks, and the plan is of several groups",
            "write .goal, .bin or .et",
        )
    counts = Counts(how.loader)
    parts = lines(plan, counts)
    nodes = len(plan.members)

    def told() -> Iterator[str]:
        for number, part in enumerate(parts):
            yield part
            how.told(min(number, nodes), nodes)

    write_lines(file, told())
    notes = []
    if nodes < plan.ground.nodes:
        ranks = ranks_file(file)
        write_csv(("rank", "node"), enumerate(plan.members), ranks)
        notes.append(f"rank r is the r-th node that takes part, see {show_file(ranks)}")
    return notes + in_words(format_, counts)
