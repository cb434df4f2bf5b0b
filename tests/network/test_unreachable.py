"""What keeps packets from arriving is told truly, at every door: failed nodes, failed links, tables."""

import json
import random
import re
from pathlib import Path
from typing import Any

import networkx
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import UnreachableError
from flitloom.messages import MessageGraph, simulate_messages

FAILED = "node 5 has failed, and no route leads to it: "
LEAVE = FAILED + "give traffic that leaves it out"
#: Patterns of loads go among the nodes that work; given destinations are taken as they are.
OTHERWISE = (
    FAILED + "give destinations that leave it out, or a pattern, whose packets go among the nodes that"
)
#: Where bit reversal sends, and 5 to itself.
REVERSED = [int(f"{node:04b}"[::-1], 2) for node in range(16)]
DEAD = fl.Torus(4, 4, failed_nodes=[5])
TABLES = fl.tables.make(DEAD)
NETWORK = fl.Network(DEAD, fl.Router(flow_control="bubble", buffer=16, channels=1))


def goal_of(pairs: list[tuple[int, int]], folder: Path) -> Path:
    """A message graph with a message of 16 bytes per pair."""
    lines = ["num_ranks 16"]
    for rank in range(16):
        sends = [f"l{n}: send 16b to {b} tag {n}" for n, (a, b) in enumerate(pairs) if a == rank]
        receives = [f"m{n}: recv 16b from {a} tag {n}" for n, (a, b) in enumerate(pairs) if b == rank]
        lines += [f"rank {rank} {{", *sends, *receives, "}"]
    file = folder / "messages.goal"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("tables", [None, TABLES])
@pytest.mark.parametrize(
    "traffic",
    [
        fl.Packets([(0, 5, 4, 0)]),
        # Bit reversal sends from 5 to 10 and back, transposition from 5 to itself.
        fl.Collective("brev"),
        fl.Load(weights=[[int(b == 5) for b in range(16)]] * 16, rate=0.1, length=4, cycles=100),
        fl.TrafficMatrix([[int((a, b) == (5, 3)) for b in range(16)] for a in range(16)]),
    ],
)
def test_traffic_to_a_failed_node_is_called_that(traffic: Any, tables: fl.Tables | None) -> None:
    for begin in (fl.simulate, fl.Simulation):
        with pytest.raises(UnreachableError) as caught:
            begin(NETWORK, traffic, tables=tables)
        text, pairs = str(caught.value), caught.value.pairs
        dead = [pair for pair in pairs if 5 in pair]
        # Without tables dimension order is cut by the node, too, for nodes that work.
        assert dead
        assert (OTHERWISE if isinstance(traffic, fl.Load) else LEAVE) in text
        assert ("at a failed node" in text) == (dead == pairs)
        assert ("routing tables can" in text) == (dead != pairs)
        if tables is not None:
            assert dead == pairs


@pytest.mark.parametrize("tables", [None, TABLES])
@pytest.mark.parametrize(("ends", "node"), [([5] * 16, 0), (REVERSED, 10)])
def test_given_destinations_that_have_failed_are_named(ends: list[int], node: int, tables: Any) -> None:
    told = f"traffic.destinations: node {node} sends to node 5, which has failed"
    for begin in (fl.simulate, fl.Simulation):
        with pytest.raises(fl.SpecError, match=told):
            begin(NETWORK, fl.Load(destinations=ends, rate=0.1, length=4, cycles=100), tables=tables)


def test_packets_of_a_failed_node_to_itself_are_no_matter_of_routes() -> None:
    with pytest.raises(UnreachableError, match=f"from node 5 to node 5; {LEAVE}"):
        fl.simulate(NETWORK, fl.Collective("trns"), tables=TABLES)


