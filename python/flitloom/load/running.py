"""Run many simulations on all cores; what is finished is kept when somebody interrupts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from typing import Any, TypeVar

from flitloom import interrupts
from flitloom.workers import Workers, usable_cores

Made = TypeVar("Made")


def run_all(
    work: Callable[..., Made],
    tasks: Sequence[tuple[Any, ...]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Made | None], bool]:
    """Call a function of a module with every task; what came of each, and whether it was interrupted.

    Parameters
    ----------
    work : callable
        A function that a worker process can import. A single task runs in this process and is given
        `progress`, to tell of what it does.
    tasks : sequence of tuple
        Its arguments, a tuple per call.
    workers : int, optional
        Processes; by default one per core.
    progress : callable, optional
        Told how many of how many are finished.

    Examples
    --------
    >>> from flitloom.load.running import run_all
    >>> run_all(abs, [(-1,), (2,)], workers=2)
    ([1, 2], False)
    """
    if len(tasks) == 1:
        with interrupts.keeping():
            try:
                return [work(*tasks[0], progress=progress)], False
            except KeyboardInterrupt:
                return [None], True
    made: list[Made | None] = [None] * len(tasks)
    done = 0
    interrupted = False
    with interrupts.keeping():
        pool = Workers(min(workers or usable_cores(), max(1, len(tasks))))
        try:
            futures = {pool.submit(work, *task): place for place, task in enumerate(tasks)}
            for future in as_completed(futures):
                made[futures[future]] = future.result()
                done += 1
                if progress is not None:
                    progress(done, len(tasks))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            pool.stop()
    return made, interrupted
