"""Plans in the formats of others, laid out here as their programs do: checked, refused, read as plans."""

import json
import re
from pathlib import Path

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.commands import run
from flitloom.spec.ground import Ground
from foreign_files import (
    Msccl,
    all_pairs_allreduce,
    chain_allreduce,
    forestcoll_allreduce,
    forestcoll_trees,
    ring_allreduce,
    teccl_all_gather,
    teccl_all_to_all,
    tree_allreduce,
)


def checked(text: str, tmp_path: Path, topology: fl.Topology | None = None, ending: str = "xml") -> dict:
    file = tmp_path / f"foreign.{ending}"
    file.write_text(text, encoding="utf-8")
    return formats.check(file, None if topology is None else Ground(topology))


@pytest.mark.parametrize("gpus", [3, 8, 64])
def test_rings_of_others(gpus: int, tmp_path: Path) -> None:
    report = checked(ring_allreduce(gpus), tmp_path, fl.Torus(gpus))
    # Every chunk has 2(N-1) hops, one after the other; there are 2N links and 2N(N-1) transfers.
    assert (report["problems"], report["steps"], report["bound"]) == ([], 2 * (gpus - 1), gpus - 1)
    assert not report["optimal"]
    twice = checked(ring_allreduce(gpus, channels=2), tmp_path, fl.Torus(gpus))
    assert (twice["passed"], twice["steps"], twice["bound"]) == (True, 4 * (gpus - 1), 2 * (gpus - 1))
    assert not checked(ring_allreduce(gpus), tmp_path, fl.Mesh(gpus))["passed"]


def test_trees_and_production_algorithms(tmp_path: Path) -> None:
    for gpus in (2, 7, 64):
        depth = gpus.bit_length() - 1
        report = checked(tree_allreduce(gpus), tmp_path)
        # All chunks together, from level to level, up and down.
        assert (report["problems"], report["steps"]) == ([], 2 * depth * gpus)
        report = checked(forestcoll_allreduce(gpus), tmp_path)
        assert (report["problems"], report["steps"]) == ([], 2 * depth * gpus)
    # A path of 64 nodes, there and back; on a line every link exists.
    report = checked(chain_allreduce(64), tmp_path, fl.Mesh(64))
    assert (report["problems"], report["steps"]) == ([], 126)
    report = checked(all_pairs_allreduce(8), tmp_path)
    assert (report["problems"], report["steps"]) == ([], 8)
    # Without the nops, sums are taken before everything has come.
    rushed = re.sub(r'depid="\d" deps="\d"', 'depid="-1" deps="-1"', all_pairs_allreduce(3))
    assert any("holds nothing yet" in text for text in checked(rushed, tmp_path)["problems"])
    # A dependency that nobody marks.
    silent = all_pairs_allreduce(3).replace('hasdep="1"', 'hasdep="0"')
    assert any("whose hasdep is not 1" in text for text in checked(silent, tmp_path)["problems"])


