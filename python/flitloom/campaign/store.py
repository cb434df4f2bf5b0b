"""Finished searches in an SQLite file, each under the id of everything it depends on."""

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

from flitloom.campaign.jobs import Job
from flitloom.errors import SpecError, show_file
from flitloom.limits import STORE_BYTES

Found = TypeVar("Found")

#: Finished searches, and those that some process works on until a time.
_TABLES = {
    "runs": """create table if not exists runs (
    id text primary key, campaign text not null, pattern text not null, arbitration text not null,
    seed integer not null, spec text not null, score integer not null, duration integer not null,
    seconds real not null, result text not null
) strict""",
    "claims": """create table if not exists claims (
    id text primary key, owner text not null, expires real not null
) strict""",
}
_COLUMNS = {
    "runs": "id campaign pattern arbitration seed spec score duration seconds result",
    "claims": "id owner expires",
}
#: Seconds after which a claim that was not renewed is void.
LEASE = 120.0
#: Seconds to wait for other processes that use the file.
PATIENCE = 15.0
#: Seconds that SQLite waits at a time, so that Ctrl-C is answered.
GLANCE = 0.1


class Store:
    """The finished searches of campaigns.

    Several processes, also of several hosts, may use one store at the same time.

    Parameters
    ----------
    file : path
        An SQLite file; made if it is not there.
    read_only : bool
        Only look: then the file is neither made nor changed, and one that is not there has no searches.

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
            raise SpecError(f"{show_file(file)}: is no file that could be a store")
        if read_only:
            address = path.absolute().as_uri() + "?mode=ro" if path.exists() else ":memory:"
        else:
            address = str(file)
        is_new = not read_only and str(file) != ":memory:" and not path.exists()
        self._open(address, uri=read_only)
        try:
            there = self._patiently(self._check)
            if read_only and "runs" not in there:
                # As good as a file that is not there.
                self.close()
                self._open(":memory:", uri=False)
            if not read_only or "runs" not in there:
                for name in set(_TABLES) - there:
                    self._patiently(lambda name=name: self._database.execute(_TABLES[name]))  # type: ignore[misc]
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
        if there and "runs" not in there:
            raise self._failure(f"it is something else: it has the table {min(there)[:64]!r}")
        for name in there & set(_TABLES):
            columns = " ".join(row[1] for row in self._database.execute(f"pragma table_info({name})"))
            if columns != _COLUMNS[name]:
                raise self._failure(f"its table {name} has other columns: it was made by another version")
        return there

    def finished(self) -> set[str]:
        """Ids of all finished searches."""
        return {row[0] for row in self._rows("select id from runs")}

    def claim(self, job: Job, owner: str) -> str:
        """Take a search for `owner`, so that no other process does it too.

        Returns
        -------
        str
            "claimed" if it is the owner's now, "finished" if somebody did it, "taken" if somebody else is
            at it. A claim is void if it was not renewed for two minutes, or if its process has ended on
            this host.
        """

        def take() -> str:
            if self._database.execute("select 1 from runs where id = ?", (job.id,)).fetchone():
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
        """Keep a finished search."""
        spec = job.spec
        row = (
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
        )

        def insert() -> None:
            self._database.execute("insert or replace into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._database.execute("delete from claims where id = ?", (job.id,))

        self._write(insert)

    def rows(self, jobs: Iterable[Job] | None = None) -> Iterator[dict[str, Any]]:
        """Finished searches, only the given ones if any are given, in the order of their ids."""
        wanted = None if jobs is None else {job.id for job in jobs}
        columns = ("id", "campaign", "pattern", "arbitration", "seed", "score", "duration", "seconds")
        for row in self._rows(f"select {', '.join(columns)}, spec from runs order by id"):
            if wanted is None or row[0] in wanted:
                try:
                    spec = json.loads(row[-1])
                    settings = {f"genetic.{name}": value for name, value in spec["genetic"].items()}
                    genes = spec["genes"]
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise self._failure(f"it is damaged: the spec of run {row[0][:64]} is none") from None
                yield {**dict(zip(columns, row, strict=False)), "genes": genes, **settings}

    def result(self, identifier: str) -> dict[str, Any]:
        """Everything a search found."""
        rows = self._rows("select result from runs where id = ?", (identifier,))
        if not rows:
            raise SpecError.at("store", f"there is no run {identifier}")
        try:
            found = json.loads(rows[0][0])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._failure(f"it is damaged: the result of run {identifier} is none")
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
                raise self._failure("it is damaged") from None
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if busy and time.monotonic() < end:
                    # SQLite does not wait at all where waiting could not help.
                    time.sleep(GLANCE / 4)
                    continue
                waited = f" by another process for {PATIENCE:g} seconds" if busy else ""
                raise self._failure(f"{error}{waited}") from None

    def _failure(self, reason: str) -> SpecError:
        return SpecError.at("store", f"{self.file} cannot be used: {reason}")


def this_process() -> str:
    """Who claims searches: a process of a host, told by its beginning from later ones of the same number."""
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
