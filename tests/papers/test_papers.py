"""The papers' tables: ours is pinned whole, and what is known to be reproduced stays so."""

import functools
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom import papers
from flitloom.commands import run
from flitloom.commands.actions import papers as papers_command
from flitloom.papers import Cell, Context, cup_stacking, cup_stacking_genetic, state_propagation
from flitloom.papers import angara_routing_2021_figure_5 as figure_5_angara
from flitloom.papers import cup_stacking_extended_2023_figure_5 as figure_5
from flitloom.papers import cup_stacking_extended_2023_table_4 as table_4
from flitloom.papers.cup_stacking_genetic import searches
from flitloom.papers.cup_stacking_optimal import optimal_columns

# The plain router's of the letter's Table 2 and the extended paper's, as an independent prototype of its text
# printed them; T_e is the largest occupation of a link.
LETTER = {
    "bcmp": [65, 45, 114, 99, 212, 174],
    "brev": [103, 100, 194, 173, 376, 323],
    "brot": [92, 70, 165, 148, 326, 260],
    "shfl": [95, 68, 246, 153, 528, 269],
    "torn": [67, 64, 123, 131, 235, 259],
    "trns": [74, 64, 130, 138, 242, 266],
}
EXTENDED = {
    "bcmp": [99, 99, 99, 99, 99, 99, 99, 99, 99, 99],
    "brev": [173, 198, 173, 196, 171, 191, 177, 177, 191, 202],
    "brot": [148, 162, 148, 162, 176, 146, 189, 189, 146, 147],
    "shfl": [153, 152, 153, 152, 153, 152, 158, 158, 152, 150],
    "torn": [131] * 10,
    "trns": [138] * 10,
}
# Table 2 of the Angara routing paper: BFS and SSSP as an independent prototype of the printed algorithms
# gave them, balanced at the proven optimum.
ANGARA = {
    "bfs, 4 nodes": [3, 1, 0.841, 2],
    "bfs, 8 nodes": [5, 3, 0.874, 3],
    "bfs, 16 nodes": [12, 4, 2.548, 4],
    "bfs, 32 nodes": [38, 3, 8.727, 5],
    "sssp, 4 nodes": [2, 2, 0.0, 2],
    "sssp, 8 nodes": [5, 3, 0.639, 3],
    "sssp, 16 nodes": [12, 5, 2.1, 4],
    "sssp, 32 nodes": [28, 8, 6.502, 5],
    "balanced, 8 nodes": [4, 4, 0.0, 3, 4],
    "balanced, 16 nodes": [10, 6, 1.695, 4, 10],
    "balanced, 32 nodes": [26, 9, 6.185, 5, 26],
}


