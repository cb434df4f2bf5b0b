"""Tables of routes are enough by themselves: network, failures and working nodes come from their file."""

import json
import re
from itertools import pairwise

import pytest

import flitloom as fl
from flitloom.analysis.demands import make_demands
from flitloom.commands import run
from flitloom.load.given import largest_load


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fl.tables.make(fl.Torus(4, 4)).to_json("before.json")
    fl.tables.make(fl.Torus(4, 4), failed_links=[(0, 1), (5, 9)]).to_json("after.json")
    fl.tables.make(fl.Torus(4, 4), failed_nodes=[5]).to_json("node.json")


@pytest.mark.usefixtures("files")
def test_tables_bring_their_network_and_router(capsys):
    assert run(["simulate", "--tables", "after.json", "--pattern", "shfl", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    network = ["--torus", "4x4", "--fail", "link:0-1", "--fail", "link:5-9"]
    router = ["--flow-control", "bubble", "--buffer", "16"]
    assert run(["simulate", *network, *router, "--tables", "after.json", "--pattern", "shfl", "--json"]) == 0
    assert alone == json.loads(capsys.readouterr().out)
    assert alone["spec"]["topology"]["failed_links"] == [[0, 1], [5, 9]]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("pattern", ["shfl", "rand", "hots", "bcmp"])
def test_patterns_send_among_working_nodes(pattern, capsys):
    ask = ["simulate", "--tables", "node.json", "--pattern", pattern, "--packets", "3", "--json"]
    assert run(ask) == 0
    shown = capsys.readouterr()
    table = json.loads(shown.out)["spec"]["traffic"]["table"]
    assert table
    assert all(5 not in row[:2] for row in table)
    assert f"{pattern} among the 15 nodes that work" in shown.err


@pytest.mark.parametrize("pattern", ["shfl", "rand", "hots"])
def test_where_all_nodes_work_the_packets_are_those_of_the_core(pattern):
    network = fl.Network(fl.Torus(4, 4))
    traffic = fl.Collective(pattern, payload=14, slices=2, interval=9, packets=3)
    alone = fl.simulate(network, traffic.among_working(network, 7), seed=7)
    assert alone.summary() == fl.simulate(network, traffic, seed=7).summary()


@pytest.mark.usefixtures("files")
def test_saturation_before_and_after_is_one_line(capsys):
    ask = ["load", "saturation", "--tables", "before.json,after.json", "--pattern", "rand"]
    quick = ["--within", "0.03", "--measure", "1000"]
    assert run([*ask, *quick, "--json"]) == 0
    before, after = json.loads(capsys.readouterr().out)
    assert (before["tables"], after["tables"]) == ("before.json", "after.json")
    assert before["saturation"] > after["saturation"]
    for row, file in ((before, "before.json"), (after, "after.json")):
        # Every pair of nodes has a route: rows of the busiest link over the packets of a node.
        assert row["bound"] == pytest.approx(min(1, 15 / fl.tables.read(file).max_load))
        assert row["bound_of"] in ("links on these tables", "the most wanted node", "sources")
    assert run([*ask, *quick]) == 0
    lost = round(100 * (1 - after["saturation"] / before["saturation"]))
    last = capsys.readouterr().out.splitlines()[-1]
    said = re.fullmatch(r"Compared with before.json: after.json accepts (\d+) to (\d+) % less\.", last)
    assert said, last
    assert int(said[1]) <= lost <= int(said[2])


@pytest.mark.usefixtures("files")
def test_loads_on_tables_are_the_simulators(capsys):
    tables = fl.tables.read("after.json")
    network = fl.Network(tables.topology, fl.Router(flow_control="bubble", buffer=16))
    for pattern in ("shfl", "trns", "bcmp"):
        traffic = fl.Collective(pattern, payload=0)
        flits = fl.simulate(network, traffic, tables=tables).links.flits
        assert largest_load(tables, make_demands(network, traffic)) == int(flits.max())
    assert run(["load", "steady", "--tables", "after.json", "--torus", "4x4", "--pattern", "rand"]) == 2
    assert "--torus: the tables name their network; leave it out" in capsys.readouterr().err


WORKING = [node for node in range(16) if node != 5]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("pattern", ["rand", "hots", "shfl", "bcmp"])
def test_loads_go_among_the_nodes_that_work(pattern):
    tables = fl.tables.read("node.json")
    network = fl.Network(tables.topology, fl.Router(flow_control="bubble", buffer=16))
    load = fl.Load(pattern, rate=0.2, cycles=4000)
    packets = fl.simulate(network, load, tables=tables, packets=True).packets.to_dataframe()
    healthy = fl.simulate(
        fl.Network(fl.Torus(4, 4), network.router), fl.Collective(pattern, packets=1), packets=True
    ).packets.to_dataframe()
    goes = dict(zip(healthy.source, healthy.destination, strict=True))
    drawn = pattern in ("rand", "hots")
    sends = [node for node in WORKING if drawn or goes[node] != 5]
    assert sorted(packets.source.unique()) == sends
    assert 5 not in set(packets.destination)
    if drawn:
        assert sorted(packets.destination.unique()) == WORKING
    else:
        assert all(packets.destination == packets.source.map(goes))
    # 0.2 flits per node that sends, in packets of 8.
    expected = len(sends) * 4000 * 0.2 / 8
    assert abs(len(packets) - expected) < 5 * expected**0.5
    series = fl.Simulation(network, load, tables=tables, windows=100)
    series.run()
    offered = series.windows().offered_flits
    assert float(offered.sum()) == pytest.approx(len(sends) * 4000 * 0.2)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("steady", ["--rate", "0.2", "--measure", "2000"]),
        ("curve", ["--rates", "0.2", "--measure", "2000"]),
        ("saturation", ["--within", "0.1", "--measure", "500"]),
        ("ramp", ["--cycles", "8000"]),
        ("step", ["--rate", "0.3", "--cycles", "4000", "--window", "50"]),
        ("impulse", ["--rate", "0.1", "--at", "2000", "--cycles", "6000"]),
        ("burst", ["--packets", "4"]),
    ],
)
def test_every_verb_of_loads_takes_tables_with_a_failed_node(verb, more, capsys):
    ask = ["load", verb, "--tables", "before.json,node.json", "--pattern", "shfl", *more, "--json"]
    assert run(ask) == 0
    shown = capsys.readouterr()
    whole, left = json.loads(shown.out)
    assert (whole["tables"], left["tables"]) == ("before.json", "node.json")
    if verb == "burst":
        assert (whole["packets_delivered"], left["packets_delivered"]) == (64, 56)
        assert "note" not in shown.err
        return
    told = (
        "packets go among the 15 nodes that work; 1 of them sends nothing, since its destination has failed"
    )
    assert f"node.json, shfl: {told}\n" in shown.err
    if verb in ("steady", "curve"):
        # Per node that sends, so that both are 0.2.
        assert all(abs(row["accepted"] - 0.2) < 0.03 for row in (whole, left))
    if verb == "steady":
        assert left["starved"] == 0
        assert left["worst_node"] != 5


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("step", ["--pattern", "rand", "--then", "shfl", "--cycles", "6000"]),
        ("impulse", ["--impulse", "shfl", "--at", "2000", "--cycles", "6000"]),
    ],
)
def test_what_follows_a_load_goes_among_working_nodes_too(verb, more, capsys):
    assert run(["load", verb, "--tables", "node.json", "--rate", "0.1", *more, "--json"]) == 0
    assert "1 of them sends nothing, since its destination has failed" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_given_destinations_among_working_nodes_are_sent(capsys):
    ends = [(node + 5) % 16 for node in range(16)]
    ends[0] = 1
    with open("to.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(map(str, ends)) + "\n")
    ask = ["simulate", "--tables", "node.json", "--destinations", "to.csv"]
    assert run([*ask, "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["packets_delivered"] == 15
    assert "given destinations among the 15 nodes that work" in shown.err
    assert run([*ask, "--rate", "0.1", "--cycles", "1000"]) == 0


def test_bounds_leave_out_nodes_that_any_part_of_a_load_silences():
    network = fl.Network(fl.Torus(4, 4, failed_nodes=[5]))
    plain = make_demands(network, fl.Load("rand", rate=0.1, cycles=9))
    impulse = fl.Impulse("shfl", at=1, packets=1)
    mixed = make_demands(network, fl.Load("rand", rate=0.1, cycles=9, impulse=impulse))
    silenced = plain.sent.copy()
    silenced[10] = 0
    assert silenced.tolist() == mixed.sent.tolist()


@pytest.mark.usefixtures("files")
def test_bounds_of_what_is_left_are_those_of_its_tables():
    tables = fl.tables.read("node.json")
    network = fl.Network(tables.topology, fl.Router(flow_control="bubble", buffer=16))
    for pattern in ("shfl", "trns", "bcmp"):
        load = fl.Load(pattern, rate=0.1, cycles=2000)
        routes = fl.simulate(network, load, tables=tables, packets=True).packets.to_dataframe()
        ends = set(zip(routes.source, routes.destination, strict=True))
        used = {}
        for source, destination in ends:
            path = [source] if source == destination else tables.path(int(source), int(destination))
            for link in pairwise(path):
                used[link] = used.get(link, 0) + 1
        assert largest_load(tables, make_demands(network, load)) == max(used.values())
    rand = make_demands(network, fl.Load("rand", rate=0.1, cycles=9))
    assert largest_load(tables, rand) * 14 == pytest.approx(tables.max_load)
    assert rand.receive_bound == 1


@pytest.mark.usefixtures("files")
def test_what_no_load_can_leave_out_is_told(capsys):
    load = ["simulate", "--tables", "node.json", "--rate", "0.1", "--cycles", "100"]
    assert run([*load, "--pattern", "hots", "--hotspot-target", "5"]) == 2
    assert (
        "traffic.hotspot_target is node 5, which has failed; name one that works" in capsys.readouterr().err
    )
    with open("to.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["5"] * 16) + "\n")
    assert run([*load, "--destinations", "to.csv"]) == 2
    told = capsys.readouterr().err
    assert "traffic.destinations: node 0 sends to node 5, which has failed, and 14 more nodes do so" in told
    assert "or a pattern, whose packets go among the nodes that work" in told
    lonely = fl.Network(fl.Torus(4, failed_nodes=[1, 2, 3]))
    with pytest.raises(fl.SpecError, match="random traffic needs two nodes that work"):
        fl.simulate(lonely, fl.Load("rand", rate=0.1, cycles=9))


def test_python_takes_tables_where_it_takes_networks():
    before = fl.tables.make(fl.Torus(4, 4))
    after = fl.tables.repair(before, failed_nodes=[5])
    quick = {"within": 0.03, "measure": 1000, "workers": 1}
    found = fl.load.saturation({"before": before, "after": after}, "rand", **quick)
    assert list(found.case.values) == ["before", "after"]
    assert found.saturation[0] > found.saturation[1]
    assert list(found.bound_of.values) == ["the most wanted node"] * 2
    curve = fl.load.curve(after, "shfl", [0.1, 0.2], measure=1000, refine=0, workers=2)
    assert abs(curve.accepted.values - [0.1, 0.2]).max() < 0.03
    assert "balanced tables, bubble" in curve.attrs["router"]
    step = fl.load.step(after, "rand", 0.3, cycles=4000, window=50)
    assert abs(step.attrs["final"] - 0.3) < 0.05
    assert int(step.sends.sum()) == 15
    assert fl.load.ramp(after, "rand", cycles=8000).attrs["bound_of"] == "the most wanted node"
    assert int(fl.load.burst(after, "shfl", 3).packets_delivered) == 3 * 14
