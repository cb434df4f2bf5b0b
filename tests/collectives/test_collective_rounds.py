"""Algorithms replayed on what is left of a network, against formulas, networkx and bounds."""

from __future__ import annotations

import json
from itertools import pairwise

import networkx
import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import COMPARED, least_rounds, weigh
from flitloom.collectives.algorithms import algorithms
from flitloom.collectives.rounds import Replay, around, by_rank, exchanges_of_all, gathers_by_rank, on_grid
from flitloom.commands import run
from flitloom.spec.ground import Ground
from flitloom.spec.product import AnyNetwork, network_of

DAMAGED: list[AnyNetwork] = [
    fl.Torus(8, 8, failed_links=[(0, 1)]),
    fl.Torus(8, 8, failed_nodes=[5]),
    fl.Torus(4, 4, 8, twist=True),
    fl.Mesh(4, 8),
    fl.Mesh(3, 3),
    fl.Torus(5, 4, failed_nodes=[0, 7], failed_links=[(2, 3)]),
    network_of({"network": "dragonfly(4,2)"}),
    network_of({"network": "full4 x ring6"}),
]


@pytest.mark.parametrize(
    "sizes", [(8, 8), (4, 4, 4), (2, 8), (4, 6), (5, 5), (3, 9), (2, 2), (3, 2), (4, 4, 8)]
)
def test_routed_messages_load_a_healthy_torus_as_the_formulas_say(sizes: tuple[int, ...]) -> None:
    routed = {one.name: one for one in on_grid(Ground(fl.Torus(*sizes)))}
    for one in algorithms(sizes):
        assert routed[one.name].loads == pytest.approx(one.loads), one.name
        assert routed[one.name].halves == one.halves


@pytest.mark.parametrize("network", DAMAGED, ids=str)
def test_messages_take_all_shortest_routes_in_equal_parts(network: AnyNetwork) -> None:
    ground = Ground(network)
    graph = networkx.DiGraph(ground.links.keys())
    replay = Replay(ground)
    for source, target in [(ground.working[0], ground.working[-1]), (ground.working[1], ground.working[7])]:
        routes = list(networkx.all_shortest_paths(graph, source, target))
        # Parallel links are routes of their own; there are none here.
        assert max(ground.links.values()) == 1
        loads: dict[tuple[int, int], float] = {}
        for route in routes:
            for link in pairwise(route):
                loads[link] = loads.get(link, 0.0) + 1 / len(routes)
        places, parts = replay.routes(source, target)
        links = list(ground.links)
        assert {links[place]: part for place, part in zip(places, parts, strict=True)} == pytest.approx(loads)


def test_nodes_in_an_order_in_which_neighbours_follow_each_other() -> None:
    for sizes in [(4, 4), (3, 4, 5), (8,), (2, 3), (3, 3), (3, 5, 3)]:
        order = around(sizes)
        assert sorted(order) == list(range(len(order)))
        mesh = set(Ground(fl.Mesh(*sizes)).links)
        closed = any(size % 2 == 0 for size in sizes) and len(sizes) > 1
        steps = [*pairwise(order), *([(order[-1], order[0])] if closed else [])]
        assert all(step in mesh for step in steps), sizes


def _followed(
    ground: Ground, order: list[int], monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[list[tuple[int, int, float]]]]:
    """The messages of the algorithms by rank, as they are given to the replay."""
    rounds: list[list[tuple[int, int, float]]] = []
    original = Replay.busiest

    def noted(self: Replay, messages: list[tuple[int, int, float]]) -> float:
        row = list(messages)
        rounds.append(row)
        return original(self, row)

    monkeypatch.setattr(Replay, "busiest", noted)
    found = by_rank(ground, order)
    monkeypatch.undo()
    # The ring is replayed once for all its rounds.
    rows = iter(rounds[1:])
    return {one.name: [next(rows) for _ in one.loads] for one in found if one.name != "ring"}


