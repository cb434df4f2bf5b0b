"""A lower bound of placements on tori from matrices of cosines.

For every frequency f the matrix prod_d cos(2 pi f_d (x_d(i) - x_d(j)) / k_d) over all pairs of ranks is
positive semidefinite, whatever the placement x, and so is its entrywise product with every matrix that the
ranks' own symmetry offers: cosines of a ring, eigenvectors of a line, characters of a cube. So the sum over
all pairs of such products is at least 0, which says something of the numbers of pairs per class of ranks and
displacement. Beside sums of sorted distances that bounds hop-bytes, and with lengths of channels the busiest
one. For one clique it is Delsarte's linear program (1973); relatives are the eigenvalue bounds of the
quadratic assignment problem (Finke, Burkard and Rendl 1987).

The multipliers are found by ascent on the dual, whose least costs are softened and hardened in
turn. Any multipliers prove something; what they prove is counted by the program that checks files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.placing.checking import proven_by
from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: Numbers of pairs (class of ranks times displacement) at most.
MOST_NUMBERS = 200_000
#: Ranks along a line whose pairs are told apart.
LONGEST_LINE = 32
#: Steps of the ascent, and numbers times steps at most.
STEPS, MOST_WORK = 8000, 200_000_000
#: Above so many steps, numbers times steps at most, where a step costs as much as so many numbers more.
MANY_STEPS, WORK_OF_MANY, STEP_WORK = 4000, 90_000_000, 6700
#: Part of a bound that is known: an ascent that is below it after a quarter of its steps ends.
HOPELESS = 0.6
#: Parts of a mean message by which costs are softened, first and last; the first step, and the last one's
#: part of it.
WARM, COLD, STEP, LAST = 0.3, 0.00001, 0.005, 0.002
#: Numbers above which the first step is shorter, since the errors of many steps add up, and up to which it is
#: longer.
MANY_NUMBERS, SHORT_STEP = 20_000, 0.0007
FEW_NUMBERS, LONG_STEP = 600, 0.015
#: Numbers of a certificate are multiples of one over this.
SCALE = 10**9

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Scheme:
    """Classes of the ordered pairs of an axis, and matrices over them that are positive semidefinite.

    Attributes
    ----------
    of : array of int
        The class of every ordered pair.
    pairs : array of float
        Pairs per class.
    same : array of bool
        Classes of a place with itself.
    sources : array of int
        Per class the group of places where its pairs begin.
    blocks : array of float
        A matrix a row, its number in every class.
    """

    of: NDArray[np.int64]
    pairs: Numbers
    same: NDArray[np.bool_]
    sources: NDArray[np.int64]
    blocks: Numbers


def scheme_of(kind: str, size: int) -> Scheme:
    """The scheme of a clique, ring, line or cube (whose places are numbers of this many bits).

    Examples
    --------
    >>> scheme_of("ring", 4).pairs.tolist(), scheme_of("cube", 8).pairs.tolist()
    ([4.0, 8.0, 4.0], [8.0, 24.0, 24.0, 8.0])
    """
    here = np.arange(size)
    one, other = here[:, None], here[None, :]
    if kind == "line":
        classes = sorted({min((i, j), (size - 1 - i, size - 1 - j)) for i in here for j in here})
        number = {pair: at for at, pair in enumerate(classes)}
        of = np.array([[number[min((i, j), (size - 1 - i, size - 1 - j))] for j in here] for i in here])
        waves = np.cos(np.pi * np.outer(here, here + 0.5) / size)
        blocks = np.array([[wave[i] * wave[j] for i, j in classes] for wave in waves])
        sources = np.array([min(i, size - 1 - i) for i, _ in classes])
        same = np.array([i == j for i, j in classes])
    else:
        if kind == "ring":
            of = np.minimum((one - other) % size, (other - one) % size)
            apart = np.arange(size // 2 + 1)
            blocks = np.cos(2 * np.pi * np.outer(apart, apart) / size)
        elif kind == "cube":
            bits = size.bit_length() - 1
            of = np.array([[(i ^ j).bit_count() for j in range(size)] for i in range(size)])
            blocks = np.array([[character(bits, e, t) for t in range(bits + 1)] for e in range(bits + 1)])
        else:
            of = (one != other).astype(np.int64)
            blocks = np.array([[1.0, 1.0], [1.0, -1 / max(size - 1, 1)]])[:, : min(size, 2)]
        sources = np.zeros(blocks.shape[1], dtype=np.int64)
        same = np.arange(blocks.shape[1]) == 0
    return Scheme(of, np.bincount(of.ravel()).astype(float), same, sources, blocks)


def character(bits: int, block: int, apart: int) -> float:
    """The mean of the characters of `bits` bits over pairs that differ in `apart` (Krawtchouk polynomials).

    Examples
    --------
    >>> [character(3, 1, apart) for apart in range(4)]
    [1.0, 0.3333333333333333, -0.3333333333333333, -1.0]
    """
    signs = [1 if j % 2 == 0 else -1 for j in range(block + 1)]
    ways = [math.comb(apart, j) * math.comb(bits - apart, block - j) for j in range(block + 1)]
    return sum(sign * way for sign, way in zip(signs, ways, strict=True)) / math.comb(bits, block)


def meshes(traffic: Traffic) -> list[list[tuple[int, str]]]:
    """Symmetries that the traffic may have, as (size, kind) per axis; those that keep more of it first."""
    kinds = {"a2a": "clique", "ring": "ring", "line": "line", "pairs": "cube"}
    if traffic.axes:
        given = [(axis.size, kinds[axis.kind] if axis.size > 2 else "clique") for axis in traffic.axes]
        plain = [(size, "clique" if kind == "line" else kind) for size, kind in given]
        return [given, plain]
    if traffic.mesh:
        return [[(size, kind) for size in traffic.mesh] for kind in ("ring", "line")]
    return [[(traffic.ranks, "cube")]] if traffic.ranks.bit_count() == 1 else []


def displacements(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Displacements of two nodes of a torus up to mirroring, one number per dimension.

    Examples
    --------
    >>> displacements((2, 3))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return list(product(*(range(size // 2 + 1) for size in sizes)))


@dataclass(frozen=True)
class Alike:
    """Displacements that differ in the order of dimensions of the same size only; and such frequencies.

    Attributes
    ----------
    of : array of int
        The class of every displacement.
    count : array of float
        Displacements per class.
    waves : list of array of float
        Per size, the sum over a class of frequencies (a row) of their cosines at a displacement of a class.
    mean : list of array of float
        The same, as means.
    """

    of: NDArray[np.int64]
    count: Numbers
    waves: list[Numbers]
    mean: list[Numbers]


def alike(sizes: tuple[int, ...]) -> Alike:
    """Classes of displacements, in the order of sizes.

    Examples
    --------
    >>> found = alike((2, 3, 2))
    >>> found.of.tolist(), found.count.tolist()
    ([0, 2, 1, 3, 2, 4, 3, 5], [1.0, 1.0, 2.0, 2.0, 1.0, 1.0])
    """
    places = np.array(displacements(sizes))
    of = np.zeros(len(places), dtype=np.int64)
    waves, mean = [], []
    for size in sorted(set(sizes)):
        half = np.arange(size // 2 + 1)
        dimensions = [d for d, other in enumerate(sizes) if other == size]
        every = list(product(half.tolist(), repeat=len(dimensions)))
        classes = sorted({tuple(sorted(each)) for each in every})
        number = {each: at for at, each in enumerate(classes)}
        belongs = np.array([[tuple(sorted(each)) == one for each in every] for one in classes])
        one = np.cos(2 * np.pi * np.outer(half, half) / size)
        whole = reduce(np.kron, [one] * len(dimensions))
        waves.append(belongs @ whole[:, [every.index(each) for each in classes]])
        mean.append(waves[-1] / belongs.sum(axis=1)[:, None])
        own = np.sort(places[:, dimensions], axis=1).tolist()
        of = of * len(classes) + np.array([number[tuple(each)] for each in own])
    return Alike(of, np.bincount(of).astype(float), waves, mean)


def applies(topology: AnyNetwork, traffic: Traffic, per_node: int) -> bool:
    """Whether there may be such a bound: plain tori with a rank on every node."""
    whole = all(wraps or size == 2 for wraps, size in zip(topology.wraps, topology.sizes, strict=True))
    return not topology.twist and whole and per_node == 1 and traffic.ranks == topology.nodes


def cosine_bound(
    topology: AnyNetwork, traffic: Traffic, hops: bool, known: int = 0
) -> tuple[int, dict[str, Any]] | None:
    """The bound of hop-bytes, or of the busiest channel, with its certificate.

    The search ends early where it is unlikely to reach a bound that is `known`.

    Returns
    -------
    tuple or None
        The bound, rounded up to a multiple of the greatest common divisor of all bytes, and the
        certificate: its ``kind``, the ``mesh`` whose symmetry it uses, and multiples of ``1 / scale``:
        ``lengths`` per dimension, ``v`` per group of places and displacement, and ``weights`` (block,
        frequency, number). None where there is none.
    """
    count = len(displacements(topology.sizes))
    for mesh in meshes(traffic):
        if any(size > (LONGEST_LINE if kind == "line" else 4096) for size, kind in mesh):
            continue
        schemes = [scheme_of(kind, size) for size, kind in mesh]
        if math.prod(len(scheme.pairs) for scheme in schemes) * count > MOST_NUMBERS:
            continue
        amounts = _amounts(traffic, schemes)
        if amounts.any():
            certificate = _ascend(topology.sizes, mesh, schemes, amounts, hops, known)
            return proven_by(certificate, topology, traffic, hops), certificate
    return None


def _amounts(traffic: Traffic, schemes: Sequence[Scheme]) -> Numbers:
    """The least bytes both ways, halved, of the pairs of every class."""
    sources, destinations = traffic.sources.astype(np.int64), traffic.destinations.astype(np.int64)
    keys = np.concatenate([sources * traffic.ranks + destinations, destinations * traffic.ranks + sources])
    pairs, inverse = np.unique(keys, return_inverse=True)
    both = np.bincount(inverse, np.concatenate([traffic.bytes, traffic.bytes]).astype(float))
    one, other = np.divmod(pairs, traffic.ranks)
    classes = np.zeros(len(pairs), dtype=np.int64)
    for scheme in schemes:
        size = len(scheme.of)
        classes = classes * len(scheme.pairs) + scheme.of[one % size, other % size]
        one, other = one // size, other // size
    every = reduce(np.multiply.outer, [scheme.pairs for scheme in schemes]).ravel()
    found = np.full(len(every), np.inf)
    np.minimum.at(found, classes, both)
    return np.where(np.bincount(classes, minlength=len(every)) == every, found, 0) / 2


def _along(numbers: Numbers, matrices: Sequence[Numbers]) -> Numbers:
    """A matrix applied along every axis of an array, the first one to the first."""
    shape = tuple(len(matrix.T) for matrix in matrices)
    for matrix in matrices:
        # The axis that is done goes to the end, so that all stand as before when all are done.
        numbers = np.dot(numbers.reshape(len(matrix), -1).T, matrix)
    return numbers.reshape(shape)


def _steps_for(numbers: int) -> tuple[int, float]:
    """How many steps there are for this many numbers, and how long the first one is."""
    steps = min(STEPS, max(MANY_STEPS, WORK_OF_MANY // (numbers + STEP_WORK)))
    first = LONG_STEP if numbers <= FEW_NUMBERS else STEP if numbers <= MANY_NUMBERS else SHORT_STEP
    return max(200, min(steps, MOST_WORK // numbers)), first


def _ascend(
    sizes: tuple[int, ...],
    mesh: Sequence[tuple[int, str]],
    schemes: Sequence[Scheme],
    amounts: Numbers,
    hops: bool,
    known: int,
) -> dict[str, Any]:
    """Multipliers that prove much."""
    nodes, dimensions = math.prod(sizes), len(sizes)
    every = np.array(displacements(sizes))
    many = np.array([[1 if at in (0, k / 2) else 2 for at, k in zip(p, sizes, strict=True)] for p in every])
    same_way = alike(sizes)
    blocks = [scheme.blocks for scheme in schemes]
    up, down = [*blocks, *same_way.waves], [each.T for each in (*blocks, *same_way.mean)]
    shape = tuple(len(matrix) for matrix in up)
    # Dimensions of the same size have channels of the same length, so displacements of a class cost the same.
    places = np.array([np.bincount(same_way.of, column) for column in every.T]).T / same_way.count[:, None]
    pairs = reduce(np.multiply.outer, [scheme.pairs for scheme in schemes]).ravel() / nodes
    same = reduce(np.logical_and.outer, [scheme.same for scheme in schemes]).ravel()
    group = np.zeros(1, dtype=np.int64)
    for scheme in schemes:
        group = np.add.outer(group * (scheme.sources.max() + 1), scheme.sources).ravel()
    ranks = np.bincount(group[same], pairs[same])
    wanted = np.outer(ranks, np.bincount(same_way.of, many.prod(axis=1)))
    members = [np.flatnonzero(group == one) for one in range(len(ranks))]
    # Only a rank itself is at no distance of itself.
    apart = np.where(same[:, None] == (places.sum(axis=1) == 0), 0, np.inf)
    unit = amounts[amounts > 0].mean()
    cost = amounts / unit
    channels = np.array([1 if k == 2 else 2 for k in sizes], dtype=float)
    size_of = np.unique(sizes, return_inverse=True)[1]
    y = np.zeros(shape)
    v = np.zeros(wanted.shape)
    slope, square = np.zeros(shape), np.zeros(shape)
    tilt, tilt_slope, tilt_square = np.zeros((3, dimensions))
    best, kept = -np.inf, (y, v, np.ones(dimensions))
    steps, first = _steps_for(len(amounts) * len(every))
    # What a value is worth as a bound.
    worth = unit * nodes if hops else unit / channels.sum()
    for step in range(steps):
        if step == steps // 4 and best * worth < HOPELESS * known:
            break
        part = step / steps
        soft, stride = WARM * (COLD / WARM) ** part, first * LAST**part * STEPS / steps
        lengths = np.ones(dimensions)
        if not hops:
            lengths = np.exp(tilt - tilt.max())
            lengths *= channels.sum() / (lengths @ channels)
        price = np.outer(cost, places @ lengths) - _along(y, up).reshape(len(cost), -1) - v[group] + apart
        least = price.min(axis=1, keepdims=True)
        value = float(pairs @ least[:, 0] + (wanted * v).sum())
        if value > best:
            best, kept = value, (y.copy(), v.copy(), lengths)
        flow = np.exp((least - price) / soft) * same_way.count
        flow *= (pairs / flow.sum(axis=1))[:, None]
        seen = np.array([flow[rows].sum(axis=0) for rows in members])
        v += 0.7 * soft * np.clip(np.log((wanted + 1e-12) / (seen + 1e-12)), -3, 3)
        # Steps as long as slopes are steady (Kingma and Ba 2015).
        fade = 1 - 0.9 ** (step + 1), 1 - 0.99 ** (step + 1)
        gain = -_along(flow.reshape([*(len(one.pairs) for one in schemes), *map(len, same_way.waves)]), down)
        slope = 0.9 * slope + 0.1 * gain
        square = 0.99 * square + 0.01 * gain**2
        y = np.maximum(0, y + stride * slope / fade[0] / (np.sqrt(square / fade[1]) + 1e-9))
        if not hops:
            loads = (cost @ flow) @ places
            gain = lengths * (loads - channels * (loads @ lengths) / channels.sum())
            # Dimensions of the same size keep the same length, to the bit.
            gain = (np.bincount(size_of, gain) / np.bincount(size_of))[size_of]
            tilt_slope = 0.9 * tilt_slope + 0.1 * gain
            tilt_square = 0.99 * tilt_square + 0.01 * gain**2
            tilt += stride * tilt_slope / fade[0] / (np.sqrt(tilt_square / fade[1]) + 1e-9)
    return _certificate(mesh, kept, unit, same_way, hops)


def _certificate(
    mesh: Sequence[tuple[int, str]],
    kept: tuple[Numbers, Numbers, Numbers],
    unit: float,
    same_way: Alike,
    hops: bool,
) -> dict[str, Any]:
    """Multipliers as files have them: of every displacement, in whole numbers."""
    y, v, lengths = kept
    rows: Any = v[:, same_way.of].tolist()
    y = np.where(y > 1e-7 * y.max(initial=0), y, 0).reshape(-1, len(same_way.count))[:, same_way.of]
    return {
        "kind": "cosine",
        "mesh": [list(axis) for axis in mesh],
        "scale": SCALE,
        "lengths": [SCALE] * len(lengths) if hops else np.round(lengths * SCALE).astype(int).tolist(),
        "v": [[round(number * unit * SCALE) for number in row] for row in rows],
        "weights": [[int(e), int(f), round(y[e, f] * unit * SCALE)] for e, f in np.argwhere(y > 0)],
    }
