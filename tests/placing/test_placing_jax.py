"""Placements beside those of JAX's `create_device_mesh`, where jax is installed; its devices are mocked."""

from __future__ import annotations

import math

import pytest

import flitloom as fl
from flitloom.benchmarks import Context
from flitloom.benchmarks import run as bench
from flitloom.benchmarks.place_jax import TABLE, nodes_of_jax, traffic_of
from flitloom.errors import MissingExtraError
from flitloom.placing import place
from flitloom.placing.running import packet_rows

#: Besides meshes of the benchmark, what jax's own test has more of, and some whose axes are whole dimensions
#: or split ones.
MORE = [
    ((2, 2), (1, 1, 4)),
    pytest.param((8, 8, 16), (1, 64, 16), marks=pytest.mark.long),
    ((8, 8), (8, 8)),
    ((4, 4), (2, 4, 2)),
    ((4, 4, 4), (4, 4, 4)),
    ((4, 4, 4), (2, 4, 8)),
]


def test_without_jax_the_benchmark_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flitloom.benchmarks.place_jax.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match="bench place_jax needs jax, which is not installed"):
        bench("place_jax", Context())


def test_a_last_axis_of_all_to_all_sends_as_much_as_a_ring() -> None:
    for kind in ("rings", "all-to-all"):
        traffic = traffic_of((2, 4, 9), kind)
        assert traffic.axes[0].size == 9
        assert traffic.axes[0].bytes * (2 if kind == "rings" else 8) == 2 * 16
        assert [axis.bytes for axis in traffic.axes[1:]] == [4, 1]


@pytest.mark.parametrize(("sizes", "mesh"), [*TABLE, *MORE], ids=str)
def test_never_worse_than_jax(sizes: tuple[int, ...], mesh: tuple[int, ...]) -> None:
    pytest.importorskip("jax.experimental.mesh_utils")
    traffic = traffic_of(mesh, "rings")
    torus = fl.Torus(*sizes)
    found = place(torus, traffic, effort=30)
    others = nodes_of_jax(sizes, mesh)
    assert others
    for nodes in others:
        assert sorted(nodes) == list(range(math.prod(sizes)))
        # As many flits as bytes, counted link by link by the simulator.
        rows = packet_rows(traffic, nodes, 1).tolist()
        packets = fl.Packets([(a, b, length - 1, start) for a, b, length, start in rows])
        busiest = int(fl.simulate(fl.Network(torus), packets).links["flits"].max())
        assert found.busiest_channel <= busiest


def test_the_benchmark_counts_what_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax.experimental.mesh_utils")
    monkeypatch.setattr("flitloom.benchmarks.place_jax.CHIPS", 16)
    *rows, last = bench("place_jax", Context())
    assert {row["torus"] for row in rows} == {"2x2x2", "2x2x4", "4x4"}
    assert all(row["bound"] <= row["placed"] <= row["jax"] for row in rows)
    better = sum(row["placed"] < row["jax"] for row in rows)
    assert last["traffic"].startswith(f"{better} better, {len(rows) - better} equal, 0 worse")
