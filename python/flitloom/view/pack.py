"""Columns of whole numbers, packed for a page."""

from __future__ import annotations

import base64
import gzip
from typing import Any

from numpy.typing import NDArray

#: Ranges of the types of columns by name, smallest first; the page's ``data.js`` knows the same names.
TYPES: dict[str, tuple[int, int]] = {
    "u1": (0, 2**8 - 1),
    "u2": (0, 2**16 - 1),
    "u4": (0, 2**32 - 1),
    "i4": (-(2**31), 2**31 - 1),
}


class Packer:
    """Gathers columns; each in the smallest type that holds it, at a place that its type can be read from.

    Examples
    --------
    >>> import numpy as np
    >>> from flitloom.view.pack import Packer
    >>> packer = Packer()
    >>> packer.add(np.array([1, 2, 3])), packer.add(np.array([-1, 70000]))
    ({'type': 'u1', 'offset': 0, 'length': 3}, {'type': 'i4', 'offset': 4, 'length': 2})
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[Any]) -> dict[str, Any]:
        """Add a column, and return where it is."""
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        name = next(name for name, (least, most) in TYPES.items() if least <= low and high <= most)
        data = values.astype(f"<{name}").tobytes()
        place = {"type": name, "offset": self._size, "length": int(values.size)}
        data += bytes(-len(data) % 4)
        self._parts.append(data)
        self._size += len(data)
        return place

    def text(self) -> str:
        """All columns, compressed, as base64 text."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), 9, mtime=0)).decode("ascii")
