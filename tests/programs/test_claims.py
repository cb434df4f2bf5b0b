"""Nothing is believed from a file: tables, plans and certificates with forged claims."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from places import ROOT

RECHECK = ROOT / "tools" / "recheck.py"
SPEC = importlib.util.spec_from_file_location("recheck", RECHECK)
assert SPEC is not None
assert SPEC.loader is not None
recheck = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(recheck)
#: What the script reports, or stops at, without verifying anything.
REJECTED = (recheck.Refused, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

Fields = dict[str, Any]


def holds(tables: Fields, certificate: Fields, rules: str | None = None) -> bool:
    """Whether the independent script lets a certificate pass, both as they come out of a file."""
    try:
        recheck.certified(json.loads(json.dumps(tables)), json.loads(json.dumps(certificate)), rules)
    except REJECTED:
        return False
    return True


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


def test_certificates_rest_on_the_rules_of_the_tables(tmp_path: Path) -> None:
    """Whatever a certificate says, it holds for no tables that can deadlock."""
    draw = random.Random(3)
    topology = fl.Torus(5, 4)
    dangerous = []
    for name in ("angara", "dimension-order", "dateline"):
        tables = fl.tables.make(topology, method="dor", rules=name)
        good = json.loads(tables.to_json())
        certificate = fl.tables.check(tables).certificate()
        # The same routes without what kept their rings safe.
        flows: list[Fields] = [
            {"virtual_channels": 1, "datelines": False},
            {"virtual_channels": 3, "datelines": False},
            {"virtual_channels": 1, "datelines": True},
        ]
        dangerous += [({**good, "rules": {**good["rules"], **flow}}, certificate) for flow in flows]
        dangerous.append(({key: good[key] for key in ("topology", "routes")}, certificate))
    for number, (tables, certificate) in enumerate(dangerous):
        (tmp_path / "t.json").write_text(json.dumps(tables))
        report = fl.tables.check(tmp_path / "t.json")
        assert report.deadlock
        truth = {"rules": report.tables.rules.model_dump(mode="json"), "rules_from": report.rules_from}
        flow = {
            "bubble": report.tables.rules.virtual_channels is None,
            "virtual_channels": report.tables.rules.virtual_channels or 1,
            "datelines": report.tables.rules.datelines,
        }
        for trial in range(60):
            forged = dict(certificate)
            if trial % 2:
                forged |= truth
            if trial % 3 == 0:
                forged |= flow
            if trial % 5 == 0:
                ranks = [row[3] for row in forged["channels"]]
                draw.shuffle(ranks)
                forged["channels"] = [
                    [*row[:3], rank] for row, rank in zip(forged["channels"], ranks, strict=True)
                ]
            if trial % 7 == 0:
                forged[draw.choice(sorted(flow))] = draw.choice([True, False, 1, 2, 3, None])
            if trial % 11 == 0:
                del forged[draw.choice(sorted(forged))]
            assert not holds(tables, forged), (number, trial)


def cases() -> list[tuple[str, fl.Tables]]:
    return [
        ("angara", fl.tables.make(fl.Torus(4, 2, 2), failed_nodes=[3])),
        ("dimension-order", fl.tables.make(fl.Torus(4, 3), rules="dimension-order")),
        ("dateline", fl.tables.make(fl.Torus(5, 4), rules="dateline")),
        ("unrestricted", fl.tables.make(fl.Mesh(3, 3), rules="unrestricted")),
    ]


@pytest.mark.parametrize(
    ("name", "tables"), cases(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_forged_certificates_are_rejected(name: str, tables: fl.Tables) -> None:
    draw = random.Random(5)
    good, certificate = json.loads(tables.to_json()), fl.tables.check(tables).certificate()
    assert holds(good, certificate)
    rank = {tuple(row[:3]): index for index, row in enumerate(certificate["channels"])}
    longest = max(good["routes"], key=lambda route: len(route["nodes"]))

    def changed(**fields: Any) -> Fields:
        return {**certificate, **fields}

    def with_ranks(change: Callable[[list[list[Any]]], None]) -> Fields:
        rows = [list(row) for row in certificate["channels"]]
        change(rows)
        return changed(channels=rows)

    forged = [
        {key: value for key, value in certificate.items() if key != left_out}
        for left_out in certificate
        # The order of channels holds without a bound, too.
        if left_out != "bound"
    ]
    forged += [
        changed(bubble=not certificate["bubble"]),
        changed(datelines=not certificate["datelines"]),
        changed(virtual_channels=certificate["virtual_channels"] + 1),
        changed(rules_from="from --rules"),
        changed(rules={**certificate["rules"], "any_walk": not certificate["rules"]["any_walk"]}),
        changed(rules={**certificate["rules"], "order": certificate["rules"]["order"][::-1]}),
        changed(sizes=[*certificate["sizes"], 2]),
        changed(wraps=[not wraps for wraps in certificate["wraps"]]),
        changed(version=1),
        changed(format="else"),
        changed(verified=True),
        changed(channels=[]),
        with_ranks(lambda rows: rows.extend([rows[0]])),
        with_ranks(lambda rows: [row.__setitem__(3, -row[3] - 1) for row in rows] and None),
        with_ranks(lambda rows: [row.__setitem__(3, str(row[3])) for row in rows] and None),
    ]
    # A turn of a route whose rank no longer rises; equal ranks are no rise either.
    nodes = longest["nodes"]
    turns = [
        index
        for index in range(1, len(nodes) - 1)
        if recheck.Network(good["topology"]).direction(nodes[index - 1], nodes[index])
        != recheck.Network(good["topology"]).direction(nodes[index], nodes[index + 1])
    ]
    assert turns or name == "unrestricted"
    for at in turns:
        network = recheck.Network(good["topology"])
        after = (nodes[at], network.direction(nodes[at], nodes[at + 1]))
        before = (nodes[at - 1], network.direction(nodes[at - 1], nodes[at]))
        for lower in (0, 1):

            def fall(
                rows: list[list[Any]], lower: int = lower, before: Any = before, after: Any = after
            ) -> None:
                least = min(row[3] for row in rows if (row[0], row[1]) == before)
                for row in rows:
                    if (row[0], row[1]) == after:
                        row[3] = max(least - lower, 0)

            forged.append(with_ranks(fall))
    for number, each in enumerate(forged):
        assert not holds(good, each), number
    # Tables that are no longer those that were certified.
    routes = good["routes"]
    other = draw.randrange(len(routes))
    swapped = [
        {**route, "nodes": route["nodes"][::-1]} if at == other else route for at, route in enumerate(routes)
    ]
    for change in (
        {"routes": routes[1:]},
        {"routes": [*routes, routes[0]]},
        {"routes": swapped},
        {"topology": {**good["topology"], "failed_links": [nodes[:2]]}},
        {"topology": {**good["topology"], "kind": "mesh" if name != "unrestricted" else "torus"}},
        {"rules": "dateline" if name != "dateline" else "angara"},
    ):
        assert not holds({**good, **change}, certificate), change
    assert len(rank) == len(certificate["channels"])


def test_minimal_tables_and_rules_by_hand_are_rechecked(tmp_path: Path) -> None:
    mesh = json.loads(fl.tables.make(fl.Mesh(3, 3), method="dor").to_json())
    torus = json.loads(fl.tables.make(fl.Torus(4, 4)).to_json())
    tables, certificate = tmp_path / "t.json", tmp_path / "c.json"
    script = [sys.executable, str(RECHECK), str(tables), str(certificate)]
    # Without rules, failures or wrap.
    small = {"topology": {"kind": "mesh", "sizes": "3x3"}, "routes": mesh["routes"]}
    tables.write_text(json.dumps(small))
    fl.tables.check(tables).write_certificate(certificate)
    assert subprocess.run(script, capture_output=True, text=True).stdout == "certificate holds\n"
    # Rules from the command line are named again, or the tables' own count.
    tables.write_text(json.dumps({"topology": {"sizes": [4, 4]}, "routes": torus["routes"]}))
    fl.tables.check(tables, rules="angara").write_certificate(certificate)
    assert subprocess.run([*script, "--rules", "angara"], capture_output=True, text=True).returncode == 0
    done = subprocess.run(script, capture_output=True, text=True)
    assert (done.returncode, "the certificate says bubble True" in done.stdout) == (1, True)
    # Damage ends in one line.
    for damaged in (
        "{}",
        "[]",
        '{"topology": {"sizes": [4]}}',
        "nothing",
        '{"topology": {"sizes": ' + "[" * 9000,
    ):
        tables.write_text(damaged)
        done = subprocess.run(script, capture_output=True, text=True)
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (1, "", 1)


def plan_fields(plan: fl.Plan, tmp_path: Path) -> Fields:
    plan.save(tmp_path / "plan.json")
    fields: Fields = json.loads((tmp_path / "plan.json").read_text())
    return fields


def problems_of(fields: Fields, tmp_path: Path) -> list[str]:
    (tmp_path / "plan.json").write_text(json.dumps(fields))
    problems: list[str] = fl.plans.check(fl.plans.read(tmp_path / "plan.json"))["problems"]
    return problems


def test_forged_plans_are_found_out(tmp_path: Path) -> None:
    network = fl.Network(fl.Torus(4, 4))
    weak = fl.plans.search(network, fl.Collective("brot", payload=14, slices=2), "greedy", routes="any-order")
    good = plan_fields(weak, tmp_path)
    assert problems_of(good, tmp_path) == []
    longest = {"bound": weak.duration, "optimal": True}
    for change, place, message in [
        (longest, "bound", "only"),
        # No name of a method proves anything, and CP-SAT's word is doubted where a search does better.
        ({**longest, "method": "exact with cp-sat"}, "bound", "only"),
        ({**longest, "bound_proof": "cp-sat"}, "bound", "there is a schedule of"),
        ({"bound": 9999}, "bound", "the packets take"),
        ({"optimal": True}, "optimal", "does not agree"),
        ({"duration": weak.duration - 1}, "duration", "the packets take"),
        ({"routes": "dor"}, "routes", "not among those of dor"),
        ({"routes": "best"}, "routes", "unknown"),
        ({"guard": 3}, "guard", "both hold"),
        ({"interval": 9}, "interval", "does not keep it"),
        ({"interval": 8, "free_slices": True}, "interval", "have no interval"),
        ({"algorithm_bound": 3}, "algorithm_bound", "only an operation"),
        ({"phases": [0, 20]}, "operation", "is missing"),
    ]:
        found = problems_of({**good, **change}, tmp_path)
        assert any(line.startswith(f"{place}:") and message in line for line in found), (change, found)
        plan = fl.plans.read(tmp_path / "plan.json")
        assert not plan.optimal
        assert plan.bound <= weak.bound
    free = plan_fields(
        fl.plans.search(network, fl.Collective("brot", payload=14, slices=2), free_slices=True), tmp_path
    )
    apart = [dict(packet) for packet in free["packets"]]
    apart[-1]["start"] += 100
    later = {"duration": free["duration"] + 200, "packets": apart, "free_slices": False, "optimal": False}
    assert any(line.startswith("free_slices:") for line in problems_of({**free, **later}, tmp_path))


def test_forged_operations_are_found_out(tmp_path: Path) -> None:
    plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Operation("all-gather", payload=3), moves=1000)
    good = plan_fields(plan, tmp_path)
    assert problems_of(good, tmp_path) == []
    later = [cycle + 1 if cycle else 0 for cycle in good["phases"]]
    for change, place in [
        ({"algorithm_bound": 9999}, "algorithm_bound"),
        ({"algorithm_bound": good["algorithm_bound"] - 1}, "algorithm_bound"),
        ({"phases": later}, "phases"),
        ({"phases": good["phases"][:-1]}, "phases"),
        ({"traffic": "all-to-all, payload 7"}, "traffic"),
        ({"bound_proof": "cp-sat", "bound": plan.duration, "optimal": True}, "bound"),
    ]:
        found = problems_of({**good, **change}, tmp_path)
        if change.get("bound") == plan.bound:
            continue
        assert any(line.startswith(f"{place}:") for line in found), (change, found)


def test_honest_claims_of_plans_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("brot", payload=14, slices=2)
    for options, name in [
        ({"guard": 3}, "guard"),
        ({"interval": 20}, "interval"),
        ({"interval": 9, "guard": 1}, "guard"),
        ({"free_slices": True, "guard": 2}, "guard"),
    ]:
        options_of: Any = options
        report = fl.plans.check(fl.plans.search(network, collective, moves=2000, **options_of))
        assert report["passed"], report["problems"]
        assert {"duration", "bound", "routes", name} <= set(report["verified"])
        assert {"traffic", "method", "seed", "reproducible", "version"} == set(report["not_verified"])
    report = fl.plans.check(
        fl.plans.search(network, fl.Operation("all-gather", payload=3), guard=2, moves=500)
    )
    assert report["passed"], report["problems"]
    assert {"guard", "phases", "traffic", "algorithm_bound"} <= set(report["verified"])
    # Files of the form before bring no proof: their bound has to be proven here.
    fields = plan_fields(fl.plans.search(network, collective), tmp_path)
    del fields["bound_proof"]
    assert problems_of({**fields, "format": "flitloom plan 1"}, tmp_path) == []
    assert run(["check", str(tmp_path / "plan.json")]) == 0
    text = capsys.readouterr().out
    assert "optimal    proven" in text
    assert "rules      3 virtual channels, datelines, no bubble rule (assumed: " in text
    assert run(["check", str(tmp_path / "plan.json"), "--rules", "angara"]) == 2


def test_the_word_of_cp_sat_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # One more than is proven by us, and the optimum by an exhaustive search in test_cp_sat.
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("shfl", payload=14, slices=2)
    plan = fl.plans.search(network, collective, routes="any-order")
    fields = plan_fields(plan, tmp_path)
    beyond = {
        **fields,
        "bound": plan.bound + 1,
        "optimal": plan.duration == plan.bound + 1,
        "bound_proof": "cp-sat",
    }
    found = problems_of(beyond, tmp_path)
    if plan.duration > plan.bound:
        assert found == []
        assert run(["check", str(tmp_path / "plan.json")]) == 0
        assert "is the word of CP-SAT" in capsys.readouterr().out
    else:
        assert any("the packets take" in line for line in found)


@pytest.mark.parametrize(
    "options", [["--slices", "10"], ["--packets", "3"], ["--interval", "9"], ["--free-slices"]]
)
def test_options_that_an_operation_ignores_are_refused(options: list[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", *options]) == 2


def test_what_is_optimal_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", "--seconds", "5"]) == 0
    found = capsys.readouterr()
    assert "proven optimal for these messages in this order" in found.out
    assert "another run may differ" not in found.err


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


def test_the_limit_of_an_operation_is_the_one_it_meets(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = ["schedule", "--torus", "8x8", "--method", "greedy", "--operation"]
    # In the last ring of 8, an all-reduce passes on the blocks of eight nodes.
    assert run([*schedule, "all-reduce", "--payload", str(2**20 // 8)]) == 2
    error = capsys.readouterr().err
    assert "a message would have 1048576 flits of payload" in error
    assert "at most 1048575" in error
    assert run([*schedule, "broadcast", "--payload", "100000"]) == 0


def test_late_nodes_of_an_operation_are_not_studied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "plan.json")
    schedule = ["schedule", "--torus", "4x4", "--operation"]
    assert run([*schedule, "all-gather", "-o", file]) == 0
    assert run(["simulate", "--plan", file, "--jitter", "4"]) == 2
    assert "a node that is late makes those late that wait" in capsys.readouterr().err
    assert run([*schedule, "broadcast", "--guard", "auto", "--jitter", "4"]) == 2
    # Nobody waits for data in an all-to-all.
    assert run([*schedule, "all-to-all", "--payload", "3", "--moves", "100", "-o", file]) == 0
    capsys.readouterr()
    assert run(["simulate", "--plan", file, "--jitter", "4", "--trials", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert min(report["plan_mean"], report["unison_mean"]) >= fl.plans.read(file).bound


def test_latency_and_duration_are_counted_as_they_say() -> None:
    network = fl.Network(fl.Torus(8))
    result = fl.simulate(network, fl.Packets([(0, 3, 5, 0)]))
    hops, length = 3, 5
    assert (result.duration, result.mean_latency) == (hops + length + 1, hops + length + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operation", "broadcast", "--length", "20"], "--length belongs to --matrix"),
        (["--operation", "all-gather", "--root", "3"], "--root belongs to --operation broadcast"),
        (["--pattern", "shfl", "--genes", "timing"], "--genes belongs to --method genetic"),
        (["--pattern", "shfl", "--method", "genetic", "--moves", "7"], "--moves does not go with a genetic"),
        (["--pattern", "shfl", "--interval", "50"], "--interval is the time between slices"),
        (["--operation", "broadcast", "--slices", "4"], "an operation sends whole messages"),
        (
            ["--operation", "broadcast", "--packets", "4", "--interval", "9"],
            "an operation sends whole messages",
        ),
        (["--operation", "all-reduce", "--interval", "20"], "not cut into slices"),
        (["--operation", "all-to-all", "--free-slices"], "not cut into slices"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schedule", "--torus", "4x4", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_route_refuses_options_it_would_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--sample", "4"], "--sample belongs to --resilience"),
        (["--resilience", "--out", "x.json"], "--out does not go with --resilience"),
        (["--compare", "--method", "bfs"], "--method does not go with --compare"),
        (["--lanes", "4"], "--lanes belongs to --fabric"),
        (
            ["--network", "full4 x full4", "--method", "bfs"],
            "it must be one of ftree, dor, dragonfly, balanced",
        ),
        (["--network", "full4 x full4", "--picture", "x.png"], "--picture does not go with --network"),
    ):
        assert run(["route", *(["--torus", "4x4"] if "--network" not in arguments else []), *arguments]) == 2
        assert message in capsys.readouterr().err


def test_check_refuses_options_it_would_ignore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, plan = str(tmp_path / "t.json"), str(tmp_path / "p.json")
    fl.tables.make(fl.Torus(4)).to_json(tables)
    fl.collectives.plan(fl.Torus(4), "all-gather").save(plan)
    for arguments, message in (
        ([tables, "--lanes", "4"], "--lanes belongs to --fabric"),
        ([tables, "--path-sl", "x"], "--path-sl belongs to --fabric"),
        ([plan, "--rules", "angara"], "--rules belongs to plans of packets and to routing tables"),
        ([plan, "--certificate", "c.json"], "--certificate belongs to plans of packets"),
        (["--fabric", "x", "--rules", "angara"], "--rules does not go with --fabric"),
    ):
        assert run(["check", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_optimal_says_of_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["optimal"] is True
    assert found["optimal_of"] == "these messages in this order and balanced-ties routes"


@pytest.fixture(scope="module")
def separated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    shuffle = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", payload=14, slices=2))
    shuffle.save(folder / "plan.json")
    fl.collectives.plan(fl.Torus(4, 4), "all-gather").save(folder / "gather.json")
    fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Operation("all-gather")).save(folder / "operation.json")
    return folder


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        # The verdict about late packets would be one about other channels than those they begin in.
        (
            "plan",
            lambda data: data["packets"][3].update(channel=5),
            "packets[3].channel: 5 is out of range; a plan whose channels are not separated",
        ),
        (
            "plan",
            lambda data: (data.update(channels=2), data["packets"][7].update(channel=2)),
            "packets[7].channel: 2 is out of range; the plan has 2 virtual channels",
        ),
        ("operation", lambda data: data["operation"].update(root=3), "operation.root: all-gather has none"),
        ("gather", lambda data: data.update(root=1), "root: all-gather has none"),
        ("gather", lambda data: data.update(twist=True), "twist: a 4x4 torus has none"),
        (
            "gather",
            lambda data: data.update(twist=True, topology={"kind": "mesh", "sizes": [4, 8]}),
            "twist: a 4x8 mesh has none",
        ),
    ],
)
def test_what_belongs_to_other_plans_is_refused(file, change, message, separated, tmp_path, capsys):
    data = json.loads((separated / f"{file}.json").read_text())
    change(data)
    (tmp_path / "forged.json").write_text(json.dumps(data))
    assert run(["check", str(tmp_path / "forged.json")]) in (1, 2)
    told = capsys.readouterr()
    assert message in told.out + told.err


def test_failures_on_the_command_line_are_not_ignored(separated, capsys):
    for file in ("plan", "gather"):
        command = ["check", str(separated / f"{file}.json"), "--torus", "4x4"]
        assert run(command) == 0
        for fail in ("node:5", "link:0-1"):
            assert run([*command, "--fail", fail]) == 2
            assert "4x4 torus with 1 failed part" in capsys.readouterr().err
    whole = fl.Torus(4, 4, failed_links=["0-1"])
    plan = fl.plans.search(fl.Network(whole), fl.Packets([[2, 3, 4, 0, 0]]))
    plan.save(separated / "failed.json")
    assert run(["check", str(separated / "failed.json"), "--torus", "4x4", "--fail", "link:(1,0)-(0,0)"]) == 0


def test_what_a_check_of_a_collective_leaves_is_told(separated, capsys):
    file = str(separated / "gather.json")
    assert run(["check", file]) == 0
    assert "seed, version: nothing in the moves says so" in capsys.readouterr().out
    assert run(["check", file, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["not_verified"]) == {"seed", "version"}


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


def test_plans_of_collectives_that_claim_too_much_are_used_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    good.save(tmp_path / "good.json")
    fields = json.loads((tmp_path / "good.json").read_text())
    moves = json.loads(good.expanded().model_dump_json())
    file = tmp_path / "plan.json"
    for change, problem in [
        ({"sends": fields["sends"][:-4]}, "4 chunks never arrive at a node"),
        ({"steps": fields["steps"] - 1, "bound": fields["steps"] - 1}, "the replay takes"),
        ({"bound": 9}, "its proof shows only 4"),
        ({"optimal": False}, "does not agree"),
        ({**moves, "moves": moves["moves"][1:]}, "does not have the chunk"),
    ]:
        file.write_text(json.dumps({**fields, **change}))
        assert run(["check", str(file)]) == 1
        assert problem in capsys.readouterr().out
        with pytest.raises(fl.SpecError, match=f"does not do what it claims: .*{problem}"):
            fl.collectives.read(file)
        assert not fl.collectives.check(fl.collectives.read(file, checked=False))["passed"]
        for target in ("a.goal", "a.bin", "a.xml", "a.mscclpp.json", "a.et", "a.json"):
            assert run(["convert", str(file), str(tmp_path / target)]) == 2
            assert "does not do what it claims" in capsys.readouterr().err
        assert run(["simulate", str(file)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.json", "plan.json"]
    # A trace with a plan in it is held against it, too.
    assert run(["convert", str(tmp_path / "good.json"), str(tmp_path / "t.et")]) == 0
    assert run(["convert", str(tmp_path / "t.et"), str(tmp_path / "again.json")]) == 0
    (tmp_path / "t.3.et").write_bytes((tmp_path / "t.0.et").read_bytes())
    assert run(["convert", str(tmp_path / "t.et"), str(tmp_path / "wrong.json")]) == 2


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
