"""Where nodes and links of a network that is not a plain grid lie on a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.networks.network import Network
from flitloom.spec import DIMENSION_NAMES
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.view.pack import Packer

Point = tuple[float, float]
#: Where links of dimensions beyond the second point to, as in ``torus.js``.
SLANTS = ((0.3, 0.3), (-0.3, 0.3), (0.16, 0.38), (-0.16, 0.38))
#: Distance of the two directions of a cable from its middle, in hops.
ASIDE = 0.07
#: Columns of places are in hundredths of a hop.
PLACE = 100


@dataclass
class Wiring:
    """A network as a page draws it.

    Attributes
    ----------
    fields : dict
        What the page knows of it besides columns.
    columns : dict of array
        Places of nodes and links; empty for a grid, whose places the page knows.
    links : mapping
        Per (from, to) the numbers of the links between the two nodes.
    count : int
        Number of links, failed ones of a grid included.
    """

    fields: dict[str, Any]
    links: Mapping[tuple[int, int], list[int]]
    count: int
    columns: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know of it."""
        if not self.columns:
            return self.fields
        return {
            **self.fields,
            "columns": {name: packer.add(values) for name, values in self.columns.items()},
        }


def wiring(ground: Ground) -> Wiring:
    """The network of a plan or placement as a page draws it.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> from flitloom.view.wires import wiring
    >>> wiring(Ground(fl.Torus(4, 4, 8, twist=True))).links[3, 64]  # over the edge of x: half of z on
    [18]
    >>> made = wiring(Ground(fl.Product("full4 x ring3*2")))
    >>> made.count, made.links[0, 4]
    (84, [3, 4])
    """
    network = ground.topology
    if ground.is_torus and max(ground.links.values(), default=1) == 1:
        return _grid(network, ground)
    if network.grid is None:
        names = list(network.node_names) or [str(node) for node in range(network.nodes)]
        return drawn(names, circle(names), ground.links, failed_nodes=network.failed_nodes)
    return _product(network, ground)


def grid_fields(topology: AnyNetwork) -> dict[str, Any]:
    """A torus or mesh, for the page."""
    topology.require_rings("pictures of links are")
    network = Network(topology)
    return {
        "sizes": topology.sizes,
        "wraps": topology.wraps,
        "twist": topology.twist,
        "directions": network.directions,
        "failed_links": np.flatnonzero(~np.array(network.working_links())).tolist(),
        "failed_nodes": topology.failed_nodes,
    }


def twist_facts(topology: AnyNetwork) -> dict[str, str]:
    """What the edges of a twisted torus do, for the facts of a page; nothing for others.

    >>> from flitloom.spec import Torus
    >>> twist_facts(Torus(4, 4, 8, twist=True))
    {'twist': 'a step over the edge of x, y also moves 4 along z'}
    """
    if not topology.twist:
        return {}
    short = min(topology.sizes)
    named = list(zip(DIMENSION_NAMES, topology.sizes, strict=False))
    edges = ", ".join(name for name, size in named if size == short)
    moves = ", ".join(f"{size // 2} along {name}" for name, size in named if size != short)
    return {"twist": f"a step over the edge of {edges} also moves {moves}"}


