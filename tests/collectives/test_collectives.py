"""Collective operations in which every link works: planned, saved, checked, and refused when damaged."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives import OPERATIONS
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.degraded import damaged, degraded
from flitloom.commands import run
from flitloom.jobs import Store

SCHEMA = Path(fl.__file__).parent / "schemas" / "collective.schema.json"
PLACES = [
    (fl.Torus(4, 4), {}),
    (fl.Torus(2, 3, 4), {"chunks": 2}),
    (fl.Torus(3, 6, twist=True), {"chunks": 2}),
    (fl.Product("ring4*2 x ring3"), {"latency": 1}),
    (fl.Product("twisted ring3 x ring6*2"), {}),
    (fl.Mesh(3, 4), {"chunks": 2}),
    (fl.Torus(4, 4, failed_nodes=[5], failed_links=["0-1"]), {}),
    (fl.Torus(4, 4), {"nodes": [0, 1, 2, 6, 9], "latency": 2}),
]


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "all-to-all-v"])
@pytest.mark.parametrize(("topology", "options"), PLACES)
def test_every_operation_passes_the_check_and_its_file(
    operation: str, topology: fl.Topology, options: dict[str, Any], tmp_path: Path
) -> None:
    plan = fl.collectives.plan(topology, operation, **options)
    plan.save(tmp_path / "plan.json")
    same = fl.collectives.read(tmp_path / "plan.json")
    report = fl.collectives.check(same)
    assert report["problems"] == []
    assert report["steps"] == plan.steps >= report["bound"] == plan.bound
    # Orbits say the same as all their moves.
    assert fl.collectives.check(same.expanded())["problems"] == []


@pytest.mark.parametrize(
    ("topology", "operation", "options", "steps"),
    [
        (fl.Torus(8, 8, 8), "all-gather", {}, 86),
        (fl.Torus(8, 8, 8), "reduce-scatter", {}, 86),
        (fl.Torus(8, 8, 8), "all-to-all", {}, 512),
        (fl.Torus(4, 4, 8, twist=True), "all-to-all", {"chunks": 3}, 220),
        (fl.Torus(16, 16), "broadcast", {"chunks": 64}, 31),
        (fl.Mesh(6, 6), "all-gather", {}, 18),
        (fl.Mesh(8, 8), "all-to-all", {}, 128),
        (fl.Torus(8, 8, failed_links=["0-1"]), "all-gather", {}, 21),
        # Chunks of a node that find better ways only together.
        (fl.Torus(8, 8, failed_links=["5-61", "16-17", "16-24", "32-33", "37-38"]), "all-to-all", {}, 74),
        # A node with one link left, which must never idle.
        (fl.Torus(8, 8, failed_links=["1-2", "2-3", "2-58", "51-52"]), "all-to-all", {}, 69),
    ],
)
def test_known_optima(topology: fl.Topology, operation: str, options: dict[str, Any], steps: int) -> None:
    plan = fl.collectives.plan(topology, operation, **options)
    assert (plan.steps, plan.optimal) == (steps, True)
    assert fl.collectives.check(plan)["optimal"]


def test_a_linear_program_proves_what_cuts_do_not() -> None:
    # The optimum of the flow problem was computed by another program: 61.6 and 80 on these failed meshes.
    for failed, least in (([(8, 14), (31, 32)], 62), ([(1, 2), (7, 8), (32, 33)], 80)):
        plan = fl.collectives.plan(fl.Mesh(6, 6, failed_links=failed), "all-to-all")
        assert plan.bound == least <= plan.steps <= 1.02 * least
        assert plan.proof["kind"] == "lengths"
        assert fl.collectives.check(plan)["problems"] == []


@pytest.mark.parametrize("chunks", range(1, 9))
def test_chunks_of_one_pair_share_its_ways(chunks: int) -> None:
    # Over the link of neighbours a chunk arrives in every step; the long way round from the third step on.
    matrix = np.zeros((4, 4), dtype=int)
    matrix[3, 2] = chunks
    plan = fl.collectives.plan(fl.Torus(2, 2), "all-to-all-v", matrix=matrix)
    least = next(steps for steps in range(1, 9) if steps + max(0, steps - 2) >= chunks)
    assert (plan.steps, plan.bound) == (least, least)
    assert fl.collectives.check(plan)["problems"] == []
    if chunks > 4:
        assert plan.proof["kind"] == "crossing"
        assert f"each of {chunks} chunks goes from node 3 to node 2" in plan.proof_text
        wrong = plan.model_copy(update={"proof": plan.proof | {"from": 0}})
        assert any("proof" in problem for problem in fl.collectives.check(wrong)["problems"])


def test_sparse_exchanges_on_four_nodes_are_nearly_all_optimal() -> None:
    draw = np.random.default_rng(1)
    optimal = 0
    for _ in range(60):
        matrix = draw.integers(0, 12, (4, 4)) * (draw.random((4, 4)) < 0.25)
        plan = fl.collectives.plan(fl.Torus(2, 2), "all-to-all-v", matrix=matrix)
        assert fl.collectives.check(plan)["problems"] == []
        optimal += plan.optimal
    assert optimal >= 50


def test_all_to_all_v_takes_its_numbers_from_a_matrix() -> None:
    matrix = [[0, 3, 0, 1], [0, 5, 0, 0], [1, 1, 0, 0], [0, 0, 9, 0]]
    plan = fl.collectives.plan(fl.Torus(4), "all-to-all-v", matrix=matrix)
    assert sum(row[2] for row in plan.demands or []) == 15
    assert fl.collectives.check(plan)["problems"] == []


def test_a_cut_is_named_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    # Two halves of a mesh that only one cable joins: 8 chunks over it.
    parts = [part for link in ("1-2", "5-6", "9-10") for part in ("--fail", f"link:{link}")]
    assert run(["collective", "all-gather", "--mesh", "4x4", *parts, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bound"] >= 8
    assert {"steps", "bound", "optimal", "bound_proof", "seconds"} <= set(facts)
    assert facts["optimal"] == (facts["steps"] == facts["bound"])


def _damaged(plan: CollectivePlan, **fields: Any) -> list[str]:
    problems = fl.collectives.check(plan.model_copy(update=fields))["problems"]
    assert isinstance(problems, list)
    return problems


def test_the_check_finds_what_is_wrong_with_orbits() -> None:
    plan = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    early = [(0, *row[1:]) for row in plan.sends]
    assert any("does not have the chunk" in text for text in _damaged(plan, sends=early, steps=1))
    assert any("busy twice" in text for text in _damaged(plan, sends=[*plan.sends, plan.sends[0]]))
    assert any("never arrive" in text for text in _damaged(plan, sends=plan.sends[:-1]))
    assert any(
        "1 link to [1, 1], there are 0" in text
        for text in _damaged(plan, directions=[*plan.directions, [1, 1]])
    )
    assert any("its proof shows only 4" in text for text in _damaged(plan, bound=5, optimal=False))
    assert any("optimal" in text for text in _damaged(plan, optimal=False))
    assert any("the replay takes 4" in text for text in _damaged(plan, steps=3))
    sums = fl.collectives.plan(fl.Torus(4, 4), "reduce-scatter")
    assert any("added twice" in text for text in _damaged(sums, adds=[*sums.adds, (9, *sums.adds[-1][1:])]))
    assert any("lack contributions" in text for text in _damaged(sums, adds=sums.adds[1:]))
    paths = fl.collectives.plan(fl.Torus(4, 4), "all-to-all").paths
    swapped = [(paths[0][0], paths[0][1], paths[1][2]), *paths[1:]]
    assert any(
        "instead of" in text
        for text in _damaged(fl.collectives.plan(fl.Torus(4, 4), "all-to-all"), paths=swapped)
    )


def test_the_check_finds_what_is_wrong_with_moves() -> None:
    plan = fl.collectives.plan(fl.Mesh(3, 3), "all-gather")
    wrong = [[0, 0, 8, 0, 0], *plan.moves]
    assert any("no working link from node 0 to node 8" in text for text in _damaged(plan, moves=wrong))
    assert any("never arrives at node" in text for text in _damaged(plan, moves=plan.moves[1:]))
    twice = [*plan.moves, plan.moves[0]]
    assert any("is busy twice in step 0" in text for text in _damaged(plan, moves=twice))
    sums = fl.collectives.plan(fl.Mesh(3, 3), "reduce")
    assert any("lacks contributions" in text for text in _damaged(sums, sums=sums.sums[1:]))


def test_committed_schema_describes_the_file(tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    model = CollectivePlan.model_json_schema()
    assert schema["properties"] == model["properties"]
    fl.collectives.plan(fl.Torus(3, 3), "all-reduce").save(tmp_path / "plan.json")
    fields = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert set(schema["required"]) <= set(fields) <= set(schema["properties"])


def test_check_ends_with_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    assert run(["collective", "all-reduce", "--torus", "4x4", "-o", str(file)]) == 0
    capsys.readouterr()
    assert run(["check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["passed"], report["steps"], report["problems"]) == (True, 8, [])
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"steps": 8', '"steps": 7'), encoding="utf-8")
    assert run(["check", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    for damage in (
        text[:-20],
        text.replace('"chunks": 1', '"chunks": -1'),
        text.replace('"sends"', '"sent"'),
    ):
        file.write_text(damage, encoding="utf-8")
        assert run(["check", str(file)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: plan: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all-gather"], "topology: is missing"),
        (["all-gather", "--torus", "4x4x4", "--twist"], "4x4x8 or 4x8x8"),
        (["all-gather", "--mesh", "4x8", "--twist"], "wraps around in every dimension"),
        (["all-gather", "--torus", "4x4", "--root", "3"], "root: all-gather has none"),
        (["broadcast", "--torus", "4x4", "--root", "16"], "node 16"),
        (["broadcast", "--torus", "4x4", "--fail", "node:0", "--root", "0"], "node 0 has failed"),
        (["all-gather", "--torus", "4x4", "--chunks", "0"], "chunks: 0 is out of range"),
        (["all-gather", "--torus", "256x256", "--chunks", "9999999"], "moves"),
        (["all-gather", "--torus", "4x4", "--width", "1,1,1"], "width: 3 numbers for 2 dimensions"),
        (["all-gather", "--torus", "4x4", "--nodes", "3"], "at least two different nodes"),
        (["all-to-all-v", "--torus", "4x4"], "matrix: all-to-all-v needs one"),
        (["all-gather", "--mesh", "1x4"], "1 is out of range"),
    ],
)
def test_impossible_requests_end_in_one_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["collective", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_failures_cost_the_share_of_the_links_they_take(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["collective", "degraded", "--torus", "4x4", "--count", "5", "--failures", "1", "--json"]
    assert run([*command, "--operation", "all-gather"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["cases"]
    # 15 chunks over three links instead of four, wherever the cable is.
    assert (row["plans"], row["at_bound"], row["whole"]) == (5, 5, 4)
    assert (row["least"], row["mean"], row["most"]) == (5, 5.0, 5)
    for wrong in (
        ["--torus", "4x4", "--failures", "18"],
        ["--torus", "4x4", "--failures", "two"],
        ["--torus", "4x4", "--operation", "scan"],
        [],
    ):
        assert run(["collective", "degraded", *wrong]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_study_of_failures_goes_on_with_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["collective", "degraded", "--torus", "4x4", "--failures", "1:3", "--threads", "1", "--json"]
    store = str(tmp_path / "plans.sqlite")
    assert run([*command, "--count", "2", "--store", store]) == 0
    assert {row["plans"] for row in json.loads(capsys.readouterr().out)["cases"]} == {2}
    assert run([*command, "--count", "4", "--store", store]) == 0
    rows = json.loads(capsys.readouterr().out)["cases"]
    assert run([*command, "--count", "4"]) == 0
    # The seconds are those of each plan's own search.
    timeless = [{**row, "seconds": 0} for row in rows]
    assert [{**row, "seconds": 0} for row in json.loads(capsys.readouterr().out)["cases"]] == timeless
    # Nothing is planned again.
    monkeypatch.setattr("flitloom.collectives.degraded.plan_one", None)
    with closing(Store(store)) as kept:
        assert degraded(fl.Torus(4, 4), count=4, failures=(1, 3), store=kept) == rows
    # Each number is that of the plans themselves.
    networks = damaged(fl.Torus(4, 4), 4, (1, 3))
    plans = [fl.collectives.plan(network, "all-reduce") for network in networks]
    reports = [fl.collectives.check(plan) for plan in plans]
    gaps = [100 * (report["steps"] / report["bound"] - 1) for report in reports]
    row = next(row for row in rows if row["operation"] == "all-reduce")
    assert (row["gap_percent"], row["mean_gap_percent"]) == (round(max(gaps), 1), round(sum(gaps) / 4, 1))


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        (fl.Torus(8, 8, failed_links=["0-1", "9-17"]), {}),
        (fl.Torus(4, 4, 4, failed_nodes=[21], failed_links=["0-1"]), {}),
        (fl.Torus(4, 8, twist=True, failed_links=["0-1"]), {}),
        (fl.Product("twisted ring4*2 x ring8", failed_links=["(3,0)+x"]), {}),
        (fl.Product("ring3*2 x ring5", failed_links=["4-7"]), {"chunks": 2}),
    ],
)
def test_exchanges_on_damaged_tori_are_those_of_whole_ones_repaired(
    topology: fl.Topology, options: dict[str, Any]
) -> None:
    plan = fl.collectives.plan(topology, "all-to-all", **options)
    report = fl.collectives.check(plan)
    assert report["problems"] == []
    assert report["bound"] == plan.bound <= plan.steps <= 1.05 * plan.bound


def test_sums_that_cross_a_node_with_few_links() -> None:
    # One node has two links left: something of each of the 64 sums leaves it by one of them, in 32 steps, and
    # the farthest node is 8 hops away, the last 7 of which come behind the link.
    network = fl.Torus(8, 8, failed_links=["27-28", "27-35"])
    plan = fl.collectives.plan(network, "all-reduce")
    assert plan.proof["kind"] == "crossing"
    assert {plan.proof["from"], *plan.proof.get("nodes", [])} == {27} or plan.proof["all_but"] == [27]
    assert (plan.bound, fl.collectives.check(plan)["bound"]) == (39, 39)
    assert plan.bound <= plan.steps <= 43
    for changed in ({"from": plan.proof["to"]}, {"to": plan.proof["from"]}, {"nodes": [], "all_but": []}):
        wrong = plan.model_copy(update={"proof": plan.proof | changed})
        assert fl.collectives.check(wrong)["problems"]
    nearer = plan.model_copy(update={"proof": {"kind": "crossing", "nodes": [27], "from": 27, "to": 26}})
    assert "its proof shows only" in fl.collectives.check(nearer)["problems"][0]


@pytest.mark.parametrize("latency", [0, 1])
@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter"])
def test_chunks_go_on_behind_a_cut(
    operation: str, latency: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two full meshes of four nodes with one cable between them: the last chunk has a hop behind it."""
    cables = [(a, b) for side in (0, 4) for a in range(side, side + 4) for b in range(side, a)] + [(3, 4)]
    network, file = fl.Graph(cables, nodes=8), tmp_path / "plan.json"
    for chunks in (2, 8) if latency else (1, 2, 8):
        plan = fl.collectives.plan(network, operation, chunks=chunks, latency=latency)
        # The cable transfers four chunks of every node's, and the link behind it begins a step later.
        least = 4 * chunks + 1 + 2 * latency
        assert (plan.proof["kind"], plan.bound) == ("crossing", least)
        assert plan.steps - plan.bound <= 2 * latency
        assert plan.optimal == (plan.steps == least)
        assert fl.collectives.check(plan)["problems"] == []
        plan.save(file)
        assert run(["recheck", str(file)]) == 0
    for changed in ({"to": 3 if 3 in plan.proof["nodes"] else 4}, {"nodes": [*range(8)]}, {"nodes": []}):
        wrong = plan.model_copy(update={"proof": plan.proof | changed})
        assert fl.collectives.check(wrong)["problems"]
        wrong.save(file)
        assert run(["recheck", str(file)]) in (1, 2)
    # At the end of the cable no link is behind it.
    nearer = plan.model_copy(update={"proof": plan.proof | {"to": 4 if 3 in plan.proof["nodes"] else 3}})
    assert "its proof shows only" in fl.collectives.check(nearer)["problems"][0]
    nearer.save(file)
    capsys.readouterr()
    assert run(["recheck", str(file)]) == 1


def test_plans_of_collective_operations_are_shown_in_short():
    assert repr(fl.collectives.plan(fl.Torus(4, 4), "all-gather")) == (
        "CollectivePlan(all-gather on 4x4 torus: 4 steps, optimal)"
    )
