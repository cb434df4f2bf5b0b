"""Settings and where they are from, how much is said, and the examples that are shipped."""

import json
import sys

import pytest

from flitloom.commands import run, screen
from flitloom.commands.examples import FOLDER, names
from flitloom.commands.options import shared
from flitloom.ground import settings
from places import ROOT
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


def shown(capsys, *before):
    assert run([*before, "config", "show", "--json"]) == 0
    return {
        row["setting"]: (row["value"], row["from"]) for row in json.loads(capsys.readouterr().out)["settings"]
    }


def test_a_setting_is_from_the_first_that_says_something(monkeypatch, tmp_path, capsys):
    assert shown(capsys)["verbosity"] == ("usual", "default")
    file = tmp_path / "settings" / "flitloom" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('verbosity = "verbose"\nthreads = 2\nprogress_after = 7\n')
    assert shown(capsys) == {
        "threads": (2, str(file)),
        "verbosity": ("verbose", str(file)),
        "progress_after": (7.0, str(file)),
        "time_from": (10.0, "default"),
        "memory_from": (1e9, "default"),
    }
    monkeypatch.setenv("FLITLOOM_VERBOSITY", "usual")
    monkeypatch.setenv("FLITLOOM_THREADS", "3")
    assert shown(capsys)["verbosity"] == ("usual", "FLITLOOM_VERBOSITY")
    assert shown(capsys, "-q")["verbosity"] == ("quiet", "option")
    assert shared._usual_threads(None) == 3
    assert shared._usual_threads(1) == 1
    other = tmp_path / "other.toml"
    other.write_text("threads = 5")
    monkeypatch.setenv("FLITLOOM_CONFIG", str(other))
    monkeypatch.delenv("FLITLOOM_THREADS")
    assert shown(capsys)["threads"] == (5, str(other))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threads = 0", "threads: 0 is out of range; it must be a whole number from 1 to 4096"),
        ("threads = true", "threads: True is out of range"),
        ("verbosity = 3", "verbosity: 3 is out of range; it must be one of quiet, usual, verbose"),
        ("progress_after = -1", "seconds from 0 to 3600"),
        ("thread = 1", "'thread' is unknown; did you mean threads?"),
        ("threads =", "config.toml"),
    ],
)
def test_wrong_settings_are_told_with_their_place(text, message, monkeypatch, tmp_path, capsys):
    file = tmp_path / "config.toml"
    file.write_text(text)
    monkeypatch.setenv("FLITLOOM_CONFIG", str(file))
    assert run(["version"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    monkeypatch.setenv("FLITLOOM_CONFIG", str(tmp_path / "none.toml"))
    assert run(["version"]) == 2
    monkeypatch.delenv("FLITLOOM_CONFIG")
    monkeypatch.setenv("FLITLOOM_THREADS", "many")
    assert run(["version"]) == 2
    assert "FLITLOOM_THREADS: 'many'" in capsys.readouterr().err


def test_quiet_says_errors_only_and_verbose_says_the_time(capsys):
    assert run(["examples", "copy"]) == 0
    assert capsys.readouterr().err.startswith("wrote")
    assert run(["-q", "examples", "copy"]) == 0
    assert capsys.readouterr() == ("", "")
    for behind in (["examples", "copy", "-q"], ["examples", "copy", "--quiet"]):
        assert run(behind) == 0
        assert capsys.readouterr() == ("", "")
    assert run(["--quiet", "check", "none.json"]) == 2
    assert capsys.readouterr().err.startswith("error: none.json")
    assert run(["version", "-v"]) == 0
    assert capsys.readouterr().err.startswith("took ")
    assert run(["-v", "version"]) == 0
    assert capsys.readouterr().err.startswith("took ")
    # What one command was asked does not stay for the next one.
    assert run(["version"]) == 0
    assert capsys.readouterr().err == ""


def test_nobody_is_shown_progress_who_wants_none(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    settings.load(verbosity="quiet")
    assert not screen.shows_progress()
    settings.forget()
    assert screen.shows_progress()


def test_every_example_is_shipped_listed_and_copied(capsys, tmp_path):
    files = {
        file.relative_to(ROOT / "examples").as_posix(): file.read_bytes()
        for file in (ROOT / "examples").rglob("*.*")
        if file.suffix in (".toml", ".csv", ".json", ".topo", ".cfg", ".goal")
    }
    assert files == {name: (FOLDER / name).read_bytes() for name in names()}
    assert len(files) >= 6
    assert run(["examples", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == sorted(files)
    assert all(row["about"] for row in rows)
    assert run(["examples", "copy", "-o", "mine"]) == 0
    copied = tmp_path / "mine"
    assert {file.relative_to(copied).as_posix(): file.read_bytes() for file in copied.rglob("*.*")} == files
    assert run(["simulate", "mine/failures.toml", "--json"]) == 0
    # Again does nothing; a file of the user's own is not lost.
    assert run(["examples", "copy", "-o", "mine"]) == 0
    (copied / "load.toml").write_text("mine")
    capsys.readouterr()
    assert run(["examples", "copy", "-o", "mine"]) == 2
    assert "load.toml: is there already and differs" in capsys.readouterr().err
    assert (copied / "load.toml").read_text() == "mine"
    assert run(["examples", "copy", "lod.toml"]) == 2
    assert "did you mean load.toml?" in capsys.readouterr().err