def grid_links(ground: Ground) -> dict[tuple[int, int], list[int]]:
    """Per (from, to) of a torus or mesh its link: node times directions plus direction."""
    found: dict[tuple[int, int], list[int]] = {}
    directions = 2 * len(ground.sizes)
    for node in range(ground.nodes):
        point = ground.point(node)
        for direction in range(directions):
            moved = list(point)
            moved[direction // 2] += -1 if direction % 2 else 1
            ends = node, ground.number(ground.normal(moved))
            if ends in ground.links:
                found.setdefault(ends, [directions * node + direction])
    return found


def _grid(topology: AnyNetwork, ground: Ground) -> Wiring:
    fields = grid_fields(topology)
    return Wiring(fields, grid_links(ground), 2 * len(topology.sizes) * topology.nodes)


def circle(names: Sequence[str]) -> list[Point]:
    """Places of nodes on a circle, a hop from each other, or by the levels of a fat tree."""
    levels = ("edge", "middle", "top")
    if all(name.startswith(levels) for name in names):
        rows = [[n for n, name in enumerate(names) if name.startswith(level)] for level in levels]
        width = max(map(len, rows))
        places = [(0.0, 0.0)] * len(names)
        for level, row in enumerate(rows):
            for at, node in enumerate(row):
                places[node] = ((at + 0.5) * width / len(row), level * max(width / 4, 1.5))
        return places
    radius = max(len(names) / (2 * math.pi), 1)
    turns = [2 * math.pi * node / len(names) for node in range(len(names))]
    return [(radius * math.cos(turn), radius * math.sin(turn)) for turn in turns]


def in_planes(sizes: Sequence[int], coordinates: Sequence[Sequence[int]]) -> list[Point]:
    """Places of nodes at coordinates: the first two dimensions a plane, planes in a square."""
    whole = (*sizes, 1)[: max(len(sizes), 2)]
    planes = math.prod(whole[2:])
    across = math.ceil(math.sqrt(planes))
    places = []
    for point in coordinates:
        plane, stride = 0, 1
        for at, size in zip(point[2:], whole[2:], strict=True):
            plane, stride = plane + at * stride, stride * size
        row, column = divmod(plane, across)
        x, y = (*point, 0)[:2]
        places.append((x + column * (whole[0] + 1.2), y - row * (whole[1] + 1.6)))
    return places


def _product(network: AnyNetwork, ground: Ground) -> Wiring:
    """Products of rings, lines and full meshes: cables over several nodes are bent."""
    points = [ground.point(node) for node in range(ground.nodes)]
    places = in_planes(ground.sizes, points)
    names = [f"({','.join(map(str, point))})" for point in points]
    labels = []
    if len(ground.sizes) > 2:
        for point, (x, y) in zip(points, places, strict=True):
            if point[0] == 0 and point[1] == ground.sizes[1] - 1:
                text = " ".join(f"{n}={at}" for n, at in zip(DIMENSION_NAMES[2:], point[2:], strict=False))
                labels.append([text, x, y + 0.8])

    ends = straight_or_rim(points, ground.sizes, network.wraps, places, ground.full)
    return drawn(names, places, ground.links, ends, labels, network.failed_nodes)


def straight_or_rim(
    points: Sequence[Sequence[int]],
    sizes: Sequence[int],
    wraps: Sequence[bool],
    places: Sequence[Point],
    full: Sequence[bool] = (),
) -> Callable[[int, int], tuple[Point, Point, Point]]:
    """From two nodes of a grid how their link is drawn: begin, point towards which it is bent, and end.

    Links around a rim, and links of the dimensions beyond the second, are stubs; those along a full mesh pass
    the nodes between in a bow.
    """
    full = full or (False,) * len(sizes)

    def ends(start: int, end: int) -> tuple[Point, Point, Point]:
        (x0, y0), (x1, y1) = places[start], places[end]
        moved = [n for n, at in enumerate(points[start]) if at != points[end][n]]
        dimension = next((n for n in moved if sizes[n] == min(sizes[m] for m in moved)), 0)
        step = points[end][dimension] - points[start][dimension]
        size = sizes[dimension]
        around = wraps[dimension] and not full[dimension] and abs(step) == size - 1 and size > 2
        near = abs(step) == 1 or around or full[dimension]
        # Over the edge of a twisted torus other coordinates change as well.
        strays = not near or (len(moved) > 1 and not (around or size == 2))
        if dimension >= 2 and not strays:
            dx, dy = SLANTS[dimension - 2]
            turn = step % size / size - 0.5 if full[dimension] else 0.0
            if not full[dimension] and step not in (1, 1 - size):
                turn = math.pi
            end_ = (
                x0 + dx * math.cos(turn) - dy * math.sin(turn),
                y0 + dx * math.sin(turn) + dy * math.cos(turn),
            )
            return (x0, y0), _middle((x0, y0), end_), end_
        if not strays and (around or len(moved) > 1):
            sign = -0.45 if step > 0 else 0.45
            out = (x0 + sign, y0) if dimension == 0 else (x0, y0 + sign)
            return (x0, y0), _middle((x0, y0), out), out
        middle = _middle((x0, y0), (x1, y1))
        long = abs(step) if not strays else 1
        bend = 0.5 * (long - 1) ** 0.8 if long > 1 else 0.0
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        return (
            (x0, y0),
            (middle[0] - (y1 - y0) / length * bend, middle[1] + (x1 - x0) / length * bend),
            (x1, y1),
        )

    return ends


def _middle(start: Point, end: Point) -> Point:
    return (start[0] + end[0]) / 2, (start[1] + end[1]) / 2


def drawn(
    names: Sequence[str],
    places: Sequence[Point],
    pairs: Mapping[tuple[int, int], int],
    ends: Callable[[int, int], tuple[Point, Point, Point]] | None = None,
    labels: Sequence[Sequence[Any]] = (),
    failed_nodes: Sequence[int] = (),
) -> Wiring:
    """Nodes at places, and links between them beside each other.

    Parameters
    ----------
    names : sequence of str
        Of every node.
    places : sequence of (float, float)
        Of every node, in hops.
    pairs : mapping
        Number of links per (from, to).
    ends : callable, optional
        From the two nodes: begin, point towards which a link is bent, and end; straight without.
    labels : sequence of (str, float, float)
        Texts, with their places.
    failed_nodes : sequence of int
        Nodes that are crossed out.
    """
    index: dict[tuple[int, int], list[int]] = {}
    rows: list[tuple[float, ...]] = []
    for start, end in sorted(pairs):
        count = pairs[start, end]
        straight = places[start], _middle(places[start], places[end]), places[end]
        begin, bend, stop = straight if ends is None else ends(start, end)
        length = math.hypot(stop[0] - begin[0], stop[1] - begin[1]) or 1.0
        left = (-(stop[1] - begin[1]) / length, (stop[0] - begin[0]) / length)
        index[start, end] = list(range(len(rows), len(rows) + count))
        for lane in range(count):
            aside = ASIDE + min(ASIDE, 0.35 / count) * lane
            moved = [(x + aside * left[0], y + aside * left[1]) for x, y in (begin, bend, stop)]
            rows.append((start, end, *(value * PLACE for point in moved for value in point)))
    table = np.array(rows, dtype=np.float64).reshape(-1, 8)
    spots = np.array(places, dtype=np.float64) * PLACE
    columns = {"x": spots[:, 0], "y": spots[:, 1]}
    columns |= dict(zip(("from", "to", "x0", "y0", "bendX", "bendY", "x1", "y1"), table.T, strict=True))
    return Wiring(
        {
            "names": list(names),
            "labels": [list(label) for label in labels],
            "failed_links": [],
            "failed_nodes": list(failed_nodes),
        },
        index,
        len(rows),
        {name: np.rint(values).astype(np.int64) for name, values in columns.items()},
    )
