"""What one case accepts more than another, where intervals allow to say so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flitloom.ground.fixed import explained
from flitloom.load.cases import told
from flitloom.spec.any_network import AnyNetwork


def compared(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], shapes: Sequence[Shape | None] = ()
) -> str:
    """What the cases gain over the first one, in a sentence, each label separately.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of `run_saturation`, the first one that others are compared with.
    labels : sequence of str
        Names of what tells cases apart.
    shapes : sequence of Shape or None
        The networks of the rows: where they differ, loads are also compared per port of a node and per
        channel of the bisection.

    Returns
    -------
    str
        Cases that differ from the first one in one label only, by that label; empty where there is none.
        Cases whose intervals overlap are not told apart.

    Examples
    --------
    >>> rows = [{"routing": "do", "throttle": "none", "saturation": 0.4, "below": 0.398, "above": 0.402},
    ...         {"routing": "ma", "throttle": "none", "saturation": 0.5, "below": 0.498, "above": 0.502},
    ...         {"routing": "do", "throttle": "pt", "saturation": 0.401, "below": 0.399, "above": 0.403}]
    >>> rows = [{"outcome": "measured", **row} for row in rows]
    >>> compared(rows, ["routing", "throttle"])
    'Compared with do, throttle none: ma accepts 24 to 26 % more; throttle pt cannot be told apart.'
    """
    first = _interval(rows[0]) if rows else None
    if first is None:
        return ""
    texts = []
    for label in labels:
        for place, row in enumerate(rows[1:], 1):
            others = [name for name in labels if name != label]
            interval = _interval(row)
            if row[label] == rows[0][label] or any(row[name] != rows[0][name] for name in others):
                continue
            if interval is not None:
                sized = _shapes((rows[0], row), (shapes[0], shapes[place])) if shapes else ""
                # Of networks whose sizes nobody knows there is no other scale.
                sized = sized or (" per node" if label in NETWORKS else "")
                texts.append(f"{told(label, row[label])} {_difference(first, interval)}{sized}")
    differing = [label for label in labels if any(row[label] != rows[0][label] for row in rows)]
    against = ", ".join(told(label, rows[0][label]) for label in differing)
    return f"Compared with {against}: {'; '.join(texts)}." if texts else ""


#: Labels that name networks.
NETWORKS = ("torus", "mesh", "network", "graph")


def _interval(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Between which loads the saturation of a case is; all that nodes can send where that is not too much."""
    if row["outcome"] == "not reached":
        return (1.0, 1.0)
    ends = (row["below"], row["above"])
    return None if row["saturation"] is None or None in ends else ends


def _difference(first: tuple[float, float], other: tuple[float, float]) -> str:
    """By how much more or less one is, between what and what.

    >>> _difference((0.4, 0.4), (0.5, 0.52)), _difference((0.4, 0.41), (0.41, 0.42))
    ('accepts 25 to 30 % more', 'cannot be told apart')
    """
    if max(first[0], other[0]) <= min(first[1], other[1]):
        return "cannot be told apart"
    return f"accepts {_range(other[0] / first[1], other[1] / first[0])}"


def _range(least: float, most: float) -> str:
    """A range of ratios in per cent.

    >>> _range(0.94, 0.96), _range(1.1, 1.104)
    ('4 to 6 % less', '10 % more')
    """
    ends = sorted({round(abs(100 * (part - 1))) for part in (least, most)})
    return f"{' to '.join(map(str, ends))} % {'more' if least > 1 else 'less'}"


def _shapes(rows: Sequence[Mapping[str, Any]], shapes: Sequence[Shape | None]) -> str:
    """The same per port of a node and per channel of the bisection, where networks differ in them."""
    if None in shapes:
        return ""
    texts = []
    for name in ("port", "channel of the bisection"):
        scales = [shape.per_port if name == "port" else shape.per_channel for shape in shapes if shape]
        if math.isclose(*scales):
            continue
        ends = []
        for row, scale in zip(rows, scales, strict=True):
            low, high = _interval(row) or (0.0, 0.0)
            ends.append((low * scale, high * scale))
        texts.append(f"per {name} {_difference(*ends).removeprefix('accepts ')}")
    return f" per node, {', '.join(texts)}" if texts else ""


@explained
@dataclass(frozen=True)
class Shape:
    """How a network is sized, for loads that are compared.

    Attributes
    ----------
    per_port : float
        Nodes over network links that leave them.
    per_channel : float
        Nodes over links that cross the middle of the longest dimension, in both directions.
    """

    per_port: float
    per_channel: float


def shape_of(topology: AnyNetwork) -> Shape | None:
    """The size of a torus or mesh without failed parts; ``None`` of others.

    Examples
    --------
    >>> import flitloom as fl
    >>> shape_of(fl.Torus(8, 8)), shape_of(fl.Mesh(4, 4))
    (Shape(per_port=0.25, per_channel=2.0), Shape(per_port=0.333..., per_channel=2.0))
    """
    grid, nodes = topology.grid, topology.nodes
    if grid is None or grid.twist or topology.damaged or any(grid.full) or any(grid.steps):
        return None
    links = crossing = 0.0
    for size, wraps in zip(grid.sizes, grid.wraps, strict=True):
        rings = nodes / size
        links += 2 * rings * (size if wraps else size - 1)
        if size == max(grid.sizes):
            crossing = max(crossing, 2 * rings * (2 if wraps else 1))
    return Shape(nodes / links, nodes / crossing) if links else None
