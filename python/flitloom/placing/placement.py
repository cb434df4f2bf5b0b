"""A placement: the node of every rank, loads of channels and ports, and what no placement can beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, require_kind, show_file
from flitloom.fabric.model import Subnet
from flitloom.ground.fixed import explained
from flitloom.ground.limits import COLLECTIVE_BYTES
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.provenance import version
from flitloom.ground.reading import read_json
from flitloom.networks.kinds import network_of_fields, run_by
from flitloom.placing.axes import Axis
from flitloom.placing.formats import Seating, write
from flitloom.placing.hosts import host_names
from flitloom.placing.phases import Phase, Phases, read_phases
from flitloom.placing.traffic import Traffic, axes_traffic, pairs_traffic
from flitloom.spec.any_network import AnyNetwork

#: What the files say they are.
FORMAT = "flitloom placement 1"
#: Part of the effort: a search whose placement became better after that may find more.
LATE = 0.7


def topology_of(fields: dict[str, Any]) -> AnyNetwork:
    """The network that a placement's file names: a torus, a mesh, a product, or switches with hosts.

    >>> str(topology_of({"kind": "product", "network": "full4 x ring3"}))
    'full4 x ring3'
    >>> str(topology_of({"network": "dragonfly(3,1,2)"}))
    'dragonfly(3,1,2) with 24 hosts'
    """
    return placeable(network_of_fields(fields))


def network_of(document: dict[str, Any]) -> AnyNetwork:
    """The network of a placement's document: switches with hosts where it says how these are wired."""
    if "wiring" in document:
        return run_by(network_of_fields(document["topology"]), "pipelined")
    return topology_of(document["topology"])


def placeable(topology: AnyNetwork) -> AnyNetwork:
    """The network as ranks are placed on it.

    Raises
    ------
    SpecError
        None are: it is a graph or has a circulant as a factor.
    """
    advice = "a torus, a mesh, a product, the name of a family or a file of switches"
    require_kind("topology", topology, AnyNetwork, "network", advice)
    topology.require_no_circulants("placements are")
    return run_by(topology, "pipelined" if topology.grid is None else None)


def written_topology(topology: AnyNetwork) -> dict[str, Any]:
    """The same as a file has it.

    >>> import flitloom as fl
    >>> written_topology(topology_of(fl.Product("full4 x ring3").model_dump()))["kind"]
    'product'
    """
    without = {"content"} if topology.grid is None else set()
    return topology.model_dump(mode="json", exclude=without, exclude_defaults=bool(without))


def written_wiring(subnet: Subnet, failed: Sequence[int] = ()) -> dict[str, Any]:
    """Switches, hosts, cables, and which hosts have failed, as a file has them.

    >>> written_wiring(topology_of({"network": "circulant(3;1)"}).subnet)["hosts"]
    [0, 1, 2]
    """
    return {
        "switches": [switch.name for switch in subnet.switches],
        "hosts": [host.switch for host in subnet.hosts],
        "cables": subnet.cable_ends().tolist(),
        **({"failed": list(failed)} if failed else {}),
    }


