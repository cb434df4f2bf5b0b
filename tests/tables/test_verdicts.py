"""The printed verdict of tables: one layout, whatever kind of tables they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flitloom.commands import run

ROWS = ["network", "rules", "routes", "unreachable", "problems", "deadlock", "load", "lower bound", "lanes"]
KINDS = {
    "by source": (["--torus", "4x4x2", "--fail", "node:3"], "t.json", ["check", "t.json"]),
    "by destination": (["--network", "ring4 x full4"], "out", ["check", "--network", "ring4 x full4", "out"]),
    "twisted": (
        ["--torus", "4x8", "--twist"],
        "out",
        [
            "check",
            "--torus",
            "4x8",
            "--twist",
            "--lft",
            "out/opensm-lfts.dump",
            "--path-sl",
            "out/path-sl.txt",
        ],
    ),
}


def rows_of(text: str) -> tuple[dict[str, str], list[str]]:
    """What the rows of a report say, and the lines below them."""
    *lines, _ = text.splitlines()
    column = max(len(name) for name in ROWS if any(line.startswith(name) for line in lines))
    column = max([column, *(len("not verified") for line in lines if line.startswith("not verified"))])
    rows = [line for line in lines if not line.startswith("  ")]
    assert all(line[column : column + 2] == "  " and line[column + 2] != " " for line in rows)
    below = [line for line in lines if line.startswith("  ")]
    return {line[:column].rstrip(): line[column + 2 :] for line in rows}, below


@pytest.mark.parametrize("kind", KINDS)
def test_all_verdicts_have_the_same_rows(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made, out, checked = KINDS[kind]
    assert run(["route", *made, "-o", out]) == 0
    routed = capsys.readouterr().out.splitlines()
    assert run(checked) == 0
    text = capsys.readouterr().out
    assert run([*checked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    rows, below = rows_of(text)
    kinds = ["both ways", "managers", "multicast"]
    assert [row for row in rows if row not in kinds][: len(ROWS)] == ROWS
    assert [row for row in rows if row in kinds] == ([] if facts["traffic_kinds"] is None else kinds)
    assert set(rows) - {*ROWS, *kinds} <= {"verified", "not verified"}
    # Cycles of other traffic than that of pairs stand below the rows of its kind.
    cycles = [line for row in facts["traffic_kinds"] or [] for line in row["cycle"]]
    assert (below, text.splitlines()[-1]) == ([f"  {line}" for line in cycles], "passed")
    safe = "" if facts["safe_for"] is None else f"; {facts['safe_for']}"
    assert (rows["network"], rows["routes"]) == (facts["network"] + safe, str(facts["routes"]))
    assert re.fullmatch(rf"at most {facts['max_load']} (host )?pairs on a channel", rows["load"])
    gap = facts["max_load"] - facts["bound"]
    assert rows["lower bound"].startswith(f"{facts['bound']} (")
    assert rows["lower bound"].endswith(f"{facts['bound_proof']}): {f'gap {gap}' if gap else 'optimal'}")
    pairs = " (host pairs, each direction on its own level)" if safe else ""
    assert rows["deadlock"] == f"none possible{pairs}"
    # Where `route` prints the same rows, it does in the same words; the check proves the fraction anew.
    said = [line for line in routed if line.startswith("lower bound")]
    fraction = re.compile(r"[0-9]+\.[0-9]+")
    assert [fraction.sub("", re.split(r"  +", line, maxsplit=1)[1]) for line in said] == [
        fraction.sub("", rows["lower bound"])
    ]


def test_problems_and_cycles_stand_below_their_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["route", "--torus", "8", "--method", "dor", "-o", "ring.json"]) == 0
    assert run(["route", "--network", "ring6", "-o", "out"]) == 0
    capsys.readouterr()
    for checked, first in (
        (["check", "ring.json", "--rules", "unrestricted"], r"\([0-7]\)[+-]x"),
        (["check", "--network", "ring6", "--lft", "out/opensm-lfts.dump"], r"S[0-5]/\d -> S[0-5]/\d, lane 0"),
    ):
        assert run(checked) == 1
        text = capsys.readouterr().out
        rows, below = rows_of(text)
        assert rows["deadlock"].startswith(f"possible: {len(below)} channels wait for each other")
        assert text.splitlines()[-1] == "FAILED"
        assert re.fullmatch(f"  {first}", below[0])
    assert run(["check", "--network", "ring6", "--fail", "node:S3", "out"]) == 1
    rows, below = rows_of(capsys.readouterr().out)
    assert int(rows["problems"]) == int(rows["unreachable"].split()[0]) > 0
    assert below[0].startswith("  no route from ")
    assert "optimal" not in rows["lower bound"]


def test_tables_after_a_dead_node_say_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    network = ["--torus", "4x4", "--fail", "node:5"]
    assert run(["route", *network, "-o", "tables.json"]) == 0
    Path("to.csv").write_text("5\n" * 16, encoding="utf-8")
    capsys.readouterr()
    for tables in (["--tables", "tables.json"], []):
        load = ["--destinations", "to.csv", "--rate", "0.1", "--cycles", "100"]
        assert run(["simulate", *network, *tables, *load]) == 2
        message = capsys.readouterr().err
        assert (
            "node 0 sends to node 5, which has failed, and 14 more nodes do so; give destinations" in message
        )
        assert "routing tables can" not in message
