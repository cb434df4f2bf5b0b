"""Named networks as fabrics, and fabrics as graphs of their switches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.examples import subnet, switch_name, twisted_torus
from flitloom.fabric.failures import fail_parts
from flitloom.fabric.model import NO_HOSTS, Subnet
from flitloom.fabric.reading import read_fabric
from flitloom.ground.digests import digest
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.numerals import counted
from flitloom.spec import Graph, Product, Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.failed import read_failed
from flitloom.spec.families import build, is_family
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of
from flitloom.spec.topology import is_grid
from flitloom.spec.what import fields_of, with_hosts, without_tables

#: Parts of a grid by coordinates of its nodes.
_PLACES = re.compile(r"(?:node|link):\(")


def fabric(
    network: Subnet | Graph | Product | Topology | Path | str,
    *,
    fail: Iterable[str] = (),
    hosts: str | Sequence[str] | None = None,
) -> Subnet:
    """The fabric of a network: what `make` makes tables by destination for.

    Parameters
    ----------
    network : Subnet, Graph, Product, Topology, path or str
        A fabric; a graph, a product or a twisted torus, one host at every node, without its failed parts; a
        file of a fabric (a `pathlib.Path`); or a name, e.g. ``"dragonfly(6,3)"`` or ``"full8 x ring4"``.
    fail : iterable of str
        Failed parts, e.g. ``"node:S5"``, ``"cable:S5/3"``, ``"link:S5-S6"`` or ``"link:(0,1)+x"``.
    hosts : str or sequence of str, optional
        Which nodes of a file of cables are hosts, as `read_fabric` takes them.

    Raises
    ------
    SpecError
        The network cannot be a fabric, or a part does not exist.

    Examples
    --------
    >>> import flitloom as fl
    >>> ring = fl.Graph([(0, 1), (1, 2), (2, 3), (3, 0)], nodes=4, failed_links=[(0, 1)])
    >>> made = fl.tables.fabric(ring)
    >>> len(made.switches), len(made.cables)
    (4, 3)
    """
    parts = list(fail)
    named: Mapping[str, Any] | None
    if isinstance(network, str | Path):
        fields = without_tables(fields_of(network))
        fields, parts = _of_places(fields, parts)
        made, named = _named(fields if hosts is None else with_hosts(fields, hosts))
    elif hosts is not None:
        raise SpecError.at("hosts", f"{network} is not a file of cables", "leave them out")
    else:
        made = _whole(network)
        named = made.named or _named_by(network)
    if parts:
        made, named = fail_parts(made, parts), _without(named, parts)
    return replace(made, named=named)


def _of_places(fields: dict[str, Any], parts: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a grid with the failed parts that coordinates name, and the others.

    >>> _of_places({"network": "ring2 x ring4"}, ["node:(1,2)", "cable:S0-0/1"])
    ({'network': 'ring2 x ring4', 'failed_nodes': ['(1,2)']}, ['cable:S0-0/1'])
    """
    if "graph" in fields or is_family(fields.get("network")) or "cables" in fields:
        return fields, parts
    by_place = [part for part in parts if _PLACES.match(part)]
    failed = read_failed(by_place)
    more = {name: [*fields.get(name, ()), *given] for name, given in failed.items()}
    return {**fields, **more}, [part for part in parts if part not in by_place]


def _named_by(network: object) -> dict[str, Any] | None:
    """The fields of a topology that name a network."""
    if not isinstance(network, AnyNetwork):
        return None
    fields = network.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return (
        fields
        if {"network", "cables"} & fields.keys()
        else network.model_dump(mode="json", exclude_none=True)
    )


def _without(named: Mapping[str, Any] | None, parts: list[str]) -> dict[str, Any] | None:
    """The fields of the same network without some parts; none where fields cannot say them."""
    if named is None:
        return None
    if "graph" in named or is_family(named.get("network")):
        return {**named, "failed": [*named.get("failed", ()), *parts]}
    try:
        failed = read_failed(parts)
    except SpecError:
        return None
    return {**named, **{name: [*named.get(name, ()), *more] for name, more in failed.items()}}


def _whole(network: object) -> Subnet:
    """A network as a fabric."""
    match network:
        case Subnet():
            return network
        case Graph():
            return _of_graph(network)
        case AnyNetwork() if network.subnet is not None:
            return network.subnet
        case AnyNetwork() if network.twist or not is_grid(network):
            return _of_grid(network)
        case AnyNetwork():
            raise SpecError.at(
                "network", f"{network} has tables of source routes", "give it to fl.tables.make itself"
            )
    raise SpecError.at(
        "network", f"{show(network)} is not a network", 'give fl.Graph(...) or "dragonfly(6,3)"'
    )


