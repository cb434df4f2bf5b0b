"""What a search says of its effort, bounds of every placement, and the cases of the benchmark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.benchmarks.place_cases import cases
from flitloom.commands import run
from flitloom.placing import (
    Traffic,
    axes_traffic,
    pairs_traffic,
    parse_axes,
    place,
    stencil_traffic,
)
from flitloom.placing import check as check_placement
from flitloom.placing.checking import _program
from flitloom.placing.cosine import cosine_bound, displacements
from flitloom.placing.placement import LATE
from flitloom.placing.search import problem_of
from flitloom.placing.sharing import at_once, sharing_bound
from flitloom.placing.slabs import slabs_bound
from sample import sampled


def test_all_with_all_on_all_nodes_is_as_full_everywhere(tmp_path: Path) -> None:
    traffic = axes_traffic(parse_axes("a=16:a2a:3"))
    found = place(fl.Torus(4, 4), traffic, effort=1)
    # Under the rule of ties a channel of a ring of 4 has 3 pairs, each for 4 rows of destinations.
    assert (found.busiest_channel, found.bound_proof["kind"], found.optimal) == (36, "uniform", True)
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    # One message less, and it proves nothing.
    document = json.loads(file.read_text())
    del document["traffic"]["axes"]
    document["traffic"]["pairs"] = [
        [a, b, 3] for a in range(16) for b in range(16) if a != b and (a, b) != (0, 1)
    ]
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed
    rows = [(a, b, 3) for a in range(16) for b in range(16) if (a, b) != (0, 1)]
    assert place(fl.Torus(4, 4), pairs_traffic(16, rows), effort=1).bound_proof["kind"] != "uniform"
    # With a node to spare it makes a difference who sits where.
    spare = place(fl.Torus(5, 4), traffic, effort=1)
    assert spare.bound_proof["kind"] != "uniform"


def test_a_search_says_when_more_effort_may_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Traffic without structure, which only annealing improves.
    file = tmp_path / "rows.csv"
    rows = [f"{a},{(a * a * 7 + 5 * b + 1) % 64},{1 + (a + b) % 5}" for a in range(64) for b in range(4)]
    file.write_text("\n".join(["source,destination,bytes", *rows]))
    words = ["place", "--torus", "4x4x4", "--traffic", str(file)]
    said = []
    for effort in ("1", "80"):
        assert run([*words, "--effort", effort, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        said.append((facts["more_may_help"], facts["busiest_channel"]))
    assert said[0][0]
    assert said[1][1] < said[0][1]
    assert run([*words, "--effort", "1"]) == 0
    assert "more effort may help (--effort 4)" in capsys.readouterr().out
    easy = place(fl.Torus(4, 4), axes_traffic(parse_axes("a=4:ring:8,b=4:ring:1")), effort=1)
    assert easy.gained < LATE
    assert not easy.more_may_help


@pytest.mark.long
def test_traffic_without_structure_is_annealed_for_longer() -> None:
    scattered = next(case for case in cases() if (case.name, case.sizes) == ("scattered", (4, 4, 4)))
    found = place(fl.Torus(4, 4, 4), scattered.make())
    assert (found.effort, found.busiest_channel) == (300, 22)
    assert place(fl.Torus(4, 4, 4), stencil_traffic([8, 8], 5)).effort == 150


@pytest.mark.parametrize(
    ("sizes", "ranks"), [((6,), 6), ((5,), 5), ((8,), 4), ((4, 3), 4), ((3, 3), 4), ((4, 4), 3)], ids=str
)
def test_the_search_through_all_placements_misses_none(sizes: tuple[int, ...], ranks: int) -> None:
    torus, program = fl.Torus(*sizes), _program()
    network = program.Board(torus.model_dump(mode="json"))
    rng = np.random.default_rng(ranks)
    proven = 0
    for _ in sampled(range(6), 2):
        pairs = [(a, b) for a in range(ranks) for b in range(a) if rng.integers(3)] or [(0, 1)]
        bytes_of = {pair: int(rng.integers(1, 4)) for a, b in pairs for pair in ((a, b), (b, a))}
        traffic = pairs_traffic(ranks, [(*pair, amount) for pair, amount in bytes_of.items()])
        problem = problem_of(torus, traffic, range(torus.nodes))
        every = permutations(range(torus.nodes), ranks)
        least = min(problem.loads(np.array(nodes, dtype=np.uint32))[1][0] for nodes in every)
        for most in range(1, least + 2):
            possible = program.Laying(network, ranks, bytes_of, most).is_possible()
            assert possible or most < least
            proven += not possible
    assert proven


def test_all_placements_are_tried_where_that_may_prove_one_optimal(tmp_path: Path) -> None:
    # Of five columns one is at no ring's end.
    found = place(fl.Torus(4, 4), stencil_traffic([5, 3]), effort=10)
    assert (found.busiest_channel, found.bound, found.bound_proof["kind"]) == (2, 2, "search")
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    one_way = [row for row in document["traffic"]["pairs"] if row[:2] != [0, 1]]
    for problem, change in {
        "its certificate proves": {"bound": 3, "certificate": {"kind": "search", "least": 3}},
        "both ways": {"traffic": {**document["traffic"], "pairs": one_way}},
    }.items():
        file.write_text(json.dumps(document | change))
        assert not check_placement(file).passed, problem


@pytest.mark.long
def test_a_band_of_16x4_does_not_fit_8x8_without_sharing_a_channel() -> None:
    found = place(fl.Torus(8, 8), stencil_traffic([16, 4], 5), effort=20)
    assert (found.busiest_channel, found.bound, found.bound_proof["kind"]) == (2, 2, "search")


#: Torus, traffic, what is found, what is proven of the busiest channel; bytes are small, so all is exact.
PROVEN = [
    pytest.param("8x8x8", stencil_traffic([8, 8, 8], 27, wrap=True), 9, 9, marks=pytest.mark.long),
    ("8x8", axes_traffic(parse_axes("all=64:pairs:1")), 3, 3),
    pytest.param("4x4x8", axes_traffic(parse_axes("all=128:pairs:1")), 3, 3, marks=pytest.mark.long),
    pytest.param("4x8x8", stencil_traffic([4, 4, 4, 4], 9, wrap=True), 3, 3, marks=pytest.mark.long),
    ("8x8", axes_traffic(parse_axes("a=16:a2a:1,b=4:line:8")), 20, 15),
]


@pytest.mark.parametrize(("torus", "traffic", "reached", "bound"), PROVEN)
def test_cosines_bound_the_busiest_channel(
    tmp_path: Path, torus: str, traffic: Traffic, reached: int, bound: int
) -> None:
    found = place(fl.Torus(torus), traffic, effort=40)
    assert (found.busiest_channel, found.bound, found.bound_proof["kind"]) == (reached, bound, "cosine")
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    # More weight without a matrix behind it, and the certificate proves less.
    document["certificate"]["v"][0][0] += 10**12
    document["certificate"]["v"][0][-1] -= 10**12
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed


@pytest.mark.parametrize("axes", ["a=3:a2a:2,b=3:ring:1", "a=9:line:1", "a=3:line:5,b=3:a2a:1", "a=9:ring:3"])
def test_cosine_bounds_hold_of_placements_drawn_at_random(axes: str) -> None:
    traffic = axes_traffic(parse_axes(axes))
    torus = fl.Torus(3, 3)
    bound = cosine_bound(torus, traffic, hops=True)
    assert bound is not None
    dice = np.random.default_rng(1)
    x, y = np.divmod(np.arange(9), 3)
    apart = np.minimum(abs(x[:, None] - x), 1) + np.minimum(abs(y[:, None] - y), 1)
    least = min(
        int((traffic.bytes * apart[at[traffic.sources], at[traffic.destinations]]).sum())
        for at in (dice.permutation(9) for _ in sampled(range(20_000), 10))
    )
    assert 0 < bound[0] <= least


@pytest.mark.long
def test_placements_of_4096_ranks_are_better_than_row_major() -> None:
    axes = parse_axes("expert=16:a2a:1,data=16:ring:8,pipeline=16:line:1")
    found = place(fl.Torus(16, 16, 16), axes_traffic(axes))
    assert found.row_major["busiest_channel"] == 36
    assert found.busiest_channel <= 20


def test_the_benchmark_has_70_cases_that_fill_their_networks() -> None:
    every = cases()
    assert len(every) == len({(case.sizes, case.name) for case in every}) == 70
    for case in every:
        assert case.make().ranks == fl.Torus(*case.sizes).nodes


def test_the_benchmark_prints_bounds_and_proofs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitloom.benchmarks import place as benchmark

    monkeypatch.setattr(benchmark, "cases", lambda: cases()[11:14])
    assert run(["bench", "place", "--all", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["busiest"] for row in rows[:-1]] == [8, 4, 12]
    assert [row["optimal"] for row in rows] == [True, True, True, 3]


def test_the_benchmark_of_hops_has_gaps_by_kind_of_axes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitloom.benchmarks import place_hops as benchmark

    every = {case.name: case for case in cases()}
    chosen = [every[name] for name in ("r12.4 r12.4", "r8.16 r4.4 l4.1", "8x8 5 open")]
    monkeypatch.setattr(benchmark, "cases", lambda: chosen)
    assert run(["bench", "place_hops", "--all", "--json"]) == 0
    *rows, rings, line, grid = json.loads(capsys.readouterr().out)
    # All neighbours are one hop apart: 288 pairs both ways, 128, 128 and 96, and 112.
    assert [row["hop_bytes"] for row in rows] == [2 * 288 * 4, 2 * (128 * 16 + 128 * 4 + 96), 2 * 112]
    names = ["axes without lines", "axes with lines", "grids and kernels"]
    assert [(row["torus"], row["optimal"], row["gap"]) for row in (rings, line, grid)] == [
        (name, 1, 0) for name in names
    ]


def test_displacements_alike_up_to_the_order_of_dimensions_are_one_number() -> None:
    # All-to-all in planes of 16 and of 32: the linear program of this bound has the optimum 23.95.
    traffic = axes_traffic(parse_axes("a=16:a2a:1,b=32:a2a:1"))
    bound, certificate = cosine_bound(fl.Torus(8, 8, 8), traffic, hops=False)
    assert bound == 24
    assert len(set(certificate["lengths"])) == 1
    places = displacements((8, 8, 8))
    (numbers,) = certificate["v"]
    values: dict[tuple[int, ...], set[int]] = {}
    for each, value in zip(places, numbers, strict=True):
        values.setdefault(tuple(sorted(each)), set()).add(value)
    assert len(values) == 35
    assert all(len(known) == 1 for known in values.values())


def test_messages_that_share_a_channel_bound_the_busiest(tmp_path: Path) -> None:
    traffic = axes_traffic(parse_axes("a=4:a2a:4,b=4:a2a:2,c=4:a2a:1"))
    found = place(fl.Torus(4, 4, 4), traffic, effort=20)
    assert (found.busiest_channel, found.bound, found.bound_proof["kind"]) == (8, 8, "clique")
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    # Ranks 0 and 5 send each other nothing.
    document["certificate"]["ranks"][1] = 5
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed
    # A hub with seven messages of 3 bytes and six channels.
    hub = pairs_traffic(27, [(1, 2, 1), *((0, rank, 3) for rank in range(1, 8))])
    found = place(fl.Torus(3, 3, 3), hub, effort=5)
    proof = {"kind": "packing", "rank": 0, "sends": True, "channels": 6, "shared": 2}
    assert (found.bound, found.bound_proof, found.optimal) == (6, proof, True)
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    document["certificate"]["shared"] = 3
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (6, 2), (8,)])
@pytest.mark.parametrize("torus", [fl.Torus, fl.Mesh])
def test_cliques_drawn_at_random_share_channels_as_bounded(torus: type, sizes: tuple[int, ...]) -> None:
    dice = np.random.default_rng(2)
    topology = torus(*sizes)
    for ranks in range(3, 8):
        rows = [(a, b, 1) for a in range(ranks) for b in range(ranks) if a != b]
        traffic = pairs_traffic(ranks, rows)
        bound, _proof = sharing_bound(topology, traffic, True)
        assert bound >= at_once(ranks)
        for _ in sampled(range(20), 4):
            nodes = dice.permutation(topology.nodes)[:ranks]
            found = place(topology, traffic, nodes=sorted(int(node) for node in nodes), effort=1)
            assert found.busiest_channel >= bound


def test_messages_that_leave_along_the_first_dimension_bound_the_busiest(tmp_path: Path) -> None:
    # At most 3 of the 26 neighbours have the same x and y, so 23 messages leave over four channels.
    traffic = stencil_traffic([4, 4, 4], 27)
    packed, proof = sharing_bound(fl.Torus(4, 4, 4), traffic, True)
    assert (packed, proof["kind"]) == (6, "packing")
    found = place(fl.Torus(4, 4, 4), traffic, effort=5)
    # Eight cells have 26, so each may have one cell in its slab that is none of them: too few for all others.
    assert (found.bound, found.bound_proof) == (7, {"kind": "slabs", "sends": True, "least": 7})
    assert {name: proof[name] for name in ("channels", "shared", "along")} == {
        "channels": 4,
        "shared": 6,
        "along": 2,
    }
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    document |= {"bound": packed, "certificate": proof}
    file.write_text(json.dumps(document))
    assert check_placement(file).passed
    # With all six channels the messages would have to be more.
    document["certificate"]["along"] = 3
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed


@pytest.mark.parametrize("sizes", [(3, 4), (4, 3), (2, 5), (2, 2, 3)])
def test_no_placement_of_a_hub_is_below_what_its_messages_share(sizes: tuple[int, ...]) -> None:
    torus = fl.Torus(*sizes)
    dice = np.random.default_rng(3)
    for ends in ((0, 1), (1, 0)):
        amounts = dice.integers(1, 9, torus.nodes - 1)
        rows = np.column_stack([np.zeros(torus.nodes - 1), np.arange(1, torus.nodes), amounts]).astype(int)
        traffic = pairs_traffic(torus.nodes, rows[:, [*ends, 2]])
        bound = sharing_bound(torus, traffic, True)[0]
        least = min(place(torus, traffic, seed=seed, effort=1).busiest_channel for seed in range(3))
        assert 0 < bound <= least


@pytest.mark.parametrize(
    ("torus", "grid"), [((4, 4, 4), (8, 8)), ((4, 8, 8), (16, 16)), ((8, 8, 4), (16, 16))]
)
def test_grids_with_corners_do_not_divide_among_slabs(
    tmp_path: Path, torus: tuple[int, ...], grid: tuple[int, ...]
) -> None:
    found = place(fl.Torus(*torus), stencil_traffic(grid, 9), effort=40)
    # A side of 4 is the first dimension, or the last one.
    proof = {"kind": "slabs", "sends": torus[0] == 4, "least": 3}
    assert (found.bound, found.bound_proof) == (3, proof)
    assert found.optimal or torus == (8, 8, 4)
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
    document = json.loads(file.read_text())
    for name in ("bound", "certificate"):
        wrong = json.loads(json.dumps(document))
        if name == "bound":
            wrong["bound"] = 4
        else:
            # Divisions with so much exist.
            wrong["certificate"]["least"] = 4
        file.write_text(json.dumps(wrong))
        assert not check_placement(file).passed


def busiest_of_slabs(topology: fl.Topology, traffic: Traffic, nodes: Sequence[int], sends: bool) -> int:
    """Most bytes a rank sends in one direction of the first dimension, or receives in one of the last."""
    at = -1 if not sends else 0
    size, wraps = topology.sizes[at], topology.wraps[at] and topology.sizes[at] > 2
    stride = 1 if sends else topology.nodes // size
    loads: Counter[tuple[int, bool]] = Counter()
    for a, b, amount in zip(traffic.sources, traffic.destinations, traffic.bytes, strict=True):
        here, there = (nodes[rank] // stride % size for rank in (a, b))
        ahead = (there - here) % size
        forwards = 2 * ahead < size or (2 * ahead == size and 2 * here >= size)
        if here != there:
            loads[a if sends else b, forwards if wraps else there > here] += int(amount)
    return max(loads.values(), default=0)


@pytest.mark.parametrize("sizes", [(6,), (3, 2), (2, 3), (5,), (4,)])
@pytest.mark.parametrize("kind", [fl.Torus, fl.Mesh])
def test_no_placement_is_below_what_slabs_prove(kind: type, sizes: tuple[int, ...]) -> None:
    topology = kind(*sizes)
    ranks = topology.nodes
    dice = np.random.default_rng(ranks)
    every = list(permutations(range(ranks)))
    for part in (0.4, 0.6, 0.8):
        pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
        drawn = [pair for pair in pairs if dice.random() < part]
        traffic = pairs_traffic(ranks, [(*pair, int(dice.integers(1, 5))) for pair in drawn])
        problem = problem_of(topology, traffic, range(ranks))
        least = min(problem.loads(np.array(nodes, dtype=np.uint32))[1][0] for nodes in every)
        # The search leaves out no division, and counts none as impossible that is possible.
        exact = max(
            min(busiest_of_slabs(topology, traffic, nodes, sends) for nodes in every)
            for sends in (True, False)
        )
        bound = slabs_bound(topology, traffic, 0)
        assert bound is not None
        assert bound[0] == exact <= least


def test_slabs_prove_nothing_of_tables(tmp_path: Path) -> None:
    found = place(fl.Torus(4, 4, 4), stencil_traffic([8, 8], 9), routing="balanced", effort=1)
    assert found.bound_proof["kind"] != "slabs"
    file = tmp_path / "p.json"
    found.save(file)
    document = json.loads(file.read_text())
    document["bound"], document["certificate"] = 3, {"kind": "slabs", "sends": True, "least": 3}
    file.write_text(json.dumps(document))
    report = check_placement(file)
    assert not report.passed
    assert "dimension order" in str(report.problem)


def test_loads_order_placements_as_runs_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flitloom.benchmarks import place_order

    monkeypatch.setattr(place_order, "cases", lambda: cases()[:24])
    assert run(["bench", "place_order", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    agree = {(row["apart in"], row["measure"]): row["agree"] for row in rows}
    assert len(agree) == len(rows) == 8
    assert all(row["pairs"] > 100 for row in rows)
    assert agree["load", "larger of channel and port"] > 90
    assert agree["time", "busiest channel"] > 90
    # A tie is neither right nor wrong.
    assert all(row["agree"] <= 100 - row["ties"] / 2 for row in rows)
    assert all(row["ties"] == 0 for row in rows[:1])


@pytest.mark.parametrize(
    ("sizes", "mesh"), [((8, 8, 8), (32, 16)), ((4, 8, 6), (12, 16)), ((4, 4, 8), (16, 8))]
)
def test_planes_wind_round_a_torus(tmp_path: Path, sizes: tuple[int, ...], mesh: tuple[int, int]) -> None:
    wide, ranks = mesh[0], mesh[0] * mesh[1]
    right = [(rank, rank + 1, 4) for rank in range(ranks) if (rank + 1) % wide]
    down = [(rank, rank + wide, 4) for rank in range(ranks - wide)]
    found = place(fl.Torus(*sizes), pairs_traffic(ranks, right + down, mesh=mesh), effort=5)
    # No channel has two messages.
    assert (found.busiest_channel, found.optimal) == (4, True)
    # Nor if all answer.
    found = place(fl.Torus(*sizes), stencil_traffic(mesh), effort=5)
    assert (found.busiest_channel, found.optimal, found.bound_proof["kind"]) == (1, True, "message")
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).passed
