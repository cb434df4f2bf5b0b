"""Exact placements: held against networkx, reasons that are minimal, fabrics without coordinates."""

from __future__ import annotations

import json
import random
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.placing import Fit, Ground, fit, ground_of, ground_of_fabric
from flitloom.placing import check as check_placement
from flitloom.placing.ground import grid_cables
from flitloom.spec.ground import Ground as Wired


def of_grid(shape: fl.Topology) -> nx.Graph:
    """The grid as networkx makes it, one dimension after the other."""
    graph = nx.Graph([(0, 0)])
    graph.remove_edges_from(list(graph.edges))
    for size, wrap in zip(shape.sizes, shape.wraps, strict=True):
        line = nx.cycle_graph(size) if wrap and size > 2 else nx.path_graph(size)
        graph = nx.cartesian_product(graph, line)
    return graph


def of_ground(found: Fit) -> nx.Graph:
    graph = nx.Graph(found.ground.cables)
    graph.add_nodes_from(found.ground.nodes)
    return graph


def holds(found: Fit) -> None:
    """Every neighbour sits on a neighbour, nobody shares a node."""
    assert found.nodes is not None
    graph = of_ground(found)
    assert len(set(found.nodes)) == found.shape.nodes
    assert all(
        graph.has_edge(found.nodes[a], found.nodes[b])
        for a, b in grid_cables(found.shape.sizes, found.shape.wraps)
    )


#: Sizes, and what closes.
SHAPES = [
    *(((3, 3), (0, 0)), ((3, 3), (1, 0)), ((8,), (1,)), ((9,), (1,)), ((4, 2), (1, 0))),
    *(((5,), (1,)), ((10,), (0,)), ((3, 2, 2), (0, 0, 0)), ((4, 3), (1, 1)), ((4, 4), (0, 0))),
]


@pytest.mark.parametrize("seed", range(40))
def test_small_cases_are_decided_as_networkx_decides_them(seed: int) -> None:
    dice = random.Random(seed)
    sizes = dice.choice([(3, 3), (4, 3), (2, 2, 3), (4, 4), (5, 2), (6, 2)])
    make = dice.choice([fl.Torus, fl.Mesh])
    whole = ground_of(make(*sizes))
    gone = dice.sample(range(len(whole.names)), dice.randrange(2))
    cables = [cable for cable in whole.cables if not set(cable) & set(gone)]
    cut = dice.sample(cables, dice.randrange(4))
    topology = make(*sizes, failed_nodes=gone, failed_links=cut)
    shape = dice.choice(SHAPES)
    grid = fl.Mesh(*shape[0], wrap=list(map(bool, shape[1])))
    found = fit(grid, ground_of(topology))
    matcher = nx.isomorphism.GraphMatcher(of_ground(found), of_grid(grid))
    assert (found.nodes is not None) == matcher.subgraph_is_monomorphic(), found.reason
    if found.nodes is not None:
        holds(found)
    else:
        assert found.reason["kind"] != "undecided"


@pytest.mark.parametrize(
    ("torus", "sizes"),
    [("4x4x2", (8, 4)), ("8x8", (64,)), ("4x4x4", (16, 4)), ("4x6x4", (24, 4)), ("4x4x4x2", (8, 4, 4))],
)
def test_tori_hold_other_tori(torus: str, sizes: tuple[int, ...]) -> None:
    found = fit(fl.Torus(*sizes), ground_of(torus))
    assert found.found_by == "layout"
    holds(found)


@pytest.mark.parametrize("seed", range(8))
def test_layouts_move_away_from_what_is_missing(seed: int) -> None:
    dice = random.Random(seed)
    whole = ground_of(fl.Torus(8, 6, 5))
    cut = dice.sample(whole.cables, 3)
    found = fit(fl.Mesh(5, 6, 4, wrap=[True, False, False]), ground_of(fl.Torus(8, 6, 5, failed_links=cut)))
    holds(found)


def test_what_would_have_to_come_back_is_the_fewest() -> None:
    # A seam in x avoids one cable along x, not two at different places, and none along y.
    for cut, parts in (([(0, 1)], 0), ([(0, 1), (6, 7)], 1), ([(0, 1), (6, 7), (12, 13)], 2)):
        grid, topology = fl.Mesh(5, 3, wrap=[False, True]), fl.Torus(5, 3, failed_links=cut)
        found = fit(grid, ground_of(topology))
        if parts == 0:
            holds(found)
            continue
        assert (found.reason["kind"], found.reason["fewest"]) == ("missing", True)
        assert len(found.reason["parts"]) == parts
        # With one fewer back it does not fit, whichever they are: asked of networkx.
        for some in combinations(cut, parts - 1):
            less = fit(grid, ground_of(fl.Torus(5, 3, failed_links=[c for c in cut if c not in some])))
            assert not nx.isomorphism.GraphMatcher(of_ground(less), of_grid(grid)).subgraph_is_monomorphic()


