"""What the sources of the package keep to: one module for the screen, errors that carry their field."""

import ast
import re
from pathlib import Path

import pytest

import flitloom as fl
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


def test_tables_and_progress_are_made_by_one_module():
    for file in Path(fl.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "screen.py":
            assert not re.search(r"^\s*(from|import) rich", text, re.MULTILINE), file
            assert "\\033[K" not in text or file.name == "interrupts.py", file


def test_errors_that_name_a_field_carry_it():
    """No message says its field in its text only; the sources are read, so that none is forgotten."""
    field = re.compile(r"(--)?[a-z_][a-z0-9_.-]*: ")
    raised, bare = 0, []
    for file in Path(fl.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            called = ast.unparse(call.func)
            raised += called == "SpecError.at"
            text = call.args[0].values[0] if isinstance(call.args[0], ast.JoinedStr) else call.args[0]
            said = isinstance(text, ast.Constant) and field.match(str(text.value))
            if called == "SpecError" and said and len(call.args) == 1:
                bare.append(f"{file.name}:{call.lineno}: {text.value}")
    assert raised > 200
    assert not bare
    with pytest.raises(fl.SpecError) as caught:
        fl.collectives.plan(fl.Torus(4, 4), "all-gathr")
    assert caught.value.field == "operation"
    assert caught.value.advice.startswith("did you mean all-gather?")


def test_tests_of_signals_and_ports_say_so():
    """They are marked, and so no two of them run at once."""
    uses = re.compile(
        r"\.send_signal\(|os\.kill(pg)?\(|\bsocket\.|http\.server|\btime\.(sleep|monotonic|perf_counter)\("
    )
    own = Path(__file__)
    for file in sorted(own.parents[1].glob("*/test_*.py")):
        text = file.read_text(encoding="utf-8")
        assert file == own or not uses.search(text) or "pytest.mark.alone(" in text, file
