"""Run the searches of a campaign that are not finished yet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from typing import Any

from flitloom.campaign.jobs import Job
from flitloom.campaign.store import Store, this_process
from flitloom.errors import FlitloomError, SpecError
from flitloom.genetic import extrapolate, search
from flitloom.workers import Workers, usable_cores

#: Seconds between renewals of claims, and between looks at what other processes have done.
HEARTBEAT = 20.0
GLANCE = 0.5


def run_job(spec: dict[str, Any]) -> dict[str, Any]:
    """One search on one thread; its result is a function of the spec alone, except for the seconds."""
    job = Job(spec)
    begin = time.perf_counter()
    found = search(
        job.network, job.collective, job.settings, genes=spec["genes"], seed=spec["seed"], threads=1
    )
    if found.stopped:
        raise KeyboardInterrupt
    records = list(found.records)
    if spec["extrapolate"]:
        # All recorded chromosomes, so that synonyms make it the post-stacking method.
        records = [extrapolate(record, spec["extrapolate"], threads=1) for record in records]
    best = min(records, key=lambda record: record.duration)
    return {
        "score": found.score,
        "duration": best.duration,
        "best": list(found.best),
        "records": len(records),
        "simulations": found.simulations,
        "chromosome": best.model_dump(mode="json"),
        "seconds": time.perf_counter() - begin,
    }


def run_campaign(
    jobs: Sequence[Job],
    store: Store,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    work: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
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
    executor : concurrent.futures.Executor, optional
        Where jobs run: processes of this host by default; also ``mpi4py.futures.MPIPoolExecutor`` or a Dask
        client's executor.
    workers : int, optional
        Number of these processes; by default one per core.
    progress : callable, optional
        Called with the number of finished jobs and of all.
    work : callable, optional
        What is done for a job, given its spec; a genetic search by default.

    Returns
    -------
    int
        How many were run now and here.
    """
    pool = executor or Workers(workers)
    # Few searches are claimed ahead, so that processes share them evenly and a campaign stops at once.
    ahead = 2 * (workers or usable_cores()) if executor is None else 256
    owner = this_process()
    run = _Run(jobs, store, progress)
    open_jobs: dict[Future[dict[str, Any]], Job] = {}
    beat = time.monotonic() + HEARTBEAT
    try:
        while run.waiting or open_jobs:
            attempts = len(run.waiting)
            while attempts and len(open_jobs) < ahead:
                job = run.waiting.popleft()
                attempts -= 1
                match store.claim(job, owner):
                    case "claimed":
                        open_jobs[pool.submit(work or run_job, job.spec)] = job
                    case "finished":
                        run.count()
                    case _:
                        # Another process is at it; it may be ours yet if that one fails.
                        run.waiting.append(job)
            if not open_jobs:
                time.sleep(GLANCE)
            pause = GLANCE if run.waiting else HEARTBEAT
            ready, _ = wait(open_jobs, timeout=pause, return_when=FIRST_COMPLETED)
            # What is finished is kept before a search that failed ends the rest.
            for future in sorted(ready, key=lambda future: future.exception() is not None):
                store.add(open_jobs.pop(future), future.result())
                run.here += 1
                run.count()
            if time.monotonic() >= beat:
                store.renew(owner)
                beat = time.monotonic() + HEARTBEAT
    except BrokenExecutor as error:
        raise FlitloomError(f"campaign: a worker process ended before its work did: {error}") from None
    finally:
        for future in open_jobs:
            future.cancel()
        if isinstance(pool, Workers) and executor is None:
            pool.stop()
        # A store that fails now has said so already.
        with suppress(SpecError):
            store.release(owner)
    return run.here


class _Run:
    """Which searches are left, and how many are done."""

    def __init__(
        self, jobs: Sequence[Job], store: Store, progress: Callable[[int, int], None] | None
    ) -> None:
        finished = store.finished()
        self.waiting = deque(job for job in jobs if job.id not in finished)
        self.here = 0
        self._done, self._all, self._progress = len(jobs) - len(self.waiting), len(jobs), progress

    def count(self) -> None:
        """One more is done, here or elsewhere."""
        self._done += 1
        if self._progress:
            self._progress(self._done, self._all)
