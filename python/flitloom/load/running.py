"""Run many simulations on all cores; what is finished is kept when somebody interrupts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flitloom import interrupts
from flitloom.workers import as_finished

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
                interrupts.kept()
                return [None], True
    made: list[Made | None] = [None] * len(tasks)
    with interrupts.keeping():
        try:
            for place, one in as_finished(work, tasks, workers, progress):
                made[place] = one
        except KeyboardInterrupt:
            # What is finished is to be written.
            interrupts.kept()
            return made, True
    return made, False
