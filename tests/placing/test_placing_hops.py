"""Hop-bytes as a quadratic assignment: known and counted optima, and what a search spends."""

from __future__ import annotations

import json
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

import flitloom as fl
from flitloom.commands import run
from flitloom.placing import Traffic, axes_traffic, pairs_traffic, parse_axes, place, stencil_traffic
from flitloom.placing.search import default_effort

#: Flows of Nugent, Vollmann and Ruml (1968), row by row above the diagonal, in hexadecimal digits; their
#: locations are a grid.
NUGENT_12 = "524100621113022204500000055222522a0055a000511511540a523300500aa502"
NUGENT_30 = (
    "32002a50525002056301a0a21110140a40022105000020161012251a53405551410404063255210031020002206025251111"
    "2240202255520000200002100205102102112214aa25505000a00040a11aa5aa600a21a155235020131350002452a6055250"
    "5502a21520302004052052252556015505235052aa152001210200066045322a55200002045a100001204221062155001552"
    "1053a00420042554510105020051100302202050525a2200065350051512aa4005000055105212aa52131565534010005005"
    "0445025044102255010010a10000000a222"
)


def full_matrix(flows: str, ranks: int) -> NDArray[np.int64]:
    matrix = np.zeros((ranks, ranks), dtype=np.int64)
    matrix[np.triu_indices(ranks, 1)] = [int(digit, 16) for digit in flows]
    return matrix + matrix.T


def traffic_of(matrix: NDArray[np.int64]) -> Traffic:
    sources, destinations = np.nonzero(matrix)
    return pairs_traffic(len(matrix), np.column_stack([sources, destinations, matrix[sources, destinations]]))


@pytest.mark.parametrize(("flows", "sizes", "least"), [(NUGENT_12, (4, 3), 578), (NUGENT_30, (6, 5), 6124)])
def test_known_optima_are_found(flows: str, sizes: tuple[int, int], least: int) -> None:
    ranks = sizes[0] * sizes[1]
    traffic = traffic_of(full_matrix(flows, ranks))
    for seed in (1, 2):
        found = place(fl.Mesh(*sizes), traffic, minimise="hops", seed=seed)
        assert found.hop_bytes == least
        effort = default_effort(ranks, structured=False, by_hops=True)
        assert found.effort == effort
        assert found.spent <= effort * 10**6
    again = place(fl.Mesh(*sizes), traffic, minimise="hops", seed=2)
    assert again.nodes.tolist() == found.nodes.tolist()


@pytest.mark.parametrize("largest", [9, 10**11])
@pytest.mark.parametrize(
    ("topology", "ranks", "per_node"),
    [(fl.Mesh(2, 3), 6, 1), (fl.Torus(7), 5, 1), (fl.Mesh(4), 6, 2), (fl.Torus(3, 2), 5, 1)],
    ids=str,
)
def test_no_order_of_the_ranks_has_fewer(
    topology: fl.Topology, ranks: int, per_node: int, largest: int
) -> None:
    dice = np.random.default_rng(ranks)
    matrix = dice.integers(0, largest, (ranks, ranks)) * (dice.random((ranks, ranks)) < 0.8)
    np.fill_diagonal(matrix, 0)
    graph = nx.grid_graph(topology.sizes[::-1], periodic=list(topology.wraps)[::-1])
    numbers = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    far = dict(nx.all_pairs_shortest_path_length(numbers))
    slots = [node for node in range(topology.nodes) for _ in range(per_node)]
    hops = np.array([[far[a][b] for b in slots] for a in slots])
    least = min(
        int((matrix * hops[np.ix_(order, order)]).sum()) for order in permutations(range(len(slots)), ranks)
    )
    found = place(topology, traffic_of(matrix), minimise="hops", per_node=per_node)
    assert found.hop_bytes == least


