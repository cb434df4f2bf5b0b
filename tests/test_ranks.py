"""One network on several ranks of MPI: the same result, and one end for all."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flitloom as fl

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install flitloom[mpi])")
_BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(_BESIDE) if _BESIDE.exists() else shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec (pip install flitloom[mpi])")

LOAD = ["--torus", "8x6", "--pattern", "rand", "--rate", "0.2", "--cycles", "300"]
#: Far longer than anybody waits.
LONG = ["--torus", "32x32", "--pattern", "rand", "--rate", "0.05", "--cycles", "100000000"]


def ranks(count, *words, program=("-m", "flitloom")):
    """What ``mpiexec`` ends with."""
    command = [MPIEXEC, "-n", str(count), sys.executable, *program, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_two_ranks_make_the_same_result():
    done = ranks(2, "simulate", *LOAD, "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["parts"], seen["engine"]) == (2, "general")
    one = fl.simulate(fl.Network(fl.Torus(8, 6)), fl.Load("rand", rate=0.2, length=8, cycles=300))
    assert seen["fingerprint"] == one.fingerprint
    assert seen["mean_latency"] == one.mean_latency
    assert seen["links"] == one.link_rows()


def test_ranks_take_up_what_was_saved(tmp_path):
    path = tmp_path / "saved.flit"
    traffic = fl.Load("rand", rate=0.2, length=8, cycles=300)
    # Three parts are of the general engine.
    held = fl.Simulation(fl.Network(fl.Mesh(8, 6), fl.Router(latency=2)), traffic, threads=3)
    held.step(150)
    held.save(path)
    done = ranks(3, "simulate", "--resume", path, "--json")
    assert done.returncode == 0, done.stderr
    held.run()
    assert json.loads(done.stdout)["fingerprint"] == held.totals.fingerprint


def test_a_mistake_is_told_once():
    done = ranks(2, "simulate", "--torus", "8x6", "--pattern", "unheard-of")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.count("error: traffic.pattern") == 1
    done = ranks(3, "simulate", "--torus", "8x2", "--pattern", "rand")
    assert done.returncode != 0
    assert "error: mpiexec: 3 ranks for a network of 2 rows" in done.stderr


HARM = """
import os, signal, sys, threading
from flitloom import ranks
from flitloom.commands import run

if os.environ["PMI_RANK"] == "1":
    if sys.argv[1] == "killed":
        threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    else:
        def exchange(self, before, behind):
            raise RuntimeError("on purpose")
        ranks.Ranks.exchange = exchange
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("how", ["killed", "fails"])
def test_a_rank_that_ends_ends_all(how):
    done = ranks(2, how, "simulate", *LONG, program=("-c", HARM))
    assert done.returncode != 0
    # What mpiexec says of it is all there is.
    assert "duration" not in done.stdout
