"""Message graphs: whole applications as sends, receives and computations per rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flitloom import _core, pipelined
from flitloom import ranks as processes
from flitloom._core import LIMITS
from flitloom.errors import SpecError, show_file
from flitloom.formats import read_messages
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.reading import placed
from flitloom.simulation import MAX_THREADS
from flitloom.spec.base import require_whole
from flitloom.spec.switched import Switched
from flitloom.tables.by_source.tables import Tables
from flitloom.traces.goal import goal_text, parse_goal, without_comments
from flitloom.traces.operations import Ranks


class MessageGraph:
    """Operations of all ranks, as a GOAL text.

    Parameters
    ----------
    text : str
        ``num_ranks N``, then per rank ``rank r { ... }`` with lines like ``l1: send 8b to 3 tag 0``,
        ``l2: recv 8b from 0 tag 0``, ``l3: calc 100``, ``l2 requires l1`` (Group Operation Assembly
        Language, as LogGOPSim reads it).

    Examples
    --------
    >>> from flitloom.messages import MessageGraph
    >>> graph = MessageGraph.exchange(4, [(0, 2, 1024), (2, 0, 1024)])
    >>> graph.ranks
    4
    """

    def __init__(self, text: str) -> None:
        # The core knows no comments over several lines.
        self.text = without_comments(text)
        words = text.split(None, 2)
        if len(words) < 2 or words[0] != "num_ranks" or not words[1].isdecimal() or len(words[1]) > 7:
            raise SpecError.at("messages", "a GOAL text begins with num_ranks and a number")
        self.ranks = int(words[1])

    @classmethod
    def read(cls, file: str | Path) -> MessageGraph:
        """Read a GOAL file, text or binary, or a Chakra trace, of which one file (NAME.RANK.et) is named.

        Every format of `flitloom.formats` that holds messages is read.

        Raises
        ------
        SpecError
            It cannot be read.
        """
        found = read_messages(file)
        return placed(show_file(file), lambda: cls(found) if isinstance(found, str) else cls.of(found))

    @classmethod
    def of(cls, ranks: Ranks) -> MessageGraph:
        """The graph of the given operations of every rank.

        Examples
        --------
        >>> from flitloom.messages import MessageGraph
        >>> from flitloom.traces import Operation
        >>> MessageGraph.of([[Operation("send", 8, 1)], [Operation("recv", 8, 0)]]).ranks
        2
        """
        return cls(goal_text(ranks))

    def operations(self) -> Ranks:
        """What every rank does."""
        return parse_goal(self.text)

    @classmethod
    def exchange(cls, ranks: int, messages: Iterable[tuple[int, int, int]]) -> MessageGraph:
        """Messages of (source, destination, bytes), all ready at once; each rank sends its own in order."""
        return cls.steps(ranks, [(messages, 0)])

    @classmethod
    def steps(cls, ranks: int, phases: Iterable[tuple[Iterable[tuple[int, int, int]], int]]) -> MessageGraph:
        """Phases of messages, each after a computation of so many cycles.

        A rank computes, sends its messages one after the other, and goes on to the next phase when it
        has sent and received all of this one.
        """
        lines: list[list[str]] = [[] for _ in range(ranks)]
        numbers = [0] * ranks
        last: list[list[str]] = [[] for _ in range(ranks)]

        def add(rank: int, what: str, after: Sequence[str]) -> str:
            numbers[rank] += 1
            label = f"l{numbers[rank]}"
            lines[rank].append(f"{label}: {what}")
            lines[rank] += [f"{label} requires {other}" for other in after]
            return label

        for tag, (messages, cycles) in enumerate(phases):
            begun = [list(after) for after in last]
            if cycles:
                begun = [[add(rank, f"calc {cycles}", last[rank])] for rank in range(ranks)]
            ends: list[list[str]] = [list(after) if not cycles else after for after in begun]
            sent: dict[int, str] = {}
            fresh: list[list[str]] = [[] for _ in range(ranks)]
            for source, destination, size in messages:
                after = [sent[source]] if source in sent else begun[source]
                sent[source] = add(source, f"send {size}b to {destination} tag {tag}", after)
                fresh[source].append(sent[source])
                fresh[destination].append(
                    add(destination, f"recv {size}b from {source} tag {tag}", begun[destination])
                )
            last = [new or end for new, end in zip(fresh, ends, strict=True)]
        blocks = [
            f"rank {rank} {{\n" + "".join(f"{line}\n" for line in block) + "}"
            for rank, block in enumerate(lines)
        ]
        return cls(f"num_ranks {ranks}\n" + "\n".join(blocks) + "\n")


def simulate_messages(
    network: Network,
    graph: MessageGraph,
    *,
    tables: Tables | None = None,
    nodes: Sequence[int] | None = None,
    flit_bytes: int = 16,
    packet_payload: int = 16,
    calc_cycles: int = 1,
    cycle_limit: int | None = None,
    threads: int = 1,
    _on_ranks: bool = False,
) -> dict[str, Any]:
    """Simulate a message graph, cycle by cycle, until every operation is complete.

    Parameters
    ----------
    network : Network
        The network, with routers of one cycle or pipelined ones; tables with turns need
        ``flow_control="bubble"`` and buffers of two packets.
    graph : MessageGraph
        What the ranks do.
    tables : Tables, optional
        Routes of the packets; dimension order without.
    nodes : sequence of int, optional
        Node or host of every rank; rank r on that of its number without.
    flit_bytes : int
        Bytes of a flit.
    packet_payload : int
        Flits of a packet besides its header.
    calc_cycles : int
        Cycles of one unit of ``calc``.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    threads : int
        Threads, each with some rows of the network; the result does not depend on it.

    Returns
    -------
    dict
        ``duration`` in cycles and the other totals.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.messages import MessageGraph, simulate_messages
    >>> net = fl.Network(fl.Torus(4, 2), fl.Router(flow_control="bubble", buffer=64, channels=1))
    >>> graph = MessageGraph.exchange(8, [(0, 5, 1600)])
    >>> simulate_messages(net, graph, tables=fl.tables.make(fl.Torus(4, 2)))["flits_delivered"]
    107
    >>> pipelined = fl.Network(fl.Torus(4, 2), fl.Router(model="pipelined"))
    >>> simulate_messages(pipelined, graph)["flits_delivered"]
    107
    """
    if cycle_limit is not None:
        require_whole("cycle_limit", cycle_limit, 0, LIMITS["start"], "cycles")
    require_whole("threads", threads, 1, MAX_THREADS)
    _check_messages(network, graph, nodes, flit_bytes, packet_payload, calc_cycles)
    workload = _core.goal_workload(
        graph.text,
        flit_bytes,
        calc_cycles,
        packet_payload,
        list(range(graph.ranks)) if nodes is None else list(nodes),
    )
    if network.router.model == "pipelined":
        beside = {"tables": tables, "ranks": True if _on_ranks else None, "threads": threads}
        return pipelined.run(network, workload, {}, beside, cycle_limit)
    if isinstance(network.topology, Switched):
        raise SpecError.at("topology.network", "has switches with hosts", "give router.model = pipelined")
    if tables is not None:
        workload = tables.routed(network, workload)
    meeting = processes.Ranks(network) if _on_ranks else None
    return _core.simulate(network._core, workload, cycle_limit, threads=threads, ranks=meeting)


def _check_messages(
    network: Network,
    graph: MessageGraph,
    nodes: Sequence[int] | None,
    flit_bytes: int,
    packet_payload: int,
    calc_cycles: int,
) -> None:
    """Refuse numbers out of range, and ranks without a node.

    Raises
    ------
    SpecError
        One is.
    """
    if graph.ranks > network.nodes and nodes is None:
        raise SpecError.at(
            "messages", f"{counted(graph.ranks, 'rank')}, the network has {counted(network.nodes, 'node')}"
        )
    require_whole("flit_bytes", flit_bytes, 1, LIMITS["start"], "bytes")
    require_whole("packet_payload", packet_payload, 1, LIMITS["length"] - 1, "flits")
    require_whole("calc_cycles", calc_cycles, 0, LIMITS["start"], "cycles")
    for rank, node in enumerate(() if nodes is None else nodes):
        require_whole(f"nodes[{rank}]", node, 0, network.nodes - 1)
