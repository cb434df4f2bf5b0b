"""Run the jobs that are not finished yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import suppress
from typing import Any

from flitloom.errors import FlitloomError, SpecError
from flitloom.ground.workers import Workers, usable_cores
from flitloom.jobs.job import Job
from flitloom.jobs.pool import completed, pool_of
from flitloom.jobs.store import Store, this_process

#: Jobs that are claimed ahead where others' workers run them.
AHEAD = 256


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    work: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run all jobs that the store does not have; finished ones are kept at once.

    Several processes, also on several hosts, may run the same jobs on one store: each job is claimed before
    it runs and done once. All of them end when all jobs are finished.

    Parameters
    ----------
    jobs : sequence of Job
        What is to be run.
    store : Store
        Where results go.
    work : callable
        What is done for a job, given its spec: a function that a worker can import.
    executor : concurrent.futures.Executor, optional
        Where jobs run: processes of this host by default; also ``mpi4py.futures.MPIPoolExecutor`` or a Dask
        client.
    workers : int, optional
        Number of these processes; by default one per core.
    progress : callable, optional
        Called with the number of finished jobs and of all.

    Returns
    -------
    int
        How many were run now and here.

    Examples
    --------
    >>> from flitloom.jobs import Job, Store, run_jobs
    >>> store = Store(":memory:")
    >>> run_jobs([Job("plan", {"seed": 1}), Job("plan", {"seed": 2})], store, dict, workers=1)
    2
    >>> sorted(store.result(name)["seed"] for name in store.finished())
    [1, 2]
    """
    given = pool_of(executor)
    own = None if isinstance(given, Executor) else Workers(workers)
    # Few are claimed ahead, so that processes share them evenly and all stop at once.
    ahead = AHEAD if own is None else 2 * (workers or usable_cores())
    claims = _Claims(jobs, store, progress)
    here = 0
    try:
        for job, result in completed(own or given, work, claims, ahead):  # type: ignore[arg-type]
            store.add(job, result)
            here += 1
            claims.count()
    except BrokenExecutor as error:
        raise FlitloomError(f"campaign: a worker process ended before its work did: {error}") from None
    finally:
        if own is not None:
            own.stop()
        # A store that fails now has said so already.
        with suppress(SpecError):
            store.release(claims.owner)
    return here


class _Claims:
    """Jobs that are left, claimed one by one."""

    def __init__(
        self, jobs: Sequence[Job], store: Store, progress: Callable[[int, int], None] | None
    ) -> None:
        finished = store.finished()
        self.owner = this_process()
        self._store, self._progress = store, progress
        self._waiting = deque(job for job in jobs if job.id not in finished)
        self._done, self._all = len(jobs) - len(self._waiting), len(jobs)

    def take(self) -> tuple[Job, tuple[dict[str, Any]]] | None:
        for _ in range(len(self._waiting)):
            job = self._waiting.popleft()
            match self._store.claim(job, self.owner):
                case "claimed":
                    return job, (job.spec,)
                case "finished":
                    self.count()
                case _:
                    # Another process runs it; it is run here if that one fails.
                    self._waiting.append(job)
        return None

    def is_left(self) -> bool:
        return bool(self._waiting)

    def beat(self) -> None:
        self._store.renew(self.owner)

    def count(self) -> None:
        """One more is done, here or elsewhere."""
        self._done += 1
        if self._progress:
            self._progress(self._done, self._all)
