"""Traces of PyTorch and of other programs: what starts a communication, and what is no trace."""

from pathlib import Path
from typing import Any

import pytest

from flitloom.commands import run
from flitloom.traces import Operation, read_chakra
from flitloom.traces.chakra import COLLECTIVE, SEND, chakra_bytes


def node(number: int, kind: int, **attributes: Any) -> dict[str, Any]:
    after = [number - 1] if number > 1 else []
    return {"id": number, "name": f"n{number}", "type": kind, "data_deps": after, "attr": attributes}


def test_calls_of_pytorch_that_start_a_communication_only_keep_order(tmp_path: Path) -> None:
    ranks = [
        [
            node(1, COLLECTIVE, is_cpu_op=("bool", True), pg_name=("string", "0")),
            node(
                2, COLLECTIVE, is_cpu_op=("bool", False), pg_name=("string", "0"),
                comm_type=("int64", 5), comm_size=("int64", 64),
            ),
            node(3, SEND, is_cpu_op=("bool", True)),
        ]
        for _ in range(2)
    ]  # fmt: skip
    for rank, nodes in enumerate(ranks):
        (tmp_path / f"trace.{rank}.et").write_bytes(chakra_bytes(nodes))
    read = read_chakra(tmp_path / "trace.et")
    assert [[one.kind for one in rank] for rank in read] == [
        ["calc", "send", "calc"],
        ["calc", "recv", "calc"],
    ]
    assert read[0][0] == Operation("calc", 0)
    assert [one.requires for one in read[0]] == [[], [0], [1]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rank-0.txt", "# rank 0\nMPI_Init:12.5:-:-:13.5\nMPI_Send:1:2:3\n", "is a trace of liballprof"),
        ("w.json", '{"phases": [{"transfers": [{"packet_size": 8}]}]}', "is a workload or trace of tt-npe"),
        ("w.yaml", "phases:\n  p1:\n    transfers:\n      - a: 1\n", "is a workload or trace of tt-npe"),
        (
            "t.json",
            '[{"proc": "BRISC", "noc": "NOC_0", "sx": 1, "sy": 2}]',
            "is a workload or trace of tt-npe",
        ),
        ("x.toml", "a = = 1", "no valid TOML"),
    ],
)
def test_traces_of_other_programs_are_called_what_they_are(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert run(["simulate", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
