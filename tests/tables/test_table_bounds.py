"""Certificates of lower bounds of tables: written beside the deadlock order, verified by another program."""

from __future__ import annotations

import csv
import importlib.util
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.commands.recheck import PROGRAM
from flitloom.tables.by_source.making import route

SPEC = importlib.util.spec_from_file_location("recheck", PROGRAM)
assert SPEC is not None
assert SPEC.loader is not None
recheck: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(recheck)

#: Networks of source routes, with how their bound is proven: by closed form, prices of a search or a program.
BY_SOURCE = {
    "rings": (["--torus", "4x4"], "rings"),
    "cut of a mesh": (["--mesh", "4"], "rings"),
    "prices": (["--torus", "4x2x2x2", "--fail", "node:3"], "dual"),
    "exchanged ways": (["--torus", "4x2x2x2", *(f"--fail=node:{node}" for node in range(28, 32))], "dual"),
    "datelines": (["--torus", "4x4x2", "--rules", "dateline"], "rings"),
}
BY_DESTINATION = {
    "distances": ["--network", "full4 x full4"],
    "cut": ["--network", "ring4 x ring6"],
    "prices": ["--network", "random(20,3)"],
    "two hosts": ["--network", "dragonfly(3,1,2)"],
}


def rechecked(*files: Path | str) -> tuple[int, str]:
    """What the program says, without flitloom in sight."""
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), *map(str, files)], capture_output=True, text=True
    )
    return done.returncode, done.stdout


def forged(certificate: Path, held: dict[str, Any], **changes: Any) -> Path:
    """A certificate whose bound is another."""
    file = certificate.with_name("forged.json")
    file.write_text(json.dumps({**held, "bound": {**held["bound"], **changes}}))
    return file


def cheaper(rows: list[list[Any]]) -> list[list[Any]]:
    """Lengths with the longest channel made as long as all together, which no pair needs."""
    longest = max(range(len(rows)), key=lambda at: rows[at][2])
    return [
        [*row[:2], sum(each[2] for each in rows)] if at == longest else row for at, row in enumerate(rows)
    ]


