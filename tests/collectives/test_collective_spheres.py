"""All-gathers in spheres and all-reduces between all, against networkx's flows, bounds and known figures."""

from __future__ import annotations

from itertools import pairwise

import networkx
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.direct import directs
from flitloom.collectives.spheres import Arrivals, arrivals, hops_to, spheres, spread
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of

NETWORKS: list[AnyNetwork] = [
    fl.Torus(4, 4, 8, twist=True),
    fl.Torus(3, 4, failed_nodes=[5]),
    fl.Torus(5, 4, failed_nodes=[0, 7], failed_links=[(2, 3)]),
    fl.Mesh(3, 5),
    network_of({"network": "dragonfly(4,2)"}),
    network_of({"network": "full5*3 x ring6"}),
    fl.Graph(nodes=5, cables=[(0, 1), (0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)]),
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_hops_are_those_of_networkx(network: AnyNetwork) -> None:
    ground = Ground(network)
    graph = networkx.DiGraph(ground.links.keys())
    known = dict(networkx.all_pairs_shortest_path_length(graph))
    table = hops_to(ground, ground.working)
    for row, target in zip(table, ground.working, strict=True):
        assert [row[source] for source in ground.working] == [known[one][target] for one in ground.working]


def _enough(one: Arrivals, radius: int, pieces: int, most: int) -> bool:
    """Whether a flow of networkx brings a node the sphere with at most so many pieces on a link."""
    graph = networkx.DiGraph()
    graph.add_node("source")
    sources = [node for node, hops in enumerate(one.distances.tolist()) if hops == radius]
    for source in sources:
        graph.add_edge("source", source, capacity=pieces)
        for place, nearer in enumerate(one.nearer[:, source].tolist()):
            if nearer:
                graph.add_edge(source, ("link", place), capacity=pieces)
    for place, width in enumerate(one.widths):
        graph.add_edge(("link", place), "sink", capacity=most * width)
    return bool(networkx.maximum_flow_value(graph, "source", "sink") == pieces * len(sources))


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_no_flow_has_fewer_pieces_on_the_busiest_link(
    network: AnyNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(network)
    found = spheres(ground)
    every = list(arrivals(ground))
    for radius, most in enumerate(found.most, 1):
        assert all(_enough(one, radius, found.pieces, most) for one in every)
        assert not all(_enough(one, radius, found.pieces, most - 1) for one in every)
        for one in every:
            ways = one.classes(radius)
            room = [most * width for width in one.widths]
            flows = spread(ways, found.pieces, room)
            assert flows is not None
            brought = [0] * len(room)
            for links, flow in flows.items():
                assert set(flow) <= set(links)
                assert sum(flow.values()) == found.pieces * len(ways[links])
                for link, count in flow.items():
                    brought[link] += count
            assert all(load <= most for load, most in zip(brought, room, strict=True))
    # With too many links for a table of their sets, flows are tried.
    monkeypatch.setattr("flitloom.collectives.spheres.LARGEST_TABLE", 0)
    tried = spheres(ground)
    for radius, most in enumerate(tried.most, 1):
        assert all(_enough(one, radius, tried.pieces, most) for one in every)
        assert not all(_enough(one, radius, tried.pieces, most - 1) for one in every)
    assert tried == found if ground.whole else tried.chunks >= found.chunks


@pytest.mark.parametrize(
    ("sizes", "links"), [((8, 8), 4), ((4, 4, 8), 6), ((3, 5), 4), ((2, 3, 4), 5), ((5,), 2), ((2,) * 5, 5)]
)
def test_a_torus_has_as_many_rounds_as_its_diameter_and_the_fewest_bytes(
    sizes: tuple[int, ...], links: int
) -> None:
    ground = Ground(fl.Torus(*sizes))
    found = spheres(ground)
    assert len(found.most) == sum(size // 2 for size in sizes)
    assert found.chunks == pytest.approx((ground.nodes - 1) / links)


MIB = 2**20


@pytest.mark.parametrize(
    ("network", "size", "us", "rounds"),
    [
        ({"sizes": [4, 4, 8], "twist": True}, MIB, 18.94, 12),
        ({"sizes": [4, 4, 8], "twist": True}, 4 * MIB, 39.74, 12),
        ({"sizes": [4, 4, 8], "failed_nodes": [5]}, MIB // 4, 18.11, 16),
        ({"sizes": [4, 4, 8], "failed_nodes": [5]}, MIB, 24.45, 16),
        ({"network": "full8 x full8"}, MIB // 16, 4.18, 4),
        ({"network": "full8 x full8"}, MIB, 6.95, 4),
        # 7/8 of the vector each way over 7 cables of 18 links.
        ({"network": "full8*18"}, 1024 * MIB, 2 + 2 / 8 / 18 * 1024 * MIB / 5e4, 2),
    ],
)
def test_spheres_take_the_known_time(network: dict[str, object], size: int, us: float, rounds: int) -> None:
    advice = weigh(network_of(network), [size], 1e-6, 5e10)
    place = [one.name for one in advice.algorithms].index("spheres")
    assert advice.algorithms[place].rounds == rounds
    assert advice.seconds[0][place] * 1e6 == pytest.approx(us, abs=0.006)
    assert min(advice.seconds[0]) <= advice.seconds[0][place]


def test_direct_exchanges_trade_bytes_for_rounds() -> None:
    advice = weigh(network_of({"network": "full8"}), [1024], 1e-6, 5e10)
    assert advice.algorithms[advice.best(0)].name == "one shot"
    assert min(advice.seconds[0]) * 1e6 == pytest.approx(1.02, abs=0.005)
    for network, dimensions in (("full8 x full8", 2), ("full4 x full6*2 x full2", 3), ("full5", 1)):
        ground = Ground(network_of({"network": network}))
        found = directs(ground)
        assert [len(one.loads) for one in found] == list(range(dimensions, 2 * dimensions))
        factors = [sum(one.loads) for one in found] + [2 * spheres(ground).chunks / ground.nodes]
        assert all(more > less for more, less in pairwise(factors))
    # Not where somebody is no neighbour, or missing.
    for network in ("full8 x ring4", "ring5"):
        assert directs(Ground(network_of({"network": network}))) == []
    assert directs(Ground(network_of({"network": "full8", "failed_nodes": [3]}))) == []
    # A whole vector over one link, by parts: half of it over each dimension in turn.
    assert directs(Ground(network_of({"network": "full4 x full4"})))[0].loads == (0.5, 0.5)
