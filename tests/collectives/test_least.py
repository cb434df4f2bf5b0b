"""Bounds on the bytes and the time of schedules in rounds: linear programs, plans and forged files."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.least import further_messages, known_prices, least
from flitloom.collectives.making import make_rounds
from flitloom.collectives.nested import nested, offsets
from flitloom.collectives.prices import least_chunks, proven, proven_prices
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import RoundsPlan, read_rounds
from flitloom.ground.linear import solve
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
NETWORKS: list[AnyNetwork] = [
    fl.Torus(7),
    fl.Torus(4, 4),
    fl.Torus(3, 5),
    fl.Torus(2, 8),
    fl.Torus(2, 2, 4, twist=True),
    network_of({"network": "full4 x ring3*2"}),
]
CUBE = fl.Graph(
    nodes=8, cables=[*((0, 1),) * 2, (1, 3), (3, 2), (2, 0), (4, 5), (5, 7), (7, 6), (6, 4), (0, 4), (3, 7)]
)


def _least_by_shares(ground: Ground, rounds: int) -> float:
    """The linear program in which nodes hold and send shares of chunks, all alike, shifted."""
    group, count = offsets(ground), ground.nodes
    rows: list[tuple[dict[int, float], float]] = []
    number = 0

    def variable() -> int:
        nonlocal number
        number += 1
        return number - 1

    busiest = [variable() for _ in range(rounds)]
    held: list[dict[int, int]] = [{}]
    for turn in range(rounds):
        now = {node: variable() for node in range(count)}
        kept: list[dict[int, float]] = [{now[node]: 1.0} for node in range(count)]
        loads: list[dict[int, float]] = [{busiest[turn]: -1.0} for _ in group.ways]
        for node in range(count):
            if turn:
                kept[node][held[-1][node]] = -1.0
            for vector in range(1, count):
                sender = int(group.behind[node, vector])
                if not turn and sender:
                    continue
                sent = variable()
                kept[node][sent] = -1.0
                rows.append(({sent: 1.0, held[-1][sender]: -1.0}, 0.0) if turn else ({sent: 1.0}, 1.0))
                for way, load in enumerate(group.along[vector].tolist()):
                    loads[way][sent] = load
        rows += [(row, 0.0 if turn or node else 1.0) for node, row in enumerate(kept)]
        rows += [(row, 0.0) for row in loads]
        held.append(now)
    rows += [({held[-1][node]: -1.0}, -1.0) for node in range(count)]
    places = [(row, one, value) for row, (table, _) in enumerate(rows) for one, value in table.items()]
    cost = np.zeros(number)
    cost[busiest] = 1.0
    entries = tuple(np.array(column) for column in zip(*places, strict=True))
    found = solve(cost, entries, np.full(len(rows), -np.inf), np.array([most for _, most in rows]))
    assert found is not None
    return found.value


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_prices_prove_nearly_what_the_linear_program_says(network: AnyNetwork, rounds: int) -> None:
    ground = Ground(network)
    found = least_chunks(ground)
    value = _least_by_shares(ground, rounds)
    if len(found) < rounds:
        # As many rounds as the farthest node has hops, or no more bytes than enter a node.
        enters = (ground.nodes - 1) / offsets(ground).links.sum()
        assert len(found) == ground.routes[0].max() or found[-1].chunks == pytest.approx(enters, rel=2e-3)
        assert value >= enters * (1 - 1e-7)
        return
    one = found[rounds - 1]
    assert value * 0.98 <= proven(ground, one.nodes, one.links) <= value * (1 + 1e-7)
    assert nested(ground, rounds, moves=2000).chunks >= value * (1 - 1e-7)
    # Any prices prove a bound.
    random = np.random.default_rng(rounds)
    widths = np.array([ground.links[0, way] for way in offsets(ground).ways])
    for _ in range(20):
        lengths = random.random((rounds, len(widths)))
        lengths /= (lengths @ widths)[:, None]
        assert proven(ground, random.random(ground.nodes) / 3, lengths) <= value * (1 + 1e-7)


def test_known_values_of_the_linear_program_are_reached() -> None:
    """Those that another program found with all symmetries, in vectors of an all-reduce."""
    for sizes, known in (((8, 8), (2, 0.777, 0.548, 0.503)), ((4, 4, 4), (1.0, 0.424, 0.341, 0.330))):
        ground = Ground(fl.Torus(*sizes))
        found = [2 * proven(ground, one.nodes, one.links) / 64 for one in least_chunks(ground)]
        assert found[:4] == pytest.approx(known, rel=0.006)


@pytest.mark.parametrize("sizes", [(8,), (9,)])
def test_potentials_prove_nearly_what_the_best_of_all_sets_takes(sizes: tuple[int, ...]) -> None:
    """Hops of all chunks in three rounds, over every choice of the rounds in which nodes get the chunk."""
    ground = Ground(fl.Torus(*sizes))
    hops = ground.routes[0]
    best = min(
        sum(
            min(hops[sender, node] for sender, before in enumerate((0, *turns)) if before < turn)
            for node, turn in enumerate(turns, 1)
        )
        for turns in product((1, 2, 3), repeat=ground.nodes - 1)
    )
    proof = least_chunks(ground)[2]
    assert proof.potentials
    assert 0.95 * best <= 2 * proof.chunks <= best * (1 + 1e-9)


def test_potentials_follow_linear_programs_of_all_cuts() -> None:
    """Three rounds on 8x8 take 75.94 hops if flows to all nodes share the capacity that is paid for."""
    ground = Ground(fl.Torus(8, 8))
    proof = least_chunks(ground)[2]
    assert 75 < 4 * proof.chunks < 75.94
    assert proven(ground, proof.nodes, proof.links) < 4.01 * 17.5


@pytest.mark.parametrize("seed", range(5))
def test_any_potentials_prove_a_bound(seed: int) -> None:
    ground, random = Ground(fl.Torus(4, 4)), np.random.default_rng(seed)
    even = [[0.25] * 4] * 3
    for _ in range(10):
        # They fall with every round and every hop.
        drawn = random.random((3, 4, 5)) * random.random() * 3
        drawn = np.minimum.accumulate(np.minimum.accumulate(drawn, axis=0), axis=2)
        for away in range(1, 5):
            drawn[:, away - 1, away:] = 0
        proof = proven_prices(ground, [0.0] * 16, even, drawn.tolist())
        assert proof.chunks * 4 <= 16 * (1 + 1e-9)


@pytest.mark.parametrize("message", [None, 0.0, 5e-8, 2e-7])
@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter"])
@pytest.mark.parametrize(
    "network",
    [*NETWORKS, fl.Product("full8"), fl.Torus(4, 4, failed_nodes=[5]), fl.Mesh(3, 3), CUBE],
    ids=str,
)
def test_no_plan_is_faster_than_its_bound(network: AnyNetwork, operation: str, message: float | None) -> None:
    sizes = [1.0, 1e3, 1e5, 1e6, 1e9]
    advice = weigh(network, sizes, 1e-6, 5e10, operation=operation, message=message)
    for row, times in enumerate(advice.seconds):
        for one, seconds in zip(advice.algorithms, times, strict=True):
            assert seconds >= advice.bounds[row] * (1 - 1e-9), one.name
            assert one.factor >= advice.least(one) * (1 - 1e-9), one.name
            if one.halves and advice.halved:
                assert seconds >= advice.halved[row] * (1 - 1e-9), one.name


def test_all_reduces_on_a_full_mesh_are_optimal_at_every_size() -> None:
    sizes = [2.0**power for power in range(31)]
    advice = weigh(fl.Product("full8"), sizes, 1e-6, 5e10)
    for row in range(len(sizes)):
        assert advice.seconds[row][advice.best(row)] == pytest.approx(advice.bounds[row])


def test_fewer_rounds_need_more_messages() -> None:
    ground = Ground(fl.Torus(8, 8))
    assert [further_messages(ground, 64, rounds) for rounds in (4, 3, 2, 1)] == [0, 0, 2, 15]
    proof = least(ground, "all-reduce", 64, known_prices(ground, "all-reduce"))
    assert proof.of(1) == pytest.approx(64)
    assert proof.of(2, halved=True) == pytest.approx(2)
    # One round, 15 messages more over a link; two; three.
    for message, start in ((0.0, 1e-6), (5e-8, 1.75e-6), (1e-7, 2.2e-6), (1e-6, 3e-6)):
        assert proof.seconds(ground, 64, 1e-6, 1e-6, 5e10, message) == pytest.approx(start)


def _rechecked(plan: RoundsPlan, file: Path) -> int:
    plan.save(file)
    assert read_rounds(file) == plan
    return subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True).returncode


def _changed(plan: RoundsPlan, **changes: Any) -> RoundsPlan:
    prices = [plan.prices[0], plan.prices[1].model_copy(update=changes), *plan.prices[2:]]
    return plan.model_copy(update={"prices": prices})


@pytest.mark.parametrize("name", ["spheres", "nested sets (2)"])
def test_bounds_of_files_are_proven_by_both_programs(name: str, tmp_path: Path) -> None:
    plan = make_rounds(fl.Torus(3, 5), "all-reduce", name, 2.0**17, 1e-6, 5e10, message=1e-8)
    file = tmp_path / "plan.json"
    assert plan.bound is not None
    assert len(plan.prices) > 2
    assert check_rounds(plan)["problems"] == []
    assert _rechecked(plan, file) == 0
    smaller = plan.model_copy(update={"bound": plan.bound / 2})
    assert check_rounds(smaller)["passed"]
    assert _rechecked(smaller, file) == 0
    second = plan.prices[1]
    for wrong in (
        plan.model_copy(update={"bound": plan.bound * 1.001}),
        plan.model_copy(update={"bound": 1.0, "prices": []}),
        plan.model_copy(update={"prices": plan.prices[1:]}),
        _changed(plan, nodes=second.nodes[:-1]),
        _changed(plan, links=[[2 * one for one in row] for row in second.links]),
        _changed(plan, links=[row[:-1] for row in second.links]),
        # A chunk that is worth too much everywhere proves nothing.
        _changed(plan, nodes=[10.0] * 15).model_copy(update={"bound": plan.bound * 1.001}),
    ):
        assert not check_rounds(wrong)["passed"]
        assert _rechecked(wrong, file) == 1
    # Infinite prices, and such as are not numbers, would make any bound unknown.
    for price in (float("inf"), float("nan"), -1.0):
        document = json.loads(plan.model_dump_json())
        document["prices"][1]["nodes"][3] = price
        file.write_text(json.dumps(document))
        assert subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)]).returncode == 1
        with pytest.raises(fl.SpecError, match="prices"):
            read_rounds(file)
    failed = make_rounds(fl.Torus(4, 4, failed_nodes=[5]), "all-reduce", "spheres", 2.0**17, 1e-6, 5e10)
    assert failed.bound is not None
    assert check_rounds(failed)["passed"]
    assert _rechecked(failed, file) == 0
    assert _rechecked(failed.model_copy(update={"bound": failed.bound * 1.001}), file) == 1
    assert _rechecked(failed.model_copy(update={"prices": plan.prices}), file) == 1


def test_potentials_of_files_are_proven_by_both_programs(tmp_path: Path) -> None:
    plan = make_rounds(fl.Torus(4, 4), "all-gather", "spheres", 2.4e6, 1e-6, 5e10, message=0.0)
    file = tmp_path / "plan.json"
    # Three rounds, and 16 hops of 15 chunks over four links.
    assert plan.bound == pytest.approx(3e-6 + 4 / 16 * 2.4e6 / 5e10)
    assert check_rounds(plan)["problems"] == []
    assert _rechecked(plan, file) == 0
    third = plan.prices[2]
    high = [[[2 * one for one in row] for row in table] for table in third.potentials]

    def changed(potentials: list[list[list[float]]], bound: float) -> RoundsPlan:
        row = third.model_copy(update={"potentials": potentials})
        return plan.model_copy(update={"prices": [*plan.prices[:2], row, *plan.prices[3:]], "bound": bound})

    # What messages raise twice as much as they cost counts half.
    assert check_rounds(changed(high, plan.bound))["passed"]
    assert _rechecked(changed(high, plan.bound), file) == 0
    for potentials, bound in (
        (high, plan.bound * 1.001),
        ([], plan.bound),
        (high[:2], plan.bound),
        ([table[:-1] for table in high], plan.bound),
        # They rise while nothing is sent.
        (high[::-1], plan.bound),
        ([[[1.0] * len(row) for row in table] for table in high], plan.bound),
    ):
        assert not check_rounds(changed(potentials, bound))["passed"]
        assert _rechecked(changed(potentials, bound), file) == 1
    unlike = make_rounds(fl.Mesh(4), "all-gather", "spheres", 2.4e6, 1e-6, 5e10)
    row = unlike.prices[1].model_copy(update={"potentials": high})
    unlike = unlike.model_copy(update={"prices": [unlike.prices[0], row, *unlike.prices[2:]]})
    assert not check_rounds(unlike)["passed"]
    assert _rechecked(unlike, file) == 1
