"""Placements beside those of JAX's `create_device_mesh`, where jax is installed; its devices are mocked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import flitloom as fl
from flitloom.placing import axes_traffic, parse_axes, place
from flitloom.placing.running import packet_rows

mesh_utils = pytest.importorskip("jax.experimental.mesh_utils")

#: The table of create_device_mesh_for_nd_torus in jax's own tests/mesh_utils_test.py to 512 chips, and more.
TABLE = [
    ((2, 2, 4), (1, 4, 4)),
    ((4, 4, 4), (1, 16, 4)),
    ((4, 4, 8), (1, 16, 8)),
    ((4, 4, 8), (1, 8, 16)),
    ((4, 4, 8), (16, 8, 1)),
    ((4, 8, 8), (1, 32, 8)),
    ((8, 8, 8), (1, 64, 8)),
    ((8, 8), (8, 8)),
    ((4, 4), (2, 4, 2)),
    ((4, 4, 4), (4, 4, 4)),
    ((4, 4, 4), (2, 4, 8)),
]


@dataclass(frozen=True)
class Chip:
    """What `create_device_mesh` asks of a device."""

    id: int
    coords: tuple[int, int, int]
    platform: str = "tpu"
    device_kind: str = "TPU v4"
    core_on_chip: int = 0
    process_index: int = 0
    slice_index: int = 0


def nodes_of_jax(sizes: tuple[int, ...], mesh: tuple[int, ...]) -> list[np.ndarray]:
    """The nodes of all ranks, the last axis fastest: with whole dimensions per axis, and with split ones."""
    x, y, z = (*sizes, *[1] * (3 - len(sizes)))
    chips = [Chip(n, (n % x, n // x % y, n // (x * y))) for n in range(x * y * z)]
    found = []
    for split in (False, True):
        try:
            made = mesh_utils.create_device_mesh(mesh, chips, allow_split_physical_axes=split)
        except NotImplementedError:
            continue
        found.append(np.array([chip.id for chip in made.ravel()]))
    return found


@pytest.mark.parametrize(("sizes", "mesh"), TABLE, ids=str)
def test_never_worse_than_jax(sizes: tuple[int, ...], mesh: tuple[int, ...]) -> None:
    # Meshes of jax are ordered by increasing intensity: rings with four times the bytes on every next axis.
    axes = [f"a{at}={size}:ring:{4**at}" for at, size in enumerate(mesh)]
    traffic = axes_traffic(parse_axes(",".join(reversed(axes))))
    torus = fl.Torus(*sizes)
    found = place(torus, traffic, effort=30)
    others = nodes_of_jax(sizes, mesh)
    assert others
    for nodes in others:
        assert sorted(nodes) == list(range(math.prod(sizes)))
        # As many flits as bytes, counted link by link by the simulator.
        rows = packet_rows(traffic, nodes, 1).tolist()
        packets = fl.Packets([(a, b, length - 1, start) for a, b, length, start in rows])
        fullest = int(fl.simulate(fl.Network(torus), packets).links["flits"].max())
        assert found.fullest_channel <= fullest
