"""The verdict of tables by source and by destination as JSON: one shape."""

import json
from pathlib import Path

from flitloom.commands import run


def test_one_verdict_tells_of_tables_by_source_and_by_destination(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("ring.csv").write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    assert run(["route", "--torus", "5", "--method", "dor", "-o", "t.json"]) == 0
    assert run(["route", "--fabric", "ring.csv", "-o", "out"]) == 0
    tables = json.loads(Path("t.json").read_text())
    del tables["routes"][:3]
    Path("less.json").write_text(json.dumps(tables))
    dumped = Path("out/opensm-lfts.dump").read_text().splitlines(keepends=True)
    # The first switch forwards nothing to the host of another one.
    dumped.remove(next(row for row in dumped if "Channel Adapter" in row and "'s1'" in row))
    Path("less.dump").write_text("".join(dumped))
    capsys.readouterr()
    dump = "--fabric ring.csv --lft out/opensm-lfts.dump"
    found = {}
    for words in (
        "t.json",
        f"{dump} --path-sl out/path-sl.txt",
        "t.json --rules unrestricted",
        dump,
        "less.json",
        f"{dump.replace('out/opensm-lfts', 'less')} --path-sl out/path-sl.txt",
    ):
        run(["check", *words.split(), "--json"])
        found[words] = json.loads(capsys.readouterr().out)
    given = list(found.values())
    right, stuck, short = given[:2], given[2:4], given[4:]
    for torus, fabric in (right, stuck, short):
        assert list(torus) == list(fabric)
        assert [torus[name] for name in ("passed", "deadlock")] == [
            fabric[name] for name in ("passed", "deadlock")
        ]
        assert {type(one["cycle"]) for one in (torus, fabric)} == {list}
    assert [one["passed"] for one in right] == [True, True]
    assert [(one["deadlock"], len(one["cycle"])) for one in stuck] == [(True, 5), (True, 5)]
    assert stuck[0]["cycle"][:2] == ["(0)+x", "(1)+x"]
    assert [(one["deadlock"], one["cycle"]) for one in (*right, *short)] == 4 * [(False, [])]
    assert [one["rules_from"].split(":")[0] for one in (*right, *stuck)] == [
        *("from the file", "from the file"),
        *("from --rules", "assumed"),
    ]
    for one in short:
        assert one["unreachable"] == len(one["unreachable_pairs"]) > 0
        assert one["routes"] + one["unreachable"] == 20
        assert one["problem_count"] >= one["unreachable"]
    assert short[0]["unreachable_pairs"] == ["node 0 to node 1", "node 0 to node 2", "node 0 to node 3"]