@pytest.mark.parametrize("failed", [[], [5], [0, 1, 2], [1, 3, 5, 7, 9, 11]])
def test_exchanges_by_rank_bring_everybody_everything_once(
    failed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(fl.Torus(4, 4, failed_nodes=failed))
    order = [node for node in around(ground.sizes) if node in ground.working]
    followed = _followed(ground, order, monkeypatch)
    assert set(followed) == {"recursive doubling", "halving/doubling", "binomial tree"}
    for name in ("recursive doubling", "binomial tree"):
        sums = {node: {node: 1} for node in order}
        # A sum that is final replaces what was there; others are added up.
        for messages in followed[name]:
            before = {node: dict(held) for node, held in sums.items()}
            for source, target, share in messages:
                assert share == 1
                if len(before[source]) == len(order):
                    sums[target] = dict(before[source])
                else:
                    for owner, count in before[source].items():
                        sums[target][owner] = sums[target].get(owner, 0) + count
        assert all(held == dict.fromkeys(order, 1) for held in sums.values()), name
    shares = [{share for _, _, share in row} for row in followed["halving/doubling"]]
    assert shares == shares[::-1]
    assert min(map(min, shares)) == 0.5 ** (len(order).bit_length() - 1)


@pytest.mark.parametrize("operation", COMPARED)
@pytest.mark.parametrize("network", DAMAGED[1:], ids=str)
def test_no_algorithm_is_faster_than_the_bound(network: AnyNetwork, operation: str) -> None:
    advice = weigh(network, [1, 1000, 1e6, 1e9], 1e-6, 5e10, operation=operation)
    assert len(advice.algorithms) > 2
    for times, bound in zip(advice.seconds, advice.bounds, strict=True):
        assert min(times) >= bound * (1 - 1e-12)
    assert min(one.rounds for one in advice.algorithms) >= advice.rounds


def test_rounds_count_who_can_have_been_heard() -> None:
    assert [least_rounds(Ground(fl.Torus(*sizes)), nodes) for sizes, nodes in [((8,), 8), ((8, 8), 64)]] == [
        2,
        3,
    ]
    # A node with a failed cable might have had a partner over it.
    assert least_rounds(Ground(fl.Torus(4, failed_links=[(0, 1)])), 4) == 2


def test_bruck_needs_as_many_rounds_as_doublings() -> None:
    ground = Ground(fl.Torus(5, 4, failed_nodes=[3]))
    order = list(ground.working)
    (bruck,) = gathers_by_rank(ground, order)
    assert bruck.rounds == 5
    # Every rank gets the 18 blocks it does not have.
    everything = sum(min(1 << step, 19 - (1 << step)) for step in range(5))
    assert everything == 18
    shifts, _ = exchanges_of_all(ground, order)
    # 18 shifts, as many at once as a neighbour of the dead node has links.
    assert shifts.rounds == 6


def test_a_failed_cable_leaves_most_of_the_speed(capsys: pytest.CaptureFixture[str]) -> None:
    healthy = weigh(fl.Torus(8, 8), [2.0**20], 1e-6, 5e10)
    damaged = weigh(fl.Torus(8, 8, failed_links=[(0, 1)]), [2.0**20], 1e-6, 5e10)
    # More chunks are planned only where no algorithm has as few bytes as are needed.
    assert {one.name for one in healthy.algorithms} == {
        one.name for one in damaged.algorithms if "chunks" not in one.name
    }
    assert min(damaged.seconds[0]) < 1.5 * min(healthy.seconds[0])
    arguments = ["collective", "advise", "--mesh", "4x4", "--size", "1MB:2MB", "--bandwidth", "400Gb/s"]
    assert run([*arguments, "--operation", "all-gather", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["operation"], facts["members"], facts["rounds"]) == ("all-gather", 16, 2)
    for row in facts["cases"]:
        best = min(row["seconds"].values())
        assert row["algbw"] == pytest.approx(row["bytes"] / best)
        assert row["busbw"] == pytest.approx(row["bytes"] / best * 15 / 16)
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "busbw GB/s" in out
    assert "\n1MB " in out
    for wrong in (["--operation", "scatter"], ["--bandwidth", "50Gb"], ["--bandwidth", "50GBps"]):
        assert run(["collective", "advise", "--torus", "4x4", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert run(["collective", "advise", "--torus", "40x40", "--fail", "node:1"]) == 2
    assert "at most 1024" in capsys.readouterr().err


@pytest.mark.parametrize(
    "network",
    [
        fl.Torus(4, 4),
        fl.Torus(2, 2, 4, twist=True),
        fl.Torus(4, 4, failed_nodes=[5], failed_links=[(0, 1)]),
        fl.Product("full4 x full3*2 x ring5"),
        network_of({"network": "dragonfly(3,1)", "failed_nodes": [4]}),
    ],
    ids=str,
)
def test_loads_of_many_messages_are_those_of_each(
    network: AnyNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(network)
    hops, routes = ground.routes
    messages = [(a, b, 1.0 + a + 2 * b) for a in ground.working for b in ground.working if a != b]
    replay, loads = Replay(ground), np.zeros(len(ground.links))
    for source, target, share in messages:
        # Route after route, one pair at a time.
        links, parts = replay.routes(source, target)
        loads[links] += parts * share
    assert replay.busiest(messages) == pytest.approx(loads.max())
    monkeypatch.setattr("flitloom.collectives.rounds.MOST_PLACES", 100)
    assert Replay(ground).busiest(messages) == pytest.approx(loads.max())
    monkeypatch.setattr("flitloom.collectives.rounds.MOST_PAIRS", 1)
    assert Replay(ground).busiest(messages) == pytest.approx(loads.max())
    for node in ground.working:
        far = ground.distances(node)
        assert {
            other: int(hops[node, other]) for other in range(ground.nodes) if hops[node, other] >= 0
        } == far
        ways = {node: 1}
        for other in sorted(far, key=far.__getitem__):
            for end in ground.outgoing[other]:
                if far[end] == far[other] + 1:
                    ways[end] = ways.get(end, 0) + ways[other] * ground.links[other, end]
        assert {other: int(routes[node, other]) for other in far} == ways
