"""One machine for advice, plans and simulations: the file, what it refuses, and the same time everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.spec.machine import MOST_LATENCY, Machine

FAST = 'bandwidth = "50GB/s"\nround = "1us"\nflit = "1KiB"\n'


def _told(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run([*words.split(), "--json"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def test_a_file_means_the_same_as_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text('bandwidth = "200Gb/s"\nround = "5us"\nmessage = "50ns"\n')
    said = "--alpha 5us --bandwidth 25GB/s --message-cost 50ns"
    advise = "collective advise --torus 4x4 --size 64KiB:1MiB"
    assert _told(f"{advise} --machine machine.toml", capsys) == _told(f"{advise} {said}", capsys)
    make = "collective all-reduce --torus 4x4 --algorithm best --size 64KiB"
    assert _told(f"{make} --machine machine.toml", capsys) == _told(f"{make} {said}", capsys)
    # Options overrule the file.
    overruled = _told(f"{make} --machine machine.toml --alpha 1us", capsys)
    assert overruled == _told(f"{make} --alpha 1us --bandwidth 25GB/s --message-cost 50ns", capsys)
    assert run(f"{advise} --machine machine.toml".split()) == 0
    printed = capsys.readouterr().out
    command = next(line for line in printed.splitlines() if "plan of the best" in line).partition(": ")[2]
    assert "--machine machine.toml" in command
    assert run(command.split()[1:]) == 0


@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce"])
def test_a_plan_takes_on_routers_what_it_takes_in_the_model_or_says_why_not(
    operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(FAST)
    machine = Machine.read("machine.toml")
    made = _told(
        f"collective {operation} --torus 4x4 --algorithm spheres --size 1MiB --machine machine.toml "
        "-o p.json",
        capsys,
    )
    facts = _told("simulate p.json --machine machine.toml", capsys)
    # 16 flits and a header a chunk; a round is 49 cycles of 20.48 ns.
    assert facts["flits_per_chunk"] == 17
    on_links = made["factor"] * 2**20 / 5e10 * 17 / 16
    assert facts["model_microseconds"] == pytest.approx(
        1e6 * (on_links + made["rounds"] * 49 * machine.cycle), rel=1e-3
    )
    assert facts["microseconds"] == pytest.approx(1e6 * facts["cycles"] * machine.cycle, abs=1e-4)
    assert facts["differences"]
    assert facts["microseconds"] < facts["model_microseconds"]
    fewer = _told("simulate p.json --machine machine.toml --ports 1", capsys)
    assert fewer["microseconds"] > facts["microseconds"]
    Path("one.toml").write_text(FAST + "ports = 1\n")
    assert _told("simulate p.json --machine one.toml", capsys) == fewer


def test_message_graphs_and_plans_in_steps_are_on_the_same_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(FAST)
    fl.collectives.plan(fl.Torus(4), "all-gather").save("steps.json")
    facts = _told("simulate steps.json --flits 32 --machine machine.toml", capsys)
    cycle = Machine.read("machine.toml").cycle
    assert facts["step_cycles"] == facts["flits_per_chunk"] + 49
    assert facts["microseconds"] == pytest.approx(1e6 * facts["cycles"] * cycle, abs=1e-4)
    assert run(["convert", "steps.json", "steps.goal", "--size", "128KiB", "--machine", "machine.toml"]) == 0
    assert "32768 bytes a chunk" in capsys.readouterr().err
    simulate = "simulate steps.goal --torus 4 --machine machine.toml"
    assert _told(simulate, capsys)["microseconds"] == facts["microseconds"] == facts["model_microseconds"]
    # Nodes that pass on what they receive at once: one port is slower.
    assert run(f"{simulate} --ports 1".split()) == 0
    printed = capsys.readouterr()
    assert "a cycle is 20.48 ns" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize("ports", [None, 1, 2])
@pytest.mark.parametrize("ending", ["goal", "bin", "et", "json"])
@pytest.mark.parametrize("words", ["all-reduce", "all-gather", "all-reduce --algorithm spheres --size 4KiB"])
def test_an_exported_plan_takes_as_long_as_the_plan(
    words: str,
    ending: str,
    ports: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """4 KiB on a torus of 4x3 nodes with a failed cable: chunks of a few flits of 32 bytes."""
    monkeypatch.chdir(tmp_path)
    said = "" if ports is None else f"ports = {ports}\n"
    Path("machine.toml").write_text('bandwidth = "50GB/s"\nround = "9ns"\nflit = "32B"\n' + said)
    assert run([*f"collective {words} --torus 4x3 --fail link:0-1 -o plan.json".split()]) == 0
    capsys.readouterr()
    rounds, chunk = "algorithm" in words, "" if "algorithm" in words else "--flits 11"
    alone = _told(f"simulate plan.json --machine machine.toml {chunk}", capsys)
    size = "" if rounds else "--size 4000"
    by_hop = "--by-hop" if rounds and ending != "json" else ""
    assert run(f"convert plan.json other.{ending} --machine machine.toml {size} {by_hop}".split()) == 0
    capsys.readouterr()
    file = {"et": "other.0.et"}.get(ending, f"other.{ending}")
    network = "" if ending == "json" else "--torus 4x3 --fail link:0-1"
    chunk = f"--flits {alone['flits_per_chunk'] - 1}" if ending == "json" else ""
    facts = _told(f"simulate {file} {network} --machine machine.toml {chunk}", capsys)
    assert facts.get("makespan", facts["cycles"]) == alone["cycles"]
    if ending == "json" or ports != 1:
        assert facts["microseconds"] == alone["microseconds"]
    else:
        assert 1e6 * facts["time"] == pytest.approx(alone["microseconds"], abs=1e-4)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rank 0 {{\nl1: send 8b to 2\n}}\n{1}rank 2 {{\nl1: recv 8b from 0\n}}\n{3}", "rank 0 to rank 2"),
        ("rank 0 {{\nl1: calc 5\n}}\n{1}{2}{3}", "computations"),
        (
            "rank 0 {{\nl1: send 8b to 1\nl2: send 9b to 1\n}}\nrank 1 {{\nl1: recv 8b from 0\n"
            "l2: recv 9b from 0\n}}\n{2}{3}",
            "several sizes",
        ),
        (
            "rank 0 {{\nl1: send 8b to 1\nl2: send 8b to 3\nl2 requires l1\n}}\nrank 1 {{\n"
            "l1: recv 8b from 0\n}}\n{2}rank 3 {{\nl1: recv 8b from 0\n}}\n",
            "wait until others have left",
        ),
    ],
)
def test_messages_that_need_one_port_say_why(
    text: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text('flit = "8B"\nround = "1ns"\n')
    empty = [f"rank {rank} {{\n}}\n" for rank in range(4)]
    Path("some.goal").write_text("num_ranks 4\n" + text.format(*empty))
    simulate = "simulate some.goal --torus 4 --calc-cycles 1 --machine machine.toml"
    assert run(simulate.split()) == 0
    printed = capsys.readouterr()
    assert "makespan" in printed.out
    assert why in printed.err
    assert "nodes have one port here" in printed.err
    assert run(f"{simulate} --ports 2".split()) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert why in refused.err
    assert run(f"{simulate} --ports 1".split()) == 0
    assert capsys.readouterr().err == ""


#: Links of x are twice as fast; a cable is slow.
UNEQUAL = {
    "x": ('bandwidth = "50GB/s"\nflit = "1KiB"\n[links]\nx = "100GB/s"\n', "ring4*2 x ring3"),
    "cable": ('bandwidth = "50GB/s"\nflit = "1KiB"\n[links]\n"0-1" = "25GB/s"\n', "4x3 torus with fast"),
}


@pytest.mark.parametrize("links", UNEQUAL)
@pytest.mark.parametrize("operation", ["all-reduce", "all-gather"])
def test_faster_links_are_never_slower_and_bounds_hold(
    operation: str,
    links: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text, network = UNEQUAL[links]
    Path("machine.toml").write_text(text)
    least, most = ("50GB/s", "100GB/s") if links == "x" else ("25GB/s", "50GB/s")
    ask = f"collective advise --torus 4x3 --operation {operation} --size 1MiB:64MiB"
    found, slow, fast = (
        _told(f"{ask} {said}", capsys)
        for said in ("--machine machine.toml", f"--bandwidth {least}", f"--bandwidth {most}")
    )
    assert network in found["network"]
    for case, below, above in zip(found["cases"], fast["cases"], slow["cases"], strict=True):
        assert below["seconds"][below["best"]] <= case["seconds"][case["best"]] * (1 + 1e-9)
        assert case["bound"] <= above["bound"] * (1 + 1e-9)
        assert case["bound"] <= case["seconds"][case["best"]] * (1 + 1e-9)
        assert case["seconds"][case["best"]] <= above["seconds"][above["best"]] * (1 + 1e-9)
    if links == "x":
        # Eleven twelfths of 64 MiB enter a node over what are six links of 50 GB/s.
        entered = (2 if operation == "all-reduce" else 1) * 11 / 72 * 2**26 / 50e9
        assert found["cases"][-1]["bound"] == pytest.approx(entered, rel=0.02)
    data = fl.collectives.advise(fl.Torus(4, 3), ["1MiB"], operation=operation, machine="machine.toml")
    assert data.bound.item() == pytest.approx(found["cases"][0]["bound"])


@pytest.mark.parametrize("links", UNEQUAL)
def test_a_plan_for_unequal_links_is_checked_and_simulated(
    links: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text, network = UNEQUAL[links]
    Path("machine.toml").write_text(text)
    Path("equal.toml").write_text(FAST)
    make = "collective all-reduce --torus 4x3 --size 4MiB --algorithm spheres -o p.json"
    made = _told(f"{make} --machine machine.toml", capsys)
    assert network in made["network"]
    assert run(["check", "p.json"]) == 0
    assert run(["recheck", "p.json"]) == 0
    capsys.readouterr()
    facts = _told("simulate p.json --machine machine.toml", capsys)
    cycle = 1024 / (50e9 if links == "x" else 25e9)
    assert facts["microseconds"] == pytest.approx(1e6 * facts["cycles"] * cycle, abs=1e-4)
    assert facts["differences"]
    # Twice as fast links of a dimension: less time than with none of them.
    _told(f"{make} --machine equal.toml", capsys)
    if links == "x":
        assert facts["microseconds"] < _told("simulate p.json --machine equal.toml", capsys)["microseconds"]
    assert run(["simulate", "p.json", "--machine", "machine.toml"]) == 2
    assert "plan with the same machine" in capsys.readouterr().err


def test_placements_and_jobs_are_on_the_same_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(FAST)
    cycle = Machine.read("machine.toml").cycle
    place = "place --torus 4x4 --axes tensor=4:a2a:64KiB,data=4:ring:256KiB --effort 1"
    facts = _told(f"{place} --phases tensor,data --machine machine.toml -o p.json", capsys)
    # A round per phase, and the bytes of their busiest channels.
    expected = 2.0 + 1e6 * facts["busiest_channel"] / 5e10
    assert facts["on_machine"]["placed"] == pytest.approx(expected, abs=1e-4)
    assert facts["on_machine"]["bound"] <= facts["on_machine"]["placed"]
    assert facts["on_machine"]["placed"] < facts["on_machine"]["row_major"]
    Path("one.toml").write_text(FAST + "ports = 1\n")
    ported = _told(f"{place} --phases tensor,data --machine one.toml", capsys)
    assert ported["on_machine"]["placed"] == pytest.approx(
        2.0 + 1e6 * ported["busiest_port"] / 5e10, abs=1e-4
    )
    run_alone = _told("simulate p.json --machine machine.toml", capsys)
    assert run_alone["time"] == pytest.approx(run_alone["duration"] * cycle)
    assert run_alone["duration"] * cycle * 1e6 > ported["on_machine"]["placed"]
    timed = _told(f"{place} --minimise time --machine machine.toml", capsys)
    assert timed["on_machine"]["simulated"] == pytest.approx(1e6 * timed["duration"] * cycle, abs=1e-4)
    table = '[[job]]\nname = "{}"\nshape = "4x2"\naxes = "all=8:ring:65536"\n'
    Path("jobs.toml").write_text(table.format("a") + table.format("b"))
    jobs = _told("place --torus 4x4 --jobs jobs.toml --machine machine.toml", capsys)["jobs"]
    assert len(jobs) == 2
    for job in jobs:
        assert job["on_machine"]["alone"] == pytest.approx(1e6 * job["alone"] * cycle, abs=1e-4)
        # A round and the bytes of a channel, at least.
        assert job["on_machine"]["alone"] >= 1 + 1e6 * job["busiest_channel"] / 5e10


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (
            'rond = "1us"',
            "collective advise --torus 4x4",
            "machine.toml: rond: unknown field; did you mean round?",
        ),
        ("bandwidth = 50", "collective advise --torus 4x4", "bandwidth: 50 is not a text with a unit"),
        ('bandwidth = "50GB"', "collective advise --torus 4x4", "write a bandwidth like 50GB/s"),
        ("ports = 0", "collective advise --torus 4x4", "ports: 0"),
        ("ports = 2", "collective advise --torus 4x4", "nodes have up to 4 links"),
        ("ports = 2", "collective all-gather --torus 4x4 --algorithm best --size 1MiB", "4 links"),
        ("[round]\nx = 1", "collective advise --torus 4x4", "round: {'x': 1} is not a text"),
        ("= 3", "collective advise --torus 4x4", "no valid TOML"),
        ('flit = "16B"', "simulate steps.json", "write a flit of at least 101B"),
        ("ports = 3", "simulate steps.goal --torus 4", "ports: 3"),
        ("ports = 2", "simulate steps.goal --network dragonfly(4,2,2)", "hosts of switches need one port"),
        (
            "[links]\nz = '1GB/s'",
            "collective advise --torus 4x4",
            "machine.links.z: 4x4 torus has 2 dimensions",
        ),
        ("[links]\n0-9 = '1GB/s'", "collective advise --torus 4x4", "neither a dimension nor a cable"),
        ("[links]\nx = '33.3GB/s'", "collective advise --torus 4x4", "not one of whole numbers up to 64"),
        ("[links]\nx = 3", "collective advise --torus 4x4", "links.x: 3 is not a text with a unit"),
        ("[links]\nx = '1GB/s'", "place --torus 4x4 --stencil 4x4", "links: placements are for links of one"),
        (
            "[links]\nx = '1GB/s'",
            "simulate steps.goal --torus 4",
            "links: message graphs are for links of one",
        ),
        ("[links]\nx = '1GB/s'", "convert steps.json s.goal", "links: files are written for links of one"),
        ("", "convert steps.goal other.bin", "belongs to plans of flitloom"),
        ("", "convert steps.json other.goal --size 1KiB --chunk-bytes 3", "--chunk-bytes says it, too"),
        ("", "convert steps.json other.goal --by-hop", "plans in rounds"),
        ("", "place --torus 4 --stencil 4 --minimise time --flit-bytes 8", "the machine says it, too"),
        ("", "simulate steps.goal --torus 4 --bandwidth 50GB/s", "the machine says it, too"),
        ("", "collective all-gather --torus 4x4", "they belong to --algorithm"),
    ],
)
def test_what_is_wrong_is_one_line(
    text: str,
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text(text + "\n")
    plan = fl.collectives.plan(fl.Torus(4), "all-gather")
    plan.save("steps.json")
    assert run(["convert", "steps.json", "steps.goal"]) == 0
    capsys.readouterr()
    assert run([*words.split(), "--machine", "machine.toml"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert said in printed.err


def test_the_flit_that_is_advised_is_enough() -> None:
    for rate, turn in ((50e9, 1e-6), (1e9, 3e-6), (400e9, 7e-7)):
        machine = Machine().model_copy(update={"bandwidth": rate, "round": turn, "flit": 1.0})
        with pytest.raises(fl.SpecError, match="write a flit of at least") as caught:
            _ = machine.latency
        least = int(str(caught.value).rpartition(" ")[2].rstrip("B"))
        assert machine.model_copy(update={"flit": float(least)}).latency <= MOST_LATENCY
