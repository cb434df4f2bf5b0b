"""What a run will take is said before, and what the machine does not have is refused."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import flitloom as fl
from flitloom.commands import assembly
from flitloom.ground import settings
from flitloom.messages import MessageGraph
from flitloom.run import outlook

LOAD = ["simulate", "--torus", "16x16", "--pattern", "rand", "--rate", "0.2"]


def memory_of(text):
    """Kilobytes that a command says its simulations take."""
    count, unit = re.search(r"memory: about ([0-9.]+) (.)B", text).groups()
    return float(count) * {"k": 1, "M": 1000}[unit]


def run(*words):
    settings.forget()
    return CliRunner().invoke(assembly.build(words), list(words))


def test_memory_is_told_from_a_threshold_on(monkeypatch):
    monkeypatch.setenv("FLITLOOM_MEMORY_FROM", "1000")
    told = run(*LOAD, "--cycles", "100")
    assert told.exit_code == 0
    assert "memory: about " in told.stderr
    monkeypatch.setenv("FLITLOOM_MEMORY_FROM", "1e15")
    assert "memory" not in run(*LOAD, "--cycles", "100").stderr


@pytest.mark.parametrize(
    ("cycles", "engine"),
    [(100_000, []), (50_000, ["--flow-control", "cut-through", "--buffer", "8"])],
)
def test_time_is_told_from_a_threshold_on(monkeypatch, cycles, engine):
    """Told after a moment, of which the run's rate is known; runs are looked at every 50 ms."""
    monkeypatch.setattr(outlook.TimeLine.__init__, "__defaults__", (0.0,))
    monkeypatch.setattr("flitloom.run.simulation.LOOK", 0.01)
    monkeypatch.setenv("FLITLOOM_TIME_FROM", "0")
    told = run(*LOAD, "--cycles", f"{cycles}", *engine)
    assert told.exit_code == 0
    assert "time: about " in told.stderr
    assert f"of {cycles:,} cycles" in told.stderr
    monkeypatch.setenv("FLITLOOM_TIME_FROM", "3600")
    assert "time" not in run(*LOAD, "--cycles", f"{cycles}", *engine).stderr


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (["ramp", "--cycles", "300000"], "of 300,000 cycles"),
        (["step", "--rate", "0.1", "--cycles", "1000000", "--window", "50"], "of 1,000,000 cycles"),
        (["step", "--rate", "0.1,0.2,0.3", "--cycles", "9000", "--window", "50"], "of 3 steps"),
        (["steady", "--rate", "0.1", "--measure", "1000000"], "cycles or more"),
        (["steady", "--rate", "0.1", "--warm-up", "1000", "--measure", "1000000"], "of 1,001,000 cycles"),
        (["burst", "--packets", "20000"], "of 1,280,000 packets"),
    ],
)
def test_time_is_told_in_what_is_counted(monkeypatch, words, unit):
    """Of one run its cycles or packets, of several how many of them."""
    monkeypatch.setattr(outlook.TimeLine.__init__, "__defaults__", (0.0,))
    monkeypatch.setattr("flitloom.run.simulation.LOOK", 0.001)
    monkeypatch.setenv("FLITLOOM_TIME_FROM", "0")
    told = run("load", *words, "--torus", "8x8", "--pattern", "rand")
    assert told.exit_code == 0, told.stderr
    [line] = [line for line in told.stderr.splitlines() if line.startswith("time: about ")]
    assert line.endswith(unit), line


