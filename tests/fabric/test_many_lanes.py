"""Links with up to 15 lanes: what ``check --lanes`` folds, and tables that use them."""

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


def test_tables_are_made_for_up_to_15_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out, following = tmp_path / "ring.csv", tmp_path / "out", tmp_path / "next"
    file.write_text(RING)
    for lanes in (0, 16):
        code, printed, message = command(capsys, "route", "--fabric", file, "--lanes", lanes, "-o", out)
        assert (code, printed) == (2, "")
        assert "1 to 15" in message
    assert not out.exists()
    assert command(capsys, "route", "--fabric", file, "--lanes", 15, "--sm-lane", 12, "-o", out)[0] == 0
    facts = json.loads((out / "report.json").read_text())
    assert (facts["sm_sl"], facts["multicast_sl"]) == (12, 14)
    rows = [row.partition(":")[2].split() for row in (out / "sl2vl.dump").read_text().splitlines()]
    assert {tuple(row) for row in rows if row and row[-1] != "15"} == {tuple(map(str, [*range(15), 7]))}
    digits = [line.split()[3:] for line in (out / "slvl.txt").read_text().splitlines()]
    assert {tuple(row) for row in digits} == {
        ("0x01", "0x23", "0x45", "0x67", "0x89", "0xab", "0xcd", "0xe7")
    }

    def judged(folder: Path, *more: object) -> bool:
        code, said, _ = command(
            capsys, "check", "--fabric", file, folder, "--safe-for", "all", *more, "--json"
        )
        assert code == (0 if json.loads(said)["passed"] else 1)
        return code == 0

    assert judged(out)
    # On eight lanes level 14 is on the lane of level 6, 12 on that of 4: both still nobody else's.
    assert judged(out, "--lanes", 8)
    # Moved to levels above 7, pairs keep them in a repair.
    levels = out / "path-sl.txt"
    levels.write_text(levels.read_text().replace(" 1\n", " 9\n"))
    assert judged(out)
    words = ["--fabric", file, "--fail", "cable:a/1", "--from", out, "--lanes", 15, "-o", following]
    assert command(capsys, "route", *words)[0] == 0
    assert json.loads((following / "report.json").read_text())["moved_levels"] == 0
