"""Placements of ranks: the table of cases, the check by a program of its own, files, bad input."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.messages import MessageGraph
from flitloom.placing import (
    axes_traffic,
    pairs_traffic,
    parse_axes,
    place,
    read_traffic,
    stencil_traffic,
)
from flitloom.placing import check as check_placement
from flitloom.placing.running import packet_rows
from flitloom.traces import goal_binary, write_chakra

#: Network, axes (kind, size, bytes), row-major busiest channel, what must be reached, what is proven.
CASES = [
    ("4x4x8", "a=8:a2a:1,b=4:ring:8,c=4:line:1", 32, 8, 8),
    ("4x4x4", "a=8:a2a:1,b=8:ring:8", 32, 8, 8),
    ("4x4x4", "a=8:a2a:2,b=4:ring:8,c=2:line:4", 32, 8, 8),
    ("8x8x8", "a=8:a2a:1,b=8:ring:8,c=8:line:1", 10, 8, 8),
    ("6x4x6", "a=12:ring:4,b=12:ring:4", 16, 4, 4),
]


def command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run(["place", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(("torus", "axes", "plain", "reached", "bound"), CASES)
def test_cases_are_solved(torus: str, axes: str, plain: int, reached: int, bound: int) -> None:
    found = place(fl.Torus(torus), axes_traffic(parse_axes(axes)), effort=30)
    assert found.row_major["busiest_channel"] == plain
    assert found.busiest_channel <= reached
    assert found.bound == bound
    assert found.optimal


#: Network, axes, and hop-bytes that are both found and proven to be the fewest.
FEWEST = [("4x4x4", "a=8:a2a:1,b=8:ring:8", 1792), ("4x4x8", "a=16:a2a:2,b=8:a2a:2", 12288)]


@pytest.mark.parametrize(("torus", "axes", "hops"), FEWEST)
def test_cosines_prove_the_fewest_hop_bytes(tmp_path: Path, torus: str, axes: str, hops: int) -> None:
    found = place(fl.Torus(torus), axes_traffic(parse_axes(axes)), minimise="hops", effort=30)
    assert (found.hop_bytes, found.bound, found.bound_proof["kind"]) == (hops, hops, "cosine")
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    # Without its weights a certificate proves less.
    document = json.loads(file.read_text())
    document["certificate"]["weights"] = []
    file.write_text(json.dumps(document))
    assert "its certificate proves" in str(check_placement(file).problem)


def test_json_has_the_keys_that_scripts_read(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(
        capsys, "--torus", "4x4", "--axes", "a=4:a2a:1,b=4:ring:4", "--effort", "1", "--json"
    )
    facts = json.loads(out)
    assert code == 0
    assert sorted(facts["placement"]) == list(range(16))
    assert facts["busiest_channel"] == facts["bound"] == 4
    assert facts["bound_proof"] == "message"
    assert facts["optimal"] is True
    # A rank sends 1 to each of 3 and 4 to each of 2 others.
    assert facts["busiest_port"] == 3 + 2 * 4
    assert facts["seconds"] > 0


def test_hop_bytes_are_those_of_networkx() -> None:
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.integers(0, 12, 40), rng.integers(0, 12, 40), rng.integers(0, 99, 40)])
    topology = fl.Mesh(3, 4)
    found = place(topology, pairs_traffic(12, rows), minimise="hops", effort=2)
    graph = nx.grid_2d_graph(3, 4)
    far = dict(nx.all_pairs_shortest_path_length(graph))
    at = [(node % 3, node // 3) for node in found.nodes.tolist()]
    assert found.hop_bytes == sum(units * far[at[a]][at[b]] for a, b, units in rows.tolist())
    assert found.hop_bytes_bound <= found.hop_bytes <= found.row_major["hop_bytes"]


@pytest.mark.parametrize(
    "topology",
    [
        *(fl.Torus(4, 2, 3), fl.Mesh(4, 3), fl.Torus(4, 8, twist=True), fl.Torus(4, 4, 8, twist=True)),
        *(fl.Product("full4 x ring5"), fl.Product("line3 x full5"), fl.Product("full2 x full6 x ring3")),
    ],
    ids=str,
)
def test_the_check_counts_the_same(tmp_path: Path, topology: fl.Topology | fl.Product) -> None:
    rng = np.random.default_rng(7)
    ranks = topology.nodes - 1
    rows = np.column_stack([rng.integers(0, ranks, 90), rng.integers(0, ranks, 90), rng.integers(1, 50, 90)])
    file = tmp_path / "p.json"
    found = place(topology, pairs_traffic(ranks, rows), effort=1)
    found.save(file)
    report = check_placement(file)
    assert report.problem is None
    assert report.facts["busiest_channel"] == found.busiest_channel
    assert report.facts["hop_bytes"] == found.hop_bytes


@pytest.mark.parametrize(
    "change",
    [
        {"busiest_channel": 7},
        {"hop_bytes": 1},
        {"busiest_port": 1},
        {"bound": 9},
        {"optimal": False},
        {"hop_bytes_bound": 10**6},
        {"certificate": {"kind": "degree", "rank": 0, "sends": True, "channels": 1}},
        {"per_node": 0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_check_refuses_what_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    file = tmp_path / "p.json"
    place(fl.Torus(4, 4, 4), axes_traffic(parse_axes("a=8:a2a:1,b=8:ring:8")), effort=10).save(file)
    assert run(["check", str(file)]) == 0
    assert run(["recheck", str(file)]) == 0
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | change))
    assert run(["check", str(file)]) == 1
    assert run(["recheck", str(file)]) == 1
    assert "FAILED" in capsys.readouterr().out
    # Two ranks that share a place.
    document["placement"][1] = document["placement"][0]
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed


def _less(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda told: told["row_major"].update({name: told["row_major"][name] - 1})


def _left_out(told: dict[str, Any]) -> None:
    """Ranks may have all nodes but the first one, and row-major is what it was."""
    told["allowed"] = told.get("allowed", list(range(12)))[1:]
    told["placement"] = told["allowed"][: len(told["placement"])]


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        (fl.Torus(4, 3), {}),
        (fl.Torus(4, 3), {"nodes": [0, 1, 2, 5, 6, 7, 8, 10, 11]}),
        (fl.Mesh(4, 3), {"per_node": 2}),
        (fl.Torus(4, 3, failed_links=[(0, 1)], failed_nodes=[9]), {}),
        (fl.Torus(4, 3), {"routing": "balanced", "nodes": [0, 1, 2, 5, 6, 7, 8, 10, 11]}),
        ("dragonfly(2,2,1)", {"nodes": [0, 1, 3, 4, 5, 6, 7, 8, 9]}),
        (fl.Torus(4, 3), {"phases": "a,b"}),
    ],
    ids=str,
)
def test_the_check_counts_row_major_anew(
    tmp_path: Path, topology: fl.Topology | str, options: dict[str, Any]
) -> None:
    file = tmp_path / "p.json"
    found = place(topology, axes_traffic(parse_axes("a=4:a2a:3,b=2:ring:5")), effort=1, **options)
    document = found.document()
    allowed = options.get("nodes")
    assert document.get("allowed") == allowed
    file.write_text(json.dumps(document))
    report = check_placement(file)
    assert report.problem is None
    assert report.facts["row_major"] == document["row_major"]
    changes = {
        "row_major: the file says": [_less("busiest_channel"), _less("hop_bytes")],
        "": [_left_out, lambda told: told.pop("row_major")],
    }
    if allowed:
        changes[""].append(lambda told: told.pop("allowed"))
        changes["placement: has other nodes"] = [lambda told: told["allowed"].remove(told["placement"][0])]
        changes["allowed: nodes ascend"] = [lambda told: told["allowed"].reverse()]
    if document.get("row_major_ways"):
        changes["ways: none leads"] = [lambda told: told["row_major_ways"].pop()]
        changes["ways: two lead"] = [lambda told: told["row_major_ways"].append(told["ways"][0])]
    if found.phases:
        changes["phases.0.row_major: the file"] = [lambda told: told["phases"][0].update(row_major=1)]
    for problem, every in changes.items():
        for change in every:
            told = json.loads(json.dumps(document))
            change(told)
            file.write_text(json.dumps(told))
            assert problem in (check_placement(file).problem or "none"), problem
            assert not check_placement(file).passed


def test_files_say_the_same_placement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = tmp_path / "names.txt"
    hosts.write_text("".join(f"h{node}\n" for node in range(8)))
    endings = ["json", "csv", "rankfile", "hosts", "mpich", "jax.json", "vcoord"]
    files = [tmp_path / f"p.{ending}" for ending in endings]
    outs = [word for file in files for word in ("-o", file)]
    axes = "a=4:ring:2,b=4:ring:1"
    code, _, err = command(
        capsys, "--torus", "4x2", "--per-node", "2", "--axes", axes, "--effort", "1", "--hosts", hosts, *outs
    )
    assert (code, err) == (0, "")
    nodes = json.loads(files[0].read_text())["placement"]
    table = [line.split(",") for line in files[1].read_text().splitlines()]
    assert table[0] == ["rank", "node", "x", "y", "host"]
    assert [int(row[1]) for row in table[1:]] == nodes
    assert all(row[2:] == [str(n % 4), str(n // 4), f"h{n}"] for row, n in zip(table[1:], nodes, strict=True))
    lines = files[2].read_text().splitlines()
    assert [line.split("=")[1].split()[0] for line in lines] == [f"h{node}" for node in nodes]
    assert sorted(line.split("=", 1)[1] for line in lines) == [
        f"h{n} slot={s}" for n in range(8) for s in (0, 1)
    ]
    assert files[3].read_text().split() == [f"h{node}" for node in nodes]
    order = [int(rank) for rank in files[4].read_text().split(",")]
    assert [nodes[rank] for rank in order] == [node for node in range(8) for _ in (0, 1)]
    jax = json.loads(files[5].read_text())
    # Two devices per node.
    mesh = np.arange(16)[jax["order"]].reshape(jax["mesh_shape"])
    assert jax["axis_names"] == ["b", "a"]
    # Rank = a + 4 b.
    assert mesh[2, 3] // 2 == nodes[3 + 4 * 2]
    assert files[6].read_text().splitlines()[5] == f"({nodes[5] % 4},{nodes[5] // 4})"


def test_operations_become_pairs() -> None:
    axes = parse_axes("a=8:all-to-all:64KiB,b=4:all-gather:10,c=4:pipeline:7,d=8:pairs:3")
    assert [(axis.kind, axis.bytes) for axis in axes] == [
        ("a2a", 8192),
        ("ring", 15),
        ("line", 7),
        ("pairs", 3),
    ]
    # A ring of four sends its 3 B / 4 both ways, so an all-reduce of 8 bytes has 6 per ordered pair.
    assert parse_axes("a=4:all-reduce:8")[0].bytes == 6
    traffic = axes_traffic(parse_axes("d=8:pairs:3"))
    assert {int(a) ^ int(b) for a, b in zip(traffic.sources, traffic.destinations, strict=True)} == {1, 2, 4}


def test_stencils_are_grids() -> None:
    traffic = stencil_traffic([3, 4], 5)
    rows = {(int(a), int(b)) for a, b in zip(traffic.sources, traffic.destinations, strict=True)}
    grid = nx.grid_2d_graph(4, 3)
    edges = {(x + 3 * y, u + 3 * v) for (y, x), (v, u) in grid.edges}
    assert rows == edges | {(b, a) for a, b in edges}


def test_matrix_and_rows_are_the_same_traffic(tmp_path: Path) -> None:
    matrix, rows = tmp_path / "m.csv", tmp_path / "r.csv"
    matrix.write_text("0,2,0\n0,0,3\n4,0,9\n")
    rows.write_text("source,destination,bytes\n0,1,2\n1,2,3\n2,0,4\n")
    assert read_traffic(matrix).digest() == read_traffic(rows).digest()


def test_traces_and_plans_are_the_bytes_of_their_messages(tmp_path: Path) -> None:
    goal = tmp_path / "t.goal"
    goal.write_text(
        "num_ranks 3\nrank 0 {\nl1: send 5b to 2 tag 0\nl2: send 7b to 2 tag 1\nl3: recv 9b from 1 tag 0\n}\n"
        "rank 1 {\nl1: send 9b to 0 tag 0\n}\n"
        "rank 2 {\nl1: recv 5b from 0 tag 0\nl2: recv 7b from 0 tag 1\n}\n"
    )
    binary, chakra = tmp_path / "t.bin", tmp_path / "t.et"
    ranks = MessageGraph.read(goal).operations()
    binary.write_bytes(goal_binary(ranks))
    write_chakra(ranks, chakra)
    rows = tmp_path / "r.csv"
    rows.write_text("source,destination,bytes\n0,2,12\n1,0,9\n")
    for file in (goal, binary, chakra):
        assert read_traffic(file).digest() == read_traffic(rows, 3).digest()
    with pytest.raises(SpecError, match="has 3 ranks; 4 are to be placed"):
        read_traffic(goal, 4)
    # A plan on a ring of 4: every node gets 3 chunks, over its own cables only.
    plan = tmp_path / "plan.json"
    fl.collectives.plan(fl.Torus(4), "all-gather").save(plan)
    traffic = read_traffic(plan)
    received = np.zeros(4)
    np.add.at(received, traffic.destinations, traffic.bytes)
    assert received.tolist() == [3 * 1024] * 4
    apart = (traffic.sources.astype(int) - traffic.destinations) % 4
    assert set(apart) <= {1, 3}


def test_same_seed_same_answer_and_taken_nodes_stay_free() -> None:
    traffic = stencil_traffic([4, 4], 9)
    found = [
        place(fl.Torus(6, 5), traffic, nodes=range(3, 27), seed=4, effort=5).nodes.tolist() for _ in range(2)
    ]
    assert found[0] == found[1]
    assert set(found[0]) <= set(range(3, 27))


@pytest.mark.parametrize(("network", "last"), [(fl.Torus(4, 4), 15), ("dragonfly(2,2,1)", 9)], ids=str)
@pytest.mark.parametrize("beyond", [-1, 99])
def test_nodes_that_are_not_there_are_refused(network: fl.Topology | str, last: int, beyond: int) -> None:
    traffic = axes_traffic(parse_axes("a=4:a2a:3"))
    with pytest.raises(SpecError, match=f"^nodes: there is no node {beyond}; nodes are 0 to {last}$"):
        place(network, traffic, nodes=[*range(5), beyond])


def test_a_million_pairs_on_4096_nodes() -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack(
        [rng.integers(0, 4096, 10**6), rng.integers(0, 4096, 10**6), np.ones(10**6, dtype=int)]
    )
    found = place(fl.Torus(16, 16, 16), pairs_traffic(4096, rows), effort=1)
    assert math.prod(found.topology.sizes) == len(set(found.nodes.tolist()))
    assert found.busiest_channel >= found.bound > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--axes", "a=8:a2a:1"], "topology: is missing"),
        (["--torus", "4x4"], "give one of --axes, --traffic and --stencil"),
        (["--torus", "4x4", "--axes", "a=8:a2a:1,b=4:ring:1"], "32 ranks do not fit on 16 nodes"),
        (["--torus", "4x4", "--axes", "a=8:a2a:-1"], "whole number of bytes"),
        (["--torus", "4x4", "--axes", "a=8:gossip:1"], "is not an operation"),
        (["--torus", "4x4", "--axes", "a=8"], "NAME=SIZE:KIND:WEIGHT"),
        (["--torus", "4x4", "--axes", "a=6:pairs:1"], "power of two"),
        (["--torus", "4x4", "--axes", "a=2:a2a:1,a=2:ring:1"], "two axes have the name"),
        (["--torus", "4x4", "--stencil", "4x4", "--neighbours", "7"], "it is 5 or 9"),
        (["--torus", "4x4", "--stencil", "4x4", "-o", "p.xyz"], "no ending that says a format"),
        (["--torus", "4x4", "--stencil", "4x4", "--per-node", "0"], "1 to 1024"),
        (["--torus", "4x4", "--stencil", "4x4", "--minimise", "luck"], "channel, hops"),
        (["--network", "full4 x", "--stencil", "4x4"], "is not a factor"),
        (["--network", "full4 x full4", "--stencil", "4x4", "--routing", "balanced"], "by dimension order"),
        (["--network", "full4 x full4", "--torus", "4x4", "--stencil", "4x4"], "either --network, --torus"),
    ],
    ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
)
def test_bad_input_is_told_in_one_message(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    code, out, err = command(capsys, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0,1\n1,0,2\n", "row 2 has 3 numbers"),
        ("0,-1\n1,0\n", "not a whole number of bytes"),
        ("source,destination,bytes\n0,1\n", "row 2 has 2 numbers"),
        ("", "is empty"),
    ],
)
def test_bad_matrices_are_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        read_traffic(file)


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "p.svg"
    from flitloom.placing.pictures import draw_placement

    draw_placement(place(fl.Torus(4, 4, 4), stencil_traffic([4, 4, 4]), effort=1), file)
    assert "row-major" in file.read_text() or file.stat().st_size > 10_000


@pytest.mark.parametrize("network", ["full4 x ring6", "full5 x full3", "line4 x full6"])
def test_loads_of_products_are_those_of_the_simulator(network: str) -> None:
    product = fl.Product(network)
    rng = np.random.default_rng(9)
    ranks = product.nodes
    rows = np.column_stack([rng.integers(0, ranks, 80), rng.integers(0, ranks, 80), rng.integers(1, 17, 80)])
    found = place(product, pairs_traffic(ranks, rows), effort=1)
    # As many flits as bytes, counted link by link by the simulator.
    listed = packet_rows(found.traffic, found.nodes, 1).tolist()
    packets = fl.Packets([(a, b, length - 1, start) for a, b, length, start in listed])
    flits = fl.simulate(fl.Network(product), packets).links["flits"]
    assert found.busiest_channel == int(flits.max())
    assert found.hop_bytes == int(flits.sum())
    assert found.bound <= found.busiest_channel <= found.row_major["busiest_channel"]


def test_ranks_are_placed_on_products_and_on_files_of_cables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, hosts = tmp_path / "p.json", tmp_path / "run.hosts"
    axes = "a=4:a2a:1,b=4:a2a:2"
    code, out, _ = command(capsys, "--network", "full4 x full4", "--axes", axes, "-o", file, "--json")
    facts = json.loads(out)
    # Every row and every column is a full mesh: each message has a cable of its own.
    assert (code, facts["busiest_channel"], facts["optimal"], facts["hop_bytes"]) == (0, 2, True, 16 * 3 * 3)
    assert run(["check", str(file)]) == 0
    assert run(["recheck", str(file)]) == 0
    assert run(["simulate", "--placement", str(file), "--flit-bytes", "1"]) == 0
    document = json.loads(file.read_text())
    assert document["topology"]["network"] == "full4 x full4"
    document["topology"]["network"] = "full4 x ring4"
    file.write_text(json.dumps(document))
    assert run(["check", str(file)]) == 1
    capsys.readouterr()
    cables = tmp_path / "cables.csv"
    grid = [f"s{x}{y},s{x}{(y + 1) % 4}\ns{x}{y},s{(x + 1) % 4}{y}" for x in range(4) for y in range(4)]
    cables.write_text("\n".join(grid) + "\n")
    code, out, err = command(capsys, "--graph", cables, "--stencil", "4x4", "--closed", "-o", hosts, "--json")
    assert (code, err.count("\n")) == (0, 1)
    assert "is taken for 16 switches with a host each" in err
    assert json.loads(out)["busiest_channel"] == 1
    assert sorted(hosts.read_text().split()) == sorted(f"s{x}{y}" for x in range(4) for y in range(4))
