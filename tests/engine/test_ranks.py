"""One network on several ranks of MPI: the same result, and one end for all."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

import flitloom as fl
from flitloom.commands import run
from flitloom.messages import MessageGraph, simulate_messages
from waiting import LIMIT

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install flitloom[mpi])")
_BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(_BESIDE) if _BESIDE.exists() else shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec (pip install flitloom[mpi])")

LOAD = ["--torus", "8x6", "--pattern", "rand", "--rate", "0.2", "--cycles", "300"]
#: Far longer than anybody waits.
LONG = ["--torus", "32x32", "--pattern", "rand", "--rate", "0.05", "--cycles", "100000000"]


def ranks(count, *words, program=("-m", "flitloom")):
    """What ``mpiexec`` ends with."""
    command = [MPIEXEC, "-n", str(count), sys.executable, *program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=3 * LIMIT, check=False)


def test_two_ranks_make_the_same_result():
    done = ranks(2, "simulate", *LOAD, "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["parts"], seen["engine"]) == (2, "general")
    one = fl.simulate(fl.Network(fl.Torus(8, 6)), fl.Load("rand", rate=0.2, length=8, cycles=300))
    assert seen["fingerprint"] == one.fingerprint
    assert seen["latency"] == one.mean_latency
    assert seen["links"] == one.link_rows()


@pytest.mark.parametrize(
    "words",
    [
        ["--set", "router.variant=registers"],
        ["--set", "traffic.outstanding=2"],
        pytest.param(["--throttle", "pt:release=20,link=shared,margin=2"], marks=pytest.mark.long),
        ["--set", "topology.sizes=4x8", "--twist"],
        ["--network", "full4 x ring6"],
        pytest.param(["--network", "ring4 x full6"], marks=pytest.mark.long),
    ],
    ids=["registers", "closed", "shared", "twisted", "full in rows", "full across rows"],
)
def test_ranks_tell_all_that_others_need(words, capsys):
    traffic = LOAD[2:-4] if "--network" in words else LOAD[:-4]
    words = ["simulate", *traffic, "--rate", "0.5", "--cycles", "200", *words, "--json"]
    done = ranks(2, *words)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert run([*words, "--threads", "3"]) == 0
    threads = json.loads(capsys.readouterr().out)
    assert run(words) == 0
    one = json.loads(capsys.readouterr().out)
    assert (seen["parts"], threads["parts"], one["parts"]) == (2, 3, 1)
    assert seen["packets_delivered"] > 100
    for parted in (seen, threads):
        assert {**parted, "parts": 1, "engine": "general"} == {**one, "engine": "general"}


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


def test_ranks_write_what_one_process_does(tmp_path):
    words = ["simulate", *LOAD, "--routing", "cl", "--preset", "s07", "--throttle", "spth:margin=8"]
    whole = fl.Network(fl.Torus(8, 6), fl.Router(preset="s07"), routing="cl")
    load = fl.Load("rand", rate=0.2, length=8, cycles=300)
    one = fl.simulate(whole, load, throttle="spth:margin=8")
    done = ranks(2, *words, "--json", "--out", tmp_path / "two.nc", "--checkpoint", tmp_path / "two.flit")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fingerprint"] == one.fingerprint
    one.to_netcdf(tmp_path / "one.nc")
    with xr.open_datatree(tmp_path / "one.nc") as expected, xr.open_datatree(tmp_path / "two.nc") as found:
        xr.testing.assert_equal(found["links"].dataset, expected["links"].dataset)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".flit"] == []


def test_ranks_draw_what_one_process_does(tmp_path):
    def words(name):
        chart, page = tmp_path / f"{name}.svg", tmp_path / f"{name}.html"
        return [
            "simulate",
            *LOAD,
            "--space-time",
            str(chart),
            "--space-time-cycles",
            "100:160",
            "--html",
            str(page),
        ]

    done = ranks(2, *words("two"))
    assert done.returncode == 0, done.stderr
    assert run(words("one")) == 0
    (words_of_one, numbers_of_one), (words_of_two, numbers_of_two) = (
        drawn(tmp_path / f"{name}.svg") for name in ("one", "two")
    )
    assert words_of_two == words_of_one
    # Where text stands is solved in floating point, and differs in its last printed digit.
    assert numbers_of_two == pytest.approx(numbers_of_one, abs=1e-5)
    assert (tmp_path / "two.html").read_text() == (tmp_path / "one.html").read_text()
    refused = ranks(2, "simulate", *LOAD, "--picture", tmp_path / "chart.svg")
    assert refused.returncode != 0
    assert "--picture: is not for several ranks" in refused.stderr


def drawn(file):
    """Texts and numbers of a picture, less what differs each time: its date, and names of its parts."""
    text = re.sub(r"<dc:date>[^<]*|id=\"[^\"]*\"|#[a-z][0-9a-f]{10}", "", file.read_text())
    pieces = re.split(r"(-?\d+\.\d+)", text)
    return pieces[::2], [float(number) for number in pieces[1::2]]


@pytest.mark.long
@pytest.mark.alone("signals")
def test_an_interrupted_rank_leaves_a_checkpoint_of_all(tmp_path):
    path = tmp_path / "saved.flit"
    words = ["simulate", "--torus", "64x64", "--pattern", "rand", "--rate", "0.1", "--cycles", "1500"]
    done = ranks(2, *words, "--checkpoint", path, program=("-c", INTERRUPTED))
    assert done.returncode != 0
    assert done.stdout == ""
    assert 50 <= fl.Simulation.load(path).now < 1500
    taken_up = ranks(2, "simulate", "--resume", path, "--json")
    assert taken_up.returncode == 0, taken_up.stderr
    one = fl.simulate(fl.Network(fl.Torus(64, 64)), fl.Load("rand", rate=0.1, length=8, cycles=1500))
    assert json.loads(taken_up.stdout)["fingerprint"] == one.fingerprint


def test_message_graphs_run_on_ranks(tmp_path, capsys):
    graph = MessageGraph.exchange(48, [(node, (7 * node + 5) % 48, 400) for node in range(48)])
    (tmp_path / "graph.goal").write_text(graph.text)
    words = ["simulate", str(tmp_path / "graph.goal"), "--torus", "8x6", "--json"]
    done = ranks(2, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("parts") == 2
    one = simulate_messages(fl.Network(fl.Torus(8, 6)), graph)
    names = ("duration", "cycles", "packets_delivered", "flit_hops")
    assert {name: found[name] for name in names} == {name: one[name] for name in names}
    assert found["fingerprint"] == f"{one['fingerprint']:016x}"
    capsys.readouterr()
    assert run(words) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone.pop("parts") == 1
    assert found == alone


def test_loads_run_on_ranks(capsys):
    words = ["load", "step", "--torus", "8x6", "--pattern", "rand", "--rate", "0.3,0.5", "--cycles", "600"]
    words += ["--throttle", "global:tuned", "--json"]
    done = ranks(2, *words)
    assert done.returncode == 0, done.stderr
    assert run(words) == 0
    assert json.loads(done.stdout) == json.loads(capsys.readouterr().out)


def test_a_mistake_is_told_once():
    done = ranks(2, "simulate", "--torus", "8x6", "--pattern", "unheard-of")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.count("error: traffic.pattern") == 1
    done = ranks(3, "simulate", "--torus", "8x2", "--pattern", "rand")
    assert done.returncode != 0
    assert "error: mpiexec: 3 ranks for a network of 2 rows" in done.stderr


def test_pipelined_routers_run_on_ranks(tmp_path, capsys):
    words = ["simulate", "--model", "pipelined", *LOAD, "--json"]
    done = ranks(2, *words)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert run(words) == 0
    one = json.loads(capsys.readouterr().out)
    assert (seen.pop("parts"), one.pop("parts")) == (2, 1)
    assert seen == one
    held = fl.Simulation(
        fl.Network(fl.Torus(8, 6), fl.Router(model="pipelined")),
        fl.Load("rand", rate=0.2, length=8, cycles=300),
    )
    held.step(150)
    held.save(tmp_path / "saved.flit")
    done = ranks(3, "simulate", "--resume", tmp_path / "saved.flit", "--json")
    assert done.returncode == 0, done.stderr
    held.run()
    assert json.loads(done.stdout)["fingerprint"] == held.totals.fingerprint


def test_files_of_booksim2_run_on_ranks(tmp_path, capsys):
    file = tmp_path / "mesh.cfg"
    file.write_text(
        "topology = mesh; routing_function = dor; k = 4; n = 2; num_vcs = 4; injection_rate = 0.1; "
        "packet_size = 2; sample_period = 200; max_samples = 4; seed = 3;"
    )
    done = ranks(3, "simulate", file, "--booksim")
    assert done.returncode == 0, done.stderr
    assert run(["simulate", str(file), "--booksim"]) == 0
    assert done.stdout == capsys.readouterr().out
    done = ranks(2, "simulate", file, "priority=network_age")
    assert done.returncode != 0
    assert done.stderr.count("error: mpiexec: 2 ranks for pipelined routers whose options") == 1
    done = ranks(2, "load", "curve", file, "--rates", "0.1,0.2")
    assert "error: a file of BookSim2 is not for several ranks (mpiexec); start one" in done.stderr


INTERRUPTED = """
import os, signal, sys
from flitloom.ground import interrupts, ranks
from flitloom.run import simulation
from flitloom.commands import run

interrupts.arm()
simulation.LOOK = 0.02
if os.environ["PMI_RANK"] == "1":
    # In cycle 50 the run is under way.
    def exchange(self, halos, count=[0], exchange=ranks.Ranks.exchange):
        count[0] += 1
        if count[0] == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return exchange(self, halos)
    ranks.Ranks.exchange = exchange
sys.exit(run(sys.argv[1:]))
"""

HARM = """
import os, signal, sys, threading
from flitloom.ground import ranks
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
