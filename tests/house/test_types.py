"""What type checkers and editors know: constructors as the fields are, names, a file as a user writes it."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import flitloom as fl
from flitloom import _core, spec
from flitloom.collectives import collective_plan as plan
from flitloom.plans import operation
from flitloom.scheduling import search
from flitloom.spec.base import SpecModel
from flitloom.spec.router import ROUTING_NAMES, RoutingName
from flitloom.tables.by_source import making as generate

USER = Path(__file__).with_name("typed_user.py")
PARTS = [
    one for one in map(vars(fl.spec).get, spec.__all__) if inspect.isclass(one) and issubclass(one, SpecModel)
]


def constructor(part):
    """The constructor that type checkers see in the source of a part, as names with their defaults."""
    (tree,) = ast.parse(inspect.getsource(part)).body
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    (arguments,) = (node.args for node in found)
    positional = arguments.args[1:]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    pairs = [
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return [argument.arg for argument in positional], {argument.arg: default for argument, default in pairs}


@pytest.mark.parametrize(
    "part", [one for one in PARTS if one not in (fl.Torus, fl.Mesh)], ids=lambda part: part.__name__
)
def test_constructors_that_editors_see_are_the_fields(part):
    positional, seen = constructor(part)
    assert positional == [part.positional] * bool(part.positional)
    fields = {
        name: field for name, field in part.model_fields.items() if name != "kind" or part is fl.Topology
    }
    assert set(seen) - {"preset"} == set(fields)
    for name, field in fields.items():
        if field.is_required():
            assert seen[name] is None, name
        elif not isinstance(seen[name], ast.Constant) or seen[name].value is not ...:
            assert ast.literal_eval(seen[name]) == field.get_default(call_default_factory=True), name


def test_names_of_routing_that_editors_offer_are_those_there_are():
    assert set(get_args(RoutingName)) == set(ROUTING_NAMES)


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (generate.MethodName, generate.METHODS),
        (generate.TurnsName, _core.LISTS["turns"]),
        (generate.RulesName, _core.LISTS["rules"]),
        (search.MethodName, search.METHODS),
        (search.RoutesName, (*search.ROUTES, search.STAIRCASE)),
        (operation.OperationName, _core.LISTS["operations"]),
        (plan.OperationName, plan.OPERATIONS),
    ],
)
def test_names_that_editors_offer_are_those_there_are(offered, known):
    assert get_args(offered) == known


def test_the_users_file_has_every_public_name():
    written = set(re.findall(r"\bfl\.(\w+)", USER.read_text(encoding="utf-8")))
    assert set(fl.__all__) - {"__version__"} <= written


def test_parts_have_no_metaclass_of_their_own():
    import pydantic

    assert {type(part) for part in PARTS} == {type(pydantic.BaseModel)}


def wrong_lines():
    lines = USER.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_pyright_sees_what_a_user_writes(tmp_path):
    settings = {"include": [str(USER)], "typeCheckingMode": "standard", "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    program = Path(sys.executable).with_name("basedpyright")
    done = subprocess.run(
        [program, "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    found = {
        one["range"]["start"]["line"] + 1: one["message"]
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    }
    assert set(found) == wrong_lines(), found


@pytest.mark.long
def test_mypy_sees_what_a_user_writes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "", "--cache-dir", str(tmp_path), str(USER)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = set(map(int, re.findall(r"typed_user\.py:(\d+): error", done.stdout)))
    assert found == wrong_lines(), done.stdout
