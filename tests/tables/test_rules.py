"""Nothing is believed from a file of tables: rules, headers and routes are looked at."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run

Fields = dict[str, Any]


def test_an_opensm_dump_is_judged_without_bubbles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump, certificate = str(tmp_path / "t.lft"), tmp_path / "c.json"
    assert run(["route", "--torus", "4x4", "--method", "coherent", "-o", dump]) == 0
    capsys.readouterr()
    check = ["check", dump, "--torus", "4x4"]
    assert run([*check, "--certificate", str(certificate)]) == 1
    text = capsys.readouterr().out
    # A ring of four links of one direction, one channel each, and nothing that keeps a slot free.
    assert "deadlock     possible" in text
    assert "1 channel per link, no bubble rule, any walk (assumed: the file brings none" in text
    assert not certificate.exists()
    assert run([*check, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["rules"]["virtual_channels"] == 1
    assert report["rules_from"].startswith("assumed: ")
    assert run([*check, "--rules", "angara", "--certificate", str(certificate)]) == 0
    assert "bubble rule, order +x +y -x -y (from --rules)" in capsys.readouterr().out
    written = json.loads(certificate.read_text())
    assert (written["rules"]["name"], written["rules_from"]) == ("angara", "from --rules")
    # On a mesh, forwarding in dimension order closes no cycle even so.
    fl.tables.make(fl.Mesh(4, 4), method="dor").to_lft(dump)
    assert run(["check", dump, "--mesh", "4x4"]) == 0


@pytest.mark.parametrize("name", ["t.json", "t.csv", "t.lft"])
def test_no_file_without_rules_is_judged_by_better_ones(name: str, tmp_path: Path) -> None:
    topology = fl.Torus(5, 4)
    tables = fl.tables.make(topology, method="coherent")
    if name == "t.json":
        minimal = {key: json.loads(tables.to_json())[key] for key in ("topology", "routes")}
        (tmp_path / name).write_text(json.dumps(minimal))
        report = fl.tables.check(tmp_path / name)
    else:
        (tables.to_csv if name == "t.csv" else tables.to_lft)(tmp_path / name)
        report = fl.tables.check(tmp_path / name, topology)
    assert (report.problem_count, report.deadlock) == (0, True)
    assert report.rules_from.startswith("assumed: ")
    assert fl.tables.check(tmp_path / name, topology, "angara").passed


def test_rules_are_told_by_what_they_are_and_not_by_their_name(tmp_path: Path) -> None:
    good = json.loads(fl.tables.make(fl.Torus(4, 4)).to_json())
    walk = [0, 4, 8, 9]  # +y +y +x: more than a first step against the order.
    routes = [each for each in good["routes"] if (each["source"], each["destination"]) != (0, 9)]
    routes.append({"source": 0, "destination": 9, "nodes": walk})
    file = tmp_path / "t.json"
    for version in (1, 2):
        rules = {**good["rules"], "name": "unrestricted"}
        del rules["any_walk"]
        minimal = {"version": version, "topology": good["topology"], "rules": rules, "routes": routes}
        file.write_text(json.dumps(minimal))
        report = fl.tables.check(file)
        assert not report.passed
        assert "direction order" in report.problems[0]
    file.write_text(json.dumps({**minimal, "rules": {**rules, "any_walk": True}}))
    assert fl.tables.check(file).problem_count == 0
    for change, message in [
        ({"format": "elsewhere"}, "format"),
        ({"version": 3}, "version"),
        ({"bound_exact": "1/0"}, "bound_exact"),
    ]:
        file.write_text(json.dumps({**minimal, **change}))
        with pytest.raises(fl.SpecError, match=message):
            fl.tables.read(file)


def test_packed_headers_heed_rules_and_network(tmp_path: Path) -> None:
    file = tmp_path / "t.npz"
    fl.tables.make(fl.Torus(8)).save_headers(file)
    assert fl.tables.check(file).passed
    report = fl.tables.check(file, rules="unrestricted")
    assert (report.deadlock, report.rules_from) == (True, "from --rules")
    with pytest.raises(fl.SpecError, match="for the 8 torus, not for the 4 torus"):
        fl.tables.check(file, fl.Torus(4))
    assert not fl.tables.check(file, fl.Torus(8, failed_links=[(0, 1)])).passed


def test_routes_are_held_against_the_turns(tmp_path: Path) -> None:
    # First and last steps around a failed node need turns against the order.
    good = json.loads(fl.tables.make(fl.Torus(4, 2, 2), failed_nodes=[3]).to_json())
    file = tmp_path / "t.json"

    def problems(change: Fields) -> list[str]:
        file.write_text(json.dumps({**good, **change}))
        return [line for line in fl.tables.check(file).problems if "turns of the tables forbid" in line]

    order = good["rules"]["order"]
    needed = {tuple(turn) for turn in good["turns"]}
    assert problems({}) == []
    taken = problems({"turns": []})
    assert taken
    # Every turn that was missed is one that the file had listed.
    for line in taken:
        words = line.split(" turns from ")[1].replace(",", "").split()
        along, out, node = words[0], words[2], int(words[5])
        assert (node, along, out) in needed
        assert order.index(along) > order.index(out)
    straight = next(each["nodes"] for each in good["routes"] if each["nodes"][:3] == [0, 1, 5])
    assert problems({"withheld_turns": [[straight[1], "+x", "+y"]]})


FORGED: list[tuple[Fields, str]] = [
    ({"bound": 9999, "bound_exact": "9999"}, "bound"),
    ({"bound": 9999, "bound_exact": "9999", "optimal": True}, "bound"),
    ({"max_load": 3}, "max_load"),
    ({"min_load": 99}, "min_load"),
    ({"perfect_load": 1.5}, "perfect_load"),
    ({"sigma4": 0.0}, "sigma4"),
    ({"max_distance": 2}, "max_distance"),
    ({"max_load": True}, "max_load"),
    ({"bound": "26"}, "bound"),
    ({"bound": 1}, "bound"),
    ({"optimal": "yes"}, "optimal"),
    ({"weighted": 1}, "weighted"),
]


@pytest.mark.parametrize(("change", "field"), FORGED, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("kind", ["json", "npz"])
def test_forged_tables_are_found_out(change: Fields, field: str, kind: str, tmp_path: Path) -> None:
    tables = fl.tables.make(fl.Torus(4, 2, 2, 2), method="sssp")
    assert not tables.optimal
    file = tmp_path / f"t.{kind}"
    if kind == "json":
        file.write_text(json.dumps({**json.loads(tables.to_json()), **change}))
    else:
        tables.save_headers(file)
        with np.load(file) as archive:
            headers, about = archive["headers"], json.loads(str(archive["about"]))
        np.savez(file, headers=headers, about=np.array(json.dumps({**about, **change})))
    read = fl.tables.read(file)
    assert (read.max_load, read.min_load, read.max_distance) == (28, 8, 5)
    assert not read.optimal
    assert read.bound <= 26
    report = fl.tables.check(file)
    assert not report.passed
    assert any(line.startswith(f"{field}:") for line in report.problems)


def test_what_cannot_be_proven_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = json.loads(fl.tables.make(fl.Torus(4, 2, 2, 2), method="sssp").to_json())
    file = tmp_path / "t.json"
    # A load of 28 is said to be least: not impossible, but nothing proves it.
    file.write_text(json.dumps({**good, "bound": 28, "bound_exact": "28", "optimal": True}))
    assert not fl.tables.read(file).optimal
    assert run(["check", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"bound", "bound_exact", "optimal", "method", "seed"} <= set(report["not_verified"])
    assert report["bound"] is None
    assert {"max_load", "sigma4"} <= set(report["verified"])
    assert run(["check", str(file)]) == 0
    assert "not verified  lower bound, exact bound, optimality: 26 is proven here" in capsys.readouterr().out
    # Weights that the file does not bring, and routes for some pairs only, prove nothing.
    for change in ({"weighted": True}, {"routes": good["routes"][:40]}):
        file.write_text(json.dumps({**good, **change}))
        assert not fl.tables.read(file).optimal
    # An honest file says the same when it is read.
    honest = fl.tables.make(fl.Torus(4, 2, 2, 2))
    honest.to_json(file)
    assert (fl.tables.read(file).bound, fl.tables.read(file).optimal) == (26, True)
    assert "optimal" in fl.tables.check(file).claims.verified


@pytest.mark.parametrize("turns", ["none", "direction-sets", "closed-form", "exact", "on-demand"])
@pytest.mark.parametrize("method", ["balanced", "bfs", "dor", "coherent"])
def test_advice_serves_every_pair(turns: str, method: str) -> None:
    draw = random.Random(f"{turns} {method}")
    named = 0
    for _ in range(16):
        kind, sizes = draw.choice(
            [(fl.Torus, (4, 4)), (fl.Mesh, (4, 3)), (fl.Torus, (5, 3)), (fl.Torus, (4, 2, 2))]
        )
        count = int(np.prod(sizes))
        failed = draw.sample(range(count), draw.randint(1, 3))
        options: Any = {"turns": turns, "method": method}
        if draw.random() < 0.8:
            options["rules"] = "angara"
        try:
            fl.tables.make(kind(*sizes, failed_nodes=failed), **options)
            continue
        except fl.UnreachableError as error:
            text = str(error)
        if "would serve every pair" not in text:
            continue
        changes = text.rpartition("; ")[2].removesuffix(" would serve every pair").split(" or ")
        for change in changes:
            named += 1
            words = change.split()
            if words[0] == "rules":
                fl.tables.make(kind(*sizes, failed_nodes=failed), **(options | {"rules": words[1]}))
            elif words[0] == "method":
                fl.tables.make(kind(*sizes, failed_nodes=failed), method=words[1], turns=words[4])
            elif words[0] == "repairing":
                repaired = [node for node in failed if node != int(words[2])]
                fl.tables.make(kind(*sizes, failed_nodes=repaired), **options)
            else:
                out = [int(word.rstrip(",")) for word in words if word.rstrip(",").isdigit()]
                fl.tables.make(kind(*sizes, failed_nodes=failed + out), **options)
    assert named > 3


def test_the_unreachable_pairs_are_counted() -> None:
    network = fl.Network(fl.Torus(16, 16, failed_nodes=[5, 77]))
    # Of 256 nodes, two have failed: every pair with one of them, and those whose only way passes them.
    with pytest.raises(fl.UnreachableError) as caught:
        fl.simulate(network, fl.Load("rand", rate=0.01, length=8, cycles=100))
    count = int(str(caught.value).split()[0])
    assert "pairs of nodes" in str(caught.value)
    assert len(caught.value.pairs) == 1000 < 256**2 - 254**2 < count < 256**2


def test_tables_that_can_deadlock_are_not_made_silently(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["route", "--torus", "8", "--rules", "unrestricted", "--json"]) == 0
    found = capsys.readouterr()
    cycle = json.loads(found.out)["cycle"]
    assert len(cycle) == 8
    shown = " -> ".join([*cycle, cycle[0]])
    assert f"balanced tables can deadlock under rules unrestricted: {shown}" in found.err
    for torus, kind in [("8", "dateline"), ("4x4", "angara"), ("4x4", "dimension-order")]:
        assert run(["route", "--torus", torus, "--rules", kind, "--json"]) == 0
        found = capsys.readouterr()
        assert (json.loads(found.out)["deadlock"], found.err) == (False, "")
    assert run(["route", "--mesh", "4x4", "--rules", "unrestricted", "--compare"]) == 0
    assert capsys.readouterr().err == ""
    # The router takes any walk: it is the methods that find none.
    lost = ["route", "--mesh", "5x2", "--fail", "node:6", "--fail", "link:8-9", "--rules", "unrestricted"]
    assert run(lost) == 2
    assert "breaks the order of directions, which all methods keep" in capsys.readouterr().err


def test_wrong_routes_are_not_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = json.loads(fl.tables.make(fl.Mesh(3, 2), rules="dateline").to_json())
    wrong = good["routes"][:-1]
    (tmp_path / "t.json").write_text(json.dumps({**good, "routes": wrong}))
    report = fl.tables.check(tmp_path / "t.json")
    assert not report.deadlock
    with pytest.raises(ValueError, match="wrong routes"):
        report.certificate()
    certificate = tmp_path / "c.json"
    assert run(["check", str(tmp_path / "t.json"), "--certificate", str(certificate)]) == 1
    assert "wrong routes are not certified" in capsys.readouterr().err
    assert not certificate.exists()
    # A wrong claim about routes that are right does not make them wrong.
    (tmp_path / "t.json").write_text(json.dumps({**good, "max_load": 1}))
    assert run(["check", str(tmp_path / "t.json"), "--certificate", str(certificate)]) == 1
    assert certificate.exists()


def test_a_page_of_wrong_tables_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = json.loads(fl.tables.make(fl.Torus(8), method="dor", rules="dateline").to_json())
    file, page = tmp_path / "t.json", str(tmp_path / "v.html")
    twice = [*good["routes"], good["routes"][0]]
    for fields, note in [
        (good, ""),
        ({**good, "routes": twice}, "has 1 problems"),
        ({**good, "rules": "unrestricted"}, "has a possible deadlock"),
    ]:
        file.write_text(json.dumps(fields))
        assert run(["view", str(file), "-o", page]) == 0
        assert note in capsys.readouterr().err
        assert bool(note) == (run(["check", str(file)]) == 1)
        capsys.readouterr()
