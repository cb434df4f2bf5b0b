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
    assert run(["convert", "steps.json", "steps.goal", "--chunk-bytes", "32768"]) == 0
    capsys.readouterr()
    assert run(["simulate", "steps.goal", "--torus", "4", "--machine", "machine.toml"]) == 0
    printed = capsys.readouterr()
    assert "a cycle is 20.48 ns" in printed.out
    assert "one port" in printed.err


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
