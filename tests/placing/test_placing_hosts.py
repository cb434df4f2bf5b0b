"""Placements on hosts of switches: dragonflies, fat trees, slim flies, files of cables."""

from __future__ import annotations

import csv
import json
from itertools import permutations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

import flitloom as fl
from flitloom.commands import run
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.networks.fabric import Fabric
from flitloom.placing import Traffic, axes_traffic, pairs_traffic, parse_axes, place, stencil_traffic
from flitloom.placing import check as check_placement
from flitloom.run.tables_in_motion import tables_run

#: Three switches in a row and one on the side, of 2, 1, 2 and 1 hosts, with two cables in the middle.
CABLES = """s0,1,s1,1
s1,2,s2,1
s1,3,s2,2
s2,3,s3,1
h0,1,s0,8
h1,1,s0,9
h2,1,s1,8
h3,1,s2,8
h4,1,s2,9
h5,1,s3,8
"""


def command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run([*map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def drawn(ranks: int, pairs: int, seed: int) -> Traffic:
    """Messages drawn at random."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, ranks, (pairs, 2))
    rows = [(int(a), int(b), int(draw.integers(1, 9))) for a, b in ends if a != b]
    return pairs_traffic(ranks, rows)


def loads_of(topology: Fabric, traffic: Traffic, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Flits on every channel, when every byte is a flit, as the pipelined routers send them."""
    tables = topology.forwarding()
    columns = (nodes[traffic.sources], nodes[traffic.destinations], traffic.bytes.astype(np.int64))
    rows = np.column_stack([*columns, np.zeros(len(traffic.bytes), dtype=np.int64)])
    simulation = tables_run(tables, rows, fl.Router(model="pipelined"))
    simulation.run(None, None, None)
    return np.asarray(simulation.totals(None, True)["links"]["flits"], dtype=np.int64)


def graph_of(topology: Fabric) -> tuple[nx.Graph, list[int]]:
    """The switches and cables, and the switch of every host."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(topology.subnet.switches)))
    graph.add_edges_from((cable.a, cable.b) for cable in topology.subnet.cables)
    return graph, [host.switch for host in topology.subnet.hosts]


NETWORKS = [
    "dragonfly(4,2,2)",
    "fattree(4)",
    "slimfly(5)",
    "circulant(12;1,5)",
    "random(16,3)",
    "full4*2 x ring3",
]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_routers_send_over_every_channel_what_was_counted(network: str) -> None:
    topology = Fabric(network=network)
    traffic = drawn(min(topology.nodes, 24), 60, 1)
    found = place(topology, traffic, effort=2)
    assert found.loads.tolist() == loads_of(topology, traffic, found.nodes).tolist()
    before = np.arange(traffic.ranks)
    assert found.row_major_loads.tolist() == loads_of(topology, traffic, before).tolist()
    assert found.busiest_channel == found.loads.max() <= found.row_major["busiest_channel"]
    assert found.hop_bytes == found.loads.sum()
    assert len(set(found.nodes.tolist())) == traffic.ranks


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("per_switch", [1, 2])
def test_small_networks_are_placed_as_all_orders_say(tmp_path: Path, seed: int, per_switch: int) -> None:
    """Six hosts: bounds hold of all 720 placements, and the best of them is found."""
    if per_switch == 2:
        (tmp_path / "uneven.csv").write_text(CABLES)
        topology = Fabric(graph=str(tmp_path / "uneven.csv"))
    else:
        topology = Fabric(network="dragonfly(2,1)")
    traffic = drawn(6, 14, seed)
    switches = [host.switch for host in topology.subnet.hosts]
    tables, subnet = topology.forwarding(), topology.subnet
    ends = [(cable.a, cable.b) for cable in subnet.cables]
    row_of = {int(owner): row for row, owner in reversed(list(enumerate(tables.owners)))}
    ways = {}
    for source in range(6):
        for destination in range(6):
            here, way = switches[source], []
            while here != switches[destination]:
                channel = int(tables.following[row_of[destination], here])
                way.append(channel)
                here = ends[channel // 2][1 - channel % 2]
            ways[source, destination] = way
    graph, _ = graph_of(topology)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    rows = np.column_stack([traffic.sources, traffic.destinations, traffic.bytes.astype(np.int64)]).tolist()
    busiest, fewest, shortest = [], [], []
    for nodes in permutations(range(6)):
        loads = [0] * (2 * len(ends))
        for source, destination, amount in rows:
            for channel in ways[nodes[source], nodes[destination]]:
                loads[channel] += amount
        busiest.append(max(loads))
        fewest.append(sum(loads))
        far = [hops[switches[nodes[a]]][switches[nodes[b]]] * amount for a, b, amount in rows]
        shortest.append(sum(far))
    found = place(topology, traffic, effort=3)
    assert found.bound <= found.busiest_channel == min(busiest)
    assert found.hop_bytes_bound <= min(shortest)
    by_hops = place(topology, traffic, effort=3, minimise="hops")
    assert by_hops.bound <= by_hops.hop_bytes == min(fewest)
    for number, one in enumerate((found, by_hops)):
        file = tmp_path / f"{number}.json"
        one.save(file)
        report = check_placement(file)
        assert report.passed, report.problem


#: Network, traffic, ranks per host, and the kind of bound that is best.
BOUNDED = [
    ("dragonfly(4,2,2)", "a=8:ring:3,b=9:a2a:1", 1, "cut"),
    ("dragonfly(4,2)", "a=36:a2a:2", 1, "uniform"),
    ("slimfly(5)", "a=50:ring:4", 1, "message"),
    ("fattree(4)", "a=16:ring:4", 1, "packing"),
    ("slimfly(5)", "a=10:a2a:1,b=5:a2a:2", 1, "sorted"),
    ("dragonfly(3,1,4)", "a=8:ring:7,b=6:line:1", 1, "component"),
    ("circulant(12;1,2)", "a=24:ring:5", 2, "across"),
    ("random(16,3)", "a=4:pairs:1,b=4:a2a:1", 1, "cut"),
]


@pytest.mark.parametrize(("network", "axes", "per_node", "kind"), BOUNDED)
def test_bounds_hold_of_placements_drawn_at_random(
    tmp_path: Path, network: str, axes: str, per_node: int, kind: str
) -> None:
    traffic = axes_traffic(parse_axes(axes))
    found = place(network, traffic, effort=2, per_node=per_node)
    topology = found.topology
    assert isinstance(topology, Fabric)
    draw = np.random.default_rng(1)
    places = np.repeat(np.arange(topology.nodes), per_node)
    for _ in range(10):
        nodes = draw.permutation(places)[: traffic.ranks]
        loads = loads_of(topology, traffic, nodes)
        if per_node > 1:
            # The cables of hosts count as well.
            ends = nodes[traffic.sources], nodes[traffic.destinations]
            apart, amounts = ends[0] != ends[1], traffic.bytes.astype(np.int64)
            own = [np.bincount(end[apart], amounts[apart], topology.nodes).astype(np.int64) for end in ends]
            loads = np.concatenate([loads, *own])
        assert loads.max() >= found.bound
        assert loads.sum() >= found.hop_bytes_bound
    found.save(tmp_path / "p.json")
    report = check_placement(tmp_path / "p.json")
    assert report.passed, report.problem
    assert found.bound_proof["kind"] == kind


def test_a_certificate_that_does_not_hold_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    traffic = axes_traffic(parse_axes("a=8:ring:3,b=9:a2a:1"))
    found = place("dragonfly(4,2,2)", traffic, effort=2)
    whole = found.document()
    way = next(n for n, one in enumerate(whole["ways"]) if len(one) > 3)
    changes = {
        "busiest_channel": lambda told: told.update(busiest_channel=told["busiest_channel"] - 1),
        "bound": lambda told: told.update(bound=told["bound"] + 1),
        "hop_bytes_bound": lambda told: told.update(hop_bytes_bound=told["hop_bytes_bound"] + 1),
        "ways": lambda told: told["ways"][way].pop(),
        "lengths": lambda told: told["hop_bytes_certificate"]["lengths"].__setitem__(0, 2),
        "more than 1 ranks": lambda told: told["placement"].__setitem__(0, told["placement"][1]),
        "wiring": lambda told: told["topology"].update(network="dragonfly(4,2,3)"),
    }
    for problem, change in changes.items():
        told = json.loads(json.dumps(whole))
        change(told)
        file.write_text(json.dumps(told))
        report = check_placement(file)
        assert not report.passed, problem
        assert problem in str(report.problem), report.problem


def test_a_placement_is_checked_run_routed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.json"
    words = ["place", "--network", "dragonfly(4,2,2)", "--axes", "a=8:all-reduce:640,b=9:line:64", "-o", file]
    code, out, _ = command(capsys, *words, "--json", "--effort", 5)
    told = json.loads(out)
    assert (code, told["routing"], told["network"]) == (0, "balanced", "dragonfly(4,2,2) with 72 hosts")
    assert told["bound"] <= told["busiest_channel"] < told["row_major"]["busiest_channel"] * 2
    for verb in ("check", "recheck"):
        code, out, err = command(capsys, verb, file)
        assert code == 0, err
    code, out, _ = command(capsys, "simulate", "--placement", file, "--json")
    ran = json.loads(out)
    assert (code, ran["packets_delivered"]) == (0, ran["packets_injected"])
    assert ran["duration"] >= told["busiest_port"] / 16
    code, out, _ = command(capsys, "route", "--placement", file, "-o", tmp_path / "out", "--json")
    routed = json.loads(out)
    # Tables for these bytes are no worse than those for all pairs alike.
    assert code == 0
    assert "dragonfly" in routed["fabric"]
    assert routed["max_load"] <= told["busiest_channel"]
    again = ["place", "--network", "dragonfly(4,2,2)", "--routing", tmp_path / "out", *words[3:5], "--json"]
    code, out, err = command(capsys, *again, "--effort", 1)
    assert code == 0, err
    assert (code, json.loads(out)["routing"]) == (0, "tables")
    code, out, err = command(capsys, "view", file, "-o", tmp_path / "p.html")
    assert code == 0, err
    assert "group" in (tmp_path / "p.html").read_text() or (tmp_path / "p.html").stat().st_size > 10_000


def test_hosts_of_a_file_keep_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.csv").write_text(CABLES)
    file, lines, table = tmp_path / "p.json", tmp_path / "p.hosts", tmp_path / "p.csv"
    words = ["place", "--graph", tmp_path / "c.csv", "--axes", "a=5:ring:8", "-o", file, "-o", lines]
    code, out, err = command(capsys, *words, "-o", table, "--nodes", "h[0-3],h5")
    assert code == 0, err
    assert "tables by destination" in out
    assert sorted(lines.read_text().split()) == ["h0", "h1", "h2", "h3", "h5"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["host"]: row["switch"] for row in rows}["h5"] == "s3"
    assert json.loads(file.read_text())["hosts"] == lines.read_text().split()
    code, _, err = command(capsys, "simulate", "--placement", file, "--graph", tmp_path / "c.csv")
    assert code == 0, err
    (tmp_path / "c.csv").unlink()
    assert check_placement(file).passed
    (tmp_path / "d.csv").write_text(CABLES.replace("h5,1,s3,8", "h5,1,s2,10"))
    code, _, err = command(capsys, "simulate", "--placement", file, "--graph", tmp_path / "d.csv")
    assert code == 2
    assert "is for the c.csv with 6 hosts" in err


def test_a_torus_with_hosts_of_its_own_keeps_dimension_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One named host at each switch: a torus whose nodes are these; two at each: hosts of switches."""
    cables = [
        f"s{n},{1 + d},s{m},{3 + d}"
        for n in range(9)
        for d, m in enumerate((n // 3 * 3 + (n + 1) % 3, (n + 3) % 9))
    ]
    (tmp_path / "one.csv").write_text("\n".join([*cables, *(f"node{n}x,1,s{n},9" for n in range(9))]))
    more = [f"node{n}y,1,s{n},10" for n in range(9)]
    (tmp_path / "two.csv").write_text((tmp_path / "one.csv").read_text() + "\n" + "\n".join(more))
    words = ["--axes", "a=9:ring:8", "--json", "-o", tmp_path / "run.hosts"]
    _, out, _ = command(capsys, "place", "--graph", tmp_path / "one.csv", *words)
    assert (json.loads(out)["network"], json.loads(out)["routing"]) == ("3x3 torus", "do")
    assert sorted((tmp_path / "run.hosts").read_text().split()) == [f"node{n}x" for n in range(9)]
    _, out, _ = command(capsys, "place", "--graph", tmp_path / "two.csv", *words)
    assert (json.loads(out)["network"], json.loads(out)["routing"]) == ("two.csv with 18 hosts", "balanced")


def test_the_least_time_is_that_of_the_pipelined_routers(tmp_path: Path) -> None:
    found = place("fattree(4)", stencil_traffic((4, 4)), minimise="time", effort=1, flit_bytes=1)
    assert found.duration is not None
    found.save(tmp_path / "p.json")
    network = fl.Network(found.topology, fl.Router(model="pipelined"))
    result = fl.simulate(network, fl.placing.as_packets(found.traffic, found.nodes, 1))
    assert int(result.duration) == found.duration >= found.bound
    assert check_placement(tmp_path / "p.json").passed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--routing", "do"], "routing: between hosts of dragonfly(4,2,2)"),
        (["-o", "p.vcoord"], "--out: hosts of dragonfly(4,2,2) with 72 hosts have no coordinates"),
        (["--nodes", "0-90"], "nodes are 0 to 71"),
        (["--nodes", "nobody"], "no host is called"),
        (["--fail", "node:nowhere"], "nowhere"),
        (["--torus", "4x4"], "--network"),
        (["--shape", "4x4", "--stencil", "4x4"], "--stencil does not go with --shape"),
    ],
)
def test_bad_input_is_told_in_one_message(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    traffic = [] if "--shape" in words else ["--axes", "a=9:ring:8"]
    code, _, err = command(capsys, "place", "--network", "dragonfly(4,2,2)", *traffic, *words)
    assert code == 2
    assert message in err.replace("\n", " "), err
    assert len(err.strip().splitlines()) <= 3


def test_a_cut_off_host_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["place", "--network", "dragonfly(2,1)", "--axes", "a=6:ring:8"]
    fail = [["--fail", f"link:g0s0-{other}"] for other in ("g0s1", "g1s0", "g1s1", "g2s0", "g2s1")]
    there = []
    for one in fail:
        code, _, _ = command(capsys, *words, *one, "--effort", 1)
        there += one if code == 0 else []
    code, _, err = command(capsys, *words, *there)
    assert code == 2
    assert "the tables have no route from host 'g0s0-host0' to host 'g0s1-host0'" in err


def test_message_graphs_run_on_the_hosts_of_their_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = place("dragonfly(3,1,2)", axes_traffic(parse_axes("a=4:ring:8,b=3:ring:512")), effort=1)
    found.save(tmp_path / "p.json")
    hosts = json.loads((tmp_path / "p.json").read_text())["placement"]
    graph = MessageGraph.steps(12, [([(r, (r + 5) % 12, 900) for r in range(12)], c) for c in (0, 70)])
    (tmp_path / "t.goal").write_text(graph.text)
    said = ("simulate", tmp_path / "t.goal", "--placement", tmp_path / "p.json", "--json")
    code, out, _ = command(capsys, *said)
    facts = json.loads(out)
    network = fl.Network(found.topology, fl.Router(model="pipelined"))
    totals = simulate_messages(network, graph, nodes=hosts)
    assert (code, facts["duration"]) == (0, totals["duration"])
    assert facts["fingerprint"] == f"{totals['fingerprint']:016x}"
    assert hosts != list(range(12))
    assert simulate_messages(network, graph)["fingerprint"] != totals["fingerprint"]


def test_a_graph_is_placed_on_as_the_file_of_its_cables(tmp_path: Path) -> None:
    file, traffic = tmp_path / "ring.csv", axes_traffic(parse_axes("a=6:ring:8"))
    file.write_text("".join(f"r{n},r{(n + 1) % 6}\n" for n in range(6)))
    ring = fl.Graph([(n, (n + 1) % 6) for n in range(6)], nodes=6)
    found = [place(what, traffic, effort=1) for what in (ring, file)]
    # Every rank sends to the next one, over a cable of its own.
    assert [one.busiest_channel for one in found] == [8, 8]
    assert found[0].nodes.tolist() == found[1].nodes.tolist()


@pytest.mark.parametrize("channel", [-1, 9999, "a", 0.5])
def test_a_page_of_a_route_that_is_none_is_refused(
    channel: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "p.json", tmp_path / "p.html"
    place("dragonfly(2,1)", axes_traffic(parse_axes("a=6:ring:8")), effort=1).save(file)
    document = json.loads(file.read_text())
    number = next(at for at, way in enumerate(document["ways"]) if len(way) > 2)
    document["ways"][number][2] = channel
    file.write_text(json.dumps(document))
    code, _, err = command(capsys, "view", file, "-o", page)
    assert (code, page.exists()) == (2, False)
    assert f"ways.{number}: is not a route of this network between two ranks" in err
