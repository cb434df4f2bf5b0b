"""The loop that gives work to a pool of workers and takes what is finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, as_completed, wait
from typing import Any, Protocol, TypeVar

from flitloom.errors import SpecError
from flitloom.ground.workers import Workers, usable_cores

Made = TypeVar("Made")
Key = TypeVar("Key", covariant=True)

#: Seconds between beats of a source, and between looks for work that may come free.
HEARTBEAT = 20.0
GLANCE = 0.5


def pool_of(executor: Any, workers: int | None = None) -> Executor | int | None:
    """Where calls run: an executor, that of a Dask client, or as many processes as `workers`.

    Raises
    ------
    SpecError
        The executor cannot run calls.
    """
    if executor is None:
        return workers
    # A client of Dask makes one.
    made = executor.get_executor() if hasattr(executor, "get_executor") else executor
    if not isinstance(made, Executor):
        advice = "give e.g. client.get_executor() of Dask, or mpi4py.futures.MPIPoolExecutor()"
        raise SpecError.at(
            "executor", f"is not a concurrent.futures.Executor but a {type(made).__name__}; {advice}"
        )
    return made


class Source(Protocol[Key]):
    """Where work comes from."""

    def take(self) -> tuple[Key, tuple[Any, ...]] | None:
        """The next piece: its key, and what the function is called with; nothing if none is free now."""

    def is_left(self) -> bool:
        """Whether more may come."""

    def beat(self) -> None:
        """Called now and then while work is done."""


def completed(
    pool: Executor, work: Callable[..., Made], source: Source[Key], ahead: int
) -> Iterator[tuple[Key, Made]]:
    """Call a function with everything a source has, at most `ahead` calls at a time; keys and results.

    What is finished comes before a call that failed ends the loop. Whatever ends it takes back what has not
    begun.
    """
    running: dict[Future[Made], Key] = {}
    beat = time.monotonic() + HEARTBEAT
    try:
        while source.is_left() or running:
            while len(running) < ahead and (piece := source.take()) is not None:
                key, arguments = piece
                running[pool.submit(work, *arguments)] = key
            if not running and source.is_left():
                time.sleep(GLANCE)
            pause = GLANCE if source.is_left() else HEARTBEAT
            ready, _ = wait(running, timeout=pause, return_when=FIRST_COMPLETED)
            for future in sorted(ready, key=lambda future: future.exception() is not None):
                yield running.pop(future), future.result()
            if time.monotonic() >= beat:
                source.beat()
                beat = time.monotonic() + HEARTBEAT
    finally:
        for future in running:
            future.cancel()


class _Listed:
    """Tasks of a list, each by its place."""

    def __init__(self, tasks: Sequence[tuple[Any, ...]]) -> None:
        self._left = iter(enumerate(tasks))
        self._next = next(self._left, None)

    def take(self) -> tuple[int, tuple[Any, ...]] | None:
        taken, self._next = self._next, next(self._left, None)
        return taken

    def is_left(self) -> bool:
        return self._next is not None

    def beat(self) -> None:
        """Nobody else is at them."""


def as_finished(
    work: Callable[..., Made],
    tasks: Sequence[tuple[Any, ...]],
    workers: Executor | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[int, Made]]:
    """Call a function of a module with every task, in workers; the places of tasks and what came of each.

    Whatever ends the loop early ends the workers, too.

    Parameters
    ----------
    work : callable
        A function that a worker can import.
    tasks : sequence of tuple
        Its arguments, a tuple per call.
    workers : int or concurrent.futures.Executor, optional
        Most processes, by default one per core that this process may use; or what runs the calls instead.
    progress : callable, optional
        Told how many of how many are finished.

    Examples
    --------
    >>> from flitloom.jobs import as_finished
    >>> sorted(as_finished(max, [(1, 5), (3, 2)], 2))
    [(0, 5), (1, 3)]
    """
    if isinstance(workers, Executor):
        yield from _elsewhere(workers, work, tasks, progress)
        return
    with Workers(min(workers or usable_cores(), max(len(tasks), 1))) as pool:
        for count, (place, made) in enumerate(completed(pool, work, _Listed(tasks), len(tasks)), 1):
            yield place, made
            if progress is not None:
                progress(count, len(tasks))


def _elsewhere(
    executor: Executor,
    work: Callable[..., Made],
    tasks: Sequence[tuple[Any, ...]],
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[int, Made]]:
    """Places and results of tasks that an executor runs, as they finish; an early end cancels the others."""
    places = {executor.submit(work, *task): place for place, task in enumerate(tasks)}
    try:
        for count, future in enumerate(as_completed(places), start=1):
            yield places[future], future.result()
            if progress is not None:
                progress(count, len(tasks))
    finally:
        for future in places:
            future.cancel()
