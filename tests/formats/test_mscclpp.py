"""Execution plans of MSCCL++, laid out here as its executor reads them: replayed, refused, read as plans."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.collectives.msccl import msccl_text
from flitloom.collectives.mscclpp import mscclpp_text
from flitloom.commands import run
from flitloom.spec.ground import Ground


def gpu(
    number: int, sizes: tuple[int, int, int], blocks: list[Any], peer: int, remote: str
) -> dict[str, Any]:
    """A GPU with one memory channel to a peer and one of its buffers."""
    return {
        "id": number,
        "input_chunks": sizes[0],
        "output_chunks": sizes[1],
        "scratch_chunks": sizes[2],
        "threadblocks": [
            {
                "id": place,
                "ops": operations,
                "channels": [{"channel_type": "memory", "channel_ids": [0]}],
                "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
            }
            for place, operations in enumerate(blocks)
        ],
        "channels": [{"channel_type": "memory", "connected_to": [peer]}],
        "remote_buffers": [{"rank": peer, "type": remote, "access_channel_types": ["memory"]}],
    }


def plan(collective: str, gpus: list[Any], inplace: bool = True) -> dict[str, Any]:
    return {
        "name": "x", "collective": collective, "protocol": "Simple", "inplace": inplace, "gpus": gpus,
        "num_threads_per_block": 1024, "use_double_scratch_buffer": False, "buffer_alignment": 16,
        "min_message_size": 0, "max_message_size": 18446744073709551615,
    }  # fmt: skip


def order(name: str) -> dict[str, Any]:
    return {"name": name, "channel_ids": [0], "channel_type": "memory"}


def local(kind: str, index: int, size: int = 1) -> dict[str, Any]:
    return {"type": kind, "index": index, "size": size}


def remote(index: int, size: int = 1) -> dict[str, Any]:
    return {"buffer_id": 0, "index": index, "size": size}


def move(name: str, sources: list[Any], targets: list[Any]) -> dict[str, Any]:
    return {"name": name, "src_buff": sources, "dst_buff": targets} | order(name)


def all_gather(**changes: Any) -> dict[str, Any]:
    """Two GPUs that meet, put their chunks into each other's output, and meet again, in place."""
    gpus = []
    for rank in range(2):
        operations = [
            order("signal"), order("wait"), {"name": "nop"},
            move("put", [local("o", rank)], [remote(rank)]), {"name": "nop"}, order("signal"), order("wait"),
        ]  # fmt: skip
        gpus.append(gpu(rank, (1, 2, 0), [operations], 1 - rank, "o"))
    gpus[1]["threadblocks"][0]["ops"][3].update(changes)
    return plan("allgather", gpus)


def packets() -> dict[str, Any]:
    """An all-reduce by packets: each puts its half into the other's scratch, adds, and sends the sum on."""
    gpus = []
    for rank in range(2):
        other = 1 - rank
        send = [move("ppkt", [local("i", other)], [remote(other)])]
        add = [
            move("repkt", [local("i", rank), local("s", rank)], [local("i", rank)]),
            move("ppkt", [local("i", rank)], [remote(2 + rank)]),
        ]
        receive = [move("upkt", [local("s", 2 + other)], [local("i", other)])]
        gpus.append(gpu(rank, (2, 2, 4), [send, add, receive], other, "s"))
    return plan("allreduce", gpus)


def reads() -> dict[str, Any]:
    """An all-reduce in which everybody reads the other's half, adds it, and puts the sum into both."""
    gpus = []
    for rank in range(2):
        operations = [
            order("signal"), order("wait"),
            move("rres", [local("i", rank), remote(rank)], [local("i", rank), remote(rank)]),
            order("signal"), order("wait"),
        ]  # fmt: skip
        gpus.append(gpu(rank, (2, 2, 0), [operations], 1 - rank, "i"))
    return plan("allreduce", gpus)


