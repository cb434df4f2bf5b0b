"""Files for programs that load algorithms of GPUs: within their limits, or refused by the limit's name."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.collectives.msccl import msccl_text
from flitloom.collectives.mscclpp import mscclpp_text
from flitloom.commands import run
from flitloom.spec.ground import Ground


def loads_in_msccl_executor(text: str) -> None:
    """The limits of msccl_parser.cc and msccl_struct.h, rank by rank."""
    assert text.startswith("<algo ")
    root = ElementTree.fromstring(text)
    assert root.get("coll") in {"allreduce", "reducescatter", "allgather", "alltoall"}
    gpus = root.findall("gpu")
    assert len(gpus) == int(root.get("ngpus")) <= 1024
    for gpu in gpus:
        blocks = gpu.findall("tb")
        assert 1 + len(gpus) + len(blocks) + len(gpu.findall("tb/step")) <= 4096
        assert [int(block.get("id")) for block in blocks] == list(range(len(blocks)))
        ends: dict[tuple[str, int, str], int] = {}
        for block in blocks:
            assert 0 <= int(block.get("chan")) < min(int(root.get("nchannels")), 32)
            for side in ("send", "recv"):
                if block.get(side) != "-1":
                    key = (side, int(block.get("chan")), block.get(side))
                    # A connection has one threadblock.
                    assert ends.setdefault(key, int(block.get("id"))) == int(block.get("id"))
            steps = block.findall("step")
            assert [int(step.get("s")) for step in steps] == list(range(len(steps)))
            assert len(steps) <= 64
            for step in steps:
                assert int(step.get("depid")) < 128
                assert int(step.get("cnt")) < 72
                for side in ("src", "dst"):
                    size = int(gpu.get(f"{step.get(f'{side}buf')}_chunks"))
                    assert 0 <= int(step.get(f"{side}off")) < min(size, 32768)


def loads_in_mscclpp(text: str) -> None:
    """The limits of execution_common.hpp."""
    for gpu in json.loads(text)["gpus"]:
        for block in gpu["threadblocks"]:
            assert len(block["ops"]) <= 64
            assert sum(len(one["remote_buffer_ids"]) for one in block["remote_buffer_refs"]) <= 16
            for one in block["ops"]:
                assert len(one.get("src_buff", ())) <= 10
                assert one.get("barrier_id", 0) < 16
                assert len(one.get("channel_ids", ())) <= 8


@pytest.mark.parametrize(
    ("topology", "operation", "chunks"),
    [
        (fl.Torus(3, 3), "all-reduce", 1),
        (fl.Torus(3, 3), "reduce-scatter", 2),
        (fl.Torus(4, 4), "all-gather", 20),
        (fl.Mesh(2, 3), "all-to-all", 17),
        (fl.Torus(4, 4, failed_links=["0-1"]), "all-reduce", 8),
    ],
)
def test_files_are_within_the_limits_and_do_the_same(
    topology: fl.Topology, operation: str, chunks: int, tmp_path: Path
) -> None:
    plan = fl.collectives.plan(topology, operation, chunks=chunks)
    for ending, text, loads in (
        ("xml", msccl_text(plan), loads_in_msccl_executor),
        ("mscclpp.json", mscclpp_text(plan), loads_in_mscclpp),
    ):
        loads(text)
        file = tmp_path / f"plan.{ending}"
        file.write_text(text, encoding="utf-8")
        assert formats.check(file, Ground(topology))["problems"] == []
        again, mine = formats.read_plan(file, Ground(topology)), plan.expanded()
        assert (again.moves, again.sums) == (sorted(mine.moves), sorted(mine.sums))
    if plan.steps > 64:
        # Threadblocks of more steps than a loader takes are several.
        assert ElementTree.fromstring(msccl_text(plan)).get("nchannels") == "2"


def test_who_takes_a_file_is_said_and_limits_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, xml, plus = (str(tmp_path / f"plan.{ending}") for ending in ("json", "xml", "mscclpp.json"))
    assert run(["collective", "all-gather", "--torus", "3x3", "-o", plan]) == 0
    capsys.readouterr()
    assert run(["convert", plan, xml]) == 0
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == (
        "",
        [f"note: {xml}: msccl-executor takes it", f"note: {xml}: msccl takes it"],
    )
    assert run(["convert", plan, plus, "--for", "mscclpp"]) == 0
    assert capsys.readouterr().err == f"note: {plus}: mscclpp takes it\n"
    assert run(["convert", plan, plus, "--for", "msccl"]) == 2
    assert "--for: msccl: is not a program that loads an execution plan of MSCCL++" in capsys.readouterr().err
    assert run(["convert", plan, str(tmp_path / "plan.goal"), "--for", "msccl"]) == 2
    assert "--for: msccl: is not a program that loads this file" in capsys.readouterr().err
    # 8 chunks from everybody in 128 steps of 4 x 4 nodes: 32 channels are not enough.
    big, left = str(tmp_path / "big.json"), tmp_path / "big.xml"
    assert run(["collective", "all-to-all", "--torus", "16", "--chunks", "80", "-o", big]) == 0
    capsys.readouterr()
    assert run(["convert", big, str(left), "--for", "msccl-executor"]) == 2
    message = capsys.readouterr().err
    assert "--for: msccl-executor does not take the file: " in message
    assert "channels, at most 32" in message
    assert not left.exists()
    assert run(["convert", big, str(left)]) == 0
    assert "msccl-executor does not take it: " in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["xml", "mscclpp.json", "goal", "bin"])
def test_what_a_format_cannot_hold_is_said(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, other = str(tmp_path / "plan.json"), str(tmp_path / f"plan.{ending}")
    for options, message in [
        (["--latency", "2"], "the format cannot hold the latency of links (2 steps"),
        (["--width", "2,1"], "the format cannot hold how many parallel links a dimension has (2,1)"),
    ]:
        assert run(["collective", "all-gather", "--torus", "3x3", *options, "-o", plan]) == 0
        capsys.readouterr()
        assert run(["convert", plan, other]) == 0
        assert message in capsys.readouterr().err
