"""Products with full meshes and circulants in routers of one cycle."""

import json

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.networks.experiment import build_experiment
from flitloom.networks.fabric import Fabric


def test_all_to_all_over_a_full_mesh_uses_every_link_once():
    rows = [(a, b, 3, 0) for a in range(8) for b in range(8) if a != b]
    result = fl.simulate(fl.Network(fl.Product("full8")), fl.Packets(rows))
    assert result.packets_delivered == len(rows)
    assert result.flit_hops == 3 * len(rows)
    used = result.links["flits"].values
    assert sorted(used.ravel().tolist()) == [0] * 8 + [3] * 56
    assert np.array_equal(used > 0, result.links["works"].values)
    assert list(result.network.directions) == ["+x", "-x", "+2x", "-2x", "+3x", "-3x", "+4x", "-4x"]


def test_a_product_of_rings_and_lines_is_as_a_torus_or_mesh():
    load = fl.Load("rand", rate=0.3, cycles=500)
    for product, plain in (
        ("ring4 x line3", fl.Torus(4, 3, wrap=[True, False])),
        ("ring5 x ring4", fl.Torus(5, 4)),
    ):
        one, other = (fl.simulate(fl.Network(network), load) for network in (fl.Product(product), plain))
        assert one.fingerprint == other.fingerprint


def test_hops_are_the_differing_coordinates():
    result = fl.simulate(fl.Network(fl.Product("full5 x full4")), fl.Packets([(0, 19, 1, 0), (3, 8, 1, 0)]))
    assert result.flit_hops == 3
    assert result.duration == 4


def test_the_model_says_which_routers():
    load = {"kind": "load", "pattern": "rand", "rate": 0.1, "cycles": 100}
    fields = {"topology": {"network": "full4 x ring4"}, "traffic": load}
    plain = build_experiment(fields)
    pipelined = build_experiment({**fields, "router": {"model": "pipelined"}})
    assert isinstance(plain.topology, fl.Product)
    assert isinstance(pipelined.topology, Fabric)
    for spec in (plain, pipelined):
        assert build_experiment(spec.model_dump(mode="json")).topology.is_as(spec.topology)


