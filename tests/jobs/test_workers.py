"""Worker processes: their errors are raised here, and they end with their parent."""

import importlib
import inspect
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import threading

import pytest

import flitloom as fl
from campaigns import SMALL, tiny
from flitloom import genetic
from flitloom.campaign import running
from flitloom.ground import workers
from waiting import children_of, cpu_seconds, stat, until


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
@pytest.mark.alone("signals")
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


@pytest.mark.alone("signals")
@pytest.mark.parametrize("worked", [0.0, 3.0])
def test_workers_end_when_their_parent_is_killed(tmp_path, worked):
    file = tmp_path / "long.toml"
    file.write_text(SMALL.read_text().replace("generations = 60", "generations = 1000000"))
    command = [sys.executable, "-m", "flitloom", "campaign", "run", str(file), "--threads", "3"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as parent:
        until(lambda: len(children_of(parent.pid)) == 3, "three workers are there")
        children = children_of(parent.pid)
        until(lambda: cpu_seconds(*children) >= worked, f"the workers took {worked} s")
        parent.kill()
        # The pipe closes when nobody is left who could write to it.
        assert parent.stderr.read() == b""
    until(lambda: not any(map(stat, children)), "the workers end")


@pytest.mark.cold
def test_the_search_of_a_worker_is_that_of_this_process():
    job = tiny(1)[0]
    with workers.Workers(1) as pool:
        there = pool.submit(running.run_job, job.spec).result()
    here = running.run_job(job.spec)
    assert {**there, "seconds": 0} == {**here, "seconds": 0}
    assert genetic.Chromosome.model_validate(there["chromosome"]).duration == there["duration"]
