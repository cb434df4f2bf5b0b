"""Figures that are written whole or not at all, without a display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.figure import Figure

from flitloom.extras import PICTURES
from flitloom.outputs import check_output, replacing


@contextmanager
def figure(path: str | Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of `width` x `height` inches that is written to `path` when the block ends well."""
    check_output(path, PICTURES)
    drawing = Figure(figsize=(width, height), layout="constrained")
    yield drawing
    with replacing(path) as temporary:
        drawing.savefig(temporary, dpi=150)
