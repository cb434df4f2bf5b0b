"""A load: nodes generate packets at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flitloom import _core
from flitloom._core import LIMITS, LISTS
from flitloom.errors import SpecError
from flitloom.spec.any_traffic import AnyTraffic, Totals
from flitloom.spec.base import (
    Checked,
    each,
    listed,
    one_of,
    problem,
    real,
    real_number,
    show,
    whole,
    whole_number,
)
from flitloom.spec.tables import matrix
from flitloom.spec.traffic.fields import MATRIX, Column, Cycle, Length, cycle_number
from flitloom.spec.traffic.patterned import DRAWN, Patterned, PatternName

if TYPE_CHECKING:
    from flitloom.networks.network import Network


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
    return cycle_number(value[0], None), _rate(value[1], None)


class Load(Patterned, AnyTraffic):
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

    noun: ClassVar[str] = "a random load"
    is_listed: ClassVar[bool] = False
    has_rate: ClassVar[bool] = True

    kind: Literal["load"] = "load"
    weights: (
        Annotated[
            tuple[tuple[int, ...], ...],
            Checked(matrix(whole_number(0, LIMITS["packets"], "")), MATRIX),
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

    def describe(self, network: Network) -> str:
        """Pattern, rate and length."""
        words = f"{self.mean_rate:g} flits per node and cycle in packets of {self.length}"
        if self.changes:
            words += f", going elsewhere from cycle {min(change.at for change in self.changes)} on"
        return f"{self.called} on {network.topology}, {words}"

    def destinations_on(self, network: Network, seed: int) -> _core.Destinations:
        """Where the packets go: by weights, classes, a pattern or a list."""
        if self.weights is not None:
            return _core.Destinations.weighted(network.core, self.weights, seed)
        if self.classes:
            classes = [(part.weight, part.destinations_on(network, seed)) for part in self.classes]
            return _core.Destinations.classes(classes, seed)
        return super().destinations_on(network, seed)

    @property
    def _parts(self) -> list[Patterned]:
        """Everything that says where packets go, but its weights."""
        own = [] if self.weights is not None or self.classes else [self]
        return [*own, *(self.classes or ()), *self.changes, *([] if self.impulse is None else [self.impulse])]

    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of it; packets go among the nodes that work."""
        failed = bool(network.topology.failed_nodes)

        def destinations(part: Patterned) -> _core.Destinations:
            to = part.destinations_on(network, seed)
            return to.among_working(network.core) if failed else to

        for part in self._parts if failed else ():
            part.require_working(network)
        changes = [(change.at, destinations(change)) for change in self.changes]
        impulse = None if self.impulse is None else destinations(self.impulse)
        made = _core.Workload.load(destinations(self), self, changes, impulse, seed)
        return made.without(self.silent(network, seed)) if failed else made

    def count(self, nodes: int) -> int:
        """As many as its rate makes in the mean."""
        return int(nodes * self.cycles * self.mean_rate / self.length)

    @property
    def longest(self) -> int:
        """All packets have one length."""
        return self.length

    @property
    def certified_length(self) -> int | None:
        """As the spec says, where it has one pattern."""
        return self.length if self.classes is None and not self.changes else None

    @property
    def generated_until(self) -> int:
        """The last cycle of the load."""
        return self.cycles

    @property
    def judged_cycles(self) -> int | None:
        """Those of open sources at one rate, which always go to the same nodes."""
        changing = self.impulse is not None or self.changes or self.has_closed_sources
        return None if self.rate is None or changing else self.cycles

    @property
    def has_closed_sources(self) -> bool:
        """Whether nodes have few packets on their way."""
        return self.outstanding is not None

    def offered_flits(self, edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
        """Flits of the rate, and of the impulse."""
        flits = self.offered(edges) * nodes
        if self.impulse is not None and self.impulse.at < edges[-1]:
            at = np.searchsorted(edges, self.impulse.at, side="right") - 1
            flits[at] += self.impulse.packets * self.length * nodes
        return flits

    def silent(self, network: Network, seed: int) -> tuple[int, ...]:
        """Failed nodes, and those whose pattern goes to a failed one.

        Patterns are all that the load has: of its classes, of its changes and of its impulse.

        Examples
        --------
        >>> import flitloom as fl
        >>> network = fl.Network(fl.Torus(4, failed_nodes=[1]))
        >>> fl.Load("next", rate=0.1, cycles=9).silent(network, 1)
        (0, 1)
        >>> fl.Load("rand", rate=0.1, cycles=9).silent(network, 1)
        (1,)
        """
        failed = set(network.topology.failed_nodes)
        silent = set(failed)
        for part in self._parts if failed else ():
            if part.pattern not in (None, *DRAWN):
                to = part.destinations_on(network, seed)
                silent |= {node for node in range(network.nodes) if to.of(node, 0) in failed}
        return tuple(sorted(silent))

    def left_working(self, network: Network, seed: int) -> tuple[AnyTraffic, str]:
        """Itself, among how many nodes packets go, and how many of these send nothing.

        Examples
        --------
        >>> import flitloom as fl
        >>> load = fl.Load("next", rate=0.1, cycles=9)
        >>> load.left_working(fl.Network(fl.Torus(4, failed_nodes=[1])), 1)[1]
        'packets go among the 3 nodes that work; 1 of them sends nothing, since its destination has failed'
        """
        failed = len(network.topology.failed_nodes)
        if not failed:
            return self, ""
        text = f"packets go among the {network.nodes - failed} nodes that work"
        match len(self.silent(network, seed)) - failed:
            case 0:
                pass
            case 1:
                text += "; 1 of them sends nothing, since its destination has failed"
            case left:
                text += f"; {left} of them send nothing, since their destinations have failed"
        return self, text

    def patterns(self) -> tuple[tuple[int, Patterned], ...]:
        """Those of its classes, or its own."""
        return tuple((part.weight, part) for part in self.classes) if self.classes else ((1, self),)

    def pair_weights(self, network: Network, seed: int) -> NDArray[np.int64] | None:
        """Its weights, if it has some."""
        if self.changes:
            raise SpecError.at(
                "traffic.changes", "every pattern has a separate bound", "ask for one after the other"
            )
        if self.weights is None:
            return None
        # Checked by the core.
        self.destinations_on(network, seed)
        return np.array(self.weights, dtype=np.int64)

    def totals(self, run: Totals) -> dict[str, Any]:
        """What it had accepted, if it ran at all."""
        return {"throughput": run.throughput} if run.cycles else {}
