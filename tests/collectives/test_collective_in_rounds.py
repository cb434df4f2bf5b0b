"""Plans in rounds, against sums of random vectors, the times of advice, and a program that shares no code."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.making import make_rounds
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import RoundsPlan, read_rounds
from flitloom.collectives.rounds_steps import to_steps
from flitloom.commands import run
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.product import network_of

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
SCHEMA = Path(fl.__file__).parent / "schemas" / "rounds.schema.json"
OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter")
NETWORKS: list[AnyNetwork] = [
    fl.Torus(4, 4),
    fl.Torus(3, 5),
    fl.Torus(2, 8, failed_links=[(0, 2)]),
    fl.Torus(2, 2, 4, twist=True),
    fl.Torus(4, 4, failed_nodes=[5], failed_links=[(0, 1)]),
    fl.Mesh(2, 3),
    network_of({"network": "full4 x full3*2 x full2"}),
    network_of({"network": "full4*6"}),
    network_of({"network": "dragonfly(3,1)"}),
]


def _made(network: AnyNetwork, operation: str) -> list[RoundsPlan]:
    """All plans in rounds of a network."""
    advice = weigh(network, [2.0**20], 1e-6, 5e10, operation=operation, twist=bool(network.twist))
    return [
        make_rounds(network, operation, one.name, 2.0**20, 1e-6, 5e10)
        for one in advice.algorithms
        if one.messages is not None
    ]


def _vectors(plan: RoundsPlan) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of all nodes (rows) before and after all messages of a plan; nobody looks at its loads."""
    members = list(plan.members)
    # Whole numbers, so that sums are exact.
    before = np.random.default_rng(3).integers(1, 1000, (len(members), plan.parts))
    place = {node: number for number, node in enumerate(members)}
    point = [plan.ground.point(node) for node in range(plan.ground.nodes)]

    def plus(a: int, b: int) -> int:
        vector = [x + y for x, y in zip(point[a], point[b], strict=True)]
        return plan.ground.number(plan.ground.normal(vector))

    now = before.copy()
    for turn in range(plan.rounds):
        after = now.copy()
        for adds, (when, start, end, first, count) in plan.rows():
            for part in range(first, first + count) if when == turn else ():
                owner, piece = divmod(part, plan.pieces)
                for shift in members if plan.alike else [0]:
                    what = plus(owner, shift) * plan.pieces + piece if plan.alike else part
                    here, there = (plus(start, shift), plus(end, shift)) if plan.alike else (start, end)
                    value = now[place[here], what]
                    if adds:
                        after[place[there], what] += value
                    else:
                        after[place[there], what] = value
        now = after
    return before, now


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_vectors_are_summed_and_gathered(network: AnyNetwork, operation: str) -> None:
    plans = _made(network, operation)
    assert plans
    for plan in plans:
        before, after = _vectors(plan)
        count, pieces = len(plan.members), plan.pieces
        own = np.repeat(np.eye(count, dtype=bool), pieces, axis=1)
        if operation == "all-reduce":
            assert (after == before.sum(axis=0)).all()
        elif operation == "all-gather":
            assert (after == before[own]).all()
        else:
            assert (after[own] == before.sum(axis=0)).all()
        assert check_rounds(plan)["problems"] == []


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_plans_take_the_time_of_advice_and_their_steps_are_right(network: AnyNetwork, operation: str) -> None:
    advice = weigh(network, [2.0**20], 1e-6, 5e10, operation=operation, twist=bool(network.twist))
    times = {one.name: time for one, time in zip(advice.algorithms, advice.seconds[0], strict=True)}
    plans = _made(network, operation)
    for plan in plans:
        # Parallel links share what a whole piece of one of them would be.
        single = max(plan.ground.links.values()) == 1
        assert (
            plan.seconds == pytest.approx(times[plan.algorithm])
            if single
            else (plan.seconds <= times[plan.algorithm] * (1 + 1e-12))
        )
        if all((row[1], row[2]) in plan.ground.links for _, row in plan.rows()):
            steps = to_steps(plan)
            assert fl.collectives.check(steps)["problems"] == []
            assert steps.steps >= sum(plan.loads)
        else:
            with pytest.raises(fl.SpecError, match="not a neighbour"):
                to_steps(plan)
    best = make_rounds(network, operation, "best", 2.0**20, 1e-6, 5e10)
    assert times[best.algorithm] <= min(times[plan.algorithm] for plan in plans)


def test_exchanges_and_trees_are_made_of_the_messages_that_are_weighed() -> None:
    advice = weigh(fl.Torus(4, 4), [2.0**20], 1e-6, 5e10)
    made = {one.name for one in advice.algorithms if one.messages is not None}
    assert made >= {
        "recursive doubling",
        "halving/doubling",
        "Swing, latency",
        "Swing, bandwidth",
        "binomial tree",
        "Bine, tree",
    }
    # Between ranks some of which have no partner.
    odd = weigh(fl.Torus(4, 4, failed_nodes=[5]), [2.0**20], 1e-6, 5e10)
    assert {one.name for one in odd.algorithms if one.messages} == {
        "spheres",
        "recursive doubling",
        "binomial tree",
    }


def _rechecked(file: Path) -> int:
    return subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True).returncode


