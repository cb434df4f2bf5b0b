"""Products of rings, lines, full meshes and circulants: the network, and collective operations on it."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives import check as check_collective
from flitloom.collectives.advice import weigh
from flitloom.commands import run
from flitloom.spec.factors import factors_of
from flitloom.spec.ground import Ground

NETWORKS = [
    "full4", "full2 x full3", "full3 x ring5", "ring6 x full4", "full3 x full3 x full3", "line3 x full4",
    "full5 x ring4*2", "full4*3 x full3", "ring4 x ring6", "full2 x full2 x ring3",
]  # fmt: skip


CIRCULANTS = [
    "circulant(16;1,4) x ring4", "circulant(13;1,5)", "full3 x circulant(12;2,3,6)",
    "circulant(8;1,4)*2 x circulant(6;2,3)*2",
]  # fmt: skip


def linked(network: str) -> nx.Graph[tuple[int, ...]]:
    """The product as networkx builds it; nodes by their coordinates, x first."""
    made = {"full": nx.complete_graph, "ring": nx.cycle_graph, "line": nx.path_graph}
    product: nx.Graph[tuple[int, ...]] = nx.Graph()
    product.add_node(())
    for factor in factors_of(network):
        line = (
            nx.circulant_graph(factor.size, [*factor.steps])
            if factor.steps
            else made[factor.kind](factor.size)
        )
        product = nx.relabel_nodes(nx.cartesian_product(product, line), lambda node: (*node[0], node[1]))
    return product


def number(point: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    return sum(at * prod(sizes[:place]) for place, at in enumerate(point))


@pytest.mark.parametrize("network", NETWORKS + CIRCULANTS)
def test_links_are_those_of_the_product_of_graphs(network: str) -> None:
    topology = fl.Product(network)
    graph = linked(network)
    sizes = topology.sizes
    wanted = {(number(a, sizes), number(b, sizes)) for edge in graph.edges for a, b in (edge, edge[::-1])}
    ground = Ground(topology)
    assert set(ground.links) == wanted
    widths = {factor.width for factor in topology.factors}
    assert set(ground.links.values()) == widths
    if len(widths) == 1:
        assert topology.ports == graph.degree((1,) * len(sizes)) * widths.pop()
    hops = nx.single_source_shortest_path_length(graph, (0,) * len(sizes))
    assert ground.distances(0) == {number(point, sizes): far for point, far in hops.items()}


def all_to_all_steps(network: str) -> int:
    """The steps of the open shop: the busiest kind of link, or the longest way."""
    factors = factors_of(network)
    nodes = prod(factor.size for factor in factors)
    loads, hops = [], 0
    for factor in factors:
        others, size = nodes // factor.size, factor.size
        if factor.kind == "full":
            load, far = others, 1
        else:
            # Positions 1 to k - 1 by the shorter side; two sides share those in the middle.
            load, far = others * sum(min(at, size - at) for at in range(size)) / min(size - 1, 2), size // 2
        loads.append(-(-load // factor.width))
        hops += far
    return int(max(*loads, hops))


@pytest.mark.parametrize(
    "network",
    ["full4", "full2 x full3", "full3 x ring5", "ring6 x full4", "full3 x full3 x full3", "full4*3 x full6",
     "full4 x ring4*2", "full8 x full8 x full4 x full4", "full16 x full16", "full6 x ring9",
     "ring4*6 x ring4 x ring8"],
)  # fmt: skip
def test_all_to_all_takes_the_steps_of_the_formula_and_proves_them(network: str) -> None:
    plan = fl.collectives.plan(fl.Product(network), "all-to-all")
    assert plan.is_orbit
    assert (plan.steps, plan.bound) == (all_to_all_steps(network),) * 2
    if plan.ground.nodes <= 256:
        assert check_collective(plan)["passed"]


@pytest.mark.parametrize(
    "operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all", "broadcast"]
)
@pytest.mark.parametrize("network", NETWORKS)
def test_plans_do_what_they_say(network: str, operation: str) -> None:
    topology = fl.Product(network)
    plan = fl.collectives.plan(topology, operation)
    report = check_collective(plan)
    assert report["passed"], report["problems"]
    if operation == "all-gather" and "line" not in network:
        farthest = max(plan.ground.distances(0).values())
        assert plan.steps == max(-(-(topology.nodes - 1) // topology.ports), farthest)
    moves = plan.expanded()
    assert check_collective(moves)["passed"]
    for step, start, end, *_ in moves.moves + moves.sums:
        assert (start, end) in plan.ground.links, step


def test_a_move_over_a_link_that_is_not_there_is_found() -> None:
    plan = fl.collectives.plan(fl.Product("full4 x ring5"), "all-gather").expanded()
    moves = [list(move) for move in plan.moves]
    # Nodes 0 and 8 differ by two along the ring.
    moves[0][1:3] = [0, 8]
    report = check_collective(plan.model_copy(update={"moves": moves}))
    assert not report["passed"]


@pytest.mark.parametrize("failed", [{"failed_nodes": [5]}, {"failed_links": [(0, 2), (1, 5)]}])
def test_failed_parts_of_a_product_are_left_out(failed: dict[str, list[object]]) -> None:
    topology = fl.Product("full4 x ring5", **failed)  # type: ignore[arg-type]
    for operation in ("all-gather", "all-to-all"):
        plan = fl.collectives.plan(topology, operation)
        assert check_collective(plan)["passed"]
        assert not plan.is_orbit
        assert 5 not in plan.members or not topology.failed_nodes


def test_the_same_network_is_the_same_however_it_is_written() -> None:
    assert fl.Product("full4xring5*2").network == "full4 x ring5*2" == str(fl.Product(" full4  x  ring5*2 "))
    assert fl.Product("full4 x ring5", failed_nodes=["(3,4)"]).failed_nodes == (19,)
    assert fl.Product("full4 x ring5", failed_links=["(1,0)+x"]).failed_links == ((1, 2),)
    # A full mesh of three and a ring of three are one network.
    for operation in ("all-gather", "all-to-all"):
        plans = [fl.collectives.plan(fl.Product(f"{kind}3 x ring4"), operation) for kind in ("full", "ring")]
        assert plans[0].steps == plans[1].steps
        assert plans[0].steps == fl.collectives.plan(fl.Torus(3, 4), operation).steps


def test_the_command_plans_writes_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    command = ["collective", "all-to-all", "--network", "full4 x ring5", "-o", str(file), "--json"]
    assert run(command) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["network"], facts["steps"], facts["optimal"]) == ("full4 x ring5", 12, True)
    assert run(["check", str(file)]) == 0
    back = fl.collectives.read(file)
    assert back.ground.topology == fl.Product("full4 x ring5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "full4 x tree5"], "'tree5' is not a factor; write factors like"),
        (["--network", "full1"], "full1: a factor has at least 2 nodes"),
        (["--network", "full4*65"], "1 to 64 parallel links"),
        (["--network", "full2 x full2 x full2 x full2 x full2 x full2 x full2"], "7 factors; at most 6"),
        (["--network", "full4", "--torus", "4x4"], "give either --network, --torus or --mesh"),
        (["--network", "full4", "--wrap", "yes"], "write ring8 or line8"),
        (["--network", "full4 x ring5", "--twist"], "full4 x ring5 has none"),
        (["--network", "ring4", "--width", "2"], "write it into the network"),
        (["--network", "full4", "--fail", "node:4"], "does not exist"),
        (["--network", "full4 x ring5", "--fail", "link:0-8"], "8"),
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
    ("network", "words"),
    [
        ("circulant(12;4,6) x ring3", "is in 2 parts, since its size and steps are multiples of 2"),
        ("circulant(12;7) x ring3", "its steps have to be different, from 1 to 6, half its size"),
        ("circulant(12;0,1) x ring3", "its steps have to be different"),
        ("circulant(12;5,5) x ring3", "its steps have to be different"),
        ("circulant(12;) x ring3", "'circulant(12;)' is not a factor"),
        ("circulant(40;1,2,3,4,5,6,7,8,9)*1", "9 steps; as a factor a circulant has at most 8"),
        ("dragonfly(4,2) x ring4", "'dragonfly(4,2)' is not a factor"),
    ],
)
def test_circulants_that_are_none_are_refused(network: str, words: str) -> None:
    with pytest.raises(fl.SpecError) as caught:
        fl.Product(network)
    assert words in str(caught.value)


def test_a_lone_circulant_is_a_graph_unless_it_is_a_product() -> None:
    graph = fl.Graph.family("circulant(16;1,4)")
    product = fl.Product("circulant(16;4,1)")
    assert str(product) == "circulant(16;1,4)*1"
    assert product.is_as(fl.Product(str(product)))
    links = {(min(ends), max(ends)) for ends in Ground(product).links}
    assert links == {(min(ends), max(ends)) for ends in graph.cables}


def test_plans_do_not_know_circulants(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["collective", "all-to-all", "--network", "circulant(8;1,3) x ring4"]) == 2
    assert "circulant(8;1,3) is a circulant, and plans of collective operations are" in capfd.readouterr().err
    with pytest.raises(fl.SpecError, match="circulant"):
        weigh(fl.Product("circulant(8;1,3) x ring4"), [1024], 1e-6, 50e9)


def test_tables_of_circulants_are_checked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--network", "circulant(8;1,3) x ring3"]
    assert run(["route", *words, "-o", str(tmp_path)]) == 0
    capfd.readouterr()
    files = ["--lft", str(tmp_path / "opensm-lfts.dump"), "--path-sl", str(tmp_path / "path-sl.txt")]
    assert run(["check", *words, *files]) == 0
    assert capfd.readouterr().err == ""
