"""Ranks on the nodes of a placement: its network, its messages, and the traffic of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.commands import options
from flitloom.errors import SpecError, show, show_file
from flitloom.fabric.model import Subnet
from flitloom.placing.phases import in_phases
from flitloom.placing.placement import (
    is_wired_as,
    network_of,
    nodes_for,
    phases_of,
    read_placement,
    traffic_of,
)
from flitloom.placing.running import FLIT_BYTES, moves, packet_rows
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.any_traffic import NOT_OF_RANKS
from flitloom.spec.traffic.known import kind_of, name_of
from flitloom.tables.by_source.making import route
from flitloom.tables.by_source.tables import Tables

#: Packets: source, destination, length and start, a row each.
Table = list[list[int]]


@dataclass(frozen=True)
class Sitting:
    """Where the ranks of a run sit, the routes of a network with failed parts, and packets phase by phase."""

    nodes: list[int]
    tables: Tables | None
    phases: tuple[Table, ...] = ()


def put_on_nodes(file: Path, fields: dict[str, Any], has_tables: bool, flit_bytes: int | None) -> Sitting:
    """Let the fields of a spec have the network of a placement, and its ranks' traffic on their nodes.

    Raises
    ------
    SpecError
        The placement is for another network, or the traffic is none of ranks.
    """
    document = read_placement(file)
    fields.setdefault("topology", document["topology"])
    given = fields["topology"]
    of_switches = "wiring" in document
    named = {"network", "graph"} & set(given)
    topology = network_of({**document, "topology": given}) if named else options.part(Topology, fields)
    nodes = nodes_for(document, topology)
    tables = None
    if of_switches:
        fields["router"] = {"model": "pipelined", **fields.get("router", {})}
        has_tables = True
    if document.get("routing") == "tables" and not has_tables:
        raise SpecError(f"{show_file(file)}: was made for tables; give them, too (--tables)")
    if not has_tables and (document.get("routing") == "balanced" or topology.damaged):
        tables = route(topology)
    return Sitting(nodes, tables, _seat_traffic(fields, document, nodes, topology.nodes, flit_bytes))


def _seat_traffic(
    fields: dict[str, Any], document: dict[str, Any], nodes: list[int], count: int, flit_bytes: int | None
) -> tuple[Table, ...]:
    """Let the traffic of fields be that between nodes: the placement's own where there is no other.

    Of phases it is that of the first one; the packets of all of them are returned.
    """
    traffic = fields.get("traffic", {})
    if flit_bytes is not None and traffic:
        raise SpecError.at("--flit-bytes", "is about the bytes of a placement, and other traffic has flits")
    if not traffic:
        size = FLIT_BYTES if flit_bytes is None else flit_bytes
        phases, sent = phases_of(document), traffic_of(document)
        # A phase may have nothing that leaves a node; all together are refused if they have not.
        parts = [part for part in in_phases(sent, phases) if moves(part, nodes)] or [sent]
        tables = tuple(packet_rows(part, nodes, size).tolist() for part in parts)
        fields["traffic"] = {"kind": "packets", "table": tables[0]}
        return tables if phases else ()
    kind = kind_of(traffic)
    if kind is None:
        raise SpecError.at("--placement", NOT_OF_RANKS)
    fields["traffic"] = kind.seated({**traffic, "kind": name_of(kind)}, nodes, count)
    return ()


def host_weights(file: Path, subnet: Subnet, described: str) -> NDArray[np.int64]:
    """The bytes between hosts that the ranks of a placement send, as weights for tables.

    Raises
    ------
    SpecError
        The placement is for another network.
    """
    document = read_placement(file)
    wiring = document.get("wiring")
    if isinstance(wiring, dict) and wiring.get("failed"):
        # Its hosts are those of the whole product.
        network = network_of(document)
        sent = _bytes_between(document, nodes_for(document, network), network.nodes)
        assert network.subnet is not None
        there = [host for host in range(network.nodes) if host not in network.failed_nodes]
        names = [network.subnet.hosts[host].name for host in there]
        if names == [host.name for host in subnet.hosts] and network.subnet == subnet.among(network.subnet):
            return sent[np.ix_(there, there)]
    elif is_wired_as(document, subnet):
        return _bytes_between(document, document["placement"], len(subnet.hosts))
    made = document.get("network", "another network")
    raise SpecError.at(show_file(file), f"is for the {made}, not for {show(described)}")


def placement_weights(file: Path, topology: AnyNetwork | None) -> tuple[AnyNetwork, NDArray[np.int64]]:
    """The network of a placement and the bytes between its nodes, as weights for tables.

    Raises
    ------
    SpecError
        The placement is for another network.
    """
    document = read_placement(file)
    network = network_of(document) if topology is None else topology
    return network, _bytes_between(document, nodes_for(document, network), network.nodes)


def _bytes_between(document: dict[str, Any], nodes: list[int], count: int) -> NDArray[np.int64]:
    """The bytes that the ranks of a placement on these nodes, of this many, send from node to node."""
    where, traffic = np.array(nodes), traffic_of(document)
    weights = np.zeros((count, count), dtype=np.int64)
    np.add.at(weights, (where[traffic.sources], where[traffic.destinations]), traffic.bytes.astype(np.int64))
    np.fill_diagonal(weights, 0)
    return weights
