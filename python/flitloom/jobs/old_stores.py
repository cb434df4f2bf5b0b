"""Stores of earlier versions, which kept all results in the columns of genetic searches."""

from __future__ import annotations

import json
from typing import Any

from flitloom.jobs.job import Job

#: The table of older stores, and its columns.
TABLE = "runs"
COLUMNS = "id campaign pattern arbitration seed spec score duration seconds result"


def job_of(spec: dict[str, Any], result: dict[str, Any]) -> tuple[Job, dict[str, Any]]:
    """A row of an older store as a job and its result, without what only filled its columns.

    >>> spec = {"campaign": "degraded", "collective": {"pattern": "all-gather"}, "router": {}, "seed": 1}
    >>> job, result = job_of(spec, {"score": 0, "duration": 5, "bound": 5, "seconds": 0.5})
    >>> job.kind, job.spec, result
    ('plan', {'seed': 1, 'operation': 'all-gather'}, {'bound': 5, 'seconds': 0.5, 'steps': 5})
    """
    if "experiment" in spec:
        kept = {name: spec[name] for name in spec if name not in ("campaign", "collective", "router")}
        found = {name: result[name] for name in result if name not in ("score", "duration")}
        return Job("simulation", kept), found
    if spec.get("campaign") == "degraded" and "genetic" not in spec:
        kept = {name: spec[name] for name in spec if name not in ("campaign", "collective", "router")}
        kept["operation"] = spec["collective"]["pattern"]
        found = {name: result[name] for name in result if name not in ("score", "duration")}
        return Job("plan", kept), {**found, "steps": result["duration"]}
    return Job("search", spec), result


def read_row(spec: str, result: str) -> tuple[Job, dict[str, Any]] | None:
    """A row of an older store, from its texts; nothing if they are damaged."""
    try:
        fields, found = json.loads(spec), json.loads(result)
        if isinstance(fields, dict) and isinstance(found, dict):
            return job_of(fields, found)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None
