"""Who sends what to whom, when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from flitloom._core import LIMITS, LISTS
from flitloom.limits import LISTED_HOPS, LISTED_PACKETS, MATRIX_PACKETS, MATRIX_ROWS
from flitloom.numerals import counted
from flitloom.spec.base import (
    Checked,
    SpecModel,
    each,
    in_file,
    listed,
    one_of,
    problem,
    real,
    real_number,
    show,
    text,
    whole,
    whole_number,
)
from flitloom.spec.legs import count_hops
from flitloom.spec.messages import Messages
from flitloom.spec.tables import column, matrix, packet_table
from flitloom.spec.topology import NODE, Node, node_number

#: Short names of the patterns.
PATTERNS = LISTS["patterns"]
#: The same, for editors to offer.
PatternName = Literal["bcmp", "brev", "brot", "shfl", "torn", "trns", "next", "rand", "rpar", "hots"]
#: Names that other tools use, with those of flitloom; docs/glossary.md tells where the meaning differs.
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
PERMUTATIONS = LISTS["published_patterns"]

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


_CYCLE = {"type": "integer", "minimum": 0, "maximum": LIMITS["start"]}
_COUNT = {"type": "integer", "minimum": 0, "maximum": LIMITS["packets"]}
_MATRIX = in_file(listed(listed(_COUNT, MATRIX_ROWS), MATRIX_ROWS, 1))
#: What columns of whole numbers may be given as: the numbers, or a CSV file.
Column = ArrayLike | str | Path


class Patterned(SpecModel):
    """Traffic that goes where a pattern, or a list of destinations, says."""

    place: ClassVar[str] = "traffic"
    positional: ClassVar[str] = "pattern"

    pattern: Annotated[str, one_of(*PATTERNS, others=OTHER_NAMES)] | None = None
    destinations: (
        Annotated[tuple[int, ...], Checked(column("node", node_number), in_file(listed(NODE)))] | None
    ) = None
    hotspot_fraction: Annotated[float, real(0, 1)] | None = None
    hotspot_target: Node | None = None

    #: Fields of which one says where packets go.
    ways: ClassVar[tuple[str, ...]] = ("pattern", "destinations")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Any:
        if sum(getattr(self, way) is not None for way in self.ways) != 1:
            first = ", ".join(self.ways[:-1])
            raise problem(f"give either {first} or {self.ways[-1]}")
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
    delays: Annotated[tuple[int, ...], Checked(column("delay", _cycle), in_file(listed(_CYCLE)))] = ()
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


class Impulse(Patterned):
    """Packets that every node generates at once, on top of a load (scaling-effects-2007, Section 4.5).

    Parameters
    ----------
    pattern, destinations, hotspot_fraction, hotspot_target
        As in `Collective`.
    at : int
        The cycle in which they are generated.
    packets : int
        Packets per node. The node starts no others for as many cycles as they have flits.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Load("rand", rate=0.1, cycles=5000, impulse=fl.Impulse("trns", at=1000, packets=5)).impulse.packets
    5
    """

    place: ClassVar[str] = "traffic.impulse"

    at: Cycle
    packets: Annotated[int, whole(1, LIMITS["packets"])]

    if TYPE_CHECKING:

        def __init__(
            self,
            pattern: PatternName | str | None = None,
            *,
            destinations: Column | None = None,
            hotspot_fraction: float | None = None,
            hotspot_target: int | None = None,
            at: int,
            packets: int,
        ) -> None: ...


class TrafficClass(Patterned):
    """One of several classes of traffic of a load: where its packets go, and how many there are.

    Parameters
    ----------
    pattern, destinations, hotspot_fraction, hotspot_target
        As in `Collective`.
    weight : int
        How many packets belong to it, relative to the other classes.

    Examples
    --------
    >>> import flitloom as fl
    >>> classes = [fl.TrafficClass("rand", weight=3), fl.TrafficClass("trns", weight=1)]
    >>> fl.Load(classes=classes, rate=0.1, cycles=1000).classes[0].weight
    3
    """

    place: ClassVar[str] = "traffic.classes"

    weight: Annotated[int, whole(1, 2**32)] = 1

    if TYPE_CHECKING:

        def __init__(
            self,
            pattern: PatternName | str | None = None,
            *,
            destinations: Column | None = None,
            hotspot_fraction: float | None = None,
            hotspot_target: int | None = None,
            weight: int = 1,
        ) -> None: ...


class TrafficChange(Patterned):
    """Where the packets of a load go from a cycle on.

    Parameters
    ----------
    pattern, destinations, hotspot_fraction, hotspot_target
        As in `Collective`.
    at : int
        The first cycle whose packets go there; those generated before go where they were to go.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("bcmp", rate=0.1, cycles=5000, changes=[fl.TrafficChange("shfl", at=2000)])
    >>> load.changes[0].at
    2000
    """

    place: ClassVar[str] = "traffic.changes"

    at: Cycle

    if TYPE_CHECKING:

        def __init__(
            self,
            pattern: PatternName | str | None = None,
            *,
            destinations: Column | None = None,
            hotspot_fraction: float | None = None,
            hotspot_target: int | None = None,
            at: int,
        ) -> None: ...


#: Names of the processes by which nodes start packets.
PROCESSES = LISTS["processes"]
_rate = real_number(0, 1, "flits/node/cycle")
_POINT = listed({"type": "number", "minimum": 0}, 2, 2)


def _point(value: Any, _: Any = None) -> tuple[int, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise problem(f"{show(value)} is not a point", "write [cycle, rate]")
    return _cycle(value[0], None), _rate(value[1], None)


class Load(Patterned):
    """A load: every node that works generates packets at random.

    On a network with failed nodes, packets of a pattern go among the nodes that work; a node whose pattern
    leads to a failed one sends nothing. Rates are per node that sends.

    With open sources it does so whatever the network does: packets that find their router busy wait in an
    unbounded queue, which takes no memory. Closed ones have few packets on their way (`outstanding`).

    Parameters
    ----------
    pattern, destinations, hotspot_fraction, hotspot_target
        As in `Collective`.
    weights : path or sequence of sequences of int, optional
        Instead of a pattern: how often packets of a node (row) go to every node (column), relative to each
        other; or a CSV file with that.
    classes : sequence of TrafficClass, optional
        Instead of a pattern: several classes of traffic. Each packet belongs to one of them.
    changes : sequence of TrafficChange, optional
        From which cycles on packets go elsewhere.
    rate : float, optional
        Flits per node and cycle, above 0 and at most 1.
    profile : sequence of (cycle, rate), optional
        Instead of a rate: how it changes over time. Between two points it is a straight line, before the
        first and behind the last it is constant; two points in one cycle are a step.
    process : {"bernoulli", "gap"}
        When a node starts a packet: in every cycle with probability ``rate / length``; or, when it is idle,
        with probability ``1 / g``, ``g = length (1 - rate) / rate``, being idle again ``length`` cycles later
        (scaling-effects-2007, Eq. 1).
    outstanding : int, optional
        Closed sources: a node starts no packet while this many of its packets are on their way, from their
        start to the ejection of their tail (1 to 256); without, sources are open.
    length : int
        Flits per packet, the header included.
    cycles : int
        Packets are generated in cycles 0 to `cycles` - 1.
    impulse : Impulse, optional
        Packets that every node generates at once in one of them.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Load("rand", rate=0.1, length=8, cycles=1000).rate
    0.1
    >>> fl.Load("bcmp", profile=[(0, 0.0), (10000, 0.2)], cycles=10000).points
    ((0, 0.0), (10000, 0.2))
    >>> fl.Load("rand", rate=0.5, cycles=1000, outstanding=4).outstanding
    4
    """

    ways: ClassVar[tuple[str, ...]] = ("pattern", "destinations", "weights", "classes")

    kind: Literal["load"] = "load"
    weights: (
        Annotated[
            tuple[tuple[int, ...], ...],
            Checked(matrix(whole_number(0, LIMITS["packets"], "")), _MATRIX),
        ]
        | None
    ) = None
    classes: Annotated[tuple[TrafficClass, ...], Field(min_length=1, max_length=64)] | None = None
    changes: Annotated[tuple[TrafficChange, ...], Field(max_length=1000)] = ()
    rate: Annotated[float, real(0, 1, "flits/node/cycle", above=True)] | None = None
    profile: (
        Annotated[tuple[tuple[int, float], ...], Checked(each(_point, 10_000, 1), listed(_POINT, 10_000, 1))]
        | None
    ) = None
    process: Annotated[str, one_of(*PROCESSES)] = "bernoulli"
    outstanding: Annotated[int, whole(1, LIMITS["outstanding"], "packets")] | None = None
    length: Length = 8
    cycles: Annotated[int, whole(1, LIMITS["start"], "cycles")]
    impulse: Impulse | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            pattern: PatternName | str | None = None,
            *,
            destinations: Column | None = None,
            hotspot_fraction: float | None = None,
            hotspot_target: int | None = None,
            weights: Column | None = None,
            classes: Sequence[TrafficClass] | None = None,
            changes: Sequence[TrafficChange] = (),
            rate: float | None = None,
            profile: Sequence[tuple[int, float]] | None = None,
            process: Literal["bernoulli", "gap"] | str = "bernoulli",
            outstanding: int | None = None,
            length: int = 8,
            cycles: int,
            impulse: Impulse | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _one_rate(self) -> Any:
        if (self.rate is None) == (self.profile is None):
            raise problem("give either rate or profile")
        if self.outstanding is not None and self.impulse is not None:
            raise problem("give either outstanding or impulse: closed sources wait, an impulse does not")
        return self

    @property
    def points(self) -> tuple[tuple[int, float], ...]:
        """The rate over time by its points: cycles, and flits per node and cycle."""
        return ((0, self.rate),) if self.rate is not None else self.profile or ()

    @property
    def mean_rate(self) -> float:
        """Mean rate over all cycles, without the impulse, in flits per node and cycle."""
        return float(self.offered(np.array([0, self.cycles]))[0]) / self.cycles

    def offered(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """Flits per node of the rate between each two edges, in cycles.

        Examples
        --------
        >>> import flitloom as fl, numpy as np
        >>> ramp = fl.Load("rand", profile=[(0, 0.0), (1000, 0.1)], cycles=2000)
        >>> [float(round(flits, 6)) for flits in ramp.offered(np.array([0, 500, 1000, 2000]))]
        [12.475, 37.475, 100.0]
        """
        cycle, rate = np.array(self.points, dtype=float).T
        # Flits up to the beginning of a cycle: every cycle counts with the rate that it has.
        ends = np.append(cycle[1:], np.inf)
        total = np.zeros(len(edges))
        at = np.minimum(edges, self.cycles).astype(float)
        total += np.minimum(at, cycle[0]) * rate[0]
        for begin, end, low, high in zip(cycle, ends, rate, np.append(rate[1:], rate[-1]), strict=True):
            inside = np.clip(at - begin, 0, end - begin)
            slope = (high - low) / (end - begin) if begin < end < np.inf else 0.0
            total += inside * low + slope * inside * (inside - 1) / 2 * (inside > 0)
        return np.diff(total)


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
        Checked(packet_table(_PACKET), in_file(listed(listed(_CYCLE, 5, 4), LISTED_PACKETS, 1))),
        Field(min_length=1),
    ]
    routes: Annotated[
        tuple[str, ...], Checked(each(text, LISTED_PACKETS), listed({"type": "string"}, LISTED_PACKETS))
    ] = ()
    channels: Annotated[
        tuple[int, ...],
        Checked(
            each(whole_number(0, LIMITS["channels"] - 1), LISTED_PACKETS),
            listed({"type": "integer", "minimum": 0, "maximum": LIMITS["channels"] - 1}, LISTED_PACKETS),
        ),
    ] = ()

    if TYPE_CHECKING:

        def __init__(
            self, table: Column, *, routes: Sequence[str] = (), channels: Sequence[int] = ()
        ) -> None: ...

    @model_validator(mode="after")
    def _one_route_per_packet(self) -> Any:
        for name, given in (("routes", self.routes), ("channels", self.channels)):
            if given and len(given) != len(self.table):
                raise problem(
                    f"{name} has {counted(len(given), 'entry')}; one per packet ({len(self.table)}) is needed"
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
        tuple[tuple[int, ...], ...],
        Checked(matrix(whole_number(0, LIMITS["packets"], "packets")), _MATRIX),
    ]
    length: Length = 8
    interval: Cycle = 0

    if TYPE_CHECKING:

        def __init__(self, matrix: Column, *, length: int = 8, interval: int = 0) -> None: ...

    @model_validator(mode="after")
    def _not_too_many(self) -> Any:
        if (packets := sum(map(sum, self.matrix))) > MATRIX_PACKETS:
            raise problem(
                f"matrix asks for {counted(packets, 'packet')}", f"at most {MATRIX_PACKETS} are supported"
            )
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
Kind = Collective | Load | Packets | TrafficMatrix | Messages
#: The same as a field of a spec.
Traffic = Annotated[Kind, Field(discriminator="kind")]