#: Networks and traffic that use every part of a search.
SPENDERS = [
    pytest.param(
        fl.Torus(4, 4, 8), axes_traffic(parse_axes("a=8:a2a:1,b=16:ring:4")), marks=pytest.mark.long
    ),
    (fl.Mesh(6, 5), traffic_of(full_matrix(NUGENT_30, 30))),
    (fl.Torus(7, 3), stencil_traffic([7, 3], 9)),
    (fl.Torus(8, 8, 8), stencil_traffic([8, 8, 8], 27)),
    (fl.Torus(4, 8, twist=True), axes_traffic(parse_axes("a=4:a2a:1,b=8:ring:4"))),
]


@pytest.mark.parametrize(("topology", "traffic"), SPENDERS, ids=lambda each: str(getattr(each, "sizes", "")))
@pytest.mark.parametrize("minimise", ["channel", "hops"])
def test_a_search_spends_no_more_than_its_effort(
    topology: fl.Topology, traffic: Traffic, minimise: str
) -> None:
    for effort in (1, 3):
        found = place(topology, traffic, minimise=minimise, effort=effort)
        assert 0 < found.spent <= effort * 10**6
        if not found.optimal:
            assert found.spent > 0.9 * effort * 10**6 or minimise == "hops"


def test_what_a_search_spent_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["place", "--torus", "4x4", "--axes", "a=4:a2a:1,b=4:ring:4", "--effort", "1", "--json"]
    assert run(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["spent"] <= facts["effort"] * 10**6


def test_bounds_by_cosines_are_looked_for_only_where_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def bound(_topology: fl.Topology, _traffic: Traffic, _hops: bool, known: int) -> None:
        asked.append(known)

    monkeypatch.setattr("flitloom.placing.search.cosine_bound", bound)
    # A ring lies on cables, which the sorted distances prove optimal.
    ring = place(fl.Torus(8, 8), axes_traffic(parse_axes("a=64:ring:1")), minimise="hops", effort=16)
    assert (ring.hop_bytes, ring.optimal, asked) == (128, True, [])
    # Squares whose neighbours are two hops apart are above them.
    squares = axes_traffic(parse_axes("a=4:a2a:1,b=16:ring:4"))
    found = place(fl.Torus(8, 8), squares, minimise="hops", effort=16)
    assert asked == [found.bound]
    assert found.hop_bytes > found.bound
    assert found.spent <= 16_000_000


@pytest.mark.parametrize("seed", range(6))
def test_of_equally_busy_placements_the_one_of_least_hop_bytes_is_found(seed: int) -> None:
    # One rank sends so much to another that no placement has a busiest channel below it.
    dice = np.random.default_rng(seed)
    ranks, mesh = 5, fl.Mesh(3, 2)
    matrix = dice.integers(0, 60, (ranks, ranks)) * (dice.random((ranks, ranks)) < 0.5)
    np.fill_diagonal(matrix, 0)
    matrix[1, 3] = 400
    sources, destinations = np.nonzero(matrix)
    traffic = traffic_of(matrix)

    def judged(nodes: tuple[int, ...]) -> tuple[int, int, int]:
        links: dict[tuple[int, int], int] = {}
        for source, destination in zip(sources, destinations, strict=True):
            x, y = nodes[source] % 3, nodes[source] // 3
            to_x, to_y = nodes[destination] % 3, nodes[destination] // 3
            while (x, y) != (to_x, to_y):
                here = x + 3 * y
                x, y = (x + (1 if to_x > x else -1), y) if x != to_x else (x, y + (1 if to_y > y else -1))
                links[here, x + 3 * y] = links.get((here, x + 3 * y), 0) + int(matrix[source, destination])
        most = max(links.values())
        return most, sum(load == most for load in links.values()), sum(links.values())

    found = place(mesh, traffic, effort=2)
    best = min(map(judged, permutations(range(6), ranks)))
    assert best[0] == found.bound == 400
    assert (found.busiest_channel, found.channels_at_maximum, found.hop_bytes) == best
