"""Certificates that adaptive routing over escape channels cannot deadlock under virtual cut-through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network
from flitloom.spec.any_network import AnyNetwork
from flitloom.tables.certificate import write_ranks
from flitloom.tables.verdict import Row, laid_out

#: Routing functions with escape channels.
ADAPTIVE = ("sa", "cl", "ma")
#: Their escape channels, 0 and 1; the others are adaptive.
ESCAPES = 2
#: Nodes of a network that is certified.
MOST_NODES = 1 << 16

#: An escape channel: node, dimension, way and virtual channel. The way is 1 or -1, in a full mesh how many
#: coordinates the link goes on.
Escape = tuple[int, int, int, int]


@dataclass(frozen=True)
class EscapeOrder:
    """An order of escape channels in which every packet in one waits only for later ones.

    Under virtual cut-through a header moves on only where its whole packet has room, so a packet that waits
    is in one queue, and what it held behind drains. Then it suffices that every packet is always offered an
    escape channel, and that packets in escape channels wait for each other in no cycle (Duato 1993): chains
    over adaptive channels count only with wormhole flow control.

    Attributes
    ----------
    topology : AnyNetwork
        The torus, the mesh or the product.
    routing : str
        The routing function: ``sa``, ``cl`` or ``ma``.
    virtual_channels, buffer, longest_packet : int
        Of the router and of the traffic; the longest packet fits into a queue.
    order : tuple
        Escape channels: node, dimension, way and virtual channel, the last one that is waited for first.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.networks.escape import escape_order
    >>> router = fl.Router(routing="sa", flow_control="cut-through", buffer=16)
    >>> experiment = fl.Experiment(
    ...     topology=fl.Torus(4, 4), router=router, traffic=fl.Collective("shfl")
    ... )
    >>> len(escape_order(experiment).order)       # of a ring of 4, each way: 3 and 2
    80
    >>> product = fl.Product("full4 x ring4")     # 3 channels at each of 16 nodes, then 40 of rings
    >>> experiment = fl.Experiment(topology=product, router=router, traffic=fl.Collective("rand"))
    >>> len(escape_order(experiment).order)
    88
    """

    topology: AnyNetwork
    routing: str
    virtual_channels: int
    buffer: int
    longest_packet: int
    order: tuple[Escape, ...]

    def describe(self) -> str:
        """What the verdict rests on, as text."""
        return (
            f"{self.routing}, cut-through, escape channels 0 and 1 in dimension order, "
            f"buffers of {self.buffer} flits for packets of at most {self.longest_packet}"
        )

    def __str__(self) -> str:
        """What ``flitloom check`` prints."""
        rows: list[Row] = [
            ("network", str(self.topology), []),
            ("rules", f"{self.describe()} (from the file)", []),
            ("deadlock", f"none possible: {len(self.order)} escape channels wait in one order", []),
        ]
        return "\n".join([*laid_out(rows), "passed"])

    def facts(self) -> dict[str, Any]:
        """The verdict as plain values, by name."""
        return {
            "passed": True,
            "network": str(self.topology),
            "deadlock": False,
            "cycle": [],
            "lanes": self.virtual_channels,
            "rules_in_words": self.describe(),
            "rules_from": "from the file",
        }

    def certificate(self) -> dict[str, Any]:
        """The order as ranks; the program of ``flitloom recheck`` verifies it against the experiment."""
        rows = [
            [node, _named(dimension, way), channel, rank]
            for rank, (node, dimension, way, channel) in enumerate(reversed(self.order))
        ]
        return {
            "format": "flitloom-certificate",
            "version": 2,
            "kind": "escape",
            "sizes": list(self.topology.sizes),
            "wraps": list(self.topology.wraps),
            **({"full": list(self.topology.full)} if any(self.topology.full) else {}),
            "routing": self.routing,
            "flow_control": "cut-through",
            "virtual_channels": self.virtual_channels,
            "escape_channels": ESCAPES,
            "buffer": self.buffer,
            "longest_packet": self.longest_packet,
            "channels": rows,
        }

    def write(self, file: str | Path) -> None:
        """Write the certificate to a file."""
        head = self.certificate()
        write_ranks(file, head, head.pop("channels"), indent=1)


def escape_order(experiment: Experiment) -> EscapeOrder:
    """The order in which the escape channels of an experiment's router wait.

    Raises
    ------
    SpecError
        The routing has no escape channels, or the network or the traffic is of a kind that is not certified.
    """
    topology, router = experiment.topology, experiment.router
    topology.require_no_circulants("certificates of escape channels are")
    if router.routing not in ADAPTIVE or router.model != "one-cycle":
        raise SpecError.at(
            "router.routing",
            f"{router.routing} has no escape channels" if router.model == "one-cycle" else "is of a pipeline",
            f"certificates of routers are for {', '.join(ADAPTIVE)}; flitloom route and schedule have others",
        )
    if topology.grid is None or topology.nodes > MOST_NODES:
        raise SpecError.at(
            "topology",
            f"{topology} is not certified",
            f"give a torus, a mesh or a product of up to {MOST_NODES} nodes",
        )
    longest = _longest(experiment)
    # What the router refuses, it refuses here: failed parts, wormhole flow control, too few channels.
    channels = Network(topology, router).channels
    if longest > router.buffer:
        raise SpecError.at(
            "router.buffer", f"{router.buffer} flits", f"a packet of {longest} must fit into a queue"
        )
    try:
        order = tuple(TopologicalSorter(_waits(topology)).static_order())
    except CycleError as error:  # pragma: no cover - no torus has one
        raise AssertionError(f"escape channels wait in a cycle: {error.args[1]}") from None
    return EscapeOrder(topology, router.routing, channels, router.buffer, longest, order)


def _longest(experiment: Experiment) -> int:
    """Flits of the longest packet."""
    if (length := experiment.traffic.certified_length) is not None:
        return length
    raise SpecError.at(
        "traffic", "its packets are of several lengths or in another file", "give a pattern with one length"
    )


def _waits(topology: AnyNetwork) -> dict[Escape, set[Escape]]:
    """For which escape channels the packets in one wait."""
    kinds = zip(topology.sizes, topology.wraps, topology.full, strict=True)
    lines = [_full_mesh(size) if full else _line(size, wrap) for size, wrap, full in kinds]
    found: dict[Escape, set[Escape]] = {}
    for node in range(topology.nodes):
        place, rest = [], node
        for size in topology.sizes:
            rest, at = divmod(rest, size)
            place.append(at)
        stride = 1
        for dimension, (size, line) in enumerate(zip(topology.sizes, lines, strict=True)):
            at = place[dimension]
            # At the end of its way in a dimension, which may be anywhere, a packet turns into any later one.
            turns = [
                (later, way, channel)
                for later in range(dimension + 1, len(lines))
                for way, channel in lines[later][place[later]]
            ]
            for (way, channel), following in line[at].items():
                ahead = node + ((at + way) % size - at) * stride
                goes_on = [(dimension, way, after) for after in following]
                found[node, dimension, way, channel] = {(ahead, *after) for after in [*goes_on, *turns]}
            stride *= size
    return found


def _named(dimension: int, way: int) -> str:
    """The direction of a link as text.

    >>> _named(0, 1), _named(1, -3)
    ('+x', '-3y')
    """
    far = "" if abs(way) == 1 else str(abs(way))
    return f"{'+-'[way < 0]}{far}{'xyzuvw'[dimension]}"


#: Escape channels of a dimension by coordinate: way, channel, and in which channels a packet goes on.
_Line = list[dict[tuple[int, int], set[int]]]


def _full_mesh(size: int) -> _Line:
    """Escape channels of a full mesh: every way ends after its one hop."""
    ways = range(-((size - 1) // 2), size // 2 + 1)
    return [{(way, 0): set() for way in ways if way} for _ in range(size)]


def _line(size: int, wrap: bool) -> _Line:
    """Escape channels of a ring or line.

    A packet may enter an escape channel anywhere on its way, on which it may have come over adaptive ones.
    """
    found: list[dict[tuple[int, int], set[int]]] = [{} for _ in range(size)]
    for source in range(size):
        for way, hops in _ways(source, size, wrap):
            at, passed = source, 0
            for hop in range(hops):
                crosses = wrap and at == (size - 1 if way == 1 else 0)
                before, passed = passed, int(passed or crosses)
                if hop:
                    found[(at - way) % size][way, before].add(passed)
                # Channel 1 is over the wrap line and after it.
                found[at].setdefault((way, passed), set())
                at = (at + way) % size
    return found


def _ways(source: int, size: int, wrap: bool) -> Iterator[tuple[int, int]]:
    """Both directions from a coordinate, with the most hops that a minimal route goes."""
    yield 1, size // 2 if wrap else size - 1 - source
    yield -1, size // 2 if wrap else source
