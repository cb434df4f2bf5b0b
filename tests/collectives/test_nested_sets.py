"""All-gathers in nested sets, against searches of all sets, flows over links and known figures."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.making import make_rounds
from flitloom.collectives.nested import best_nested, long_nested, nested, nested_messages, offsets
from flitloom.collectives.prices import least_chunks
from flitloom.collectives.rounds import busiest_loads
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import crowding
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of

NETWORKS: list[AnyNetwork] = [
    fl.Torus(4, 4),
    fl.Torus(3, 5),
    fl.Torus(2, 8),
    fl.Torus(2, 2, 4, twist=True),
    fl.Torus(4, 8, 8, twist=True),
    network_of({"network": "full4 x ring6*2"}),
    network_of({"network": "circulant(16;1,4) x ring4"}),
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_symmetries_keep_sums_and_distances(network: AnyNetwork) -> None:
    ground = Ground(network)
    group = offsets(ground)
    hops = ground.routes[0][0]
    for turn in group.turns:
        assert sorted(turn.tolist()) == list(range(ground.nodes))
        assert (group.behind[turn][:, turn] == turn[group.behind]).all()
        assert (hops[turn] == hops).all()
    # A unit along a vector loads the links of all classes as often as it has hops.
    links = {end: count for (start, end), count in ground.links.items() if start == 0}
    assert group.links.sum() == sum(links.values())
    assert (group.hops @ group.links).tolist() == pytest.approx(hops.tolist())


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_chunk_comes_from_who_has_it_over_the_links_that_are_said(network: AnyNetwork) -> None:
    ground = Ground(network)
    for rounds in (1, 2, 3):
        found = nested(ground, rounds, moves=1000)
        for way in found.ways:
            others = np.arange(1, ground.nodes)
            assert (way.rounds[way.nearest[others]] < way.rounds[others]).all()
            assert (way.rounds[others] > 0).all()
            assert way.rounds.max() <= rounds
        made = nested_messages(ground, found)
        loads = busiest_loads(ground, made, 2 * rounds)
        length = sum(made.lengths) or made.pieces
        assert [load / length for load in loads] == pytest.approx([*found.loads[::-1], *found.loads])


@pytest.mark.parametrize("sizes", [(5,), (7,), (9,), (3, 3), (2, 5)])
def test_two_rounds_are_as_good_as_the_best_of_all_sets(sizes: tuple[int, ...]) -> None:
    """Hops of all chunks, over every set of offsets that come in the first round."""
    ground = Ground(fl.Torus(*sizes))
    behind, hops = offsets(ground).behind, ground.routes[0][0]
    least = min(
        sum(hops[node] for node in first)
        + sum(min(hops[behind[node, sender]] for sender in (0, *first)) for node in rest)
        for count in range(ground.nodes)
        for first in combinations(range(1, ground.nodes), count)
        for rest in [sorted({*range(1, ground.nodes)} - {*first})]
    )
    way, *_ = nested(ground, 2).ways
    others = range(1, ground.nodes)
    # Where links are unlike, prices lead to other sets.
    if len(offsets(ground).links) == 1:
        assert sum(hops[behind[node, way.nearest[node]]] for node in others) == least


@pytest.mark.parametrize(
    ("sizes", "rounds", "vectors"),
    [
        # Of a linear program: no schedule with messages to one node each has fewer.
        ((4, 4), 2, 0.5625),
        # Found by other programs, replayed there message by message.
        ((8, 8), 2, 0.789),
        ((8, 8), 3, 0.602),
        ((4, 4, 4), 2, 0.438),
        ((4, 4, 4), 3, 0.354),
        ((4, 4, 4), 4, 0.344),
        ((8, 8, 8), 2, 0.576),
    ],
)
def test_vectors_on_a_link_are_near_the_known_ones(
    sizes: tuple[int, ...], rounds: int, vectors: float
) -> None:
    ground = Ground(fl.Torus(*sizes))
    assert 2 * nested(ground, rounds).chunks / ground.nodes == pytest.approx(vectors, rel=0.04)


def test_more_rounds_save_ever_less() -> None:
    found = best_nested(Ground(fl.Torus(8, 8)))
    points = [(len(one.loads), one.chunks) for one in found]
    gains = [(one[1] - other[1]) / (other[0] - one[0]) for one, other in pairwise(points)]
    assert gains == sorted(gains, reverse=True)
    assert min(gains) > 0
    # All from all at once: the sum of distances over four links.
    assert points[0][0] == 1
    assert points[0][1] == pytest.approx(256 / 4)


def test_messages_beyond_the_links_are_a_question_of_their_cost() -> None:
    network, size = fl.Torus(8, 8), 2.0**18
    without = weigh(network, [size], 1e-6, 5e10)
    free = without.best_free(0)
    assert free is not None
    name, seconds = free
    assert name == "nested sets (2)"
    # 0.789 vectors, found by another program.
    assert seconds == pytest.approx(4e-6 + 0.789 * size / 5e10, rel=0.02)
    assert without.seconds[0][without.best(0)] > 12e-6
    assert all(not any(one.crowd) for one in without.algorithms)
    with pytest.raises(fl.SpecError, match="--message-cost"):
        make_rounds(network, "all-reduce", name, size, 1e-6, 5e10)
    some = weigh(network, [size, 2.0**10], 1e-6, 5e10, message=5e-8)
    assert 9e-6 < some.seconds[0][some.best(0)] < 10e-6
    # Sums of three at a time go to two nodes over every link.
    sums = next(one for one in some.algorithms if one.name == "family (sums,sums)")
    assert max(sums.crowd) == 1


def test_messages_that_cost_nothing_are_those_that_are_named_and_dear_ones_are_not_sent() -> None:
    network, size = fl.Torus(4, 4, 4), 2.0**19
    free = weigh(network, [size], 1e-6, 5e10).best_free(0)
    assert free is not None
    nothing = weigh(network, [size], 1e-6, 5e10, message=0.0)
    assert nothing.seconds[0][nothing.best(0)] == pytest.approx(free[1])
    dear = weigh(network, [size], 1e-6, 5e10, message=1e-6)
    assert dear.algorithms[dear.best(0)].crowd in ((), (0,) * dear.algorithms[dear.best(0)].rounds)


def test_a_plan_says_what_its_messages_cost() -> None:
    plan = make_rounds(fl.Torus(4, 4), "all-gather", "nested sets (1)", 2.0**20, 1e-6, 5e10, message=1e-7)
    # A round, three messages beyond the first of a link, 32 hops over four links.
    assert plan.seconds == pytest.approx(1e-6 + 3e-7 + 8 / 16 * 2**20 / 5e10)
    assert check_rounds(plan)["passed"]
    for wrong in (
        plan.model_copy(update={"message": 2e-7}),
        plan.model_copy(update={"message": 0.0}),
        plan.model_copy(update={"message": None, "seconds": plan.seconds - 3e-7}),
    ):
        assert not check_rounds(wrong)["passed"]


def test_a_longer_search_has_fewer_bytes_and_no_more_messages() -> None:
    ground = Ground(fl.Torus(4, 4, 8, twist=True))
    short, long, longest = nested(ground, 3, longer=False), nested(ground, 3), long_nested(ground, 3)
    assert long.chunks < 0.97 * short.chunks
    assert longest.chunks <= long.chunks
    links = ground.most_links
    messages = [sum(crowding(one.messages, links)) for one in (short, long, longest)]
    assert messages == sorted(messages, reverse=True)


@pytest.mark.parametrize(
    ("network", "rounds", "above"),
    [("4x4x8 twisted", 4, 0.03), ("4x4x8", 4, 0.03), ("4x4x8", 7, 0.025)],
)
def test_where_links_are_unlike_the_longest_searches_are_near_the_bound(
    network: str, rounds: int, above: float
) -> None:
    ground = Ground(fl.Torus(4, 4, 8, twist="twisted" in network))
    bound = least_chunks(ground)[rounds - 1]
    assert len(bound.links) == rounds
    assert bound.chunks <= long_nested(ground, rounds).chunks < (1 + above) * bound.chunks