#: Network, shape, what closes, kind of the reason, its text, and the parts that make it fit again.
REASONS = [
    (fl.Torus(4, 4, failed_nodes=[3]), (4, 4), (1, 1), "positions", "16 nodes are needed, 15 are there"),
    (fl.Torus(4, 4, failed_links=[(0, 1)]), (4, 4), (1, 1), "cables", "32 cables are needed, 31 are there"),
    (
        fl.Torus(4, 3, failed_links=[(0, 1), (0, 4), (0, 3)]),
        (12,),
        (1,),
        "degrees",
        "12 positions need 2 cables, only 11 nodes have as many",
    ),
    (
        fl.Mesh(3, 3),
        (9,),
        (1,),
        "odd_ring",
        "a ring of 9 has an odd number of cables, and no ring of the network has",
    ),
    (
        fl.Mesh(4, 4, failed_nodes=[0, 10]),
        (14,),
        (1,),
        "colours",
        "neighbours have two colours in turn: 7 and 7 nodes of them are needed, 6 and 8 are there",
    ),
    (
        fl.Mesh(5, 3, failed_nodes=[2, 12]),
        (12,),
        (1,),
        "separated",
        "node 6 (1,1) separates the network: at most 6 nodes are joined by two ways that share no node, "
        "12 are needed",
    ),
    (
        fl.Mesh(6, 2, failed_links=[(2, 3), (8, 9)]),
        (4, 2),
        (0, 0),
        "parts",
        "8 connected nodes are needed, the largest part of the network has 6",
    ),
]


@pytest.mark.parametrize(("topology", "sizes", "wraps", "kind", "text"), REASONS, ids=lambda x: str(x)[:30])
def test_reasons_say_what_is_short(
    topology: fl.Topology, sizes: tuple[int, ...], wraps: tuple[int, ...], kind: str, text: str
) -> None:
    grid = fl.Mesh(*sizes, wrap=list(map(bool, wraps)))
    found = fit(grid, ground_of(topology))
    assert (found.nodes, found.reason["kind"], found.reason["text"]) == (None, kind, text)
    assert not nx.isomorphism.GraphMatcher(of_ground(found), of_grid(grid)).subgraph_is_monomorphic()


def test_cuts_are_those_of_networkx() -> None:
    from flitloom.placing.reasons import _blocks

    for seed in range(30):
        graph = nx.gnm_random_graph(12, 14, seed)
        ground = fl.placing.Ground(
            tuple(map(str, range(12))), tuple(range(12)), tuple(map(tuple, graph.edges))
        )
        sizes = [len(part) for part in nx.biconnected_components(graph)]
        assert _blocks(ground) == (max(sizes), sorted(nx.articulation_points(graph)))


def shuffled(topology: fl.Topology, seed: int, file: Path) -> dict[str, int]:
    """Write cables between switches with other names, in another order; the node of every name."""
    dice = random.Random(seed)
    ground = ground_of(topology)
    names = [f"sw{number}" for number in range(len(ground.names))]
    dice.shuffle(names)
    cables = list(ground.cables)
    dice.shuffle(cables)
    file.write_text("".join(f"{names[a]},{names[b]}\n" for a, b in cables))
    return {name: node for node, name in enumerate(names)}


def test_a_damaged_torus_without_coordinates_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "cables.csv"
    topology = fl.Torus(6, 5, 7, failed_nodes=[33], failed_links=[(0, 1), (70, 100)])
    nodes = shuffled(topology, 2, file)
    ground = ground_of_fabric(file)
    assert sorted(ground.topology.sizes) == [5, 6, 7]
    missing = [part for part in ground.missing if isinstance(part, tuple)]
    named = {tuple(sorted(nodes[ground.names[end]] for end in part)) for part in missing}
    assert named == {(0, 1), (70, 100)}
    assert len(ground.missing) == 3
    found = fit(fl.Mesh(6, 5, 7, wrap=[False, True, True]), ground)
    assert found.reason["kind"] == "positions"
    holds(fit(fl.Mesh(5, 5, 5, wrap=[False, True, False]), ground))


