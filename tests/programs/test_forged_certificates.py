"""Certificates with forged claims are rejected by the program of recheck."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
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
