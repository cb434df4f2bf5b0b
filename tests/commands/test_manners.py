"""Manners of the command line: settings and where they are from, examples, the second check, near names."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import flitloom as fl
from flitloom import settings
from flitloom.commands import run, screen
from flitloom.commands.examples import FOLDER, names
from flitloom.commands.options import shared
from flitloom.commands.recheck import PROGRAM
from flitloom.papers import Cell, Report, identifiers
from flitloom.spec import OTHER_NAMES, PATTERNS
from places import ROOT


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    for name in settings.SETTINGS:
        monkeypatch.delenv(settings.variable(name), raising=False)
    monkeypatch.delenv(settings.FILE_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


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


def test_recheck_is_the_program_of_the_repository_and_says_what_does_not_hold(capsys, tmp_path):
    assert (ROOT / "tools" / "recheck.py").resolve() == PROGRAM
    assert list(PROGRAM.parent.glob("*.py")) == [PROGRAM]
    assert run(["recheck", "--program"]) == 0
    assert capsys.readouterr().out.strip() == str(PROGRAM)
    assert run(["route", "--torus", "4x3", "-o", "tables.json"]) == 0
    assert run(["check", "tables.json", "--certificate", "certificate.json"]) == 0
    capsys.readouterr()
    assert run(["recheck", "tables.json", "certificate.json"]) == 0
    assert capsys.readouterr().out.startswith("certificate holds: no tables carry less than ")
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
        "placement": ("p.json", {"fullest_channel", "bound", "row_major", "optimal"}),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("simulate --torus 4x4 --pattern shufle", "did you mean shfl? It must be one of"),
        ("simulate --torus 4x4 --pattern unifrom", "did you mean rand?"),
        ("schedule --torus 4x4 --pattern shfl --method gredy", "did you mean greedy?"),
        ("route --torus 4x4 --method genetics", "did you mean genetic?"),
        ("route --torus 4x4 --rules datelin", "did you mean dateline?"),
        ("bench netwrk", "did you mean network?"),
        ("schedule --torus 4x4 --operation all-gathr", "did you mean all-gather? It must be one of"),
        ("simulate --torus 4x4 --pattern shfl --throttle spht", "did you mean spth? The throttles are"),
        ("route --torus 4x4 --turns on-demnd", "did you mean on-demand? It must be one of"),
        ("schedule --torus 4x4 --pattern shfl --routes minimall", "did you mean minimal? It must be one of"),
        ("load bound --torus 4x4 --pattern rand --ties splitt", "did you mean split?"),
        ("config schema experimnt", "did you mean experiment?"),
        ("papers run cup-staking-2022", "did you mean cup-stacking-2022?"),
        ("papers run cup-stacking-2022/tabel-2", "did you mean cup-stacking-2022/table-2?"),
        ("papers run table-2-ga", "did you mean cup-stacking-2022/table-2-ga?"),
        ("papers run figure-3", "cup-stacking-extended-2023/figure-3 or scaling-effects-2007/figure-3?"),
        ("simulat", "did you mean simulate?"),
        ("collective all-gathr --torus 4x4", "did you mean all-gather?"),
        ("simulate --torus 4x4 --patern shfl", "--pattern"),
    ],
)
def test_near_names_are_offered(arguments, message, capsys):
    assert run(arguments.split()) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_paper_is_told_in_two_lines(capsys):
    assert run(["papers", "run", "nonsense"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 2
    assert max(map(len, err.splitlines())) < 120
    assert "flitloom papers list" in err


@pytest.mark.parametrize(("other", "ours"), OTHER_NAMES.items())
def test_names_of_other_tools_are_understood(other, ours):
    assert ours in PATTERNS
    assert other not in PATTERNS
    assert fl.Load(other, rate=0.1, length=2, cycles=10).pattern == ours
    assert f"`{other}`" in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_the_citation_names_this_version_and_every_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in text
    from flitloom.papers import SOURCES

    for source in SOURCES.values():
        title = source.partition(": ")[2].partition(".")[0]
        assert f'title: "{title}"' in text
        if "doi:" in source:
            assert f"doi: {source.partition('doi:')[2]}\n" in text


@pytest.mark.parametrize(
    ("line", "ours", "other"),
    [
        ("simulate --torus 4x4 --pattern NAME", "torn", "tornado"),
        ("simulate --torus 4x4 --pattern NAME --rate 0.1 --cycles 100", "rand", "uniform"),
        ("stack --torus 4x4 --pattern NAME --payload 4 --slices 2", "trns", "transpose"),
        ("schedule --torus 4x4 --pattern NAME --moves 1000", "bcmp", "bitcomp"),
        ("jitter --torus 4x4 --patterns NAME --jitter 0 --guards 1 --trials 1", "next", "neighbor"),
        ("load curve --torus 4x4 --pattern NAME --rates 0.1 --measure 200", "rand", "uniform"),
        ("load steady --torus 4x4 --pattern NAME --rate 0.1 --measure 200", "torn", "tornado"),
        ("load ramp --torus 4x4 --pattern NAME --rates 0.1:0.3 --cycles 1000", "rand", "uniform"),
        ("load step --torus 4x4 --pattern NAME --rate 0.1 --cycles 1000", "next", "neighbor"),
        (
            "load impulse --torus 4x4 --rate 0.1 --impulse NAME --packets 2 --at 300 --cycles 1000",
            "trns",
            "transpose",
        ),
        ("load burst --torus 4x4 --pattern NAME --packets 2", "bcmp", "bitcomp"),
        ("load bound --torus 4x4 --pattern NAME", "rand", "uniform"),
    ],
)
def test_every_command_takes_the_names_of_other_tools(line, ours, other, capsys):
    def rows(name):
        assert run([*line.replace("NAME", name).split(), "--json"]) == 0
        # Times differ, and nothing else.
        return re.sub(r'"(seconds|found_in)": [^,\n}]*', "", capsys.readouterr().out)

    assert rows(other) == rows(ours)
    assert f'"{other}"' not in rows(other)


def test_tables_and_progress_are_made_by_one_module():
    for file in Path(fl.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "screen.py":
            assert not re.search(r"^\s*(from|import) rich", text, re.MULTILINE), file
            assert "\\033[K" not in text or file.name == "interrupts.py", file


PAPERS = sorted({name.partition("/")[0] for name in identifiers()})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_runs_whole_into_one_page(paper, tmp_path, monkeypatch, capsys):
    def made_up(identifier, context):
        assert context.folder == tmp_path / paper
        cells = [Cell("a", "x", 3, 3), Cell("b", "x", 4, 5), Cell("a", "grows", True, True)]
        return Report(identifier, "made up", cells)

    monkeypatch.setattr("flitloom.commands.actions.papers.reproduce", made_up)
    count = sum(name.startswith(f"{paper}/") for name in identifiers())
    words = f"In all: {count} of {2 * count} published values reproduced, "
    words += f"{count} of {count} published statements hold."
    assert run(["papers", "run", paper, "-o", str(tmp_path / paper)]) == 0
    assert words in capsys.readouterr().out.splitlines()
    page = (tmp_path / paper / "index.html").read_text(encoding="utf-8")
    assert words in page
    for name in identifiers():
        assert (name in page) == name.startswith(f"{paper}/")


def test_there_are_five_papers():
    assert len(PAPERS) == 5


def test_what_was_told_is_not_taken_back(monkeypatch):
    from rich.progress import Progress

    from flitloom.commands import screen

    told = []
    monkeypatch.setattr(screen, "shows_progress", lambda: True)
    monkeypatch.setattr(Progress, "update", lambda _, task, **fields: told.append((task, fields)))
    with screen.several_progresses() as show:
        for label, done, total in [("a", 9, 100), ("a", 3, 100), ("b", 1, 7), ("a", 50, 100), ("b", 0, 7)]:
            show(label, done, total)
    assert [(task, fields["completed"]) for task, fields in told] == [(0, 9), (0, 9), (1, 1), (0, 50), (1, 1)]


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
def test_a_verdict_survives_a_reader_that_leaves(words, tmp_path):
    """Standard output is a pipe that nobody reads, as behind ``| head``."""
    file = tmp_path / "tables.json"
    fl.tables.make(fl.Torus(4, 4)).to_json(file)
    assert run(["check", str(file), "--certificate", str(tmp_path / "certificate.json")]) == 0
    # A route that ends elsewhere.
    wrong = file.read_text().replace('"nodes": [0, 1]}', '"nodes": [0, 3]}', 1)
    (tmp_path / "wrong.json").write_text(wrong)
    (tmp_path / "ring.csv").write_text("".join(f"s{n},s{(n + 1) % 6}\n" for n in range(6)))
    assert run(["route", "--fabric", str(tmp_path / "ring.csv"), "-o", str(tmp_path / "ring")]) == 0
    fl.plans.search(fl.Network(fl.Torus(4)), fl.Collective("torn")).save(tmp_path / "plan.json")
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "duration": plan["duration"] + 1}))
    codes = []
    for closed in (False, True):
        reader, writer = os.pipe()
        if closed:
            os.close(reader)
        command = [sys.executable, "-m", "flitloom", *words]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
        os.close(writer)
        codes.append(done.returncode)
        if not closed:
            os.close(reader)
    assert codes == [1, 1], done.stderr
