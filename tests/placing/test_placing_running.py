"""Placements in motion: run by the engine, routed by tables, around failed parts."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.commands.actions.route_fabric import _placed
from flitloom.errors import SpecError
from flitloom.fabric.networks import named_subnet
from flitloom.placing import as_packets, axes_traffic, pairs_traffic, parse_axes, place
from flitloom.placing import check as check_placement
from flitloom.placing.running import packet_rows, router_for
from flitloom.spec.traffic.traffic_matrix import placed_matrix


def drawn(ranks: int, seed: int = 3) -> fl.placing.Traffic:
    """Random pairs, one byte each."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, ranks, (4 * ranks, 2)), axis=0)
    return pairs_traffic(ranks, np.column_stack([pairs, np.ones(len(pairs), dtype=int)]))


@pytest.mark.parametrize(
    "topology",
    [
        fl.Torus(4, 4, 2),
        fl.Mesh(4, 3),
        fl.Torus(4, 4, 4, failed_nodes=[5], failed_links=[(0, 1)]),
        fl.Torus(5, 4, failed_links=[(0, 4), (7, 12)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("routing", [None, "balanced"])
def test_the_engine_sends_over_every_channel_what_was_counted(
    topology: fl.Topology, routing: str | None
) -> None:
    traffic = drawn(topology.nodes - 2)
    found = place(topology, traffic, effort=1, routing=routing)
    assert found.routing == ("do" if routing is None and not topology.failed_links else "balanced")
    tables = fl.tables.make(topology) if found.routing == "balanced" else None
    simulation = fl.Simulation(
        fl.Network(topology, router_for(tables)), as_packets(traffic, found.nodes), tables=tables
    )
    simulation.run()
    flits = simulation.totals.links.flits.values.reshape(-1)
    # A message of a byte is a header and a flit.
    assert sorted(flits[flits > 0]) == sorted(2 * found.loads[found.loads > 0])


def test_around_failed_parts_the_check_follows_every_way(tmp_path: Path) -> None:
    topology = fl.Torus(4, 4, failed_nodes=[6], failed_links=[(0, 1)])
    found = place(topology, drawn(14), effort=1)
    assert 6 not in found.nodes
    file = tmp_path / "p.json"
    found.save(file)
    report = check_placement(file)
    assert report.problem is None
    assert report.facts["busiest_channel"] == found.busiest_channel
    document = json.loads(file.read_text())
    changes = {
        "not neighbours": [[way[0], way[-1]] if len(way) > 2 else way for way in document["ways"]],
        "the cable 0-1 has failed": [*document["ways"], [0, 1, 2, 3, 15]],
        "none leads from": document["ways"][1:],
        "two lead from": [*document["ways"], document["ways"][0]],
    }
    for told, ways in changes.items():
        file.write_text(json.dumps({**document, "ways": ways}))
        assert told in str(check_placement(file).problem)


def test_the_least_time_of_three_is_taken_and_repeated_by_simulate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.json"
    words = ["--torus", "6x6", "--stencil", "6x6", "--neighbours", "9", "--minimise", "time"]
    assert run(["place", *words, "--effort", "3", "--json", "-o", str(file)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["duration"] == min(one["duration"] for one in told["runs"])
    assert len(told["runs"]) > 1
    # 8 messages of 2 flits at least pass the port of an inner cell.
    assert told["bound"] == 16 <= told["duration"]
    assert run(["simulate", "--placement", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["duration"] == told["duration"]
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    for change in ({"bound": 17}, {"duration": 1}, {"optimal": True}):
        file.write_text(json.dumps(document | change))
        assert not check_placement(file).passed


def test_messages_and_matrices_go_where_the_ranks_sit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.json"
    place(fl.Torus(4, 4), pairs_traffic(3, [(0, 1, 9), (1, 2, 9)]), nodes=[3, 8, 14], effort=1).save(file)
    nodes = json.loads(file.read_text())["placement"]
    assert sorted(nodes) == [3, 8, 14]
    goal = tmp_path / "t.goal"
    goal.write_text(
        "num_ranks 3\nrank 0 {\nl1: send 640b to 2 tag 0\n}\nrank 1 {\n}\n"
        "rank 2 {\nl1: recv 640b from 0 tag 0\n}\n"
    )
    matrix = tmp_path / "m.csv"
    matrix.write_text("0,0,3\n0,0,0\n0,0,0\n")
    table = tmp_path / "t.csv"
    table.write_text("source,destination,length,start\n0,2,17,0\n0,2,17,0\n0,2,9,0\n")
    hops = {}
    for name, words in {
        "goal": [str(goal)],
        "matrix": ["--matrix", str(matrix), "--length", "17"],
        "table": ["--packet-table", str(table)],
    }.items():
        assert run(["simulate", *words, "--placement", str(file), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        hops[name] = told["flit_hops"] / told["flits_delivered"]
    # Rows and columns of the nodes of ranks 0 and 2 in a 4x4 torus.
    apart = [abs(nodes[0] % 4 - nodes[2] % 4), abs(nodes[0] // 4 - nodes[2] // 4)]
    assert set(hops.values()) == {sum(min(one, 4 - one) for one in apart)}
    with pytest.raises(SpecError, match="3 ranks, a row for each"):
        placed_matrix([[0, 1], [1, 0]], nodes, 16)


def test_tables_are_balanced_for_a_placement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    traffic = axes_traffic(parse_axes("a=4:a2a:1,b=4:a2a:1"))
    found = place(fl.Torus(4, 4), traffic, effort=2)
    found.save(file)
    out = tmp_path / "tables.json"
    assert run(["route", "--placement", str(file), "--json", "-o", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    tables = fl.tables.read(out)
    loads: dict[tuple[int, int], int] = {}
    for source, destination in zip(traffic.sources, traffic.destinations, strict=True):
        way = tables.path(int(found.nodes[source]), int(found.nodes[destination]))
        for hop in pairwise(way):
            loads[hop] = loads.get(hop, 0) + 1
    assert told["max_load"] == max(loads.values())


def test_tables_of_a_product_are_balanced_for_a_placement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "p.json", tmp_path / "out"
    traffic = pairs_traffic(12, [(0, 1, 7), (2, 3, 5), (4, 5, 2)])
    found = place(fl.Product("full4 x ring3"), traffic, effort=1)
    found.save(file)
    assert run(["route", "--placement", str(file), "--json", "-o", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    # A message takes one way, and there are ways enough.
    assert (told["max_load"], told["unreachable"]) == (7, 0)
    subnet = named_subnet("full4 x ring3")
    hosts = {host.name: number for number, host in enumerate(subnet.hosts)}
    names = [hosts[f"S{node % 4}-{node // 4}-host0"] for node in found.nodes]
    weights = _placed(subnet, file, "full4 x ring3")
    assert weights.sum() == 14
    assert [weights[names[rank], names[rank + 1]] for rank in (0, 2, 4)] == [7, 5, 2]
    for more, said in [
        (["--network", "full4 x ring4"], "is for the full4 x ring3, not for 'full4 x ring4'"),
        (["--network", "dragonfly(3,2)"], "is for the full4 x ring3, not for 'dragonfly(3,2)'"),
        (["--fail", "node:3"], "--fail does not go with --placement"),
    ]:
        assert run(["route", "--placement", str(file), *more]) == 2
        assert said in capsys.readouterr().err


def test_packets_of_ranks_that_share_nodes() -> None:
    traffic = pairs_traffic(4, [(0, 1, 500), (0, 2, 16), (1, 3, 16), (2, 0, 1)])
    rows = packet_rows(traffic, [5, 5, 7, 8]).tolist()
    assert rows == [[5, 7, 2, 0], [5, 8, 2, 0], [7, 5, 2, 0]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["place", "--torus", "4x4", "--stencil", "4x4", "--fail", "node:3"], "16 ranks do not fit on 15"),
        (["place", "--torus", "4x4", "--stencil", "3x3", "--fail", "link:0-1", "--routing", "do"], "failed"),
        (["place", "--torus", "4x4", "--stencil", "3x3", "--routing", "luck"], "luck"),
        (["place", "--torus", "4x4", "--stencil", "3x3", "--fail", "node:3", "--nodes", "0-8"], "node 3 has"),
        (["place", "--torus", "4x4x8", "--twist", "--stencil", "4x4", "--fail", "node:3"], "twisted"),
        (["place", "--torus", "32x64", "--stencil", "4x4", "--fail", "node:3"], "at most 1024 nodes"),
        (["place", "--torus", "4x4", "--stencil", "4x4", "--flit-bytes", "4"], "--minimise time"),
        (
            ["place", "--torus", "4x4", "--axes", "a=16:ring:1GiB", "--minimise", "time"],
            "let a flit hold more bytes",
        ),
        (["simulate", "--placement", "none.json"], "none.json"),
        (["simulate", "--placement", "p.json", "--torus", "4x2"], "is for the 4x4 torus"),
        (["simulate", "--placement", "p.json", "--pattern", "bcmp"], "--packet-table"),
        (["simulate", "--placement", "p.json", "--plan", "x.json"], "--placement"),
        (["route", "--placement", "p.json", "--nodes", "n.txt"], "--nodes"),
        (["route", "--placement", "p.json", "--torus", "4x2"], "is for the 4x4 torus"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_bad_input_is_told_in_one_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    place(fl.Torus(4, 4), pairs_traffic(3, [(0, 1, 9)]), effort=1).save("p.json")
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert told in err
