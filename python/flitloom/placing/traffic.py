"""Traffic between ranks: who sends how many bytes to whom."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.goal import plan_operations
from flitloom.collectives.reading import read_collective
from flitloom.errors import SpecError, show_file
from flitloom.formats import is_messages, read_messages
from flitloom.ground import limits
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.reading import placed, read_text
from flitloom.placing import connections
from flitloom.placing.axes import Axis
from flitloom.traces import parse_goal

#: Ranks at most, and pairs of them that exchange something.
MOST_RANKS = 1 << 20
MOST_PAIRS = 1 << 24
#: Bytes of all pairs together: sums of loads stay exact.
MOST_BYTES = 1 << 46
#: Bytes of a chunk of a plan.
CHUNK_BYTES = 1024


@explained
@dataclass(frozen=True)
class Traffic:
    """Bytes from rank to rank.

    Attributes
    ----------
    ranks : int
        How many ranks there are.
    sources, destinations : array of uint32
        The ordered pairs that exchange something, without repetition.
    bytes : array of uint64
        Bytes of each pair.
    axes : tuple of Axis
        The logical mesh, first axis fastest; empty if the traffic has none.
    mesh : tuple of int
        Sizes of the logical mesh that structured placements follow.
    """

    ranks: int
    sources: NDArray[np.uint32]
    destinations: NDArray[np.uint32]
    bytes: NDArray[np.uint64]
    axes: tuple[Axis, ...] = ()
    mesh: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Traffic):
            return NotImplemented
        return (self.digest(), self.axes, self.mesh) == (other.digest(), other.axes, other.mesh)

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        pairs = counted(len(self.sources), "pair")
        return f"Traffic({counted(self.ranks, 'rank')}, {pairs}, {counted(int(self.bytes.sum()), 'byte')})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"ranks": self.ranks, "pairs": len(self.sources), "bytes": int(self.bytes.sum())}
        return fields_html("traffic between ranks", fields | ({"axes": self.axes} if self.axes else {}))

    def digest(self) -> str:
        """SHA-256 of all pairs, so that a file can say which traffic it is for."""
        text = hashlib.sha256(str(self.ranks).encode())
        for part in (self.sources, self.destinations, self.bytes):
            text.update(part.astype("<u8").tobytes())
        return text.hexdigest()


def pairs_traffic(
    ranks: int,
    rows: Iterable[tuple[int, int, int]] | NDArray[np.int64],
    axes: Sequence[Axis] = (),
    mesh: Sequence[int] = (),
) -> Traffic:
    """Traffic of rows (source, destination, bytes); rows of the same pair add up.

    Raises
    ------
    SpecError
        A rank that is not there, negative bytes, or too much of anything.

    Examples
    --------
    >>> traffic = pairs_traffic(3, [(0, 1, 5), (0, 1, 2), (2, 2, 9)])
    >>> traffic.sources.tolist(), traffic.destinations.tolist(), traffic.bytes.tolist()
    ([0], [1], [7])
    """
    if not 1 <= ranks <= MOST_RANKS:
        raise SpecError.at("traffic", f"has {counted(ranks, 'rank')}", f"1 to {MOST_RANKS} can be placed")
    try:
        numbers = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)
    except OverflowError:
        raise SpecError.at(
            "traffic", "has a number beyond 2^63", "divide all bytes by the same one"
        ) from None
    numbers = numbers.reshape(-1, 3)
    if len(numbers) and numbers.min() < 0:
        raise SpecError.at("traffic", "has a negative number", "ranks and bytes are whole numbers from 0 on")
    if len(numbers) and numbers[:, :2].max() >= ranks:
        row = int(np.argmax(numbers[:, :2].max(axis=1) >= ranks))
        raise SpecError.at(
            "traffic", f"row {row + 1} names rank {numbers[row, :2].max()}; there are 0 to {ranks - 1}"
        )
    numbers = numbers[(numbers[:, 0] != numbers[:, 1]) & (numbers[:, 2] > 0)]
    if float(numbers[:, 2].astype(np.float64).sum()) > MOST_BYTES:
        raise SpecError.at(
            "traffic", f"has more than {MOST_BYTES} bytes in all", "divide all of them by the same number"
        )
    places, inverse = np.unique(numbers[:, 0] * ranks + numbers[:, 1], return_inverse=True)
    if len(places) > MOST_PAIRS:
        raise SpecError.at(
            "traffic", f"has {counted(len(places), 'pair')}", f"at most {MOST_PAIRS} are placed"
        )
    sums = np.zeros(len(places), dtype=np.uint64)
    np.add.at(sums, inverse, numbers[:, 2].astype(np.uint64))
    sources, destinations = np.divmod(places, ranks)
    return Traffic(
        ranks, sources.astype(np.uint32), destinations.astype(np.uint32), sums, tuple(axes), tuple(mesh)
    )


def axes_traffic(axes: Sequence[Axis]) -> Traffic:
    """Traffic of a logical mesh: rank = c0 + g0 (c1 + g1 c2), groups along every axis.

    Examples
    --------
    >>> from flitloom.placing import parse_axes
    >>> traffic = axes_traffic(parse_axes("tensor=2:a2a:3,data=2:ring:5"))
    >>> list(zip(traffic.sources.tolist(), traffic.destinations.tolist(), traffic.bytes.tolist()))[:2]
    [(0, 1, 3), (0, 2, 5)]
    """
    sizes = [axis.size for axis in axes]
    ranks = math.prod(sizes)
    if not 1 <= ranks <= MOST_RANKS:
        raise SpecError.at("--axes", f"{counted(ranks, 'rank')} in all; 1 to {MOST_RANKS} can be placed")
    pairs = sum(ranks // axis.size * len(axis.peers()) for axis in axes if axis.size <= 1 << 12)
    if pairs > MOST_PAIRS or any(axis.kind == "a2a" and axis.size > 1 << 12 for axis in axes):
        raise SpecError.at("--axes", f"more than {MOST_PAIRS} pairs exchange something, which is too much")
    parts, stride = [], 1
    for axis in axes:
        peers = axis.peers()
        others = np.arange(ranks).reshape(-1, axis.size, stride)[:, 0, :].ravel()
        source = (others[:, None] + stride * peers[:, 0]).ravel()
        destination = (others[:, None] + stride * peers[:, 1]).ravel()
        parts.append(np.column_stack([source, destination, np.full(len(source), axis.bytes)]))
        stride *= axis.size
    return pairs_traffic(ranks, np.concatenate(parts), axes, sizes)


def stencil_traffic(
    sizes: Sequence[int], neighbours: int | None = None, wrap: bool = False, units: int = 1
) -> Traffic:
    """Traffic of a grid whose cells exchange bytes with their neighbours, first dimension fastest.

    Parameters
    ----------
    sizes : sequence of int
        Cells per dimension.
    neighbours : int, optional
        ``2 D + 1`` (those that share a side; default) or ``3^D`` (also over corners), the cell counted.
    wrap : bool
        Whether the grid closes to a torus.
    units : int
        Bytes per ordered pair.

    Raises
    ------
    SpecError
        Another number of neighbours.

    Examples
    --------
    >>> len(stencil_traffic([4, 4]).bytes), len(stencil_traffic([4, 4], 9, wrap=True).bytes)
    (48, 128)
    """
    dimensions = len(sizes)
    sides, all_around = 2 * dimensions + 1, 3**dimensions
    if neighbours not in (None, sides, all_around):
        raise SpecError(
            f"--neighbours {neighbours}: in {counted(dimensions, 'dimension')} it is {sides} or {all_around}"
        )
    ranks = math.prod(sizes)
    if not 1 <= ranks <= MOST_RANKS:
        raise SpecError.at("--stencil", f"{counted(ranks, 'rank')} in all; 1 to {MOST_RANKS} can be placed")
    cells = np.stack(np.unravel_index(np.arange(ranks), tuple(sizes), order="F"), axis=1)
    rows = []
    for step in np.ndindex(*[3] * dimensions):
        move = np.array(step) - 1
        if not move.any() or (neighbours in (None, sides) and np.abs(move).sum() > 1):
            continue
        there = cells + move
        inside = np.ones(ranks, dtype=bool)
        if not wrap:
            inside = ((there >= 0) & (there < np.array(sizes))).all(axis=1)
        there %= np.array(sizes)
        target = np.ravel_multi_index(tuple(there.T), tuple(sizes), order="F")
        rows.append(np.column_stack([np.arange(ranks), target, np.full(ranks, units)])[inside])
    return pairs_traffic(ranks, np.concatenate(rows), mesh=sizes)


#: Ending of plans.
PLAN = ".json"


def read_traffic(file: str | Path, ranks: int | None = None) -> Traffic:
    """Traffic of a file, whose ending says what it is.

    ``.goal``, ``.bin`` and ``.et`` are message graphs (GOAL as text or binary, one file of a Chakra trace):
    the bytes of all messages of a pair. ``.json`` is a plan of a collective operation: rank r is its node r,
    and a chunk has 1024 bytes. All others are CSV files (a square matrix of bytes, or rows under
    ``source,destination,bytes``) or connection matrices of htsim, of which the bytes count, not the times.

    Parameters
    ----------
    file : path
        The file.
    ranks : int, optional
        Ranks there are, where rows do not name the last ones.

    Raises
    ------
    SpecError
        It is none of these, or has something other than whole numbers from 0 on.
    """
    if Path(file).suffix == PLAN:
        plan = read_collective(file)
        found, mesh = plan_operations(plan, CHUNK_BYTES), plan.ground.sizes
    elif not is_messages(file):
        return _read_rows(file, ranks)
    else:
        listed, mesh = read_messages(file), ()
        found = placed(show_file(file), lambda: parse_goal(listed)) if isinstance(listed, str) else listed
    if ranks is not None and ranks != len(found):
        raise SpecError(
            f"{show_file(Path(file))}: has {counted(len(found), 'rank')}; {ranks} are to be placed"
        )
    rows = [(rank, one.peer, one.size) for rank, of in enumerate(found) for one in of if one.kind == "send"]
    return pairs_traffic(len(found), rows, mesh=mesh if math.prod(mesh) == len(found) else ())


def _read_rows(file: str | Path, ranks: int | None) -> Traffic:
    """Traffic of a CSV file or of a connection matrix of htsim."""
    name, written = show_file(Path(file)), read_text(file, limits.MATRIX_BYTES)
    if connections.looks_like(written):
        count, pairs = connections.parse(written, name)
        if ranks is not None and ranks != count:
            raise SpecError(f"{name}: has {counted(count, 'rank')}; {ranks} are to be placed")
        return pairs_traffic(count, pairs)
    rows = [row for row in csv.reader(io.StringIO(written)) if row and not row[0].startswith("#")]
    if not rows:
        raise SpecError(f"{name}: is empty; a matrix of bytes, or source,destination,bytes, is needed")
    heading = [cell.strip() for cell in rows[0]]
    listed = heading == ["source", "destination", "bytes"]
    body = rows[1:] if listed else rows
    for line, row in enumerate(body, 2 if listed else 1):
        wanted = 3 if listed else len(body)
        if len(row) != wanted:
            shape = "source, destination and bytes" if listed else f"a square matrix has {wanted}"
            raise SpecError(f"{name}: row {line} has {len(row)} numbers; {shape}")
        for cell in row:
            text = cell.strip()
            if not (text.isascii() and text.isdigit() and len(text) <= 15):
                raise SpecError(f"{name}: row {line}: {text[:40]!r} is not a whole number of bytes from 0 on")
    numbers = np.array([[int(cell) for cell in row] for row in body], dtype=np.int64)
    if listed:
        least = int(numbers[:, :2].max()) + 1 if len(numbers) else 1
        if ranks is not None and ranks < least:
            raise SpecError(f"{name}: names rank {least - 1}; there are 0 to {ranks - 1}")
        return pairs_traffic(ranks or least, numbers)
    if ranks is not None and ranks != len(numbers):
        raise SpecError(f"{name}: a matrix of {counted(len(numbers), 'rank')}; {ranks} are to be placed")
    sources, destinations = np.nonzero(numbers)
    return pairs_traffic(
        len(numbers), np.column_stack([sources, destinations, numbers[sources, destinations]])
    )
