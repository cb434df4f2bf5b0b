"""Plans in rounds, against sums of random vectors, the times of advice, and a program that shares no code."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives import listing
from flitloom.collectives.advice import Advice, weigh
from flitloom.collectives.making import from_messages, make_rounds
from flitloom.collectives.rounds import busiest_loads
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import Messages, RoundsPlan, read_rounds, taken
from flitloom.collectives.rounds_steps import to_steps
from flitloom.commands import run
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of
from places import ROOT

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
SCHEMA = Path(fl.__file__).parent / "schemas" / "rounds.schema.json"
OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
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
    # Sums of some pieces, parts of unequal lengths, and sums over all dimensions at once.
    fl.Torus(8),
    fl.Torus(9),
    fl.Torus(2, 3, 4),
    fl.Mesh(5, 4),
    fl.Torus(4, 8),
    # Switches that only pass on: one, two, rails across servers, and some between each other.
    fl.Graph([f"{node}-5" for node in range(5)], nodes=6, hosts=[*range(5)]),
    fl.Graph(
        [f"{node}-{8 + switch}" for node in range(8) for switch in range(4)], nodes=12, hosts=[*range(8)]
    ),
    fl.Graph(
        [f"{node}-{switch}" for node in range(12) for switch in (12 + node // 3, 16 + node % 3)],
        nodes=19,
        hosts=[*range(12)],
    ),
    network_of({"network": "dragonfly(2,1,3)"}),
    network_of({"network": "fattree(4)", "failed_nodes": [3, 19]}),
]
#: Bytes of vectors for which plans take the time of advice.
SIZES = (1.0, 2.0**10, 2.0**20, 2.0**30)


@cache
def _recheck() -> Any:
    """The program that shares no code with flitloom."""
    spec = importlib.util.spec_from_file_location("recheck_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _made(advice: Advice, message: float | None) -> dict[int, RoundsPlan]:
    """All plans in rounds of a network, by row: of every algorithm but the planned steps.

    If messages have a cost, of those that have more of them than links.
    """
    assert [advice.is_made(number) for number in range(len(advice.algorithms))].count(False) == 0
    return {
        number: from_messages(advice, one, one.messages(), SIZES[2], 1e-6, 5e10)
        for number, one in enumerate(advice.algorithms)
        if one.messages is not None and (message is None or any(one.crowd))
    }


def _vectors(plan: RoundsPlan) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of all nodes (rows) before and after all messages of a plan; nobody looks at its loads."""
    members = list(plan.members)
    # Whole numbers, so that sums are exact.
    before = np.random.default_rng(3).integers(1, 1000, (len(members), plan.parts))
    place = {node: number for number, node in enumerate(members)}
    point = [plan.ground.point(node) for node in range(plan.ground.nodes)]

    @cache
    def plus(a: int, b: int) -> int:
        vector = [x + y for x, y in zip(point[a], point[b], strict=True)]
        return plan.ground.number(plan.ground.normal(vector))

    now = before.copy()
    begun, came = {}, {}
    by_round = defaultdict(list)
    for name in ("sums", "partials", "moves"):
        for row in getattr(plan, name):
            by_round[row[0]].append((name != "moves", row))
    for turn in range(plan.rounds):
        after = now.copy()
        begun[turn] = now
        for adds, (_, start, end, first, count, *made) in by_round[turn]:
            for part in range(first, first + count):
                owner, piece = divmod(part, plan.pieces)
                for shift in members if plan.alike else [0]:
                    what = plus(owner, shift) * plan.pieces + piece if plan.alike else part
                    here, there = (plus(start, shift), plus(end, shift)) if plan.alike else (start, end)
                    value = now[place[here], what]
                    if made:
                        value = sum(
                            begun[when][place[here], what] if node == here else came[when, node, here, what]
                            for when, node in zip(made[::2], made[1::2], strict=True)
                        )
                    if adds:
                        after[place[there], what] += value
                        came[turn, here, there, what] = value
                    else:
                        after[place[there], what] = value
        now = after
    return before, now


