"""A plan that is exported chunk by chunk takes, simulated again, the cycles of the plan, on any network."""

import json
import random

import pytest

from flitloom.commands import run
from sample import sampled

NETWORKS = (
    "--torus 4x4",
    "--torus 4x3",
    "--torus 8",
    "--mesh 3x3",
    "--torus 4x3 --fail node:5",
    "--torus 3x3 --fail link:0-1",
    "--mesh 4x2 --fail link:1-2",
    "--network full4",
    "--network full4xring3",
    "--network twisted,2x4",
    "--network ring4*2xring3",
    "--network full2*3xring3",
)
OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce")
MACHINES = (
    'bandwidth = "50GB/s"\nround = "1us"\nflit = "1KiB"\n',
    'bandwidth = "25GB/s"\nround = "500ns"\nflit = "256B"\nmessage = "0ns"\n',
    'bandwidth = "50GB/s"\nround = "0.1us"\nflit = "1KiB"\nmessage = "50ns"\n',
)
#: Flits of a chunk of a plan in steps, where none are said.
FLITS = 16


def drawn(number: int) -> tuple[str, str, str, str, bool]:
    """A network, an operation, a size, a machine, and whether a plan in rounds is asked for."""
    dice = random.Random(number)
    return (
        NETWORKS[number % len(NETWORKS)],
        dice.choice(OPERATIONS),
        dice.choice(("1KiB", "5000B", "24KiB", "64KiB")),
        dice.choice(MACHINES),
        dice.random() < 0.6,
    )


@pytest.mark.parametrize("number", sampled(range(60), 5))
def test_exports_take_the_cycles_of_their_plan(number, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    network, operation, size, machine, in_rounds = drawn(number)
    (tmp_path / "machine.toml").write_text(machine)
    where = [word.replace(",", " ") for word in network.split()]

    def facts(*words: str) -> dict:
        assert run([*words, "--machine", "machine.toml", "--json"]) == 0, words
        return json.loads(capsys.readouterr().out)

    asked = ["--algorithm", "best", "--size", size, "--machine", "machine.toml"] * in_rounds
    assert run(["collective", operation, *where, *asked, "-o", "plan.json"]) == 0
    capsys.readouterr()
    plan = facts("simulate", "plan.json")
    form = json.loads((tmp_path / "plan.json").read_text())["format"]
    flit = 1024 if "1KiB" in machine else 256
    how = ["--by-hop"] if "rounds" in form else ["--chunk-bytes", str(FLITS * flit)]
    # Traces of many small messages take the longest: every second case has both files.
    for target, source in (("out.goal", "out.goal"), ("out.et", "out.0.et"))[: 1 + number % 2]:
        assert run(["convert", "plan.json", target, "--machine", "machine.toml", *how]) == 0
        capsys.readouterr()
        again = facts("simulate", source, *where)
        assert (again["cycles"], again["microseconds"]) == (plan["cycles"], plan["microseconds"])
    # The plan takes another time than its model only where a line says why.
    if "rounds" in form:
        assert (plan["cycles"] == plan["model_cycles"]) == (plan["differences"] == [])
        assert run(["convert", "plan.json", "out.goal", "--machine", "machine.toml"]) == 0
        assert "takes another time: --by-hop" in capsys.readouterr().err


def test_files_of_a_larger_trace_are_not_left_among_those_of_a_smaller_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for network in ("4x4", "4x2"):
        assert run(f"collective all-gather --torus {network} -o plan{network}.json".split()) == 0
    capsys.readouterr()
    assert run(["convert", "plan4x4.json", "out.et"]) == 0
    before = {file.name: file.read_bytes() for file in tmp_path.glob("*.et")}
    capsys.readouterr()
    assert run(["convert", "plan4x2.json", "out.et"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "out.8.et: is of another trace, and would be read as rank 8 of this one; remove its files" in said
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*.et")} == before


def test_messages_that_need_one_port_keep_the_routers_that_were_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").write_text(MACHINES[0])
    asked = ["--network", "ring4*2 x ring3", "--machine", "machine.toml"]
    words = ["collective", "all-reduce", *asked, "--algorithm", "best", "--size", "64KiB", "-o", "plan.json"]
    assert run(words) == 0
    assert run(["convert", "plan.json", "out.goal", "--machine", "machine.toml"]) == 0
    capsys.readouterr()
    assert run(["simulate", "out.goal", *asked]) == 2
    said = capsys.readouterr().err
    assert "nodes have one port here" in said
    assert "parallel links are not known with routers of one cycle" in said
