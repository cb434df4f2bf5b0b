"""Full disks, damaged stores, killed parents: one message, nothing half-written, nothing left behind."""

import contextlib
import importlib
import inspect
import json
import os
import pickle
import pkgutil
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flitloom as fl
from flitloom import genetic, workers
from flitloom.campaign import Store, parse_campaign, read_campaign, run_campaign, running
from flitloom.commands import run
from flitloom.jobs import pool as pools
from flitloom.jobs import store as stores
from flitloom.outputs import append_line, replacing
from places import ROOT, TESTS

SMALL = ROOT / "examples" / "campaigns" / "small.toml"
SHUFFLE = ["--torus", "8x8", "--pattern", "shfl", "--payload", "14", "--slices", "2"]


@contextlib.contextmanager
def full_disk(size):
    """Files end at `size` bytes, as on a disk that is full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small campaign and its finished store."""
    folder = tmp_path_factory.mktemp("campaign")
    file = folder / "small.toml"
    quick = SMALL.read_text().replace("generations = 60", "generations = 2").replace("training = 10", "")
    file.write_text(quick.replace("8x8", "4x4"))
    with contextlib.closing(Store(folder / "small.sqlite")) as store, ThreadPoolExecutor(2) as pool:
        run_campaign(read_campaign(file).jobs(), store, executor=pool)
    return file


WRITERS = [
    ["simulate", *SHUFFLE, "--out", "OUT/x.nc"],
    ["simulate", *SHUFFLE, "--picture", "OUT/x.png"],
    ["simulate", *SHUFFLE, "--picture", "OUT/x.svg"],
    ["stack", *SHUFFLE, "--out", "OUT/x.nc"],
    ["stack", *SHUFFLE, "--out", "OUT/x.csv"],
    ["stack", *SHUFFLE, "--picture", "OUT/x.pdf"],
    ["schedule", *SHUFFLE, "-o", "OUT/x.json"],
    ["schedule", *SHUFFLE, "--picture", "OUT/x.png"],
    *(["route", "--torus", "4x4x2", "--method", "coherent", "-o", f"OUT/x{end}"] for end in
      (".json", ".csv", ".npz", ".lft", ".txt")),
    ["route", "--torus", "4x4", "--loads", "OUT/x.csv"],
    ["route", "--torus", "4x4", "--picture", "OUT/x.png"],
    ["check", "TABLES", "--certificate", "OUT/x.json"],
    ["campaign", "export", "SMALL", "--out", "OUT/x.parquet"],
    ["campaign", "export", "SMALL", "--out", "OUT/x.csv"],
    ["campaign", "best", "SMALL", "--out", "OUT"],
    ["papers", "run", "cup-stacking-2022/figure-2", "--out", "OUT"],
]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", WRITERS, ids=lambda arguments: " ".join(arguments[:: len(arguments) - 1])
)
def test_a_full_disk_is_one_message_and_leaves_nothing(arguments, tmp_path, finished, capsys):
    tables = tmp_path / "tables.json"
    fl.tables.make(fl.Torus(4, 4)).to_json(tables)
    out = tmp_path / "out"
    out.mkdir()
    words = {"OUT": str(out), "TABLES": str(tables), "SMALL": str(finished)}
    for word, place in words.items():
        arguments = [argument.replace(word, place) for argument in arguments]
    with full_disk(100):
        code = run(arguments)
    err = capsys.readouterr().err
    assert (code, err.count("error: ")) == (2, 1)
    assert "cannot be written: File too large" in err
    assert list(out.iterdir()) == []
    assert run(arguments) == 0
    assert [file.stat().st_size > 100 for file in out.iterdir()].count(True) >= 1


def test_an_output_replaces_a_file_only_when_it_is_whole(tmp_path):
    file = tmp_path / "file.txt"
    file.write_text("before")
    with pytest.raises(fl.SpecError, match="cannot be written"), full_disk(100), replacing(file) as out:
        out.write(b"x" * 200)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_line_is_appended_whole_or_not_at_all(tmp_path):
    file = tmp_path / "rows.jsonl"
    append_line(file, "first")
    with pytest.raises(fl.SpecError, match="cannot be written: File too large"), full_disk(10):
        append_line(file, "second, too long")
    append_line(file, "third")
    assert file.read_text() == "first\nthird\n"


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    assert run(["route", "--torus", "4x4", "-o", str(pipe)]) == 0
    reader.join()
    assert json.loads(seen[0])["max_load"] == 8
    assert pipe.is_fifo()
    with pytest.raises(fl.SpecError, match="No space left on device"), replacing("/dev/full") as out:
        out.write(b"x" * 100)
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize(
    "arguments",
    [["version"], ["papers", "list"], ["--help"], ["route", "--torus", "4x4"]],
    ids=lambda each: each[0],
)
def test_standard_output_that_is_full_is_one_message(arguments):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flitloom", *arguments], stdout=full, stderr=subprocess.PIPE
        )
    message = b"error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("argument", ["version", "--help"])
