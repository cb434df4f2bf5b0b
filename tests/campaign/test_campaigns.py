"""Campaigns that share a store, wait for each other, or have a search that fails."""

import contextlib
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flitloom as fl
from campaigns import SMALL, finish_small, tiny
from flitloom.campaign import Store, run_campaign, running
from flitloom.commands import run
from flitloom.ground import workers
from flitloom.jobs import pool as pools
from flitloom.jobs import store as stores
from places import TESTS


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish_small(tmp_path_factory.mktemp("campaign"))


def test_a_campaign_on_a_network_with_a_failed_node_is_one_message(tmp_path, capsys):
    file = tmp_path / "failed.toml"
    file.write_text(SMALL.read_text().replace('sizes = "8x8"', 'sizes = "8x8"\nfailed_nodes = [5]'))
    assert run(["campaign", "run", str(file), "--threads", "2"]) == 2
    err = capsys.readouterr().err
    assert "pairs of nodes need a failed part" in err
    assert "Traceback" not in err


@pytest.mark.long
def test_campaigns_that_share_a_store_do_every_job_once(tmp_path):
    file, counts = tmp_path / "shared.sqlite", Counter()
    jobs = tiny(24)

    def campaign(name):
        with contextlib.closing(Store(file)) as store, workers.Workers(1) as pool:
            counts[name] = run_campaign(jobs, store, executor=pool, workers=1)

    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; import test_campaigns as t;"
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
