"""``flitloom bench place_jax``: placements beside those of JAX's ``create_device_mesh``, on TPU slices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.errors import MissingExtraError
from flitloom.placing import Traffic, axes_traffic, parse_axes
from flitloom.placing.search import problem_of

#: Slices of a few hosts, then tori of cubes of 4x4x4 up to a pod of 4,096 chips, and those of two dimensions.
SLICES = ((2, 2, 2), (2, 2, 4), (2, 4, 4))
SIDES = (4, 8, 12, 16)
PLANES = ((4, 4), (4, 8), (8, 8), (8, 16), (16, 16))
#: Meshes of the table of create_device_mesh_for_nd_torus in jax's own tests/mesh_utils_test.py, to 512 chips.
TABLE = (
    ((2, 2, 4), (1, 4, 4)),
    ((4, 4, 4), (1, 16, 4)),
    ((4, 4, 8), (1, 16, 8)),
    ((4, 4, 8), (1, 8, 16)),
    ((4, 4, 8), (16, 8, 1)),
    ((4, 8, 8), (1, 32, 8)),
    ((8, 8, 8), (1, 64, 8)),
)
#: Chips up to which slices are placed unless all are asked for.
CHIPS = 128


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


def nodes_of_jax(sizes: tuple[int, ...], mesh: tuple[int, ...]) -> list[NDArray[np.uint32]]:
    """The nodes of all ranks, the last axis fastest: with whole dimensions per axis, and with split ones.

    Raises
    ------
    MissingExtraError
        JAX is not installed.
    """
    if find_spec("jax") is None:
        raise MissingExtraError("bench place_jax needs jax, which is not installed; pip install jax")
    mesh_utils = import_module("jax.experimental.mesh_utils")
    x, y, z = (*sizes, *[1] * (3 - len(sizes)))
    chips = [Chip(n, (n % x, n // x % y, n // (x * y))) for n in range(x * y * z)]
    found = []
    for split in (False, True):
        try:
            made = mesh_utils.create_device_mesh(mesh, chips, allow_split_physical_axes=split)
        except NotImplementedError:
            continue
        found.append(np.array([chip.id for chip in made.ravel()], dtype=np.uint32))
    return found


def cases() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], str]]:
    """Tori, meshes as JAX writes them (the last axis fastest), and whether the last axis is a ring.

    Every slice has a mesh of two axes, one of which is its last dimension, and from 64 chips on one of
    three axes that are not dimensions, of rings and with an all-to-all.

    Examples
    --------
    >>> found = list(cases())
    >>> len(found), found[0], found[-1]
    (81, ((2, 2, 4), (1, 4, 4), 'rings'), ((16, 16), (8, 4, 8), 'all-to-all'))
    """
    yield from ((*each, "rings") for each in TABLE)
    cubes = [(a, b, c) for a in SIDES for b in SIDES if b >= a for c in SIDES if c >= b]
    slices = [*SLICES, *sorted(cubes, key=math.prod), *PLANES]
    for sizes in slices:
        chips = math.prod(sizes)
        yield sizes, (chips // sizes[-1], sizes[-1]), "rings"
        if chips >= 64:
            yield sizes, (chips // 32, 4, 8), "rings"
            yield sizes, (chips // 32, 4, 8), "all-to-all"


def traffic_of(mesh: tuple[int, ...], kind: str) -> Traffic:
    """Rings with four times the bytes on every next axis: meshes of JAX are ordered by increasing intensity.

    The last axis is a ring, or exchanges as many bytes all-to-all.

    Examples
    --------
    >>> [(axis.size, axis.kind, axis.bytes) for axis in traffic_of((4, 8), "all-to-all").axes]
    [(8, 'a2a', 1), (4, 'ring', 1)]
    """
    axes = [f"a{at}={size}:ring:{4**at}" for at, size in enumerate(mesh)]
    if kind == "all-to-all":
        # A ring sends to two others, an all-to-all to all.
        many = max(1, 2 * 4 ** (len(mesh) - 1) // (mesh[-1] - 1))
        axes[-1] = f"a{len(mesh) - 1}={mesh[-1]}:a2a:{many}"
    return axes_traffic(parse_axes(",".join(reversed(axes))))


def run(context: Context) -> list[Row]:
    """Place meshes on slices of up to 128 chips, or on all to 4,096 chips, with the default effort.

    `row_major`, `jax` (the better of whole and split dimensions) and `placed` are bytes on the busiest
    channel, `bound` what no placement is below; seconds are wall-clock times with bounds. The last row
    counts placements that are better than JAX's, as good, and worse.
    """
    chosen = [each for each in cases() if context.everything or math.prod(each[0]) <= CHIPS]
    rows: list[Row] = []
    better, worse, of_three = 0, 0, [0, 0]
    for sizes, mesh, kind in chosen:
        torus, traffic = fl.Torus(*sizes), traffic_of(mesh, kind)
        problem = problem_of(torus, traffic, range(torus.nodes))
        jax = min(problem.loads(nodes)[1][0] for nodes in nodes_of_jax(sizes, mesh))
        found = fl.placing.place(torus, traffic)
        rows.append(
            {
                "torus": "x".join(map(str, sizes)),
                "mesh": "x".join(map(str, mesh)),
                "traffic": kind,
                "row_major": found.row_major["busiest_channel"],
                "jax": jax,
                "placed": found.busiest_channel,
                "bound": found.bound,
                "optimal": found.optimal,
                "seconds": round(found.seconds, 2),
            }
        )
        less = found.busiest_channel < jax
        better, worse = better + less, worse + (found.busiest_channel > jax)
        if len(mesh) == 3 and min(mesh) > 1:
            of_three = [of_three[0] + less, of_three[1] + 1]
        context.progress(len(rows), len(chosen))
    equal = len(rows) - better - worse
    told = (
        f"{better} better, {equal} equal, {worse} worse; of three axes {of_three[0]} of {of_three[1]} better"
    )
    rows.append({**dict.fromkeys(rows[0], ""), "torus": "all", "traffic": told})
    return rows
