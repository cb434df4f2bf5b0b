"""Bounds of networks that nodes see differently, against the linear program, and files of such bounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.least import known_prices, least
from flitloom.collectives.making import make_rounds
from flitloom.collectives.nested import offsets
from flitloom.collectives.nested_unlike import mixed
from flitloom.collectives.prices import least_chunks, least_less_failures, prices_less_failures
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import Priced, RoundsPlan
from flitloom.collectives.unlike import MOST_NODES, least_chunks_unlike, prices_unlike, routes
from flitloom.ground.linear import solve
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
QUADS = [(a + shift, b + shift) for shift in (0, 4) for a in range(4) for b in range(a)]
NETWORKS: list[AnyNetwork] = [
    fl.Mesh(2, 3),
    fl.Torus(3, 3, failed_nodes=[4]),
    fl.Torus(5, failed_links=[(0, 1)]),
    fl.Graph(nodes=8, cables=[*QUADS, (0, 4)]),
    fl.Graph(nodes=5, cables=[(0, 1), (0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4)]),
]


def _least_by_shares(ground: Ground, rounds: int) -> float:
    """The linear program in which nodes hold and send shares of every chunk."""
    table = routes(ground)
    count, links = table.count, len(table.widths)
    load = np.zeros((count**2, links))
    np.add.at(load, (table.pairs, table.links), table.crossing / table.widths[table.links])
    sent = {
        one: number
        for number, one in enumerate(
            (turn, owner, start, end)
            for turn in range(rounds)
            for owner in range(count)
            for start in range(count)
            for end in range(count)
            if end not in (start, owner) and (turn or start == owner)
        )
    }
    rows: list[dict[int, float]] = []
    most: list[float] = []
    for (turn, owner, start, _), number in sent.items():
        # What is sent has come before.
        came = [
            sent[before, owner, other, start]
            for before in range(turn)
            for other in range(count)
            if (before, owner, other, start) in sent
        ]
        rows.append({number: 1.0} | dict.fromkeys(came, -1.0))
        most.append(1.0 if start == owner else 0.0)
    for owner in range(count):
        for end in range(count):
            if end != owner:
                arriving = [number for one, number in sent.items() if (one[1], one[3]) == (owner, end)]
                rows.append(dict.fromkeys(arriving, -1.0))
                most.append(-1.0)
    for turn in range(rounds):
        for link in range(links):
            used = {
                number: load[start * count + end, link]
                for (when, _, start, end), number in sent.items()
                if when == turn and load[start * count + end, link]
            }
            rows.append(used | {len(sent) + turn: -1.0})
            most.append(0.0)
    places = [(row, one, value) for row, used in enumerate(rows) for one, value in used.items()]
    entries = tuple(np.array(column) for column in zip(*places, strict=True))
    cost = np.concatenate([np.zeros(len(sent)), np.ones(rounds)])
    found = solve(cost, entries, np.full(len(rows), -np.inf), np.array(most))
    assert found is not None
    return found.value


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_prices_prove_nearly_what_the_linear_program_says(network: AnyNetwork, rounds: int) -> None:
    ground = Ground(network)
    found = least_chunks_unlike(ground)
    value = _least_by_shares(ground, rounds)
    entering = np.zeros(ground.nodes)
    for (_, end), several in ground.links.items():
        entering[end] += several
    enters = (len(ground.working) - 1) / entering[list(ground.working)].min()
    if len(found) < rounds:
        assert len(found) == ground.routes[0].max() or found[-1].chunks <= enters * 1.002
    else:
        assert value * 0.98 <= max(found[rounds - 1].chunks, enters)
        assert found[rounds - 1].chunks <= value * (1 + 1e-6)
    # Any prices prove a bound.
    random = np.random.default_rng(rounds)
    table = routes(ground)
    for _ in range(20):
        lengths = random.random((rounds, len(table.widths)))
        lengths /= (lengths @ table.widths)[:, None]
        prices = random.random(table.count**2) / table.widths.sum()
        assert prices_unlike(ground, prices.tolist(), lengths.tolist()).chunks <= value * (1 + 1e-6)


def test_on_networks_that_all_nodes_see_alike_both_forms_say_the_same() -> None:
    ground = Ground(fl.Torus(3, 4))
    group, table = offsets(ground), routes(ground)
    ways = {end: number for number, end in enumerate(group.ways)}
    along = [ways[int(group.behind[end, start])] for start, end in sorted(ground.links)]
    for one in least_chunks(ground):
        prices = np.array(one.nodes)[group.behind.T] / ground.nodes
        lengths = np.array(one.links)[:, along] / ground.nodes
        same = prices_unlike(ground, prices.ravel().tolist(), lengths.tolist())
        assert same.chunks == pytest.approx(one.chunks)
        assert same.sums == pytest.approx(one.sums)
    assert table.count == ground.nodes


def test_a_cut_is_seen() -> None:
    """Four chunks over the one cable between two quads, in any number of rounds."""
    found = least_chunks_unlike(Ground(NETWORKS[3]))
    assert found[0].chunks == pytest.approx(16)
    assert found[1].chunks == pytest.approx(4.75, rel=0.02)


@pytest.mark.parametrize(
    ("operation", "vectors"), [("all-gather", 0.5), ("all-reduce", 1.0), ("all-to-all", 2.0)]
)
def test_few_links_between_many_nodes_are_seen_and_proven(
    operation: str, vectors: float, tmp_path: Path
) -> None:
    """Four chunks of eight, or the whole vector, go over the one cable between two quads, either way."""
    network = NETWORKS[3]
    advice = weigh(network, [2.0**30], 1e-6, 5e10, operation=operation)
    assert sorted(advice.cut) in ([0, 1, 2, 3], [4, 5, 6, 7])
    assert advice.proof.every[-1] == pytest.approx(vectors)
    assert advice.seconds[0][advice.best(0)] >= advice.bounds[0]
    name = "shifts" if operation == "all-to-all" else "spheres"
    plan, file = make_rounds(network, operation, name, 2.0**30, 1e-6, 5e10), tmp_path / "plan.json"
    assert plan.bound is not None
    assert plan.bound > vectors * 2**30 / 5e10
    assert check_rounds(plan)["problems"] == []
    assert _rechecked(plan, file) == 0
    for change in (
        {"cut": []},
        {"cut": [0, 1]},
        {"cut": [*range(8)]},
        {"cut": [0, 99]},
        {"bound": plan.bound * 1.0001},
    ):
        wrong = plan.model_copy(update=change)
        assert not check_rounds(wrong)["passed"]
        assert _rechecked(wrong, file) == 1
    # Where a node with few links bounds as much there is none.
    assert weigh(fl.Mesh(3, 3), [1.0], 1e-6, 5e10).cut == ()


def test_larger_networks_have_the_bytes_that_enter_nodes() -> None:
    ground = Ground(fl.Mesh(2, MOST_NODES))
    assert known_prices(ground, "all-gather") == ()


@pytest.mark.parametrize(
    "network",
    [
        NETWORKS[1],
        NETWORKS[2],
        fl.Torus(2, 4, failed_nodes=[3]),
        fl.Torus(4, 2, 2, twist=True, failed_nodes=[1]),
    ],
    ids=str,
)
def test_prices_without_failures_bound_what_is_left(network: AnyNetwork) -> None:
    ground = Ground(network)
    whole, random = ground.without_failures(), np.random.default_rng(1)
    widths = np.array([whole.links[0, way] for way in offsets(whole).ways])
    for rounds in (1, 2):
        value = _least_by_shares(ground, rounds)
        for _ in range(10):
            lengths = random.random((rounds, len(widths)))
            lengths /= (lengths @ widths)[:, None]
            prices = random.random(whole.nodes) / 3
            found = prices_less_failures(ground, prices.tolist(), lengths.tolist())
            assert found.chunks <= value * (1 + 1e-6)


@pytest.mark.parametrize(
    "network", [fl.Torus(4, 4, failed_nodes=[5]), fl.Torus(9, failed_links=[(0, 1)])], ids=str
)
def test_potentials_without_failures_bound_what_is_left(network: AnyNetwork) -> None:
    ground = Ground(network)
    whole, random = ground.without_failures(), np.random.default_rng(2)
    far, ways = int(whole.routes[0].max()), offsets(whole).ways
    for known in least_chunks_unlike(ground)[2:3]:
        taken = sum(mixed(ground, known).loads)
        even = [[1 / len(ways)] * len(ways)] * 3
        for _ in range(10):
            # They fall with every round and every hop.
            drawn = random.random((3, far, far + 1)) * random.random() * 3
            drawn = np.minimum.accumulate(np.minimum.accumulate(drawn, axis=0), axis=2)
            for away in range(1, far + 1):
                drawn[:, away - 1, away:] = 0
            assert prices_less_failures(ground, [0.0] * whole.nodes, even, drawn.tolist()).chunks <= taken
    for one in least_less_failures(ground):
        same = prices_less_failures(ground, one.nodes, one.links, one.potentials)
        assert same == one


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather"])
def test_bounds_by_networks_without_failures_are_proven_by_both_programs(
    operation: str, tmp_path: Path
) -> None:
    ground, file = Ground(fl.Torus(4, 4, failed_nodes=[5])), tmp_path / "plan.json"
    known = least_less_failures(ground)
    assert len(known) > 1
    bound = least(ground, operation, 15, known).seconds(ground, 15, 2.0**12, 1e-6, 5e10)
    prices = [
        Priced(
            nodes=[*one.nodes], links=[[*row] for row in one.links], potentials=one.potentials, healthy=True
        )
        for one in known
    ]
    made = make_rounds(ground.topology, operation, "spheres", 2.0**12, 1e-6, 5e10)
    plan = made.model_copy(update={"prices": prices, "bound": bound})
    assert check_rounds(plan)["problems"] == []
    assert _rechecked(plan, file) == 0
    second = plan.prices[1]
    changes: list[dict[str, object]] = [
        {"nodes": second.nodes[:-1]},
        {"healthy": False},
        {"links": [[2 * one for one in row] for row in second.links]},
        {"links": [row[:-1] for row in second.links]},
    ]
    wrong = [
        plan.model_copy(update={"prices": [prices[0], second.model_copy(update=change), *prices[2:]]})
        for change in changes
    ]
    mesh = make_rounds(fl.Mesh(3, 3), operation, "spheres", 2.0**12, 1e-6, 5e10)
    wrong += [
        plan.model_copy(update={"bound": bound * 1.0001}),
        mesh.model_copy(update={"prices": [mesh.prices[0].model_copy(update={"healthy": True})]}),
    ]
    for one in wrong:
        assert not check_rounds(one)["passed"]
        assert _rechecked(one, file) == 1


def test_networks_of_more_nodes_have_bounds_by_those_without_failures() -> None:
    network = fl.Torus(12, 12, failed_nodes=[5])
    advice = weigh(network, [2.0**16], 1e-6, 5e10)
    assert all(one.healthy for one in advice.prices)
    # 142 chunks enter some nodes over three links. In two rounds more are needed.
    assert advice.proof.halves[1] > 1.1 * advice.proof.halves[-1]
    assert advice.halved[0] < advice.seconds[0][advice.best(0)]


def _rechecked(plan: RoundsPlan, file: Path) -> int:
    plan.save(file)
    return subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True).returncode


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather"])
@pytest.mark.parametrize("network", [NETWORKS[1], NETWORKS[3]], ids=str)
def test_bounds_of_files_are_proven_by_both_programs(
    network: AnyNetwork, operation: str, tmp_path: Path
) -> None:
    plan = make_rounds(network, operation, "spheres", 2.0**12, 1e-6, 5e10)
    file = tmp_path / "plan.json"
    assert plan.bound is not None
    assert plan.prices
    assert check_rounds(plan)["problems"] == []
    assert _rechecked(plan, file) == 0
    first = plan.prices[0]
    for wrong in (
        plan.model_copy(update={"bound": plan.bound * 1.001}),
        plan.model_copy(update={"prices": plan.prices[1:]}),
        *(
            plan.model_copy(update={"prices": [first.model_copy(update=change), *plan.prices[1:]]})
            for change in (
                {"nodes": first.nodes[:-1]},
                {"links": [[2 * one for one in row] for row in first.links]},
                {"links": [row[:-1] for row in first.links]},
            )
        ),
    ):
        assert not check_rounds(wrong)["passed"]
        assert _rechecked(wrong, file) == 1
    second = plan.prices[1]
    ragged = second.model_copy(update={"links": [second.links[0], second.links[1][:-1]]})
    wrong = plan.model_copy(update={"prices": [first, ragged, *plan.prices[2:]]})
    assert not check_rounds(wrong)["passed"]
    assert _rechecked(wrong, file) == 1
