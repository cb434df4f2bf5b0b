"""Message graphs as the traffic of a spec: on both models of routers they do what other traffic does."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import flitloom as fl
from flitloom.commands import run
from flitloom.formats.known import FORMATS
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.networks.experiment import build_experiment, read_experiment
from flitloom.networks.fabric import Fabric
from pages import read
from places import ROOT

PIPELINED = fl.Router(model="pipelined")
#: Phases of random messages, with computing between them.
DRAWN = np.random.default_rng(11)
GRAPH = MessageGraph.steps(
    16,
    [
        ([(int(a), int(b), int(size)) for a, b, size in DRAWN.integers(0, 16, (30, 3)) * (1, 1, 90)], cycles)
        for cycles in (0, 40, 130)
    ],
)
NODES = tuple(DRAWN.permutation(16).tolist())
#: Networks and routers, on which ranks sit in any order.
PLACES = [
    (fl.Torus(4, 4), fl.Router()),
    (fl.Mesh(4, 4), fl.Router(buffer=20, flow_control="cut-through", routing="sa")),
    (fl.Product("full4 x ring4"), fl.Router()),
    (fl.Torus(4, 4), PIPELINED),
    (fl.Torus(4, 4, failed_links=["0-1"]), PIPELINED),
    (fl.Product("full4 x ring4"), PIPELINED),
    (Fabric(network="fattree(4)"), PIPELINED),
]


@pytest.mark.parametrize(("topology", "router"), PLACES)
def test_resumed_runs_end_as_uninterrupted_ones(topology, router, tmp_path):
    network = fl.Network(topology, router)
    messages = fl.Messages(GRAPH, nodes=NODES, flit_bytes=8, packet_payload=5, calc_cycles=2)
    records = {"packets": True, "link_time": network.topology.grid is not None}
    whole = fl.simulate(network, messages, **records)
    totals = simulate_messages(network, GRAPH, nodes=NODES, flit_bytes=8, packet_payload=5, calc_cycles=2)
    assert (totals["duration"], totals["makespan"]) == (whole.duration, whole.makespan)
    assert f"{totals['fingerprint']:016x}" == whole.fingerprint
    # All flits, and a header per packet.
    flits = [-(-size // 8) for one in GRAPH.operations() for kind, size in sends(one) if kind == "send"]
    packets = sum(max(1, -(-count // 5)) for count in flits)
    assert (whole.packets_delivered, whole.flits_delivered) == (packets, sum(flits) + packets)
    # A rank computes for 340 cycles, and the last message is received after that.
    assert whole.makespan > 340
    assert whole.packets.sizes["packet"] == packets
    assert int(whole.packets.tail_arrival.max()) + 2 == whole.duration
    for kept in (records, {"windows": 50}):
        sim = fl.Simulation(network, messages, **kept)
        for cycles in (37, 90, 201):
            sim.step(cycles)
            sim.save(tmp_path / "run.flit")
            sim = fl.Simulation.load(tmp_path / "run.flit")
        sim.run()
        assert sim.result().to_dict() == {**whole.to_dict(), "engine": sim.engine}
    for name in (name for name, on in records.items() if on):
        assert getattr(fl.simulate(network, messages, **records), name).equals(getattr(whole, name))


def sends(operations):
    """Kinds and sizes of operations."""
    return [(one.kind, one.size) for one in operations]


@pytest.mark.parametrize(("topology", "router"), PLACES)
def test_windows_add_up_to_the_totals(topology, router, tmp_path):
    network, messages = fl.Network(topology, router), fl.Messages(GRAPH, nodes=NODES)
    whole = fl.simulate(network, messages)
    end = -(-whole.duration // 50) * 50
    sim = fl.Simulation(network, messages, windows=50)
    sim.run(until=150)
    sim.save(tmp_path / "run.flit")
    half, sim = sim.windows(), fl.Simulation.load(tmp_path / "run.flit")
    sim.run(until=end)
    series = sim.windows()
    assert series.sizes["window"] == end // 50
    for name in (name for name in half if half[name].dims == ("window",)):
        assert half[name].equals(series[name][:3]), name
    assert int(series.generated_flits.sum()) == int(series.ejected_flits.sum()) == whole.flits_delivered
    assert int(series.delivered_packets.sum()) == series.measured_packets == whole.packets_delivered
    assert int(series.age_sum.sum()) == whole.age_sum
    assert int(series.in_flight[-1]) == 0
    # Messages are generated when they may start: some in the first window, no sooner than their flits arrive.
    made, there = series.generated_flits.cumsum().to_numpy(), series.ejected_flits.cumsum().to_numpy()
    assert (made >= there).all()
    assert 0 < made[0] < made[-1]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads):
    network, messages = fl.Network(fl.Torus(4, 4)), fl.Messages(GRAPH, nodes=NODES)
    series = []
    for count in (1, threads):
        sim = fl.Simulation(network, messages, windows=20, threads=count)
        sim.run(until=100)
        sim.windows()
        sim.run()
        series.append(sim.windows())
    assert series[0].identical(series[1])


@pytest.mark.parametrize("model", ["one-cycle", "pipelined"])
def test_a_spec_and_its_file_are_drawn_saved_and_swept(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/app.goal").write_text(GRAPH.text)
    Path("sub/nodes.csv").write_text("\n".join(map(str, NODES)) + "\n")
    spec = (
        'topology.sizes = "4x4"\n'
        f'router.model = "{model}"\n'
        '[traffic]\nkind = "messages"\ngraph = "app.goal"\nnodes = "nodes.csv"\ncalc_cycles = 3\n'
    )
    Path("sub/spec.toml").write_text(spec)
    drawn = "--picture links.png --space-time buffers.png --html page.html -o result.nc"

    def said(words):
        assert run(words.split()) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    found = json.loads(said(f"simulate sub/spec.toml --json {drawn} --checkpoint run.flit --every 1s"))
    network = fl.Network(fl.Torus(4, 4), fl.Router(model=model))
    totals = simulate_messages(network, GRAPH, nodes=NODES, calc_cycles=3)
    assert found["fingerprint"] == f"{totals['fingerprint']:016x}"
    assert (found["ranks"], found["makespan"]) == (16, totals["makespan"])
    for picture in ("links.png", "buffers.png"):
        with Image.open(picture) as image:
            assert len(image.getcolors(1 << 24)) > 10
    (shown,) = read(Path("page.html"))
    assert (shown["slices"], shown["part"]) == (1, "operation")
    assert shown["facts"]["fingerprint"] == found["fingerprint"]
    assert shown["title"] == "messages of 16 ranks on 4x4 torus"
    assert int(shown["columns"]["flits"].sum()) == found["flit_hops"]
    assert "fingerprint" in said("view sub/spec.toml -o again.html")
    assert "fingerprint" in said("view result.nc -o stored.html")
    for page in ("again.html", "stored.html"):
        (again,) = read(Path(page))
        assert again["facts"]["fingerprint"] == found["fingerprint"]
    # The file itself is such a spec, with the same options.
    words = (
        f"simulate sub/app.goal --torus 4x4 --model {model} --calc-cycles 3 --set traffic.nodes=sub/nodes.csv"
    )
    assert json.loads(said(f"{words} --json --html own.html"))["fingerprint"] == found["fingerprint"]
    assert json.loads(said(f"{words} --json --stop-at 60"))["cycles"] == 60
    rows = json.loads(said("sweep sub/spec.toml --grid traffic.calc_cycles=1,3 -o rows.csv --json"))
    assert [row["traffic.calc_cycles"] for row in rows] == [1, 3]
    assert rows[1]["duration"] == found["duration"] > rows[0]["duration"]


@pytest.mark.parametrize("model", ["one-cycle", "pipelined"])
def test_the_command_line_goes_on(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("app.goal").write_text(GRAPH.text)
    network = fl.Network(fl.Torus(4, 4), fl.Router(model=model))
    sim = fl.Simulation(network, fl.Messages("app.goal"))
    sim.step(150)
    sim.save("run.flit")
    # What is saved holds the graph.
    Path("app.goal").unlink()
    assert run(["simulate", "--resume", "run.flit", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["makespan"] == simulate_messages(network, GRAPH)["makespan"]


@pytest.mark.parametrize(
    "form", [one for one in FORMATS if one.read_messages is not None], ids=lambda one: one.name
)
def test_every_format_of_messages_is_read(form, tmp_path):
    graph = MessageGraph.exchange(3, [(0, 1, 100), (2, 0, 40)])
    form.write_messages(graph.operations(), tmp_path / f"x{form.target}")
    file = next(iter(sorted(tmp_path.iterdir())))
    fields = {"topology": {"sizes": "4"}, "traffic": {"kind": "messages", "graph": file.name}}
    messages = build_experiment(fields, tmp_path).traffic
    assert MessageGraph(messages.graph).operations() == graph.operations()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", "traffic.graph: is missing"),
        ('graph = "no.goal"', "traffic.graph: no.goal: cannot be read"),
        ("graph = 3", "traffic.graph: 3 is not a message graph; give a file, or a GOAL text"),
        ('graph = "spec.toml"', "traffic.graph: spec.toml: a GOAL text begins with num_ranks and a number"),
        ('graph = "bad.goal"', "traffic.graph: line 2: rank 7 {; expected a rank below num_ranks"),
        ('graph = "alone.goal"', "traffic.graph: rank 0 sends a message to rank 1 under tag 0 that is never"),
        ('graph = "app.goal"\nnodes = [0, 1]', "traffic.nodes: 2 nodes; one per rank (3) is needed"),
        (
            'graph = "app.goal"\nnodes = [0, 1, 1]',
            "traffic.nodes: node 1 holds two ranks; every rank needs a",
        ),
        (
            'graph = "app.goal"\nnodes = [0, 1, 99]',
            "traffic.nodes[2]: 99 is out of range; it must be 0 to 15",
        ),
        ('graph = "app.goal"\nnodes = [0, 1, -1]', "traffic.nodes[2]: -1 is out of range"),
        ('graph = "app.goal"\nflit_bytes = 0', "traffic.flit_bytes: 0 is out of range; it must be 1 to"),
        ('graph = "app.goal"\npacket_payload = 0', "traffic.packet_payload: 0 is out of range"),
        ('graph = "app.goal"\ncalc_cycles = -1', "traffic.calc_cycles: -1 is out of range"),
        ('graph = "app.goal"\nrate = 0.1', "traffic.rate: unknown field"),
        ('graph = "many.goal"', "traffic.graph: 17 ranks, the network has 16 nodes"),
    ],
)
@pytest.mark.parametrize("model", ["one-cycle", "pipelined"])
def test_bad_fields_are_refused_with_their_path(model, fields, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("app.goal").write_text(MessageGraph.exchange(3, [(0, 1, 100)]).text)
    Path("many.goal").write_text(MessageGraph.exchange(17, [(0, 1, 100)]).text)
    Path("bad.goal").write_text("num_ranks 2\nrank 7 {\n}\n")
    Path("alone.goal").write_text("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\n")
    Path("spec.toml").write_text(
        f'topology.sizes = "4x4"\nrouter.model = "{model}"\n[traffic]\nkind = "messages"\n{fields}\n'
    )
    assert run(["simulate", "spec.toml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("simulate app.goal --torus 4x4 --pattern shfl", "--pattern: a message graph brings its own traffic"),
        ("simulate app.goal", "topology: is missing"),
        ("simulate app.goal --torus 2", "app.goal: 3 ranks, the network has 2 nodes"),
        ("simulate app.goal --torus 4x4 --set traffic.rate=1", "traffic.rate: unknown field"),
        (
            "load curve spec.toml --rates 0.1,0.2",
            "traffic.kind: is messages, and flitloom load sends at a rate",
        ),
        ("load steady spec.toml", "traffic.kind: is messages, and flitloom load sends at a rate"),
        ("simulate --plan plan.json spec.toml", "plan: a message graph has no plan"),
        ("check spec.toml", "router.routing"),
        ("view app.goal -o page.html", "app.goal: is a message graph, which flitloom view does not take"),
    ],
)
def test_what_messages_cannot_do_is_told(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("app.goal").write_text(MessageGraph.exchange(3, [(0, 1, 100)]).text)
    Path("spec.toml").write_text('topology.sizes = "4x4"\n[traffic]\nkind = "messages"\ngraph = "app.goal"\n')
    assert run(["schedule", "--torus", "4x4", "--pattern", "shfl", "-o", "plan.json", "--moves", "10"]) == 0
    capsys.readouterr()
    assert run(words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_what_needs_other_traffic_refuses_messages():
    network, messages = fl.Network(fl.Torus(4, 4)), fl.Messages(GRAPH)
    with pytest.raises(fl.SpecError, match="a message graph has no lower bound"):
        fl.lower_bound(network, messages)
    assert fl.simulate(network, messages).lower_bound is None


def test_the_example_is_what_it_says():
    folder = ROOT / "examples"
    spec = read_experiment(folder / "messages.toml")
    result = fl.simulate(fl.Network(spec.topology, spec.router), spec.traffic)
    # Neighbours of the ring are neighbours of the torus: no flit goes further.
    assert result.flit_hops == result.flits_delivered == 2 * 8 * 2 * (64 + 4)


def test_a_file_becomes_a_spec(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("out").mkdir()
    Path("in/app.goal").write_text(GRAPH.text)
    words = "convert in/app.goal out/spec.toml --torus 4x4 --fail link:0-1 --fail node:(3,3)"
    assert run(words.split()) == 0
    assert tomllib.loads(Path("out/spec.toml").read_text())["traffic"] == {
        "kind": "messages",
        "graph": "../in/app.goal",
    }
    spec = read_experiment("out/spec.toml")
    assert spec.topology.is_as(fl.Torus(4, 4, failed_nodes=[15], failed_links=["0-1"]))
    assert spec.traffic == fl.Messages(GRAPH)
    capsys.readouterr()
    for refused, message in (
        ("", "in/app.goal: does not say what network it is for; give --torus or --mesh"),
        ("--torus 4x4 --as-collective", "--as-collective: does not go with a spec"),
        ("--torus 1x1", "topology.sizes"),
    ):
        assert run(["convert", "in/app.goal", "other.toml", *refused.split()]) == 2
        assert message in capsys.readouterr().err
    assert not Path("other.toml").exists()


def test_placements_seat_the_ranks_of_a_spec(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("app.goal").write_text(GRAPH.text)
    Path("spec.toml").write_text('topology.sizes = "4x4"\n[traffic]\nkind = "messages"\ngraph = "app.goal"\n')
    assert run(["place", "--torus", "4x4", "--traffic", "app.goal", "-o", "p.json"]) == 0
    nodes = json.loads(Path("p.json").read_text())["placement"]
    capsys.readouterr()
    assert run(["simulate", "app.goal", "--placement", "p.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spec"]["traffic"]["nodes"] == nodes
    totals = simulate_messages(fl.Network(fl.Torus(4, 4)), GRAPH, nodes=nodes)
    assert found["duration"] == totals["duration"]