def test_tables_without_a_route_are_the_cause_between_nodes_that_work(tmp_path: Path) -> None:
    file = tmp_path / "tables.json"
    fl.tables.make(fl.Torus(4, 4)).to_json(file)
    data = json.loads(file.read_text(encoding="utf-8"))
    data["routes"] = [one for one in data["routes"] if (one["source"], one["destination"]) != (5, 10)]
    file.write_text(json.dumps(data), encoding="utf-8")
    tables = fl.tables.read(file)
    network = fl.Network(fl.Torus(4, 4), NETWORK.router)
    for traffic in (fl.Packets([(5, 10, 4, 0)]), fl.Load("brev", rate=0.1, length=4, cycles=50)):
        with pytest.raises(UnreachableError) as caught:
            fl.simulate(network, traffic, tables=tables)
        assert "no route is given for 1 pair of nodes, from node 5 to node 10" in str(caught.value)
        assert caught.value.pairs == [(5, 10)]


@pytest.mark.parametrize("tables", [None, TABLES])
def test_messages_to_a_failed_node(tables: fl.Tables | None, tmp_path: Path) -> None:
    graph = MessageGraph.read(goal_of([(0, 1), (6, 5)], tmp_path))
    with pytest.raises(UnreachableError) as caught:
        simulate_messages(NETWORK, graph, tables=tables)
    assert LEAVE in str(caught.value)
    assert caught.value.pairs == [(6, 5)]


def test_twisted_tori_tell_the_same() -> None:
    """Their packets bring the ways of dimension order, which are no tables of anybody."""
    twisted = fl.Network(fl.Torus(4, 8, 8, twist=True, failed_links=[(0, 1)]))
    for traffic in (fl.Packets([(0, 1, 4, 0)]), fl.Load("rand", rate=0.1, length=4, cycles=50)):
        with pytest.raises(UnreachableError, match=r"needs? a failed part.*routing tables can"):
            fl.simulate(twisted, traffic)


@pytest.mark.parametrize("verb", ["steady", "burst", "ramp"])
def test_verbs_of_loads_tell_it(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--torus", "4x4", "--pattern", "bcmp", "--set", "topology.failed_nodes=[5]"]
    assert run(["load", verb, *options]) == 2
    message = capsys.readouterr().err
    # The failed node itself sends and receives nothing, but cuts routes of dimension order.
    assert "dimension-order routing cannot go around failures, routing tables can" in message
    assert FAILED not in message


def test_loads_on_tables_tell_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tables.json"
    TABLES.to_json(file)
    spec = tmp_path / "spec.toml"
    spec.write_text(f"traffic = {{destinations = {REVERSED}}}\n", encoding="utf-8")
    for verb in ("steady", "curve", "saturation", "ramp"):
        assert run(["load", verb, str(spec), "--tables", str(file)]) == 2
        assert "traffic.destinations: node 10 sends to node 5, which has failed" in capsys.readouterr().err


def test_sweeps_tell_it_of_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'topology = {sizes = "4x4", failed_nodes = [5]}\ntraffic = {kind = "collective", pattern = "brev"}\n',
        encoding="utf-8",
    )
    assert run(["sweep", str(spec), "--grid", "traffic.payload=3,7", "-o", str(tmp_path / "out.csv")]) == 0
    told = capsys.readouterr().err
    assert "note: outcome unreachable 2 times, first of " in told
    assert LEAVE in told


def test_message_graphs_are_told_what_tables_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TABLES.to_json(tmp_path / "tables.json")
    graph = goal_of([(0, 1)], tmp_path)
    options = ["--torus", "4x4", "--fail", "node:5", "--tables", str(tmp_path / "tables.json")]
    assert run(["simulate", str(graph), *options]) == 0
    assert "note: tables of rules angara are deadlock-free with bubble" in capsys.readouterr().err


def drawn_failures(dice: random.Random) -> tuple[list[int], list[bool], list[tuple[int, int]], list[int]]:
    """Sizes, which dimensions wrap, failed cables and failed nodes of a small network."""
    sizes = [dice.randint(2, 4) for _ in range(dice.randint(1, 2))]
    wraps = [size > 2 and dice.random() < 0.6 for size in sizes]
    # A node with coordinates is their tuple, the first dimension fastest in its number.
    graph = networkx.grid_graph(sizes[::-1], periodic=wraps[::-1])
    cables = [(number(a, sizes), number(b, sizes)) for a, b in graph.edges]
    nodes = graph.number_of_nodes()
    links = dice.sample(cables, min(len(cables), dice.randint(0, 4)))
    return sizes, wraps, links, dice.sample(range(nodes), min(nodes - 1, dice.choice([0, 0, 1, 2])))


