"""`flitloom papers` runs every paper whole, and the citation names all of them."""

import json
import tomllib

import pytest

from flitloom.commands import run
from flitloom.papers import Cell, Report, identifiers
from places import ROOT
from verbs import leave_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    leave_settings(monkeypatch, tmp_path)


def test_an_unknown_paper_is_told_in_two_lines(capsys):
    assert run(["papers", "run", "nonsense"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 2
    assert max(map(len, err.splitlines())) < 120
    assert "flitloom papers list" in err


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("cup-stacking-2023", "cup-stacking-extended-2023"),
        ("cup-stacking-2023/table-2", "cup-stacking-extended-2023/table-2"),
        ("throttling-2015", "state-propagation-throttling-2015"),
        ("Scaling-2007/figure-5", "scaling-effects-2007/figure-5"),
        ("angara-2021", "angara-routing-2021"),
        # Not every word is right: the nearest.
        ("cup-staking-2022", "cup-stacking-2022"),
    ],
)
def test_a_paper_is_suggested_by_its_words(asked, meant, capsys):
    assert run(["papers", "run", asked]) == 2
    assert f"there is no '{asked}'; did you mean {meant}?\n" in capsys.readouterr().err


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


@pytest.mark.parametrize("finished", [0, 2])
@pytest.mark.parametrize("as_json", [False, True])
def test_tables_that_are_finished_at_ctrl_c_are_kept(finished, as_json, tmp_path, monkeypatch, capsys):
    made = []

    def made_up(identifier, _context):
        if len(made) == finished:
            raise KeyboardInterrupt
        made.append(identifier)
        return Report(identifier, "made up", [Cell("a", "x", 3, 3)])

    monkeypatch.setattr("flitloom.commands.actions.papers.reproduce", made_up)
    words = ["papers", "run", "scaling-effects-2007", "-o", str(tmp_path), *(["--json"] if as_json else [])]
    assert run(words) == 130
    shown = capsys.readouterr()
    count = sum(name.startswith("scaling-effects-2007/") for name in identifiers())
    assert f"interrupted: {finished} of {count} tables and figures are finished\n" in shown.err
    page = tmp_path / "index.html"
    assert page.exists() == (finished > 0)
    if finished:
        text = page.read_text(encoding="utf-8")
        assert f"Interrupted: {finished} of {count} tables and figures are finished." in text
        assert all(name in text for name in made)
    if as_json:
        assert list(json.loads(shown.out)) == made
    else:
        assert ("In all: 2 of 2" in shown.out) == (finished == 2)


def test_there_are_five_papers():
    assert len(PAPERS) == 5
