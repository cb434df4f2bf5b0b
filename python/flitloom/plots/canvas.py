"""Figures that are written whole or not at all, without a display."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.figure import Figure

from flitloom.extras import PICTURES
from flitloom.outputs import check_output, write_bytes


@contextmanager
def figure(path: str | Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of `width` x `height` inches that is written to `path` when the block ends well."""
    check_output(path, PICTURES)
    drawing = Figure(figsize=(width, height), layout="constrained")
    yield drawing
    picture = io.BytesIO()
    drawing.savefig(picture, dpi=150, format=Path(path).suffix[1:])
    write_bytes(path, picture.getbuffer())
