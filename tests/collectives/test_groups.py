"""Operations of several groups at once: one plan, every group over its own links, judged by both checkers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.collectives.groups import GROUPED, along_axes, plan_groups
from flitloom.commands import run

NETWORKS: list[tuple[fl.Topology | fl.Product | fl.Graph, list[list[int]]]] = [
    (fl.Torus(4, 3), along_axes(fl.Torus(4, 3), [0])),
    (fl.Torus(4, 3), along_axes(fl.Torus(4, 3), [1])),
    (fl.Torus(3, 2, 2), along_axes(fl.Torus(3, 2, 2), [0, 2])),
    (fl.Product("full4 x ring3*2"), along_axes(fl.Product("full4 x ring3*2"), [1])),
    # A group with a failed node is a line, and groups may be of different sizes and in any order.
    (fl.Torus(4, 4, failed_nodes=[5]), along_axes(fl.Torus(4, 4, failed_nodes=[5]), [0])),
    (fl.Graph(["0-1", "1-2", "2-3", "3-4", "4-5", "3-5"], nodes=6), [[5, 3, 4], [1, 0]]),
]


def _contributions(plan: fl.CollectivePlan) -> dict[tuple[int, int], set[int]]:
    """By node and owner of a part whose contributions a node has at the end."""
    summed = plan.operation in ("reduce-scatter", "all-reduce")
    has: dict[tuple[int, int], set[int]] = {}
    for group in plan.groups or []:
        for node in group:
            for owner in group if summed else [node]:
                has[node, owner] = {node}
    rows = sorted([*((row, True) for row in plan.sums), *((row, False) for row in plan.moves)])
    for step in range(plan.steps):
        now = [(row, adds, set(has[row[1], row[3]])) for row, adds in rows if row[0] == step]
        for row, adds, what in now:
            assert not (adds and has.get((row[2], row[3]), set()) & what)
            has[row[2], row[3]] = has.get((row[2], row[3]), set()) | what if adds else what
    return has


@pytest.mark.parametrize("operation", GROUPED)
@pytest.mark.parametrize(("network", "groups"), NETWORKS, ids=lambda one: str(one)[:40])
def test_every_group_gets_its_own_and_nothing_else(
    network: fl.Topology, groups: list[list[int]], operation: str, tmp_path: Path
) -> None:
    plan = plan_groups(network, operation, groups)
    file = tmp_path / "plan.json"
    plan.save(file)
    assert fl.collectives.check(plan)["problems"] == []
    assert fl.collectives.read(file) == plan
    assert run(["check", str(file)]) == run(["recheck", str(file)]) == 0
    at = {node: number for number, group in enumerate(groups) for node in group}
    links = plan.ground.links
    every = plan.sums + plan.moves
    assert every
    assert all(at[row[1]] == at[row[2]] == at[row[3]] and (row[1], row[2]) in links for row in every)
    if operation == "all-to-all":
        return
    has = _contributions(plan)
    for group in groups:
        for node in group:
            for owner in [node] if operation == "reduce-scatter" else group:
                assert has[node, owner] == ({owner} if operation == "all-gather" else {*group})


@pytest.mark.parametrize("operation", GROUPED)
def test_groups_take_as_long_as_the_slowest_alone(operation: str) -> None:
    # Rings of eight side by side, and lines of three nodes and two.
    plan = plan_groups(fl.Torus(8, 3), operation, along_axes(fl.Torus(8, 3), [0]))
    alone = fl.collectives.plan(fl.Torus(8), operation)
    assert plan.steps <= alone.steps
    assert plan.bound == alone.bound
    lines = fl.Graph(["0-1", "1-2", "3-4"], nodes=5)
    slow = fl.collectives.plan(fl.Mesh(3), operation)
    assert plan_groups(lines, operation, [[3, 4], [0, 1, 2]]).steps == slow.steps


WRONG: dict[str, Any] = {
    "a sum is not sent": lambda told: told["sums"].pop(),
    "a part leaves its group": lambda told: told["moves"][0].__setitem__(2, 11),
    "a proof is missing": lambda told: told["proof"]["proofs"].pop(),
    "the bound is too good": lambda told: told.update(bound=told["bound"] + 1),
    "groups share a node": lambda told: told["groups"][0].append(told["groups"][1][0]),
    "a node of a group has failed": lambda told: told["topology"].update(failed_nodes=[0]),
    "groups are joined": lambda told: told.update(groups=[[*range(12)]]),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_found_by_both_programs(what: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan_groups(fl.Torus(4, 3), "all-reduce", along_axes(fl.Torus(4, 3), [0])).save(file)
    told = json.loads(file.read_text())
    WRONG[what](told)
    file.write_text(json.dumps(told))
    assert run(["check", str(file)]) == 1
    assert run(["recheck", str(file)]) in (1, 2)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("axis:2", "axis 2; 4x3 torus has axes 0 to 1"),
        ("0-3\n4,5,9\n2,6\n", "node 2 is in groups 0 and 2"),
        ("0-3\n4\n", "group 1 has 1 node"),
        ("0-3\n4,6\n", "the links of group 1 do not join its nodes"),
        ("", "there is none"),
    ],
)
def test_groups_that_cannot_be_are_refused(
    groups: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "groups.txt", tmp_path / "plan.json"
    file.write_text(groups)
    given = groups if groups.startswith("axis") else str(file)
    assert run(["collective", "all-reduce", "--torus", "4x3", "--groups", given, "-o", str(out)]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_groups_run_and_are_exported_with_the_nodes_as_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    assert run(["collective", "all-reduce", "--torus", "4x4", "--groups", "axis:0", "-o", str(file)]) == 0
    for words in (
        ["simulate", str(file)],
        ["view", str(file), "-o", str(tmp_path / "page.html")],
        ["convert", str(file), str(tmp_path / "plan.goal")],
        ["simulate", str(tmp_path / "plan.goal"), "--torus", "4x4"],
    ):
        assert run(words) == 0
    assert "num_ranks 16" in (tmp_path / "plan.goal").read_text()
    capsys.readouterr()
    assert run(["convert", str(file), str(tmp_path / "plan.xml")]) == 2
    assert "the plan is of several groups" in capsys.readouterr().err
    words = ["collective", "broadcast", "--torus", "4x4", "--groups", "axis:0"]
    assert run(words) == 2
    assert "broadcast has none" in capsys.readouterr().err
