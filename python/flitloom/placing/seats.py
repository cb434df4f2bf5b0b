"""Placements of ranks as a page shows them: who sits where, and the loads of channels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.networks.network import Network
from flitloom.placing.phases import Phases, in_phases
from flitloom.placing.placement import network_of, nodes_for, phases_of, traffic_of
from flitloom.placing.search import problem_of
from flitloom.placing.traffic import Traffic
from flitloom.spec import DIMENSION_NAMES
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.view.cables import Cables
from flitloom.view.pack import Packer
from flitloom.view.wires import grid_fields, grid_links, twist_facts, wiring

#: Places on an axis that are told apart by colours.
MOST_GROUPS = 20


@dataclass
class Seats:
    """Ranks on nodes for a page.

    Attributes
    ----------
    title : str
        What a page calls it.
    topology : AnyNetwork
        The network.
    nodes : array of int
        The node of every rank.
    loads : array of int
        Bytes per channel, as `Placement.loads` has them.
    facts : dict
        Numbers to show, by name.
    groups : array of int
        Per rank the number of its colour.
    group_names : sequence of str
        What the colours mean.
    """

    title: str
    topology: AnyNetwork
    nodes: NDArray[np.int64]
    loads: NDArray[np.int64]
    facts: dict[str, Any]
    groups: NDArray[np.int64]
    group_names: list[str]

    def all_facts(self) -> dict[str, Any]:
        """Totals by name."""
        return self.facts

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know; its columns go to `packer`."""
        fabric, order = _fabric(self.topology, packer)
        # Of switches with hosts the switches are drawn.
        drawn, places = self.nodes, self.topology.nodes
        subnet = self.topology.subnet
        if subnet is not None:
            drawn = np.array([host.switch for host in subnet.hosts])[self.nodes]
            places = len(subnet.switches)
        texts = [""] * places
        groups = np.zeros(places, dtype=np.int64)
        for rank in range(len(drawn) - 1, -1, -1):
            node = int(drawn[rank])
            texts[node] = f"{rank},{texts[node]}" if texts[node] else str(rank)
            groups[node] = 1 + self.groups[rank]
        return {
            "kind": "tables",
            "title": self.title,
            "unit": "bytes",
            "fabric": fabric,
            "texts": texts,
            "text_words": ["rank ", ""],
            "numbers": "ranks",
            "group_names": self.group_names,
            "facts": self.facts,
            "columns": {"load": packer.add(self.loads[order]), "groups": packer.add(groups)},
        }


def seats_of(document: dict[str, Any]) -> list[Seats]:
    """Ranks as they were placed, and in the order of the nodes, from the document of a placement.

    Where traffic is sent phase by phase, there is one of each phase, with its loads.

    Parameters
    ----------
    document : dict
        What `flitloom.placing.placement.read_placement` read.

    Raises
    ------
    SpecError
        Network, traffic or routing are not understood.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing.seats import seats_of
    >>> traffic = fl.placing.axes_traffic(fl.placing.parse_axes("data=4:ring:8"))
    >>> placed, before = seats_of(fl.placing.place(fl.Torus(2, 2), traffic).document())
    >>> placed.all_facts()["busiest channel"]
    '8 bytes'
    """
    topology = network_of(document)
    traffic = traffic_of(document)
    nodes = np.array(nodes_for(document, topology), dtype=np.int64)
    if len(nodes) != traffic.ranks:
        raise SpecError.at("placement", f"has {counted(len(nodes), 'rank')}, the traffic {traffic.ranks}")
    groups, names = _groups(traffic)
    shape: dict[str, Any] = {"topology": topology, "groups": groups, "group_names": names}
    phases = phases_of(document)
    parts = list(in_phases(traffic, phases))
    placed = _loads(document, topology, parts, nodes)
    facts: dict[str, Any] = _facts_of(placed) | {
        "ranks": f"{traffic.ranks} on {len(set(nodes.tolist()))} of {counted(topology.nodes, 'node')}",
    }
    facts |= twist_facts(topology)
    if isinstance(document.get("bound"), int) and document.get("minimised") == "channel":
        least = counted(document["bound"], "byte")
        where = "its busiest channels of all phases together" if phases else "its busiest channel"
        facts["bound"] = f"no placement has less than {least} on {where}"
    shown = _seats("placed", phases, nodes, placed, facts, shape)
    before = np.repeat(np.arange(topology.nodes), _per_node(document))[: traffic.ranks]
    told = document.get("row_major")
    if document.get("routing") == "do" and isinstance(told, dict):
        plain = _loads(document, topology, parts, before)
        # With nodes left out, row-major is another order than this.
        if sum(int(loads.max(initial=0)) for loads in plain) == told.get("busiest_channel"):
            shown += _seats("row-major", phases, before, plain, _facts_of(plain), shape)
    return shown


def _facts_of(parts: list[NDArray[np.int64]]) -> dict[str, Any]:
    """What loads say, those of phases added up."""
    busiest = [int(loads.max(initial=0)) for loads in parts]
    several = len(parts) > 1
    return {
        "busiest channels of all phases" if several else "busiest channel": counted(sum(busiest), "byte"),
        "channels at the maximum": sum(
            int((loads == most).sum()) for loads, most in zip(parts, busiest, strict=True)
        ),
        "hop-bytes": sum(int(loads.sum()) for loads in parts),
    }


