"""Hosts that cables join in boxes, with relays from box to box that neither copy nor add."""

import itertools

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.boxes import over_boxes, without_relays
from flitloom.collectives.making import make_rounds
from flitloom.commands import run
from flitloom.spec.ground import Ground


def boxes(count: int, size: int, nics: int, switches: int = 1) -> fl.Graph:
    """Full meshes of hosts; each box has some NICs for equally many hosts, joined by switches."""
    hosts, relays = count * size, count * nics
    cables = [
        (box * size + a, box * size + b)
        for box in range(count)
        for a, b in itertools.combinations(range(size), 2)
    ]
    for box in range(count):
        cables += [(box * size + host, hosts + box * nics + host * nics // size) for host in range(size)]
        cables += [(hosts + box * nics + nic, hosts + relays + nic % switches) for nic in range(nics)]
    return fl.Graph(cables, nodes=hosts + relays + switches, hosts=[*range(hosts)])


PAIR = boxes(2, 4, 2)


@pytest.mark.parametrize(
    ("network", "between"), [(PAIR, 2), (boxes(3, 2, 1), 1), (boxes(4, 4, 2, 2), 2), (boxes(2, 3, 1), 1)]
)
def test_routes_over_relays_share_no_link_and_join_every_box_to_the_next(network, between):
    found = without_relays(Ground(network))
    count, size = len(network.members), network.members[-1] + 1
    assert found.nodes == count == size
    graph = nx.Graph(found.cables)
    graph.add_nodes_from(range(count))
    parts = sorted(map(sorted, nx.connected_components(graph)))
    box = {node: number for number, part in enumerate(parts) for node in part}
    to = [(box[a], box[b]) for a, b in found.one_way]
    assert sorted({*to}) == sorted((number, (number + 1) % len(parts)) for number in range(len(parts)))
    assert all(to.count(pair) == between for pair in to)
    # As many links as routes lead out of every host.
    ground = Ground(network)
    for node in range(count):
        assert sum(a == node for a, _ in found.one_way) <= sum(
            several for (a, b), several in ground.links.items() if a == node and b >= count
        )


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter"])
@pytest.mark.parametrize(("network", "share"), [(PAIR, 0.8), (boxes(3, 2, 1), 0.59)])
def test_plans_over_boxes_are_checked_and_near_their_bound(network, share, operation, tmp_path):
    advice = weigh(network, [2.0**30], 1e-6, 50e9, operation=operation)
    names = [one.name for one in advice.algorithms]
    assert "boxes" in names
    assert advice.bounds[0] > share * advice.seconds[0][advice.best(0)]
    for name in names:
        if name.startswith("boxes"):
            plan = make_rounds(network, operation, name, 2.0**30, 1e-6, 50e9)
            assert plan.seconds == pytest.approx(advice.seconds[0][names.index(name)])
            plan.save(tmp_path / "plan.json")
            assert run(["check", str(tmp_path / "plan.json")]) == 0
            assert run(["recheck", str(tmp_path / "plan.json")]) == 0


def test_an_all_reduce_over_one_nic_is_faster_than_a_ring():
    advice = weigh(boxes(2, 4, 1), [2.0**30], 1e-6, 50e9)
    seconds = dict(zip([one.name for one in advice.algorithms], advice.seconds[0], strict=True))
    best = advice.algorithms[advice.best(0)].name
    assert best.startswith("boxes")
    assert seconds[best] < 0.7 * min(time for name, time in seconds.items() if not name.startswith("boxes"))


def test_hosts_that_switches_alone_join_are_no_boxes():
    star = fl.Graph([(host, 4) for host in range(4)], nodes=5, hosts=[*range(4)])
    assert without_relays(Ground(star)) is None
    assert over_boxes(Ground(star)) == over_boxes(Ground(fl.Mesh(2, 2))) == []
    # Nothing leads from one box to the other but for what another box is on the way of.
    alone = fl.Graph([(0, 1), (2, 3), (1, 4), (2, 4), (4, 5)], nodes=6, hosts=[0, 1, 2, 3])
    assert without_relays(Ground(alone)).one_way == ((1, 2), (2, 1))
