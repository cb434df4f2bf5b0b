"""Formats of tables and of fabrics are closed lists: a new one is a file and a line."""

import sys
from types import ModuleType

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.fabric import cables, parse_fabric, reading
from flitloom.ground.outputs import write_text
from flitloom.tables.formats import known
from flitloom.tables.formats.form import Format
from flitloom.tables.formats.format import Listed, without_heading

TORUS = fl.Torus(4, 3)


def read(file, lines, _topology):
    """Routes as arrows between nodes, behind a heading."""
    listed = Listed(file)
    for number, line in lines:
        if number == 1:
            continue
        if not all(word.strip().isdigit() for word in line.split(">")):
            raise SpecError(f"{file}, line {number}: write 0 > 1 > 2")
        visited = [int(word) for word in line.split(">")]
        listed.add(visited[0], visited[-1], visited)
    return listed.arrays()


def write(tables, file):
    """The same written."""
    lines = [" > ".join(map(str, nodes)) for _, _, nodes in tables.routes()]
    write_text(file, "\n".join(["arrows", *lines]) + "\n")


@pytest.fixture
def arrows(monkeypatch):
    """A format that exists here only."""
    module = ModuleType("flitloom.tables.formats.arrows")
    module.FORMAT = Format(without_heading(read), write, lambda start: start.startswith(b"arrows"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # Before the last one, which takes every beginning.
    monkeypatch.setattr(known, "FORMATS", {(".arrows",): "arrows", **known.FORMATS})


@pytest.mark.usefixtures("arrows")
def test_a_format_of_tables_is_a_file_and_a_line(tmp_path, capsys):
    file = tmp_path / "t.arrows"
    assert run(["route", "--torus", "4x3", "-o", str(file)]) == 0
    assert file.read_text().splitlines()[:2] == ["arrows", "0 > 1"]
    assert fl.tables.read(file, TORUS) == fl.tables.make(TORUS)
    assert run(["check", str(file), "--torus", "4x3", "--rules", "angara"]) == 0
    assert "passed" in capsys.readouterr().out
    assert run(["check", str(file)]) == 2
    assert "name it with --torus or --mesh" in capsys.readouterr().err
    file.write_text("arrows\n0 > x\n")
    with pytest.raises(SpecError, match="line 2: write 0 > 1 > 2"):
        fl.tables.read(file, TORUS)


def test_without_the_line_there_is_no_such_format(tmp_path, capsys):
    file = tmp_path / "t.arrows"
    assert run(["route", "--torus", "4x3", "-o", str(file)]) == 2
    assert ".json or .csv or .npz or .lft or .txt" in capsys.readouterr().err
    file.write_text("arrows\n0 > 1\n")
    with pytest.raises(SpecError, match="no switch found"):
        fl.tables.read(file, TORUS)


@pytest.mark.parametrize("ending", known.endings())
def test_every_format_gives_back_what_was_written(ending, tmp_path):
    made = fl.tables.make(TORUS, method="coherent")
    file = tmp_path / f"t{ending}"
    known.written_as(ending).write(made, file)
    again = fl.tables.read(file, made.topology, made.rules)
    assert all(np.array_equal(a, b) for a, b in zip(again.listed(), made.listed(), strict=True))
    assert fl.tables.check(again).passed


def test_a_route_along_no_link_is_not_written_by_destination(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("source,destination,nodes\n0,5,0 5\n")
    with pytest.raises(SpecError, match="from node 0 to node 5 begins along no link"):
        fl.tables.read(file, TORUS).to_lft()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"operation": "reduce"}', 'has no "format" and no list of routes; a plan needs the one, tables'),
        ('{"routes": 3}', 'has no "format" and no list of routes'),
        ('{"format": "flitloom tables"}', "routes: a list of routes is needed"),
    ],
)
def test_a_file_of_no_format_is_told_what_it_lacks(text, message, tmp_path, capsys):
    (tmp_path / "some.json").write_text(text)
    assert run(["check", str(tmp_path / "some.json")]) == 2
    assert message in capsys.readouterr().err


def test_a_description_of_fabrics_is_a_line(monkeypatch):
    text = "pairs a-b b-c c-a"

    def parse(text, source):
        return cables.parse_cables("\n".join(pair.replace("-", ",") for pair in text.split()[1:]), source)

    with pytest.raises(SpecError, match="no fabric in it"):
        parse_fabric(text)
    monkeypatch.setattr(
        reading, "READERS", ((lambda text: text.startswith("pairs"), parse), *reading.READERS)
    )
    assert len(parse_fabric(text).cables) == 3
