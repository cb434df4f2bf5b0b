"""What a result depends on is known by its content: with changed files it is another one."""

import os

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.jobs import Job, Store
from flitloom.load.bounds import ideal_loads
from flitloom.load.cases import tables_of
from flitloom.networks.experiment import build_experiment, read_experiment
from flitloom.networks.fabric import Fabric
from flitloom.run.simulation import begin_experiment
from flitloom.sweep import Sweep

RING = "a,b\nb,c\nc,d\nd,a\n"
SPEC = """
topology = {graph = "net.csv", tables = "tables"}
router.model = "pipelined"
[traffic]
kind = "load"
pattern = "rand"
cycles = 200
rate = 0.1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a ring of four, its tables and an experiment on both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.csv").write_text(RING)
    (tmp_path / "spec.toml").write_text(SPEC)
    assert run(["route", "--graph", "net.csv", "--out", "tables"]) == 0
    return tmp_path


def detour(folder):
    """Let packets from switch a to host2 turn left instead of right, in the file of the tables."""
    file = folder / "tables" / "opensm-lfts.dump"
    lines = file.read_text().splitlines()
    place = next(place for place, line in enumerate(lines) if "'c'" in line and "Channel Adapter" in line)
    before, port = lines[place][:7], lines[place][7:10]
    lines[place] = before + {"001": "002", "002": "001"}[port] + lines[place][10:]
    file.write_text("\n".join(lines) + "\n")


def swept(capsys):
    capsys.readouterr()
    assert run(["sweep", "spec.toml", "--grid", "traffic.rate=0.1,0.2", "-o", "out.csv"]) == 0
    return capsys.readouterr().err


def test_a_sweep_over_changed_tables_is_another_sweep(folder, capsys):
    assert "2 of them run now" in swept(capsys)
    first = (folder / "out.csv").read_text()
    assert "0 of them run now" in swept(capsys)
    (folder / "tables" / "notes.txt").write_text("what is not read changes nothing")
    assert "0 of them run now" in swept(capsys)
    detour(folder)
    assert "2 of them run now" in swept(capsys)
    ids = [
        {line.split(",")[0] for line in text.splitlines()[1:]}
        for text in (first, (folder / "out.csv").read_text())
    ]
    assert not ids[0] & ids[1]


def test_a_sweep_over_a_changed_graph_is_another_sweep(folder, capsys):
    (folder / "spec.toml").write_text(SPEC.replace(', tables = "tables"', ""))
    assert "2 of them run now" in swept(capsys)
    (folder / "net.csv").write_text(RING.replace("d,a", "d,e\ne,a"))
    assert "2 of them run now" in swept(capsys)


def test_simulations_of_stores_that_knew_paths_alone_are_named_and_run_anew(folder, capsys):
    fields = {
        "topology": {"graph": "net.csv", "tables": "tables"},
        "router": {"model": "pipelined"},
        "traffic": {"kind": "load", "pattern": "rand", "cycles": 200},
    }
    store = Store("out.sqlite")
    for point in Sweep(fields, {"traffic.rate": [0.1, 0.2]}, folder=folder).points():
        known = {
            name: dict(value) if isinstance(value, dict) else value for name, value in point.spec.items()
        }
        topology = known["experiment"]["topology"] = dict(known["experiment"]["topology"])
        assert len(topology.pop("content")) == 2
        store.add(Job("simulation", known), {"totals": {"outcome": "of yesterday"}, "seconds": 0.0})
    store.close()
    said = swept(capsys)
    assert "out.sqlite are of an earlier version" in said
    assert "2 of them run now" in said
    assert "yesterday" not in (folder / "out.csv").read_text()
    assert "earlier" not in swept(capsys)


def test_one_process_sees_a_changed_file(folder):
    before = Fabric(graph="net.csv")
    bound = ideal_loads(build_experiment(SPEC_FIELDS, folder))
    (folder / "net.csv").write_text("".join(f"s{here},s{(here + 1) % 16}\n" for here in range(16)))
    after = Fabric(graph="net.csv")
    assert (len(before.subnet.cables), len(after.subnet.cables)) == (4, 16)
    assert before != after
    assert ideal_loads(build_experiment(SPEC_FIELDS, folder)) != bound


SPEC_FIELDS = {
    "topology": {"graph": "net.csv"},
    "router": {"model": "pipelined"},
    "traffic": {"kind": "load", "pattern": "rand", "cycles": 200, "rate": 0.1},
}


def test_a_spec_refuses_files_that_have_changed(folder):
    made = Fabric(graph="net.csv", tables="tables")
    assert Fabric.model_validate(made.model_dump()) == made
    detour(folder)
    with pytest.raises(fl.SpecError, match=r"tables has changed since this spec was made; give it as it was"):
        made.forwarding()
    with pytest.raises(fl.SpecError, match="tables has changed"):
        Fabric(
            **{
                name: value
                for name, value in made.model_dump().items()
                if name in ("graph", "tables", "content")
            }
        )
    (folder / "net.csv").write_text(RING.replace("d,a", "d,e\ne,a"))
    with pytest.raises(fl.SpecError, match=r"net\.csv has changed"):
        Fabric(graph="net.csv", content=made.content[:1])


def test_a_saved_simulation_does_not_go_on_over_changed_tables(folder):
    simulation = begin_experiment(read_experiment("spec.toml"))
    simulation.run(until=100)
    simulation.save("run.flit")
    detour(folder)
    with pytest.raises(fl.SpecError, match="tables has changed"):
        fl.Simulation.load("run.flit")


def test_tables_of_source_routes_are_read_again_when_they_have_changed(tmp_path):
    made = ["route", "--torus", "4x4", "--out", str(tmp_path / "routes.npz")]
    assert run(made) == 0
    first = tables_of(tmp_path / "routes.npz")
    assert tables_of(tmp_path / "routes.npz") is first
    assert run([*made, "--fail", "node:5"]) == 0
    assert tables_of(tmp_path / "routes.npz").topology.failed_nodes == (5,)


def test_a_pipe_is_simulated_but_not_swept(folder):
    end, begin = os.pipe()
    os.write(begin, RING.encode())
    os.close(begin)
    fields = {**SPEC_FIELDS, "topology": {"graph": f"/dev/fd/{end}"}}
    assert build_experiment(fields, folder).topology.nodes == 4
    with pytest.raises(
        fl.SpecError, match="topology: a pipe is read only once; write its contents to a file"
    ):
        Sweep(fields, {"traffic.rate": [0.1]}, folder=folder).points()
    os.close(end)
