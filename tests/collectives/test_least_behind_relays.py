"""Bounds per number of rounds where others only pass on what members send."""

import json

import pytest

import flitloom as fl
from flitloom.collectives import unlike
from flitloom.collectives.advice import weigh
from flitloom.collectives.least import known_prices, least
from flitloom.collectives.making import from_messages
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import RoundsPlan
from flitloom.fabric.networks import direct_network
from flitloom.programs.recheck import Refused, verified_rounds
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

STAR = fl.Graph([f"{host}-8" for host in range(8)], nodes=9, hosts=[*range(8)])
#: Two switches with three hosts each, joined by one cable.
DUMBBELL = fl.Graph(["0-6", "1-6", "2-6", "3-7", "4-7", "5-7", "6-7"], nodes=8, hosts=[*range(6)])


def family(name: str) -> AnyNetwork:
    return direct_network(name)


def test_in_one_round_all_chunks_cross_the_busiest_link() -> None:
    # Three hosts on either side: 9 pairs over the cable, and every host receives 5 chunks.
    (one, *_) = known_prices(Ground(DUMBBELL), "all-gather")
    assert one.chunks == pytest.approx(9, abs=1e-5)
    proof = least(Ground(DUMBBELL), "all-reduce", 6, known_prices(Ground(DUMBBELL), "all-reduce"))
    # All vectors go straight to all in one round; else the sum and its copies enter five hosts.
    assert proof.every[0] == pytest.approx(9, abs=1e-5)
    assert proof.of(4) == pytest.approx(10 / 6)


@pytest.mark.parametrize("name", ["dragonfly(2,1,2)", "dragonfly(2,1,3)"])
def test_steps_towards_the_bound_end_at_that_of_the_linear_program(name: str, monkeypatch) -> None:
    ground = Ground(family(name))
    exact = unlike.least_chunks_unlike(ground)
    unlike.least_chunks_unlike.cache_clear()
    monkeypatch.setattr(unlike, "FEW", 0)
    climbed = unlike.least_chunks_unlike(ground)
    unlike.least_chunks_unlike.cache_clear()
    assert len(exact) >= 2
    for one, other in zip(exact, climbed, strict=False):
        assert one.chunks * 0.998 <= other.chunks <= one.chunks * (1 + 1e-6)


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter"])
@pytest.mark.parametrize(
    "network", [STAR, DUMBBELL, family("dragonfly(3,1,2)"), family("fattree(4)")], ids=str
)
def test_no_plan_is_below_its_bound_and_both_programs_count_it(network: AnyNetwork, operation: str) -> None:
    for size in (1024.0, 2.0**17, 2.0**30):
        advice = weigh(network, [size], 1e-6, 50e9, operation=operation, message=0.0)
        for one in advice.algorithms:
            assert one.factor >= advice.least(one) * (1 - 1e-6), one.name
        rows = [row for row, one in enumerate(advice.algorithms) if one.messages is not None]
        chosen = advice.algorithms[min(rows, key=advice.seconds[0].__getitem__)]
        assert chosen.messages is not None
        plan = from_messages(advice, chosen, chosen.messages(), size, 1e-6, 50e9)
        assert plan.prices
        assert plan.bound is not None
        assert plan.bound <= plan.seconds
        assert check_rounds(RoundsPlan(**plan.model_dump()))["problems"] == []
        document = json.loads(json.dumps(plan.model_dump()))
        verified_rounds(document)
        # Neither takes more than the prices prove.
        document["bound"] *= 1.001
        with pytest.raises(Refused, match="bound: its prices prove less"):
            verified_rounds(document)
        problems = check_rounds(RoundsPlan(**document))["problems"]
        assert [one.split(":")[0] for one in problems] == ["bound"]


def test_hosts_of_a_dragonfly_gather_over_groups_first() -> None:
    """A chunk goes to one host of every other group, and from there to all: few over the links between."""
    network = family("dragonfly(4,2,2)")
    advice = weigh(network, [1024.0, 2.0**30], 1e-6, 50e9, message=0.0)
    small, large = (advice.seconds[row][advice.best(row)] for row in range(2))
    assert advice.algorithms[advice.best(1)].name == "digits (2)"
    # 71 of 72 parts enter a host twice; the bound before counted nothing else.
    assert advice.bounds[1] == pytest.approx(2 * 71 / 72 * 2.0**30 / 50e9, rel=1e-3)
    assert large <= 1.06 * advice.bounds[1]
    # One round would bring every host 71 vectors.
    assert small <= 1.01 * advice.bounds[0]