def _of_grid(network: AnyNetwork) -> Subnet:
    """The fabric of a network whose nodes have coordinates, without what has failed."""
    ground = Ground(network).without_failures()
    single = network.twist and max(ground.width) == 1
    made = twisted_torus(ground.sizes) if single else subnet_of_ground(ground)
    return _less(made, [switch_name(ground.point(node)) for node in range(ground.nodes)], network)


def _of_graph(network: Graph) -> Subnet:
    """The fabric of a graph, with a host at every node or where it says, without what has failed."""
    network.require_both_ways()
    names = list(network.names) or [f"S{node}" for node in range(network.nodes)]
    if network.hosts:
        return _with_hosts(network, names)
    pairs = [(names[a], names[b]) for a, b in network.cables]
    return _less(subnet(pairs, 1, str(network), names), names, network)


def _with_hosts(network: Graph, names: list[str]) -> Subnet:
    """The fabric of a graph of which some nodes are hosts, without what has failed."""
    assembly, gone = Assembly(str(network)), set(network.failed_nodes)
    cut = {frozenset(link) for link in network.failed_links}
    hosts = set(network.hosts)
    for node, name in enumerate(names):
        if node not in gone:
            kind, guid = ("host", 0x100000) if node in hosts else ("switch", 0x200000)
            assembly.nodes[name] = Node(kind, name, guid + 2 * node, node + 1)
    for a, b in network.cables:
        if not gone & {a, b} and frozenset((a, b)) not in cut:
            assembly.join(names[a], names[b], str(network))
    further = [
        (name, port) for name, port in assembly.ends if port > 1 and assembly.nodes[name].kind == "host"
    ]
    for number, end in enumerate(further, 1):
        # Every port has its own; the first has those of its host.
        assembly.port_facts[end] = {"guid": 0x300000 + number, "lid": len(names) + number}
    return assembly.finish()


def _named(fields: dict[str, Any]) -> tuple[Subnet, dict[str, Any]]:
    """The fabric that fields name, and the fields with what a file holds and all names of said hosts."""
    made = _of_fields({name: value for name, value in fields.items() if name != "failed"})
    if "graph" in fields:
        fields = {**fields, "content": [digest(fields["graph"])]}
    if "hosts" in fields and "graph" in fields:
        hosts = () if NO_HOSTS in made.remarks else (host.name for host in made.hosts)
        fields["hosts"] = list(dict.fromkeys(hosts))
    return fail_parts(made, fields["failed"]) if fields.get("failed") else made, fields


def _of_fields(fields: dict[str, Any]) -> Subnet:
    """The fabric that the fields of a topology name, whole or without failed nodes and links."""
    if "graph" in fields:
        return read_fabric(Path(fields["graph"]), fields.get("hosts"))
    if is_family(fields.get("network")):
        return named_subnet(fields["network"])
    network = network_of(fields)
    return _whole(network) if network.grid is None else _of_grid(network)


def _less(made: Subnet, names: list[str], network: AnyNetwork) -> Subnet:
    """A fabric without the failed parts of the network it was made from."""
    parts = [f"node:{names[node]}" for node in network.failed_nodes]
    parts += [f"link:{names[a]}-{names[b]}" for a, b in network.failed_links]
    return fail_parts(made, parts) if parts else made


def named_subnet(text: str) -> Subnet:
    """The fabric of a name: a family like ``dragonfly(6,3)``, or a product like ``full8 x ring4``.

    A product has one host at every switch. GUIDs and LIDs are made up.

    Raises
    ------
    SpecError
        There is no such network.

    Examples
    --------
    >>> made = named_subnet("dragonfly(6,3,2)")
    >>> len(made.switches), len(made.hosts), len(made.cables)
    (114, 228, 456)
    >>> len(named_subnet("full8 x ring4*2").cables)
    176
    """
    if is_family(text):
        built = build(text)
        hosts = dict(zip(built.names, built.hosts, strict=True))
        pairs: Iterator[tuple[str, str]] = ((built.names[a], built.names[b]) for a, b in built.cables)
        return subnet(pairs, hosts.__getitem__, built.text)
    return subnet_of_ground(Ground(Product(text)))