def blocks_that_meet(late: bool = False) -> dict[str, Any]:
    """Two threadblocks of a GPU: one waits for what comes, the other one passes it on behind a semaphore."""
    after = {"name": "sem_acquire", "semaphore_ids": [0]}
    done = {"name": "sem_release", "semaphore_ids": [0]}
    both = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}
    gpus = []
    for rank in range(2):
        first = [
            move("put", [local("i", 0)], [remote(rank)]),
            {"name": "nop"},
            order("signal"),
            order("wait"),
            after if late else done,
            both,
        ]
        second = [
            after,
            both,
            move("copy", [local("i", 0), local("s", 1 - rank)], [local("o", rank), local("o", 1 - rank)]),
        ]
        one = gpu(rank, (1, 2, 2), [first, second], 1 - rank, "s")
        gpus.append(one | {"semaphores": [{"init_value": 0}]})
    return plan("allgather", gpus, inplace=False)


def checked(data: Any, tmp_path: Path, topology: fl.Topology | None = None) -> dict[str, Any]:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    assert formats.format_of(file).name == "mscclpp"
    return formats.check(file, None if topology is None else Ground(topology))


def test_plans_of_others(tmp_path: Path) -> None:
    for data, steps in [(all_gather(), 1), (packets(), 2), (reads(), 2), (blocks_that_meet(), 1)]:
        report = checked(data, tmp_path, fl.Torus(2))
        assert (report["problems"], report["steps"], report["gpus"]) == ([], steps, 2)
    # A link that a line of three nodes has not, and the form with "type" for the type of a channel.
    old = deepcopy(all_gather())
    for one in old["gpus"]:
        one["channels"] = [{"type": "memory", "connected_to": one["channels"][0]["connected_to"]}]
    assert checked(old, tmp_path)["passed"]


