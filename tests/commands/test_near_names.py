"""Near names are offered, and names of other tools are understood."""

import re

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.spec import OTHER_NAMES, PATTERNS
from places import ROOT
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


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


@pytest.mark.parametrize(("other", "ours"), OTHER_NAMES.items())
def test_names_of_other_tools_are_understood(other, ours):
    assert ours in PATTERNS
    assert other not in PATTERNS
    assert fl.Load(other, rate=0.1, length=2, cycles=10).pattern == ours
    assert f"`{other}`" in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(
    ("name", "elsewhere"),
    [("tornado", "ceil(k/2) - 1 in every dimension"), ("neighbor", "1 in every dimension"), ("torn", "")],
)
def test_names_that_mean_something_else_elsewhere_are_remarked(name, elsewhere, tmp_path, capsys):
    spec = tmp_path / "x.toml"
    spec.write_text(f'topology = {{ sizes = "4x4" }}\n[traffic]\nkind = "collective"\npattern = "{name}"\n')
    campaign, load = tmp_path / "campaign.toml", tmp_path / "load.toml"
    campaign.write_text(
        f'patterns = ["{name}"]\npayload = 14\nslices = 2\n[topology]\nsizes = "4x4"\n'
        "[genetic]\ngenerations = 2\ntraining = 1\n"
    )
    load.write_text(
        f'topology = {{ sizes = "4x4" }}\n[traffic]\nkind = "load"\nrate = 0.1\ncycles = 300\n'
        f'pattern = "rand"\nchanges = [{{ at = 100, pattern = "{name}" }}]\n'
    )
    impulse = ["--rate", "0.1", "--packets", "2", "--at", "300", "--cycles", "1000"]
    for words in (
        ["simulate", "--torus", "4x4", "--pattern", name],
        ["simulate", str(spec)],
        ["simulate", str(load)],
        ["load", "impulse", "--torus", "4x4", "--impulse", name, *impulse],
        ["campaign", "run", str(campaign)],
        ["sweep", str(spec), "--grid", f"traffic.pattern={name},rand", "-o", str(tmp_path / "rows.csv")],
        ["load", "bound", "--torus", "4x4", "--pattern", name],
        ["stack", "--torus", "4x4", "--pattern", name],
    ):
        assert run(words) == 0
        said = capsys.readouterr().err
        assert (f"note: {name} is " in said and elsewhere in said) == bool(elsewhere), words
