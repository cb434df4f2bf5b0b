"""Tables of routes are enough by themselves: network, failures and working nodes come from their file."""

import json

import pytest

import flitloom as fl
from flitloom.analysis.demands import make_demands
from flitloom.commands import run
from flitloom.routing.given import largest_load
from flitloom.workload import among_working


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fl.route(fl.Torus(4, 4)).to_json("before.json")
    fl.route(fl.Torus(4, 4), failed_links=[(0, 1), (5, 9)]).to_json("after.json")
    fl.route(fl.Torus(4, 4), failed_nodes=[5]).to_json("node.json")


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
    alone = fl.simulate(network, among_working(network, traffic, 7), seed=7)
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
        # Every pair of nodes has a route: rows of the fullest link over the packets of a node.
        assert row["bound"] == pytest.approx(min(1, 15 / fl.read_tables(file).max_load))
        assert row["bound_of"] in ("links on these tables", "the most wanted node", "sources")
    assert run([*ask, *quick]) == 0
    lost = round(100 * (1 - after["saturation"] / before["saturation"]))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"Compared with before.json: after.json accepts {lost} % less."


@pytest.mark.usefixtures("files")
def test_loads_on_tables_are_the_simulators(capsys):
    tables = fl.read_tables("after.json")
    network = fl.Network(tables.topology, fl.Router(flow_control="bubble", buffer=16))
    for pattern in ("shfl", "trns", "bcmp"):
        traffic = fl.Collective(pattern, payload=0)
        flits = fl.simulate(network, traffic, tables=tables).links.flits
        assert largest_load(tables, make_demands(network, traffic)) == int(flits.max())
    assert run(["load", "steady", "--tables", "after.json", "--torus", "4x4", "--pattern", "rand"]) == 2
    assert "--torus: the tables name their network; leave it out" in capsys.readouterr().err
    assert run(["load", "steady", "--tables", "node.json", "--pattern", "rand", "--rate", "0.1"]) == 2
    assert "every node of a load sends, so give packets or a matrix" in capsys.readouterr().err
