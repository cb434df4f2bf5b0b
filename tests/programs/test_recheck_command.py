"""`flitloom recheck` is the program of the repository, and says what does not hold."""

import json
import subprocess
import sys

import pytest

from flitloom.commands import run
from flitloom.commands.examples import FOLDER
from flitloom.commands.recheck import PROGRAM
from places import ROOT
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


def test_recheck_is_the_program_of_the_repository_and_says_what_does_not_hold(capsys, tmp_path):
    assert (ROOT / "tools" / "recheck.py").resolve() == PROGRAM
    assert list(PROGRAM.parent.glob("*.py")) == [PROGRAM]
    assert run(["recheck", "--program"]) == 0
    assert capsys.readouterr().out.strip() == str(PROGRAM)
    assert run(["route", "--torus", "4x3", "-o", "tables.json"]) == 0
    assert run(["check", "tables.json", "--certificate", "certificate.json"]) == 0
    capsys.readouterr()
    assert run(["recheck", "tables.json", "certificate.json"]) == 0
    assert capsys.readouterr().out.startswith("certificate holds: no tables have less than ")
    forged = json.loads((tmp_path / "certificate.json").read_text())
    forged["channels"] = [[*row[:3], 0] for row in forged["channels"]]
    (tmp_path / "certificate.json").write_text(json.dumps(forged))
    assert run(["recheck", "tables.json", "certificate.json"]) == 1
    assert "rank does not rise" in capsys.readouterr().out
    assert run(["recheck", "tables.json"]) == 2
    assert run(["recheck", "tables.json", "none.json"]) == 2
    assert "none.json: there is no such file" in capsys.readouterr().err


def test_recheck_says_as_json_what_it_proved(capsys, tmp_path):
    axes = "--axes a=4:a2a:1,b=4:ring:4 --effort 1"
    (tmp_path / "ring.csv").write_text("".join(f"s{n},s{(n + 1) % 4}\n" for n in range(4)))
    for words in (
        "route --torus 4x3 -o t.json --certificate t-c.json",
        "route --fabric ring.csv -o out --certificate out-c.json",
        "schedule --torus 4x4 --pattern shfl --separate -o s.json",
        "check s.json --certificate s-c.json",
        f"check {FOLDER / 'adaptive.toml'} --certificate e-c.json",
        "collective all-gather --torus 4x4 -o c.json",
        f"place --torus 4x4 {axes} -o p.json",
    ):
        assert run(words.split()) == 0, words
    capsys.readouterr()
    proven = {
        "tables": ("t.json t-c.json", {"deadlock", "bound", "max_load"}),
        "folder": ("out out-c.json", {"deadlock", "bound"}),
        "plan": ("s.json s-c.json", {"deadlock"}),
        "experiment": (f"{FOLDER / 'adaptive.toml'} e-c.json", {"deadlock"}),
        "collective": ("c.json", {"steps", "bound", "optimal"}),
        "placement": ("p.json", {"busiest_channel", "bound", "row_major", "optimal"}),
    }
    for kind, (files, facts) in proven.items():
        assert run(["recheck", *files.split(), "--json"]) == 0, files
        told = json.loads(capsys.readouterr().out)
        assert (told["file"], told["kind"], told["passed"]) == (files.split()[0], kind, True)
        assert told["problems"] == []
        assert facts <= set(told)
        assert told.get("deadlock", False) is False
    placed = json.loads((tmp_path / "p.json").read_text())
    (tmp_path / "p.json").write_text(json.dumps(placed | {"bound": 5}))
    assert run(["recheck", "p.json", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "file": "p.json",
        "kind": "placement",
        "passed": False,
        "problems": ["bound: the file says 5, its certificate proves 4"],
    }
    (tmp_path / "p.json").write_text("{")
    assert run(["recheck", "p.json", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["passed"], len(told["problems"])) == (None, False, 1)
    assert run(["recheck", "t.json", "--json"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "error: recheck: t.json has no certificate in it; name its certificate, too\n")


def test_the_program_of_recheck_runs_without_flitloom():
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(PROGRAM)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "usage: recheck.py" in done.stderr
    assert "flitloom" not in "".join(
        line.rpartition("|")[2] for line in done.stderr.splitlines() if line.startswith("import time")
    )
