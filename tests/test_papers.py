"""The papers' tables: ours is pinned whole, and what is known to be reproduced stays so."""

import json
from pathlib import Path

import pytest

from flitloom import papers
from flitloom.commands import run
from flitloom.papers import Cell, Context
from flitloom.papers import cup_stacking_extended_2023_figure_5 as figure_5
from flitloom.papers.cup_stacking_genetic import searches

# Ours of the letter's Table 2 and the extended paper's, as an independent prototype of the same router
# text printed them.
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


def rows(identifier: str) -> dict[str, list[object]]:
    table: dict[str, list[object]] = {}
    for cell in papers.reproduce(identifier).cells:
        table.setdefault(cell.row, []).append(cell.ours)
    return table


def test_angara_table_2_follows_the_printed_algorithms() -> None:
    found = rows("angara-routing-2021/table-2")
    assert {name: found[name] for name in ANGARA} == ANGARA
    # The genetic search reaches the published largest loads or better.
    assert [found[f"genetic, {nodes} nodes"][0] for nodes in (2, 4, 8, 16, 32)] == [1, 2, 4, 10, 27]


def test_letter_table_2_is_ours_cell_for_cell() -> None:
    assert rows("cup-stacking-2022/table-2") == LETTER


def test_extended_table_2_is_ours_cell_for_cell() -> None:
    assert rows("cup-stacking-extended-2023/table-2") == EXTENDED


@pytest.mark.parametrize("identifier", [name for name in papers.identifiers() if "/figure" in name])
def test_figures_come_out_as_picture_and_data(
    identifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not identifier.startswith("cup-stacking"):
        pytest.skip("pictures of other papers have their own tests")
    # Only searches have a smaller budget.
    budget = ["--quick", "--searches", "2"]
    assert run(["papers", "run", identifier, "--json", "--out", str(tmp_path), *budget]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert all({"row", "column", "paper", "ours"} <= cell.keys() for cell in cells)
    written = [file for file in tmp_path.iterdir() if file.suffix != ".sqlite"]
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
    assert "there is no 'cup-stacking-2022/table-9'; there are" in capsys.readouterr().err


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


def test_steps_name_themselves() -> None:
    seen: list[tuple[str, int, int]] = []
    step = Context(progress=lambda *told: seen.append(told)).step("runs")
    assert step is not None
    step(1, 2)
    assert seen == [("runs", 1, 2)]


def test_searches_of_figure_5_are_those_it_names() -> None:
    sample = {"grid": figure_5.SAMPLE, "repeats": 5, "restarts": "any"}
    assert len(searches("sample", Context(quick=True), **sample).combinations()) == 12
    assert len(searches("paper", Context(quick=False)).combinations()) == 288
