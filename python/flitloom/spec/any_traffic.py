"""What every kind of traffic answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from flitloom.errors import SpecError, require_kind
from flitloom.spec.base import SpecModel

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from flitloom import _core
    from flitloom.networks.network import Network
    from flitloom.spec.traffic.patterned import Patterned

#: What a placement of ranks goes with.
NOT_OF_RANKS = "goes with a message graph, --matrix, --packet-table, or no other traffic"


class Totals(Protocol):
    """What came of a run, as far as kinds of traffic have totals of their own."""

    @property
    def cycles(self) -> int:
        """Cycles simulated."""

    @property
    def makespan(self) -> int | None:
        """The cycle in which the last operation is complete."""

    @property
    def throughput(self) -> float:
        """Flits ejected per node and cycle."""


class AnyTraffic(SpecModel):
    """Traffic. It answers what a caller wants to know, so that nobody asks of what kind it is.

    A kind must say the first four; the others have answers of traffic whose packets are all known beforehand,
    have one length and go to nobody in particular.
    """

    place: ClassVar[str] = "traffic"

    #: What messages call it.
    noun: ClassVar[str] = "traffic"
    #: Whether every packet is known before the run, which then has a bound on its duration.
    is_listed: ClassVar[bool] = True
    #: Whether it may be sent at a rate instead.
    has_rate: ClassVar[bool] = False
    #: Whether what a run prints as JSON begins with its network.
    names_network: ClassVar[bool] = False
    #: What pages and charts of a run call otherwise: slices, their word ``part``, and a ``busy`` link.
    drawn: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def describe(self, network: Network) -> str:
        """What is sent where, in a line."""

    @abstractmethod
    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of it, checked against the network.

        Raises
        ------
        SpecError
            It does not fit the network.
        """

    @abstractmethod
    def count(self, nodes: int) -> int:
        """Packets that it has on a network of this number of nodes, or may be expected to have."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """Flits of the longest packet, the header included."""

    @classmethod
    def of(cls, traffic: object, needed: str = "", place: str = "traffic") -> Self:
        """Traffic as one of this kind; `needed` says what else is refused with.

        Raises
        ------
        SpecError
            It is of another kind.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Collective.of(fl.Packets([(0, 1, 8, 0)]), "stackings are of collectives")
        Traceback (most recent call last):
        flitloom.errors.SpecError: traffic: stackings are of collectives
        """
        if needed and not isinstance(traffic, cls):
            raise SpecError.at(place, needed)
        require_kind(place, traffic, cls, cls.noun.split()[-1], f"fl.{cls.__name__}(...)")
        assert isinstance(traffic, cls)
        return traffic

    @property
    def common_length(self) -> int:
        """Flits of every packet; 0 if they differ."""
        return self.longest

    @property
    def certified_length(self) -> int | None:
        """Flits of the longest packet, where they can be read from the spec alone."""
        return None

    @property
    def generated_until(self) -> int | None:
        """The cycle in which its last packets are generated, where a run goes by that."""
        return None

    @property
    def judged_cycles(self) -> int | None:
        """Cycles in which packets come at one rate, whatever the network does; none of anything else."""
        return None

    @property
    def has_closed_sources(self) -> bool:
        """Whether nodes wait for packets to arrive before they generate others."""
        return False

    def offered_flits(self, edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64] | None:
        """Flits that a number of nodes send between each two edges in cycles; none without a rate."""
        del edges, nodes
        return None

    def silent(self, network: Network, seed: int) -> tuple[int, ...]:
        """Nodes that generate nothing, where a rate is that of the others."""
        del network, seed
        return ()

    def left_working(self, network: Network, seed: int) -> tuple[AnyTraffic, str]:
        """What of it is sent where nodes have failed, and a text that says who sends it."""
        del network, seed
        return self, ""

    def patterns(self) -> tuple[tuple[int, Patterned], ...]:
        """The patterns by which packets go, and how many go by each, relative to each other."""
        return ()

    def pair_weights(self, network: Network, seed: int) -> NDArray[np.int64] | None:
        """How often packets of a node (row) go to every node (column), where that is said instead.

        Raises
        ------
        SpecError
            It does not fit the network, or is not the same all the time.
        """
        del network, seed
        return None

    def pair_flits(self, nodes: int) -> NDArray[np.int64] | None:
        """Source, destination and flits of all pairs that send, where they are listed.

        Raises
        ------
        SpecError
            It does not fit this number of nodes.
        """
        del nodes
        return None

    def totals(self, run: Totals) -> dict[str, Any]:
        """Totals of a run besides those of any traffic."""
        del run
        return {}

    @classmethod
    def longest_said(cls, fields: Mapping[str, Any]) -> object:
        """Flits of the longest packet as fields say that are not checked yet."""
        return fields.get("length", 8)

    @classmethod
    def seated(cls, fields: dict[str, Any], nodes: Sequence[int], count: int) -> dict[str, Any]:
        """Fields of traffic between ranks as traffic between nodes.

        Parameters
        ----------
        fields : dict
            What is sent between ranks.
        nodes : sequence of int
            The node of every rank.
        count : int
            Nodes of the network.

        Raises
        ------
        SpecError
            Ranks cannot send it, or it names ranks that do not exist.
        """
        del fields, nodes, count
        raise SpecError.at("--placement", NOT_OF_RANKS)


class PlannedTraffic(AnyTraffic):
    """Traffic that plans of packets are made of."""

    @abstractmethod
    def to_plan(self, network: Network, seed: int) -> tuple[list[tuple[int, int, int, int]], str]:
        """Its messages for a plan, and words for them: source, destination, flits of a slice, slices.

        Raises
        ------
        SpecError
            It does not fit the network.
        """