@pytest.mark.parametrize("case", BY_SOURCE)
def test_bounds_by_source_hold_and_forged_ones_do_not(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (network, proof), files = BY_SOURCE[case], (tmp_path / "t.json", tmp_path / "c.json")
    words = ["route", *network, "-o", str(files[0]), "--certificate", str(files[1]), "--json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bound_proof"] == proof
    code, said = rechecked(*files)
    assert code == 0
    assert f"have less than {told['bound']} on the busiest channel; these have {told['max_load']}" in said
    facts = json.loads(rechecked(*files, "--json")[1])
    assert (facts["bound"], facts["max_load"]) == (told["bound"], told["max_load"])
    # The check writes the same from the file.
    again = tmp_path / "again.json"
    assert run(["check", str(files[0]), "--certificate", str(again)]) == 0
    assert rechecked(files[0], again) == (code, said)
    held = json.loads(files[1].read_text())
    lengths = held["bound"]["lengths"]
    for change in (
        {"value": told["bound"] + 1},
        {"value": 0},
        {"kind": "cut"},
        # Over a cut of one link each way, any lengths prove as much.
        {"lengths": cheaper(lengths) if len(lengths) > 2 else [[0, 1, 1]]},
        {"lengths": [[0, 1, -1], *lengths[1:]]},
        {"lengths": [*lengths, lengths[0]]},
        {"lengths": [[0, 0, 10**9], *lengths]},
        {"lengths": []},
        {"weights": [[1]]},
        {"more": 1},
    ):
        assert rechecked(files[0], forged(files[1], held, **change))[0] == 1, change
    # Without a bound the order of channels still holds.
    files[1].write_text(json.dumps({name: held[name] for name in held if name != "bound"}))
    assert rechecked(*files) == (0, "certificate holds\n")


@pytest.mark.parametrize(
    "topology",
    [
        fl.Torus(4, 2, 2, failed_nodes=[5]),
        fl.Torus(5, 4, failed_links=[(0, 1)]),
        fl.Torus(4, 4, failed_nodes=[3], failed_links=[(5, 6)]),
        fl.Mesh(3, 3),
    ],
    ids=str,
)
def test_the_program_finds_the_legal_routes_of_the_core(topology: fl.Topology) -> None:
    """What whole-number prices prove is the same fraction, and no route has fewer hops."""
    weights = np.random.default_rng(2).integers(0, 9, (topology.nodes, topology.nodes))
    for traffic in (None, weights):
        tables = route(topology, traffic=traffic)
        bound = tables.priced()
        assert bound is not None
        assert bound.prices is not None
        said = json.loads(tables.to_json())
        network = recheck.Network(said["topology"])
        links = tables.system.links()
        length = {(node, end): int(bound.prices[link]) for link, node, end, _ in links}
        rules = recheck.complete(said["rules"])
        ways = recheck.LegalWays(network, rules, said, length)
        plain = recheck.LegalWays(network, rules, said, dict.fromkeys(length, 1))
        total, count = 0, topology.nodes - len(topology.failed_nodes)
        for source in set(range(topology.nodes)) - set(topology.failed_nodes):
            hops = plain.distances(source, count)
            for node, far in ways.distances(source, count).items():
                total += far * (1 if traffic is None else int(traffic[source, node]))
                assert hops[node] == (0 if node == source else len(tables.path(source, node)) - 1)
        assert Fraction(total, sum(length.values())) == bound.value


def test_turns_of_the_file_decide_which_routes_are_legal(tmp_path: Path) -> None:
    tables, certificate = tmp_path / "t.json", tmp_path / "c.json"
    network = ["--torus", "4x4x2", "--fail", "node:3", "--fail", "node:6"]
    assert run(["route", *network, "-o", str(tables), "--certificate", str(certificate)]) == 0
    code, said = rechecked(tables, certificate)
    assert code == 0
    assert "no tables of minimal routes under these rules have less than" in said
    held = json.loads(tables.read_text())
    without = {name: held[name] for name in held if name != "turns"}
    tables.write_text(json.dumps(without))
    code, said = rechecked(tables, certificate)
    assert (code, "the tables do not say which turns are legal" in said) == (1, True)


def test_bounds_of_a_traffic_are_for_that_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = random.Random(4)
    rows = [[weights.randrange(6) for _ in range(16)] for _ in range(16)]
    matrix, tables, certificate = tmp_path / "m.csv", tmp_path / "t.json", tmp_path / "c.json"
    with matrix.open("w", newline="") as text:
        csv.writer(text).writerows(rows)
    words = ["route", "--torus", "4x4", "--traffic", str(matrix), "-o", str(tables)]
    assert run([*words, "--certificate", str(certificate), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    code, said = rechecked(tables, certificate)
    assert code == 0
    assert f"less than {told['bound']} of the traffic it names" in said
    assert f"these have {told['max_load']}" in said
    held = json.loads(certificate.read_text())
    fewer = [[0] * 16, *held["bound"]["weights"][1:]]
    assert rechecked(tables, forged(certificate, held, weights=fewer))[0] == 1


@pytest.mark.parametrize("case", BY_DESTINATION)
def test_bounds_by_destination_hold_and_forged_ones_do_not(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network, folder, certificate = BY_DESTINATION[case], tmp_path / "out", tmp_path / "c.json"
    assert run(["route", *network, "-o", str(folder), "--certificate", str(certificate), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    code, said = rechecked(folder, certificate)
    assert code == 0
    assert said.endswith(f": no tables have less than {told['bound']} on the busiest channel\n")
    assert json.loads(rechecked(folder, certificate, "--json")[1])["bound"] == told["bound"]
    held = json.loads(certificate.read_text())
    lengths = held["bound"]["lengths"]
    for change in (
        {"value": told["bound"] + 1},
        {"lengths": cheaper(lengths)},
        {"lengths": [*lengths, lengths[0]]},
        {"lengths": [["0x1", 1, 1], *lengths]},
        {"pairs": []},
        {"more": 1},
    ):
        assert rechecked(folder, forged(certificate, held, **change))[0] == 1, change
    again = tmp_path / "again.json"
    assert run(["check", *network, str(folder), "--certificate", str(again)]) == 0
    assert json.loads(again.read_text())["bound"]["value"] <= told["bound"]
    assert rechecked(folder, again)[0] == 0


def test_a_job_counts_its_own_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, certificate, nodes = tmp_path / "out", tmp_path / "c.json", tmp_path / "nodes"
    nodes.write_text("S0-0-host0,S2-0-host0,S0-2-host0,S2-2-host0\n")
    words = ["route", "--network", "ring4 x ring4", "--nodes", str(nodes), "-o", str(folder)]
    assert run([*words, "--certificate", str(certificate), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    held = json.loads(certificate.read_text())
    assert sum(count for _, _, count in held["bound"]["pairs"]) == 12
    code, said = rechecked(folder, certificate)
    assert (code, f"less than {told['bound']} of the pairs it names on the busiest" in said) == (0, True)


def test_certificates_need_what_they_are_verified_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = str(tmp_path / "c.json")
    for words, said in (
        (["--torus", "4x4"], "write -o tables.json"),
        (["--torus", "4x4", "-o", str(tmp_path / "t.npz")], "write -o tables.json"),
        (["--network", "ring5"], "write -o out/"),
        (["--torus", "4", "--resilience"], "does not go with --resilience"),
        (["--network", "ring5", "--critical"], "does not go with --critical"),
    ):
        assert run(["route", *words, "--certificate", certificate]) == 2
        assert said in capsys.readouterr().err
    words = ["--torus", "8", "--rules", "unrestricted", "-o", str(tmp_path / "t.json")]
    assert run(["route", *words, "--certificate", certificate]) == 0
    assert "is not written: these tables can deadlock" in capsys.readouterr().err
    assert not Path(certificate).exists()