def test_flaws_are_one_message_with_gpu_threadblock_and_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def two(changed: str, **changes: object) -> str:
        made = Msccl("allgather", 2, 1, 2)
        for gpu in range(2):
            block = made.block(gpu, 1 - gpu, 1 - gpu)
            made.step(gpu, block, "cpy", ("i", 0), ("o", gpu))
            made.step(gpu, block, "s", ("i", 0), ("o", gpu))
            made.step(gpu, block, "r", ("i", 0), ("o", 1 - gpu))
        block, place = 0, 1 if changed == "s" else 2
        number = next(n for n, step in enumerate(made.blocks[1][block][3]) if step[0] == changed)
        assert number == place
        step = list(made.blocks[1][block][3][number])
        for name, value in changes.items():
            step[("kind", "source", "target", "count", "after", "has").index(name)] = value
        made.blocks[1][block][3][number] = tuple(step)
        return made.text()

    assert checked(two("s"), tmp_path, fl.Torus(2))["problems"] == []
    for text, message in [
        (two("s", source=("i", 1)), "gpu 1, threadblock 0, step 1: srcoff: chunk 1; buffer 'i' has 1"),
        (two("r", target=("o", 1)), "gpu 1, threadblock 0, step 2: chunk 1 of buffer o holds (0, 0)"),
        (two("s", after=(0, 1)), "gpu 1, threadblock 0, step 1: waits for itself"),
        (two("s", after=(0, 2)), "gpu 1, threadblock 0, step 1: waits for itself"),
        (two("s", after=(3, 0)), "gpu 1, threadblock 0, step 1: depid, deps: waits for step 0 of"),
        (two("r", count=2, target=("o", 0)), "gpu 1, threadblock 0, step 2: receives 2 chunks, 1 were sent"),
        (two("s", kind="nop"), "gpu 0, threadblock 0, step 2: waits forever (r: a message from gpu 1"),
        (two("r", kind="nop"), "gpu 1: 1 message from gpu 0 over channel 0 is never received"),
    ]:
        report = checked(text, tmp_path, fl.Torus(2))
        assert message in report["problems"][0]
        assert run(["check", str(tmp_path / "foreign.xml"), "--torus", "2", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["passed"] is False
    for text, message in [
        ("", "the file is empty"),
        (
            two("s")[: two("s").index("</tb>", 400)],
            "the last that can be read is gpu 0, threadblock 0, step 2",
        ),
        (two("s").replace("<algo", "<DOCTYPE", 1), "is not XML"),
    ]:
        (tmp_path / "foreign.xml").write_text(text, encoding="utf-8")
        assert run(["check", str(tmp_path / "foreign.xml"), "--torus", "2", "--json"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err


@pytest.mark.parametrize(
    ("name", "text", "command", "message"),
    [
        ("plan.json", "", ["check"], "plan.json: the file is empty"),
        ("plan.json", "", ["simulate"], "plan.json: the file is empty"),
        ("plan.json", "", ["convert", "out.xml"], "plan.json: the file is empty"),
        (
            "plan.json",
            '{"format": "flitloom collective 1", "steps": 3,',
            ["check"],
            "plan: plan.json: Invalid JSON: EOF",
        ),
        (
            "ring.xml",
            ring_allreduce(4),
            ["simulate"],
            "ring.xml: does not say what network it is for; name it with --torus 4x4",
        ),
        ("ring.xml", "<algo/>", ["check"], "ring.xml: algo: ngpus: is missing"),
        ("ring.xml", '<algo ngpus="2"/>', ["check"], "ring.xml: algo: coll: is missing; it is allgather"),
        (
            "ring.xml",
            re.sub(' type="r"', "", ring_allreduce(4)),
            ["check"],
            "ring.xml: gpu 0, threadblock 0, step 6: type: is missing; it is s, r",
        ),
        ("trace.goal", "num_ranks 4\n", ["check"], "trace.goal: a message graph promises nothing to check"),
        (
            "trace.goal",
            "num_ranks 4\nrank 0 {\nl1: sen",
            ["simulate", "--torus", "2x2"],
            "trace.goal: line 3: l1: sen",
        ),
    ],
)
def test_files_that_are_something_else_or_cut_off(
    name: str, text: str, command: list[str], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    assert run([command[0], name, *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "missing",
    ["minBytes", "maxBytes", "outofplace", "proto", "nchannels", "name", "s_chunks", "chan", "hasdep"],
)
def test_attributes_that_others_leave_out(missing: str, tmp_path: Path) -> None:
    text = re.sub(f' {missing}="[^"]*"', "", ring_allreduce(8))
    report = checked(text, tmp_path, fl.Torus(8))
    assert (report["problems"], report["steps"]) == ([], 14)


def moves_of(plan: fl.CollectivePlan) -> list[tuple[int, ...]]:
    return [tuple(row) for row in plan.expanded().moves]


def test_teccl_schedules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology = fl.Torus(3, 4)
    plan = fl.collectives.plan(topology, "all-gather", chunks=2)
    file = tmp_path / "teccl.json"
    # Epochs may have gaps: a chunk leaves as soon as it and its link are there.
    text = json.dumps(teccl_all_gather([(7 * step, *rest) for step, *rest in moves_of(plan)]))
    report = checked(text, tmp_path, topology, "json")
    assert (report["problems"], report["operation"], report["chunks"]) == ([], "all-gather", 2)
    assert report["steps"] == plan.steps == report["bound"]
    file.write_text(text, encoding="utf-8")
    assert formats.read_plan(file, Ground(topology)).moves == plan.expanded().moves
    # Their mesh joins all nodes whose numbers differ by one, also over the ends of rows.
    mesh = [(0, 0, 1, 0, 0), (0, 1, 0, 1, 0), (1, 1, 2, 0, 0), (0, 2, 3, 2, 0), (0, 2, 1, 2, 0)]
    file.write_text(json.dumps(teccl_all_gather(mesh)), encoding="utf-8")
    assert run(["check", str(file), "--mesh", "2x2", "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert any("7-Flows[2]: there is no link from node 1 to node 2" in text for text in problems)
    assert run(["check", str(file)]) == 2
    assert "topology: is missing" in capsys.readouterr().err
    # A chunk that never comes, and one that is passed on before it came.
    short = [row for row in moves_of(plan) if row[0] < plan.steps - 1]
    assert any(
        "never arrives" in text
        for text in checked(json.dumps(teccl_all_gather(short)), tmp_path, topology, "json")["problems"]
    )
    late = [row for row in moves_of(plan) if row[0]]
    assert any(
        "never gets chunk" in text
        for text in checked(json.dumps(teccl_all_gather(late)), tmp_path, topology, "json")["problems"]
    )


def test_teccl_exchanges(tmp_path: Path) -> None:
    topology = fl.Mesh(2, 3)
    plan = fl.collectives.plan(topology, "all-to-all", chunks=2)
    file = tmp_path / "teccl.json"
    file.write_text(json.dumps(teccl_all_to_all(moves_of(plan), topology.nodes)), encoding="utf-8")
    again = formats.read_plan(file, Ground(topology))
    assert (again.operation, again.chunks) == ("all-to-all", 2)
    assert plan.bound <= again.steps <= plan.steps
    # The same chunks over the same links, at the same time or before.
    assert sorted(row[1:] for row in again.moves) == sorted(row[1:] for row in plan.expanded().moves)
    for old, new, message in [
        ("volume 1.0", "volume 0.5", "parts of chunks"),
        ("in epoch 0", "in epoch 0 via switches 7", "via switches 7; tori and meshes have none"),
        ("traveled", "went", "7-Flows[0]: write Chunk 0 from 1"),
        ("Chunk 1 from 0", "Chunk 1 from 9", "node 9; the network has 6"),
        ("7-Flows", "7-flows", "7-Flows is missing"),
    ]:
        file.write_text(
            json.dumps(teccl_all_to_all(moves_of(plan), 6)).replace(old, new, 1), encoding="utf-8"
        )
        with pytest.raises(fl.SpecError, match=message.replace("[", r"\[")):
            formats.read_plan(file, Ground(topology))


@pytest.mark.parametrize("names", ["numbers", "coordinates", "gpus"])
def test_trees_of_forestcoll(
    names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(node: int) -> str:
        return {
            "numbers": str(node),
            "coordinates": str((node % 3, node // 3)),
            "gpus": f"(0, 'GPU', {node})",
        }[names]

    # A path from every node around the torus: right twice in its row, and down twice from there on.
    edges = {
        root: [
            (root // 3 * 3 + (root + hop) % 3, root // 3 * 3 + (root + hop + 1) % 3) for hop in range(2)
        ] + [
            ((root // 3 + turn) % 3 * 3 + column, (root // 3 + turn + 1) % 3 * 3 + column)
            for turn in range(2) for column in range(3)
        ]
        for root in range(9)
    }  # fmt: skip
    file = tmp_path / "trees.xml"
    file.write_text(forestcoll_trees(edges, name, trees=2), encoding="utf-8")
    assert formats.format_of(file).name == "forestcoll"
    report = formats.check(file, Ground(fl.Torus(3, 3)))
    assert (report["problems"], report["operation"], report["chunks"]) == ([], "all-gather", 2)
    # Only two of four links of every node are used: 9 x 2 x 6 / 9 chunks down, one after the other.
    assert (report["steps"] >= 12, report["bound"]) == (True, 4)
    plan = formats.read_plan(file, Ground(fl.Torus(3, 3)))
    assert len(plan.moves) == 9 * 8 * 2
    assert fl.collectives.check(plan)["passed"]
    assert run(["check", str(file), "--mesh", "3x3", "--json"]) == 1
    assert "there is no link" in json.loads(capsys.readouterr().out)["problems"][0]
    assert run(["check", str(file), "--torus", "3x4"]) == 2
    assert "trees grow from 9 nodes, the network has 12" in capsys.readouterr().err
    switched = file.read_text().replace(f'path="{name(0)},', f'path="{name(0)},(-1, 1, 0),', 1)
    file.write_text(switched, encoding="utf-8")
    assert run(["check", str(file), "--torus", "3x3"]) == 2
    assert "goes over (-1, 1, 0)" in capsys.readouterr().err
    trees = forestcoll_trees(edges, name, trees=2)
    monkeypatch.setattr("flitloom.collectives.forestcoll.MOST_SENDS", 142)
    file.write_text(trees, encoding="utf-8")
    assert run(["check", str(file), "--torus", "3x3"]) == 2
    assert "tree 17, send 6: more than 142 chunks over links" in capsys.readouterr().err
    monkeypatch.undo()
    file.write_text(trees.replace('nchunkspernode="2"', 'nchunkspernode="65537"'), encoding="utf-8")
    assert run(["check", str(file), "--torus", "3x3"]) == 2
    assert "nchunkspernode: 65537; at most 65536 are read" in capsys.readouterr().err
