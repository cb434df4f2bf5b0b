"""Traffic of an application: messages and computations that wait for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ValidationInfo, field_validator

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.any_traffic import AnyTraffic, Totals
from flitloom.spec.base import Checked, in_file, listed, problem, require_whole, show, whole
from flitloom.spec.tables import column, locate
from flitloom.spec.topology import NODE, node_number
from flitloom.traces.graph import MessageGraph

if TYPE_CHECKING:
    from flitloom.networks.network import Network

_GRAPH = {
    "anyOf": [
        {"type": "string", "description": "a GOAL or Chakra file"},
        {"type": "string", "description": "a GOAL text", "pattern": "^num_ranks "},
    ]
}


def _graph(value: Any, info: ValidationInfo) -> str:
    """A GOAL text: what is given, or what a file says."""
    if isinstance(value, MessageGraph):
        return value.text
    if not isinstance(value, str | Path):
        raise problem(f"{show(value)} is not a message graph", "give a file, or a GOAL text")
    try:
        if isinstance(value, str) and (value.startswith("num_ranks") or "\n" in value):
            return MessageGraph(value).text
        return MessageGraph.read(locate(value, info)).text
    except SpecError as error:
        raise problem(str(error)) from None


class Messages(AnyTraffic):
    """A message graph: what the ranks of an application send, receive and compute.

    An operation starts when those that it requires are complete. A send is complete when the router has
    taken its last packet, a receive in the cycle behind the ejection of its last flit.

    Parameters
    ----------
    graph : path, str or MessageGraph
        A GOAL file, text (.goal) or binary (.bin), one file of a Chakra trace (.et), or a GOAL text.
    nodes : sequence of int or path, optional
        Node or host of every rank, or a CSV file with one node per line; rank r is on node r without.
    flit_bytes : int
        Bytes of a flit.
    packet_payload : int
        Flits of a packet besides its header.
    calc_cycles : int
        Cycles of one unit of ``calc``, a microsecond of a Chakra trace.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.messages import MessageGraph
    >>> messages = fl.Messages(MessageGraph.exchange(8, [(0, 5, 1600)]))
    >>> messages.ranks
    8
    >>> fl.simulate(fl.Network(fl.Torus(4, 2)), messages).makespan
    109
    """

    noun: ClassVar[str] = "a message graph"
    is_listed: ClassVar[bool] = False
    names_network: ClassVar[bool] = True
    #: Packets have the number of the operation that sends them: 254 numbers in a record of links over time.
    drawn: ClassVar[Mapping[str, Any]] = {
        "slices": 1,
        "part": "operation",
        "busy": "busy, a colour per message, one from operation 254 on",
    }
    positional: ClassVar[str] = "graph"

    kind: Literal["messages"] = "messages"
    graph: Annotated[str, Checked(_graph, _GRAPH)]
    nodes: Annotated[tuple[int, ...], Checked(column("node", node_number), in_file(listed(NODE)))] | None = (
        None
    )
    flit_bytes: Annotated[int, whole(1, LIMITS["start"], "bytes")] = 16
    packet_payload: Annotated[int, whole(1, LIMITS["length"] - 1, "flits")] = 16
    calc_cycles: Annotated[int, whole(0, LIMITS["start"], "cycles")] = 1

    if TYPE_CHECKING:

        def __init__(
            self,
            graph: str | Path | MessageGraph,
            *,
            nodes: Sequence[int] | str | Path | None = None,
            flit_bytes: int = 16,
            packet_payload: int = 16,
            calc_cycles: int = 1,
        ) -> None: ...

    @field_validator("nodes")
    @classmethod
    def _one_per_rank(cls, nodes: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        graph = info.data.get("graph")
        if nodes is not None and graph is not None and len(nodes) != (ranks := MessageGraph(graph).ranks):
            raise problem(counted(len(nodes), "node"), f"one per rank ({ranks}) is needed")
        return nodes

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return MessageGraph(self.graph).ranks

    def describe(self, network: Network) -> str:
        """How many ranks there are."""
        return f"messages of {counted(self.ranks, 'rank')} on {network.topology}"

    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of the graph, whose ranks have nodes that there are."""
        del seed
        ranks, nodes = self.ranks, self.nodes
        if nodes is None and ranks > network.nodes:
            raise SpecError.at(
                "traffic.graph", f"{counted(ranks, 'rank')}, the network has {counted(network.nodes, 'node')}"
            )
        for rank, node in enumerate(nodes or ()):
            require_whole(f"traffic.nodes[{rank}]", node, 0, network.nodes - 1)
        return _core.goal_workload(
            self.graph,
            self.flit_bytes,
            self.calc_cycles,
            self.packet_payload,
            range(ranks) if nodes is None else nodes,
        )

    def count(self, nodes: int) -> int:
        """As many as there may be."""
        del nodes
        return LIMITS["packets"]

    @property
    def longest(self) -> int:
        """A whole packet."""
        return self.packet_payload + 1

    @property
    def common_length(self) -> int:
        """They differ: the last packet of a message is shorter."""
        return 0

    @classmethod
    def longest_said(cls, fields: Mapping[str, Any]) -> object:
        """The payload of a packet with its header."""
        payload = fields.get("packet_payload", 16)
        return payload + 1 if isinstance(payload, int) else payload

    def totals(self, run: Totals) -> dict[str, Any]:
        """Its ranks, and when the last of them is ready."""
        return {"ranks": self.ranks, "makespan": run.makespan}

    @classmethod
    def seated(cls, fields: dict[str, Any], nodes: Sequence[int], count: int) -> dict[str, Any]:
        """The ranks are on these nodes."""
        del count
        return {**fields, "nodes": list(nodes)}
