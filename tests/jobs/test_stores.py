"""Stores that are damaged, locked or on a full disk: one message, and what is finished is kept."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from campaigns import SMALL, finish_small, full_disk
from flitloom.campaign import Store
from flitloom.commands import run
from flitloom.jobs import store as stores


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish_small(tmp_path_factory.mktemp("campaign"))


def table_of(file, statement):
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute(statement)
        database.commit()


def damage(file):
    """Overwrite the pages of a store behind the first."""
    content = bytearray(file.read_bytes())
    content[1200:] = b"\xa5" * (len(content) - 1200)
    file.write_bytes(bytes(content))


BROKEN = {
    "no database": (lambda file: file.write_text("no database " * 100), "file is not a database"),
    "damaged": (damage, "cannot be used: "),
    "other columns": (
        lambda file: table_of(file, "alter table jobs add column more text"),
        "its table jobs has other columns",
    ),
    "something else": (
        lambda file: (file.unlink(), table_of(file, "create table bookmarks (url text)")),
        "it has the table 'bookmarks'",
    ),
    "no spec": (lambda file: table_of(file, "update jobs set spec = '[1'"), "the spec of run"),
    "no result": (lambda file: table_of(file, "update jobs set result = '[]'"), "the result of run"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("verb", ["run", "status", "best", "export"])
def test_a_broken_store_is_one_message(kind, verb, finished, tmp_path, capsys):
    store = tmp_path / "store.sqlite"
    shutil.copy(finished.with_suffix(".sqlite"), store)
    breaks, message = BROKEN[kind]
    breaks(store)
    before = store.read_bytes()
    out = {"best": ["--out", str(tmp_path / "out")], "export": ["--out", str(tmp_path / "x.csv")]}
    code = run(["campaign", verb, str(finished), "--store", str(store), *out.get(verb, [])])
    err = capsys.readouterr().err
    reads = {"no spec": ("best", "export"), "no result": ("best", "export")}.get(kind, (verb,))
    if verb in reads:
        assert (code, err.count("\n")) == (2, 1)
        assert message in err
    else:
        assert code == 0
    if verb != "run":
        assert store.read_bytes() == before


def test_looking_at_a_store_changes_and_makes_none(finished, tmp_path, capsys):
    store = tmp_path / "a folder?#%" / "store.sqlite"
    store.parent.mkdir()
    looks = [["status"], ["best"], ["export", "--out", str(tmp_path / "x.csv")]]
    for verb, *rest in looks:
        code = run(["campaign", verb, str(finished), "--store", str(store), *rest])
        assert code == (2 if verb == "export" else 0)
        assert f"there is no store {store} yet" in capsys.readouterr().err
    assert list(store.parent.iterdir()) == []
    store.touch()
    assert run(["campaign", "status", str(finished), "--store", str(store), "--json"]) == 0
    assert [row["finished"] for row in json.loads(capsys.readouterr().out)] == [0, 0]
    assert store.stat().st_size == 0
    shutil.copy(finished.with_suffix(".sqlite"), store)
    table_of(store, "drop table claims")
    before = store.read_bytes()
    for verb, *rest in looks:
        assert run(["campaign", verb, str(finished), "--store", str(store), *rest]) == 0
    assert store.read_bytes() == before
    assert [file.name for file in store.parent.iterdir()] == [store.name]


def test_a_locked_store_is_waited_for_and_then_one_message(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(stores, "PATIENCE", 0.5)
    store = tmp_path / "store.sqlite"
    shutil.copy(finished.with_suffix(".sqlite"), store)
    with contextlib.closing(sqlite3.connect(store, isolation_level=None, check_same_thread=False)) as other:
        other.execute("begin exclusive")
        assert run(["campaign", "status", str(finished), "--store", str(store)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "database is locked by another process for 0.5 seconds" in err
        monkeypatch.setattr(stores, "PATIENCE", 60)
        timer = threading.Timer(0.7, lambda: other.execute("commit"))
        timer.start()
        assert run(["campaign", "status", str(finished), "--store", str(store)]) == 0
        timer.join()


def test_a_store_on_a_full_disk_keeps_what_is_finished(tmp_path, capsys):
    file = tmp_path / "many.toml"
    file.write_text(
        SMALL.read_text().replace("repeats = 2", "repeats = 40").replace("8x8", "4x4").replace("60", "2")
    )
    with full_disk(200_000):
        code = run(["campaign", "run", str(file), "--threads", "1"])
    err = capsys.readouterr().err
    assert (code, err.count("error: ")) == (2, 1)
    assert f"store: {file.with_suffix('.sqlite')} cannot be used: " in err
    with contextlib.closing(Store(file.with_suffix(".sqlite"), read_only=True)) as store:
        kept = store.finished()
        assert 3 < len(kept) < 160
        assert all(store.result(identifier)["duration"] > 0 for identifier in kept)


def test_a_new_store_appears_whole(tmp_path, monkeypatch):
    """Who opens it while it is made finds all tables or none."""
    file, seen, connect = tmp_path / "store.sqlite", [], sqlite3.connect

    def tables():
        with contextlib.closing(connect(file)) as database:
            return {
                name for (name,) in database.execute("select name from sqlite_master where type = 'table'")
            }

    class Watched(sqlite3.Connection):
        def execute(self, query, *values):
            if query.startswith("create"):
                seen.append(tables())
            return super().execute(query, *values)

    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, factory=Watched, **options)
    )
    stores.Store(file).close()
    assert seen == [set(), set()]
    assert tables() == {"jobs", "claims"}


def test_a_store_that_cannot_be_begun_leaves_no_file(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from flitloom.campaign import Store
from flitloom.errors import SpecError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    Store({str(tmp_path / "new.sqlite")!r})
except SpecError as error:
    print("cannot be used" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert list(tmp_path.iterdir()) == []
