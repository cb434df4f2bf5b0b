"""Nested sets on networks with failures whose symmetries lead the parts of few nodes to those of all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.least import known_prices, least
from flitloom.collectives.listing import own_distances
from flitloom.collectives.making import from_messages
from flitloom.collectives.nested_orbits import has_few_orbits, orbits, turned, turned_messages
from flitloom.collectives.prices import least_chunks, least_less_failures, prices_less_failures
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_hops import hop_by_hop
from flitloom.collectives.rounds_plan import RoundsPlan, image_rows
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
NETWORKS: list[AnyNetwork] = [
    fl.Torus(5, 5, failed_nodes=[7]),
    fl.Torus(3, 4, failed_links=[(0, 1)]),
    fl.Torus(3, 3, 3, failed_nodes=[13]),
    fl.Torus(2, 2, 4, twist=True, failed_nodes=[3]),
    fl.Torus(4, 4, failed_nodes=[0, 5]),
]


def _plan(network: AnyNetwork, operation: str, rounds: int) -> RoundsPlan:
    advice = weigh(network, [2.0**16], 1e-6, 5e10, operation=operation, message=1e-8)
    found = turned(advice.plan.ground, rounds)
    assert found is not None
    half = found.loads
    both = {"all-reduce": (*half[::-1], *half), "all-gather": half, "reduce-scatter": half[::-1]}[operation]
    loads = tuple(load / len(advice.plan.members) for load in both)
    one = Algorithm(f"nested sets ({rounds})", loads, "this project")
    plan = from_messages(advice, one, turned_messages(advice.plan.ground, found), 2.0**16, 1e-6, 5e10)
    assert [load / plan.pieces for load in plan.loads] == pytest.approx(both)
    return plan


def _rechecked(plan: RoundsPlan, file: Path) -> int:
    plan.save(file)
    return subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True).returncode


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter"])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_plans_by_symmetries_are_right_and_so_are_all_their_messages(
    network: AnyNetwork, operation: str, tmp_path: Path
) -> None:
    plan = _plan(network, operation, 2)
    assert len(plan.symmetries) > 1
    listed: dict[bool, list[list[int]]] = {True: [], False: []}
    for adds, row in image_rows(plan):
        listed[adds].append([*row])
    every = plan.model_copy(update={"symmetries": [], "sums": listed[True], "moves": listed[False]})
    for one in (plan, every):
        assert check_rounds(one)["problems"] == []
        assert _rechecked(one, tmp_path / "plan.json") == 0
    if operation == "all-gather":
        assert hop_by_hop(plan).busiest == hop_by_hop(every).busiest


def test_wrong_plans_by_symmetries_are_refused(tmp_path: Path) -> None:
    plan = _plan(NETWORKS[0], "all-gather", 2)
    first = plan.moves[0]
    swapped = [[1, 0, *plan.symmetries[0][2:]], *plan.symmetries[1:]]
    for change in (
        {"symmetries": plan.symmetries[:-1]},
        {"symmetries": swapped},
        {"symmetries": [row[:-1] for row in plan.symmetries]},
        {"symmetries": [[0] * 25] * 8},
        {"moves": plan.moves[1:]},
        {"moves": [row for row in plan.moves if row[3] // plan.pieces]},
        {"moves": [[*first[:3], first[3] + plan.pieces - 1, 1], *plan.moves[1:]]},
        {"moves": [[*first[:3], len(plan.members) * plan.pieces, 1], *plan.moves]},
        {"lengths": [1] * plan.pieces},
        {"loads": [0.9 * load for load in plan.loads]},
    ):
        wrong = plan.model_copy(update=change)
        assert not check_rounds(wrong)["passed"], change
        # Loads are judged by the time.
        if "loads" not in change:
            assert _rechecked(wrong, tmp_path / "plan.json") == 1, change


@pytest.mark.parametrize("network", [NETWORKS[0], NETWORKS[2]], ids=str)
def test_links_have_little_more_than_they_must(network: AnyNetwork) -> None:
    ground = Ground(network)
    entering = min(len(ground.incoming[node]) for node in ground.working)
    for rounds, one in enumerate(least_chunks(ground.without_failures())[:2], 1):
        found = turned(ground, rounds)
        assert found is not None
        bound = prices_less_failures(ground, one.nodes, one.links, one.potentials).chunks
        bound = max(bound, (len(ground.working) - 1) / entering)
        assert bound <= sum(found.loads) <= 1.2 * bound
        for path, share in found.paths:
            assert share > 0
            others = [node for node in range(len(path.rounds)) if path.rounds[node]]
            assert (path.rounds[path.senders[others]] < path.rounds[others]).all()


def test_networks_that_keep_no_symmetry_are_left_out() -> None:
    """Three nodes that lie unevenly: every node is an orbit of its own."""
    found = orbits(Ground(fl.Torus(5, 5, failed_nodes=[0, 1, 7])))
    assert found is not None
    assert len(found.images) == 1
    assert found.counts.tolist() == [1] * 22
    assert orbits(Ground(fl.Torus(16, 16, failed_nodes=[0, 1, 37]))) is None


def test_advice_has_them_where_bounds_are_those_without_failures() -> None:
    """As on more than 128 nodes."""
    ground = Ground(fl.Torus(5, 5, failed_nodes=[7]))
    found = own_distances(ground, least_less_failures(ground))
    rounds = [one.rounds for one in found if one.name.startswith("nested sets")]
    assert rounds[:2] == [2, 4]
    # All to all at once: 23 messages over 4 links.
    assert found[1].crowd == (5, 5)


@pytest.mark.parametrize(("rounds", "above"), [(1, 1e-6), (2, 0.05), (3, 0.02)])
def test_less_a_node_plans_are_near_the_bound(rounds: int, above: float) -> None:
    """8x8 less a node: the prices are proven by both checkers, so the gap is what a plan may save at most."""
    ground = Ground(fl.Torus(8, 8, failed_nodes=[5]))
    assert has_few_orbits(ground)
    proof = least(ground, "all-gather", 63, known_prices(ground, "all-gather"))
    found = turned(ground, rounds)
    assert found is not None
    bound = 63 * proof.of(rounds)
    assert bound <= sum(found.loads) * (1 + 1e-9)
    assert sum(found.loads) <= bound * (1 + above)
