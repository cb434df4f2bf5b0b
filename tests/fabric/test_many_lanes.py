"""Links with up to 15 lanes: what ``check --lanes`` folds, and what tables are made for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabrics import ONE_WAY, command

RING = "a,b\nb,c\nc,d\nd,e\ne,a\nha,a\nhb,b\nhc,c\nhd,d\nhe,e\n"


def test_levels_fold_on_as_many_lanes_as_links_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "ring.csv", tmp_path / "out"
    file.write_text(RING)
    assert command(capsys, "route", "--fabric", file, *ONE_WAY, "-o", out)[0] == 0
    levels = out / "path-sl.txt"
    lines = [line.split() for line in levels.read_text().splitlines()]
    assert {line[-1] for line in lines if line[0].startswith("0x")} == {"0", "1"}

    def passes(lanes: int, level: int) -> bool:
        """With the second level as another one."""
        moved = [[*line[:-1], "0" if line[-1] == "0" else str(level)] for line in lines]
        levels.write_text("".join(" ".join(line) + "\n" for line in moved))
        words = ["--fabric", file, "--lft", out / "opensm-lfts.dump", "--path-sl", levels]
        code, said, _ = command(capsys, "check", *words, "--lanes", lanes, "--json")
        facts = json.loads(said)
        assert code == (0 if facts["passed"] else 1)
        return bool(facts["passed"])

    # A ring of five deadlocks on one lane: whenever both levels are on lane 0.
    for level in (1, 9, 11, 14):
        for lanes in (2, 7, 8, 9, 10, 11, 12, 14, 15):
            assert passes(lanes, level) is bool(level % lanes), (level, lanes)
    code, said, message = command(capsys, "check", out, "--fabric", file, "--lanes", 16)
    assert (code, said) == (2, "")
    assert "links have 1 to 15 lanes" in message


def test_tables_are_made_for_up_to_eight_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "ring.csv", tmp_path / "out"
    file.write_text(RING)
    for lanes, said in (
        (9, "tables are made for up to 8 lanes"),
        (15, "up to 8"),
        (16, "1 to 15"),
        (0, "1 to 15"),
    ):
        code, printed, message = command(capsys, "route", "--fabric", file, "--lanes", lanes, "-o", out)
        assert (code, printed) == (2, "")
        assert said in message
    assert not out.exists()
