"""Figures that are written whole or not at all, without a display."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from flitloom.errors import SpecError
from flitloom.ground.extras import PICTURES
from flitloom.ground.outputs import check_output, write_bytes
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
def panels(
    path: str | Path | None,
    ax: Axes | Sequence[Axes] | None,
    width: float,
    height: float,
    rows: int = 1,
    columns: int = 1,
    **options: Any,
) -> Iterator[list[Axes]]:
    """Axes row by row: those that are given, or those of a figure that is written to `path`.

    Raises
    ------
    SpecError
        Neither or both are given, or another number of axes.
    """
    if (path is None) == (ax is None):
        raise SpecError.at("plot", "give either the axes to draw in, or the file to write")
    if ax is not None:
        given: list[Axes] = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) != rows * columns:
            raise SpecError.at("plot", f"{len(given)} axes are given, and {rows * columns} are drawn in")
        with rc_context(SETTINGS):
            yield given
        return
    assert path is not None
    with figure(path, width, height) as drawing:
        yield list(drawing.subplots(rows, columns, squeeze=False, **options).ravel())


@contextmanager
def panel(path: str | Path | None, ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """The axes that are given, or those of a figure that is written to `path`.

    Raises
    ------
    SpecError
        Neither or both are given.
    """
    with panels(path, ax, width, height) as (axes,):
        yield axes


def whole_decades(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic y axis from a power of ten to another, which alone have labels, whatever the values are.

    Labels between powers of ten collide on axes of one or two decades.
    """
    lowest, highest = np.floor(np.log10(min(values))), np.ceil(np.log10(max(values)))
    axes.set_yscale("log")
    axes.set_ylim(0.8 * 10.0**lowest, 1.25 * 10.0 ** max(highest, lowest + 1))
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend_below(
    axes: Sequence[Axes],
    path: str | Path | None,
    handles: Sequence[Patch],
    title: str | None = None,
    most: int = 8,
) -> None:
    """A legend below a figure of our own, or below the first of the axes that were given.

    At most this many entries stand side by side.
    """
    columns = -(-len(handles) // -(-len(handles) // most))
    if path is None:
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
        axes[0].legend(handles=handles, title=title, ncols=columns, **place)
        return
    drawing = axes[0].get_figure(root=True)
    assert drawing is not None
    drawing.legend(handles=list(handles), title=title, ncols=columns, loc="outside lower center")


def title_of_all(title: str, axes: Sequence[Axes], path: str | Path | None) -> None:
    """Put a title over a figure of our own, or over the first of the axes that were given."""
    if not title:
        return
    if path is None:
        axes[0].set_title(title)
        return
    drawing = axes[0].get_figure(root=True)
    assert drawing is not None
    drawing.suptitle(title)