@pytest.mark.parametrize("message", [None, 5e-8], ids=["few", "many"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_row_of_advice_is_a_plan(network: AnyNetwork, operation: str, message: float | None) -> None:
    """Of its operation, in its time, and in steps where messages allow it: all of it of one advice."""
    advice = weigh(network, SIZES, 1e-6, 5e10, operation=operation, message=message)
    plans = _made(advice, message)
    assert plans or message
    for number, plan in plans.items():
        _sums_and_gathers(plan)
        _takes_its_time(plan, advice, number, message or 0)
        if message is None:
            _is_in_steps(plan)
    if operation == "all-reduce" and message is None:
        _best_is_the_fastest(advice)


def _sums_and_gathers(plan: RoundsPlan) -> None:
    """Random vectors are summed and gathered."""
    before, after = _vectors(plan)
    count, pieces = len(plan.members), plan.pieces
    own = np.repeat(np.eye(count, dtype=bool), pieces, axis=1)
    if plan.operation == "all-reduce":
        assert (after == before.sum(axis=0)).all()
    elif plan.operation == "all-to-all":
        # Parts are numbered by sender, then by receiver, of whom each gets equally many.
        sent, got = (each.reshape(count, count, count, -1) for each in (before, after))
        every = np.arange(count)
        for number in range(count):
            assert (got[every, number, every] == sent[number, number]).all()
    elif plan.operation == "all-gather":
        assert (after == before[own]).all()
    else:
        assert (after[own] == before.sum(axis=0)).all()
    assert check_rounds(plan)["problems"] == []


def _takes_its_time(plan: RoundsPlan, advice: Advice, number: int, message: float) -> None:
    """Both programs find the links and the messages that a row says, at every size."""
    row = advice.algorithms[number]
    assert (plan.algorithm, plan.rounds) == (row.name, row.rounds)
    assert [load / plan.total for load in plan.loads] == pytest.approx(list(row.loads), rel=1e-6)
    for size, seconds in zip(SIZES, advice.seconds, strict=True):
        found = taken(plan.loads, plan.total, size, 1e-6, 5e10)
        found += sum(row.crowd) * message
        assert found == pytest.approx(seconds[number], rel=1e-6), (row.name, size)
        assert found >= advice.bounds[SIZES.index(size)] * (1 - 1e-9)
    # Through the file, and without numpy.
    facts, _ = _recheck().verified_rounds(json.loads(plan.model_dump_json()))
    assert facts["microseconds"] == pytest.approx(1e6 * advice.seconds[2][number], rel=1e-6)


def _is_in_steps(plan: RoundsPlan) -> None:
    """Plans between neighbours are plans in steps; what cannot be one says why."""
    far = any((row[1], row[2]) not in plan.ground.links for _, row in plan.rows())
    if plan.partials:
        with pytest.raises(fl.SpecError, match="sums of some"):
            to_steps(plan)
    elif far and plan.sums:
        with pytest.raises(fl.SpecError, match="sums go over several hops"):
            to_steps(plan)
    elif far or plan.operation == "all-to-all":
        assert fl.collectives.check(to_steps(plan))["problems"] == []
    else:
        steps = to_steps(plan)
        assert fl.collectives.check(steps)["problems"] == []
        # In equal chunks, of which a vector has so many.
        chunks = steps.chunks * len(plan.members)
        assert steps.steps >= sum(plan.loads) / plan.total * chunks * (1 - 1e-9)


def _best_is_the_fastest(advice: Advice) -> None:
    for row in range(len(SIZES)):
        best = advice.best(row)
        assert advice.is_made(best)
        assert advice.seconds[row][best] <= min(advice.seconds[row]) * (1 + 1e-9)


def test_rows_of_too_many_messages_are_estimates_and_never_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    # A ring of 64 nodes has 16,128 messages and more.
    monkeypatch.setattr(listing, "MOST_ROWS", 8000)
    advice = weigh(fl.Torus(8, 8), [2.0**20], 1e-6, 5e10)
    made = {one.name: advice.is_made(number) for number, one in enumerate(advice.algorithms)}
    assert not made["ring"]
    assert made["bucket"]
    assert made[advice.algorithms[advice.best(0)].name]
    with pytest.raises(fl.SpecError, match="is an estimate"):
        make_rounds(fl.Torus(8, 8), "all-reduce", "ring", 2.0**20, 1e-6, 5e10)


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


#: Of a plan with sums of some pieces that a node has.
WRONG_SUMS: dict[str, Callable[[list[int]], list[int]]] = {
    "a piece is left out": lambda row: row[:-2],
    "a piece is there twice": lambda row: [*row, *row[-2:]],
    "a piece comes from elsewhere": lambda row: [*row[:-1], (row[-1] + 1) % 8],
    "a piece comes later": lambda row: [*row[:-2], row[0], row[-1]],
    "a round has no node": lambda row: [*row, 0],
    "there is no such node": lambda row: [*row[:-1], 99],
}


@pytest.mark.parametrize("what", WRONG_SUMS)
def test_sums_that_nobody_can_have_are_found_by_both_programs(what: str, tmp_path: Path) -> None:
    plan = make_rounds(fl.Torus(8), "all-reduce", "family (sums)", 2.0**20, 1e-6, 5e10)
    file = tmp_path / "plan.json"
    plan.save(file)
    assert read_rounds(file) == plan
    assert check_rounds(plan)["passed"]
    assert _rechecked(file) == 0
    wrong = plan.model_copy(update={"partials": [WRONG_SUMS[what](plan.partials[0]), *plan.partials[1:]]})
    assert not check_rounds(wrong)["passed"]
    wrong.save(file)
    assert _rechecked(file) in (1, 2)


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


def _forged(operation: str, messages: Messages, rounds: int) -> RoundsPlan:
    """A plan for a 4x4 torus with the loads and the time of its messages."""
    loads = busiest_loads(Ground(fl.Torus(4, 4)), messages, rounds)
    fields = {name: getattr(messages, name) for name in ("pieces", "alike", "owned")}
    fields |= {name: [list(row) for row in getattr(messages, name)] for name in ("sums", "moves")}
    fields |= {"operation": operation, "topology": fl.Torus(4, 4).model_dump(mode="json"), "loads": loads}
    fields |= {"algorithm": "forged", "rounds": rounds, "size": 2.0**20, "alpha": 1e-6, "bandwidth": 5e10}
    made = RoundsPlan.model_construct(**fields)
    return made.model_copy(update={"seconds": taken(loads, made.total, 2.0**20, 1e-6, 5e10)})


_PAIRS = [(node, end) for node in range(16) for end in range(16) if node != end]
#: More messages of a node in a round than it has links; every part arrives, links and time are as they say.
MANY: dict[str, tuple[str, Messages, int]] = {
    "one shot to 15 nodes": (
        "all-gather",
        Messages(1, True, moves=[(0, 0, end, 0, 1) for end in range(1, 16)]),
        1,
    ),
    "the same, listed": ("all-gather", Messages(1, False, moves=[(0, a, b, a, 1) for a, b in _PAIRS]), 1),
    "blocks to 15 nodes": (
        "all-to-all",
        Messages(16, False, moves=[(0, a, b, 16 * a + b, 1) for a, b in _PAIRS]),
        1,
    ),
    # Then from node 0 to twice as many nodes a round.
    "sums of 15 nodes": (
        "all-reduce",
        Messages(
            1,
            False,
            sums=[(0, node, 0, 0, 1) for node in range(1, 16)],
            moves=[(1 + turn, a, a + (1 << turn), 0, 1) for turn in range(4) for a in range(1 << turn)],
            owned=False,
        ),
        5,
    ),
}


@pytest.mark.parametrize("what", MANY)
def test_more_messages_than_links_are_found_by_both_programs(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The advice's bound on rounds would not hold for such plans."""
    plan = _forged(*MANY[what])
    file = tmp_path / "plan.json"
    plan.save(file)
    problems = check_rounds(plan)["problems"]
    assert problems
    # Nothing else is wrong with them.
    assert all("15 nodes" in one and "4 links" in one for one in problems)
    assert _rechecked(file) == 1
    assert run(["check", str(file)]) == 1
    assert "15 nodes, and no node has more than 4 links" in capsys.readouterr().out


def test_messages_of_a_node_are_counted_anew(tmp_path: Path) -> None:
    # Mirrored halves of the vector go different ways: every part over the two links of a node.
    plan = make_rounds(fl.Torus(8), "all-reduce", "family (sums)", 2.0**20, 1e-6, 5e10)
    assert (plan.messages, check_rounds(plan)["messages"]) == (4, 4)
    file = tmp_path / "plan.json"
    for claimed, found in ((None, True), (4, True), (2, False), (5, False)):
        wrong = plan.model_copy(update={"messages": claimed})
        wrong.save(file)
        assert ("messages" in json.loads(file.read_text())) is (claimed is not None)
        assert check_rounds(wrong)["passed"] is found
        assert (_rechecked(file) == 0) is found


def test_the_command_that_advice_prints_makes_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["collective", "advise", "--torus", "4x8", "--twist", "--size", "1MiB", "--alpha", "2us"]
    assert run(words) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("plan of the best for")]
    command = shlex.split(line.partition(": ")[2])
    assert command[:3] == ["flitloom", "collective", "all-reduce"]
    assert run([*command[1:], "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert run([*words, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    (case,) = advice["cases"]
    assert case["best"] == facts["algorithm"] == "spheres"
    assert facts["microseconds"] == pytest.approx(1e6 * min(case["seconds"].values()), abs=1e-3)
    assert (facts["algbw"], facts["busbw"]) == pytest.approx((case["algbw"], case["busbw"]))
    for words in (["check"], ["recheck"], ["simulate"], ["view", "-o", "page.html"], ["convert", "out.xml"]):
        assert run([words[0], "plan.json", *words[1:]]) == 0, words
    capsys.readouterr()
    made = {one["name"]: one["plan"] for one in advice["algorithms"]}
    assert all(made.values())
    assert run(["check", "plan.json", "--torus", "4x4"]) == 2
    assert "not for a 4x4 torus" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("all-reduce --torus 4x4 --algorithm swim --size 1MiB", "'swim'"),
        ("all-reduce --torus 4x4 --algorithm best", "--size: is missing"),
        ("all-reduce --torus 4x4 --size 1MiB", "they belong to --algorithm"),
        ("scatter --torus 4x4 --algorithm best --size 1MiB", "all-reduce, all-gather"),
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


def test_the_page_describes_the_file(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "collective-advise.md").read_text(encoding="utf-8")
    section = page.partition("## The file of a plan in rounds")[2]
    named = {
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall("`([^`]+)`", line.split("|")[1])
    }
    assert named == set(RoundsPlan.model_fields)
    (command,) = re.findall("```sh\nflitloom (.*)\n```", section)
    file = tmp_path / "plan.json"
    assert run([*shlex.split(command)[:-1], str(file)]) == 0
    shown = section.partition("```json\n")[2].partition("```")[0]
    assert json.loads(shown) | {"version": ""} == json.loads(file.read_text()) | {"version": ""}


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
