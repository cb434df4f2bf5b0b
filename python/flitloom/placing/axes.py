"""Axes of a logical mesh of ranks, and which pairs along them exchange how much."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flitloom._core import LISTS
from flitloom.errors import SpecError, show
from flitloom.ground.fixed import explained
from flitloom.ground.units import read_size

#: Kinds whose weight is in bytes per ordered pair.
PAIR_KINDS = ("a2a", "ring", "line", "pairs")
#: Kinds whose weight is in bytes per rank: operations that are alike on all ranks, and stages of a pipeline.
RANK_KINDS = (*(name for name in LISTS["operations"] if name != "broadcast"), "pipeline")
#: Ranks along one axis.
MOST = 1 << 20


@explained
@dataclass(frozen=True)
class Axis:
    """An axis of a logical mesh, whose groups of ranks exchange bytes.

    Attributes
    ----------
    name : str
        Its name, as ``expert``.
    size : int
        Ranks per group.
    kind : str
        ``a2a`` (all with all), ``ring``, ``line`` (neighbours) or ``pairs`` (rank i with i xor 2^k).
    bytes : int
        Bytes per ordered pair.
    """

    name: str
    size: int
    kind: str
    bytes: int

    def peers(self) -> NDArray[np.int64]:
        """Ordered pairs of places along the axis, a row each.

        Examples
        --------
        >>> Axis("stage", 3, "line", 1).peers().tolist()
        [[0, 1], [1, 0], [1, 2], [2, 1]]
        """
        size, here = self.size, np.arange(self.size)
        if self.kind == "a2a":
            source, destination = np.divmod(np.arange(size * size), size)
        elif self.kind == "pairs":
            steps = 1 << np.arange(max(size.bit_length() - 1, 0))
            source, destination = np.repeat(here, len(steps)), (here[:, None] ^ steps).ravel()
        else:
            ahead, behind = here + 1, here - 1
            if self.kind == "ring" and size > 2:
                ahead, behind = ahead % size, behind % size
            source = np.concatenate([here, here])
            destination = np.concatenate([ahead, behind])
        rows = np.column_stack([source, destination])
        inside = (rows[:, 1] >= 0) & (rows[:, 1] < size) & (rows[:, 0] != rows[:, 1])
        rows = rows[inside]
        sorted_rows: NDArray[np.int64] = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        return sorted_rows


def parse_axes(text: str) -> list[Axis]:
    """Axes of a text, the first one fastest: ``NAME=SIZE:KIND:WEIGHT`` separated by commas.

    Weights of the kinds a2a, ring, line and pairs are bytes per ordered pair. Those of all-to-all,
    all-reduce, all-gather, reduce-scatter and pipeline are bytes per rank, and become bytes per ordered
    pair, rounded up to a whole byte: all-to-all sends a part to each member; the ring algorithms send half
    of their bytes each way (with two ranks both ways lead to the same partner); a pipeline sends all of
    them to the next stage, and as much back.

    Raises
    ------
    SpecError
        An axis is written otherwise.

    Examples
    --------
    >>> parse_axes("expert=8:a2a:1,data=4:all-reduce:64KiB")[1]
    Axis(name='data', size=4, kind='ring', bytes=49152)
    """
    axes = [_axis(part) for part in text.split(",")]
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise SpecError.at("--axes", f"two axes have the name {show(name)}")
    return axes


def _axis(text: str) -> Axis:
    name, equals, rest = text.partition("=")
    parts = rest.split(":")
    if not name or not equals or len(parts) != 3:
        raise SpecError(f"--axes {text[:60]}: write an axis as NAME=SIZE:KIND:WEIGHT, e.g. data=4:ring:8")
    size, kind, weight = parts
    if not (size.isascii() and size.isdigit() and len(size) <= 7 and 1 <= int(size) <= MOST):
        raise SpecError(f"--axes {text[:60]}: the size is a whole number from 1 to {MOST}")
    if kind not in PAIR_KINDS + RANK_KINDS:
        known = ", ".join(PAIR_KINDS + RANK_KINDS)
        raise SpecError(f"--axes {text[:60]}: {show(kind)} is not an operation; there are {known}")
    if kind == "pairs" and int(size) & (int(size) - 1):
        raise SpecError(f"--axes {text[:60]}: pairs needs a power of two of ranks")
    return Axis(name, int(size), *per_pair(kind, int(size), whole_bytes(weight, f"--axes {text[:60]}")))


def per_pair(kind: str, size: int, given: int) -> tuple[str, int]:
    """The pairs of an operation, and their bytes.

    Examples
    --------
    >>> per_pair("all-to-all", 8, 64), per_pair("reduce-scatter", 4, 64), per_pair("all-reduce", 2, 64)
    (('a2a', 8), ('ring', 24), ('ring', 64))
    """
    if kind in PAIR_KINDS:
        return kind, given
    if kind == "all-to-all":
        return "a2a", -(-given // size)
    if kind == "pipeline":
        return "line", given
    sent = {
        "all-reduce": Fraction(2 * given * (size - 1), size),
        "all-gather": Fraction(given * (size - 1)),
        "reduce-scatter": Fraction(given * (size - 1), size),
    }[kind]
    return "ring", -((-sent / (1 if size == 2 else 2)) // 1)


def whole_bytes(text: str, place: str) -> int:
    """A whole number of bytes, as ``4096`` or ``64MiB``.

    Raises
    ------
    SpecError
        It is none, or 0.
    """
    if text.isascii() and text.isdigit() and len(text) <= 15 and int(text) > 0:
        return int(text)
    wanted = f"{place}: the weight is a whole number of bytes from 1 on, e.g. 4096 or 64MiB"
    if text.isdigit():
        raise SpecError(wanted)
    try:
        size = read_size(text, place)
    except SpecError:
        raise SpecError(wanted) from None
    if size < 1 or size != int(size):
        raise SpecError(wanted)
    return int(size)
