"""Every row of advice goes through the command line: made, checked by both programs, and simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flitloom.commands import run

#: Small networks: a torus with a failed cable, parallel links, a star of hosts behind a switch.
NETWORKS = ("--torus 3x2 --fail link:0-1", "--network ring3*2", "--graph star.csv")
SIZES = ("1KiB", "256KiB")


def _told(words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(words.split()) == 0, words
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "all-to-all"])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_row_is_made_checked_and_simulated(
    network: str,
    operation: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machine.toml").write_text('message = "20ns"\nflit = "1KiB"\n')
    Path("star.csv").write_text("a,port_a,b,port_b\nh0,1,s,1\nh1,1,s,2\nh2,1,s,3\n")
    asked = f"{network} --machine machine.toml"
    found = _told(
        f"collective advise {asked} --operation {operation} --size {SIZES[0]}:{SIZES[1]} --json", capsys
    )
    rows = {one["name"] for one in found["algorithms"] if one["plan"]}
    assert len(rows) >= (2 if operation == "all-to-all" else 3)
    for name in rows:
        for size, case in zip(SIZES, (found["cases"][0], found["cases"][-1]), strict=True):
            words = ["collective", operation, *asked.split(), "--size", size, "--algorithm", name]
            assert run([*words, "-o", "plan.json", "--json"]) == 0, words
            made = json.loads(capsys.readouterr().out)
            assert made["microseconds"] == pytest.approx(1e6 * case["seconds"][name], rel=1e-6, abs=1e-4)
            assert made["bound"] <= made["microseconds"] + 1e-4
            for verb in ("check", "recheck"):
                assert run([verb, "plan.json"]) == 0, (name, capsys.readouterr())
            capsys.readouterr()
            facts = _told("simulate plan.json --machine machine.toml --json", capsys)
            assert facts["microseconds"] > 0
            if "rounds" in facts:
                assert (facts["cycles"] == facts["model_cycles"]) == (not facts["differences"])
            else:
                assert facts["cycles"] <= facts["model_cycles"]
