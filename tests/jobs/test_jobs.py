"""Jobs are done once, in a file that earlier versions made as well."""

import contextlib
import json
import sqlite3

import pytest

import flitloom as fl
from flitloom.campaign import parse_campaign, run_campaign, search_rows
from flitloom.campaign.running import run_job
from flitloom.collectives.degraded import damaged, degraded_rows, plan_jobs, plan_one
from flitloom.jobs import Job, Store, as_finished, old_stores, run_jobs
from flitloom.sweep import Sweep, run_sweep, sweep_rows
from flitloom.sweep.running import run_point

OLD = """create table runs (
    id text primary key, campaign text not null, pattern text not null, arbitration text not null,
    seed integer not null, spec text not null, score integer not null, duration integer not null,
    seconds real not null, result text not null
) strict"""


def searches():
    fields = {"topology": {"sizes": "2x2"}, "patterns": ["next"], "repeats": 2}
    return parse_campaign({**fields, "genetic": {"generations": 1, "training": 0}}).jobs()


def points():
    return Sweep({"topology": {"sizes": "4x4"}, "traffic": {"kind": "collective", "pattern": "shfl"}},
                 {"traffic.payload": [7, 14]}).points()  # fmt: skip


def plans():
    return plan_jobs(fl.Torus(3, 3), damaged(fl.Torus(3, 3), 2, (1, 1)), ["all-gather"])


def old_store(file):
    """A store of an earlier version, whose rows have the columns of genetic searches."""
    rows = [(job.spec, run_job(job.spec)) for job in searches()]
    for point in points():
        more = {"campaign": "sweep", "collective": {"pattern": "shfl"}, "router": {"arbitration": "C00"}}
        found = run_point(point.spec)
        rows.append((point.spec | more, found | {"score": 0, "duration": found["totals"]["duration"]}))
    for job in plans():
        kept = {name: value for name, value in job.spec.items() if name != "operation"}
        more = {
            "campaign": "degraded",
            "collective": {"pattern": "all-gather"},
            "router": {"arbitration": ""},
        }
        found = plan_one(job.spec)
        rows.append((kept | more, {"score": 0, "duration": found.pop("steps"), **found}))
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(OLD)
        for number, (spec, found) in enumerate(rows):
            columns = (str(number), spec["campaign"], "x", "C00", 1, json.dumps(spec))
            more = (found["score"], found["duration"], found["seconds"], json.dumps(found))
            database.execute("insert into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", columns + more)


def columns_of(file, table):
    with contextlib.closing(sqlite3.connect(file)) as database:
        return " ".join(row[1] for row in database.execute(f"pragma table_info({table})"))


def test_the_old_table_is_the_one_that_is_known():
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(OLD)
        found = " ".join(row[1] for row in database.execute("pragma table_info(runs)"))
    assert ("runs", found) == (old_stores.TABLE, old_stores.COLUMNS)


def test_nothing_of_an_old_store_is_done_again(tmp_path):
    file = tmp_path / "old.sqlite"
    old_store(file)
    with contextlib.closing(Store(file)) as store:
        assert run_campaign(searches(), store) == 0
        assert run_sweep(points(), store) == 0
        assert run_jobs(plans(), store, plan_one) == 0
        assert [row["duration"] for row in sweep_rows(points(), store)] == [13, 20]
        assert [row["pattern"] for row in search_rows(store)] == ["next", "next"]
        [row] = degraded_rows(plans(), store)
        assert (row["plans"], row["whole"]) == (2, fl.collectives.plan(fl.Torus(3, 3), "all-gather").steps)
        fake = {"score", "arbitration", "campaign", "router"}
        for kind in ("simulation", "plan"):
            for job in store.jobs(kind):
                assert not fake & (set(job.spec) | set(store.result(job.id)))
    assert (columns_of(file, "jobs"), columns_of(file, "runs")) == ("id kind spec result", "")


def test_looking_at_an_old_store_leaves_it(tmp_path):
    file = tmp_path / "old.sqlite"
    old_store(file)
    before = file.read_bytes()
    with contextlib.closing(Store(file, read_only=True)) as store:
        assert len(list(search_rows(store, searches()))) == 2
        assert len(list(sweep_rows(points(), store))) == 2
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("column", ["spec", "result"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_damaged_old_store_is_one_message_and_stays(column, read_only, tmp_path):
    file = tmp_path / "old.sqlite"
    old_store(file)
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(f"update runs set {column} = '[1' where id = '3'")
    with pytest.raises(fl.SpecError, match="it is damaged: run 3 is none"):
        Store(file, read_only=read_only)
    assert columns_of(file, "runs") == old_stores.COLUMNS
    with contextlib.closing(sqlite3.connect(file)) as database:
        assert database.execute("select count(*) from runs").fetchone() == (7,)


def test_an_id_is_that_of_the_spec_in_any_order():
    assert Job("plan", {"a": 1, "b": 2}).id == Job("plan", {"b": 2, "a": 1}).id
    assert Job("plan", {"a": 1}).id != Job("plan", {"a": 2}).id


def test_what_is_finished_comes_before_what_failed():
    made = as_finished(divmod, [(7, 2), (1, 0)], workers=1)
    assert next(made) == (0, (3, 1))
    with pytest.raises(ZeroDivisionError):
        next(made)
