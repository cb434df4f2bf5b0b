"""Named networks as fabrics, and fabrics as graphs of their switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flitloom.errors import SpecError
from flitloom.fabric.examples import subnet
from flitloom.fabric.model import Subnet
from flitloom.spec import Graph, Product
from flitloom.spec.families import build, is_family
from flitloom.spec.ground import Ground


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
    network = Product(text)
    return subnet(_cables(network), 1, network.network)


def _cables(network: Product) -> Iterator[tuple[str, str]]:
    """The cables of a product, the nodes named by their coordinates."""
    ground = Ground(network)
    names = [f"S{'-'.join(map(str, ground.point(node)))}" for node in range(ground.nodes)]
    for (a, b), count in sorted(ground.links.items()):
        if a < b:
            yield from [(names[a], names[b])] * count


def graph_of(fabric: Subnet, name: str = "") -> Graph:
    """The switches of a direct network as the nodes of a graph, in the order of the fabric.

    Raises
    ------
    SpecError
        A switch has no host: only switches that are nodes can keep, copy and add what passes through them.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> graph_of(parse_fabric("a,b\\nb,c\\nc,a\\n"), "three").cables
    ((0, 1), (0, 2), (1, 2))
    """
    alone = [
        switch.name
        for switch, count in zip(fabric.switches, fabric.hosts_per_switch(), strict=True)
        if not count
    ]
    if alone:
        raise SpecError.at(
            "network",
            f"{len(alone)} of {len(fabric.switches)} switches have no host, e.g. {alone[0]}",
            "collective operations are planned on direct networks, whose routers are nodes",
        )
    cables = [(cable.a, cable.b) for cable in fabric.cables]
    names = [switch.name for switch in fabric.switches]
    if max(Counter(names).values()) > 1:
        names = [f"{name}#{number}" for number, name in enumerate(names)]
    return Graph(cables, nodes=len(names), name=name, names=names)
