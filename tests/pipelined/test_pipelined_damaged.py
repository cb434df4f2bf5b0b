"""Tori and meshes with failed parts under pipelined routers: as the product with the same failed parts."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.networks.experiment import Experiment
from flitloom.networks.fabric import Fabric
from flitloom.networks.followed import followed

#: A network, its product, and failed parts of both.
CASES = [
    (fl.Torus(4, 4, failed_nodes=[5]), "ring4 x ring4", ("node:(1,1)",)),
    (fl.Torus(5, 3, failed_links=[(0, 1), (4, 9)]), "ring5 x ring3", ("link:S0-0-S1-0", "link:S4-0-S4-1")),
    (
        fl.Torus(2, 4, 3, failed_nodes=[3, 16], failed_links=[(0, 1)]),
        "ring2 x ring4 x ring3",
        ("node:S1-1-0", "node:S0-0-2", "link:S0-0-0-S1-0-0"),
    ),
    (fl.Mesh(4, 3, failed_links=[(1, 2)]), "line4 x line3", ("link:S1-0-S2-0",)),
    (fl.Torus(4, 3, wrap=[True, False], failed_nodes=[0]), "ring4 x line3", ("node:S0-0",)),
]
ROUTERS = [{}, {"vc_allocator": "pim(2)", "channels": 6}, {"buffer": 2, "latency": 3, "speculative": True}]


def drawn(nodes: list[int], seed: int) -> list[tuple[int, int, int, int]]:
    """Packets between nodes."""
    rng = np.random.default_rng(seed)
    ends = [rng.choice(nodes, 2, replace=False) for _ in range(300)]
    return [(int(a), int(b), int(rng.integers(1, 9)), int(rng.integers(0, 150))) for a, b in ends]


@pytest.mark.parametrize("fields", ROUTERS)
@pytest.mark.parametrize(("topology", "name", "failed"), CASES)
def test_parts_fail_as_in_the_product(topology, name, failed, fields):
    router = fl.Router(model="pipelined", **fields)
    left = followed(topology)
    product = Fabric(network=name, failed=failed)
    assert product.nodes == topology.nodes
    assert sorted(product.failed_nodes) == sorted(topology.failed_nodes)
    table = drawn(sorted(set(range(topology.nodes)) - set(topology.failed_nodes)), 3)
    here, there = (
        fl.simulate(fl.Network(network, router), fl.Packets(table), packets=True)
        for network in (topology, product)
    )
    assert here.network.channels == there.network.channels
    same = ("duration", "cycles", "flit_hops", "age_sum", "packets_injected")
    assert [getattr(here, one) for one in same] == [getattr(there, one) for one in same]

    def rows(result):
        known = ("source", "destination", "generated", "injected", "head_arrival", "tail_arrival")
        return sorted(zip(*(result.packets[one].values for one in known), strict=True))

    assert rows(here) == rows(there)
    # Links of the torus carry what the channels of the product do, and failed ones nothing.
    flits = np.asarray(here.links.flits.values).reshape(topology.nodes, -1)
    is_there = left.channels < 0xFFFFFFFF
    carried = np.zeros(left.channels[is_there].max() + 1, dtype=int)
    carried[left.channels[is_there]] = flits[is_there]
    assert carried.tolist() == there._record("links")["flits"].tolist()
    assert not flits[~is_there].any()
    assert int(flits.sum()) == here.flit_hops


@pytest.mark.parametrize("topology", [topology for topology, *_ in CASES])
def test_packets_go_around_on_shortest_ways(topology):
    graph = nx.Graph()
    left = followed(topology)
    network = fl.Network(topology, fl.Router(model="pipelined"))
    for node, direction in zip(*np.nonzero(left.channels < 0xFFFFFFFF), strict=True):
        place = list(network.coordinates(int(node)))
        size = topology.sizes[direction // 2]
        place[direction // 2] = (place[direction // 2] + (-1 if direction % 2 else 1)) % size
        end = 0
        for at, length in zip(reversed(place), reversed(topology.sizes), strict=True):
            end = end * length + at
        graph.add_edge(int(node), end)
    lost = {frozenset(link) for link in topology.failed_links}
    assert not lost & {frozenset(edge) for edge in graph.edges}
    assert set(graph.nodes) == set(range(topology.nodes)) - set(topology.failed_nodes)
    table = [(a, b, 1, 0) for a in graph for b in graph if a != b]
    found = fl.simulate(network, fl.Packets(table))
    shortest = dict(nx.all_pairs_shortest_path_length(graph))
    assert found.flit_hops >= sum(shortest[a][b] for a, b, *_ in table)
    assert found.flit_hops <= 1.25 * sum(shortest[a][b] for a, b, *_ in table)


def test_runs_are_saved_and_charts_keep_their_places(tmp_path: Path) -> None:
    topology = fl.Torus(6, 4, failed_nodes=[8], failed_links=[(0, 6)])
    network = fl.Network(topology, fl.Router(model="pipelined", buffer=4))
    load = fl.Load("rand", rate=0.3, length=5, cycles=400)
    whole = fl.simulate(network, load)
    held = fl.Simulation(network, load)
    held.step(150)
    held.save(tmp_path / "a.flit")
    occupancy = held.occupancy()
    assert dict(occupancy.sizes) == {"y": 4, "x": 6, "direction": 4, "channel": network.channels}
    # Nothing is in the failed node, nor comes into its neighbours from there.
    assert int(occupancy.sel(y=1, x=2).sum()) == 0
    assert (
        int(occupancy.sel(y=1, x=3, direction="+x").sum() + occupancy.sel(y=2, x=2, direction="+y").sum())
        == 0
    )
    assert int(occupancy.sum()) > 0
    again = fl.Simulation.load(tmp_path / "a.flit")
    again.run()
    assert again.result().fingerprint == whole.fingerprint
    assert whole.lower_bound is None
    assert (int(whole.links.flits.sel(y=0, x=0, direction="+y")), whole.packets_delivered) > (-1, 100)
    assert int(whole.links.flits.sel(y=0, x=0, direction="+y")) == 0
    shown = whole.film()
    assert shown is not None


def test_verbs_take_failed_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "pipelined", "--torus", "6x4", "--fail", "node:(2,1)", "--fail", "link:0-6"]
    page = str(tmp_path / "page.html")
    assert run(["simulate", *words, "--pattern", "shfl", "--json"]) == 2
    capsys.readouterr()
    assert run(["simulate", *words, "--pattern", "next", "--html", page, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["packets_delivered"] == 24 - 1 - 1
    spec = Experiment(
        topology=fl.Torus(6, 4, failed_nodes=[8], failed_links=[(0, 6)]),
        router=fl.Router(model="pipelined"),
        traffic=fl.Collective("next"),
    )
    assert told["spec"]["topology"]["failed_nodes"] == list(spec.topology.failed_nodes)
    rates = ["--pattern", "rand", "--rates", "0.1,0.2", "--measure", "300"]
    assert run(["load", "curve", *words, *rates]) == 0
    assert "tables by destination" in "".join(capsys.readouterr())
    assert run(["simulate", "--model", "pipelined", "--torus", "5", "--fail", "node:0", "--fail", "node:2",
                "--pattern", "rand", "--rate", "0.1", "--cycles", "100"]) == 2  # fmt: skip
    said = capsys.readouterr().err.splitlines()
    cut_off = (
        "error: the tables do not lead from node 1 to node 3; no way is left between them: give traffic among"
    )
    assert said[-1] == f"{cut_off} nodes that are joined"
    (tmp_path / "packets.csv").write_text("source,destination,length,start\n1,8,4,0\n")
    table = ["--packet-table", str(tmp_path / "packets.csv")]
    assert run(["simulate", *words, *table]) == 2
    said = capsys.readouterr().err
    assert "from node 1 to node 8; node 8 has failed: give traffic that leaves it out" in said
