"""The second program knows every field of plans and of their networks, and takes no others."""

import json
from typing import Any

import pytest

import flitloom as fl
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.proofs import FIELDS, RULES
from flitloom.collectives.rounds_plan import Priced, RoundsPlan
from flitloom.commands import run
from flitloom.programs import recheck
from flitloom.spec.graph import Graph
from flitloom.spec.product import Product

Document = dict[str, Any]


@pytest.fixture(params=["", "--algorithm spheres --size 1MiB"], ids=["steps", "rounds"])
def made(request, tmp_path, capsys):
    file = tmp_path / "plan.json"
    words = f"collective all-reduce --torus 4x4 {request.param} -o {file}"
    assert run(words.split()) == 0
    capsys.readouterr()
    return file


def test_its_fields_are_those_of_plans():
    assert {*f"{recheck.STEPS} {recheck.STEPS_MORE}".split()} == {*CollectivePlan.model_fields}
    assert {*f"{recheck.ROUNDS} {recheck.ROUNDS_MORE}".split()} == {*RoundsPlan.model_fields}
    assert {*" ".join(recheck.PRICED).split()} == {*Priced.model_fields}
    assert {*recheck.PROOFS} == {*RULES, "nothing", "groups"}
    assert {kind: " ".join(fields) for kind, fields in FIELDS.items()} == {
        kind: fields for kind, fields in recheck.PROOFS.items() if fields and kind != "groups"
    }
    for kind, model in (("torus", fl.Torus), ("mesh", fl.Mesh), ("product", Product), ("graph", Graph)):
        assert {*" ".join(recheck.NETWORKS[kind]).split()} == {*model.model_fields}


def test_unknown_fields_are_refused_with_the_nearest_name(made, capsys):
    plan = json.loads(made.read_text())
    changed = {
        "moves": plan | {"move": []},
        "topology.failed_nodes": plan | {"topology": plan["topology"] | {"failed_node": [3]}},
    }
    if "prices" in plan:
        changed["prices[0].potentials"] = plan | {"prices": [plan["prices"][0] | {"potential": []}]}
    else:
        changed["proof.nodes"] = plan | {"proof": {"kind": "cut", "node": [3]}}
    for near, document in changed.items():
        made.write_text(json.dumps(document))
        assert run(["recheck", str(made)]) == 1
        said = capsys.readouterr().out
        assert said.startswith(f"FAILED: {near[:-1]}: is an unknown field; did you mean {near}?"), said
        assert said.count("\n") == 1


@pytest.mark.parametrize("verb", ["check", "recheck"])
def test_fields_that_a_plan_lacks_are_named_in_one_line(verb, made, capsys):
    plan = json.loads(made.read_text())
    made.write_text(json.dumps({"format": plan["format"], "bandwidth": 5e10, "chunks": 1}))
    assert run([verb, str(made)]) == (2 if verb == "check" else 1)
    streams = capsys.readouterr()
    said = streams.out + streams.err
    assert said.count("\n") == 1
    if verb == "recheck":
        # Of the other kind one field is there and one is unknown.
        name = "bandwidth" if "rounds" not in plan else "chunks"
        assert said.startswith(f"FAILED: {name}: is an unknown field; ")
    made.write_text(json.dumps({"format": plan["format"]}))
    assert run([verb, str(made)]) == (2 if verb == "check" else 1)
    streams = capsys.readouterr()
    said = streams.out + streams.err
    assert said.count("\n") == 1
    assert " lacks operation, topology, " in said
    assert ("; a plan as flitloom collective OPERATION " in said) == (verb == "check")


def test_the_first_of_many_problems_is_named_and_the_others_are_counted(made, capsys):
    plan = json.loads(made.read_text())
    name = next(one for one in ("sums", "adds") if plan.get(one))
    made.write_text(json.dumps(plan | {name: [["x"] * 5] * 30}))
    assert run(["check", str(made)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"plan.json: {name}[0]" in said
    assert said.endswith(" more problems\n")


def test_a_plan_of_another_form_says_which_is_read(made, capsys):
    plan = json.loads(made.read_text())
    later = plan["format"].replace(" 1", " 2")
    made.write_text(json.dumps(plan | {"format": later, "more": 1}))
    assert run(["check", str(made)]) == 2
    said = capsys.readouterr().err
    assert said.endswith(f"plan.json: format: '{later}' is another one; it must be '{plan['format']}'\n")
