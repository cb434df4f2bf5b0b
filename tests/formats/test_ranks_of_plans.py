"""MSCCL XML and MSCCL++ of plans over some nodes: ranks are dealt to those, and a file says which."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.collectives.members import ranks_file
from flitloom.collectives.msccl import msccl_text
from flitloom.collectives.mscclpp import mscclpp_text
from flitloom.commands import run
from flitloom.spec.ground import Ground


def neighbours(one, other, size=4):
    """Whether two nodes of a square torus are joined, by coordinates."""
    apart = [(a - b) % size for a, b in zip(divmod(one, size), divmod(other, size), strict=True)]
    return sorted(min(way, size - way) for way in apart) == [0, 1]


def sends(file):
    """Pairs of GPUs of which the first sends to the second."""
    if file.suffix == ".xml":
        for gpu in ElementTree.parse(file).getroot():
            for block in gpu:
                if block.get("send") != "-1":
                    yield int(gpu.get("id")), int(block.get("send"))
        return
    for gpu in json.loads(file.read_text())["gpus"]:
        for channel in gpu["channels"]:
            yield from ((gpu["id"], peer) for peer in channel.get("connected_to", ()))


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
def test_ranks_are_the_nodes_that_work(operation, ending, tmp_path, capsys):
    failed = ["--torus", "4x4", "--fail", "node:5"]
    plan, made = tmp_path / "plan.json", tmp_path / f"plan{ending}"
    assert run(["collective", operation, *failed, "-o", str(plan)]) == 0
    assert run(["convert", str(plan), str(made)]) == 0
    assert "rank r is the r-th node that takes part" in capsys.readouterr().err
    with made.with_name(f"{made.name.removesuffix(made.suffix)}.ranks.csv").open() as file:
        nodes = {int(row["rank"]): int(row["node"]) for row in csv.DictReader(file)}
    assert nodes == dict(enumerate([0, 1, 2, 3, 4, *range(6, 16)]))
    pairs = set(sends(made))
    assert {rank for pair in pairs for rank in pair} == set(range(15))
    assert all(neighbours(nodes[start], nodes[end]) for start, end in pairs)
    assert run(["check", str(made), *failed]) == 0
    assert run(["check", str(made), "--torus", "4x4"]) == 0
    assert run(["check", str(made), "--torus", "4x4", "--fail", "node:10"]) == 2
    assert f"{ranks_file(made).name}, line 11: node 10 has failed" in capsys.readouterr().err
    # Without the table of ranks they are the nodes that work, in order.
    ranks_file(made).unlink()
    assert run(["check", str(made), *failed]) == 0
    # Where another node has failed, the ranks behind it are others' neighbours.
    assert run(["check", str(made), "--torus", "4x4", "--fail", "node:10"]) == 1
    capsys.readouterr()
    assert run(["check", str(made), "--torus", "4x4"]) == 2
    told = capsys.readouterr().err
    assert "15 gpus, the network has 16 nodes; " in told
    assert (
        f"name the failed ones, e.g. --fail node:5, or say which they are in {ranks_file(made).name}" in told
    )


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize(
    ("network", "group"),
    [
        (["--torus", "4x4", "--fail", "node:5", "--fail", "link:0-1"], []),
        (["--torus", "4x4"], ["--nodes", "4-7"]),
        (["--mesh", "4x4", "--fail", "node:15"], ["--nodes", "1,2,5,6"]),
    ],
    ids=["failed", "row", "square"],
)
def test_such_files_are_read_back_as_the_plans_they_were(operation, ending, network, group, tmp_path, capsys):
    plan, made, back = tmp_path / "plan.json", tmp_path / f"plan{ending}", tmp_path / "back.json"
    assert run(["collective", operation, *network, *group, "-o", str(plan)]) == 0
    assert run(["convert", str(plan), str(made)]) == 0
    assert run(["convert", str(made), str(back), *network]) == 0
    assert run(["check", str(back)]) == 0
    one, other = fl.collectives.read(plan), fl.collectives.read(back)
    assert (other.members, other.steps) == (one.members, one.steps)
    assert sorted(other.expanded().moves) == sorted(one.expanded().moves)
    capsys.readouterr()
    assert run(["check", str(made), *network, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["bound"]) == (True, one.bound)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("0,4\n", "is not a table of ranks; it begins with rank,node"),
        ("rank,node\n0,4\n1,5\n2,6\n", "3 nodes for the 4 ranks of "),
        ("rank,node\n0,4\n1,5\n3,6\n", "line 4: rank 3 where 2 is next"),
        ("rank,node\n0,4\n1,x\n", "line 3: a rank and its node are needed, e.g. 0,4"),
        ("rank,node\n0,4\n1,16\n", "line 3: node 16 does not exist"),
        ("rank,node\n0,4\n1,4\n2,5\n3,6\n", "3 nodes for the 4 ranks of "),
    ],
)
def test_wrong_tables_of_ranks_are_told(table, message, tmp_path, capsys):
    plan, made = tmp_path / "plan.json", tmp_path / "plan.xml"
    assert run(["collective", "all-gather", "--torus", "4x4", "--nodes", "4-7", "-o", str(plan)]) == 0
    assert run(["convert", str(plan), str(made)]) == 0
    ranks_file(made).write_text(table, encoding="utf-8")
    capsys.readouterr()
    assert run(["check", str(made), "--torus", "4x4"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
def test_groups_have_ranks_of_their_own(ending, tmp_path, capsys):
    plan, made = tmp_path / "plan.json", tmp_path / f"plan{ending}"
    assert run(["collective", "all-reduce", "--torus", "4x4", "--nodes", "4-7", "-o", str(plan)]) == 0
    assert run(["convert", str(plan), str(made)]) == 0
    capsys.readouterr()
    assert run(["check", str(made), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["gpus"], found["operation"]) == (True, 4, "all-reduce")


def test_nodes_that_only_forward_have_no_rank():
    # Node 0 and 2 have no link: what they send each other goes over a node between them.
    plan = fl.collectives.plan(fl.Mesh(3), "all-gather", nodes=[0, 2])
    for write in (msccl_text, mscclpp_text):
        with pytest.raises(
            fl.SpecError, match=r"forwarded over node 1, which takes no part.*add these to --nodes"
        ):
            write(plan)


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
def test_how_far_reading_and_writing_are_is_told(ending, tmp_path):
    plan, made, back = tmp_path / "plan.json", tmp_path / f"plan{ending}", tmp_path / "back.json"
    fl.collectives.plan(fl.Torus(4, 4), "all-to-all").save(plan)
    written, read, checked = [], [], []
    how = formats.Writing(told=lambda *done: written.append(done))
    formats.convert(plan, made, None, how)
    assert written[-1] == (16, 16)
    how = formats.Writing(told_of_reading=lambda *done: read.append(done))
    ground = Ground(fl.Torus(4, 4))
    formats.convert(made, back, ground, how)
    formats.check(made, ground, lambda *done: checked.append(done))
    for told in (read, checked):
        assert len({total for _, total in told}) == 1
        assert told == sorted(told)
        assert 0 == told[0][0] < told[-1][0] <= told[-1][1]