def number(place: int | tuple[int, ...], sizes: list[int]) -> int:
    """The number of a node of a grid, whose first dimension is the fastest."""
    places = (place,) if isinstance(place, int) else place
    return sum(part * stride for part, stride in zip(places, [1, sizes[0]], strict=False))


def way_of(start: int, end: int, sizes: list[int], wraps: list[bool]) -> list[int]:
    """Nodes of the way in dimension order: the shorter one, and at equal lengths the one that wraps."""
    here, goal = [[node % sizes[0], node // sizes[0]][: len(sizes)] for node in (start, end)]
    nodes = [start]
    for dimension, size in enumerate(sizes):
        while here[dimension] != goal[dimension]:
            ahead = (goal[dimension] - here[dimension]) % size
            plus = goal[dimension] > here[dimension]
            if wraps[dimension]:
                plus = 2 * ahead < size or (2 * ahead == size and 2 * here[dimension] >= size)
            here[dimension] = (here[dimension] + (1 if plus else -1)) % size
            nodes.append(number(tuple(here), sizes))
    return nodes


@pytest.mark.parametrize("seed", [*range(30), 130, 186])
def test_unreachable_pairs_are_those_of_a_graph_without_the_failed_parts(seed: int) -> None:
    sizes, wraps, links, dead = drawn_failures(random.Random(seed))
    topology = fl.Torus(*sizes, wrap=wraps, failed_links=links, failed_nodes=dead)
    grid = networkx.grid_graph(sizes[::-1], periodic=wraps[::-1])
    graph = networkx.relabel_nodes(grid, {place: number(place, sizes) for place in grid})
    count = graph.number_of_nodes()
    graph.remove_edges_from(links)
    graph.remove_nodes_from(dead)
    everybody = [(a, b) for a in range(count) for b in range(count) if a != b]
    packets = fl.Packets([(a, b, 2, 0) for a, b in everybody])
    cut = [pair for pair in everybody if not networkx.is_path(graph, way_of(*pair, sizes, wraps))]
    if cut:
        with pytest.raises(UnreachableError, match=f"^{len(cut)} pairs? of nodes") as caught:
            fl.simulate(fl.Network(topology), packets)
        assert sorted(caught.value.pairs) == cut
    else:
        assert fl.simulate(fl.Network(topology), packets).packets_delivered == len(everybody)
    working = [(a, b) for a, b in everybody if a in graph and b in graph]
    apart = [pair for pair in working if not networkx.has_path(graph, *pair)]
    refused = None
    try:
        tables = fl.tables.make(topology)
    except UnreachableError as error:
        refused = error
    if refused is None:
        assert not apart
    else:
        # Turns may be forbidden beyond that.
        assert set(apart) <= set(refused.pairs) <= set(working)
        advice = str(refused)
        if repair := re.search(r"repairing the link (\d+)-(\d+)", advice):
            links = [cable for cable in links if sorted(cable) != sorted(map(int, repair.groups()))]
        elif repair := re.search(r"repairing node (\d+)", advice):
            dead = [node for node in dead if node != int(repair[1])]
        else:
            out = re.search(r"leaving nodes? (.*?) out", advice)
            assert out is not None, advice
            dead = [*dead, *(int(node) for node in out[1].replace(" and ", ", ").split(", "))]
        working = [pair for pair in everybody if not set(pair) & set(dead)]
        topology = fl.Torus(*sizes, wrap=wraps, failed_links=links, failed_nodes=dead)
        tables = fl.tables.make(topology)
    bubble = fl.Network(topology, fl.Router(flow_control="bubble", buffer=16, channels=1))
    if working:
        served = fl.Packets([(a, b, 2, 0) for a, b in working])
        assert fl.simulate(bubble, served, tables=tables).packets_delivered == len(working)
    if len(working) < len(everybody):
        with pytest.raises(UnreachableError) as caught:
            fl.simulate(bubble, packets, tables=tables)
        assert sorted(caught.value.pairs) == sorted(set(everybody) - set(working))
