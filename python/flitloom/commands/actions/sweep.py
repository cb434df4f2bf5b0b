"""What ``flitloom sweep`` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from flitloom.booksim import is_booksim
from flitloom.commands import options, screen
from flitloom.commands.actions.rows import check_rows, kept, write_rows
from flitloom.commands.inputs.booksim import read
from flitloom.commands.options.network import has_switches
from flitloom.commands.sweep import Asked
from flitloom.errors import SpecError, show_file
from flitloom.ground.extras import need
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.jobs import Store, run_jobs
from flitloom.networks.experiment import change, read_fields
from flitloom.run.simulation import experiment_memory
from flitloom.spec.what import fields_of, with_network
from flitloom.sweep import Point, Sweep, read_values, sweep_causes, sweep_rows
from flitloom.sweep import booksim as sweeps
from flitloom.sweep.running import run_point


def run(asked: Asked) -> None:
    """Run what is not finished yet, and write the rows of all simulations."""
    out = asked.out
    check_rows(out)
    kind = _booksim(asked) if is_booksim(asked.spec) else _experiment(asked)
    results = Store(check_output(asked.store or out.with_suffix(".sqlite"), place="--store").absolute())
    _tell_of_earlier(kind.points, results)
    executor = _ranks() if asked.mpi else None
    ids = [point.id for point in kind.points]
    try:
        with kept(results, ids, "simulations") as show:
            count = run_jobs(
                kind.points, results, kind.work, executor=executor, workers=asked.workers, progress=show
            )
        rows = list(kind.rows(kind.points, results))
        causes = kind.causes(kind.points, results)
    finally:
        if executor is not None:
            executor.shutdown()
        results.close()
    write_rows(rows, out)
    if asked.json:
        screen.print_json(rows)
    for outcome, (times, first, cause) in causes.items():
        screen.say(f"note: outcome {outcome} {times} times, first of {first}: {cause}")
    screen.say(f"wrote {out}: {counted(len(set(ids)), 'simulation')}, {count} of them run now")


def _tell_of_earlier(points: Sequence[Any], results: Store) -> None:
    """Say how many simulations of an earlier version are not believed."""
    finished = results.finished()
    if not finished:
        return
    new = (point for point in points if isinstance(point, Point) and point.id not in finished)
    if count := sum(not finished.isdisjoint(point.earlier) for point in new):
        screen.say(
            f"note: {counted(count, 'simulation')} in {show_file(results.file)} are of an earlier version, "
            "which judged loads otherwise or did not look into the files of the network; they are run anew"
        )


@dataclass(frozen=True)
class _Kind:
    """What is swept: its simulations, what is done for one, and what is told of all."""

    points: Sequence[Any]
    work: Callable[[dict[str, Any]], dict[str, Any]]
    rows: Callable[[Sequence[Any], Store], Iterator[dict[str, Any]]]
    causes: Callable[[Sequence[Any], Store], dict[str, tuple[int, str, str]]]


def _experiment(asked: Asked) -> _Kind:
    grid = read_grid(asked.grid)
    options.remarked_in({name.rpartition(".")[2]: values for name, values in grid.items()})
    points = Sweep(_fields(asked), grid, asked.seeds, asked.spec.parent).points()
    _foretell_memory(points, asked.workers)
    return _Kind(points, run_point, sweep_rows, sweep_causes)


def _booksim(asked: Asked) -> _Kind:
    for option, value in (("--preset", asked.preset), ("--network", asked.network)):
        if value is not None:
            raise SpecError.at(option, "does not go with a file of BookSim2", "write --set NAME=VALUE")
    grid = read_grid(asked.grid)
    points = sweeps.booksim_points(read(asked.spec, asked.settings or []), grid, asked.seeds)
    return _Kind(points, sweeps.run_point, sweeps.booksim_rows, sweeps.booksim_causes)


def _fields(asked: Asked) -> dict[str, Any]:
    """Fields of the experiment with what options change."""
    fields = read_fields(asked.spec)
    options.remarked_in(fields)
    options.merge(fields, {"router": {"preset": asked.preset}} if asked.preset is not None else {})
    if asked.network is not None:
        fields["topology"] = fields_of(asked.network, "--network")
        if has_switches(None, asked.network, None, None):
            options.merge(fields, {"router": {"model": "pipelined"}})
    for setting in asked.settings or []:
        change(fields, setting)
    return with_network(fields)


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
