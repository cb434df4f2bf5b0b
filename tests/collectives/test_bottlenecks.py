"""Bounds of sums and broadcasts by bottlenecks, against solvers, networkx and an independent program."""

import json
import random
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.bottlenecks import Flow, boxes, parts_of_sums
from flitloom.collectives.making import choose, from_messages
from flitloom.collectives.proofs import transfers
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.commands import run
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.speeds import in_equal_links


def drawn(seed, nodes, cables):
    """A connected network of random cables, some of them side by side."""
    dice = random.Random(seed)
    joined = [(dice.randrange(node), node) for node in range(1, nodes)]
    more = [tuple(sorted(dice.sample(range(nodes), 2))) for _ in range(cables - nodes + 1)]
    return fl.Graph([*joined, *more], nodes=nodes)


def ring_of_boxes(boxes_in_ring, size):
    """Full meshes, with a cable between neighbours."""
    starts = range(0, boxes_in_ring * size, size)
    cables = [pair for start in starts for pair in combinations(range(start, start + size), 2)]
    cables += [(start, (start + size) % (boxes_in_ring * size) + 1) for start in starts]
    return fl.Graph(cables, nodes=boxes_in_ring * size)


def packed(ground):
    """How many spanning trees fit in the cables of a network, in shares, by a linear program."""
    cables = {pair: several for pair, several in ground.links.items() if pair[0] < pair[1]}
    places = {pair: row for row, pair in enumerate(cables)}
    trees = [
        [places[min(pair), max(pair)] for pair in tree.edges]
        for tree in nx.SpanningTreeIterator(nx.Graph(list(cables)))
    ]
    rows = [row for tree in trees for row in tree]
    columns = [column for column, tree in enumerate(trees) for _ in tree]
    limits = np.array(list(cables.values()), dtype=float)
    found = solve(-np.ones(len(trees)), (rows, columns, np.ones(len(rows))), np.zeros(len(limits)), limits)
    return -found.value


@pytest.mark.parametrize(
    ("seed", "nodes", "cables"), [(1, 5, 7), (2, 6, 9), (3, 6, 12), (4, 7, 10), (5, 4, 9)]
)
def test_parts_prove_what_packings_of_trees_reach(seed, nodes, cables):
    """A sum takes each cable of a tree once per direction, so trees that fit are sums per step."""
    ground = Ground(drawn(seed, nodes, cables))
    parts = parts_of_sums(ground, Fraction(1, 1000))
    count, needed, links = transfers(ground, ground.members, parts)
    assert needed == 2 * (count - 1)
    assert needed / links == pytest.approx(1 / packed(ground))
    assert parts_of_sums(ground, Fraction(needed, links)) == []


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_those_of_networkx(seed):
    dice = random.Random(seed)
    graph, flow = nx.DiGraph(), Flow(8)
    for one, other in ((a, b) for a in range(8) for b in range(8) if a != b and dice.random() < 0.5):
        most = dice.randrange(1, 9)
        graph.add_edge(one, other, capacity=most)
        flow.arc(one, other, most)
    value, near = flow.least_cut(0, 7)
    assert value == nx.minimum_cut_value(graph, 0, 7)
    leaving = sum(
        most for one, other, most in graph.edges.data("capacity") if one in near and other not in near
    )
    assert (leaving, 0 in near, 7 in near) == (value, True, False)


