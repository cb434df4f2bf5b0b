"""Nested sets where nodes do not see the same network: their messages, their bounds, and advice on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.making import make_rounds
from flitloom.collectives.nested_unlike import mixed, mixed_messages
from flitloom.collectives.rounds import busiest_loads
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.unlike import least_chunks_unlike
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
QUADS = [(a + shift, b + shift) for shift in (0, 4) for a in range(4) for b in range(a)]
NETWORKS: list[AnyNetwork] = [
    fl.Torus(3, 3, failed_nodes=[4]),
    fl.Torus(4, 4, failed_nodes=[5]),
    fl.Torus(3, 4, failed_links=[(0, 1)]),
    fl.Mesh(4, 4),
    fl.Graph(nodes=8, cables=[*QUADS, (0, 4)]),
]


def _enters(ground: Ground) -> float:
    """Chunks over the links into the node with the fewest."""
    entering = np.zeros(ground.nodes)
    for (_, end), several in ground.links.items():
        entering[end] += several
    return float((len(ground.working) - 1) / entering[list(ground.working)].min())


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_chunks_come_from_who_has_them_and_links_have_little_more_than_they_must(network: AnyNetwork) -> None:
    ground = Ground(network)
    for prices in least_chunks_unlike(ground):
        found, rounds = mixed(ground, prices), len(prices.links)
        shares = np.zeros(len(ground.working), dtype=int)
        for path, share in found.paths:
            shares[path.owner] += share
            others = np.delete(np.arange(len(ground.working)), path.owner)
            assert path.rounds[path.owner] == 0
            assert (path.rounds[path.senders[others]] < path.rounds[others]).all()
            assert path.rounds.max() <= rounds
        assert (shares == found.pieces).all()
        made = mixed_messages(ground, found)
        loads = busiest_loads(ground, made, 2 * rounds)
        assert [load / (sum(made.lengths) or made.pieces) for load in loads] == pytest.approx(
            [*found.loads[::-1], *found.loads]
        )
        # Between the two quads there is one cable, over which four chunks go either way.
        least = max(prices.chunks, _enters(ground), 4.0 if network is NETWORKS[4] else 0.0)
        assert prices.chunks * (1 - 1e-9) <= sum(found.loads) <= least * (1.05 if rounds > 1 else 1 + 1e-6)


def test_eight_gpus_need_no_more_than_published_plans() -> None:
    """The cube mesh of DGX-1: 2 rounds with 3/2 chunks, 3 with 7/6 (Cai et al. 2021, SCCL)."""
    near = ["0-1", "0-2", "0-3*2", "1-2*2", "1-3", "2-3*2"]
    cables = [one.split("*")[0] for one in near for _ in range(2 if "*" in one else 1)]
    cables += ["-".join(str(int(end) + 4) for end in one.split("-")) for one in cables]
    ground = Ground(fl.Graph([*cables, *["0-4", "1-5"] * 2, "2-6", "3-7"], nodes=8))
    loads = [sum(mixed(ground, prices).loads) for prices in least_chunks_unlike(ground)]
    assert len(loads) == 3
    assert loads[1] < 1.27
    assert loads[2] == pytest.approx(7 / 6, rel=2e-3)


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter"])
@pytest.mark.parametrize("network", [NETWORKS[0], NETWORKS[4]], ids=str)
def test_their_plans_are_right(network: AnyNetwork, operation: str, tmp_path: Path) -> None:
    for rounds in (1, 2):
        plan = make_rounds(network, operation, f"nested sets ({rounds})", 1e5, 1e-6, 5e10, message=1e-8)
        assert check_rounds(plan)["problems"] == []
        plan.save(tmp_path / "plan.json")
        words = [sys.executable, "-I", str(PROGRAM), str(tmp_path / "plan.json")]
        assert subprocess.run(words, capture_output=True).returncode == 0


def test_advice_has_them_if_messages_have_a_cost() -> None:
    network, sizes = fl.Torus(4, 4, failed_nodes=[5]), [2.0**10, 2.0**18]
    without = weigh(network, sizes, 1e-6, 5e10)
    assert not [one for one in (*without.algorithms, *without.crowded) if "nested" in one.name]
    for message in (0.0, 5e-8):
        advice = weigh(network, sizes, 1e-6, 5e10, message=message)
        best = [advice.algorithms[advice.best(row)] for row in range(2)]
        assert [one.name for one in best] == ["nested sets (1)", "nested sets (2)"]
        for row in range(2):
            assert advice.seconds[row][advice.best(row)] < 0.8 * min(without.seconds[row])
        # All to all at once: 14 messages over 4 links.
        assert best[0].crowd == (3, 3)
        assert advice.seconds[0][advice.best(0)] >= 2e-6 + 6 * message