def test_a_graph_of_any_kind_is_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, hosts = tmp_path / "petersen.csv", tmp_path / "ring.hosts"
    file.write_text("".join(f"s{a},s{b}\n" for a, b in nx.petersen_graph().edges))
    assert run(["place", "--graph", str(file), "--shape", "9", "--json", "-o", str(hosts)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["network"], told["names"]) == ("graph", hosts.read_text().split())
    # It has rings of nine, and none of ten.
    assert run(["place", "--graph", str(file), "--shape", "10", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"]["kind"] == "search"
    assert run(["place", "--graph", str(file), "--shape", "9", "-o", str(tmp_path / "p.json")]) == 2


@pytest.mark.parametrize(
    ("network", "shape", "fits"),
    [
        ("full4 x full4", "8x2", True),
        ("full4 x ring3", "12", True),
        ("full4 x full3", "4x3", True),
        ("line3 x full3", "9", True),
        ("line2 x line4", "4x2", False),
        ("full4 x line3", "3x3", False),
    ],
)
def test_a_product_holds_what_a_graph_of_its_cables_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str, shape: str, fits: bool
) -> None:
    file, product = tmp_path / "p.json", fl.Product(network)
    parts = {"full": nx.complete_graph, "ring": nx.cycle_graph, "line": nx.path_graph}
    # Sizes have one digit, and x is the factor that comes last in the product of graphs.
    factors = [parts[one[:4]](int(one[4:])) for one in reversed(network.split(" x "))]
    graph = reduce(nx.cartesian_product, factors)
    assert graph.number_of_nodes() == product.nodes
    grid = fl.Torus(shape)
    wanted = of_grid(grid)
    within = nx.algorithms.isomorphism.GraphMatcher(graph, wanted).subgraph_is_monomorphic()
    assert within == fits
    words = ["place", "--network", network, "--shape", shape, "--json", "-o", str(file)]
    assert run(words) == (0 if fits else 1)
    told = json.loads(capsys.readouterr().out)
    if not fits:
        return
    number = {node: at for at, node in enumerate(sorted(graph, key=str))}
    cables = {frozenset((number[a], number[b])) for a, b in graph.edges}
    nodes = told["placement"]
    assert len(set(nodes)) == grid.nodes
    assert all(frozenset((nodes[a], nodes[b])) in cables for a, b in grid_cables(grid.sizes, grid.wraps))
    report = check_placement(file)
    assert (report.problem, report.facts["busiest_channel"], report.facts["optimal"]) == (None, 1, True)
    assert run(["simulate", "--placement", str(file), "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert ran["flit_hops"] == ran["flits_delivered"]


@pytest.mark.parametrize("network", ["line4 x line3", "mesh 4x3"])
def test_an_open_shape_fits_a_network_named_by_a_text(
    network: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["place", "--network", network, "--shape", "4x3", "--json"]
    # A grid of lines has no ring along a line.
    assert run(words) == 1
    assert run([*words, "--wrap", "no,yes"]) == 1
    capsys.readouterr()
    assert run([*words, "--wrap", "no,no"]) == 0
    told = json.loads(capsys.readouterr().out)
    cables = {frozenset(pair) for pair in nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)).edges}
    nodes = told["placement"]
    assert sorted(nodes) == list(range(12))
    assert {frozenset((nodes[a], nodes[b])) for a, b in grid_cables((4, 3), (False, False))} == cables
    assert run(["place", "--network", network, "--stencil", "4x3", "--wrap", "no,no"]) == 2
    assert "--wrap: a product says itself what wraps" in capsys.readouterr().err


def test_shapes_on_families_sit_at_switches_with_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tmp_path / "ring.hosts"
    words = ["place", "--network", "dragonfly(4,2,2)", "--json"]
    assert run([*words, "--shape", "16", "-o", str(hosts)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert hosts.read_text().split() == told["names"]
    assert run([*words, "--shape", "36", "--fail", f"node:{told['names'][0]}"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"]["kind"] == "positions"
    # Switches with hosts of a fat tree have no cables between them.
    assert run(["place", "--network", "fattree(4)", "--json", "--shape", "4"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"]["kind"] == "cables"


def test_files_of_exact_placements_are_checked_and_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.json"
    words = ["--torus", "4x4x2", "--fail", "link:0-1", "--shape", "4x4x2", "--wrap", "no,yes,yes"]
    assert run(["place", *words, "-o", str(file)]) == 0
    report = check_placement(file)
    assert (report.problem, report.facts["busiest_channel"], report.facts["optimal"]) == (None, 1, True)
    router = ["--flow-control", "bubble", "--buffer", "64", "--channels", "1"]
    assert run(["simulate", "--placement", str(file), "--json", *router]) == 0
    out = capsys.readouterr().out
    told = json.loads(out[out.index("{\n") :])
    # Every message goes over its own cable.
    assert told["flit_hops"] == told["flits_delivered"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shape", "4x4"], "give one of --torus, --mesh, --network and --graph"),
        (
            ["--shape", "4x4", "--torus", "4x4", "--network", "full4"],
            "give either --network, --torus or --mesh",
        ),
        (["--shape", "4x4", "--network", "full4 x"], "is not a factor"),
        (["--shape", "4x4", "--network", "bogus(3)"], "'bogus' is unknown"),
        (["--shape", "3", "--network", "dragonfly(2,1,1)", "--fail", "node:nope"], "nope"),
        (["--shape", "3", "--network", "dragonfly(4,2,2)", "-o", "p.json"], "a network with coordinates"),
        (["--shape", "4x", "--torus", "4x4"], "--shape: "),
        (["--stencil", "4x", "--torus", "4x4"], "--stencil: "),
        (["--shape", "4x4", "--torus", "4x4", "--wrap", "yes"], "has 1 answers"),
        (["--shape", "4x4", "--torus", "4x4", "--axes", "a=4:ring:1"], "--axes does not go with --shape"),
        (["--shape", "4x4", "--torus", "4x4", "--effort", "0"], "at least 1"),
        (["--graph", "x.csv", "--stencil", "4x4"], "x.csv"),
        (["--graph", "x.csv", "--shape", "4x4"], "x.csv"),
        (["--shape", "1000x1000", "--torus", "4x4"], "at most"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_told_in_one_message(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run(["place", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert told in err


def test_too_few_nodes_can_hold_some_positions() -> None:
    shape = fl.Mesh(3, 3)
    needed = set()
    for seed in range(60):
        # Ten nodes of which only some have three cables; the corners of a grid have neighbours with three.
        graph = nx.random_degree_sequence_graph([4, 4, 3, 3, 3, 3, 2, 2, 2, 2], seed=seed, tries=50)
        cables = tuple(sorted((min(a, b), max(a, b)) for a, b in graph.edges))
        found = fit(shape, Ground(tuple(map(str, range(10))), tuple(range(10)), cables))
        within = nx.algorithms.isomorphism.GraphMatcher(graph, of_grid(shape)).subgraph_is_monomorphic()
        assert (found.nodes is not None) == within
        if found.reason.get("kind") == "holders":
            assert found.reason["there"] < found.reason["needed"] <= 9
            needed.add(found.reason["needed"])
    assert {1, 4} & needed


def test_shapes_sit_on_a_graph_of_nodes() -> None:
    graph = fl.Graph(list(nx.petersen_graph().edges), nodes=10)
    found = fit("9", ground_of(graph))
    holds(found)
    assert {frozenset(cable) for cable in found.ground.cables} == {frozenset(ends) for ends in graph.cables}


@pytest.mark.parametrize(
    "damage",
    [{"failed_nodes": [5]}, {"failed_links": [(0, 1)]}, {"failed_nodes": [0, 7], "failed_links": [(1, 2)]}],
)
def test_a_damaged_torus_as_a_graph_is_the_same_ground(damage: dict[str, Any]) -> None:
    torus = fl.Torus(4, 3, **damage)
    cables = [ends for ends in sorted(Wired(fl.Torus(4, 3)).links) if ends[0] < ends[1]]
    graph = ground_of(fl.Graph(cables, nodes=12, **damage))
    whole = ground_of(torus)
    assert (len(graph.nodes), len(graph.cables)) == (len(whole.nodes), len(whole.cables))
    joined = {frozenset(graph.names[node] for node in ends) for ends in graph.cables}
    assert joined == {frozenset(f"S{node}" for node in ends) for ends in whole.cables}


def test_only_switches_with_hosts_are_placed_on() -> None:
    # Five switches of a 3x3 torus, which stand in another order, have a host; nodes 0 to 4 are hosts.
    torus, at, order = Wired(fl.Torus(3, 3)), (0, 1, 2, 4, 8), (5, 2, 7, 0, 8, 3, 1, 6, 4)
    cables = [(order[a] + 5, order[b] + 5) for a, b in sorted(torus.links) if a < b]
    hosts = [(host, order[switch] + 5) for host, switch in enumerate(at)]
    ground = ground_of(fl.Graph([*hosts, *cables], nodes=14, hosts=[*range(5)]))
    called = {switch: f"S{order[switch] + 5}" for switch in at}
    assert {ground.names[node] for node in ground.nodes} == {*called.values()}
    between = {frozenset(called[node] for node in ends) for ends in torus.links if {*ends} <= {*at}}
    assert {frozenset(ground.names[node] for node in ends) for ends in ground.cables} == between
