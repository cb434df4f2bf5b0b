"""Finished jobs in an SQLite file, each under the id of everything it depends on."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from flitloom.errors import SpecError, show_file
from flitloom.ground.limits import STORE_BYTES
from flitloom.jobs import old_stores
from flitloom.jobs.job import Job

Found = TypeVar("Found")

#: Finished jobs, and those that some process works on until a time.
_TABLES = {
    "jobs": """create table if not exists jobs (
    id text primary key, kind text not null, spec text not null, result text not null
) strict""",
    "claims": """create table if not exists claims (
    id text primary key, owner text not null, expires real not null
) strict""",
}
_COLUMNS = {
    "jobs": "id kind spec result",
    "claims": "id owner expires",
    old_stores.TABLE: old_stores.COLUMNS,
}
#: Seconds after which a claim that was not renewed is void.
LEASE = 120.0
#: Seconds to wait for other processes that use the file.
PATIENCE = 15.0
#: Seconds that SQLite waits at a time, so that Ctrl-C is answered.
GLANCE = 0.1


class Store:
    """Finished jobs.

    Several processes, also of several hosts, may use one store at the same time. One that an earlier version
    made is taken over.

    Parameters
    ----------
    file : path
        An SQLite file; made if it is not there.
    read_only : bool
        Only look: then the file is neither made nor changed, and one that is not there has no jobs.

    Raises
    ------
    SpecError
        Here and in all methods: the file cannot be used. It is full, read-only, locked for long,
        damaged or something else, and the message says which.

    Examples
    --------
    >>> store = Store(":memory:")
    >>> store.finished()
    set()
    """

    def __init__(self, file: str | Path, *, read_only: bool = False) -> None:
        self.file = file
        path = Path(file)
        if path.exists() and not path.is_file():
            raise SpecError(f"{show_file(file)}: is not a file that could be a store")
        if read_only:
            address = path.absolute().as_uri() + "?mode=ro" if path.exists() else ":memory:"
        else:
            address = str(file)
        is_new = not read_only and str(file) != ":memory:" and not path.exists()
        self._open(address, uri=read_only)
        try:
            there = self._patiently(self._check)
            old = old_stores.TABLE in there
            older = self._old() if old and read_only else []
            if (read_only and "jobs" not in there) or older:
                # Only looked at: what is in an older file is taken over in memory.
                self.close()
                self._open(":memory:", uri=False)
                there = set()
            if set(_TABLES) - there and not (read_only and "jobs" in there):
                # Together: another process that opens the file meanwhile finds all of them or none.
                self._write(lambda: [self._database.execute(table) for table in _TABLES.values()])
            if old and not read_only:
                self._write(self._take_over)
            for job, result in older:
                self.add(job, result)
        except SpecError:
            self.close()
            with suppress(OSError):
                # An empty file that could not be filled is no store.
                if is_new and path.stat().st_size == 0:
                    path.unlink()
            raise

    def _open(self, address: str, *, uri: bool) -> None:
        self._database = self._patiently(
            lambda: sqlite3.connect(address, uri=uri, timeout=GLANCE, isolation_level=None)
        )
        # Of damaged text as much is shown as there is.
        self._database.text_factory = lambda text: text.decode("utf-8", "replace")
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, STORE_BYTES)

    def _check(self) -> set[str]:
        """The tables that are there, which are those of a store of this version."""
        query = "select name from sqlite_master where type = 'table'"
        there = {row[0] for row in self._database.execute(query)}
        if there and not there & {"jobs", old_stores.TABLE}:
            raise self.failure(f"it is something else: it has the table {min(there)[:64]!r}")
        for name in there & set(_COLUMNS):
            columns = " ".join(row[1] for row in self._database.execute(f"pragma table_info({name})"))
            if columns != _COLUMNS[name]:
                raise self.failure(f"its table {name} has other columns: it was made by another version")
        return there

    def _old(self) -> list[tuple[Job, dict[str, Any]]]:
        """The jobs of a store that an earlier version made."""
        return self._read_old(self._rows(f"select id, spec, result from {old_stores.TABLE}"))

    def _read_old(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Job, dict[str, Any]]]:
        found = []
        for identifier, spec, result in rows:
            read = old_stores.read_row(spec, result)
            if read is None:
                raise self.failure(f"it is damaged: run {str(identifier)[:64]} is none")
            found.append(read)
        return found

    def _take_over(self) -> None:
        """Move the jobs of an earlier version, unless another process has done so meanwhile."""
        query = "select 1 from sqlite_master where type = 'table' and name = ?"
        if self._database.execute(query, (old_stores.TABLE,)).fetchone() is None:
            return
        rows = self._database.execute(f"select id, spec, result from {old_stores.TABLE}").fetchall()
        for job, result in self._read_old(rows):
            self._insert(job, result)
        self._database.execute(f"drop table {old_stores.TABLE}")

    def finished(self) -> set[str]:
        """Ids of all finished jobs."""
        return {row[0] for row in self._rows("select id from jobs")}

    def claim(self, job: Job, owner: str) -> str:
        """Take a job for `owner`, so that no other process does it too.

        Returns
        -------
        str
            "claimed" if it is the owner's now, "finished" if somebody did it, "taken" if somebody else is
            at it. A claim is void if it was not renewed for two minutes, or if its process has ended on
            this host.
        """

        def take() -> str:
            if self._database.execute("select 1 from jobs where id = ?", (job.id,)).fetchone():
                return "finished"
            now = time.time()
            row = self._database.execute(
                "select owner, expires from claims where id = ?", (job.id,)
            ).fetchone()
            if row and row[0] != owner and row[1] > now and not has_ended(row[0]):
                return "taken"
            self._database.execute(
                "insert or replace into claims values (?, ?, ?)", (job.id, owner, now + LEASE)
            )
            return "claimed"

        return self._write(take)

    def renew(self, owner: str) -> None:
        """Keep all claims of an owner for another two minutes."""
        expires = time.time() + LEASE
        self._write(
            lambda: self._database.execute("update claims set expires = ? where owner = ?", (expires, owner))
        )

    def release(self, owner: str) -> None:
        """Give all claims of an owner back."""
        self._write(lambda: self._database.execute("delete from claims where owner = ?", (owner,)))

    def add(self, job: Job, result: dict[str, Any]) -> None:
        """Keep a finished job."""

        def insert() -> None:
            self._insert(job, result)
            self._database.execute("delete from claims where id = ?", (job.id,))

        self._write(insert)

    def _insert(self, job: Job, result: dict[str, Any]) -> None:
        row = (job.id, job.kind, json.dumps(job.spec, sort_keys=True), json.dumps(result))
        self._database.execute("insert or replace into jobs values (?, ?, ?, ?)", row)

    def jobs(self, kind: str) -> Iterator[Job]:
        """Finished jobs of a kind, in the order of their ids."""
        for identifier, text in self._rows("select id, spec from jobs where kind = ? order by id", (kind,)):
            yield Job(kind, self._table(text, f"the spec of run {str(identifier)[:64]}"))

    def result(self, identifier: str) -> dict[str, Any]:
        """What came of a job."""
        rows = self._rows("select result from jobs where id = ?", (identifier,))
        if not rows:
            raise SpecError.at("store", f"there is no run {identifier}")
        return self._table(rows[0][0], f"the result of run {identifier}")

    def _table(self, text: str, what: str) -> dict[str, Any]:
        """The fields of a JSON text in the file."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.failure(f"it is damaged: {what} is none")
        return found

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        return self._patiently(lambda: self._database.execute(query, values).fetchall())

    def _write(self, work: Callable[[], Found]) -> Found:
        """Do something to the file whole or not at all, while no other process does."""

        def transaction() -> Found:
            self._database.execute("begin immediate")
            try:
                found = work()
                self._database.execute("commit")
            except BaseException:
                # A full disk has ended the transaction already.
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise
            return found

        return self._patiently(transaction)

    def _patiently(self, work: Callable[[], Found]) -> Found:
        """Do something with the file, once other processes let it."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return work()
            except UnicodeDecodeError:
                # What SQLite says of a damaged file may hold some of the damage.
                raise self.failure("it is damaged") from None
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if busy and time.monotonic() < end:
                    # SQLite does not wait at all where waiting could not help.
                    time.sleep(GLANCE / 4)
                    continue
                waited = f" by another process for {PATIENCE:g} seconds" if busy else ""
                raise self.failure(f"{error}{waited}") from None

    def failure(self, reason: str) -> SpecError:
        """What to raise where the file cannot be used."""
        return SpecError.at("store", f"{self.file} cannot be used: {reason}")


def this_process() -> str:
    """Who claims jobs: a process of a host, told by its beginning from later ones of the same number."""
    return f"{_host()} {os.getpid()} {_beginning(os.getpid())}"


def has_ended(owner: str) -> bool:
    """Whether a process is known to have ended; of one on another host nothing is known."""
    host, _, rest = owner.partition(" ")
    number, _, beginning = rest.partition(" ")
    if host != _host() or not (number.isascii() and number.isdigit() and len(number) <= 9):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _beginning(int(number)) != beginning


def _host() -> str:
    """The host, or the container: where process numbers mean the same."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()}/{space}".replace(" ", "")


def _beginning(process: int) -> str:
    """When a process began, as Linux counts; of one that has ended and waits for its parent, nothing."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return "0"
    return "" if fields[0] in "ZX" else fields[19]
