"""Finished searches in an SQLite file, each under the id of everything it depends on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flitloom.campaign.jobs import Job
from flitloom.errors import SpecError

_TABLE = """create table if not exists runs (
    id text primary key, campaign text not null, pattern text not null, arbitration text not null,
    seed integer not null, spec text not null, score integer not null, duration integer not null,
    seconds real not null, result text not null
) strict"""


class Store:
    """The finished searches of campaigns.

    Parameters
    ----------
    file : path
        An SQLite file; made if it is not there.

    Examples
    --------
    >>> store = Store(":memory:")
    >>> store.finished()
    set()
    """

    def __init__(self, file: str | Path) -> None:
        try:
            self._database = sqlite3.connect(file)
            self._database.execute(_TABLE)
            self._database.commit()
        except sqlite3.Error as error:
            raise SpecError(f"store: {file} cannot be used: {error}") from None

    def finished(self) -> set[str]:
        """Ids of all finished searches."""
        return {row[0] for row in self._database.execute("select id from runs")}

    def add(self, job: Job, result: dict[str, Any]) -> None:
        """Keep a finished search."""
        spec = job.spec
        with self._database:
            self._database.execute(
                "insert or replace into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job.id,
                    spec["campaign"],
                    spec["collective"].get("pattern", "given"),
                    str(spec["router"]["arbitration"]),
                    spec["seed"],
                    json.dumps(spec, sort_keys=True),
                    result["score"],
                    result["duration"],
                    result["seconds"],
                    json.dumps(result),
                ),
            )

    def rows(self, jobs: Iterable[Job] | None = None) -> Iterator[dict[str, Any]]:
        """Finished searches, only the given ones if any are given, in the order of their ids."""
        wanted = None if jobs is None else {job.id for job in jobs}
        columns = ("id", "campaign", "pattern", "arbitration", "seed", "score", "duration", "seconds")
        query = f"select {', '.join(columns)}, spec from runs order by id"
        for row in self._database.execute(query):
            if wanted is None or row[0] in wanted:
                spec = json.loads(row[-1])
                settings = {f"genetic.{name}": value for name, value in spec["genetic"].items()}
                yield {**dict(zip(columns, row, strict=False)), "genes": spec["genes"], **settings}

    def result(self, identifier: str) -> dict[str, Any]:
        """Everything a search found."""
        row = self._database.execute("select result from runs where id = ?", (identifier,)).fetchone()
        if row is None:
            raise SpecError(f"store: there is no run {identifier}")
        found: dict[str, Any] = json.loads(row[0])
        return found

    def close(self) -> None:
        """Close the file."""
        self._database.close()
