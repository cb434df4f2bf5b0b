"""Simulations in files: taken up to the bit, also after the process was killed; damage is refused."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.load.finite import run_judged, window_of
from flitloom.networks.fabric import Fabric
from flitloom.run import checkpoint
from waiting import LIMIT, until

ONE_CYCLE = fl.Router()
PIPELINED = fl.Router(model="pipelined")
ANSWERED = fl.Router(
    model="pipelined",
    channels=8,
    reply_length=4,
    reply_places=2,
    message_classes=2,
    priority="age",
    buffer_policy="shared",
)
CASES = [
    (fl.Torus(8, 8), ONE_CYCLE, fl.Load("rand", rate=0.3, cycles=400), {}),
    (fl.Torus(4, 4, 4), ONE_CYCLE, fl.Load("rand", rate=0.2, cycles=300), {}),
    (fl.Mesh(6, 5), ONE_CYCLE, fl.Collective("rpar", payload=40, slices=5, interval=3), {"packets": True}),
    (fl.Torus(8, 8), ONE_CYCLE, fl.Collective("brot", payload=20), {"packets": True, "link_time": True}),
    (fl.Torus(8, 8), PIPELINED, fl.Load("rand", rate=0.3, cycles=400), {}),
    (fl.Torus(4, 4, 2), PIPELINED, fl.Collective("brot", payload=20), {"packets": True, "link_time": True}),
    (fl.Mesh(4, 4), ANSWERED, fl.Load("rand", rate=0.3, length=3, cycles=300), {}),
    (Fabric(network="dragonfly(3,1,2)"), PIPELINED, fl.Load("rand", rate=0.2, cycles=300), {}),
    (Fabric(network="full4 x ring3"), PIPELINED, fl.Load("rand", rate=0.2, cycles=300), {"packets": True}),
]


@pytest.mark.parametrize(("topology", "router", "traffic", "records"), CASES)
def test_a_saved_simulation_goes_on_to_the_bit(topology, router, traffic, records, tmp_path):
    net = fl.Network(topology, router)
    whole = fl.simulate(net, traffic, **records)
    sim = fl.Simulation(net, traffic, **records)
    random.seed(1)
    file = tmp_path / "run.flit"
    while not sim.finished:
        sim.step(random.randint(1, 60))
        sim.save(file)
        again = fl.Simulation.load(file)
        assert (again.now, again.totals.fingerprint) == (sim.now, sim.totals.fingerprint)
        sim = again
    result = sim.result()
    assert result.to_dict() == whole.to_dict()
    assert result.link_rows() == whole.link_rows()
    for name in records:
        assert getattr(result, name).equals(getattr(whole, name))


@pytest.mark.parametrize(
    ("topology", "router", "traffic", "parts"),
    [
        (fl.Torus(20, 16), PIPELINED, fl.Load("rand", rate=0.2, cycles=300), 5),
        # Bit planes in one thread are faster than sets of channels in several.
        (fl.Mesh(12, 12), PIPELINED, fl.Collective("rpar", payload=60), 1),
        (Fabric(network="dragonfly(6,3,3)"), PIPELINED, fl.Load("rand", rate=0.2, cycles=300), 3),
        (fl.Mesh(12, 12), ANSWERED, fl.Load("rand", rate=0.1, length=3, cycles=200), 2),
    ],
)
def test_pipelined_routers_go_on_in_other_threads(topology, router, traffic, parts, tmp_path):
    net = fl.Network(topology, router)
    whole = fl.simulate(net, traffic)
    sim = fl.Simulation(net, traffic, threads=2)
    sim.run(until=120)
    assert sim.totals.parts == min(2, parts)
    sim.save(tmp_path / "run.flit")
    for threads in (1, 3, 5):
        again = fl.Simulation.load(tmp_path / "run.flit", threads=threads)
        again.run()
        result = again.result()
        assert result.parts == min(threads, parts)
        assert {**result.to_dict(), "parts": 1} == whole.to_dict()
        assert result.link_rows() == whole.link_rows()


@pytest.fixture
def saved(tmp_path):
    sim = fl.Simulation(fl.Network(fl.Torus(6, 4)), fl.Load("rand", rate=0.3, cycles=200))
    sim.step(50)
    file = tmp_path / "run.flit"
    sim.save(file)
    return file


def test_damaged_files_are_refused(saved):
    whole = saved.read_bytes()
    random.seed(2)
    for _ in range(60):
        damaged = bytearray(whole)
        kind = random.randrange(3)
        if kind == 0:
            damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        elif kind == 1:
            del damaged[random.randrange(len(whole)) :]
        else:
            damaged += b"x"
        saved.write_bytes(damaged)
        with pytest.raises(fl.SpecError, match=r"run\.flit"):
            fl.Simulation.load(saved)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", 3, "format: is 3; this flitloom reads formats 4 to 7"),
        ("version", "9.9", "version: written by flitloom 9.9"),
        ("state_bytes", 7, "state_bytes: 7 are announced"),
        ("checksum", 1, "checksum: does not fit"),
        ("cycle", -1, "cycle"),
    ],
)
def test_the_field_that_does_not_fit_is_named(saved, field, value, message):
    magic, about, rest = saved.read_bytes().split(b"\n", 2)
    header = {**json.loads(about), field: value}
    saved.write_bytes(b"\n".join([magic, json.dumps(header).encode(), rest]))
    with pytest.raises(fl.SpecError, match=message):
        fl.Simulation.load(saved)


def test_state_of_another_simulation_is_refused(saved, tmp_path):
    _, header, state = checkpoint.read(saved)
    other = fl.Simulation(fl.Network(fl.Torus(6, 5)), fl.Load("rand", rate=0.3, cycles=200))
    checkpoint.write(tmp_path / "other.flit", other.spec, header.cycle, header.records, state)
    with pytest.raises(fl.SpecError, match=r"other\.flit: state: field .* entries"):
        fl.Simulation.load(tmp_path / "other.flit")


def test_hosts_of_products_had_another_order_in_older_files(tmp_path):
    file = tmp_path / "run.flit"
    damaged = fl.Torus(4, 4, failed_nodes=[5])
    for topology, router, number, refused in (
        ("full4 x ring3", PIPELINED, 4, True),
        (damaged, PIPELINED, 6, True),
        ("full4 x ring3", None, 4, False),
        (fl.Torus(4, 4), PIPELINED, 4, False),
        (fl.Torus(4, 4, failed_links=[(0, 1)]), PIPELINED, 6, False),
    ):
        sim = fl.Simulation(fl.Network(topology, router), fl.Load("rand", rate=0.3, cycles=200))
        sim.step(50)
        sim.save(file)
        magic, about, rest = file.read_bytes().split(b"\n", 2)
        header = {**json.loads(about), "format": number}
        file.write_bytes(b"\n".join([magic, json.dumps(header).encode(), rest]))
        if refused:
            with pytest.raises(
                fl.SpecError, match=rf"format: is {number}, in which hosts of .* had another order"
            ):
                fl.Simulation.load(file)
        else:
            assert fl.Simulation.load(file).now == 50


def test_state_of_other_tables_is_refused(tmp_path):
    graph = tmp_path / "net.csv"
    graph.write_text("a,b\nb,c\nc,d\nd,a\n")
    topology = Fabric(graph=str(graph))
    sim = fl.Simulation(fl.Network(topology, PIPELINED), fl.Load("rand", rate=0.3, cycles=200))
    sim.step(50)
    sim.save(tmp_path / "run.flit")
    graph.write_text("a,b\nb,c\nc,d\nd,a\na,c\n")
    script = "import sys, flitloom as fl; fl.Simulation.load(sys.argv[1])"
    words = [sys.executable, "-c", script, tmp_path / "run.flit"]
    run = subprocess.run(words, capture_output=True, text=True)
    assert "net.csv has changed since this spec was made; give it as it was" in run.stderr


def command(*words):
    return [sys.executable, "-m", "flitloom", "simulate", *words]


@pytest.mark.parametrize(
    ("network", "cycles"),
    [
        (["--torus", "32x32"], "150000"),
        (["--torus", "16x16", "--model", "pipelined"], "30000"),
        (["--network", "dragonfly(4,2,2)"], "250000"),
    ],
    ids=["one-cycle", "pipelined", "switches"],
)
def test_a_killed_run_goes_on_from_its_checkpoint(network, cycles, tmp_path):
    case = [*network, "--pattern", "rand", "--rate", "0.1", "--cycles", cycles, "--json"]
    file = tmp_path / "long.flit"
    first = subprocess.Popen(
        command(*case, "--checkpoint", file, "--every", "0.1s"), stdout=subprocess.DEVNULL
    )
    until(lambda: file.exists() or first.poll() is not None, "the checkpoint is written")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert fl.Simulation.load(file).now > 0
    resumed = json.loads(subprocess.check_output(command("--resume", file, "--json")))
    whole = json.loads(subprocess.check_output(command(*case)))
    assert resumed == whole


def test_what_was_judged_is_kept_while_the_network_empties(tmp_path, capsys):
    """Counts of sources are in coarser slots then, which say less."""
    case = ["--torus", "8x8", "--pattern", "rand", "--rate", "0.5", "--cycles", "3000", "--json"]
    assert run(["simulate", *case]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["verdict"], whole["latency"]) == ("growing", None)
    spec = fl.Experiment.model_validate(
        {
            "topology": fl.Torus(8, 8),
            "traffic": {"kind": "load", "pattern": "rand", "rate": 0.5, "cycles": 3000},
        }
    )
    sim = fl.Simulation(fl.Network(spec.topology), spec.traffic, windows=window_of(spec))
    judged = run_judged(sim)
    sim.run(until=3500)
    assert not sim.finished
    sim.save(tmp_path / "run.flit")
    assert run_judged(fl.Simulation.load(tmp_path / "run.flit")) == judged
    assert run(["simulate", "--resume", str(tmp_path / "run.flit"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == whole


def test_windows_of_what_is_no_constant_load_are_not_judged(tmp_path, capsys):
    traffic = fl.Collective("shfl", payload=7)
    sim = fl.Simulation(fl.Network(fl.Torus(4, 4)), traffic, windows=10)
    sim.run(until=5)
    sim.save(tmp_path / "run.flit")
    assert run(["simulate", "--resume", str(tmp_path / "run.flit"), "--json"]) == 0
    assert "verdict" not in json.loads(capsys.readouterr().out)


@pytest.mark.alone("signals")
def test_ctrl_c_leaves_a_checkpoint(tmp_path):
    file = tmp_path / "long.flit"
    case = ["--torus", "64x64", "--pattern", "rand", "--rate", "0.1", "--cycles", "10000000"]
    started = command(*case, "--checkpoint", file, "--every", "0.2s")
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as run:
        until(lambda: file.exists() or run.poll() is not None, "the checkpoint is written")
        file.unlink()
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT) == 130
        assert run.stderr.read() == "interrupted\n"
    assert fl.Simulation.load(file).now > 0


def test_resume_takes_no_other_spec(saved):
    run = subprocess.run(command("--resume", saved, "--torus", "4x4"), capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert "--resume: brings its own network" in run.stderr
