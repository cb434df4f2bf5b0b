"""Run many simulations on all cores; finished ones are kept at Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any, TypeVar

from flitloom.ground import interrupts, ranks
from flitloom.ground.workers import usable_cores
from flitloom.jobs import as_finished
from flitloom.load.kept import Kept

Made = TypeVar("Made")
Progress = Callable[[int, int], None]
#: Where simulations run: an executor, or so many processes of this host; by default one per core.
Pool = Executor | int | None


def run_all(
    work: Callable[..., Made],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: Pool = None,
    threads: int = 1,
    progress: Progress | None = None,
    kept: Kept[Made] | None = None,
) -> tuple[list[Made | None], bool]:
    """Call a function of a module with every task; what came of each, and whether it was interrupted.

    Parameters
    ----------
    work : callable
        A function that a worker process can import. A single task runs in this process and is given
        `progress`, to tell of what it does; on several ranks of MPI all run here, one after the other, and
        count as much each.
    tasks : sequence of tuple
        Its arguments, a tuple per call.
    workers : int or concurrent.futures.Executor, optional
        Processes, by default one per core, or per `threads` cores of each; or where the tasks run instead:
        e.g. a Dask client's executor or ``mpi4py.futures.MPIPoolExecutor``.
    threads : int
        Threads of each task.
    progress : callable, optional
        Told how many of how many are finished.
    kept : Kept, optional
        A store with a job per task: those that it has are not run, the others go into it once finished.

    Examples
    --------
    >>> from flitloom.load.running import run_all
    >>> run_all(abs, [(-1,), (2,)], workers=2)
    ([1, 2], False)
    """
    made: list[Made | None] = [None] * len(tasks)
    for place, one in ({} if kept is None else kept.found()).items():
        made[place] = one
    left = [place for place, one in enumerate(made) if one is None]
    add = _nothing if kept is None else kept.add
    on_ranks = ranks.started() > 1
    try:
        # What is finished on one rank is not yet on others.
        with nullcontext() if on_ranks else interrupts.keeping():
            if on_ranks or (len(tasks) == 1 and not isinstance(workers, Executor)):
                for count, place in enumerate(left):
                    made[place] = one = work(*tasks[place], progress=_part(progress, count, len(left)))
                    add(place, one)
                return made, False
            pool = workers or max(1, usable_cores() // threads)
            for number, one in as_finished(work, [tasks[place] for place in left], pool, progress):
                made[left[number]] = one
                add(left[number], one)
    except KeyboardInterrupt:
        # What is finished is to be written.
        interrupts.kept()
        return made, True
    return made, False


def _nothing(_place: int, _made: Made) -> None:
    """Keep nothing."""


def _part(progress: Progress | None, place: int, count: int) -> Progress | None:
    """What tells of one task among this many."""
    if progress is None:
        return None
    return lambda done, total: progress(place * total + done, count * total)
