"""The search for a placement."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.placing.cosine import applies, cosine_bound
from flitloom.placing.placement import Placement
from flitloom.placing.traffic import Traffic
from flitloom.spec import Topology

#: Channel loads that a search changes, in millions, unless told otherwise.
EFFORT = 150
#: Objectives.
OBJECTIVES = ("channel", "hops")


def place(
    topology: Topology,
    traffic: Traffic,
    *,
    minimise: str = "channel",
    nodes: Sequence[int] | None = None,
    per_node: int = 1,
    seed: int = 1,
    effort: int = EFFORT,
    progress: Callable[[int, int], None] | None = None,
) -> Placement:
    """Put every rank on a node, so that the fullest channel carries least, with a bound and its proof.

    Parameters
    ----------
    topology : Topology
        The network, routed by dimension order; without failed parts.
    traffic : Traffic
        Bytes between ranks.
    minimise : {"channel", "hops"}
        ``channel``: the fullest channel, then how many are as full, then hop-bytes. ``hops``: hop-bytes
        first.
    nodes : sequence of int, optional
        Nodes that ranks may have; all without.
    per_node : int
        Ranks that a node can have.
    seed : int
        Of everything random.
    effort : int
        Millions of channel loads that the search may change. The answer depends on it and on the seed, not on
        the machine.
    progress : callable, optional
        Told how many of how many parts are done.

    Raises
    ------
    SpecError
        Ranks do not fit, or the network has failed parts.

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
    slots = _slots(topology, traffic, nodes, per_node)
    if minimise not in OBJECTIVES:
        raise SpecError.at("minimise", f"is one of {', '.join(OBJECTIVES)}, not {minimise!r}")
    if not 0 <= seed < 1 << 64:
        raise SpecError.at("seed", f"{seed} is out of range", "it must be 0 to 2^64 - 1")
    if not 1 <= effort <= 10**9:
        raise SpecError.at("effort", f"{effort} is out of range", "it must be 1 to 10^9 million loads")
    problem = _core.PlacementProblem(
        list(topology.sizes),
        list(topology.wraps),
        topology.twist,
        traffic.ranks,
        traffic.sources,
        traffic.destinations,
        traffic.bytes,
        slots,
    )
    axes = traffic.axes if all(axis.kind != "pairs" for axis in traffic.axes) else ()
    channel, hops = problem.bounds([(axis.size, axis.kind, axis.bytes) for axis in axes])
    if minimise == "hops" and applies(topology, traffic, per_node):
        better = cosine_bound(topology, traffic, hops=True)
        hops = max(hops, better, key=lambda one: one[0]) if better is not None else hops
    bound, proof = hops if minimise == "hops" else channel
    found: dict[str, Any] = problem.search(
        list(traffic.mesh) or [traffic.ranks],
        minimise == "hops",
        bound,
        seed,
        effort * 1_000_000,
        None if progress is None else lambda part: progress(int(100 * part), 100),
    )
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
        effort=effort,
        seconds=time.perf_counter() - begin,
        loads=loads.astype(np.int64),
        row_major_loads=plain.astype(np.int64),
        interrupted=found["interrupted"],
    )


def _slots(topology: Topology, traffic: Traffic, nodes: Sequence[int] | None, per_node: int) -> list[int]:
    """The node of every place that a rank can have."""
    if topology.failed_nodes or topology.failed_links:
        raise SpecError.at(
            "topology",
            "has failed parts, and placements are made for dimension order on whole networks",
            "leave nodes out with --nodes",
        )
    if topology.twist and topology.nodes > 1024:
        raise SpecError.at("topology.twist", f"has {topology.nodes} nodes", "at most 1024 are placed on")
    if not 1 <= per_node <= 1024:
        raise SpecError.at("per_node", f"{per_node} is out of range", "it must be 1 to 1024")
    chosen = range(topology.nodes) if nodes is None else sorted(set(nodes))
    if len(chosen) * per_node < traffic.ranks:
        each = f" of {per_node} ranks" if per_node > 1 else ""
        raise SpecError.at(
            "ranks",
            f"{traffic.ranks} ranks do not fit on {len(chosen)} nodes{each}",
            "name more nodes, or let a node have more ranks (--per-node)",
        )
    return [node for node in chosen for _ in range(per_node)]