WRONG: dict[str, Callable[[RoundsPlan], RoundsPlan]] = {
    "a sum is not sent": lambda plan: plan.model_copy(update={"sums": plan.sums[1:]}),
    "a sum is sent twice": lambda plan: plan.model_copy(update={"sums": [*plan.sums, plan.sums[0]]}),
    "a part is not sent": lambda plan: plan.model_copy(update={"moves": plan.moves[:-1]}),
    "a part goes elsewhere": lambda plan: plan.model_copy(
        update={
            "moves": [
                [*plan.moves[0][:2], (plan.moves[0][2] + 1) % 4 or 3, *plan.moves[0][3:]],
                *plan.moves[1:],
            ]
        }
    ),
    "a part is sent too early": lambda plan: plan.model_copy(
        update={"moves": [*plan.moves[:-1], [0, *plan.moves[-1][1:]]]}
    ),
    "links have less to do": lambda plan: plan.model_copy(
        update={"loads": [plan.loads[0] / 2, *plan.loads[1:]]}
    ),
    "it takes less time": lambda plan: plan.model_copy(update={"seconds": plan.seconds * 0.99}),
    "there is a round less": lambda plan: plan.model_copy(
        update={"rounds": plan.rounds - 1, "loads": plan.loads[1:]}
    ),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("failed", [[], [5]], ids=["alike", "one by one"])
def test_what_is_wrong_is_found_by_both_programs(what: str, failed: list[int], tmp_path: Path) -> None:
    plan = make_rounds(fl.Torus(4, 4, failed_nodes=failed), "all-reduce", "spheres", 2.0**20, 1e-6, 5e10)
    assert plan.alike is not bool(failed)
    file = tmp_path / "plan.json"
    plan.save(file)
    assert read_rounds(file) == plan
    assert _rechecked(file) == 0
    wrong = WRONG[what](plan)
    assert not check_rounds(wrong)["passed"]
    wrong.save(file)
    assert _rechecked(file) == 1
    assert run(["check", str(file)]) == 1
    assert run(["view", str(file), "-o", str(tmp_path / "page.html")]) == 2


def test_the_command_that_advice_prints_makes_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["collective", "advise", "--torus", "4x4x8", "--twist", "--size", "1MiB", "--alpha", "2us"]
    assert run(words) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("best plan of")]
    command = shlex.split(line.partition(": ")[2])
    assert command[:3] == ["flitloom", "collective", "all-reduce"]
    assert run([*command[1:], "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert run([*words, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    (case,) = advice["cases"]
    assert case["best"] == case["best_plan"] == facts["algorithm"] == "spheres"
    assert facts["microseconds"] == pytest.approx(1e6 * min(case["seconds"].values()), abs=1e-3)
    assert (facts["algbw"], facts["busbw"]) == pytest.approx((case["algbw"], case["busbw"]))
    for words in (["check"], ["recheck"], ["simulate"], ["view", "-o", "page.html"], ["convert", "out.xml"]):
        assert run([words[0], "plan.json", *words[1:]]) == 0, words
    capsys.readouterr()
    made = {one["name"]: one["plan"] for one in advice["algorithms"]}
    assert made["spheres"]
    assert made["planned steps"]
    assert not made["bucket"]
    assert run(["check", "plan.json", "--torus", "4x4"]) == 2
    assert "not for a 4x4 torus" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "all-reduce --torus 4x4 --algorithm bucket --size 1MiB",
            "are not made yet; write one of spheres, ",
        ),
        ("all-reduce --torus 4x4 --algorithm swim --size 1MiB", "'swim'"),
        ("all-reduce --torus 4x4 --algorithm best", "--size: is missing"),
        ("all-reduce --torus 4x4 --size 1MiB", "they belong to --algorithm"),
        ("broadcast --torus 4x4 --algorithm best --size 1MiB", "all-reduce, all-gather"),
        ("all-reduce --torus 4x4 --algorithm best --size 1MiB --chunks 2", "leave the others out"),
        ("all-reduce --torus 4x4 --algorithm best --size 1MiB -o plan.txt", ".json"),
    ],
)
def test_what_cannot_be_made_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["collective", *words.split()]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert said in message


def test_planned_steps_are_made_as_a_plan_in_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    words = ["collective", "all-to-all", "--torus", "4x4", "--algorithm", "best", "--size", "1GiB"]
    assert run([*words, "-o", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["algorithm"], facts["rounds"]) == ("planned steps", 8)
    assert fl.collectives.read(file).steps == 8


def test_committed_schema_describes_the_file(tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert schema["properties"] == RoundsPlan.model_json_schema()["properties"]
    make_rounds(fl.Torus(3, 3), "all-reduce", "spheres", 1e6, 1e-6, 5e10).save(tmp_path / "plan.json")
    fields = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert set(schema["required"]) <= set(fields) <= set(schema["properties"])


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": 0},
        {"bandwidth": 0},
        {"bandwidth": 1e-300},
        {"rounds": 0, "loads": [], "sums": [], "moves": []},
    ],
    ids=["no time", "no bandwidth", "hardly any", "no rounds"],
)
def test_numbers_that_cannot_be_are_refused_by_both(change, tmp_path, capsys):
    file = tmp_path / "plan.json"
    make_rounds(fl.Torus(3, 3), "all-reduce", "spheres", 1e6, 1e-6, 5e10).save(file)
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | change))
    for verb in ("check", "recheck"):
        assert run([verb, str(file)]) in (1, 2)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert not {"valid", "verified"} & {line.partition(":")[0] for line in said.out.splitlines()}