def test_sums_of_boxes_in_a_ring_are_bounded_by_all_cables_at_once(tmp_path, capsys):
    """Three boxes with a cable between each two: a cut alone proves 24 of the steps."""
    file = tmp_path / "plan.json"
    plan = fl.collectives.plan(ring_of_boxes(3, 4), "all-reduce", chunks=4)
    assert plan.proof == {"kind": "parts", "parts": [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]}
    assert (plan.bound, plan.proof_text) == (
        32,
        "192 transfers between 3 parts over 6 links: at least 32 steps",
    )
    assert plan.steps <= 34
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(file)
    assert run(["recheck", str(file)]) == 0
    assert "no plan has fewer than 32" in capsys.readouterr().out
    # Parts that share a node, a node that does not exist, one part alone, and parts that prove less.
    for parts in ([[0, 1], [1, 2]], [[0, 12]], [[*range(12)]], [[0, 1]]):
        wrong = plan.model_copy(update={"proof": {"kind": "parts", "parts": parts}})
        assert fl.collectives.check(wrong)["problems"]
        wrong.save(file)
        assert run(["recheck", str(file)]) in (1, 2)


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
@pytest.mark.parametrize("seed", range(3))
def test_chunks_of_a_root_cross_the_narrowest_cut(operation, seed, tmp_path):
    network = ring_of_boxes(4, 4) if seed == 0 else drawn(seed, 9, 13)
    plan = fl.collectives.plan(network, operation, chunks=24)
    graph = nx.DiGraph()
    for (one, other), several in plan.ground.links.items():
        graph.add_edge(one, other, capacity=several)
    narrow = min(nx.maximum_flow_value(graph, 0, node) for node in range(1, network.nodes))
    # Edmonds 1973: that many chunks a step reach all nodes in the long run.
    assert -(-24 // narrow) <= plan.bound <= plan.steps
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0
    if seed == 0:
        assert (plan.proof["kind"], plan.optimal) == ("crossing", True)
        for changed in ({"from": 1}, {"to": 1}, {"nodes": [4, 5, 6, 7], "from": 4}):
            wrong = plan.model_copy(update={"proof": plan.proof | changed})
            assert fl.collectives.check(wrong)["problems"]
            wrong.save(tmp_path / "plan.json")
            assert run(["recheck", str(tmp_path / "plan.json")]) in (1, 2)


@pytest.mark.parametrize("operation", ["scatter", "gather"])
def test_chunks_for_others_cross_the_narrowest_cut(operation, tmp_path):
    """Eight nodes for each of which four chunks cross the one cable, behind a hop and before one."""
    boxes_in_row = [pair for box in (0, 4, 8) for pair in combinations(range(box, box + 4), 2)]
    network = fl.Graph([*boxes_in_row, (1, 4), (5, 8)], nodes=12)
    plan = fl.collectives.plan(network, operation, chunks=4)
    assert (plan.steps, plan.bound, plan.proof["kind"]) == (33, 33, "crossing")
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0
    for changed in ({"from": 1}, {"nodes": [*range(12)]}, {"nodes": []}, {"nodes": [*range(8)]}):
        proof = {name: value for name, value in plan.proof.items() if name != "all_but"}
        wrong = plan.model_copy(update={"proof": proof | changed})
        assert fl.collectives.check(wrong)["problems"]
        wrong.save(tmp_path / "plan.json")
        assert run(["recheck", str(tmp_path / "plan.json")]) in (1, 2)


@pytest.mark.parametrize(
    ("operation", "steps", "bound"),
    [("all-gather", 13, 13), ("reduce-scatter", 13, 13), ("all-reduce", 26, 24), ("broadcast", 4, 4)],
)
def test_fast_links_inside_boxes_leave_the_slow_ones_as_the_bound(operation, steps, bound, tmp_path):
    """Boxes of four with eight links between each two nodes: 96 chunks enter a box over eight slow links."""
    plan = fl.collectives.plan(fl.Product("full4*8 x ring4"), operation, chunks=8)
    assert (plan.steps, plan.bound) == (steps, bound)
    plan.save(tmp_path / "plan.json")
    assert fl.collectives.check(plan)["problems"] == []
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0


def test_boxes_of_a_product_are_its_parts():
    ground = Ground(fl.Product("full4*8 x ring4"))
    (box,) = (sorted(box) for box in boxes(ground) if len(box) == 4 and 1 in box)
    assert parts_of_sums(ground, Fraction(1, 100)) == [
        [first + node for node in box] for first in (0, 4, 8, 12)
    ]
    assert parts_of_sums(Ground(fl.Torus(4, 4)), Fraction(30, 64)) == []


#: Three pairs of nodes, each with three cables, in a ring of single ones.
PAIRS = fl.Graph([(0, 1), (2, 3), (4, 5)] * 3 + [(0, 3), (2, 5), (4, 1)], nodes=6)


@pytest.mark.parametrize(("network", "links"), [(PAIRS, 6), (fl.Product("full2*8 x ring3"), 12)])
def test_advice_in_rounds_counts_links_between_clusters(network, links, tmp_path):
    advice = weigh(network, [2.0**30], 1e-6, 50e9)
    assert advice.proof.every[-1] == pytest.approx(4 / links)
    best = advice.seconds[0][advice.best(0)]
    assert advice.bounds[0] <= best < 1.05 * advice.bounds[0]
    one = choose(advice, 0, "spheres")
    plan = from_messages(advice, one, one.messages(), 2.0**30, 1e-6, 50e9)
    assert plan.clusters == [[0, 1], [2, 3], [4, 5]]
    assert check_rounds(plan)["problems"] == []
    file = tmp_path / "rounds.json"
    plan.save(file)
    assert run(["recheck", str(file)]) == 0
    document = json.loads(file.read_text())
    for clusters in ([], [[0, 1]], [[0, 0]], [[*range(6)]]):
        file.write_text(json.dumps(document | {"clusters": clusters}))
        assert run(["recheck", str(file)]) in (1, 2)
        assert check_rounds(plan.model_copy(update={"clusters": clusters}))["problems"]


@pytest.mark.parametrize("network", [fl.Torus(8), fl.Product("full8")])
def test_one_slow_cable_leaves_sums_within_a_percent_of_their_bound(network):
    machine = Machine(bandwidth="50GB/s", links={"0-1": "25GB/s"})
    unlike, equal = in_equal_links(network, machine)
    advice = weigh(unlike, [2.0**30], equal.round, equal.bandwidth)
    fewest = min(one.factor for number, one in enumerate(advice.algorithms) if advice.is_made(number))
    assert 1 <= fewest / advice.proof.every[-1] < 1.01