@pytest.fixture
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick runs whose genetic searches are shorter still: nobody looks at what they find."""
    monkeypatch.setattr(cup_stacking, "QUICK", 20)


@functools.cache
def report(identifier: str) -> papers.Report:
    return papers.reproduce(identifier)


def rows(identifier: str, which: str = "computed") -> dict[str, list[object]]:
    table: dict[str, list[object]] = {}
    for cell in report(identifier).cells:
        table.setdefault(cell.row, []).append(getattr(cell, which))
    return table


def test_angara_table_2_follows_the_printed_algorithms() -> None:
    found = rows("angara-routing-2021/table-2")
    assert {name: found[name] for name in ANGARA} == ANGARA
    # The genetic search reaches the published largest loads or better.
    assert [found[f"genetic, {nodes} nodes"][0] for nodes in (2, 4, 8, 16, 32)] == [1, 2, 4, 10, 27]


@pytest.mark.parametrize(
    ("identifier", "cells", "plain"),
    [("cup-stacking-2022/table-2", 36, LETTER), ("cup-stacking-extended-2023/table-2", 60, EXTENDED)],
)
def test_every_deterministic_value_is_reproduced(
    identifier: str, cells: int, plain: dict[str, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(identifier) == rows(identifier, "paper")
    assert rows(identifier, "plain") == plain
    assert report(identifier).verdict.startswith(f"{cells} of {cells} published values reproduced, ")
    papers_command.show(report(identifier))
    assert "(" not in capsys.readouterr().out.partition("published values reproduced")[0]


def test_the_preset_is_the_published_router_for_commands(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["stack", "--torus", "16x16", "--pattern", "bcmp", "--arbitration", "C05", "--json"]
    found = []
    for preset in ([], ["--preset", "cup-stacking"]):
        assert run([*words, *preset]) == 0
        [row] = json.loads(capsys.readouterr().out)
        found.append(row["duration"])
    assert found == [EXTENDED["bcmp"][5], 91]
    assert fl.Router(preset=None) == fl.Router()


def test_campaigns_and_pages_take_the_preset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "one.toml", str(tmp_path / "runs.sqlite")
    fields = 'name = "one"\npatterns = ["bcmp"]\nslices = 2\npayload = 14\n[topology]\nsizes = "4x4"\n'
    file.write_text(fields + "[genetic]\ngenerations = 2\ntraining = 1\n", encoding="utf-8")
    best = []
    for preset in ([], ["--preset", "cup-stacking"]):
        assert run(["campaign", "run", str(file), "--store", store, *preset]) == 0
        capsys.readouterr()
        assert run(["campaign", "best", str(file), "--store", store, "--json", *preset]) == 0
        best.append(json.loads(capsys.readouterr().out))
        assert [row["searches"] for row in best[-1]] == [1]
    # Two routers are two searches in one store.
    assert best[0][0]["id"] != best[1][0]["id"]
    written = tmp_path / "written.toml"
    written.write_text(
        file.read_text(encoding="utf-8") + '[router]\npreset = "cup-stacking"\n', encoding="utf-8"
    )
    assert run(["campaign", "best", str(written), "--store", store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == best[1][0]["id"]
    assert run(["campaign", "status", str(file), "--preset", "cup"]) == 2
    assert "campaign.router.preset: 'cup' is unknown" in capsys.readouterr().err

    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[topology]\nsizes = "4x4"\n[traffic]\nkind = "collective"\npattern = "bcmp"\npayload = 14\n',
        encoding="utf-8",
    )
    pages = [tmp_path / "plain.html", tmp_path / "preset.html"]
    assert run(["view", str(spec), "-o", str(pages[0])]) == 0
    assert run(["view", str(spec), "--preset", "cup-stacking", "-o", str(pages[1])]) == 0
    assert pages[0].read_bytes() != pages[1].read_bytes()
    assert run(["view", "--live", "--preset", "cup-stacking", "-o", str(tmp_path / "live.html")]) == 2
    assert not (tmp_path / "live.html").exists()


@pytest.mark.parametrize("number", [4, 5, 6])
def test_pictures_of_routing(
    number: int, tmp_path: Path, pictures_are_looked_at: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [(2, 2), (4, 4)], [(2, 2, 2), (3, 3, 3)], [(2, 2, 2, 2)]
    monkeypatch.setattr(figure_5_angara, "population", lambda dimensions, _: few[dimensions - 2])
    monkeypatch.setattr("random.Random.sample", lambda _self, things, _count: list(things))
    assert (
        run(["papers", "run", f"angara-routing-2021/figure-{number}", "--quick", "--out", str(tmp_path)]) == 0
    )
    assert len(pictures_are_looked_at) == 1


@pytest.mark.parametrize("fastest", [1e-5, 1.3e-4])
@pytest.mark.parametrize("span", [1, 1.5, 45, 1e5])
def test_the_picture_of_times_is_legible_on_any_machine(
    fastest: float, span: float, tmp_path: Path, pictures_are_looked_at: list[Any]
) -> None:
    rows = [
        {
            "population": f"{dimensions}D",
            "sizes": [2 + side] * dimensions,
            "max_load": dict.fromkeys(("bfs", "sssp", "balanced"), 1),
            "seconds": {"bfs": fastest, "sssp": fastest * span ** (side / 3), "balanced": fastest * span},
        }
        for dimensions in (2, 3, 4)
        for side in range(4)
    ]
    context = Context(folder=tmp_path)
    figure_5_angara._picture(context, rows)
    assert len(pictures_are_looked_at) == 1


def test_statements_are_no_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert Cell("", "", True, True).status == "holds"
    assert Cell("", "", True, False).status == "does not hold"
    cells = [Cell("a", "x", 3, 3), Cell("a", "y", 5, 4, at_most=True), Cell("a", "z", True, False)]
    report = papers.Report("cup-stacking-2022/table-0", "", cells)
    assert report.verdict == (
        "1 of 1 published values reproduced, 1 of 1 published values reached (1 beaten), "
        "0 of 1 published statements hold; others in parentheses."
    )
    # What is true or not is counted, also where ours is a word; what an equation gives is no published value.
    with pytest.raises(AssertionError):
        Cell("a", "z", None, False)
    cells = [Cell("a", "z", True, "undecided"), Cell("a", "x", 0.5, 0.5, equation=True)]
    assert [cell.status for cell in cells] == ["undecided", "reproduced"]
    assert papers.Report("cup-stacking-2022/table-0", "", cells).verdict == (
        "1 of 1 values of equations reproduced, 0 of 1 published statements hold (1 undecided)."
    )
    assert run(["papers", "run", "angara-routing-2021/figure-4", "--out", str(tmp_path)]) == 0
    assert "13 of 13 published statements hold.\n" in capsys.readouterr().out


@pytest.mark.usefixtures("short_searches")
def test_an_option_without_effect_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for option, name in ((["--quick"], "quick"), (["--full"], "full"), (["--searches", "3"], "searches")):
        assert run(["papers", "run", "angara-routing-2021/figure-4", *option, "--out", str(tmp_path)]) == 0
        assert f"--{name} changes nothing in angara-routing-2021/figure-4\n" in capsys.readouterr().err
    quick = ["papers", "run", "cup-stacking-extended-2023/figure-6bc", "--quick", "--out", str(tmp_path)]
    assert run(quick) == 0
    shown = capsys.readouterr()
    assert "changes nothing" not in shown.err
    verdicts = [line for line in shown.out.splitlines() if " published statements hold" in line]
    assert verdicts[0].startswith("a quick run: ")
    assert sum(" published values reached" in line for line in shown.out.splitlines()) == len(verdicts) == 1


def test_options_with_an_effect_are_those_that_are_read() -> None:
    shared = Path(cup_stacking_genetic.__file__).read_text(encoding="utf-8")
    for identifier in papers.identifiers():
        text = Path(papers.find(identifier).__file__).read_text(encoding="utf-8")
        if "cup_stacking_genetic" in text:
            text += shared
        for _ in range(2):  # what they call may call another
            for name, helper in inspect.getmembers(state_propagation, inspect.isfunction):
                if f"{name}(context" in text:
                    text += inspect.getsource(helper)
        known = papers.options(identifier)
        assert ("quick" in known or "full" in known) == ("context.quick" in text), identifier
        assert ("searches" in known) == ("context.searches" in text), identifier


#: Figures whose searches take a quarter of a minute each.
SEARCHED = {"cup-stacking-extended-2023/figure-4", "cup-stacking-extended-2023/figure-5"}


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param(name, marks=pytest.mark.long if name in SEARCHED else ())
        for name in papers.identifiers()
        if "/figure" in name
    ],
)
def test_figures_come_out_as_picture_and_data(
    identifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], pictures_are_looked_at: list[Any]
) -> None:
    if not identifier.startswith("cup-stacking"):
        pytest.skip("pictures of other papers have their own tests")
    # Only searches have a smaller budget.
    budget = ["--quick", "--searches", "2"]
    assert run(["papers", "run", identifier, "--json", "--out", str(tmp_path), *budget]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert all({"row", "column", "paper", "computed"} <= cell.keys() for cell in cells)
    written = [file for file in tmp_path.iterdir() if file.suffix != ".sqlite"]
    assert len(pictures_are_looked_at) == 1
    picture, data = sorted(written, key=lambda file: file.suffix != ".png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(data.read_bytes().splitlines()) > 6


def test_every_reproduction_says_what_it_is() -> None:
    for identifier in papers.identifiers():
        module = papers.find(identifier)
        assert identifier == module.IDENTIFIER
        assert module.TITLE
        assert identifier.split("/")[0] in papers.SOURCES


def test_a_cell_is_reproduced_only_if_equal() -> None:
    assert Cell("", "", 3, 3).status == "reproduced"
    assert Cell("", "", 3, 4).status == "not reproduced"
    assert Cell("", "", None, 4).status == "no published value"


def test_an_unknown_table_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["papers", "run", "cup-stacking-2022/table-9"]) == 2
    assert (
        "there is no 'cup-stacking-2022/table-9'; did you mean cup-stacking-2022/table-2"
        in capsys.readouterr().err
    )


@pytest.mark.long
@pytest.mark.usefixtures("short_searches")
def test_columns_of_searches_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = [
        "papers",
        "run",
        "cup-stacking-extended-2023/table-3",
        "--quick",
        "--json",
        "--out",
        str(tmp_path),
    ]
    assert run([*table, "--column", "C05", "--column", "C01"]) == 0
    cells = json.loads(capsys.readouterr().out)
    published = {(cell["row"], cell["column"]): cell["paper"] for cell in cells}
    assert len(published) == 12
    assert published["brev", "C05"] == 162
    assert published["bcmp", "C01"] == 94
    assert run([*table, "--column", "C11", "--out", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
    assert "columns: 'C11' is unknown; they are C00, C01" in capsys.readouterr().err
    assert run(["papers", "run", "cup-stacking-2022/table-2", "--column", "C05"]) == 2
    assert "cup-stacking-2022/table-2 has none to choose" in capsys.readouterr().err


def test_no_published_schedule_is_shorter_than_ours() -> None:
    beside = {pattern: [row] for pattern, row in table_4.PUBLISHED.items()}
    cells, remarks = optimal_columns({"optimal": 2}, beside, Context())
    ours = {cell.row: int(str(cell.computed)) for cell in cells}
    assert all(ours[pattern] <= min(row) for pattern, row in table_4.PUBLISHED.items())
    assert ours["torn"] == 131
    assert "None of the 78 published durations" in remarks[0]
    impossible = {pattern: [[row[0] - 60]] for pattern, row in table_4.PUBLISHED.items()}
    assert "6 of the 6" in optimal_columns({"optimal": 2}, impossible, Context())[1][0]


def test_statements_of_table_4_are_those_of_the_published_values() -> None:
    published = [
        Cell(pattern, column, value, value)
        for pattern, row in table_4.PUBLISHED.items()
        for column, value in zip(table_4.METHODS, row, strict=True)
    ]
    said = table_4.statements(published)
    assert "full GA is shorter than w/o T_adj. Here so in 3 of 3 patterns." in said[0]
    assert all("(not" not in sentence for sentence in said)
    other = [cell if cell.column != "post S2" else replace(cell, computed=1) for cell in published]
    assert "0 of 6 patterns (not: bcmp 1 and 85" in table_4.statements(other)[4]


def test_steps_name_themselves() -> None:
    seen: list[tuple[str, int, int]] = []
    step = Context(progress=lambda *told: seen.append(told)).step("runs")
    assert step is not None
    step(1, 2)
    assert seen == [("runs", 1, 2)]


def test_searches_of_figure_5_are_those_it_names() -> None:
    sample = {"grid": figure_5.SAMPLE, "repeats": 5, "restarts": "any"}
    assert len(searches("sample", Context(quick=True), **sample).combinations()) == 18
    assert len(searches("paper", Context(quick=False)).combinations()) == 288
