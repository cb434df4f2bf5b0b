"""All-reduces over trees, where switches pass on and few cables join parts of a network."""

from itertools import combinations

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.trees import over_trees
from flitloom.commands import run
from flitloom.spec.ground import Ground

STAR = fl.Graph([(node, 8) for node in range(8)], nodes=9, hosts=[*range(8)])
PLANES = fl.Graph([(node, plane) for node in range(8) for plane in range(8, 12)], nodes=12, hosts=[*range(8)])
TWO_STARS = fl.Graph(
    [(0, 8), (1, 8), (2, 8), (3, 8), (4, 9), (5, 9), (6, 9), (7, 9), (8, 9)], nodes=10, hosts=[*range(8)]
)
BOXES = fl.Graph(
    [pair for box in range(0, 16, 4) for pair in combinations(range(box, box + 4), 2)]
    + [(0, 5), (4, 9), (8, 13)],
    nodes=16,
)


@pytest.mark.parametrize(
    ("network", "chunks", "steps", "bound"),
    [
        # Over every link of a host go 8 sums per chunk, and one hop more.
        (STAR, 1, 9, 9),
        (STAR, 8, 65, 65),
        (PLANES, 1, 3, 3),
        (PLANES, 8, 17, 17),
        # Over the cable between the switches go as many, between two hops.
        (TWO_STARS, 8, 67, 66),
        # Boxes in a row, with one cable between neighbours: 64 sums go over each.
        (BOXES, 4, 75, 70),
    ],
)
def test_sums_over_trees_are_near_their_bound(network, chunks, steps, bound, tmp_path):
    plan = fl.collectives.plan(network, "all-reduce", chunks=chunks)
    assert (plan.steps, plan.bound) == (steps, bound)
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0


@pytest.mark.parametrize("latency", [0, 2])
@pytest.mark.parametrize("network", [STAR, BOXES, fl.Torus(3, 4, failed_nodes=[5])])
def test_every_sum_goes_up_and_down_one_tree(network, latency):
    ground = Ground(network)
    sums, moves, steps = over_trees(ground, ground.members, 2, latency)
    assert max(row[0] for row in moves) + 1 + latency == steps
    for owner in ground.members:
        for chunk in range(2):
            up = nx.DiGraph((row[1], row[2]) for row in sums if row[3:] == [owner, chunk])
            down = nx.DiGraph((row[1], row[2]) for row in moves if row[3:] == [owner, chunk])
            assert nx.is_arborescence(down)
            assert {*down.edges} == {(end, start) for start, end in up.edges}
            assert {*ground.members} <= {*down.nodes}
            leaves = {node for node in down.nodes if not down.out_degree(node)}
            assert leaves <= {*ground.members}


def test_links_that_lead_one_way_have_no_trees():
    ground = Ground(fl.Graph([], nodes=3, one_way=[(0, 1), (1, 2), (2, 0)]))
    assert over_trees(ground, ground.members, 1, 0) is None
