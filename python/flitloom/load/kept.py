"""Finished simulations of a study, kept in a store and not run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from flitloom.ground import provenance
from flitloom.ground.digests import digest, require_files
from flitloom.jobs import Job, Store
from flitloom.tables.by_source.tables import Tables

Made = TypeVar("Made")

#: What is stored of a simulation: raised when it changes, so that older stores are not taken for newer ones.
COLUMNS = 2


@dataclass(frozen=True)
class Kept(Generic[Made]):
    """A store, and how what came of a simulation becomes one of its rows and back.

    Attributes
    ----------
    store : Store
        Where finished simulations are.
    jobs : sequence of Job
        One per simulation, with all that its result depends on.
    row : callable
        The fields of what came of one.
    made : callable
        What came of one, by its fields.
    """

    store: Store
    jobs: Sequence[Job]
    row: Callable[[Made], dict[str, Any]]
    made: Callable[[dict[str, Any]], Made]

    def found(self) -> dict[int, Made]:
        """What came of those that are finished, by their places."""
        finished = self.store.finished()
        return {
            place: self.made(self.store.result(job.id)["row"])
            for place, job in enumerate(self.jobs)
            if job.id in finished
        }

    def add(self, place: int, made: Made) -> None:
        """Keep what came of one."""
        self.store.add(self.jobs[place], {"row": self.row(made)})


def job(kind: str, fields: dict[str, Any] | str, tables: Path | Tables | None, **asked: Any) -> Job:
    """What is done once: a simulation or a search of an experiment with these fields and routes.

    Raises
    ------
    SpecError
        A file of the experiment is a pipe, which is read only once.

    Examples
    --------
    >>> from flitloom.load.kept import job
    >>> job("saturation", {"topology": {"sizes": "8x8"}}, None, within=0.01).spec["asked"]
    {'within': 0.01}
    """
    if isinstance(fields, dict):
        require_files(fields)
    routes = digest(tables) if isinstance(tables, Path) else None if tables is None else tables.to_json()
    spec = {
        "experiment": fields,
        "tables": routes,
        # Results do not depend on threads.
        "asked": {name: value for name, value in asked.items() if name != "threads"},
        "columns": COLUMNS,
        "version": provenance.version(),
    }
    return Job(kind, json.loads(json.dumps(spec)))
