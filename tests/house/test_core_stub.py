"""What type checkers are told of the extension is what the extension has."""

import ast
import inspect
from pathlib import Path

import pytest

import flitloom
from flitloom import _core

STUB = ast.parse((Path(flitloom.__file__).parent / "_core.pyi").read_text())
#: Python gives every class these, and stubs name them only where they do something.
ALWAYS = set(dir(type("Plain", (), {})))


def names(body):
    for part in body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.AnnAssign):
            yield part.target.id


def parameters(function):
    arguments = function.args
    return [one.arg for one in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]


def public(found):
    return {name for name in found if not name.startswith("_")}


def test_the_names_are_those_of_the_module():
    assert public(names(STUB.body)) == public(vars(_core))


@pytest.mark.parametrize(
    "stub", [part for part in STUB.body if isinstance(part, ast.ClassDef)], ids=lambda c: c.name
)
def test_classes_have_what_they_are_said_to_have(stub):
    there = vars(getattr(_core, stub.name))
    assert public(names(stub.body)) == public(there)
    assert set(names(stub.body)) - set(there) <= ALWAYS
    for part in stub.body:
        if not isinstance(part, ast.FunctionDef):
            continue
        told = [name for name in parameters(part) if name not in ("self", "cls")]
        # The signature of a constructor is that of its class.
        function = getattr(_core, stub.name) if part.name == "__new__" else there.get(part.name)
        if getattr(function, "__text_signature__", None):
            given = list(inspect.signature(function).parameters)
            assert [name for name in given if name != "self"] == told, part.name


def test_functions_have_the_parameters_they_are_said_to_have():
    for stub in STUB.body:
        if isinstance(stub, ast.FunctionDef):
            assert list(inspect.signature(getattr(_core, stub.name)).parameters) == parameters(stub), (
                stub.name
            )
