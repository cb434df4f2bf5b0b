"""The search for a placement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.placing.cosine import applies, cosine_bound
from flitloom.placing.host_bounds import host_bounds
from flitloom.placing.hosts import HostWays, host_ways, order_of
from flitloom.placing.placement import Placement
from flitloom.placing.running import FLIT_BYTES, duration, packet_rows, port_bound, router_for
from flitloom.placing.screws import best_screw
from flitloom.placing.sharing import sharing_bound
from flitloom.placing.traffic import Traffic
from flitloom.placing.ways import TableWays, hosts_for, tables_for
from flitloom.spec import Product, Router, Topology
from flitloom.spec.factored import factored
from flitloom.spec.families import is_family
from flitloom.spec.switched import Switched

if TYPE_CHECKING:
    from flitloom.routing import Tables

#: Channel loads that a search changes unless told otherwise, in millions: for few ranks, and at most; and
#: the ranks from which on they grow in proportion.
EFFORT, MOST_EFFORT, FEW_RANKS = 150, 1500, 512
#: The same for few hop-bytes of traffic without structure: up to so many ranks, and the effort of 100 ranks,
#: which grows with their cube, and is the most.
DENSE_RANKS, DENSE_EFFORT = 256, 1600
#: Objectives.
OBJECTIVES = ("channel", "hops", "time")
#: Placements that are simulated for the least time.
FINALISTS = 3


#: A bound and its proof.
Bounded = tuple[int, dict[str, Any]]
#: Routes that are not those of dimension order.
Ways = TableWays | HostWays


def place(
    topology: Topology | Product | str | Path,
    traffic: Traffic,
    *,
    minimise: str = "channel",
    nodes: Sequence[int] | None = None,
    per_node: int = 1,
    seed: int = 1,
    effort: int | None = None,
    routing: str | Tables | None = None,
    flit_bytes: int = FLIT_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> Placement:
    """Put every rank on a node, so that the fullest channel carries least, with a bound and its proof.

    Parameters
    ----------
    topology : Topology, Product, str or path
        The network, or a family with its numbers, as ``dragonfly(4,8,4)``, or a path of a file of switches,
        cables and hosts. Ranks are placed on the hosts of switches. Nodes that failed hold no rank.
    traffic : Traffic
        Bytes between ranks.
    minimise : {"channel", "hops", "time"}
        ``channel``: the fullest channel, then how many are as full, then hop-bytes. ``hops``: hop-bytes
        first. ``time``: of the three best found for ``channel``, the one whose messages, all sent at once,
        the simulator delivers first.
    nodes : sequence of int, optional
        Nodes that ranks may have; all without.
    per_node : int
        Ranks that a node can have.
    seed : int
        Of everything random.
    effort : int, optional
        Millions of channel loads that the search may change; `default_effort` without. The answer depends
        on it and on the seed, not on the machine.
    routing : str or Tables, optional
        ``do`` (dimension order), ``balanced`` (tables of `flitloom.tables.make` for equal traffic of all
        pairs), or tables. Dimension order without, or balanced tables if parts have failed, and between
        hosts of switches.
    flit_bytes : int
        Bytes of a flit, for ``time``.
    progress : callable, optional
        Told how many of how many parts are done.

    Raises
    ------
    SpecError
        Ranks do not fit, or the routing does not serve the network.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import axes_traffic, parse_axes, place
    >>> traffic = axes_traffic(parse_axes("tensor=4:a2a:1,data=4:ring:4"))
    >>> found = place(fl.Torus(4, 4), traffic, effort=1)
    >>> found.fullest_channel, found.bound, found.bound_proof["kind"], found.optimal
    (4, 4, 'message', True)
    """
    begin = time.perf_counter()
    topology = network_of(topology)
    if effort is None:
        effort = default_effort(traffic.ranks, by_hops=minimise == "hops" and not traffic.mesh)
    asked = _Asked(topology, traffic, minimise, per_node, seed, effort, flit_bytes)
    slots = _slots(topology, traffic, nodes, per_node)
    ways: Ways | None
    if isinstance(topology, Switched):
        name, ways = hosts_for(topology, routing), host_ways(topology)
    else:
        name, tables = tables_for(topology, routing)
        ways = None if tables is None else TableWays(tables)
    return _placed(asked, slots, name, ways, begin, progress)


def network_of(topology: Topology | Product | str | Path) -> Topology:
    """The network that ranks are placed on, also by the name of a family or the path of a file.

    Examples
    --------
    >>> import flitloom as fl
    >>> print(network_of(fl.Product("full4 x ring3"))), print(network_of("slimfly(5)"))
    full4 x ring3
    slimfly(5) with 50 hosts
    (None, None)
    """
    if isinstance(topology, Product):
        return factored(topology)
    if isinstance(topology, Topology):
        return topology
    if isinstance(topology, str) and is_family(topology):
        return Switched(network=topology)
    if isinstance(topology, str | Path):
        return Switched(graph=str(topology))
    raise SpecError.at(
        "topology",
        f"a {type(topology).__name__} has no hosts",
        "give a torus, a mesh, a product, the name of a family or a file of switches",
    )


@dataclass(frozen=True)
class _Asked:
    """What is to be placed, and how."""

    topology: Topology
    traffic: Traffic
    minimise: str
    per_node: int
    seed: int
    effort: int
    flit_bytes: int

    def check(self) -> None:
        """Refuse what is no objective, or out of range."""
        if self.minimise not in OBJECTIVES:
            raise SpecError.at("minimise", f"is one of {', '.join(OBJECTIVES)}, not {self.minimise!r}")
        if not 0 <= self.seed < 1 << 64:
            raise SpecError.at("seed", f"{self.seed} is out of range", "it must be 0 to 2^64 - 1")
        if not 1 <= self.effort <= 10**9:
            raise SpecError.at(
                "effort", f"{self.effort} is out of range", "it must be 1 to 10^9 million loads"
            )


def problem_of(
    topology: Topology,
    traffic: Traffic,
    slots: Sequence[int],
    ways: tuple[list[int], list[int]] | HostWays | None = None,
) -> _core.PlacementProblem:
    """Traffic that is to be placed, as the core takes it.

    Parameters
    ----------
    topology : Topology
        The network.
    traffic : Traffic
        Who sends what.
    slots : sequence of int
        The node of every place that a rank can have.
    ways : tuple of list, or HostWays, optional
        Channels of all routes, where they are not those of dimension order.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import stencil_traffic
    >>> problem = problem_of(fl.Torus(2, 2), stencil_traffic((2, 2)), range(4))
    >>> problem.loads(np.arange(4, dtype=np.uint32))[1]
    (1, 8, 8)
    """
    columns = traffic.sources, traffic.destinations, traffic.bytes
    if isinstance(ways, HostWays):
        assert isinstance(topology, Switched)
        return _core.PlacementProblem.between_hosts(
            order_of(topology),
            traffic.ranks,
            *columns,
            list(slots),
            ways.rows.tolist(),
            ways.starts,
            ways.channels,
            ways.numbers,
        )
    return _core.PlacementProblem(topology, traffic.ranks, *columns, list(slots), ways)


def _placed(
    asked: _Asked,
    slots: list[int],
    name: str,
    ways: Ways | None,
    begin: float,
    progress: Callable[[int, int], None] | None,
) -> Placement:
    """The best placement that is found on slots, with its bounds."""
    asked.check()
    topology, traffic, per_node, flit_bytes = asked.topology, asked.traffic, asked.per_node, asked.flit_bytes
    minimise, seed = asked.minimise, asked.seed
    if ways is not None:
        _require_routes(topology, ways, slots)
    problem = problem_of(topology, traffic, slots, None if ways is None else ways.core)
    if minimise == "time":
        # What cannot be run is refused before the search.
        packet_rows(traffic, slots[: traffic.ranks], flit_bytes)
    found, hops, (bound, proof), runs = _searched(problem, asked, slots, ways, progress)
    loads, (fullest, count, hop_bytes), port = problem.loads(found["nodes"])
    plain = problem.loads(np.array(slots[: traffic.ranks], dtype=np.uint32))[0]
    return Placement(
        topology=topology,
        traffic=traffic,
        nodes=found["nodes"].astype(np.int64),
        per_node=per_node,
        fullest_channel=fullest,
        channels_at_fullest=count,
        fullest_port=port,
        hop_bytes=hop_bytes,
        bound=bound,
        bound_proof=proof,
        hop_bytes_bound=hops[0],
        hop_bytes_proof=hops[1],
        row_major={"fullest_channel": found["row_major"][0], "hop_bytes": found["row_major"][2]},
        minimised=minimise,
        seed=seed,
        effort=asked.effort,
        seconds=time.perf_counter() - begin,
        loads=loads.astype(np.int64),
        row_major_loads=plain.astype(np.int64),
        interrupted=found["interrupted"],
        gained=found["gained"],
        spent=found["spent"],
        routing=name,
        ways=() if ways is None else _used_ways(topology, ways, traffic, found["nodes"]),
        runs=tuple(runs),
    )


def _bounded(
    problem: _core.PlacementProblem, asked: _Asked, slots: list[int], by_order: bool
) -> tuple[Bounded, Bounded]:
    """Bounds of the fullest channel and of hop-bytes; those by cosines are looked for apart."""
    topology, traffic = asked.topology, asked.traffic
    if isinstance(topology, Switched):
        plain = problem.loads(np.array(slots[: traffic.ranks], dtype=np.uint32))[1][0]
        return host_bounds(topology.subnet, traffic, asked.per_node, plain)
    axes = traffic.axes if all(axis.kind != "pairs" for axis in traffic.axes) else ()
    channel, hops = problem.bounds([(axis.size, axis.kind, axis.bytes) for axis in axes])
    if asked.per_node == 1:
        channel = _better(channel, sharing_bound(topology, traffic, by_order))
    return channel, hops


def _searched(
    problem: _core.PlacementProblem,
    asked: _Asked,
    slots: list[int],
    ways: Ways | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Any], Bounded, Bounded, list[dict[str, int]]]:
    """What the search found, the bound on hop-bytes, that of the objective, and the runs of finalists."""
    topology, traffic, minimise = asked.topology, asked.traffic, asked.minimise
    channel, hops = _bounded(problem, asked, slots, ways is None)
    has_cosines = not isinstance(topology, Switched) and applies(topology, traffic, asked.per_node)
    if minimise == "hops" and has_cosines:
        hops = _better(hops, cosine_bound(topology, traffic, hops=True, known=hops[0]))
    bounded = hops if minimise == "hops" else channel
    screw = None
    if minimise == "channel" and ways is None and asked.per_node == 1 and traffic.ranks == topology.nodes:
        screw = best_screw(problem, topology, traffic.mesh)
    # If a screw is optimal, little else is looked for.
    effort = 1 if screw is not None and screw[1][0] <= bounded[0] else asked.effort
    found: dict[str, Any] = problem.search(
        list(traffic.mesh) or [traffic.ranks],
        minimise == "hops",
        bounded[0],
        asked.seed,
        effort * 1_000_000,
        None if progress is None else lambda part: progress(int(100 * part), 100),
    )
    runs: list[dict[str, int]] = []
    if screw is not None and screw[1] < found["score"]:
        found["nodes"], found["score"] = screw
    above = found["score"][0] > bounded[0] and not found["interrupted"]
    if minimise == "channel" and has_cosines and above:
        bounded = _better(channel, cosine_bound(topology, traffic, hops=False, known=bounded[0]))
    if minimise == "time":
        found["nodes"], runs = _fastest(topology, traffic, found["finalists"], ways, asked.flit_bytes)
        bounded = port_bound(traffic, asked.flit_bytes) if asked.per_node == 1 else (0, {"kind": "nothing"})
    return found, hops, bounded, runs


def _better(
    one: tuple[int, dict[str, Any]], other: tuple[int, dict[str, Any]] | None
) -> tuple[int, dict[str, Any]]:
    return other if other is not None and other[0] > one[0] else one


def default_effort(ranks: int, by_hops: bool = False) -> int:
    """Millions of channel loads that a search changes unless told otherwise.

    With `by_hops` for few hop-bytes of traffic without structure, up to 256 ranks.

    Examples
    --------
    >>> default_effort(64), default_effort(4096), default_effort(100_000)
    (150, 1200, 1500)
    >>> default_effort(30, by_hops=True), default_effort(100, by_hops=True)
    (43, 1600)
    """
    if by_hops and ranks <= DENSE_RANKS:
        return min(max(1, DENSE_EFFORT * ranks**3 // 10**6), DENSE_EFFORT)
    return min(max(EFFORT, EFFORT * ranks // FEW_RANKS), MOST_EFFORT)


def _slots(topology: Topology, traffic: Traffic, nodes: Sequence[int] | None, per_node: int) -> list[int]:
    """The node of every place that a rank can have."""
    if topology.twist and topology.nodes > 1024:
        raise SpecError.at(
            "topology.twist", f"has {counted(topology.nodes, 'node')}", "at most 1024 are placed on"
        )
    if not 1 <= per_node <= 1024:
        raise SpecError.at("per_node", f"{per_node} is out of range", "it must be 1 to 1024")
    failed = set(topology.failed_nodes)
    chosen = [node for node in range(topology.nodes) if node not in failed]
    if nodes is not None:
        chosen = sorted(set(nodes))
        if gone := [node for node in chosen if node in failed]:
            raise SpecError.at("nodes", f"node {gone[0]} has failed", "leave it out")
    if len(chosen) * per_node < traffic.ranks:
        each = f" of {counted(per_node, 'rank')}" if per_node > 1 else ""
        raise SpecError.at(
            "ranks",
            f"{traffic.ranks} ranks do not fit on {counted(len(chosen), 'node')}{each}",
            "name more nodes, or let a node have more ranks (--per-node)",
        )
    return [node for node in chosen for _ in range(per_node)]


def _require_routes(topology: Topology, ways: Ways, slots: list[int]) -> None:
    """Refuse tables that do not serve every pair of nodes that ranks may have."""
    nodes = np.unique(slots)
    missing = ways.missing_between(nodes)
    if missing.any():
        source, destination = (int(nodes[at]) for at in np.argwhere(missing)[0])
        word = "host" if isinstance(topology, Switched) else "node"
        raise SpecError.at(
            "routing",
            f"the tables have no route from {word} {source} to {word} {destination}",
            "leave one of them out with --nodes",
        )


def _used_ways(
    topology: Topology, ways: Ways, traffic: Traffic, nodes: NDArray[np.uint32]
) -> tuple[list[int], ...]:
    """The way of every pair of nodes that exchanges something."""
    where = nodes.astype(np.int64)
    pairs = np.unique(where[traffic.sources] * topology.nodes + where[traffic.destinations])
    sources, destinations = np.divmod(pairs, topology.nodes)
    apart = sources != destinations
    return ways.used(sources[apart], destinations[apart])


def _fastest(
    topology: Topology,
    traffic: Traffic,
    finalists: list[tuple[tuple[int, int, int], NDArray[np.uint32]]],
    ways: Ways | None,
    flit_bytes: int,
) -> tuple[NDArray[np.uint32], list[dict[str, int]]]:
    """Of the best placements the one that is delivered first, and how long each took."""
    tables = ways.tables if isinstance(ways, TableWays) else None
    on_switches = isinstance(topology, Switched)
    network = Network(topology, Router(model="pipelined") if on_switches else router_for(tables))
    runs = []
    best: tuple[int, NDArray[np.uint32]] | None = None
    for (fullest, _, hops), nodes in finalists[:FINALISTS]:
        cycles = duration(network, traffic, nodes, tables, flit_bytes)
        runs.append({"fullest_channel": fullest, "hop_bytes": hops, "duration": cycles})
        if best is None or cycles < best[0]:
            best = (cycles, nodes)
    assert best is not None
    return best[1], runs
