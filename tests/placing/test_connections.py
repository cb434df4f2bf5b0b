"""Connection matrices of htsim are traffic of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.placing import read_traffic

MATRIX = (
    "Nodes 16\nConnections 3\n0->10 id 1 start 0 size 2000000\n1->10 id 2 start 0 size 5\n0->10 id 3 size 7\n"
)


def test_bytes_of_a_pair_are_the_sum_of_its_connections(tmp_path: Path) -> None:
    cm, rows = tmp_path / "inc.cm", tmp_path / "rows.csv"
    cm.write_text(MATRIX)
    rows.write_text("source,destination,bytes\n0,10,2000007\n1,10,5\n")
    assert read_traffic(cm) == read_traffic(rows, 16)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Connections 3", "Connections 4", "says 4 connections, and there are 3: was the file cut off"),
        ("1->10", "1->16", "line 4: node 16 does not exist; there are 16"),
        ("size 5", "size x", "line 4: size 'x' is not a whole number of bytes"),
        ("1->10 id 2", "1 to 10", "line 4: '1 to 10 start 0 size 5' is not a connection"),
    ],
)
def test_a_wrong_matrix_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "inc.cm").write_text(MATRIX.replace(old, new))
    with pytest.raises(fl.SpecError, match=message):
        read_traffic(tmp_path / "inc.cm")


def test_it_is_not_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inc.cm").write_text(MATRIX)
    assert run(["fabric", "show", str(tmp_path / "inc.cm")]) == 2
    assert "says who sends what, no network; flitloom place --traffic takes it" in capsys.readouterr().err
