"""Several ranks on a host or node: what leaves a host counts, bounds hold, files name devices."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import parse_fabric
from flitloom.placing import check as check_placement
from flitloom.placing import pairs_traffic, place, stencil_traffic
from flitloom.placing.host_bounds import host_bounds


def star(folder: Path, hosts: int) -> Path:
    file = folder / "star.csv"
    file.write_text("".join(f"h{host},sw\n" for host in range(hosts)))
    return file


def outside(rows: list[tuple[int, int, int]], parts: list[tuple[int, ...]]) -> int:
    """The most bytes that a part of the ranks sends to others, or receives."""
    worst = 0
    for part in parts:
        sent = sum(amount for a, b, amount in rows if a in part and b not in part)
        received = sum(amount for a, b, amount in rows if a not in part and b in part)
        worst = max(worst, sent, received)
    return worst


@pytest.mark.parametrize("seed", range(6))
def test_the_best_pairs_of_ranks_are_found_by_trying_all(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    rows = [(a, b, int(draw.integers(1, 30))) for a in range(6) for b in range(6) if a != b]
    rows = [row for row in rows if draw.random() < 0.5]
    traffic = pairs_traffic(6, rows)
    file = star(tmp_path, 3)
    least, fewest = 10**9, 10**9
    ranks = set(range(6))
    for one in combinations(sorted(ranks), 2):
        for other in combinations(sorted(ranks - {*one}), 2):
            parts = [one, other, tuple(ranks - {*one, *other})]
            least = min(least, outside(rows, parts))
            inside = sum(amount for a, b, amount in rows if any(a in part and b in part for part in parts))
            fewest = min(fewest, 2 * (sum(row[2] for row in rows) - inside))
    found = place(str(file), traffic, per_node=2, effort=1)
    assert (found.busiest_channel, found.busiest_channel) == (least, found.busiest_port)
    assert 0 < found.bound <= least
    assert found.hop_bytes_bound <= fewest
    by_hops = place(str(file), traffic, per_node=2, effort=1, minimise="hops")
    assert by_hops.hop_bytes == fewest
    found.save(tmp_path / "p.json")
    assert check_placement(tmp_path / "p.json").passed


def test_what_can_stay_on_a_host_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = tmp_path / "t.csv"
    matrix.write_text("source,destination,bytes\n0,2,10\n2,0,10\n1,3,10\n3,1,10\n")
    words = ["place", "--graph", str(star(tmp_path, 2)), "--traffic", str(matrix), "--per-node", "2"]
    assert run([*words, "--effort", "1"]) == 0
    text = capsys.readouterr().out
    assert "busiest channel         20       0             0" in text
    assert "proven optimal (nothing is sent from one node to another)" in text
    assert run([*words, "--effort", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["placement"] in ([0, 1, 0, 1], [1, 0, 1, 0])
    assert (told["busiest_port"], told["row_major"]["hop_bytes"]) == (0, 80)


def test_a_grid_goes_in_blocks(tmp_path: Path) -> None:
    found = place(str(star(tmp_path, 4)), stencil_traffic((8, 8)), per_node=16, effort=5)
    # A block of 4x4 in a corner has eight neighbours outside, a strip of 2x8 in the middle sixteen.
    assert (found.row_major["busiest_channel"], found.busiest_channel) == (16, 8)
    assert not found.optimal
    found.save(tmp_path / "p.json")
    assert check_placement(tmp_path / "p.json").passed


@pytest.mark.parametrize("certificate", ["certificate", "hop_bytes_certificate"])
@pytest.mark.parametrize("name", ["host_cables", "bound", "hop_bytes"])
def test_a_file_that_says_otherwise_is_refused(tmp_path: Path, name: str, certificate: str) -> None:
    found = place(str(star(tmp_path, 4)), stencil_traffic((4, 4)), per_node=4, effort=1)
    document = found.document()
    changes: dict[str, Any] = {
        "host_cables": lambda: document.pop("host_cables"),
        "bound": lambda: document.update(bound=found.busiest_channel + 1),
        "hop_bytes": lambda: document[certificate].clear() or document[certificate].update(kind="across"),
    }
    changes[name]()
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document))
    assert not check_placement(file).passed


def test_bounds_of_hosts_hold_of_placements_drawn_at_random() -> None:
    subnet = parse_fabric("".join(f"h{host},s{host // 2}\n" for host in range(6)) + "s0,s1\ns1,s2\ns2,s0\n")
    draw = np.random.default_rng(3)
    for _ in range(20):
        rows = [(a, b, int(draw.integers(1, 9))) for a in range(18) for b in range(18) if a != b]
        rows = [row for row in rows if draw.random() < 0.3]
        channel, hops = host_bounds(subnet, pairs_traffic(18, rows), 3, 0)
        for _ in range(20):
            seats = draw.permutation(np.repeat(np.arange(6), 3))
            parts = [tuple(np.flatnonzero(seats == host).tolist()) for host in range(6)]
            cables = outside(rows, parts)
            apart = [(seats[a], seats[b], amount) for a, b, amount in rows if seats[a] != seats[b]]
            far = sum(amount * (2 + (a // 2 != b // 2)) for a, b, amount in apart)
            between: dict[tuple[int, int], int] = {}
            for a, b, amount in apart:
                if a // 2 != b // 2:
                    between[a // 2, b // 2] = between.get((a // 2, b // 2), 0) + amount
            assert channel[0] <= max(cables, *between.values())
            assert hops[0] <= far


def test_without_a_bound_none_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["place", "--torus", "2x2", "--stencil", "8x8", "--per-node", "16", "--effort", "1"]
    assert run(words) == 0
    text = capsys.readouterr().out
    assert "verdict       no bound is known" in text
    assert "inf" not in text


def test_jax_gets_devices_not_nodes(tmp_path: Path) -> None:
    found = place(fl.Torus(4, 2), stencil_traffic((8, 4)), per_node=4, effort=1)
    found.save(tmp_path / "p.jax.json")
    order = json.loads((tmp_path / "p.jax.json").read_text())["order"]
    # Devices are numbered node by node: each is named once, and by the node of its rank.
    assert sorted(order) == list(range(32))
    assert [device // 4 for device in order] == found.nodes.tolist()


@pytest.mark.parametrize("fields", [{"failed_nodes": [5]}, {"failed_links": ["0-1"]}])
@pytest.mark.parametrize("sizes", [(16, 16, 16), (40, 40)])
def test_the_advice_beside_a_dead_chip_does_not_lead_through_it(sizes: Any, fields: Any) -> None:
    with pytest.raises(fl.SpecError) as refused:
        place(fl.Torus(*sizes, **fields), stencil_traffic((4, 4)), effort=1)
    assert "leave nodes out" not in str(refused.value)
    assert "still passes messages on" in refused.value.advice


def test_ways_go_around_a_dead_chip() -> None:
    found = place(fl.Torus(4, 4, failed_nodes=[5]), stencil_traffic((5, 3)), effort=1)
    assert all(5 not in way for way in found.ways)
    assert 5 not in found.nodes
