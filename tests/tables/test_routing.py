"""Routing tables: round trips, certificates, damaged files, bounds, the command line."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric.hostlist import parse_nodes
from flitloom.tables.by_source.resilience import survive
from places import ROOT

RECHECK = ROOT / "tools" / "recheck.py"
SYSTEMS = [
    fl.Torus(2),
    fl.Torus(4, 2, failed_nodes=[3]),
    fl.Torus(3, 3, failed_links=[(0, 1)]),
    fl.Torus(4, 2, 2),
    fl.Mesh(3, 4),
    # Its failed nodes are diagonal neighbours, so that some turns are withheld.
    fl.Torus(8, 8, failed_nodes=[13, 20]),
]


@pytest.mark.parametrize("topology", SYSTEMS, ids=str)
def test_round_trips_give_the_same_tables(topology: fl.Topology, tmp_path: Path) -> None:
    tables = fl.tables.make(topology)
    tables.to_json(tmp_path / "t.json")
    tables.to_csv(tmp_path / "t.csv")
    tables.save_headers(tmp_path / "t.npz")
    for name in ("t.json", "t.csv", "t.npz"):
        # CSV brings neither network nor rules.
        needed = (topology, "angara") if name == "t.csv" else ()
        again = fl.tables.read(tmp_path / name, *needed)
        assert again == tables
        assert again.max_load == tables.max_load
        assert again.sigma4 == pytest.approx(tables.sigma4)
        assert fl.tables.check(again).passed
    assert fl.tables.read(tmp_path / "t.json").bound == tables.bound
    # The bound is proven anew: the same whole number, maybe from other prices.
    written = [json.loads(each.to_json()) for each in (fl.tables.read(tmp_path / "t.json"), tables)]
    for fields in written:
        del fields["bound_exact"], fields["proof"]
    assert written[0] == written[1]


@pytest.mark.parametrize("topology", [fl.Torus(4, 2), fl.Torus(4, 4), fl.Mesh(3, 3)], ids=str)
def test_forwarding_tables_go_there_and_back(topology: fl.Topology, tmp_path: Path) -> None:
    tables = fl.tables.make(topology, method="coherent")
    text = tables.to_lft(tmp_path / "dump.lft")
    assert text.count("Unicast lids [0x1-") == topology.nodes
    assert fl.tables.read(tmp_path / "dump.lft", topology) == tables


def test_tables_that_need_their_source_are_not_written_as_forwarding_tables() -> None:
    with pytest.raises(fl.SpecError, match="coherent"):
        fl.tables.make(fl.Torus(4, 2, 2, 2)).to_lft()


@pytest.mark.parametrize("topology", SYSTEMS, ids=str)
def test_loads_are_those_of_networkx_paths(topology: fl.Topology) -> None:
    tables = fl.tables.make(topology)
    graph = tables.to_networkx()
    counted = dict.fromkeys(graph.edges, 0)
    for source, destination, nodes in tables.routes():
        assert networkx.is_path(graph, nodes)
        assert (nodes[0], nodes[-1]) == (source, destination)
        for edge in pairwise(nodes):
            counted[edge] += 1
    assert counted == {edge: graph.edges[edge]["load"] for edge in graph.edges}
    assert tables.max_load == max(counted.values())
    mean = sum(counted.values()) / len(counted)
    assert tables.sigma4 == pytest.approx(
        (sum((load - mean) ** 4 for load in counted.values()) / len(counted)) ** 0.25
    )


@pytest.mark.parametrize(
    "topology", [fl.Torus(4, 2, 2, 2), fl.Torus(5, 4, failed_nodes=[7]), fl.Mesh(4, 4)], ids=str
)
@pytest.mark.parametrize("rules", ["angara", "dimension-order", "dateline"])
def test_certificates_hold_for_the_independent_script(
    topology: fl.Topology, rules: str, tmp_path: Path
) -> None:
    if topology.failed_nodes and rules != "angara":
        pytest.skip("ordered routes cannot go around a failed node")
    tables = fl.tables.make(topology, rules=rules)
    tables.to_json(tmp_path / "t.json")
    fl.tables.check(tables).write_certificate(tmp_path / "c.json")
    command = [sys.executable, str(RECHECK), str(tmp_path / "t.json"), str(tmp_path / "c.json")]
    assert subprocess.run(command, capture_output=True, text=True).stdout.startswith(
        "certificate holds: no tables"
    )
    # A certificate with two ranks exchanged no longer holds.
    data = json.loads((tmp_path / "c.json").read_text())
    ranks = sorted(row[3] for row in data["channels"])
    for row in data["channels"]:
        row[3] = ranks[0] + ranks[-1] - row[3]
    (tmp_path / "c.json").write_text(json.dumps(data))
    assert subprocess.run(command, capture_output=True).returncode == 1


def _mixed_up_rings() -> list[list[int]]:
    # Four rings joined into one cycle: x at y = 0 and 2, y at x = 2 and 0, of a 4x4 torus.
    ring = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2), (0, 2), (0, 3)]
    nodes = [x + 4 * y for x, y in ring]
    return [[nodes[(index + step) % 8] for step in range(3)] for index in range(8)]


@pytest.mark.parametrize(
    ("text", "topology", "rules"),
    [
        ("rings mixed up", fl.Torus(4, 4), "angara"),
        ("dateline removed", fl.Torus(8), "unrestricted"),
        ("torus joined to a mesh", fl.Torus(8, 4, wrap=[True, False]), "unrestricted"),
    ],
    ids=lambda value: str(value),
)
def test_planted_cycles_are_found(text: str, topology: fl.Topology, rules: str, tmp_path: Path) -> None:
    if text == "rings mixed up":
        routes = [{"source": walk[0], "destination": walk[-1], "nodes": walk} for walk in _mixed_up_rings()]
        file = tmp_path / "t.json"
        file.write_text(json.dumps({"topology": {"sizes": [4, 4]}, "rules": rules, "routes": routes}))
        report = fl.tables.check(file)
    else:
        report = fl.tables.check(fl.tables.make(topology, method="dor", rules=rules))
        assert report.problem_count == 0
    assert report.deadlock
    assert len(set(report.cycle)) == len(report.cycle) >= 4
    # Every channel of the cycle is followed by the next at the node where it ends.
    with pytest.raises(ValueError, match="certificate"):
        report.certificate()


def test_balanced_loads_of_a_given_job() -> None:
    weights = np.zeros((16, 16), dtype=int)
    for node in range(16):
        weights[node, (node + 2) % 4 + node // 4 * 4] = 5
    general, special = fl.tables.make(fl.Torus(4, 4)), fl.tables.make(fl.Torus(4, 4), traffic=weights)
    graph = special.to_networkx()
    assert sum(load for *_, load in graph.edges(data="load")) == 16 * 5 * 2
    assert special.max_load == 5
    assert special.optimal
    assert fl.tables.check(special).passed
    assert general.traffic is None


def test_the_linear_program_agrees_with_the_published_optimum_range() -> None:
    # Lower bound of the Desmos torus: 25 1/3.
    from flitloom.tables.by_source.bound import linear_bound
    from flitloom.tables.by_source.rules import routing_system

    topology = fl.Torus(4, 2, 2, 2)
    bound = linear_bound(
        routing_system(topology, fl.RouterRules.named("angara", 4), "closed-form"), None, 10**6
    )
    assert bound is not None
    assert float(bound.value) == pytest.approx(76 / 3, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.sampled_from(["balanced", "sssp", "bfs", "coherent"]),
    st.data(),
)
def test_every_table_passes_and_keeps_its_bound(sizes: list[int], method: str, data: st.DataObject) -> None:
    nodes = int(np.prod(sizes))
    failed = data.draw(st.sets(st.integers(0, nodes - 1), max_size=min(2, nodes - 2)))
    try:
        tables = fl.tables.make(fl.Torus(*sizes), failed_nodes=failed, method=method)
    except fl.UnreachableError:
        return
    assert fl.tables.check(tables).passed
    assert tables.bound <= tables.max_load
    assert sum(tables.histogram().values()) == tables.to_networkx().number_of_edges()


def test_large_files_are_read_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = fl.tables.make(fl.Torus(5, 4, failed_nodes=[7]))
    file = tmp_path / "t.json"
    tables.to_json(file)
    assert file.read_text() == tables.to_json()
    monkeypatch.setattr("flitloom.ground.limits.JSON_BYTES", 5000)
    assert fl.tables.read(file) == tables
    good = file.read_text()
    for damaged, message in [
        (good[:-100], "is not JSON|cut off"),
        (good.replace('"routes"', '"rows"'), "routes must be a list with an entry a line"),
        (good.replace('"nodes": [0, 1]', '"nodes": [0, -1]'), "must be a whole number"),
        ("[" * 200, "is not JSON|nested more than"),
    ]:
        file.write_text(damaged)
        with pytest.raises(fl.SpecError, match=message):
            fl.tables.read(file)


def _refused_or_read(file: Path) -> None:
    messages = []
    try:
        fl.tables.check(file)
    except fl.SpecError as error:
        messages.append(str(error))
    assert all(str(file) in message for message in messages)


def test_damaged_files_give_one_clear_error(tmp_path: Path) -> None:
    tables = fl.tables.make(fl.Torus(4, 2))
    good = tables.to_json()
    draw = random.Random(7)
    file = tmp_path / "t.json"
    fields = ["topology", "routes", "rules", "turns", "withheld_turns", "bound_exact", "max_load"]
    for trial in range(250):
        if trial % 3 == 0:
            position = draw.randrange(len(good))
            text = good[:position] + chr(draw.randrange(32, 127)) + good[position + 1 :]
        elif trial % 3 == 1:
            text = good[: draw.randrange(len(good))]
        else:
            data = json.loads(good)
            data[draw.choice(fields)] = draw.choice(
                [None, -1, [], {}, "x", [[1]], {"sizes": [0]}, 1e400, [{"source": -1}]]
            )
            text = json.dumps(data)
        file.write_text(text)
        _refused_or_read(file)
    npz = tmp_path / "t.npz"
    tables.save_headers(npz)
    packed = npz.read_bytes()
    for _ in range(60):
        position = draw.randrange(len(packed))
        npz.write_bytes(packed[:position] + bytes([draw.randrange(256)]) + packed[position + 1 :])
        _refused_or_read(npz)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"destination": 2, "nodes": [0, 2]}, "hop 0 goes from 0 to 2, which are not neighbours"),
        ({"nodes": [0, 9]}, "node 9 does not exist"),
        ({"nodes": [0, 4, 5, 1, 0, 1]}, "direction"),
        ({"destination": 2}, "runs from 0 to 1 instead"),
    ],
)
def test_wrong_routes_are_named(change: dict[str, object], message: str, tmp_path: Path) -> None:
    data = json.loads(fl.tables.make(fl.Torus(4, 2)).to_json())
    del data["max_load"], data["min_load"]
    data["routes"][0].update(change)
    (tmp_path / "t.json").write_text(json.dumps(data))
    report = fl.tables.check(tmp_path / "t.json")
    assert not report.passed
    assert message in "\n".join(report.problems)


def test_slurm_notation() -> None:
    assert parse_nodes("node[0-3,7] node10\n5", 12) == [0, 1, 2, 3, 7, 10, 5]
    for text, message in [
        ("node[0-3],node2", "node 2 is named twice"),
        ("node[3-1]", "backwards"),
        ("node[0-12]", "node 12"),
        ("node[0-", "brackets"),
        ("node", "is not a list of nodes"),
        ("", "no nodes"),
        ("node[1,,2]", "is not a range"),
    ]:
        with pytest.raises(fl.SpecError, match=message):
            parse_nodes(text, 12)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [1]], "different lengths"),
        ([[0, 1, 1], [1, 0, 1]], "2 x 3"),
        (np.full((4, 4), -1), "negative"),
        (np.full((4, 4), 0.5), "whole numbers"),
        (np.full((4, 4), np.nan), "whole numbers"),
    ],
)
def test_wrong_traffic_is_refused(matrix: object, message: str) -> None:
    with pytest.raises(fl.SpecError, match=message):
        fl.tables.make(fl.Torus(4), traffic=matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [5, 12, 20, 28, 30])
def test_allocations_whose_ways_go_down_before_up(
    count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tables, certificate = tmp_path / "nodes", tmp_path / "t.json", tmp_path / "c.json"
    nodes.write_text(f"node[0-{count - 1}]\n")
    route = ["route", "--torus", "4x2x2x2", "--nodes", str(nodes), "-o", str(tables)]
    assert run(route) == 0
    assert "+ and - are exchanged along" in capsys.readouterr().err
    assert run(["check", str(tables), "--certificate", str(certificate)]) == 0
    assert "bubble rule, order +x" in capsys.readouterr().out
    recheck = [sys.executable, str(RECHECK), str(tables), str(certificate)]
    assert subprocess.run(recheck, check=False, capture_output=True).returncode == 0
    # Whoever names the rules gets these or none, and is told of the others.
    assert run([*route, "--rules", "angara"]) == 2
    error = capsys.readouterr().err
    name = re.search(r"rules (angara-[xyzu]+)", error)
    assert name is not None, error
    assert run([*route, "--rules", name[1]]) == 0
    assert json.loads(tables.read_text())["rules"]["name"] == name[1]
    capsys.readouterr()
    assert run([*route[:-2], "--compare", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert {entry["rules"] for entry in compared} == {name[1]}
    assert [entry["method"] for entry in compared][:4] == ["balanced", "sssp", "bfs", "genetic"]


def test_rules_with_exchanged_ways_are_those_of_the_mirrored_network() -> None:
    # Counting from the other end along y turns one network into the other.
    failed = [1, 14]
    there = [node + 5 * (2 - 2 * (node // 5 % 3)) for node in failed]
    for turns in ("none", "closed-form"):
        ours = fl.tables.make(fl.Torus(5, 3, 2), failed_nodes=failed, rules="angara-y", turns=turns)
        theirs = fl.tables.make(fl.Torus(5, 3, 2), failed_nodes=there, rules="angara", turns=turns)
        assert ours.system.route_counts() == theirs.system.route_counts()
        assert fl.tables.check(ours).passed
        assert abs(ours.bound - theirs.bound) <= 1
    for name in ("angara-", "angara-zy", "angara-w", "dateline-y", "angara-yy", "x" * 5000):
        with pytest.raises(fl.SpecError, match="is unknown"):
            fl.tables.make(fl.Torus(5, 3, 2), rules=name)


def test_advice_is_sound() -> None:
    with pytest.raises(fl.UnreachableError, match="repairing the link 1-2") as caught:
        fl.tables.make(fl.Mesh(4), failed_links=[(1, 2)])
    assert len(caught.value.pairs) == 8


def test_survival_grows_with_the_means() -> None:
    row = survive(fl.Torus(4, 4), 1, 0)
    assert (row.systems, row.exhaustive) == (16, True)
    assert list(row.fractions) == sorted(row.fractions)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, certificate = tmp_path / "t.json", tmp_path / "c.json"
    assert run(["route", "--torus", "4x2x2x2", "--fail", "node:3", "-o", str(tables), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["optimal"] == (report["max_load"] == report["bound"])
    assert run(["check", str(tables), "--certificate", str(certificate)]) == 0
    assert "deadlock      none possible" in capsys.readouterr().out
    assert certificate.exists()
    (tmp_path / "nodes").write_text("node[0-7,12]\n")
    assert run(["route", "--torus", "4x4", "--nodes", str(tmp_path / "nodes")]) == 0
    assert run(["route", "--torus", "4x2", "--compare", "--picture", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").exists()
    capsys.readouterr()
    for arguments in (
        ["route", "--torus", "4x2", "--fail", "node"],
        ["route"],
        ["route", "--torus", "1x4"],
        ["route", "--torus", "4", "--method", "best"],
        ["route", "--torus", "200x200"],
        ["check", str(tmp_path / "none.json")],
    ):
        assert run(arguments) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_written_files_follow_the_schema() -> None:
    schema = json.loads((Path(fl.__file__).parent / "tables" / "schema.json").read_text())
    data = json.loads(fl.tables.make(fl.Torus(4, 2), failed_nodes=[1]).to_json())
    assert set(schema["required"]) <= set(data)
    assert set(data) == set(schema["properties"])


def test_parts_fail_by_their_coordinates() -> None:
    by_number = fl.Torus(4, 3, 2, failed_nodes=[9], failed_links=[(0, 3), (4, 5)])
    by_place = fl.Torus(4, 3, 2, failed_nodes=["(1,2,0)"], failed_links=["(3,0,0)+x", "(0,1,0)-(1,1,0)"])
    assert by_place.failed_nodes == by_number.failed_nodes
    assert [set(link) for link in by_place.failed_links] == [set(link) for link in by_number.failed_links]


def test_routes_of_an_allocation_may_pass_through_others(tmp_path: Path, capsys) -> None:
    """Two columns without a cable between them have no routes of their own."""
    file = tmp_path / "nodes"
    file.write_text("node[0-12/4],node[2-14/4]")
    arguments = ["route", "--mesh", "4x4", "--nodes", str(file), "--rules", "dimension-order"]
    assert run(arguments) == 2
    assert "no working links connect them" in capsys.readouterr().err
    output = tmp_path / "t.csv"
    assert run([*arguments, "--through", "--json", "-o", str(output)]) == 0
    allocated = {0, 4, 8, 12, 2, 6, 10, 14}
    loads: dict[tuple[str, str], int] = {}
    for line in output.read_text().splitlines()[1:]:
        source, destination, nodes = line.split(",")
        if {int(source), int(destination)} <= allocated:
            for step in pairwise(nodes.split()):
                loads[step] = loads.get(step, 0) + 1
    assert json.loads(capsys.readouterr().out)["max_load"] == max(loads.values())
