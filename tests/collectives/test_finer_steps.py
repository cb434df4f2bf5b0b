"""Planned steps with more chunks as rows of advice, against plans made one by one and known figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.listing import CHUNKS
from flitloom.commands import run
from flitloom.spec.any_network import AnyNetwork

#: Links between the 8 GPUs of a cube mesh: two quads with pairs of links along some edges.
ONCE = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
TWICE = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
CUBE_MESH = fl.Graph(nodes=8, cables=[*ONCE, *TWICE, *TWICE])


def test_a_cube_mesh_takes_its_bound() -> None:
    advice = weigh(CUBE_MESH, [2.0**30], 5e-6, 25e9)
    best = advice.algorithms[advice.best(0)]
    assert best.name == "planned steps (12 chunks)"
    assert best.factor == pytest.approx(7 / 24)
    assert advice.seconds[0][advice.best(0)] == pytest.approx(12_667e-6, rel=1e-4)
    # 14 chunks over 48 links, 28 rounds.
    assert advice.bounds[0] == pytest.approx(12_537e-6, rel=1e-3)


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
@pytest.mark.parametrize(
    "network",
    [CUBE_MESH, fl.Torus(4, 4, failed_nodes=[5]), fl.Torus(3, 4, failed_links=[(0, 1)]), fl.Mesh(3, 3)],
    ids=str,
)
def test_no_number_of_chunks_of_our_own_is_faster(network: AnyNetwork, operation: str) -> None:
    advice = weigh(network, [2.0**30], 1e-6, 5e10, operation=operation)
    best = advice.seconds[0][advice.best(0)]
    for chunks in CHUNKS:
        plan = fl.collectives.plan(network, operation, chunks=chunks)
        factor = plan.steps / chunks / len(plan.members)
        assert best <= (plan.steps * 1e-6 + factor * 2**30 / 5e10) * 1.002, chunks


def test_a_row_with_chunks_is_a_plan_in_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    words = [
        "collective",
        "all-reduce",
        "--torus",
        "4x4",
        "--fail",
        "node:5",
        "--size",
        "1GiB",
        "-o",
        str(file),
    ]
    assert run([*words, "--algorithm", "best", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    plan = fl.collectives.read(file)
    assert facts["algorithm"] == f"planned steps ({plan.chunks} chunks)"
    assert (facts["rounds"], facts["rows"]) == (plan.steps, plan.count_rows())
    assert plan.chunks > 1
    assert run(["check", str(file)]) == 0
    assert run(["recheck", str(file)]) == 0
    assert run(["simulate", str(file)]) == 0
    capsys.readouterr()
    assert run([*words, "--algorithm", "planned steps"]) == 0
    assert fl.collectives.read(file).chunks == 1
