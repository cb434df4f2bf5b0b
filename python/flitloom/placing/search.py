"""The search for a placement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show
from flitloom.ground.numerals import counted
from flitloom.networks.kinds import described
from flitloom.networks.network import Network
from flitloom.placing.cosine import applies, cosine_bound
from flitloom.placing.host_bounds import host_bounds
from flitloom.placing.hosts import HostWays, host_ways
from flitloom.placing.phases import Phase, Phases, in_phases, is_whole, read_phases, weighed
from flitloom.placing.placement import Placement, placeable
from flitloom.placing.running import FLIT_BYTES, duration, moves, packet_rows, port_bound, router_for
from flitloom.placing.screws import Score, best_screw
from flitloom.placing.sharing import sharing_bound
from flitloom.placing.slabs import slabs_bound
from flitloom.placing.traffic import Traffic
from flitloom.placing.trying import trying_bound
from flitloom.placing.ways import TableWays, hosts_for, tables_for
from flitloom.spec import Product
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.machine import Machine

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: Channel loads that a search changes unless told otherwise, in millions: for few ranks, and at most; and
#: the ranks from which on they grow in proportion.
EFFORT, MOST_EFFORT, FEW_RANKS = 150, 1500, 512
#: How much more of it there is for traffic without structure, to which layouts give little.
MORE_WITHOUT = 2
#: The same for few hop-bytes of traffic without structure: up to so many ranks, and the effort of 100 ranks,
#: which grows with their cube, and is the most.
DENSE_RANKS, DENSE_EFFORT = 256, 1600
#: Part of the effort for few hop-bytes after which a bound by cosines is looked for.
FIRST = 16
#: Objectives.
OBJECTIVES = ("channel", "hops", "time")
#: Placements that are simulated for the least time.
FINALISTS = 3


#: A bound and its proof.
Bounded = tuple[int, dict[str, Any]]
#: Routes that are not those of dimension order.
Ways = TableWays | HostWays


def place(
    topology: AnyNetwork | Product | str | Path,
    traffic: Traffic,
    *,
    minimise: str = "channel",
    phases: str | Sequence[Sequence[str]] | None = None,
    nodes: Sequence[int] | None = None,
    per_node: int = 1,
    seed: int = 1,
    effort: int | None = None,
    routing: str | Tables | None = None,
    flit_bytes: int = FLIT_BYTES,
    machine: Machine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Placement:
    """Put every rank on a node to minimise the load of the busiest channel, with a bound and its proof.

    Parameters
    ----------
    topology : AnyNetwork, Product, str or path
        The network, or a family with its numbers, as ``dragonfly(4,8,4)``, or a path of a file of switches,
        cables and hosts. Ranks are placed on the hosts of switches. Nodes that failed hold no rank.
    traffic : Traffic
        Bytes between ranks.
    minimise : {"channel", "hops", "time"}
        ``channel``: the busiest channel, then how many have its load, then hop-bytes. ``hops``: hop-bytes
        first. ``time``: of the three best found for ``channel``, the one whose messages, all sent at once,
        the simulator delivers first.
    phases : str or sequence of sequence of str, optional
        Names of axes, phase by phase, as ``tensor,data+pipeline``. What one phase sends is sent at the same
        time, one phase after the other, and the busiest channels of all phases are added up. All traffic is
        sent at the same time without.
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
        Bytes of a flit, for ``time``, without a machine.
    machine : Machine, optional
        What rounds and flits are, for ``time``.
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
    >>> found.busiest_channel, found.bound, found.bound_proof["kind"], found.optimal
    (4, 4, 'message', True)
    """
    begin, topology = time.perf_counter(), network_of(topology)
    usual = default_effort(traffic.ranks, bool(traffic.mesh), by_hops=minimise == "hops")
    effort = usual if effort is None else effort
    named = read_phases(phases, traffic.axes)
    asked = _Asked(topology, traffic, minimise, per_node, seed, effort, flit_bytes, named, machine)
    slots = _slots(topology, traffic, nodes, per_node)
    ways: Ways | None
    if topology.grid is None:
        name, of_hosts = hosts_for(topology, routing), host_ways(topology)
        ways = of_hosts.with_hosts() if per_node > 1 else of_hosts
    else:
        name, tables = tables_for(topology, routing)
        ways = None if tables is None else TableWays(tables)
    return _placed(_Task(asked, slots, ways), name, begin, progress)


def network_of(topology: AnyNetwork | str | Path) -> AnyNetwork:
    """The network that ranks are placed on, also by the name of a family or the path of a file.

    Examples
    --------
    >>> import flitloom as fl
    >>> print(network_of(fl.Product("full4 x ring3"))), print(network_of("slimfly(5)"))
    full4 x ring3
    slimfly(5) with 50 hosts
    (None, None)
    """
    return placeable(described(topology))


@dataclass(frozen=True)
class _Asked:
    """What is to be placed, and how."""

    topology: AnyNetwork
    traffic: Traffic
    minimise: str
    per_node: int
    seed: int
    effort: int
    flit: int
    phases: Phases = ()
    machine: Machine | None = None

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.flit if self.machine is None else self.machine.flit_bytes

    def parts(self) -> list[_Asked]:
        """The same of the traffic of each phase."""
        return [replace(self, traffic=part, phases=()) for part in in_phases(self.traffic, self.phases)]

    def check(self) -> None:
        """Refuse what is not an objective, or out of range."""
        if self.minimise not in OBJECTIVES:
            raise SpecError.at("minimise", f"is one of {', '.join(OBJECTIVES)}, not {self.minimise!r}")
        if not 0 <= self.seed < 1 << 64:
            raise SpecError.at("seed", f"{self.seed} is out of range", "it must be 0 to 2^64 - 1")
        if not 1 <= self.effort <= 10**9:
            raise SpecError.at(
                "effort", f"{self.effort} is out of range", "it must be 1 to 10^9 million loads"
            )


def problem_of(
    topology: AnyNetwork,
    traffic: Traffic,
    slots: Sequence[int],
    ways: Ways | None = None,
) -> _core.PlacementProblem:
    """Traffic that is to be placed, as the core takes it.

    Parameters
    ----------
    topology : AnyNetwork
        The network.
    traffic : Traffic
        Who sends what.
    slots : sequence of int
        The node of every place that a rank can have.
    ways : TableWays or HostWays, optional
        Channels of all routes, where they are not those of dimension order.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import stencil_traffic
    >>> problem = problem_of(fl.Torus(2, 2), stencil_traffic((2, 2)), range(4))
    >>> problem.loads(np.arange(4, dtype=np.uint32))[1]
    (1, 8, 8)
    """
    if ways is None:
        topology.require_grid("routes in dimension order are")
    return _core.PlacementProblem(topology.core(), topology.order, traffic, list(slots), ways)


@dataclass(frozen=True)
class _Task:
    """What is to be placed where, and over which routes."""

    asked: _Asked
    slots: list[int]
    ways: Ways | None

    @cached_property
    def problem(self) -> _core.PlacementProblem:
        """The same as the core takes it."""
        return problem_of(self.asked.topology, self.asked.traffic, self.slots, self.ways)

    @cached_property
    def parts(self) -> list[_Task]:
        """The same of the traffic of each phase."""
        return [replace(self, asked=part) for part in self.asked.parts()]

    @property
    def plain(self) -> NDArray[np.uint32]:
        """Ranks in the order of the nodes."""
        return np.array(self.slots[: self.asked.traffic.ranks], dtype=np.uint32)

    @property
    def has_cosines(self) -> bool:
        """Whether there may be a bound by cosines."""
        topology = self.asked.topology
        return topology.grid is not None and applies(topology, self.asked.traffic, self.asked.per_node)

    def bounds(self) -> tuple[Bounded, Bounded]:
        """Bounds of the busiest channel and of hop-bytes; those by cosines are looked for apart."""
        asked = self.asked
        topology, traffic = asked.topology, asked.traffic
        if topology.subnet is not None:
            plain = self.problem.loads(self.plain)[1][0]
            return host_bounds(topology.subnet, traffic, asked.per_node, plain)
        known = is_whole(traffic) and all(axis.kind != "pairs" for axis in traffic.axes)
        axes = traffic.axes if known else ()
        channel, hops = self.problem.bounds([(axis.size, axis.kind, axis.bytes) for axis in axes])
        if asked.per_node == 1:
            channel = _better(channel, sharing_bound(topology, traffic, self.ways is None))
            if self.ways is None:
                channel = _better(channel, slabs_bound(topology, traffic, channel[0]))
        return channel, hops

    def with_cosines(self, known: Bounded, hops: bool = False) -> Bounded:
        """The better one of a bound and that by cosines."""
        if not self.has_cosines:
            return known
        return _better(known, cosine_bound(self.asked.topology, self.asked.traffic, hops, known[0]))

    def with_trials(self, known: Bounded, reached: int) -> Bounded:
        """The better one of a bound and that by all placements, for what a placement has reached."""
        asked = self.asked
        if self.ways is not None or asked.per_node > 1:
            return known
        return _better(known, trying_bound(asked.topology, asked.traffic, known[0], reached))

    def screw(self) -> tuple[NDArray[np.uint32], Score] | None:
        """The best placement that winds round as a thread, where there are such placements."""
        asked = self.asked
        whole = asked.per_node == 1 and asked.traffic.ranks == asked.topology.nodes
        if asked.minimise != "channel" or self.ways is not None or not whole:
            return None
        return best_screw(self.problem, asked.topology, asked.traffic.mesh)

    def search(self, bound: int, effort: int, tell: Callable[[float], None] | None) -> dict[str, Any]:
        """What the core finds, changing this many channel loads."""
        mesh = list(self.asked.traffic.mesh) or [self.asked.traffic.ranks]
        by_hops = self.asked.minimise == "hops"
        found: dict[str, Any] = self.problem.search(mesh, by_hops, bound, self.asked.seed, effort, tell)
        return found


def _placed(task: _Task, name: str, begin: float, progress: Callable[[int, int], None] | None) -> Placement:
    """The best placement that is found, with its bounds."""
    asked, ways = task.asked, task.ways
    asked.check()
    topology, traffic = asked.topology, asked.traffic
    if ways is not None:
        _require_routes(topology, ways, task.slots)
    if asked.minimise == "time":
        # What cannot be run is refused before the search.
        packet_rows(traffic, task.plain, asked.flit_bytes)
    search = _searched_in_phases if asked.phases else _searched
    found, hops, (bound, proof), runs = search(task, progress)
    loads, (busiest, count, hop_bytes), port = task.problem.loads(found["nodes"])
    plain, (plain_busiest, *_, plain_hops), _ = task.problem.loads(task.plain)
    phases = _phases(task, found)
    used, besides = (
        ((), ()) if ways is None else _used_ways(topology, ways, traffic, [found["nodes"], task.plain])
    )
    if phases:
        busiest = sum(phase.busiest_channel for phase in phases)
        count = sum(phase.channels_at_maximum for phase in phases)
        port = sum(phase.busiest_port for phase in phases)
        plain_busiest = sum(phase.row_major for phase in phases)
    return Placement(
        topology=topology,
        traffic=traffic,
        nodes=found["nodes"].astype(np.int64),
        per_node=asked.per_node,
        busiest_channel=busiest,
        channels_at_maximum=count,
        busiest_port=port,
        hop_bytes=hop_bytes,
        bound=bound,
        bound_proof=proof,
        hop_bytes_bound=hops[0],
        hop_bytes_proof=hops[1],
        row_major={"busiest_channel": plain_busiest, "hop_bytes": plain_hops},
        minimised=asked.minimise,
        seed=asked.seed,
        effort=asked.effort,
        seconds=time.perf_counter() - begin,
        loads=loads.astype(np.int64),
        row_major_loads=plain.astype(np.int64),
        interrupted=found["interrupted"],
        gained=found["gained"],
        spent=found["spent"],
        routing=name,
        ways=used,
        row_major_ways=besides,
        allowed=_allowed(topology, task.slots),
        runs=tuple(runs),
        phases=phases,
    )


#: What was found, bounds of hop-bytes and of what is minimised, and the runs of finalists.
Searched = tuple[dict[str, Any], Bounded, Bounded, list[dict[str, int]]]


def _searched(task: _Task, progress: Callable[[int, int], None] | None) -> Searched:
    """What the search found where all traffic is sent at the same time."""
    asked = task.asked
    channel, hops = task.bounds()
    screw = task.screw()
    # If a screw is optimal, little else is looked for.
    effort = 1_000_000 * (1 if screw is not None and screw[1][0] <= channel[0] else asked.effort)
    if asked.minimise == "hops":
        found, hops = _searched_by_hops(task, hops, effort, progress)
    else:
        found = task.search(channel[0], effort, _telling(progress, 0.0, 1.0))
    bounded = hops if asked.minimise == "hops" else channel
    runs: list[dict[str, int]] = []
    if screw is not None and screw[1] < found["score"]:
        found["nodes"], found["score"] = screw
    above = found["score"][0] > bounded[0] and not found["interrupted"]
    if asked.minimise == "channel" and above:
        bounded = task.with_trials(task.with_cosines(channel), found["score"][0])
    if asked.minimise == "time":
        found["nodes"], runs = _fastest(task, found["finalists"])
        bounded = _port_bound(task)
    return found, hops, bounded, runs


def _searched_by_hops(
    task: _Task, known: Bounded, effort: int, progress: Callable[[int, int], None] | None
) -> tuple[dict[str, Any], Bounded]:
    """What the search found for few hop-bytes, with the bound; that by cosines only where it is needed."""
    parts = FIRST if task.has_cosines else 1
    first = task.search(known[0], effort // parts, _telling(progress, 0.0, 1 / parts))
    if first["score"][2] <= known[0] or first["interrupted"] or not task.has_cosines:
        return first, known
    known = task.with_cosines(known, hops=True)
    if first["score"][2] <= known[0]:
        return first, known
    found = task.search(known[0], effort - first["spent"], _telling(progress, 1 / parts, 1.0))
    found["spent"] += first["spent"]
    if first["score"][2] < found["score"][2]:
        found["nodes"], found["score"] = first["nodes"], first["score"]
    return found, known


def _searched_in_phases(task: _Task, progress: Callable[[int, int], None] | None) -> Searched:
    """What the search found for the sum over phases of the busiest channel of each."""
    asked = task.asked
    bounds = [part.bounds()[0] for part in task.parts]
    if asked.minimise == "hops":
        found, hops, bounded, runs = _searched(replace(task, asked=replace(asked, phases=())), progress)
        return found | {"bounds": bounds}, hops, bounded, runs
    joint, hops = task.bounds()
    least = max(joint[0], sum(value for value, _ in bounds))
    found = _found_in_phases(task, [joint[0], *(value for value, _ in bounds)], least, progress)
    if asked.minimise == "time":
        found["nodes"], runs = _fastest(task, found["finalists"])
        return found | {"bounds": bounds}, hops, _port_bound(task), runs
    if found["score"][0] > least and not found["interrupted"]:
        reached = [part.problem.loads(found["nodes"])[1][0] for part in task.parts]
        bounds = [
            part.with_cosines(bound) if value > bound[0] else bound
            for part, bound, value in zip(task.parts, bounds, reached, strict=True)
        ]
    together: Bounded = (sum(value for value, _ in bounds), {"kind": "phases"})
    return found | {"bounds": bounds}, hops, _better(together, joint), []


def _found_in_phases(
    task: _Task, bounds: list[int], least: int, progress: Callable[[int, int], None] | None
) -> dict[str, Any]:
    """The best of what the core's search finds for all traffic together and for each phase.

    `bounds` are those of all traffic together and of each phase; the search ends at `least`.
    """
    asked, parts = task.asked, task.parts
    alone = [replace(part, asked=replace(part.asked, minimise="channel")) for part in (task, *parts)]
    tried = list(zip(alone, bounds, strict=True))
    weights = [max(bounds[1:]) // max(bound, 1) for bound in bounds[1:]]
    if max(weights) > 1:
        # Bytes in proportion to what each phase cannot be below, so that none is lost beside others.
        balanced = weighed([part.asked.traffic for part in parts], [min(each, 64) for each in weights])
        tried.insert(1, (replace(alone[0], asked=replace(alone[0].asked, traffic=balanced)), 0))

    def score(nodes: NDArray[np.uint32]) -> Score:
        rows = [part.problem.loads(nodes)[1] for part in parts]
        return sum(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows)

    known = [(score(task.plain), task.plain)]
    if (screw := alone[0].screw()) is not None:
        known.append((score(screw[0]), screw[0]))
    spent, interrupted, gained, effort = 0, False, 0.0, asked.effort * 1_000_000
    share = effort // len(tried)
    for number, (each, bound) in enumerate(tried):
        best = min(one for one, _ in known)
        if best[0] <= least or interrupted:
            break
        found = each.search(bound, share, _telling(progress, number / len(tried), (number + 1) / len(tried)))
        known += [(score(nodes), nodes) for _, nodes in found["finalists"]]
        if min(one for one, _ in known) < best:
            gained = (spent + found["gained"] * share) / effort
        spent, interrupted = spent + found["spent"], found["interrupted"]
    known.sort(key=lambda each: each[0])
    return {
        "nodes": known[0][1],
        "score": known[0][0],
        "finalists": known,
        "spent": spent,
        "gained": gained,
        "interrupted": interrupted,
    }


def _telling(
    progress: Callable[[int, int], None] | None, begin: float, end: float
) -> Callable[[float], None] | None:
    """Tells how far all is while a part of it continues."""
    return None if progress is None else lambda part: progress(int(100 * (begin + (end - begin) * part)), 100)


def _phases(task: _Task, found: dict[str, Any]) -> tuple[Phase, ...]:
    """What was found, phase by phase; nothing where all traffic is sent at the same time."""
    if not task.asked.phases:
        return ()
    phases = []
    for part, names, (bound, proof) in zip(task.parts, task.asked.phases, found["bounds"], strict=True):
        loads, (busiest, count, _), port = part.problem.loads(found["nodes"])
        plain = part.problem.loads(task.plain)[1][0]
        phases.append(Phase(names, busiest, count, port, plain, bound, proof, loads.astype(np.int64)))
    return tuple(phases)


def _port_bound(task: _Task) -> Bounded:
    """Cycles that ports need for what one rank sends, or receives, phase after phase."""
    if task.asked.per_node > 1:
        return 0, {"kind": "nothing"}
    bounds = [port_bound(part.asked.traffic, task.asked.flit_bytes) for part in task.parts]
    if not task.asked.phases:
        return bounds[0]
    return sum(value for value, _ in bounds), {"kind": "phases", "parts": [proof for _, proof in bounds]}


def _better(
    one: tuple[int, dict[str, Any]], other: tuple[int, dict[str, Any]] | None
) -> tuple[int, dict[str, Any]]:
    return other if other is not None and other[0] > one[0] else one


def default_effort(ranks: int, structured: bool = True, by_hops: bool = False) -> int:
    """Millions of channel loads that a search changes unless told otherwise.

    Traffic without axes or a grid is annealed for longer; for few hop-bytes of up to 256 ranks by their cube.

    Examples
    --------
    >>> default_effort(64), default_effort(4096), default_effort(100_000)
    (150, 1200, 1500)
    >>> default_effort(64, structured=False)
    300
    >>> [default_effort(ranks, structured=False, by_hops=True) for ranks in (30, 100)]
    [43, 1600]
    """
    if by_hops and not structured and ranks <= DENSE_RANKS:
        return min(max(1, DENSE_EFFORT * ranks**3 // 10**6), DENSE_EFFORT)
    effort = max(EFFORT, EFFORT * ranks // FEW_RANKS)
    return min(effort if structured else MORE_WITHOUT * effort, MOST_EFFORT)


def _slots(topology: AnyNetwork, traffic: Traffic, nodes: Sequence[int] | None, per_node: int) -> list[int]:
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
        if beyond := [node for node in chosen if not 0 <= node < topology.nodes]:
            raise SpecError.at(
                "nodes", f"there is no node {beyond[0]}", f"nodes are 0 to {topology.nodes - 1}"
            )
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


def _require_routes(topology: AnyNetwork, ways: Ways, slots: list[int]) -> None:
    """Refuse tables that do not serve every pair of nodes that ranks may have."""
    nodes = np.unique(slots)
    missing = ways.missing_between(nodes)
    if missing.any():
        lost, names = nodes[np.argwhere(missing)[0]].tolist(), topology.node_names
        source, destination = (f"host {show(names[node])}" if names else f"node {node}" for node in lost)
        raise SpecError.at(
            "routing",
            f"the tables have no route from {source} to {destination}",
            "leave one of them out with --nodes",
        )


def _allowed(topology: AnyNetwork, slots: list[int]) -> tuple[int, ...]:
    """The nodes that ranks may have, where these are not all that work."""
    nodes = sorted(set(slots))
    return () if len(nodes) == topology.nodes - len(set(topology.failed_nodes)) else tuple(nodes)


def _used_ways(
    topology: AnyNetwork, ways: Ways, traffic: Traffic, nodes: Sequence[NDArray[np.uint32]]
) -> tuple[tuple[list[int], ...], ...]:
    """Of every placement the routes of all pairs that exchange something, except for those before."""
    found, known = [], np.empty(0, dtype=np.int64)
    for each in nodes:
        where = each.astype(np.int64)
        pairs = np.unique(where[traffic.sources] * topology.nodes + where[traffic.destinations])
        pairs = np.setdiff1d(pairs, known, assume_unique=True)
        known = np.concatenate([known, pairs])
        sources, destinations = np.divmod(pairs, topology.nodes)
        apart = sources != destinations
        found.append(ways.used(sources[apart], destinations[apart]))
    return tuple(found)


def _fastest(
    task: _Task, finalists: list[tuple[Score, NDArray[np.uint32]]]
) -> tuple[NDArray[np.uint32], list[dict[str, int]]]:
    """Of the best placements the one that is delivered first, and how long each took."""
    topology, ways = task.asked.topology, task.ways
    tables = ways.tables if isinstance(ways, TableWays) else None
    network = Network(topology, router_for(tables, task.asked.machine, topology.grid is None))
    sent = [part.asked.traffic for part in task.parts]
    runs = []
    best: tuple[int, NDArray[np.uint32]] | None = None
    for (busiest, _, hops), nodes in finalists[:FINALISTS]:
        moved = [part for part in sent if moves(part, nodes)] or sent[:1]
        cycles = sum(duration(network, part, nodes, tables, task.asked.flit_bytes) for part in moved)
        runs.append({"busiest_channel": busiest, "hop_bytes": hops, "duration": cycles})
        if best is None or cycles < best[0]:
            best = (cycles, nodes)
    assert best is not None
    return best[1], runs
