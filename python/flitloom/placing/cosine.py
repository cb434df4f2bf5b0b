"""A lower bound of placements on tori from matrices of cosines, by a linear program.

For every frequency f the matrix prod_d cos(2 pi f_d (x_d(i) - x_d(j)) / k_d) over all pairs of ranks is
positive semidefinite, whatever the placement x. Averaged over the symmetries of a logical mesh of cliques
and rings it has one eigenvalue per block of the mesh's algebra, and each is a linear form of the numbers of
pairs per class of ranks and displacement. So a linear program bounds hop-bytes, or the fullest channel. It
contains the sums of sorted distances; for one clique it is Delsarte's linear program (1973), and relatives
are the eigenvalue bounds of the quadratic assignment problem (Finke, Burkard and Rendl 1987). Pairs of a
line count with one hop each.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.placing.axes import Axis
from flitloom.placing.checking import proven_by
from flitloom.placing.traffic import Traffic
from flitloom.spec import Topology

#: Numbers of pairs that a linear program may have.
MOST_NUMBERS = 300
#: Linear programs in a row, and eigenvalues below 0 that each is told in addition.
ROUNDS, ADDED = 15, 120
#: Eigenvalues that are told at once.
ALL = 300
#: Numbers of a certificate are multiples of one over this.
SCALE = 10**9


def applies(topology: Topology, traffic: Traffic, per_node: int) -> bool:
    """Whether there is such a bound: plain tori with a rank on every node, axes, a program of some size."""
    whole = all(wraps or size == 2 for wraps, size in zip(topology.wraps, topology.sizes, strict=True))
    kinds = {axis.kind for axis in traffic.axes}
    if topology.twist or not whole or per_node != 1 or traffic.ranks != topology.nodes:
        return False
    if not kinds or "pairs" in kinds or traffic.ranks > 1024:
        return False
    numbers = len(_classes(traffic)) * len(displacements(topology.sizes))
    return numbers <= MOST_NUMBERS


def displacements(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Displacements of two nodes of a torus up to mirroring, one number per dimension.

    Examples
    --------
    >>> displacements((2, 3))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return list(product(*(range(size // 2 + 1) for size in sizes)))


def _classes(traffic: Traffic) -> list[tuple[int, ...]]:
    """Classes of pairs of ranks: per axis their distance in a ring, or whether they differ."""
    return list(
        product(
            *(
                range(axis.size // 2 + 1 if axis.kind == "ring" else min(axis.size, 2))
                for axis in traffic.axes
            )
        )
    )


def cosine_bound(topology: Topology, traffic: Traffic, hops: bool) -> tuple[int, dict[str, Any]] | None:
    """The bound of hop-bytes, or of the fullest channel, with its certificate.

    Returns
    -------
    tuple or None
        The bound, rounded up to a multiple of the greatest common divisor of all bytes, and the
        certificate: its ``kind``, and multiples of ``1 / scale``: ``lengths`` per dimension, ``v`` per
        displacement, and ``weights`` (frequency, block, number). None where there is none.
    """
    from flitloom.linear import solve

    sizes = topology.sizes
    classes, places, nodes = _classes(traffic), displacements(sizes), traffic.ranks
    many = [
        math.prod(1 if at == 0 or 2 * at == k else 2 for at, k in zip(place, sizes, strict=True))
        for place in places
    ]
    partners = [
        math.prod(
            1 if at == 0 else (1 if 2 * at == axis.size else 2) if axis.kind == "ring" else axis.size - 1
            for at, axis in zip(one, traffic.axes, strict=True)
        )
        for one in classes
    ]
    amounts = [_bytes(one, traffic) for one in classes]
    lines = sum(
        2 * (axis.size - 1) * (nodes // axis.size) * axis.bytes for axis in traffic.axes if _is_line(axis)
    )
    channels = [nodes * (1 if k == 2 else 2) for k in sizes]
    # Unknown: pairs per class and displacement; then z; then hops of lines per dimension.
    count, dimensions = len(classes) * len(places), len(sizes)
    at = np.array(places)
    phases = [np.cos(2 * np.pi * np.outer(np.arange(k // 2 + 1), np.arange(k // 2 + 1)) / k) for k in sizes]
    phi = np.ones((len(places), len(places)))
    for d in range(dimensions):
        phi *= phases[d][np.ix_(at[:, d], at[:, d])]
    eigen = np.array([[float(_eigenvalue(e, a, traffic)) for a in classes] for e in classes])
    rows: list[NDArray[np.float64]] = []
    lower: list[float] = []
    upper: list[float] = []

    def add(row: NDArray[np.float64], low: float, high: float) -> None:
        rows.append(row)
        lower.append(low)
        upper.append(high)

    width = count + 1 + dimensions
    for a in range(len(classes)):
        row = np.zeros((len(classes), len(places)))
        row[a] = 1
        add(np.concatenate([row.ravel(), np.zeros(1 + dimensions)]), nodes * partners[a], nodes * partners[a])
    for b in range(len(places)):
        row = np.zeros((len(classes), len(places)))
        row[:, b] = 1
        add(np.concatenate([row.ravel(), np.zeros(1 + dimensions)]), nodes * many[b], nodes * many[b])
    for d in range(dimensions):
        form = np.zeros(width)
        form[:count] = -np.outer(amounts, at[:, d]).ravel()
        form[count], form[count + 1 + d] = channels[d], -1
        add(form, 0, np.inf)
    form = np.zeros(width)
    form[count + 1 :] = 1
    add(form, lines, np.inf)
    cost = np.zeros(width)
    cost[count] = 1
    if hops:
        # All hops count once: one sum over all dimensions.
        cost[count] = 0
        cost[:count] = np.outer(amounts, at.sum(axis=1)).ravel()
        cost[count + 1 :] = 1
    # Only a rank itself is at no distance of itself.
    apart = np.ones((len(classes), len(places)))
    apart[0, 1:] = apart[1:, 0] = 0
    matrix = np.array(rows)
    matrix[:, :count] *= apart.ravel()
    blocks = [np.outer(eigen[e], phi[f]) * apart for f, e in product(range(len(places)), range(len(classes)))]
    forms = np.array(blocks).reshape(len(blocks), count)
    chosen = list(range(len(forms))) if len(forms) <= ALL else []
    for _ in range(ROUNDS):
        more = np.concatenate([forms[chosen], np.zeros((len(chosen), 1 + dimensions))], axis=1)
        whole = np.concatenate([matrix, more])
        low, high = [*lower, *[0.0] * len(chosen)], [*upper, *[np.inf] * len(chosen)]
        down, across = np.nonzero(whole)
        found = solve(cost, (down, across, whole[down, across]), low, high)
        if found is None:
            return None
        values = forms @ found.variables[:count]
        broken = [int(at) for at in np.argsort(values, kind="stable")[:ADDED] if values[at] < -1e-6 * nodes]
        duals = found.duals
        first, last = len(classes) + len(places), len(matrix)
        weights = [
            (row, float(dual)) for row, dual in zip(chosen, duals[last:], strict=True) if dual * SCALE > 1
        ]
        if not broken:
            break
        chosen = sorted({*chosen, *broken})
    certificate: dict[str, Any] = {
        "kind": "cosine",
        "scale": SCALE,
        "lengths": [SCALE] * dimensions
        if hops
        else [max(0, round(x * SCALE)) for x in duals[first : first + dimensions]],
        "v": [math.floor(x * SCALE) for x in duals[len(classes) : first]],
        "weights": [[*divmod(row, len(classes)), round(weight * SCALE)] for row, weight in weights],
    }
    return proven_by(certificate, topology, traffic, hops), certificate


def _is_line(axis: Axis) -> bool:
    return axis.kind == "line" and axis.size > 2


def _bytes(one: tuple[int, ...], traffic: Traffic) -> int:
    """Bytes of an ordered pair of a class; those of lines count elsewhere."""
    moved = [(at, axis) for at, axis in zip(one, traffic.axes, strict=True) if at]
    if len(moved) != 1 or _is_line(moved[0][1]) or (moved[0][1].kind == "ring" and moved[0][0] > 1):
        return 0
    return moved[0][1].bytes


def _eigenvalue(block: tuple[int, ...], one: tuple[int, ...], traffic: Traffic) -> float:
    """The mean of a block's eigenvector over a class of pairs."""
    value = 1.0
    for e, at, axis in zip(block, one, traffic.axes, strict=True):
        if axis.kind == "ring":
            value *= math.cos(2 * math.pi * e * at / axis.size)
        elif e and at:
            value *= -1 / (axis.size - 1)
    return value
