"""Who sends what to whom, when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from flitloom._core import LIMITS, pattern_names
from flitloom.limits import LISTED_HOPS, LISTED_PACKETS, MATRIX_PACKETS
from flitloom.spec.base import SpecModel, each, one_of, problem, real, text, whole, whole_number
from flitloom.spec.legs import count_hops
from flitloom.spec.tables import column, matrix, packet_table
from flitloom.spec.topology import Node, node_number

#: Short names of the patterns.
PATTERNS = tuple(pattern_names())
#: Names that other tools use, with ours; docs/glossary.md says where they mean something else there.
OTHER_NAMES = {
    "bit-complement": "bcmp", "bitcomp": "bcmp", "complement": "bcmp",
    "bit-reverse": "brev", "bitrev": "brev", "reverse": "brev",
    "bit-rotation": "brot", "bitrot": "brot", "rotation": "brot",
    "perfect-shuffle": "shfl", "shuffle": "shfl",
    "tornado": "torn",
    "transpose": "trns",
    "neighbor": "next", "neighbour": "next",
    "random": "rand", "uniform": "rand", "uniform-random": "rand",
    "pairs": "rpar", "random-pairs": "rpar",
    "hotspot": "hots",
}  # fmt: skip
#: The six permutations of cup-stacking-2022, Table 1.
PERMUTATIONS = ("bcmp", "brev", "brot", "shfl", "torn", "trns")

Length = Annotated[int, whole(1, LIMITS["length"], "flits")]
Cycle = Annotated[int, whole(0, LIMITS["start"], "cycles")]
_cycle = whole_number(0, LIMITS["start"], "cycles")
_PACKET = (
    node_number,
    node_number,
    whole_number(1, LIMITS["length"], "flits"),
    _cycle,
    whole_number(0, 2**32 - 1),
)


class Patterned(SpecModel):
    """Traffic that goes where a pattern, or a list of destinations, says."""

    place: ClassVar[str] = "traffic"
    positional: ClassVar[str] = "pattern"

    pattern: Annotated[str, one_of(*PATTERNS, others=OTHER_NAMES)] | None = None
    destinations: Annotated[tuple[int, ...], BeforeValidator(column("node", node_number))] | None = None
    hotspot_fraction: Annotated[float, real(0, 1)] | None = None
    hotspot_target: Node | None = None

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Any:
        if (self.pattern is None) == (self.destinations is None):
            raise problem("give either pattern or destinations")
        if self.pattern != "hots" and (self.hotspot_fraction, self.hotspot_target) != (None, None):
            raise problem('hotspot_fraction and hotspot_target need pattern "hots"')
        return self


class Collective(Patterned):
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

    kind: Literal["collective"] = "collective"
    payload: Annotated[int, whole(0, LIMITS["length"] - 1, "flits")] = 7
    slices: Annotated[int, whole(1, LIMITS["length"])] = 1
    interval: Cycle = 0
    delays: Annotated[tuple[int, ...], BeforeValidator(column("delay", _cycle))] = ()
    packets: Annotated[int, whole(1, LIMITS["packets"])] = 1

    if TYPE_CHECKING:

        def __init__(self, pattern: str | None = None, **fields: Any) -> None: ...

    @property
    def slice_length(self) -> int:
        """Flits of one slice, its header included."""
        return self.payload // self.slices + 1


class Load(Patterned):
    """An open-loop load: every node generates packets at random, whatever the network does.

    In every cycle from 0 to `cycles` - 1 a node generates a packet with probability ``rate / length``;
    packets that find their router busy wait in an unbounded queue.

    Parameters
    ----------
    pattern, destinations, hotspot_fraction, hotspot_target
        As in `Collective`.
    rate : float
        Flits per node and cycle, above 0 and at most 1.
    length : int
        Flits per packet, the header included.
    cycles : int
        Cycles in which packets are generated.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Load("rand", rate=0.1, length=8, cycles=1000).rate
    0.1
    """

    kind: Literal["load"] = "load"
    rate: Annotated[float, real(0, 1, "flits/node/cycle", above=True)]
    length: Length = 8
    cycles: Annotated[int, whole(1, LIMITS["start"], "cycles")]

    if TYPE_CHECKING:

        def __init__(self, pattern: str | None = None, **fields: Any) -> None: ...


class Packets(SpecModel):
    """A list of packets; every node sends its own in the order in which they are listed.

    Parameters
    ----------
    table : path or sequence of (source, destination, length, start[, slice])
        The packets, or a CSV file with the columns source, destination, length, start and slice (the
        last is optional): nodes, flits with the header, the first cycle in which the packet may leave.
    routes : sequence of str, optional
        The route of every packet, as ``"+x3 -y2"``; dimension order without. The packets of a node are
        then listed in the order of their starts.
    channels : sequence of int, optional
        With routes: the virtual channel in which every packet enters its first link (one higher at a
        dateline); 0 without.

    Examples
    --------
    >>> import flitloom as fl
    >>> len(fl.Packets([(0, 5, 8, 0), (1, 4, 8, 0)]).table)
    2
    """

    place: ClassVar[str] = "traffic"
    positional: ClassVar[str] = "table"

    kind: Literal["packets"] = "packets"
    table: Annotated[
        tuple[tuple[int, int, int, int, int], ...],
        BeforeValidator(packet_table(_PACKET)),
        Field(min_length=1),
    ]
    routes: Annotated[tuple[str, ...], BeforeValidator(each(text, LISTED_PACKETS))] = ()
    channels: Annotated[
        tuple[int, ...], BeforeValidator(each(whole_number(0, LIMITS["channels"] - 1), LISTED_PACKETS))
    ] = ()

    if TYPE_CHECKING:

        def __init__(self, table: Any = None, **fields: Any) -> None: ...

    @model_validator(mode="after")
    def _one_route_per_packet(self) -> Any:
        for name, given in (("routes", self.routes), ("channels", self.channels)):
            if given and len(given) != len(self.table):
                raise problem(
                    f"{name} has {len(given)} entries; one per packet ({len(self.table)}) is needed"
                )
        if self.channels and not self.routes:
            raise problem("channels need routes")
        count_hops(self.routes, "routes", LISTED_HOPS)
        latest: dict[int, int] = {}
        for number, (source, _, _, start, _) in enumerate(self.table if self.routes else ()):
            if start < latest.get(source, 0):
                raise problem(f"table[{number}]: with routes, a node's packets are listed by their starts")
            latest[source] = start
        return self


class TrafficMatrix(SpecModel):
    """How many packets every node (row) sends to every node (column).

    A node goes round its destinations, beginning with the next higher node: one packet to each that has
    any left, until none has.

    Parameters
    ----------
    matrix : path or array_like of int
        Packets from row to column, or a CSV file of as many rows and columns as there are nodes.
    length : int
        Flits per packet, the header included.
    interval : int
        Cycles between the starts of a node's consecutive packets; 0 sends them back to back.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.TrafficMatrix([[0, 2], [1, 0]], length=4).packet_table()
    array([[0, 1, 4, 0, 0],
           [0, 1, 4, 0, 0],
           [1, 0, 4, 0, 0]])
    """

    place: ClassVar[str] = "traffic"
    positional: ClassVar[str] = "matrix"

    kind: Literal["matrix"] = "matrix"
    matrix: Annotated[
        tuple[tuple[int, ...], ...], BeforeValidator(matrix(whole_number(0, LIMITS["packets"], "packets")))
    ]
    length: Length = 8
    interval: Cycle = 0

    if TYPE_CHECKING:

        def __init__(self, matrix: Any = None, **fields: Any) -> None: ...

    @model_validator(mode="after")
    def _not_too_many(self) -> Any:
        if (packets := sum(map(sum, self.matrix))) > MATRIX_PACKETS:
            raise problem(f"matrix asks for {packets} packets; at most {MATRIX_PACKETS} are supported")
        return self

    def packet_table(self) -> NDArray[np.int64]:
        """The packets: rows of source, destination, length, start and slice (always 0)."""
        counts = np.array(self.matrix, dtype=np.int64)
        source, destination = (np.repeat(ends, counts[counts > 0]) for ends in np.nonzero(counts))
        # The n-th packet to a destination goes in the n-th round.
        turn = np.concatenate([np.arange(count) for count in counts[counts > 0]] or [source])
        distance = (destination - source - 1) % len(counts)
        order = np.lexsort((distance, turn, source))
        number = np.arange(len(order)) - np.searchsorted(source, source)
        table = np.zeros((len(order), 5), dtype=np.int64)
        table[:, 0] = source
        table[:, 1] = destination[order]
        table[:, 2] = self.length
        table[:, 3] = number * self.interval
        return table


#: Any kind of traffic.
Traffic = Annotated[Collective | Load | Packets | TrafficMatrix, Field(discriminator="kind")]
