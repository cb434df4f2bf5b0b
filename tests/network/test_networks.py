"""Named families and graphs: what they are, collective operations and tables on them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives import check as check_collective
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.fabric import parse_fabric
from flitloom.fabric.networks import graph_of, named_subnet
from flitloom.spec.families import build

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"


def graph(text: str) -> nx.MultiGraph[int]:
    built = build(text)
    made: nx.MultiGraph[int] = nx.MultiGraph()
    made.add_nodes_from(range(len(built.names)))
    made.add_edges_from(built.cables)
    return made


@pytest.mark.parametrize(
    ("text", "routers", "degrees", "diameter"),
    [
        # 2 q^2 routers with (3 q - d) / 2 neighbours each, q = 4 w + d (Besta and Hoefler 2014, section 2.1).
        ("slimfly(5)", 50, {7}, 2),
        ("slimfly(7)", 98, {11}, 2),
        ("slimfly(11)", 242, {17}, 2),
        ("slimfly(13)", 338, {19}, 2),
        # a (a h + 1) routers with a - 1 + h neighbours (Kim et al. 2008, section 3.1).
        ("dragonfly(4,2)", 36, {5}, 3),
        ("dragonfly(6,3,3)", 114, {8}, 3),
        ("random(64,5)", 64, {5}, None),
        ("random(33,4,7)", 33, {4}, None),
        # k^2 / 4 upper switches and k^2 / 2 in each lower level (Al-Fares et al. 2008, section 3).
        ("fattree(8)", 80, {8, 4}, 4),
    ],
)
def test_families_have_the_published_sizes(
    text: str, routers: int, degrees: set[int], diameter: int | None
) -> None:
    made = graph(text)
    assert made.number_of_nodes() == routers
    assert {degree for _, degree in made.degree} == degrees
    assert len({frozenset(edge) for edge in made.edges()}) == made.number_of_edges()
    assert nx.is_connected(made)
    if diameter is not None:
        assert nx.diameter(made) == diameter


def test_every_two_groups_of_a_dragonfly_have_one_cable() -> None:
    built = build("dragonfly(4,2)")
    group = [int(name[1:].partition("s")[0]) for name in built.names]
    between = Counter(frozenset((group[a], group[b])) for a, b in built.cables if group[a] != group[b])
    assert set(between.values()) == {1}
    assert len(between) == 9 * 8 // 2


@pytest.mark.parametrize(("size", "steps"), [(32, (1, 7)), (8, (1, 4)), (9, (2, 3, 4))])
def test_circulants_are_those_of_networkx(size: int, steps: tuple[int, ...]) -> None:
    built = build(f"circulant({size};{','.join(map(str, steps))})")
    number = [int(name[1:]) for name in built.names]
    made = {frozenset((number[a], number[b])) for a, b in built.cables}
    assert made == {frozenset(edge) for edge in nx.circulant_graph(size, list(steps)).edges}
    assert len(made) == len(built.cables)


def test_a_fat_tree_has_its_hosts_at_the_edge() -> None:
    fabric = named_subnet("fattree(8)")
    assert len(fabric.hosts) == 8**3 // 4
    assert {fabric.switches[host.switch].name[:4] for host in fabric.hosts} == {"edge"}
    assert set(named_subnet("dragonfly(4,2,3)").hosts_per_switch()) == {3}


def replay(network: fl.Graph, plan: fl.CollectivePlan) -> None:
    """An all-gather step by step, on the cables themselves."""
    cables = Counter((a, b) for ends in network.cables for a, b in (ends, ends[::-1]))
    has = {node: {node} for node in plan.members}
    for step in range(plan.steps):
        now = [move for move in plan.moves if move[0] == step]
        used = Counter((move[1], move[2]) for move in now)
        assert all(count <= cables[ends] for ends, count in used.items())
        assert all(move[3] in has[move[1]] for move in now)
        for _, _, end, node, _ in now:
            has[end].add(node)
    assert all(known == set(plan.members) for known in has.values())


@pytest.mark.parametrize(
    "text", ["dragonfly(4,2)", "slimfly(5)", "circulant(16;1,4)", "random(32,4,3)", "circulant(8;1,4)"]
)
def test_an_all_gather_fills_the_links_of_every_node(text: str) -> None:
    network = fl.Graph.family(text)
    plan = fl.collectives.plan(network, "all-gather")
    replay(network, plan)
    degree = min(degree for _, degree in graph(text).degree)
    assert plan.steps == plan.bound == -(-(network.nodes - 1) // degree)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-reduce", "all-to-all", "broadcast", "gather"])
@pytest.mark.parametrize("text", ["dragonfly(4,1)", "random(12,3)"])
def test_plans_on_graphs_do_what_they_say(text: str, operation: str, tmp_path: Path) -> None:
    plan = fl.collectives.plan(fl.Graph.family(text, failed_links=[build(text).cables[0]]), operation)
    assert check_collective(plan)["passed"]
    plan.save(tmp_path / "plan.json")
    assert fl.collectives.read(tmp_path / "plan.json") == plan
    hops = dict(nx.all_pairs_shortest_path_length(nx.Graph(build(text).cables[1:])))
    if operation == "all-to-all":
        assert plan.steps >= max(far for row in hops.values() for far in row.values())


def test_a_move_over_a_failed_or_missing_cable_is_found() -> None:
    network = fl.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], nodes=4)
    plan = fl.collectives.plan(network, "all-gather")
    assert check_collective(plan)["passed"]
    fields = plan.model_dump() | {"topology": plan.topology | {"failed_links": [[0, 2]]}}
    report = check_collective(fl.CollectivePlan.model_validate(fields))
    assert any("no link" in problem or "link" in problem for problem in report["problems"])


def test_parallel_cables_carry_as_much_as_there_are() -> None:
    single = fl.Graph([(0, 1)], nodes=2)
    double = fl.Graph([(0, 1), (0, 1)], nodes=2)
    assert [fl.collectives.plan(one, "all-to-all", chunks=6).steps for one in (single, double)] == [6, 3]


@pytest.mark.parametrize(
    ("operation", "steps"),
    [("all-gather", 5), ("reduce-scatter", 5), ("all-to-all", 15), ("broadcast", 5), ("gather", 5)],
)
def test_a_directed_ring_leads_one_way(
    operation: str, steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, plan = tmp_path / "ring.graphml", tmp_path / "plan.json"
    nx.write_graphml(nx.cycle_graph(6, nx.DiGraph), file)
    assert run(["collective", operation, "--graph", str(file), "-o", str(plan), "--json"]) == 0
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert (facts["steps"], facts["optimal"]) == (steps, True)
    assert "6 links lead one way" in said.err
    assert run(["check", str(plan)]) == 0
    assert subprocess.run([sys.executable, "-I", str(PROGRAM), str(plan)]).returncode == 0
    assert run(["view", str(plan), "-o", str(tmp_path / "plan.html")]) == 0
    # Routers have cables with both directions.
    assert run(["simulate", str(plan)]) == 2
    assert "leads one way" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(8))
def test_plans_on_directed_graphs_do_what_they_say(seed: int, tmp_path: Path) -> None:
    made = nx.gnp_random_graph(9, 0.3, seed=seed, directed=True)
    made = made.subgraph(max(nx.strongly_connected_components(made), key=len))
    number = {node: place for place, node in enumerate(made.nodes)}
    links = sorted((number[a], number[b]) for a, b in made.edges)
    cables = [(a, b) for a, b in links if a < b and (b, a) in links]
    one_way = [(a, b) for a, b in links if (b, a) not in links]
    network = fl.Graph(cables, nodes=len(number), one_way=one_way)
    hops = dict(nx.all_pairs_shortest_path_length(made))
    for operation in ("all-gather", "reduce-scatter", "all-reduce", "all-to-all", "broadcast", "reduce"):
        plan = fl.collectives.plan(network, operation)
        assert check_collective(plan)["passed"]
        assert plan.bound <= plan.steps
        plan.save(tmp_path / "plan.json")
        assert subprocess.run([sys.executable, "-I", str(PROGRAM), tmp_path / "plan.json"]).returncode == 0
        assert {tuple(move[1:3]) for move in plan.moves} <= set(links)
        if operation in ("all-gather", "all-to-all"):
            assert plan.steps >= max(far for row in hops.values() for far in row.values())


def test_a_directed_edge_beside_its_cable_is_a_link_of_its_own() -> None:
    text = (
        '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b"/><edge source="a" target="b"/><edge source="b" target="a"/>'
        '<edge source="b" target="c"/><edge source="c" target="b"/></graph></graphml>'
    )
    network = graph_of(parse_fabric(text, hosts=[], one_way=True))
    assert (network.cables, network.one_way) == (((0, 1), (1, 2)), ((0, 1),))
    with pytest.raises(SpecError, match="a graph of 3 nodes and 2 cables, 1 link that leads one way"):
        fl.collectives.advise(network, ["1KiB"])
    with pytest.raises(SpecError, match="leads one way, and routers have cables"):
        fl.tables.fabric(network)
    with pytest.raises(SpecError, match="leads one way"):
        fl.Network(network)


def test_failed_nodes_of_a_graph_take_no_part() -> None:
    network = fl.Graph.family("slimfly(5)", failed_nodes=[7])
    plan = fl.collectives.plan(network, "all-gather")
    assert check_collective(plan)["passed"]
    assert 7 not in plan.members
    assert {7}.isdisjoint({node for move in plan.moves for node in move[1:4]})


def test_a_file_of_cables_is_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "petersen.graphml"
    nx.write_graphml(nx.petersen_graph(), file)
    plan = tmp_path / "plan.json"
    assert run(["collective", "all-to-all", "--graph", str(file), "-o", str(plan), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    # 10 nodes, 3 neighbours and 6 nodes two hops away: 150 hops over 30 links.
    assert (facts["network"], facts["steps"], facts["optimal"]) == ("petersen.graphml", 5, True)
    assert run(["check", str(plan)]) == 0
    assert run(["convert", str(plan), str(tmp_path / "plan.xml")]) == 0
    assert run(["check", str(tmp_path / "plan.xml")]) in (0, 2)


@pytest.mark.parametrize(
    "text", ["dragonfly(4,2,2)", "slimfly(5)", "full4 x full4", "circulant(12;1,5)", "ring4*2 x full3"]
)
def test_tables_of_named_networks_serve_every_pair(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run(["route", "--network", text, "-o", str(folder)]) == 0
    lft = str(folder / "opensm-lfts.dump")
    assert run(["check", "--network", text, "--lft", lft, "--path-sl", str(folder / "path-sl.txt")]) == 0
    assert run(["check", "--network", "random(24,3)", "--lft", lft]) != 0


def test_a_product_is_a_fabric_with_its_parallel_cables() -> None:
    fabric = named_subnet("full3 x ring4*2")
    made = nx.MultiGraph([(cable.a, cable.b) for cable in fabric.cables])
    wanted = nx.cartesian_product(nx.complete_graph(3), nx.MultiGraph(list(nx.cycle_graph(4).edges) * 2))
    assert nx.faster_could_be_isomorphic(made, wanted)
    assert sorted(Counter(map(frozenset, made.edges())).values()) == [1] * 12 + [2] * 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "slimfly(9)"], "'slimfly(9)' does not exist; slimfly(q), q: an odd prime"),
        (["--network", "dragonfli(4,2)"], "did you mean dragonfly?"),
        (["--network", "dragonfly(4,2"], "is not a network; write one of dragonfly(a,h[,p])"),
        (["--network", "random(1000000,64)"], "32000000 cables; at most"),
        (["--network", "slimfly(5)", "--fail", "node:a0-9"], "no node is called 'a0-9'; did you mean 'a0-"),
        (["--network", "circulant(12;1)", "--fail", "link:0-5"], "no cable joins nodes 0 and 5"),
        (["--network", "slimfly(5)", "--fail", "node:50"], "node 50 in 'node50' is unknown"),
        (["--network", "slimfly(5)", "--width", "2"], "list a cable twice"),
        (["--network", "slimfly(5)", "--twist"], "slimfly(5) has none"),
    ],
)
def test_what_is_no_network_is_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["collective", "all-gather", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cables": [(0, 0)], "nodes": 2}, "a cable joins node 0 to itself"),
        ({"cables": [(0, 2)], "nodes": 2}, "cables.0: node 2 does not exist; there are 2"),
        ({"cables": [(0, 1)], "nodes": 2, "names": ["a"]}, "1 names for 2 nodes"),
        ({"cables": [(0, 1)], "nodes": 2, "names": ["a", "a"]}, "nodes 0 and 1 are both called 'a'"),
        ({"cables": [], "nodes": 2}, "cables: none are given"),
        ({"cables": [], "nodes": 2, "one_way": [(1, 1)]}, "a link joins node 1 to itself"),
        ({"cables": [], "nodes": 2, "one_way": [(1, 2)]}, "one_way.0: node 2 does not exist"),
    ],
)
def test_impossible_graphs_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fl.Graph(**fields)  # type: ignore[arg-type]


def test_unconnected_graphs_are_refused_by_name() -> None:
    with pytest.raises(SpecError, match="no way leads from node 0 to node 2"):
        fl.collectives.plan(fl.Graph([(0, 1), (2, 3)], nodes=4), "all-gather")


def test_switches_with_equal_names_stay_apart() -> None:
    text = 'Switch 8 "S-1" # "sw"\n[1] "S-2"[1]\n\nSwitch 8 "S-2" # "sw"\n[1] "S-1"[1]\n'
    assert len(set(graph_of(parse_fabric(text)).names)) == 2


def test_products_of_too_many_cables_are_refused_before_they_are_made():
    with pytest.raises(fl.SpecError, match="3145728 cables; at most 1048576 are possible"):
        fl.tables.fabric("circulant(16;1,4) x ring65536")
    for text in ("ring2 x line3", "full4*2", "circulant(8;1,4) x ring3", "full2 x ring2*2 x line2"):
        most = len(fl.tables.fabric(text).cables)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("flitloom.fabric.networks.FABRIC_PARTS", most)
            assert len(fl.tables.fabric(text).cables) == most
            patch.setattr("flitloom.fabric.networks.FABRIC_PARTS", most - 1)
            with pytest.raises(fl.SpecError, match=f"{most} cables; at most {most - 1} are possible"):
                fl.tables.fabric(text)
