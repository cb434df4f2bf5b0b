"""TAB offers values, underscores are hyphens, and names of other tools lead to ours."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout

import pytest

from flitloom import _core
from flitloom.commands import VERBS, run
from flitloom.commands.completion import LISTED, MEANT


def offered(line):
    """What TAB offers behind a line."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_FLITLOOM_COMPLETE": "complete_bash"}
    program = [sys.executable, "-m", "flitloom"]
    done = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flitloom simulate --pattern s", ["shfl"]),
        ("flitloom load curve --throttle none,p", ["none,pace", "none,pt"]),
        ("flitloom route --method b", ["balanced", "bfs"]),
        ("flitloom schedule --method g", ["genetic", "greedy"]),
        ("flitloom simulate --preset ", ["machine", "t15", "s07", "cup-stacking"]),
        ("flitloom papers run angara-routing-2021/table-3", ["angara-routing-2021/table-3"]),
        ("flitloom bench thr", ["throttles"]),
        ("flitloom simulate --model ", ["one-cycle", "pipelined"]),
        ("flitloom place --minimise ", ["channel", "hops", "time"]),
        ("flitloom place --routing ", ["do", "balanced"]),
        ("flitloom convert a.json b.xml --for m", ["msccl-executor", "msccl", "mscclpp"]),
        ("flitloom examples copy l", ["load.toml"]),
        ("flitloom route --method f", ["ftree"]),
        ("flitloom load step --then shf", ["shfl"]),
        ("flitloom schedule --genes t", ["timing"]),
    ],
)
def test_tab_offers_the_values_of_options(line, expected):
    assert offered(line) == expected


def test_options_of_lists_take_the_names_of_lists_that_are_there():
    assert set(LISTED.values()) <= set(_core.LISTS)
    # Hyphens stand for underscores only where no name has one.
    assert not [name for kind in LISTED.values() for name in _core.LISTS[kind] if "_" in name]


def printed(*words):
    shown = io.StringIO()
    with redirect_stdout(shown):
        assert run(list(words)) == 0
    return shown.getvalue()


def test_underscores_are_hyphens():
    plain = ["simulate", "--torus", "4x4", "--pattern", "shfl", "--buffer", "16", "--json"]
    one = printed(*plain, "--flow-control", "cut-through")
    assert printed(*plain, "--flow_control", "cut_through") == one
    assert printed(*plain, "--flow_control=cut_through") == one
    plan = json.loads(printed("collective", "all_gather", "--torus", "4x4", "--json"))
    assert plan["operation"] == "all-gather"


NO_NETWORK = "topology: is missing; add --torus 8x8, --mesh 8x8 or --network 'full8 x full8'"
NO_FACTOR = "--network: 'tree4' is not a factor; write factors like"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "--pattern", "shfl"], NO_NETWORK),
        (["load", "curve", "--pattern", "rand"], NO_NETWORK),
        (["load", "bound", "--pattern", "rand"], NO_NETWORK),
        (["place", "--axes", "data=16:ring:8"], NO_NETWORK),
        (["schedule", "--pattern", "shfl"], NO_NETWORK),
        (["place", "--axes", "data=16:ring:8", "--network", "tree4"], NO_FACTOR),
        (["load", "bound", "--pattern", "rand", "--network", "tree4"], NO_FACTOR),
        (
            ["simulate", "--torus", "4x4", "--fail", "link:0-1", "--pattern", "next"],
            "routing tables can; add --tables, with a file that flitloom route --fail writes",
        ),
        (["simulate", "--torus", "4x4"], "traffic: give either pattern or destinations; add --pattern rand"),
        (
            ["simulate", "--torus", "4x4", "--pattern", "shfl", "--set", "buffer=2"],
            "did you mean router.buffer?",
        ),
        (["sweep", "load.toml", "--grid", "rate=0.1", "-o", "s.csv"], "did you mean traffic.rate?"),
        (["sweep", "load.toml", "--grid", "bufer=4", "-o", "s.csv"], "did you mean router.buffer?"),
        (["sweep", "load.toml", "--grid", "trafic.rate=0.1", "-o", "s.csv"], "did you mean traffic?"),
        (["traffic"], "flitloom: there is no command 'traffic'; did you mean load?"),
        (["load", "satur"], "flitloom load: there is no command 'satur'; did you mean saturation?"),
        (["qqqq"], "flitloom: there is no command 'qqqq'; flitloom --help lists all"),
    ],
)
def test_messages_say_what_to_write_instead(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["examples", "copy", "load.toml", "-o", "."]) == 0
    capsys.readouterr()
    assert run(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_lacks_a_part_is_told_of_options_of_its_verb_only(tmp_path, capsys):
    file = tmp_path / "a.toml"
    file.write_text('[traffic]\nkind = "collective"\npattern = "shfl"\n')
    assert run(["sweep", str(file), "--grid", "router.buffer=4", "-o", str(tmp_path / "o.csv")]) == 2
    assert "topology: is missing; add --network 8x8\n" in capsys.readouterr().err


def test_words_of_other_tools_lead_to_verbs_that_are_there():
    assert {meant.split()[0] for meant in MEANT.values()} <= set(VERBS)
    assert not set(MEANT) & set(VERBS)


@pytest.mark.parametrize("case", ["one", "two"])
def test_json_of_compared_cases_is_always_a_list(case):
    patterns = {"one": "next", "two": "next,trns"}[case]
    where = ["--torus", "4x4", "--pattern", patterns, "--json"]
    found = json.loads(printed("load", "burst", *where, "--packets", "2"))
    assert [row["pattern"] for row in found] == patterns.split(",")


def test_quiet_prints_results_and_errors_only(capsys, tmp_path):
    simulate = ["simulate", "--torus", "4x4", "--pattern", "shfl", "--out", str(tmp_path / "a.nc")]
    assert run(["-q", *simulate]) == 0
    out, err = capsys.readouterr()
    assert "duration" in out
    assert err == ""
    assert run(["-q", "simulate", "--torus", "4x4"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
