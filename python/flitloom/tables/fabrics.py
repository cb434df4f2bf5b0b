"""Networks as fabrics: switches, cables and hosts, for which tables by destination are made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flitloom.errors import SpecError, show
from flitloom.fabric.examples import subnet, twisted_torus
from flitloom.fabric.failures import fail_parts
from flitloom.fabric.model import Subnet
from flitloom.fabric.networks import named_subnet
from flitloom.fabric.reading import read_fabric
from flitloom.spec import Graph, Product, Topology
from flitloom.spec.ground import Ground


def fabric(network: Subnet | Graph | Product | Topology | Path | str, *, fail: Iterable[str] = ()) -> Subnet:
    """The fabric of a network: what `make` makes tables by destination for.

    Parameters
    ----------
    network : Subnet, Graph, Product, Topology, path or str
        A fabric; a graph or a product, one host at every node, without its failed parts; a twisted torus; a
        file of a fabric (a `pathlib.Path`); or a name, e.g. ``"dragonfly(6,3)"`` or ``"full8 x ring4"``.
    fail : iterable of str
        Failed parts, e.g. ``"node:S5"``, ``"cable:S5/3"``, ``"link:S5-S6"`` or ``"link:(0,1)+x"``.

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
    made, parts = _whole(network), list(fail)
    return fail_parts(made, parts) if parts else made


def _whole(network: object) -> Subnet:
    """A network as a fabric."""
    match network:
        case Subnet():
            return network
        case Path():
            return read_fabric(network)
        case str():
            return named_subnet(network)
        case Graph():
            names = list(network.names) or [f"S{node}" for node in range(network.nodes)]
            pairs = [(names[a], names[b]) for a, b in network.cables]
            return _less(subnet(pairs, 1, str(network)), names, network)
        case Product():
            ground = Ground(network)
            names = [f"S{'-'.join(map(str, ground.point(node)))}" for node in range(network.nodes)]
            return _less(named_subnet(network.network), names, network)
        case Topology() if network.twist:
            made = twisted_torus(network.sizes)
            return _less(made, [switch.name for switch in made.switches], network)
        case Topology():
            raise SpecError.at(
                "network", f"{network} has tables of source routes", "give it to fl.tables.make itself"
            )
    raise SpecError.at("network", f"{show(network)} is no network", 'give fl.Graph(...) or "dragonfly(6,3)"')


def _less(made: Subnet, names: list[str], network: Graph | Product | Topology) -> Subnet:
    """A fabric without the failed parts of the network it was made from."""
    parts = [f"node:{names[node]}" for node in network.failed_nodes]
    parts += [f"link:{names[a]}-{names[b]}" for a, b in network.failed_links]
    return fail_parts(made, parts) if parts else made
