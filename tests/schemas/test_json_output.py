"""What commands print with --json: one shape, one name for a quantity, and a schema that holds."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from flitloom.commands import run
from flitloom.spec.answer_schemas import ANSWERS, answer_schema
from flitloom.spec.answer_words import WORDS
from places import ROOT

EXAMPLES = ROOT / "examples"


#: Commands, one after the other in one folder, with the schema of what they print.
COMMANDS = """
simulate: simulate --torus 4x4 --pattern shfl --payload 6
simulate: simulate --torus 4x4 --pattern rand --rate 0.1 --cycles 500
simulate: simulate --model pipelined --torus 4x4 --pattern shfl --set router.reply_length=2
load-curve: load curve --torus 4x4 --pattern rand --rates 0.1,0.2 --refine 0
load-steady: load steady --torus 4x4 --pattern rand --rate 0.1 --buffer 4,8
load-saturation: load saturation --torus 4x4 --pattern rand
load-ramp: load ramp --torus 4x4 --pattern rand --cycles 100000 --windows 40 --averaging 20
load-step: load step --torus 4x4 --pattern rand
load-burst: load burst --torus 4x4 --pattern rand
load-bound: load bound --torus 4x4 --pattern rand
load-bound: load bound --network ring4 --model pipelined --pattern rand
stack: stack --torus 4x4 --pattern shfl --payload 6 --slices 2
check-experiment: check EXAMPLES/adaptive.toml
schedule: schedule --torus 4x4 --pattern shfl --payload 6 -o plan.json
schedule: schedule --torus 4x4 --operation broadcast
schedule: schedule --torus 4x4 --fail node:5 --pattern shfl
schedule: schedule --torus 4x4 --pattern shfl --guard auto --jitter 2
simulate-schedule: simulate plan.json
simulate-late: simulate plan.json --jitter 4 --trials 3
check-schedule: check plan.json --certificate plan-c.json
recheck: recheck plan.json plan-c.json
collective: collective all-gather --torus 4x4 -o ag.json
check-collective: check ag.json
recheck: recheck ag.json
simulate-collective: simulate ag.json
collective-advise: collective advise --torus 4x4
collective-advise-groups: collective advise --torus 4x4 --groups axis:0
collective-rounds: collective all-reduce --torus 4x4 --algorithm best --size 1MiB -o rounds.json
check-rounds: check rounds.json
recheck: recheck rounds.json
simulate-collective: simulate rounds.json
simulate-collective: simulate rounds.json --machine machine.toml
sweep: sweep EXAMPLES/load.toml --grid router.buffer=4,8 -o out.csv
route: route --torus 4x4 -o t.json
route-compare: route --torus 4x2 --compare
route-resilience: route --torus 4x2 --resilience
check-tables: check t.json --certificate t-c.json
recheck: recheck t.json t-c.json
route-fabric: route --fabric ring.csv -o out
route-fabric: route --fabric ring.csv --fail cable:s0/1 --from out
route-critical: route --fabric ring.csv --critical
route-critical: route --fabric ring.csv --critical --from out
check-tables: check --fabric ring.csv --lft out/opensm-lfts.dump --path-sl out/path-sl.txt
simulate: simulate --tables t.json --pattern shfl
simulate-messages: simulate two.goal --torus 2x2 --bandwidth 50GB/s
simulate-messages: simulate two.goal --torus 2x2 --model pipelined
simulate-graph: simulate --graph ring.csv --tables out
fabric-show: fabric show ring.csv
place: place --torus 4x4 --axes data=4:ring:8,expert=4:a2a:1 -o p.json
place: place --torus 4x4 --axes data=4:ring:8,expert=4:a2a:1 --machine machine.toml
check-placement: check p.json
recheck: recheck p.json
place-shape: place --torus 4x4 --shape 4x2
place-jobs: place --torus 4x4 --jobs apart.toml
place-jobs: place --torus 4x4 --jobs meet.toml
place-stream: place stream --torus 4x4
jitter: jitter --torus 2x2 --patterns shfl --jitter 0,1 --guards 1 --trials 2
examples-list: examples list
config-show: config show
papers-list: papers list
papers-run: papers run scaling-effects-2007/equation-2
cite: cite
"""


#: Schemas whose commands take long; their parts of the benchmark and the demo are run elsewhere.
LONG = {"bench", "demo", "route-diff"}


def test_every_output_obeys_its_schema(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("ring.csv").write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    ranks = ("l1: send 64b to 1 tag 1", "l1: recv 64b from 0 tag 1")
    rows = "".join(f"rank {n} {{\n{row}\n}}\n" for n, row in enumerate(ranks))
    Path("two.goal").write_text(f"num_ranks 2\n{rows}")
    job = '[[job]]\nname = "{}"\naxes = "all=4:a2a:64"\nnodes = "{}"\n'
    Path("machine.toml").write_text('flit = "1KiB"\n')
    Path("apart.toml").write_text(job.format("a", "0-3") + job.format("b", "4-7"))
    Path("meet.toml").write_text(job.format("a", "0,2,4,6") + job.format("b", "1,3,5,7"))
    seen = set()
    for line in COMMANDS.strip().splitlines():
        name, words = line.split(": ")
        assert run([*words.replace("EXAMPLES", str(EXAMPLES)).split(), "--json"]) == 0, words
        found = json.loads(capsys.readouterr().out)
        jsonschema.validate(found, answer_schema(name))
        # An empty list would obey any schema.
        assert found, words
        seen.add(name)
    assert seen | LONG == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_schemas_are_schemas(name, capsys):
    jsonschema.Draft202012Validator.check_schema(answer_schema(name))
    assert run(["config", "schema", f"output-{name}"]) == 0
    assert json.loads(capsys.readouterr().out) == answer_schema(name)


def test_every_name_is_used_and_no_two_names_say_the_same():
    used = {word for answer in ANSWERS.values() for word in f"{answer.always} {answer.sometimes}".split()}
    inside = {"switch", "setting", "gpus", "alone", "jitter", "jobs", "decisions", "policy", "about", "algbw"}
    assert used <= set(WORDS)
    assert set(WORDS) - used <= inside | {"mesh", "microseconds", "utilisation", "loads", "file"}
    meanings = [meaning for _, meaning in WORDS.values()]
    assert len(set(meanings)) == len(meanings)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", word) for word in WORDS)


def test_a_wrong_output_does_not_obey():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"name": "x"}], answer_schema("cite"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"name": "x", "citation": "y", "more": 1}], answer_schema("cite"))
