"""Jobs: work that is done once, kept in a file under the id of all it depends on, and shared by processes."""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.jobs.checkpoints import begun_or_resumed
    from flitloom.jobs.job import Job
    from flitloom.jobs.many import run_many
    from flitloom.jobs.pool import as_finished
    from flitloom.jobs.running import run_jobs
    from flitloom.jobs.store import Store

#: Where each name is. Checkpoints need simulations, and workers do without, so nothing is imported here.
_HOMES = {
    "Job": "job",
    "Store": "store",
    "as_finished": "pool",
    "begun_or_resumed": "checkpoints",
    "run_jobs": "running",
    "run_many": "many",
}

if not TYPE_CHECKING:
    __getattr__ = names_of("flitloom.jobs", _HOMES)

__all__ = ["Job", "Store", "as_finished", "begun_or_resumed", "run_jobs", "run_many"]
