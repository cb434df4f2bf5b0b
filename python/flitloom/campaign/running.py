"""Run the searches of a campaign that are not finished yet, and read what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from flitloom.campaign.jobs import Search
from flitloom.genetic import extrapolate, search
from flitloom.jobs import Job, Store, run_jobs


def run_job(spec: dict[str, Any]) -> dict[str, Any]:
    """One search on one thread; its result is a function of the spec alone, except for the seconds."""
    job = Search(spec)
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
    """Run all searches that the store does not have; see `flitloom.jobs.run_jobs`."""
    return run_jobs(jobs, store, run_job, executor=executor, workers=workers, progress=progress)


def search_rows(store: Store, jobs: Iterable[Job] | None = None) -> Iterator[dict[str, Any]]:
    """Finished searches, only the given ones if any are given, in the order of their ids.

    Raises
    ------
    SpecError
        The store is damaged.
    """
    wanted = None if jobs is None else {job.id for job in jobs}
    for job in store.jobs("search"):
        if wanted is None or job.id in wanted:
            found = store.result(job.id)
            try:
                yield _row(job, found)
            except (KeyError, TypeError, AttributeError):
                raise store.failure(f"it is damaged: the spec of run {job.id[:64]} is none") from None


def _row(job: Job, found: dict[str, Any]) -> dict[str, Any]:
    spec = job.spec
    return {
        "id": job.id,
        "campaign": spec["campaign"],
        "pattern": spec["collective"].get("pattern", "given"),
        "arbitration": str(spec["router"]["arbitration"]),
        "seed": spec["seed"],
        "score": found["score"],
        "duration": found["duration"],
        "seconds": found["seconds"],
        "genes": spec["genes"],
        **{f"genetic.{name}": value for name, value in spec["genetic"].items()},
    }