def _cables(ground: Ground) -> int:
    """How many cables a torus, a mesh or a product without its failures has.

    >>> import flitloom as fl
    >>> [_cables(Ground(fl.Product(text))) for text in ("ring2 x line3", "full4*2", "circulant(8;1,4)*1")]
    [7, 12, 12]
    >>> _cables(Ground(fl.Torus(2, 4, twist=True)))
    16
    """
    total = 0
    dimensions = (ground.sizes, ground.topology.wraps, ground.full, ground.steps, ground.width)
    for size, wraps, full, steps, width in zip(*dimensions, strict=True):
        if steps:
            line = sum(size // (2 if 2 * step == size else 1) for step in steps)
        elif full:
            line = size * (size - 1) // 2
        else:
            line = size if wraps and (size > 2 or ground.twist) else size - 1
        total += ground.nodes // size * line * width
    return total


def direct_network(what: str | Path) -> AnyNetwork:
    """The direct network that a text or a file names, whose routers are nodes; see `flitloom.Network`.

    Examples
    --------
    >>> print(direct_network("twisted 4x4x8"), "-", direct_network("slimfly(5)"))
    4x4x8 twisted torus - slimfly(5)
    """
    fields = without_tables(fields_of(what))
    if "graph" in fields:
        return graph_of_file(Path(fields["graph"]), fields.get("hosts"))
    return network_of(fields)


def graph_of_file(file: Path, hosts: str | Sequence[str] | None = None) -> Graph:
    """The network of a file as a graph, also with links that lead one way; see `graph_of`."""
    return graph_of(read_fabric(file, hosts, one_way=True), file.name)


def subnet_of_ground(ground: Ground) -> Subnet:
    """The fabric of a torus, a mesh or a product with a host at every switch.

    Switches are named by their coordinates, and in the order of the nodes.

    Examples
    --------
    >>> import flitloom as fl
    >>> made = subnet_of_ground(Ground(fl.Torus(3, 3)))
    >>> made == named_subnet("ring3 x ring3"), [switch.name for switch in made.switches[:4]]
    (True, ['S0-0', 'S1-0', 'S2-0', 'S0-1'])
    """
    if (count := _cables(ground)) > FABRIC_PARTS:
        raise SpecError.at(
            "network", f"{ground}: {counted(count, 'cable')}; at most {FABRIC_PARTS} are possible"
        )
    names = [switch_name(ground.point(node)) for node in range(ground.nodes)]

    def cables() -> Iterator[tuple[str, str]]:
        for (a, b), count in sorted(ground.links.items()):
            if a < b:
                yield from [(names[a], names[b])] * count

    return subnet(cables(), 1, str(ground.topology), names)


def graph_of(fabric: Subnet, name: str = "") -> Graph:
    """The switches of a direct network as the nodes of a graph, in the order of the fabric.

    Where a switch has no host or several, or hosts have several ports, or all are at one switch, the nodes
    are the hosts and then the switches, which pass on what hosts send. A host that is joined to other hosts
    has their cables itself.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> graph_of(parse_fabric("a,b\\nb,c\\nc,a\\n"), "three").cables
    ((0, 1), (0, 2), (1, 2))
    """
    cables = [(cable.a, cable.b) for cable in fabric.cables if not cable.one_way]
    one_way = [(cable.a, cable.b) for cable in fabric.cables if cable.one_way]
    names = [switch.name for switch in fabric.switches]
    hosts: Iterable[int] = ()
    if members := members_of(fabric):
        hosts = members
        first = len(members)
        ports = fabric.ports_of_hosts()
        cables, one_way = ([(a + first, b + first) for a, b in pairs] for pairs in (cables, one_way))
        cables += [
            (node, fabric.hosts[port].switch + first) for node, each in enumerate(ports) for port in each
        ]
        names = [*(fabric.hosts[each[0]].name for each in ports), *names]
        names, (cables, one_way) = _joined(fabric, names, (cables, one_way))
    if max(Counter(names).values()) > 1:
        names = [f"{name}#{number}" for number, name in enumerate(names)]
    return Graph(cables, nodes=len(names), name=name, names=names, one_way=one_way, hosts=tuple(hosts))


def _joined(
    fabric: Subnet, names: list[str], cables: Sequence[list[tuple[int, int]]]
) -> tuple[list[str], list[list[tuple[int, int]]]]:
    """Names and cables without switches that are hosts themselves, of whose name they are."""
    ports, each = fabric.ports_of_hosts(), fabric.hosts_per_switch()
    first, place = len(ports), {node: node for node in range(len(names))}
    for node, (port, *more) in enumerate(ports):
        switch = fabric.hosts[port].switch
        if not more and each[switch] == 1 and names[first + switch] == names[node]:
            place[first + switch] = node
    kept = sorted({*place.values()})
    number = {node: number for number, node in enumerate(kept)}
    moved = [
        [(number[place[a]], number[place[b]]) for a, b in pairs if place[a] != place[b]] for pairs in cables
    ]
    return [names[node] for node in kept], moved


def members_of(fabric: Subnet) -> range | None:
    """The nodes of its graph that are hosts; none where every switch is a node, for its one host.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> members_of(parse_fabric("h0,sw\\nh1,sw\\nh2,sw\\n")), members_of(parse_fabric("a,b\\nb,c\\nc,a\\n"))
    (range(0, 3), None)
    """
    hosts = fabric.ports_of_hosts()
    if len(fabric.switches) > 1 and set(fabric.hosts_per_switch()) == {1} and len(hosts) == len(fabric.hosts):
        return None
    return range(len(hosts))
