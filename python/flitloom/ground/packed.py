"""Routes of many packets as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Routes(NamedTuple):
    """The routes of packets, one behind the other.

    Attributes
    ----------
    ends : array of int64
        Where each route ends in ``directions``; it begins where the one before ends.
    directions : array of uint8
        The direction index of every hop.

    Examples
    --------
    >>> routes = Routes.of([bytes([0, 0, 2]), b"", bytes([1])])
    >>> routes.hops.tolist(), [list(route) for route in routes.part(1, 3).each()]
    ([3, 0, 1], [[], [1]])
    """

    ends: NDArray[np.int64]
    directions: NDArray[np.uint8]

    @classmethod
    def of(cls, routes: Sequence[bytes]) -> Routes:
        """Routes given one by one, a byte per hop."""
        ends = np.cumsum([len(route) for route in routes], dtype=np.int64)
        return cls(ends, np.frombuffer(b"".join(routes), dtype=np.uint8))

    @classmethod
    def joined(cls, parts: Iterable[Routes]) -> Routes:
        """Several lists of routes as one."""
        parts = list(parts)
        lengths = np.concatenate([part.hops for part in parts])
        return cls(np.cumsum(lengths), np.concatenate([part.directions for part in parts]))

    @property
    def hops(self) -> NDArray[np.int64]:
        """The number of hops of every route."""
        return np.diff(self.ends, prepend=0)

    def part(self, begin: int, end: int) -> Routes:
        """The routes of some packets."""
        first = int(self.ends[begin - 1]) if begin else 0
        last = int(self.ends[end - 1]) if end else 0
        return Routes(self.ends[begin:end] - first, self.directions[first:last])

    def each(self) -> Iterable[bytes]:
        """The routes one by one."""
        flat, begin = self.directions.tobytes(), 0
        for end in self.ends.tolist():
            yield flat[begin:end]
            begin = end