def _seats(
    title: str,
    phases: Phases,
    nodes: NDArray[np.int64],
    parts: list[NDArray[np.int64]],
    facts: dict[str, Any],
    shape: dict[str, Any],
) -> list[Seats]:
    """A placement, for every phase with the loads of that one."""
    shown = []
    for number, loads in enumerate(parts):
        called, told = title, facts
        if phases:
            called = f"{title}, {'+'.join(phases[number])}"
            told = {"busiest channel": counted(int(loads.max(initial=0)), "byte"), **facts}
        shown.append(Seats(called, nodes=nodes, loads=loads, facts=told, **shape))
    return shown


def _fabric(topology: AnyNetwork, packer: Packer) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """The network as a page draws it, and the channel of every link of the drawing."""
    if topology.subnet is not None:
        made, order = Cables(topology.subnet).wiring()
        return made.head(packer), order
    ground = Ground(topology)
    if ground.is_torus:
        return grid_fields(topology), np.arange(topology.nodes * 2 * len(topology.sizes))
    made = wiring(ground)
    order = np.zeros(made.count, dtype=np.int64)
    directions = Network(topology).directions
    for node in range(topology.nodes):
        point = ground.point(node)
        for number, name in enumerate(directions):
            # As +x, or -2x along a full mesh.
            dimension, steps = DIMENSION_NAMES.index(name[-1]), int(f"{name[0]}{name[1:-1] or 1}")
            size, there = topology.sizes[dimension], point[dimension] + steps
            closes = topology.wraps[dimension] or (topology.full[dimension] and 2 * abs(steps) != size)
            if closes or 0 <= there < size:
                moved = *point[:dimension], there % size, *point[dimension + 1 :]
                order[made.links[node, ground.number(moved)]] = len(directions) * node + number
    return made.head(packer), order


def _per_node(document: dict[str, Any]) -> int:
    count = document.get("per_node")
    return count if type(count) is int and 1 <= count <= 1 << 16 else 1


def _loads(
    document: dict[str, Any], topology: AnyNetwork, parts: list[Traffic], nodes: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Bytes per channel with ranks on nodes: by dimension order, or by the routes in the document."""
    ways = document.get("ways")
    if ways is None:
        slots = np.repeat(np.arange(topology.nodes), max(_per_node(document), int(np.bincount(nodes).max())))
        problems = [problem_of(topology, part, slots.tolist()) for part in parts]
        return [problem.loads(nodes.astype(np.uint32))[0].astype(np.int64) for problem in problems]
    channels, route_of = _reader(topology)
    loads = np.zeros((len(parts), channels), dtype=np.int64)
    sent: dict[tuple[int, int], NDArray[np.int64]] = {}
    for number, part in enumerate(parts):
        columns = nodes[part.sources].tolist(), nodes[part.destinations].tolist(), part.bytes.tolist()
        for source, destination, amount in zip(*columns, strict=True):
            sent.setdefault((source, destination), np.zeros(len(parts), dtype=np.int64))[number] += amount
    for number, way in enumerate(ways):
        try:
            ends, taken = route_of(way)
            amounts = sent[ends]
            for channel in taken:
                loads[:, channel] += amounts
        except (KeyError, TypeError, IndexError):
            raise SpecError.at(f"ways.{number}", "is not a route of this network between two ranks") from None
    if document.get("host_cables") is True:
        # A channel from and to every host, which the page does not draw.
        from_, to = np.zeros((2, len(parts), topology.nodes), dtype=np.int64)
        for (source, destination), amounts in sent.items():
            if source != destination:
                from_[:, source] += amounts
                to[:, destination] += amounts
        loads = np.hstack([loads, from_, to])
    return list(loads)


def _reader(topology: AnyNetwork) -> tuple[int, Callable[[Any], tuple[tuple[int, int], list[int]]]]:
    """How many channels there are, and what finds the ends and the channels of a way as documents have it."""
    if topology.subnet is not None:
        count = 2 * len(topology.subnet.cables)
        known = {channel: channel for channel in range(count)}
        # A way of hosts is these two and the channels.
        return count, lambda way: ((way[0], way[1]), [known[channel] for channel in way[2:]])
    links = grid_links(Ground(topology))
    count = topology.nodes * 2 * len(topology.sizes)
    return count, lambda way: ((way[0], way[-1]), [link for pair in pairwise(way) for link in links[pair]])


def _groups(traffic: Traffic) -> tuple[NDArray[np.int64], list[str]]:
    """A colour per rank, its place on the last axis that is short enough, and what the colours mean."""
    ranks, stride = np.arange(traffic.ranks), 1
    groups, names = np.zeros(traffic.ranks, dtype=np.int64), ["rank"]
    for number, size in enumerate(traffic.mesh):
        if 1 < size <= MOST_GROUPS:
            groups = ranks // stride % size
            word = traffic.axes[number].name if traffic.axes else f"axis {number}"
            names = [f"{word} {at}" for at in range(size)]
        stride *= size
    return groups, names
