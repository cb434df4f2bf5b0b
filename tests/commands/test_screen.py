"""What the screen shows: progress that does not go back, and readers that leave."""

import json
import os
import subprocess
import sys

import pytest

import flitloom as fl
from flitloom.commands import run, screen
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


def test_what_was_told_is_not_taken_back(monkeypatch):
    from rich.progress import Progress

    told = []
    monkeypatch.setattr(screen, "shows_progress", lambda: True)
    monkeypatch.setattr(Progress, "update", lambda _, task, **fields: told.append((task, fields)))
    with screen.several_progresses() as show:
        for label, done, total in [("a", 9, 100), ("a", 3, 100), ("b", 1, 7), ("a", 50, 100), ("b", 0, 7)]:
            show(label, done, total)
    assert [(task, fields["completed"]) for task, fields in told] == [(0, 9), (0, 9), (1, 1), (0, 50), (1, 1)]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A folder with tables, a plan and what belongs to them, none of which the checks pass."""
    folder = tmp_path_factory.mktemp("refused")
    file = folder / "tables.json"
    fl.tables.make(fl.Torus(4, 4)).to_json(file)
    assert run(["check", str(file), "--certificate", str(folder / "certificate.json")]) == 0
    # A route that ends elsewhere.
    wrong = file.read_text().replace('"nodes": [0, 1]}', '"nodes": [0, 3]}', 1)
    (folder / "wrong.json").write_text(wrong)
    (folder / "ring.csv").write_text("".join(f"s{n},s{(n + 1) % 6}\n" for n in range(6)))
    assert run(["route", "--fabric", str(folder / "ring.csv"), "-o", str(folder / "ring")]) == 0
    fl.plans.search(fl.Network(fl.Torus(4)), fl.Collective("torn")).save(folder / "plan.json")
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**plan, "duration": plan["duration"] + 1}))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["check", "wrong.json"],
        ["check", "wrong.json", "--json"],
        ["check", "--fabric", "ring.csv", "--lft", "ring/opensm-lfts.dump", "--lanes", "1"],
        ["check", "plan.json"],
        ["recheck", "wrong.json", "certificate.json"],
    ],
    ids=" ".join,
)
def test_a_verdict_survives_a_reader_that_leaves(words, refused):
    """Standard output is a pipe that nobody reads, as behind ``| head``."""
    codes = []
    for closed in (False, True):
        reader, writer = os.pipe()
        if closed:
            os.close(reader)
        command = [sys.executable, "-m", "flitloom", *words]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=refused, check=False)
        os.close(writer)
        codes.append(done.returncode)
        if not closed:
            os.close(reader)
    assert codes == [1, 1], done.stderr
