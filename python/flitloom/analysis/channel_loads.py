"""Channel loads: the load of every link under a routing that does not adapt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flitloom.analysis.demands import Demands, Whole
from flitloom.errors import SpecError, unknown_parts
from flitloom.ground.lazy import xr
from flitloom.networks.network import Network
from flitloom.spec import DIMENSION_NAMES
from flitloom.spec.any_network import AnyNetwork

#: Routings whose loads do not depend on what happens in the network.
OBLIVIOUS = ("do", "o1turn", "valiant")
#: Ways at distance exactly N/2 of a ring: as the router's `ties` say, or half of every packet each way.
TIES = ("balanced", "wrap", "split")


@dataclass(frozen=True)
class ChannelLoads:
    """Load of every link, exactly, in flits per cycle and flit that every node sends.

    Attributes
    ----------
    topology : AnyNetwork
        Where the links are.
    counts : array of int, shape (nodes, directions)
        Whole loads, by the node that a link leaves and its direction (+x, -x, +y, ...).
    scale : int
        What they are divided by.
    """

    topology: AnyNetwork
    counts: Whole
    scale: int

    @property
    def largest(self) -> Fraction:
        """Load of the busiest link."""
        return Fraction(int(self.counts.max(initial=0)), self.scale)

    @property
    def busiest(self) -> str | None:
        """The first busiest link, as ``(3,0)+x``; None if no link is used."""
        if not self.counts.any():
            return None
        node, direction = divmod(int(self.counts.argmax()), self.counts.shape[1])
        place = []
        for size in self.topology.sizes:
            node, coordinate = divmod(node, size)
            place.append(str(coordinate))
        return f"({','.join(place)}){Network(self.topology).directions[direction]}"

    @property
    def ideal_throughput(self) -> Fraction | None:
        """Load with which the busiest link is always busy, in flits/node/cycle; None if no link is used."""
        return 1 / self.largest if self.largest else None

    def array(self) -> xr.DataArray:
        """The loads by coordinates and direction, as in `Result.links`."""
        sizes = self.topology.sizes
        names = DIMENSION_NAMES[: len(sizes)]
        directions = list(Network(self.topology).directions)
        coordinates = {name: np.arange(size) for name, size in zip(names, sizes, strict=True)}
        return xr.DataArray(
            (self.counts / self.scale).reshape(*reversed(sizes), len(directions)),
            {**coordinates, "direction": directions},
            (*reversed(names), "direction"),
            attrs={"units": "flits/cycle per flit/node/cycle"},
        )


def channel_loads(demands: Demands, routing: str = "do", ties: str = "wrap") -> ChannelLoads:
    """Load of every link under an oblivious routing, exactly.

    Parameters
    ----------
    demands : Demands
        What is sent, made by `make_demands`.
    routing : {"do", "o1turn", "valiant"}
        Dimension order; half of the packets in ascending and half in descending order of the dimensions
        (Seo et al. 2005); dimension order to a node drawn evenly and on from there (Valiant and Brebner
        1981).
    ties : {"wrap", "balanced", "split"}
        At distance exactly N/2 of a ring: as the router's `ties` say, or half of every packet each way.

    Returns
    -------
    ChannelLoads
        In flits per cycle for a load of 1 flit per node and cycle.

    Raises
    ------
    SpecError
        The routing's loads are not fixed by the traffic, or parts of the network have failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.analysis.demands import make_demands
    >>> network = fl.Network(fl.Torus(32, 32))
    >>> complement = make_demands(network, fl.Load("bcmp", rate=0.1, cycles=100))
    >>> loads = channel_loads(complement)
    >>> loads.largest, loads.busiest, float(loads.ideal_throughput)
    (Fraction(8, 1), '(0,0)-x', 0.125)
    >>> uniform = make_demands(network, fl.Load("rand", rate=0.1, cycles=100))
    >>> float(channel_loads(uniform, ties="split").ideal_throughput)      # 8/N except for the own node
    0.2497...
    >>> float(channel_loads(uniform).ideal_throughput)     # ties all meet at the wrap-around links
    0.2350...
    """
    if routing not in OBLIVIOUS:
        known = ", ".join(OBLIVIOUS)
        raise SpecError.at(
            "routing", f"the loads of {routing!r} are not fixed by the traffic", f"those of {known} are"
        )
    if ties not in TIES:
        raise SpecError.at("ties", *unknown_parts(ties, TIES))
    topology = demands.topology
    topology.require_untwisted("loads of links", "flitloom route --torus 4x4x8 --twist says those of tables")
    topology.require_no_circulants("loads of links are")
    if topology.failed_nodes or topology.failed_links:
        raise SpecError.at(
            "topology", "channel loads are those of a healthy network", "take the failed parts out"
        )
    order = list(range(len(topology.sizes)))
    if routing == "valiant":
        first, second = demands.phases()
        loads = [_ordered(first, order, ties), _ordered(second, order, ties)]
        return ChannelLoads(topology, loads[0][0] + loads[1][0], loads[0][1])
    if routing == "o1turn":
        loads = [_ordered(demands, order, ties), _ordered(demands, order[::-1], ties)]
        return ChannelLoads(topology, loads[0][0] + loads[1][0], 2 * loads[0][1])
    counts, scale = _ordered(demands, order, ties)
    return ChannelLoads(topology, counts, scale)


def _ordered(demands: Demands, order: Sequence[int], ties: str) -> tuple[Whole, int]:
    """Whole loads when the dimensions are taken in an order, and what they are divided by."""
    topology = demands.topology
    sizes = topology.sizes
    # One axis per dimension, in the order in which they are taken, and one for directions.
    shape = [sizes[dimension] for dimension in order]
    ways = [_ways_along(topology, dimension, ties) for dimension in range(len(sizes))]
    begins = np.cumsum([0, *map(len, ways)])
    counts = np.zeros((*shape, begins[-1]), dtype=np.int64)
    for place, dimension in enumerate(order):
        moved = np.moveaxis(counts, place, 0)
        for direction, way in enumerate(ways[dimension], begins[dimension]):
            part = moved[..., direction]
            _add_pairs(part, demands, order, place, way)
            for sending, receiving in demands.products:
                by_source, by_destination = (
                    _by_coordinates(weights, sizes, order) for weights in (sending, receiving)
                )
                part += _product(by_source, by_destination, place, way)
    back = [order.index(dimension) for dimension in reversed(range(len(sizes)))]
    whole = counts.transpose(*back, len(sizes)).reshape(topology.nodes, -1)
    return np.ascontiguousarray(whole), demands.scale * (2 if ties == "split" else 1)


def _ways_along(topology: AnyNetwork, dimension: int, ties: str) -> list[Ring | Jump]:
    """The directions of one dimension, in their order."""
    size = topology.sizes[dimension]
    if topology.full[dimension]:
        return [Jump(size, step, ties, minus) for step in range(1, size // 2 + 1) for minus in (False, True)]
    return [Ring(size, topology.wraps[dimension], ties, minus) for minus in (False, True)]


@dataclass(frozen=True)
class Jump:
    """A direction of a full mesh: one link, over some places."""

    size: int
    step: int
    ties: str
    minus: bool

    def ways(self, source: Whole, destination: Whole) -> Whole:
        """1 where the link leads from a coordinate to the other, with split ties 2."""
        hops = (source - destination if self.minus else destination - source) % self.size
        # Half round, both directions are the same link: up from the lower half, down from the upper one.
        own = source >= self.size // 2 if self.minus else source < self.size // 2
        taken = (hops == self.step) & ((2 * self.step != self.size) | own)
        weight: Whole = taken.astype(np.int64) * (2 if self.ties == "split" else 1)
        return weight

    def intervals(self, source: Whole, destination: Whole) -> tuple[Whole, Whole, NDArray[np.bool_]]:
        """As those of a ring: the link of the source alone."""
        return source, source + 1, np.zeros(np.broadcast(source, destination).shape, dtype=bool)


@dataclass(frozen=True)
class Ring:
    """A direction of a ring or line: how many ways out of two lead from a coordinate to another in it."""

    size: int
    wraps: bool
    ties: str
    minus: bool

    def ways(self, source: Whole, destination: Whole) -> Whole:
        """Weight of the way in this direction: 1 or 0; with split ties 2, 1 or 0."""
        once = 2 if self.ties == "split" else 1
        if not self.wraps:
            ahead = destination < source if self.minus else destination > source
            straight: Whole = once * ahead.astype(np.int64)
            return straight
        hops = (source - destination if self.minus else destination - source) % self.size
        short = (hops > 0) & (2 * hops < self.size)
        tie = 2 * hops == self.size
        if self.ties == "split":
            split: Whole = 2 * short + tie.astype(np.int64)
            return split
        if self.ties == "balanced":
            own = source % 2 == int(self.minus)
        else:
            # Below N/2 down, else up: over the wrap-around link.
            own = source < self.size // 2 if self.minus else source >= self.size // 2
        taken: Whole = (short | (tie & own)).astype(np.int64)
        return taken

    def intervals(self, source: Whole, destination: Whole) -> tuple[Whole, Whole, NDArray[np.bool_]]:
        """First coordinate whose link is crossed, the one behind the last, and whether that leads around."""
        first, behind = (destination + 1, source + 1) if self.minus else (source, destination)
        return first, behind, first > behind


def _add_pairs(part: Whole, demands: Demands, order: Sequence[int], place: int, way: Ring | Jump) -> None:
    """Add what listed pairs bring to the links of one dimension (first axis) and direction."""
    if not len(demands.pairs):
        return
    source, destination = (
        [end[dimension] for dimension in order] for end in _coordinates(demands.pairs, demands.topology.sizes)
    )
    weight = demands.pairs[:, 2] * way.ways(source[place], destination[place])
    used = weight > 0
    # Dimensions before this one are at the destination already, those behind still at the source.
    others = [
        (destination if other < place else source)[other][used]
        for other in range(len(order))
        if other != place
    ]
    first, behind, around = way.intervals(source[place][used], destination[place][used])
    weight = weight[used]
    steps = np.zeros((way.size + 1, *part.shape[1:]), dtype=np.int64)
    np.add.at(steps, (first, *others), weight)
    np.subtract.at(steps, (behind, *others), weight)
    np.add.at(
        steps, (np.zeros(int(around.sum()), dtype=np.int64), *(c[around] for c in others)), weight[around]
    )
    part += np.cumsum(steps, axis=0)[:-1]


def _product(sending: Whole, receiving: Whole, place: int, way: Ring | Jump) -> Whole:
    """What a product of weights brings to the links of one dimension, moved to the first axis."""
    size = way.size
    # By this coordinate and those behind it; by those before it and this one.
    sources = sending.sum(axis=tuple(range(place))).reshape(size, -1)
    behind = receiving.sum(axis=tuple(range(place + 1, receiving.ndim)))
    destinations = np.moveaxis(behind, -1, 0).reshape(size, -1)
    source, destination = (ends.ravel() for ends in np.indices((size, size)))
    ways = way.ways(source, destination)
    first, last, around = way.intervals(source, destination)
    # Weights that are all alike are worked out once.
    kinds, which = np.unique(destinations, axis=1, return_inverse=True)
    crossing = np.zeros((kinds.shape[1], size + 1, size), dtype=np.int64)
    for number in range(kinds.shape[1]):
        weight = ways * kinds[destination, number]
        np.add.at(crossing[number], (first, source), weight)
        np.subtract.at(crossing[number], (last, source), weight)
        np.add.at(crossing[number], (np.zeros_like(first), source), weight * around)
    crossing = np.cumsum(crossing, axis=1)[:, :-1]
    loads = crossing @ sources
    before = sending.shape[:place]
    shaped = loads[which.ravel()].transpose(1, 0, 2)
    return np.ascontiguousarray(shaped).reshape(size, *before, *sending.shape[place + 1 :])


def _coordinates(pairs: Whole, sizes: Sequence[int]) -> list[list[Whole]]:
    """Coordinates of sources and of destinations, x first."""
    ends = []
    for end in (0, 1):
        node, places = pairs[:, end], []
        for size in sizes:
            node, place = np.divmod(node, size)
            places.append(place)
        ends.append(places)
    return ends


def _by_coordinates(weights: Whole, sizes: Sequence[int], order: Sequence[int]) -> Whole:
    """Weights of nodes with one axis per dimension, in an order."""
    grid = weights.reshape(tuple(reversed(sizes)))
    return grid.transpose([len(sizes) - 1 - dimension for dimension in order])
