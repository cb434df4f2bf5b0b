"""What ``flitloom sweep`` does."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from importlib import import_module
from typing import Any

from flitloom.booksim import is_booksim
from flitloom.commands import options, screen
from flitloom.commands.actions.rows import check_rows, kept, write_rows
from flitloom.commands.sweep import Asked
from flitloom.errors import SpecError, show_file
from flitloom.extras import need
from flitloom.jobs import Store
from flitloom.numerals import counted
from flitloom.outputs import check_output
from flitloom.simulation import experiment_memory
from flitloom.spec.experiment import change, read_fields
from flitloom.sweep import Point, Sweep, read_values, run_sweep, sweep_causes, sweep_rows


def run(asked: Asked) -> None:
    """Run what is not finished yet, and write the rows of all simulations."""
    out = asked.out
    check_rows(out)
    points = Sweep(_fields(asked), read_grid(asked.grid), asked.seeds, asked.spec.parent).points()
    _foretell_memory(points, asked.workers)
    results = Store(check_output(asked.store or out.with_suffix(".sqlite"), place="--store").absolute())
    _tell_of_earlier(points, results)
    executor = _ranks() if asked.mpi else None
    try:
        with kept(results, [point.id for point in points], "simulations") as show:
            count = run_sweep(points, results, executor=executor, workers=asked.workers, progress=show)
        rows = list(sweep_rows(points, results))
        causes = sweep_causes(points, results)
    finally:
        if executor is not None:
            executor.shutdown()
        results.close()
    write_rows(rows, out)
    if asked.json:
        screen.print_json(rows)
    for outcome, (times, first, cause) in causes.items():
        screen.say(f"note: outcome {outcome} {times} times, first of {first}: {cause}")
    screen.say(f"wrote {out}: {counted(len(rows), 'simulation')}, {count} of them run now")


def _tell_of_earlier(points: Sequence[Point], results: Store) -> None:
    """Say how many simulations of an earlier version are not believed."""
    finished = results.finished()
    if count := sum(point.by_path in finished for point in points if point.id not in finished):
        screen.say(
            f"note: {counted(count, 'simulation')} in {show_file(results.file)} are of an earlier version, "
            "which did not look into the files of the network; they are run anew"
        )


def _fields(asked: Asked) -> dict[str, Any]:
    """Fields of the experiment with what options change."""
    if is_booksim(asked.spec):
        raise SpecError.at(
            show_file(asked.spec), "is a file of BookSim2", "flitloom load curve runs it at several rates"
        )
    fields = read_fields(asked.spec)
    options.remarked_in(fields)
    options.merge(fields, {"router": {"preset": asked.preset}} if asked.preset is not None else {})
    for setting in asked.settings or []:
        change(fields, setting)
    return fields


def read_grid(entries: Sequence[str]) -> dict[str, list[Any]]:
    """Values of fields, by their paths.

    >>> read_grid(["router.buffer=4,8"])
    {'router.buffer': [4, 8]}
    """
    values = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not equals or not text or name in values:
            raise SpecError(f"--grid {entry}: write each field once, with its values, as router.buffer=4,8")
        values[name.strip()] = read_values(text)
    return values


def _foretell_memory(points: Sequence[Point], workers: int | None) -> None:
    by_topology = {str(point.spec["experiment"]["topology"]): point for point in points}
    needs = {name: experiment_memory(point.experiment) for name, point in by_topology.items()}
    screen.foretell_memory((needs[str(point.spec["experiment"]["topology"])] for point in points), workers)


def _ranks() -> Executor:
    """The ranks of MPI as an executor."""
    need("mpi", "--mpi")
    executor: Executor = import_module("mpi4py.futures").MPIPoolExecutor()
    return executor