@explained
@dataclass(frozen=True)
class Placement:
    """Where each rank sits.

    Attributes
    ----------
    topology : AnyNetwork
        The network.
    traffic : Traffic
        Bytes between ranks.
    nodes : array of int
        The node of every rank.
    per_node : int
        Ranks that a node can have.
    busiest_channel : int
        Bytes on the busiest channel, one direction of a link.
    channels_at_maximum : int
        How many channels have that load.
    busiest_port : int
        The most bytes that a node sends to others, or receives.
    hop_bytes : int
        Sum over pairs of bytes times hops.
    bound : int
        No placement has less: of what was minimised.
    bound_proof : dict
        Why: its ``kind`` and what it is about.
    hop_bytes_bound : int
        No placement has fewer hop-bytes.
    hop_bytes_proof : dict
        Why.
    row_major : dict
        ``busiest_channel`` and ``hop_bytes`` of ranks in the order of the nodes.
    minimised : str
        ``channel``, ``hops`` or ``time``.
    seed, effort : int
        What the search was given.
    seconds : float
        How long it took, bounds included.
    loads : array of int
        Bytes per channel: node times directions plus direction (+x, -x, +y, ...). Between switches channel
        ``2 * i`` runs along cable ``i`` from its first end, ``2 * i + 1`` back. Where hosts have several
        ranks, a channel from every host and one to every host follow.
    row_major_loads : array of int
        The same of ranks in the order of the nodes.
    interrupted : bool
        Whether the search was stopped before its end.
    gained : float
        The part of the effort after which what was minimised became no less.
    spent : int
        Channel loads that the search changed: at most the effort, which is in millions of them.
    routing : str
        Which routes count: ``do`` (dimension order), ``balanced`` or ``tables``.
    ways : tuple of list of int
        With tables, the nodes of every way that is used; of hosts of switches these two and the channels.
    row_major_ways : tuple of list of int
        The same of what ranks in the order of the nodes use besides.
    allowed : tuple of int
        Nodes that ranks may have, where these are not all.
    runs : tuple of dict
        For ``time``: ``busiest_channel``, ``hop_bytes`` and ``duration`` (cycles) of the placements that
        were simulated.
    phases : tuple of Phase
        Traffic that is sent phase by phase; empty if all is sent at the same time. Then `busiest_channel`,
        `channels_at_maximum`, `busiest_port` and the same of `row_major` are sums over phases, and `loads`
        are those of all phases together.
    """

    topology: AnyNetwork
    traffic: Traffic
    nodes: NDArray[np.int64]
    per_node: int
    busiest_channel: int
    channels_at_maximum: int
    busiest_port: int
    hop_bytes: int
    bound: int
    bound_proof: dict[str, Any]
    hop_bytes_bound: int
    hop_bytes_proof: dict[str, Any]
    row_major: dict[str, int]
    minimised: str
    seed: int
    effort: int
    seconds: float
    loads: NDArray[np.int64] = field(repr=False)
    row_major_loads: NDArray[np.int64] = field(repr=False)
    interrupted: bool = False
    gained: float = 0.0
    spent: int = 0
    routing: str = "do"
    ways: tuple[list[int], ...] = field(default=(), repr=False)
    row_major_ways: tuple[list[int], ...] = field(default=(), repr=False)
    allowed: tuple[int, ...] = field(default=(), repr=False)
    runs: tuple[dict[str, int], ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether the bound proves that nothing is better in what was minimised."""
        return self.bound >= self.reached

    @property
    def more_may_help(self) -> bool:
        """Whether the search still found better placements when its effort was nearly spent."""
        return not self.optimal and self.gained > LATE

    @property
    def duration(self) -> int | None:
        """Cycles that the simulator needed, if time was minimised."""
        return min((run["duration"] for run in self.runs), default=None)

    @property
    def reached(self) -> int:
        """What was minimised: bytes on the busiest channel, hop-bytes, or cycles."""
        if self.duration is not None:
            return self.duration
        return self.hop_bytes if self.minimised == "hops" else self.busiest_channel

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        same = (self.topology, self.traffic, self.per_node) == (other.topology, other.traffic, other.per_node)
        routes = (self.routing, self.ways) == (other.routing, other.ways)
        named = [phase.axes for phase in self.phases] == [phase.axes for phase in other.phases]
        return same and routes and named and np.array_equal(self.nodes, other.nodes)

    def __hash__(self) -> int:
        return hash((str(self.topology), self.traffic, self.nodes.tobytes()))

    def __repr__(self) -> str:
        optimal = "optimal" if self.optimal else f"bound {self.bound}"
        where = f"{counted(self.traffic.ranks, 'rank')} on {self.topology}"
        return f"Placement({where}, minimised {self.minimised}: {self.reached}, {optimal})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        names = ("busiest_channel", "busiest_port", "hop_bytes", "minimised", "bound", "optimal", "row_major")
        facts = self.facts()
        title = f"{counted(self.traffic.ranks, 'rank')} on {self.topology}"
        return fields_html(title, {name: facts[name] for name in names})

    def coordinates(self) -> NDArray[np.int64]:
        """Coordinates of every rank's node, one row per rank, x first; of a host its number alone."""
        return np.stack(np.unravel_index(self.nodes, self.topology.dimensions, order="F"), axis=1)

    def facts(self) -> dict[str, Any]:
        """What ``flitloom place --json`` prints."""
        runs = {} if self.duration is None else {"duration": self.duration, "runs": list(self.runs)}
        phases = {"phases": [phase.facts() for phase in self.phases]} if self.phases else {}
        return {
            "placement": self.nodes.tolist(),
            "busiest_channel": self.busiest_channel,
            "channels_at_maximum": self.channels_at_maximum,
            "busiest_port": self.busiest_port,
            "hop_bytes": self.hop_bytes,
            "bound": self.bound,
            "bound_proof": self.bound_proof["kind"],
            "optimal": self.optimal,
            "seconds": round(self.seconds, 6),
            "minimised": self.minimised,
            "certificate": self.bound_proof,
            "hop_bytes_bound": self.hop_bytes_bound,
            "hop_bytes_certificate": self.hop_bytes_proof,
            "row_major": self.row_major,
            "network": str(self.topology),
            "routing": self.routing,
            "seed": self.seed,
            "effort": self.effort,
            "spent": self.spent,
            "more_may_help": self.more_may_help,
            **runs,
            **phases,
        }

    def document(self) -> dict[str, Any]:
        """What a file of it says: the facts, the network and the traffic."""
        subnet = self.topology.subnet
        traffic: dict[str, Any] = {"ranks": self.traffic.ranks, "digest": self.traffic.digest()}
        if self.traffic.axes:
            traffic["axes"] = [vars(axis) for axis in self.traffic.axes]
        else:
            columns = (self.traffic.sources, self.traffic.destinations, self.traffic.bytes)
            traffic["pairs"] = np.column_stack([each.astype(np.int64) for each in columns]).tolist()
            traffic["mesh"] = list(self.traffic.mesh)
        return {
            "format": FORMAT,
            "version": version(),
            "topology": written_topology(self.topology),
            **({} if subnet is None else {"wiring": written_wiring(subnet, self.topology.failed_nodes)}),
            **(
                {"ways": list(self.ways), "row_major_ways": list(self.row_major_ways)}
                if self.routing != "do"
                else {}
            ),
            **({"allowed": list(self.allowed)} if self.allowed else {}),
            **({"host_cables": True} if subnet is not None and self.per_node > 1 else {}),
            "per_node": self.per_node,
            "traffic": traffic,
            **self.facts(),
            "coordinates": self.coordinates().tolist(),
        }

    def hosts(self) -> list[str]:
        """What the nodes are called: as the network names its hosts, or node0, node1, ..."""
        if self.topology.subnet is not None:
            return host_names(self.topology.subnet)
        return [f"node{node}" for node in range(self.topology.nodes)]

    def save(self, file: str | Path, hosts: list[str] | None = None) -> None:
        """Write it, in the format of the file's ending; see `flitloom.placing.formats`.

        Raises
        ------
        SpecError
            The ending is none of those known, or the file cannot be written.
        """
        seating = Seating(
            self.topology,
            self.traffic,
            self.nodes,
            self.coordinates(),
            self.per_node,
            self.hosts() if hosts is None else hosts,
            self.document,
        )
        write(seating, file)


#: Names in older files, and those of today.
RENAMED = {
    "fullest_channel": "busiest_channel",
    "fullest_port": "busiest_port",
    "channels_at_fullest": "channels_at_maximum",
}


def _of_today(document: dict[str, Any]) -> dict[str, Any]:
    """A document, with its row-major order and its phases, under the names of today."""

    def named(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        return {RENAMED.get(name, name): value for name, value in part.items()}

    found = {RENAMED.get(name, name): value for name, value in document.items()}
    if "row_major" in found:
        found["row_major"] = named(found["row_major"])
    if isinstance(found.get("phases"), list):
        found["phases"] = [named(phase) for phase in found["phases"]]
    return found


def read_placement(file: str | Path) -> dict[str, Any]:
    """The document of a placement's file (.json), with the parts that every reader needs checked.

    Raises
    ------
    SpecError
        It is none, or ranks sit where there is no node.
    """
    name = show_file(Path(file))
    document = read_json(file, COLLECTIVE_BYTES)
    if document.get("format") != FORMAT:
        raise SpecError(f"{name}: is not a placement; flitloom place ... -o p.json writes one")
    if not isinstance(document.get("topology"), dict):
        raise SpecError(f"{name}: topology: is missing; it names the network")
    wiring = document.get("wiring")
    if isinstance(wiring, dict) and isinstance(wiring.get("hosts"), list):
        # A file of cables may be elsewhere by now.
        places = len(wiring["hosts"])
    else:
        places = network_of(document).nodes
    nodes = document.get("placement")
    if not isinstance(nodes, list) or not nodes:
        raise SpecError(f"{name}: placement: is missing; it is the list of nodes by rank")
    for rank, node in enumerate(nodes):
        if type(node) is not int or not 0 <= node < places:
            raise SpecError(
                f"{name}: placement: rank {rank} sits on {node!r:.40}; there are 0 to {places - 1}"
            )
    return _of_today(document)


def nodes_for(document: dict[str, Any], topology: AnyNetwork) -> list[int]:
    """The node of every rank, for a run on a network.

    Raises
    ------
    SpecError
        The placement is for another network.
    """
    if topology.subnet is not None:
        same = is_wired_as(document, topology.subnet, topology.failed_nodes)
    else:
        same = "wiring" not in document and network_of(document).is_as(topology)
    if not same:
        made, there = str(document.get("network", "another network")), str(topology)
        there = f"the {there}" if made != there else "that of today, whose hosts have other numbers"
        raise SpecError.at("placement", f"is for the {made}, not for {there}")
    return list(document["placement"])


def is_wired_as(document: dict[str, Any], subnet: Subnet, failed: Sequence[int] = ()) -> bool:
    """Whether hosts of a document are at the same switches, joined by the same cables, and the same work."""
    wiring, here = document.get("wiring"), written_wiring(subnet, failed)
    if not isinstance(wiring, dict):
        return False
    return all(wiring.get(name) == here.get(name) for name in ("hosts", "cables", "failed"))


def traffic_of(document: dict[str, Any]) -> Traffic:
    """The traffic that a document names.

    Raises
    ------
    SpecError
        It is not as `Placement.document` writes it.
    """
    told = document.get("traffic")
    try:
        if isinstance(told, dict) and "axes" in told:
            return axes_traffic([Axis(**axis) for axis in told["axes"]])
        if isinstance(told, dict):
            return pairs_traffic(told["ranks"], told["pairs"], mesh=told.get("mesh", ()))
    except (KeyError, TypeError, ValueError):
        pass
    raise SpecError.at("traffic", "is not understood", "flitloom place ... -o p.json writes it")


def phases_of(document: dict[str, Any]) -> Phases:
    """Names of axes, phase by phase, that a document names; none if all is sent at the same time.

    Raises
    ------
    SpecError
        They are not as `Placement.document` writes them.
    """
    if "phases" not in document:
        return ()
    try:
        named = [list(map(str, phase["axes"])) for phase in document["phases"]]
    except (KeyError, TypeError):
        wanted = "flitloom place ... -o p.json writes them"
        raise SpecError.at("phases", "are not understood", wanted) from None
    return read_phases(named, traffic_of(document).axes)
