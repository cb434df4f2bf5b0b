"""All-reduces over trees, where switches pass on and few cables join parts of a network."""

from itertools import combinations

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.stars import star_tree
from flitloom.collectives.trees import over_trees
from flitloom.commands import run
from flitloom.spec.ground import Ground

STAR = fl.Graph([(node, 8) for node in range(8)], nodes=9, hosts=[*range(8)])
PLANES = fl.Graph([(node, plane) for node in range(8) for plane in range(8, 12)], nodes=12, hosts=[*range(8)])
TWO_STARS = fl.Graph(
    [(0, 8), (1, 8), (2, 8), (3, 8), (4, 9), (5, 9), (6, 9), (7, 9), (8, 9)], nodes=10, hosts=[*range(8)]
)


def rails(servers: int, size: int) -> fl.Graph:
    """Servers with a switch of their own, and a switch for the first, second, ... hosts of all of them."""
    hosts = servers * size
    cables = [
        (host, end) for host in range(hosts) for end in (hosts + host // size, hosts + servers + host % size)
    ]
    return fl.Graph(cables, nodes=hosts + servers + size, hosts=[*range(hosts)])


#: Two boxes of four, each with two relays to a switch.
NICS = fl.Graph(
    [pair for box in (0, 4) for pair in combinations(range(box, box + 4), 2)]
    + [(host, 8 + host // 2) for host in range(8)]
    + [(nic, 12) for nic in range(8, 12)],
    nodes=13,
    hosts=[*range(8)],
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
        (BOXES, 4, 73, 70),
        # Sums of a server go to one host, whose rail joins the servers; and the other way round.
        (rails(4, 4), 1, 15, 11),
        (rails(8, 8), 1, 44, 36),
        (rails(8, 8), 4, 152, 144),
        # Relays in a row to the other box.
        (NICS, 4, 24, 20),
    ],
)
def test_sums_over_trees_are_near_their_bound(network, chunks, steps, bound, tmp_path):
    plan = fl.collectives.plan(network, "all-reduce", chunks=chunks)
    assert (plan.steps, plan.bound) == (steps, bound)
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0


@pytest.mark.parametrize("latency", [0, 2])
@pytest.mark.parametrize("network", [STAR, BOXES, rails(2, 3), NICS, fl.Torus(3, 4, failed_nodes=[5])])
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


@pytest.mark.parametrize(("servers", "size"), [(2, 3), (4, 4), (3, 7), (8, 8)])
def test_stars_take_the_fewest_cables_on_rails(servers, size):
    ground = Ground(rails(servers, size))
    beside = {node: sorted(ends) for node, ends in ground.outgoing.items()}
    tree = star_tree(beside, dict.fromkeys(ground.links, 1.0), ground.members)
    graph = nx.Graph((node, end) for node, ends in tree.items() for end in ends)
    assert nx.is_tree(graph)
    assert {*ground.members} <= {*graph}
    # All switches of one kind, and one of the other.
    assert graph.number_of_edges() == servers * size + min(servers, size)


def test_stars_do_not_join_what_is_two_relays_apart():
    ground = Ground(fl.Graph([(0, 2), (2, 3), (3, 1)], nodes=4, hosts=[0, 1]))
    beside = {node: sorted(ends) for node, ends in ground.outgoing.items()}
    assert star_tree(beside, dict.fromkeys(ground.links, 1.0), ground.members) is None
    assert over_trees(ground, ground.members, 1, 0)[2] == 4


def test_stars_take_cheap_cables_and_direct_ones():
    cables = {(0, 3): 1.0, (1, 3): 1.0, (2, 3): 1.0, (0, 4): 0.5, (1, 4): 0.5, (2, 4): 9.0, (1, 2): 0.25}
    price = cables | {(end, start): cost for (start, end), cost in cables.items()}
    beside = {node: sorted(end for start, end in price if start == node) for node in range(5)}
    tree = star_tree(beside, price, [0, 1, 2])
    assert {node: sorted(ends) for node, ends in tree.items()} == {0: [4], 1: [2, 4], 2: [1], 4: [0, 1]}


def test_links_that_lead_one_way_have_no_trees():
    ground = Ground(fl.Graph([], nodes=3, one_way=[(0, 1), (1, 2), (2, 0)]))
    assert over_trees(ground, ground.members, 1, 0) is None
