"""Exact placements: a grid that must fit on a network cable by cable, or why it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from flitloom.errors import SpecError
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.placing.ground import Ground, grid_cables, neighbours_of
from flitloom.placing.layouts import fitted
from flitloom.placing.placement import Placement
from flitloom.placing.reasons import plain_reason
from flitloom.placing.search import problem_of
from flitloom.placing.traffic import pairs_traffic
from flitloom.placing.ways import channels_between
from flitloom.spec import Topology
from flitloom.spec.grids import torus_of

#: Steps of a search, and positions up to which there is one.
EFFORT, MOST_SEARCHED = 30_000, 512
#: Positions of a shape.
MOST_POSITIONS = 1 << 14
#: Missing parts of which every smaller set is tried.
MOST_RETURNED = 3


@explained
@dataclass(frozen=True)
class Fit:
    """An exact placement, or why there is none.

    Attributes
    ----------
    ground : Ground
        The network.
    shape : Topology
        What must fit.
    nodes : list of int or None
        The node of every position, the first dimension fastest; None if there is none.
    found_by : str
        ``layout`` or ``search``; empty if nothing was found.
    reason : dict
        If it does not fit: its ``kind``, ``text`` and what they are about. Of the kinds ``positions``,
        ``cables``, ``degrees``, ``parts``, ``colours``, ``odd_ring``, ``separated``, ``holders``,
        ``missing`` and ``search`` each proves that there is none; ``undecided`` says that the search ended
        before.
    """

    ground: Ground
    shape: Topology
    nodes: list[int] | None
    found_by: str
    reason: dict[str, Any]


def fit(shape: Topology | str, ground: Ground, effort: int = EFFORT) -> Fit:
    """Place a grid so that neighbours sit on neighbours.

    Parameters
    ----------
    shape : Topology or str
        The torus or mesh that must fit; a position per node.
    ground : Ground
        The network, as `ground_of` makes it.
    effort : int
        Steps of a search.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import fit, ground_of
    >>> fit("8x4", ground_of("4x4x2")).found_by
    'layout'
    >>> fit(fl.Torus(4, 4), ground_of(fl.Torus(4, 4, failed_links=[(0, 1)]))).reason["text"]
    '32 cables are needed, 31 are there'
    """
    shape = torus_of(shape, "shapes")
    if shape.nodes > MOST_POSITIONS or shape.damaged:
        raise SpecError.at(
            "--shape", f"is a {shape}", f"it has at most {MOST_POSITIONS} positions, and none has failed"
        )
    reason = plain_reason(shape, ground)
    if reason is not None:
        return Fit(ground, shape, None, "", reason)
    nearest = fitted(shape, ground)
    if nearest is not None and not nearest[1]:
        return Fit(ground, shape, nearest[0], "layout", {})
    answer, nodes = search(shape, ground, effort)
    if nodes is not None:
        return Fit(ground, shape, nodes, "search", {})
    if nearest is not None and answer == "none":
        return Fit(ground, shape, None, "", _missing(shape, ground, nearest[1], effort))
    if answer == "none":
        text = f"no {shape} is in the network: every way to place it was tried"
        return Fit(ground, shape, None, "", {"kind": "search", "text": text})
    text = (
        f"not decided: {counted(effort, 'step')} of the search found no {shape}, and no proof "
        "that there is none"
    )
    reason = {"kind": "undecided", "text": text}
    if nearest is not None:
        reason["parts"] = [ground.called(part) for part in nearest[1]]
        reason["text"] += f"; it would fit with {_listed(reason['parts'])} again"
    return Fit(ground, shape, None, "", reason)


def _missing(
    shape: Topology, ground: Ground, parts: Sequence[int | tuple[int, int]], effort: int
) -> dict[str, Any]:
    """The fewest missing parts with which the shape would fit, all smaller sets tried."""
    proven = True
    for count in range(1, min(len(parts), MOST_RETURNED + 1)):
        for some in combinations(ground.missing, count):
            more = ground.given_back(some)
            near = fitted(shape, more)
            answer = "found" if near is not None and not near[1] else search(shape, more, effort)[0]
            if answer == "found":
                return _return(ground, some, proven)
            proven &= answer == "none"
    return _return(ground, parts, proven and len(parts) <= MOST_RETURNED + 1)


def _return(ground: Ground, parts: Sequence[int | tuple[int, int]], fewest: bool) -> dict[str, Any]:
    names = [ground.called(part) for part in parts]
    one = len(names) == 1
    which = f"this {_kind(parts)}" if one else f"these {len(names)} {_kind(parts)}s"
    verb = "would have to come back" if fewest else "would be enough if they came back"
    if one and not fewest:
        verb = "would be enough if it came back"
    return {
        "kind": "missing",
        "text": f"{which} {verb}: {', '.join(names)}",
        "parts": names,
        "fewest": fewest,
    }


def _kind(parts: Sequence[int | tuple[int, int]]) -> str:
    kinds = {"node" if isinstance(part, int) else "cable" for part in parts}
    return kinds.pop() if len(kinds) == 1 else "part"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def search(shape: Topology, ground: Ground, effort: int = EFFORT) -> tuple[str, list[int] | None]:
    """Place positions one after the other, each next to those placed before.

    Returns
    -------
    tuple
        ``found`` and the nodes; ``none`` if there is no placement; ``open`` if the steps did not suffice.
    """
    if shape.nodes > MOST_SEARCHED:
        return "open", None
    around = neighbours_of(shape.nodes, grid_cables(shape.sizes, shape.wraps))
    beside = [sum(1 << node for node in peers) for peers in ground.neighbours]
    domains = [
        sum(1 << node for node in ground.nodes if beside[node].bit_count() >= len(peers)) for peers in around
    ]
    order = _order(around)
    # Whatever sits on a node can be moved to position 0 by a symmetry if all rings close; with a position on
    # every node, somebody sits on the node with the fewest cables.
    if all(wrap or size <= 2 for wrap, size in zip(shape.wraps, shape.sizes, strict=True)) and (
        len(ground.nodes) == shape.nodes
    ):
        rarest = min(ground.nodes, key=lambda node: (beside[node].bit_count(), node))
        domains[order[0]] &= 1 << rarest
    # What every later position must still have free: neighbours placed before it.
    before = [[peer for peer in around[at] if order.index(peer) < step] for step, at in enumerate(order)]
    later = [[peer for peer in around[at] if order.index(peer) > step] for step, at in enumerate(order)]
    nodes = [-1] * shape.nodes
    left = [0] * (shape.nodes + 1)
    left[0] = domains[order[0]]
    used, steps, depth = 0, 0, 0
    while depth >= 0:
        if left[depth] == 0:
            depth -= 1
            if depth >= 0:
                used &= ~(1 << nodes[order[depth]])
                nodes[order[depth]] = -1
            continue
        if steps >= effort:
            return "open", None
        steps += 1
        bit = left[depth] & -left[depth]
        left[depth] ^= bit
        at, node = order[depth], bit.bit_length() - 1
        nodes[at], used = node, used | bit
        if not _stays(at, later[depth], around, nodes, domains, beside, used):
            nodes[at], used = -1, used & ~bit
            continue
        depth += 1
        if depth == shape.nodes:
            return "found", nodes
        free = domains[order[depth]] & ~used
        for peer in before[depth]:
            free &= beside[nodes[peer]]
        left[depth] = free
    return "none", None


def _stays(
    at: int,
    later: Sequence[int],
    around: Sequence[Sequence[int]],
    nodes: Sequence[int],
    domains: Sequence[int],
    beside: Sequence[int],
    used: int,
) -> bool:
    """Whether the neighbours that are not placed yet have a node each, and enough free ones are around."""
    if (beside[nodes[at]] & ~used).bit_count() < len(later):
        return False
    for peer in later:
        free = domains[peer] & ~used
        for other in around[peer]:
            if nodes[other] >= 0:
                free &= beside[nodes[other]]
        if not free:
            return False
    return True


def _order(around: Sequence[Sequence[int]]) -> list[int]:
    """Positions, each with most neighbours before it."""
    placed = [0] * len(around)
    order: list[int] = []
    waiting = set(range(len(around)))
    while waiting:
        at = max(waiting, key=lambda position: (placed[position], -position))
        waiting.remove(at)
        order.append(at)
        for peer in around[at]:
            placed[peer] += 1
    return order


def as_placement(found: Fit, seconds: float) -> Placement:
    """An exact placement as one of traffic: a byte between neighbours, both ways, each over its cable.

    Raises
    ------
    SpecError
        There is none, or the network has no coordinates.
    """
    topology = found.ground.network
    if topology is None or found.nodes is None:
        raise SpecError.at("--out", "such a file needs a network with coordinates", "write a .hosts file")
    pairs = np.array(grid_cables(found.shape.sizes, found.shape.wraps), dtype=np.int64).reshape(-1, 2)
    rows = np.column_stack([np.concatenate([pairs, pairs[:, ::-1]]), np.ones(2 * len(pairs), dtype=np.int64)])
    traffic = pairs_traffic(found.shape.nodes, rows, mesh=found.shape.sizes)
    nodes = np.array(found.nodes, dtype=np.int64)
    here, there = nodes[traffic.sources], nodes[traffic.destinations]
    if found.ground.topology is not None:
        loads = np.zeros(topology.nodes * 2 * len(topology.sizes), dtype=np.int64)
        loads[channels_between(topology, here, there)] = 1
        routing, ways = "direct", tuple(map(list, np.column_stack([here, there]).tolist()))
    else:
        # By dimension order a neighbour is one hop away, over its cable.
        problem = problem_of(topology, traffic, range(topology.nodes))
        loads = problem.loads(nodes.astype(np.uint32))[0].astype(np.int64)
        routing, ways = "do", ()
    degrees = np.bincount(traffic.sources, minlength=1)
    total = len(traffic.bytes)
    return Placement(
        topology=topology,
        traffic=traffic,
        nodes=nodes,
        per_node=1,
        busiest_channel=min(1, total),
        channels_at_maximum=total if total else len(loads),
        busiest_port=int(degrees.max()),
        hop_bytes=total,
        bound=min(1, total),
        bound_proof={
            "kind": "message",
            "source": int(traffic.sources[0]),
            "destination": int(traffic.destinations[0]),
        }
        if total
        else {"kind": "nothing"},
        hop_bytes_bound=total,
        hop_bytes_proof={"kind": "sorted", "lengths": [1] * len(topology.sizes)},
        row_major={},
        minimised="channel",
        seed=1,
        effort=0,
        seconds=seconds,
        loads=loads,
        row_major_loads=loads,
        routing=routing,
        ways=ways,
    )