def test_the_command_line_runs_and_loads_products(capfd):
    assert run(["simulate", "--network", "full4 x full4", "--pattern", "shfl", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["engine"] == "general"
    words = [
        "load",
        "curve",
        "--network",
        "circulant(8;1,3) x ring4",
        "--pattern",
        "rand",
        "--rates",
        "0.1,0.2",
    ]
    assert run([*words, "--json"]) == 0
    # Loads of links are not known there.
    assert '"bound": null' in capfd.readouterr().out
    words = ["load", "curve", "--network", "full4 x ring4", "--pattern", "rand", "--rates", "0.1,0.2"]
    assert run([*words, "--json"]) == 0
    assert "accepted" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("network", "options", "words"),
    [
        ("full4*2", [], "write full4, or give router.model = pipelined"),
        ("full64", ["--channels", "2"], "fewer channels or smaller full meshes"),
        ("full66", [], "at most 64; give router.model = pipelined"),
        ("full8", ["--html", "page.html"], "pages that move are for tori and meshes"),
        ("full8", ["--throttle", "spth"], "take a throttle without signals"),
        ("full8", ["--routing", "cl"], "take do, o1turn"),
        ("circulant(8;1,3)*2 x ring4", [], "write circulant(8;1,3), or give router.model = pipelined"),
        ("circulant(8;1,3) x ring4", ["--html", "page.html"], "pages that move are for tori and meshes"),
        ("circulant(8;1,3) x ring4", ["--throttle", "pt"], "take a throttle without signals"),
        ("circulant(8;1,3) x ring4", ["--routing", "cl"], "take do, o1turn"),
        ("circulant(40;1,3,7,12) x circulant(50;1,4,9,15)", [], "at most 7 are possible"),
    ],
)
def test_what_is_not_known_says_so(network, options, words, capfd):
    assert run(["simulate", "--network", network, "--pattern", "rand", *options]) == 2
    printed = capfd.readouterr()
    assert words in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("product", ["full4", "circulant(8;1,3)"])
def test_schedules_do_not_know_full_meshes(product):
    with pytest.raises(fl.SpecError, match="for tori and meshes"):
        fl.plans.search(fl.Network(fl.Product(product)), fl.Collective("shfl", payload=7))


def test_links_and_ways_of_circulants_are_those_of_networkx():
    network = fl.Network(fl.Product("circulant(12;1,4,6) x ring4"))
    graph = nx.cartesian_product(nx.cycle_graph(4), nx.circulant_graph(12, [1, 4, 6]))
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    rows = [(a, b, 2, 0) for a in range(48) for b in range(48)]
    result = fl.simulate(network, fl.Packets(rows))
    places = [(node // 12, node % 12) for node in range(48)]
    assert result.flit_hops == 2 * sum(hops[places[a]][places[b]] for a, b, *_ in rows)
    assert network.directions == ("+x", "-x", "+4x", "-4x", "+6x", "-6x", "+y", "-y")
    works = result.links["works"].values
    assert works.sum() == 2 * graph.number_of_edges()
    # Half way round a node has one of both senses: plus below, minus above.
    assert works.reshape(48, 8)[:, 4].tolist() == [node % 12 < 6 for node in range(48)]


def test_a_circulant_of_step_1_is_a_ring():
    load = fl.Load("rand", rate=0.4, length=3, cycles=500)
    for routing in ("do", "valiant", "ma"):
        router = fl.Router(routing=routing, buffer=4, flow_control="cut-through")
        networks = fl.Product("circulant(8;1) x ring5"), fl.Torus(8, 5)
        one, other = (fl.simulate(fl.Network(network, router), load) for network in networks)
        assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize("routing", ["do", "o1turn", "valiant", "ugal", "sa", "ma"])
def test_circulants_know_routing_functions(routing):
    flow = "cut-through" if routing in ("sa", "ma") else "wormhole"
    network = fl.Network(
        fl.Product("circulant(10;2,5) x line3"), fl.Router(routing=routing, buffer=8, flow_control=flow)
    )
    # All at once, in every ring.
    rows = [(a, b, 8, 0) for a in range(30) for b in range(30) if a != b]
    assert fl.simulate(network, fl.Packets(rows)).packets_delivered == len(rows)


def test_runs_on_circulants_go_on_in_parts(tmp_path, capfd):
    words = [
        "--network",
        "ring4 x circulant(16;1,4)",
        "--pattern",
        "rand",
        "--rate",
        "0.4",
        "--cycles",
        "400",
    ]
    results = []
    for more in ([], ["--threads", "3"]):
        assert run(["simulate", *words, *more, "--json"]) == 0
        results.append(json.loads(capfd.readouterr().out))
    assert results[0]["fingerprint"] == results[1]["fingerprint"]
    simulation = fl.Simulation(
        fl.Network(fl.Product("ring4 x circulant(16;1,4)")), fl.Load("rand", rate=0.4, cycles=400)
    )
    simulation.run(until=150)
    simulation.save(tmp_path / "state")
    again = fl.Simulation.load(tmp_path / "state")
    for one in (simulation, again):
        one.run()
    assert simulation.result().fingerprint == again.result().fingerprint


def test_a_lone_circulant_may_have_routers_of_one_cycle(capfd):
    load = {"kind": "load", "pattern": "rand", "rate": 0.1, "cycles": 100}
    plain = build_experiment({"topology": {"network": "circulant(16;1,4)*1"}, "traffic": load})
    assert isinstance(plain.topology, fl.Product)
    assert build_experiment(plain.model_dump(mode="json")).topology.is_as(plain.topology)
    assert run(["simulate", "--network", "circulant(16;4,1)*1", "--pattern", "shfl", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["engine"] == "general"
