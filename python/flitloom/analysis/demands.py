"""Demands: what share of its load every node sends to every other, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.networks.network import Network
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.any_traffic import AnyTraffic
from flitloom.spec.traffic.patterned import DRAWN, Patterned

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Demands:
    """Whole weights of pairs of nodes; divided by `scale` they are shares of a node's load.

    The weight from s to d is that of the pairs listed plus ``sending[s] * receiving[d]`` over all products,
    from every node to every other (what a node sends to itself is only listed).

    Attributes
    ----------
    topology : AnyNetwork
        Where the nodes are.
    pairs : array of int, shape (n, 3)
        Source, destination and weight.
    products : list of (array, array)
        Weights of sending and of receiving nodes.
    scale : int
        What a weight is divided by: with load 1, a node sends weight / scale flits per cycle.
    """

    topology: AnyNetwork
    pairs: Whole
    products: tuple[tuple[Whole, Whole], ...]
    scale: int

    def __post_init__(self) -> None:
        _check_scale(self.topology, self.scale)

    @property
    def sent(self) -> Whole:
        """Weight that every node sends to others."""
        return self._ends(0, others=True)

    @property
    def received(self) -> Whole:
        """Weight that every node receives, from itself too."""
        return self._ends(1, others=False)

    def _ends(self, end: int, *, others: bool) -> Whole:
        total = np.zeros(self.topology.nodes, dtype=np.int64)
        pairs = self.pairs[self.pairs[:, 0] != self.pairs[:, 1]] if others else self.pairs
        np.add.at(total, pairs[:, end], pairs[:, 2])
        for product in self.products:
            mine, theirs = product[end], product[1 - end]
            total += mine * (theirs.sum() - theirs)
        return total

    @property
    def receive_bound(self) -> Fraction:
        """Largest load, in flits per node and cycle, of which the most wanted node can eject its part."""
        return Fraction(self.scale, int(self.received.max()))

    def phases(self) -> tuple[Demands, Demands]:
        """Demands to a node drawn evenly for every packet, and on from there (Valiant and Brebner 1981)."""
        nodes = self.topology.nodes
        none, even = np.zeros((0, 3), dtype=np.int64), np.ones(nodes, dtype=np.int64)
        scale = self.scale * nodes
        own = self.pairs[self.pairs[:, 0] == self.pairs[:, 1]]
        received = self.received
        np.subtract.at(received, own[:, 1], own[:, 2])
        return (
            Demands(self.topology, none, ((self.sent, even),), scale),
            Demands(self.topology, none, ((even, received),), scale),
        )


def _check_scale(topology: AnyNetwork, scale: int) -> None:
    if topology.nodes * scale >= 1 << 60:
        raise SpecError.at("traffic", "its weights are too fine for this network", "round them")


def make_demands(network: Network, traffic: AnyTraffic, seed: int = 1) -> Demands:
    """The demands of traffic.

    Parameters
    ----------
    network : Network
        The network. Packets of patterns go among the nodes that work.
    traffic : Load, Collective, TrafficMatrix or Packets
        Who sends to whom. Of a matrix or list, a load of 1 is that of the node that sends most.
    seed : int
        Seed of patterns that are drawn once.

    Raises
    ------
    SpecError
        The traffic does not fit the network.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Torus(32, 32))
    >>> hot = make_demands(network, fl.Load("hots", hotspot_fraction=0.01, rate=0.1, cycles=100))
    >>> float(hot.receive_bound)             # 1 / (0.01 * 1023 + 0.99): a tenth of what rand accepts
    0.0891...
    """
    topology = network.topology
    weights = traffic.pair_weights(network, seed)
    if weights is not None:
        return _weighted(topology, weights)
    table = traffic.pair_flits(topology.nodes)
    if table is not None:
        sent = np.zeros(topology.nodes, dtype=np.int64)
        np.add.at(sent, table[:, 0], table[:, 2])
        return Demands(topology, table, (), int(sent.max(initial=1)) or 1)
    patterns = traffic.patterns()
    if not patterns:
        raise SpecError.at("traffic", f"{traffic.noun} says no shares of a load", "give a pattern or packets")
    silent = traffic.silent(network, seed) or topology.failed_nodes
    parts = [_patterned(network, part, seed, silent) for _, part in patterns]
    return _together(topology, parts, [weight for weight, _ in patterns])


def _patterned(network: Network, traffic: Patterned, seed: int, silent: Sequence[int]) -> Demands:
    """Those of a pattern, among the nodes that work; silent ones only receive."""
    topology = network.topology
    works, sends = np.ones((2, topology.nodes), dtype=np.int64)
    works[list(topology.failed_nodes)] = 0
    sends[list(silent)] = 0
    everyone = np.flatnonzero(works)
    senders = np.flatnonzero(sends)
    # Checked by the core, which also knows the middle node.
    to = traffic.destinations_on(network, seed)
    if traffic.pattern not in DRAWN:
        ends = [(node, end, 1) for node in senders.tolist() if works[end := to.of(node, 0)]]
        return Demands(topology, np.array(ends, dtype=np.int64).reshape(-1, 3), (), 1)
    others = len(everyone) - 1
    if others < 1:
        raise SpecError.at("traffic.pattern", "rand needs another node to send to")
    if traffic.pattern == "rand":
        return Demands(topology, np.zeros((0, 3), dtype=np.int64), ((sends, works),), others)
    target = hotspot_target(topology, traffic)
    part = Fraction(str(0.1 if traffic.hotspot_fraction is None else traffic.hotspot_fraction))
    part = part.limit_denominator(1_000_000)
    rest = np.full(topology.nodes, part.denominator - part.numerator)
    rest[target] = part.denominator
    sources = senders[senders != target]
    hot = np.full(len(sources), part.numerator * others)
    pairs = np.stack([sources, np.full(len(sources), target), hot], axis=1)
    return Demands(topology, pairs, ((rest * sends, works),), part.denominator * others)


def _weighted(topology: AnyNetwork, weights: Whole) -> Demands:
    """Those of weights, each a share of its row's; a node without any sends to itself."""
    rows = weights.sum(axis=1)
    weights = weights + np.diag(rows == 0).astype(np.int64)
    rows = np.maximum(rows, 1)
    scale = math.lcm(*map(int, rows))
    _check_scale(topology, scale)
    source, destination = np.nonzero(weights)
    shares = weights[source, destination] * (scale // rows[source])
    return Demands(topology, np.stack([source, destination, shares], axis=1), (), scale)


def _together(topology: AnyNetwork, parts: list[Demands], weights: list[int]) -> Demands:
    """Those of several classes of traffic, each with its share of all packets."""
    common = math.lcm(*(part.scale for part in parts))
    _check_scale(topology, common * sum(weights))
    factors = [weight * (common // part.scale) for part, weight in zip(parts, weights, strict=True)]
    pairs = [
        np.stack([*part.pairs[:, :2].T, part.pairs[:, 2] * factor], axis=1)
        for part, factor in zip(parts, factors, strict=True)
    ]
    products = [
        (sending * factor, receiving)
        for part, factor in zip(parts, factors, strict=True)
        for sending, receiving in part.products
    ]
    return Demands(topology, np.concatenate(pairs), tuple(products), common * sum(weights))


def hotspot_target(topology: AnyNetwork, traffic: Patterned) -> int:
    """The node a hotspot pattern sends to: the one given, else that in the middle."""
    if traffic.hotspot_target is not None:
        return int(traffic.hotspot_target)
    target = 0
    for size in reversed(topology.dimensions):
        target = target * size + size // 2
    return target
