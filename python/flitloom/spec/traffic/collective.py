"""A collective communication: every node sends the same at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.any_traffic import AnyTraffic, PlannedTraffic
from flitloom.spec.base import Checked, in_file, listed, whole
from flitloom.spec.tables import column
from flitloom.spec.traffic.fields import CYCLE, Column, Cycle, cycle_number
from flitloom.spec.traffic.packets import Packets
from flitloom.spec.traffic.patterned import DRAWN, Patterned, PatternName

if TYPE_CHECKING:
    from flitloom.networks.network import Network
    from flitloom.spec.any_network import AnyNetwork

#: Draws of destinations for one node.
MOST_DRAWS = 1 << 20


class Collective(Patterned, PlannedTraffic):
    """A collective communication: every node sends `packets` messages, each cut into slices.

    Slice ``k`` of a node, counted over all its packets, has ``floor(payload / slices) + 1`` flits and is
    available to its router at cycle ``k * interval + delay`` (cup-stacking-2022, Section 3).

    Parameters
    ----------
    pattern : str, optional
        Short name of a pattern: bcmp, brev, brot, shfl, torn, trns, next, rand, rpar, hots.
    destinations : sequence of int or path, optional
        Instead of a pattern, a destination per node, or a CSV file with one node per line.
    hotspot_fraction, hotspot_target : float, int
        For pattern hots: the share of packets that go to the target (default 0.1), and the target
        (default the middle node).
    payload : int
        Payload of one packet in flits, without headers.
    slices : int
        Slices per packet, 1 to the payload.
    interval : int
        Cycles between the starts of consecutive slices; 0 sends them back to back.
    delays : sequence of int or path
        Injection delay per node in cycles, or a CSV file with one delay per line.
    packets : int
        Packets per node.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Collective("shfl", payload=14, slices=2, interval=76).slice_length
    8
    """

    noun: ClassVar[str] = "a collective"
    has_rate: ClassVar[bool] = True

    kind: Literal["collective"] = "collective"
    payload: Annotated[int, whole(0, LIMITS["length"] - 1, "flits")] = 7
    slices: Annotated[int, whole(1, LIMITS["length"])] = 1
    interval: Cycle = 0
    delays: Annotated[tuple[int, ...], Checked(column("delay", cycle_number), in_file(listed(CYCLE)))] = ()
    packets: Annotated[int, whole(1, LIMITS["packets"])] = 1

    if TYPE_CHECKING:

        def __init__(
            self,
            pattern: PatternName | str | None = None,
            *,
            destinations: Column | None = None,
            hotspot_fraction: float | None = None,
            hotspot_target: int | None = None,
            payload: int = 7,
            slices: int = 1,
            interval: int = 0,
            delays: Column = (),
            packets: int = 1,
        ) -> None: ...

    @property
    def slice_length(self) -> int:
        """Flits of one slice, its header included."""
        return self.payload // self.slices + 1

    def describe(self, network: Network) -> str:
        """Pattern, payload and slices."""
        return f"{self.called} on {network.topology}, {self.payload} payload flits{self._in_slices}"

    @property
    def _in_slices(self) -> str:
        return f" in {counted(self.slices, 'slice')}" if self.slices > 1 else ""

    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of it."""
        return _core.Workload.collective(network.core, self.destinations_on(network, seed), self)

    def count(self, nodes: int) -> int:
        """Every slice is a packet."""
        return nodes * self.packets * self.slices

    @property
    def longest(self) -> int:
        """All slices have one length."""
        return self.slice_length

    @property
    def certified_length(self) -> int:
        """As the spec says."""
        return self.slice_length

    @classmethod
    def longest_said(cls, fields: Mapping[str, Any]) -> object:
        """The payload with its header."""
        payload = fields.get("payload", 7)
        return payload + 1 if isinstance(payload, int) else payload

    def patterns(self) -> tuple[tuple[int, Patterned], ...]:
        """Its own."""
        return ((1, self),)

    def ends_among_working(self, network: Network, seed: int) -> list[tuple[int, int]]:
        """Source and destination of the packets whose two ends work, node by node.

        Random ones are drawn until they go to a node that works.

        Raises
        ------
        SpecError
            No packet has two ends that work, or a given destination has failed.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Collective("next").ends_among_working(fl.Network(fl.Torus(4, failed_nodes=[1])), 1)
        [(2, 3), (3, 0)]
        """
        failed = set(network.topology.failed_nodes)
        to = self.destinations_on(network, seed)
        self.require_working(network)
        random = self.pattern in DRAWN and self.hotspot_fraction != 1
        ends = []
        for source in (node for node in range(network.nodes) if node not in failed):
            drawn = 0
            for _ in range(self.packets):
                destination = to.of(source, drawn)
                while random and destination in failed and drawn < MOST_DRAWS:
                    drawn += 1
                    destination = to.of(source, drawn)
                drawn += 1
                if destination not in failed:
                    ends.append((source, destination))
        if not ends:
            raise SpecError.at("traffic.pattern", "sends no packet between two nodes that work")
        return ends

    def among_working(self, network: Network, seed: int) -> Packets:
        """The packets whose two ends work; random ones are drawn until they go to such a node.

        Raises
        ------
        SpecError
            No packet has two ends that work, or a given destination has failed.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Collective("next").among_working(fl.Network(fl.Torus(4, failed_nodes=[1])), 1).table
        ((2, 3, 8, 0, 0), (3, 0, 8, 0, 0))
        """
        rows: list[tuple[int, int, int, int, int]] = []
        sent: dict[int, int] = {}
        for source, destination in self.ends_among_working(network, seed):
            packet = sent[source] = sent.get(source, -1) + 1
            start = self.delays[source] if self.delays else 0
            rows += [
                (source, destination, self.slice_length, start + number * self.interval, part)
                for part, number in enumerate(range(packet * self.slices, (packet + 1) * self.slices))
            ]
        return Packets(rows)

    def left_working(self, network: Network, seed: int) -> tuple[AnyTraffic, str]:
        """Its packets among the nodes that work, and how many are left out."""
        topology = network.topology
        if not topology.failed_nodes:
            return self, ""
        left = self.among_working(network, seed)
        working = topology.nodes - len(topology.failed_nodes)
        omitted = working * self.packets - len(left.table) // self.slices
        return left, among_text(topology, self.called, omitted)

    def to_plan(self, network: Network, seed: int) -> tuple[list[tuple[int, int, int, int]], str]:
        """A message per packet among the nodes that work."""
        ends = self.ends_among_working(network, seed)
        words = f"{self.called}, payload {self.payload}{self._in_slices}"
        words += f", {counted(self.packets, 'packet')}" if self.packets > 1 else ""
        return [(*pair, self.slice_length, self.slices) for pair in ends], words


def among_text(topology: AnyNetwork, name: str, omitted: int = 0) -> str:
    """That something is sent among the nodes that work, where some have failed.

    >>> import flitloom as fl
    >>> among_text(fl.Torus(4, failed_nodes=[1]), "next", 1)
    'next among the 3 nodes that work; packets to failed nodes are left out: 1'
    """
    text = f"{name} among the {topology.nodes - len(topology.failed_nodes)} nodes that work"
    return f"{text}; packets to failed nodes are left out: {omitted}" if omitted else text
