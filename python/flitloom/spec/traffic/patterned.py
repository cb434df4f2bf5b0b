"""Where packets go by a pattern, or by a list of destinations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import model_validator

from flitloom import _core
from flitloom._core import LISTS
from flitloom.errors import SpecError
from flitloom.spec.base import Checked, SpecModel, in_file, listed, one_of, problem, real
from flitloom.spec.tables import column
from flitloom.spec.topology import NODE, Node, node_number

if TYPE_CHECKING:
    from flitloom.networks.network import Network

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
#: Those whose destinations are drawn packet by packet.
DRAWN = ("rand", "hots")


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

    @property
    def called(self) -> str:
        """The pattern, or that there is none."""
        return self.pattern or "given destinations"

    def destinations_on(self, network: Network, seed: int) -> _core.Destinations:
        """The core's form of where the packets go, checked against the network."""
        if self.destinations is not None:
            return _core.Destinations.given(network.core, self.destinations)
        assert self.pattern is not None
        fraction = 0.1 if self.hotspot_fraction is None else self.hotspot_fraction
        return _core.Destinations.of_pattern(network.core, self.pattern, fraction, self.hotspot_target, seed)

    def require_working(self, network: Network) -> None:
        """Refuse given destinations that have failed; whose node has failed itself does not count.

        Raises
        ------
        SpecError
            A node that works is to send to one that has failed.
        """
        failed = set(network.topology.failed_nodes)
        wrong = [
            (node, end)
            for node, end in enumerate(self.destinations or ())
            if end in failed and node not in failed
        ]
        if wrong:
            (node, end), more = wrong[0], len(wrong) - 1
            others = "" if not more else f", and {more} more {'nodes do' if more > 1 else 'node does'} so"
            raise SpecError.at(
                f"{self.place}.destinations",
                f"node {node} sends to node {end}, which has failed{others}",
                "give destinations that work, or a pattern, whose packets go among the nodes that work",
            )
