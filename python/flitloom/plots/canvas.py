"""Figures that are written whole or not at all, without a display."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flitloom.errors import SpecError
from flitloom.extras import PICTURES
from flitloom.outputs import check_output, write_bytes
from flitloom.plots.style import SETTINGS


@contextmanager
def figure(path: str | Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of `width` x `height` inches that is written to `path` when the block ends well."""
    check_output(path, PICTURES)
    with rc_context(SETTINGS):
        drawing = Figure(figsize=(width, height), layout="constrained")
        yield drawing
        picture = io.BytesIO()
        drawing.savefig(picture, format=Path(path).suffix[1:])
    write_bytes(path, picture.getbuffer())


@contextmanager
def panel(path: str | Path | None, ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """The axes that are given, or those of a figure that is written to `path`.

    Raises
    ------
    SpecError
        Neither or both are given.
    """
    if (path is None) == (ax is None):
        raise SpecError("plot: give either the axes to draw in, or the file to write")
    if ax is not None:
        with rc_context(SETTINGS):
            yield ax
        return
    assert path is not None
    with figure(path, width, height) as drawing:
        yield drawing.subplots()
