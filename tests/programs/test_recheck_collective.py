"""Plans of collective operations and their bounds, verified by a program that shares no code."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.checking import check_collective
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.commands import run
from sample import sampled

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
PLANS = [
    "all-gather --torus 4x4x4",
    "all-gather --torus 4x4x8 --twist",
    "all-gather --torus 3x6 --twist --width 2,1",
    "all-gather --torus 5x5 --fail node:3",
    "all-reduce --network full4xline3",
    "all-reduce --torus 4x4 --chunks 2",
    "all-reduce --torus 4x4 --nodes 0,1,5,6",
    "all-to-all --network dragonfly(3,1)",
    "all-to-all --network random(20,4)",
    "all-to-all --network ring4*6xring4",
    "all-to-all --torus 4x4 --fail node:3 --fail link:0-1",
    "broadcast --torus 4x4 --root 3 --chunks 5",
    "gather --mesh 4x3 --root 2",
    "reduce --torus 4x4 --root 3",
    "reduce-scatter --torus 4x4 --latency 2",
    "scatter --torus 4x4 --root 3 --chunks 2",
]


def rechecked(file):
    done = subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.fixture
def made(request, tmp_path, capsys):
    file = tmp_path / "plan.json"
    assert run(["collective", *request.param.split(), "-o", str(file)]) == 0
    capsys.readouterr()
    return file


@pytest.mark.parametrize("made", PLANS, indirect=True)
def test_plans_and_their_bounds_hold(made, capsys):
    plan = json.loads(made.read_text())
    code, said = rechecked(made)
    assert code == 0
    assert said.startswith(f"verified: every chunk arrives within {plan['steps']} steps; no plan has fewer")
    assert run(["recheck", str(made)]) == 0
    assert capsys.readouterr().out == said
    for field, value in (("bound", plan["steps"] + 1), ("steps", plan["steps"] - 1), ("chunks", 9)):
        made.write_text(json.dumps(plan | {field: value, "optimal": False}))
        assert rechecked(made)[0] == 1


@pytest.mark.parametrize(
    "made",
    [
        "all-gather --torus 4x3",
        "all-to-all --torus 4x3",
        "reduce-scatter --mesh 3x3",
        "all-reduce --torus 4x4",
    ],
    indirect=True,
)
def test_both_checks_say_the_same_of_plans_with_one_thing_changed(made):
    plan, dice = json.loads(made.read_text()), random.Random(5)
    names = [name for name in ("adds", "sends", "paths", "sums", "moves") if plan.get(name)]
    wrong = 0
    trials = sampled(range(40), 3)
    for _ in trials:
        changed = json.loads(json.dumps(plan))
        rows = changed[dice.choice(names)]
        row = dice.choice(rows)
        if dice.randrange(4) == 0:
            rows.remove(row)
        else:
            # A step, a link, a node, a chunk: any number of the row, or of one of its lists.
            while True:
                at = dice.randrange(len(row))
                if not isinstance(row[at], list):
                    row[at] = max(0, row[at] + dice.choice((-1, 1)))
                    break
                row = row[at] or row
        made.write_text(json.dumps(changed))
        try:
            right = check_collective(CollectivePlan.model_validate(changed))["passed"]
        except (fl.SpecError, ValueError):
            right = False
        assert (rechecked(made)[0] == 0) == right
        wrong += not right
    assert wrong > len(trials) / 2


@pytest.mark.parametrize("made", ["all-to-all --torus 4x4 --fail link:0-1"], indirect=True)
def test_a_proof_counts_for_no_more_than_it_proves(made):
    plan = json.loads(made.read_text())
    assert plan["proof"]["kind"] == "cut"
    plan["proof"]["nodes"] = [0]
    made.write_text(json.dumps(plan))
    assert rechecked(made) == (1, f"FAILED: bound: the file says {plan['bound']}, its proof proves 5\n")