def test_standard_output_that_is_closed_is_one_message(argument):
    done = subprocess.run(f"{sys.executable} -m flitloom {argument} >&-", shell=True, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"error: standard output: cannot be written: it is closed\n")


def test_nobody_listening_is_no_reason_to_fail():
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "flitloom", "route", "--torus", "4x4", "--fail", "node:99"]
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        for environment in (buffered, buffered | {"PYTHONUNBUFFERED": "1"}):
            assert subprocess.run(command, stderr=full, env=environment).returncode == 2


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


def every_exception():
    """All exceptions that modules of the package define."""
    found = set()
    for module in pkgutil.walk_packages(fl.__path__, "flitloom."):
        if module.name != "flitloom.__main__":
            members = vars(importlib.import_module(module.name)).values()
            kinds = [member for member in members if inspect.isclass(member)]
            found |= {kind for kind in kinds if issubclass(kind, BaseException)}
    own = {kind for kind in found if kind.__module__.startswith("flitloom")}
    return sorted(own, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", every_exception())
def test_exceptions_travel_between_processes(kind):
    samples = {"message": "text", "pairs": [(0, 3)], "cycle": 4, "channels": [{"node": 1}], "stuck_flits": 2,
               "cycles": 9, "delivered": 3, "field": "router.buffer", "problem": "is 0",
               "advice": "it must be 1", "given": "on", "names": ("one", "two")}  # fmt: skip
    own = inspect.isfunction(kind.__init__)
    parameters = list(inspect.signature(kind).parameters) if own else ["message"]
    error = kind(*(samples[name] for name in parameters))
    if "names" in parameters:
        # The nearest name is part of what is said.
        samples["message"] += "did you mean one? It must be 1"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (again.args, str(again), vars(again)) == (error.args, str(error), vars(error))
    assert str(error) == samples["message"]


def unreachable():
    network = fl.Network(fl.Torus(4, 4, failed_nodes=[5]))
    fl.simulate(network, fl.Collective("shfl"))


@pytest.mark.cold
def test_what_workers_raise_is_raised_here():
    with workers.Workers(1) as pool:
        with pytest.raises(fl.UnreachableError) as caught:
            pool.submit(unreachable).result()
        assert caught.value.pairs
        with pytest.raises(fl.FlitloomError, match="in a worker process: cannot pickle"):
            pool.submit(threading.Lock).result()
        with pytest.raises(fl.FlitloomError, match=r"ended before its work did \(signal 9"):
            pool.submit(kill_own_process).result()
        # The next call gets a new process.
        assert pool.submit(os.getpid).result() != os.getpid()


@pytest.mark.cold
def test_what_a_worker_was_not_told_in_time_is_given_up():
    """It must not hide what is on its way out, as a pipe that breaks once more when it is closed."""
    pool = workers.Workers(1)
    os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
    pool._processes[0].wait()
    with pytest.raises(fl.FlitloomError, match="ended before its work did"):
        pool.submit(abs, -1).result()
    pool.stop()
    assert all(process.stdin.closed for process in pool._processes)


def kill_own_process():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_campaign_on_a_network_with_a_failed_node_is_one_message(tmp_path, capsys):
    file = tmp_path / "failed.toml"
    file.write_text(SMALL.read_text().replace('sizes = "8x8"', 'sizes = "8x8"\nfailed_nodes = [5]'))
    assert run(["campaign", "run", str(file), "--threads", "2"]) == 2
    err = capsys.readouterr().err
    assert "pairs of nodes need a failed part" in err
    assert "Traceback" not in err


def children_of(parent):
    """Processes that the process started, as their own numbers."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(status.parent.name))
    return found


@pytest.mark.parametrize("delay", [0.0, 0.4])
def test_workers_end_when_their_parent_is_killed(tmp_path, delay):
    file = tmp_path / "long.toml"
    file.write_text(SMALL.read_text().replace("generations = 60", "generations = 1000000"))
    command = [sys.executable, "-m", "flitloom", "campaign", "run", str(file), "--threads", "3"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as parent:
        while len(children := children_of(parent.pid)) < 3:
            time.sleep(0.01)
        time.sleep(delay)
        parent.kill()
        # The pipe closes when nobody is left who could write to it.
        assert parent.stderr.read() == b""
    limit = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < limit
        time.sleep(0.05)


def tiny(repeats):
    return parse_campaign(
        {
            "topology": {"sizes": "4x4"},
            "patterns": ["shfl"],
            "repeats": repeats,
            "genetic": {"generations": 3, "training": 1},
        }
    ).jobs()


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


@pytest.mark.long
def test_campaigns_that_share_a_store_do_every_job_once(tmp_path):
    file, counts = tmp_path / "shared.sqlite", Counter()
    jobs = tiny(24)

    def campaign(name):
        with contextlib.closing(Store(file)) as store, workers.Workers(1) as pool:
            counts[name] = run_campaign(jobs, store, executor=pool, workers=1)

    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; import test_faults as t;"
        "from flitloom.campaign import Store, run_campaign;"
        "print(run_campaign(t.tiny(24), Store(sys.argv[1]), workers=1))"
    )
    command = [sys.executable, "-c", script, str(file), str(TESTS), str(Path(__file__).parent)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ran = [int(process.communicate()[0]) for process in started]
    assert all(process.returncode == 0 for process in started)
    assert sum(ran) == 24
    with contextlib.closing(Store(file)) as store:
        assert store.finished() == {job.id for job in jobs}
    with contextlib.closing(sqlite3.connect(file)) as database:
        assert database.execute("select count(*) from claims").fetchone() == (0,)


def test_claims_end_with_their_process_their_lease_or_their_work(tmp_path, monkeypatch):
    job = tiny(1)[0]
    with contextlib.closing(Store(tmp_path / "store.sqlite")) as store:
        assert store.claim(job, "elsewhere 1 1") == "claimed"
        assert store.claim(job, stores.this_process()) == "taken"
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + stores.LEASE / 2)
        store.renew("elsewhere 1 1")
        monkeypatch.setattr(time, "time", lambda: now + stores.LEASE + 1)
        assert store.claim(job, stores.this_process()) == "taken"
        monkeypatch.setattr(time, "time", lambda: now + 2 * stores.LEASE)
        assert store.claim(job, stores.this_process()) == "claimed"
        assert store.claim(job, "elsewhere 1 1") == "taken"
        store.release(stores.this_process())
        host, number, beginning = stores.this_process().split()
        for ended in (f"{host} 999999999 1", f"{host} {number} {int(beginning) - 1}"):
            assert store.claim(job, ended) == "claimed"
            assert store.claim(job, stores.this_process()) == "claimed"
            store.release(stores.this_process())
        store.add(job, running.run_job(job.spec))
        assert store.claim(job, "elsewhere 1 1") == "finished"


def test_a_campaign_waits_for_what_others_are_doing(tmp_path, monkeypatch):
    monkeypatch.setattr(pools, "GLANCE", 0.05)
    jobs = tiny(3)
    seen = []
    with contextlib.closing(Store(tmp_path / "store.sqlite")) as store, ThreadPoolExecutor(1) as pool:
        assert store.claim(jobs[1], "elsewhere 1 1") == "claimed"

        def progress(done, every):
            seen.append((done, every))
            if done == 2:
                # The other one is done now.
                store.add(jobs[1], running.run_job(jobs[1].spec))

        assert run_campaign(jobs, store, executor=pool, progress=progress) == 2
        assert store.finished() == {job.id for job in jobs}
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_search_that_fails_does_not_lose_those_that_are_finished(tmp_path, monkeypatch):
    jobs = tiny(6)

    def fails(spec):
        if spec["seed"] == 4:
            raise fl.FlitloomError("this one fails")
        return {"score": 1, "duration": 1, "seconds": 0.0}

    monkeypatch.setattr(running, "run_job", fails)
    with contextlib.closing(Store(tmp_path / "store.sqlite")) as store, ThreadPoolExecutor(1) as pool:
        with pytest.raises(fl.FlitloomError, match="this one fails"):
            run_campaign(jobs, store, executor=pool)
        assert len(store.finished()) >= 3
        assert store.claim(jobs[3], "elsewhere 1 1") == "claimed"


@pytest.mark.cold
def test_the_search_of_a_worker_is_that_of_this_process():
    job = tiny(1)[0]
    with workers.Workers(1) as pool:
        there = pool.submit(running.run_job, job.spec).result()
    here = running.run_job(job.spec)
    assert {**there, "seconds": 0} == {**here, "seconds": 0}
    assert genetic.Chromosome.model_validate(there["chromosome"]).duration == there["duration"]


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