def test_every_long_command_foretells_its_time_and_simulations_their_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(outlook.TimeLine.__init__, "__defaults__", (0.0,))
    monkeypatch.setenv("FLITLOOM_TIME_FROM", "0")
    monkeypatch.setenv("FLITLOOM_MEMORY_FROM", "1000")
    spec = tmp_path / "spec.toml"
    spec.write_text('topology.sizes = "8x8"\n[traffic]\nkind = "load"\npattern = "rand"\ncycles = 100\n')
    grid = ["--grid", "traffic.rate=0.1,0.2,0.3", "--grid", "topology.sizes=8x8,16x16"]
    told = run("sweep", str(spec), *grid, "-o", str(tmp_path / "rows.csv"), "--threads", "1")
    assert told.exit_code == 0, told.stderr
    assert "of 6 simulations" in told.stderr
    one = memory_of(told.stderr)
    sides = ["--torus", "8x8", "--pattern", "rand", "--rate", "0.1,0.2,0.3", "--cycles", "200"]
    told = run("load", "step", *sides, "--threads", "2")
    assert told.exit_code == 0, told.stderr
    assert "time: about " in told.stderr
    assert re.search(r"memory: about [0-9.]+ .B for 2 simulations side by side", told.stderr)
    told = run("load", "burst", "--torus", "8x8", "--pattern", "trns,torn", "--packets", "2")
    assert "memory: about " in told.stderr
    told = run("stack", "--torus", "8x8", "--pattern", "shfl", "--threads", "1")
    assert "memory: about " in told.stderr
    graph = tmp_path / "graph.goal"
    graph.write_text(MessageGraph.exchange(64, [(0, 9, 100)]).text)
    told = run("simulate", str(graph), "--torus", "8x8")
    assert "memory: about " in told.stderr
    # Sixteen by sixteen, side by side with others, takes more than one of them.
    told = run("sweep", str(spec), *grid, "-o", str(tmp_path / "more.csv"), "--threads", "3")
    assert "for 3 simulations side by side" in told.stderr
    assert memory_of(told.stderr) == pytest.approx(3 * one, rel=0.05)
    told = run("papers", "run", "cup-stacking-2022/figure-2", "--out", str(tmp_path))
    assert told.exit_code == 0, told.stderr
    monkeypatch.setenv("FLITLOOM_TIME_FROM", "3600")
    assert "time" not in run("load", "step", *sides).stderr


def test_time_is_that_of_the_rest_at_the_rate_so_far(monkeypatch):
    now, said = [100.0], []
    monkeypatch.setattr(outlook.time, "monotonic", lambda: now[0])
    line = outlook.TimeLine(said.append, above=10.0)
    for seconds, done in ((0.25, 1000), (0.75, 1500), (1.5, 2000), (1.75, 2500)):
        now[0] = 100.0 + seconds
        line(done, 101_000, "cycles")
    # 1000 cycles in 1.5 s, 99,000 to go.
    assert said == ["time: about 2 min more for 99,000 of 101,000 cycles"]


def test_what_the_machine_does_not_have_is_refused(monkeypatch):
    monkeypatch.setattr(outlook, "memory_there", lambda: (50_000, 40_000))
    refused = run(*LOAD, "--cycles", "100")
    assert refused.exit_code != 0
    with pytest.raises(fl.FlitloomError, match=r"memory: about .* this machine has 50\.0 kB; take a smaller"):
        fl.simulate(fl.Network(fl.Torus(64, 64)), fl.Collective("shfl"))
    monkeypatch.setattr(outlook, "memory_there", lambda: (10**12, 10_000))
    warned = run(*LOAD, "--cycles", "100")
    assert warned.exit_code == 0
    assert "more than the 10.0 kB that are free now" in warned.stderr


def test_a_group_of_processes_has_what_it_may_take(monkeypatch, tmp_path):
    there, group = tmp_path / "meminfo", tmp_path / "max"
    there.write_text("MemTotal:  4000 kB\nMemFree: 1 kB\nMemAvailable: 3000 kB\nHugePages_Total: 0\n")
    monkeypatch.setattr(outlook, "MEMINFO", there)
    monkeypatch.setattr(outlook, "GROUP", group)
    assert outlook.memory_there() == (4_096_000, 3_072_000)
    group.write_text("max\n")
    assert outlook.memory_there() == (4_096_000, 3_072_000)
    group.write_text("1000000\n")
    assert outlook.memory_there() == (1_000_000, 1_000_000)


GROWTH = """
import flitloom as fl
from flitloom.run.simulation import _memory


def resident():
    rows = open("/proc/self/status").read().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) * 1024


fl.simulate(fl.Network(fl.Torus(8, 8)), fl.Collective("shfl"))
before = resident()
network = fl.Network(fl.{torus}, fl.Router({router}))
traffic = fl.Load("rand", rate=0.05, length=8, cycles=60)
simulation = fl.Simulation(network, traffic, links={links}, latencies=True)
simulation.run(40)
print(resident() - before, _memory(network, traffic, links={links}), simulation.engine)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.parametrize(
    ("torus", "router", "links"),
    [
        ("Torus(512, 512)", 'flow_control="cut-through", buffer=8', True),
        ("Torus(512, 512)", "processor_queues='per-direction'", False),
        ("Torus(64, 64, 64)", "", False),
    ],
)
def test_memory_is_about_what_the_general_engine_takes(torus, router, links):
    code = GROWTH.format(torus=torus, router=router, links=links)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown, needed, engine = done.stdout.split()
    assert engine == "general"
    assert 0.5 < int(grown) / int(needed) < 2, (grown, needed)
