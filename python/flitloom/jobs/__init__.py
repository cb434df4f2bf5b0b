"""Jobs: work that is done once, kept in a file under the id of all it depends on, and shared by processes."""

from flitloom.jobs.checkpoints import begun_or_resumed
from flitloom.jobs.job import Job
from flitloom.jobs.pool import as_finished
from flitloom.jobs.running import run_jobs
from flitloom.jobs.store import Store

__all__ = ["Job", "Store", "as_finished", "begun_or_resumed", "run_jobs"]