def test_what_is_wrong_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unsignalled = all_gather()
    unsignalled["gpus"][0]["threadblocks"][0]["ops"][5] = {"name": "nop"}
    rushed = blocks_that_meet()
    for one in rushed["gpus"]:
        del one["threadblocks"][0]["ops"][3]
    twice = reads()
    twice["gpus"][0]["threadblocks"][0]["ops"].insert(3, twice["gpus"][0]["threadblocks"][0]["ops"][2])
    for data, message in [
        (
            all_gather(src_buff=[local("o", 0)]),
            "gpu 1, threadblock 0, op 3: chunk 0 of buffer o holds nothing yet",
        ),
        (all_gather(dst_buff=[remote(0)]), "gpu 1, threadblock 0, op 3: chunk 0 of buffer o holds (1, 0)"),
        (
            all_gather(dst_buff=[remote(2)]),
            "gpu 1, threadblock 0, op 3: dst_buff: chunk 2; buffer o of gpu 0 has 2",
        ),
        (unsignalled, "gpu 1, threadblock 0, op 6: waits forever (wait)"),
        (rushed, "gpu 0, threadblock 1, op 2: chunk 1 of buffer s holds nothing yet"),
        (twice, "gpu 0, threadblock 0, op 3: something is added twice"),
        (blocks_that_meet(late=True), "waits forever"),
    ]:
        problems = checked(data, tmp_path)["problems"]
        assert any(message in text for text in problems), problems
    bad = all_gather()
    del bad["gpus"][1]["threadblocks"][0]["ops"][3]["src_buff"][0]["index"]
    for data, message in [
        (bad, "gpu 1, threadblock 0, op 3: src_buff: index: is missing"),
        (all_gather(name="glres"), "gpu 1, threadblock 0, op 3: name: 'glres' is unknown"),
        (all_gather(channel_ids=[1]), "gpu 1, threadblock 0, op 3: channel_ids"),
        (all_gather(dst_buff=[remote(0, 2)]), "gpu 1, threadblock 0, op 3: pieces of [1, 2] chunks"),
        (all_gather() | {"collective": "gossip"}, "collective: 'gossip' is unknown"),
        (all_gather() | {"gpus": all_gather()["gpus"][::-1]}, "gpus[0]: id"),
    ]:
        file = tmp_path / "bad.json"
        file.write_text(json.dumps(data), encoding="utf-8")
        assert run(["check", str(file), "--torus", "2", "--json"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err


@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize("ending", ["mscclpp.json", "xml"])
def test_plans_come_back_as_they_were(
    operation: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("plan.json", f"plan.{ending}", "again.json")
    first, other, again = (str(tmp_path / name) for name in names)
    for network in (["--mesh", "2x3"], ["--torus", "3x4", "--fail", "link:0-1"], ["--torus", "2x2x3"]):
        assert run(["collective", operation, *network, "--chunks", "2", "-o", first]) == 0
        assert run(["convert", first, other]) == 0
        assert run(["convert", other, again, *network]) == 0
        mine, theirs = fl.collectives.read(first).expanded(), fl.collectives.read(again)
        assert fl.collectives.check(theirs)["problems"] == []
        assert theirs.model_dump() == mine.model_dump() | {
            "sums": sorted(mine.sums),
            "moves": sorted(mine.moves),
        }
        capsys.readouterr()
        assert run(["check", other, *network, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["steps"] <= mine.steps
    assert run(["check", other, "--mesh", "2x2x3"]) == 1
    assert run(["check", other, "--torus", "3x4"]) == 1
    assert run(["check", other, "--torus", "3x5"]) == 2
    assert run(["check", str(tmp_path / "none.xml")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["mscclpp.json", "xml"])
def test_twisted_and_parallel_links(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, other, again = (str(tmp_path / name) for name in ("plan.json", f"plan.{ending}", "again.json"))
    twisted = ["--torus", "2x2x4", "--twist"]
    assert run(["collective", "all-to-all", *twisted, "-o", first]) == 0
    assert run(["convert", first, other]) == 0
    assert run(["convert", other, again, *twisted]) == 0
    mine, theirs = fl.collectives.read(first).expanded(), fl.collectives.read(again)
    assert (theirs.twist, theirs.moves) == (True, sorted(mine.moves))
    capsys.readouterr()
    assert run(["check", other, *twisted, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bound"] == mine.bound
    assert run(["check", other, "--torus", "2x2x4"]) == 1
    capsys.readouterr()
    # Two links between neighbours are two channels.
    wide = fl.collectives.plan(fl.Product("ring3*2 x ring3"), "all-gather")
    text = mscclpp_text(wide) if ending == "mscclpp.json" else msccl_text(wide)
    Path(other).write_text(text, encoding="utf-8")
    report = formats.check(other, Ground(fl.Product("ring3*2 x ring3")))
    assert (report["problems"], report["steps"]) == ([], wide.steps)


def test_steps_that_a_file_claims_are_not_believed(tmp_path: Path) -> None:
    data = json.loads(mscclpp_text(fl.collectives.plan(fl.Torus(4), "all-gather")))
    for one in data["gpus"]:
        for operation in one["threadblocks"][0]["ops"]:
            if "step" in operation:
                operation["step"] = 0
    checked(data, tmp_path)
    assert formats.read_plan(tmp_path / "plan.json", Ground(fl.Torus(4))).steps == 2


def test_packets_are_no_data_until_an_operation_has_read_them(tmp_path: Path) -> None:
    """Packets carry flags between the data: only operations that look for them take them apart."""
    into_output = all_gather()
    for one in into_output["gpus"]:
        one["threadblocks"][0]["ops"][3]["name"] = "ppkt"
    assert (
        "chunk 1 of buffer o holds nothing instead of (1, 0)" in checked(into_output, tmp_path)["problems"][0]
    )
    copied = packets()
    for rank, one in enumerate(copied["gpus"]):
        again = move("copy", [local("s", 3 - rank)], [local("i", 1 - rank)])
        one["threadblocks"][2]["ops"] += [{"name": "nop"}, again]
    assert checked(copied, tmp_path)["problems"][0] == (
        "gpu 0, threadblock 2, op 2: chunk 3 of buffer s holds packets, not data"
    )
