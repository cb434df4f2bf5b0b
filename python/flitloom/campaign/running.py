"""Run the searches of a campaign that are not finished yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any

from flitloom.campaign.jobs import Job
from flitloom.campaign.store import Store
from flitloom.genetic import extrapolate, search


def run_job(spec: dict[str, Any]) -> dict[str, Any]:
    """One search on one thread; its result is a function of the spec alone, but for the seconds."""
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
) -> int:
    """Run all jobs that the store does not have; finished ones are kept at once.

    Parameters
    ----------
    jobs : sequence of Job
        What is to be run.
    store : Store
        Where results go.
    executor : concurrent.futures.Executor, optional
        Where jobs run: a process pool by default; also ``mpi4py.futures.MPIPoolExecutor`` or a Dask
        client's executor.
    workers : int, optional
        Processes of the default pool; by default one per core.
    progress : callable, optional
        Called with the number of finished jobs and of all.

    Returns
    -------
    int
        How many were run now.
    """
    finished = store.finished()
    waiting = [job for job in jobs if job.id not in finished]
    if not waiting:
        return 0
    # Spawned processes share no locks or threads with this one.
    pool = executor or ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    done = len(jobs) - len(waiting)
    run = 0
    open_jobs: dict[Future[dict[str, Any]], Job] = {}
    # Few jobs are handed out ahead, so that a campaign of any size stops at once.
    ahead = 4 * (workers or 64)
    try:
        while waiting or open_jobs:
            while waiting and len(open_jobs) < ahead:
                job = waiting.pop(0)
                open_jobs[pool.submit(run_job, job.spec)] = job
            ready, _ = wait(open_jobs, return_when=FIRST_COMPLETED)
            for future in ready:
                store.add(open_jobs.pop(future), future.result())
                done, run = done + 1, run + 1
                if progress:
                    progress(done, len(jobs))
    finally:
        for future in open_jobs:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)
    return run
