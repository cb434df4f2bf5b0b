"""The graphs of exact placements: a network with what it lacks, and the logical shape that must fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from flitloom.errors import SpecError
from flitloom.fabric import Subnet, recognise
from flitloom.fabric.networks import fabric
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.networks.fabric import Fabric
from flitloom.spec import Product, Topology
from flitloom.spec.failed import read_failed
from flitloom.spec.families import is_family
from flitloom.spec.grids import torus_of
from flitloom.spec.ground import Ground as Wired

#: Positions of a shape.
MOST_POSITIONS = 1 << 14


def strides_of(sizes: Sequence[int]) -> list[int]:
    """By how much a node's number grows along each dimension, the first one fastest.

    >>> strides_of([4, 2, 3])
    [1, 4, 8]
    """
    return [math.prod(sizes[:dimension]) for dimension in range(len(sizes))]


def grid_cables(sizes: Sequence[int], wraps: Sequence[bool]) -> list[tuple[int, int]]:
    """Neighbours in a grid, the first dimension fastest, the lower number first.

    Examples
    --------
    >>> grid_cables([3], [True]), grid_cables([2], [True])
    ([(0, 1), (1, 2), (0, 2)], [(0, 1)])
    """
    cables, strides = [], strides_of(sizes)
    for node in range(math.prod(sizes)):
        for size, wrap, stride in zip(sizes, wraps, strides, strict=True):
            here = node // stride % size
            if here + 1 < size:
                cables.append((node, node + stride))
            elif wrap and size > 2:
                cables.append((node - here * stride, node))
    return cables


@explained
@dataclass(frozen=True)
class Grid:
    """A mesh or torus that a network should hold.

    Attributes
    ----------
    sizes : tuple of int
        Positions per dimension, the first one fastest.
    wraps : tuple of bool
        Which dimensions close to rings.
    """

    sizes: tuple[int, ...]
    wraps: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.wraps) != len(self.sizes):
            raise SpecError.at(
                "--wrap",
                f"has {len(self.wraps)} answers",
                f"the shape has {counted(len(self.sizes), 'dimension')}",
            )
        if self.positions > MOST_POSITIONS:
            raise SpecError.at(
                "--shape", f"has {counted(self.positions, 'position')}", f"at most {MOST_POSITIONS}"
            )

    @property
    def positions(self) -> int:
        """How many positions it has."""
        return math.prod(self.sizes)

    def cables(self) -> list[tuple[int, int]]:
        """The pairs of positions that need a cable."""
        return grid_cables(self.sizes, self.wraps)

    def __str__(self) -> str:
        """The sizes and what closes."""
        return f"{'x'.join(map(str, self.sizes))} {'torus' if all(self.wraps) else 'mesh'}"


@explained
@dataclass(frozen=True)
class Ground:
    """A network of nodes and cables, of which some may be missing.

    Attributes
    ----------
    names : tuple of str
        What the nodes are called.
    nodes : tuple of int
        The nodes that are there.
    cables : tuple of (int, int)
        The cables that are there, the lower node first.
    topology : Topology or None
        The torus or mesh that it is except for what is missing.
    missing : tuple of int or (int, int)
        Nodes and cables that the torus or mesh has and the network has not; no cables of missing nodes.
    product : Product or None
        The product with full meshes that it is, with nothing missing.
    """

    names: tuple[str, ...]
    nodes: tuple[int, ...]
    cables: tuple[tuple[int, int], ...]
    topology: Topology | None = None
    missing: tuple[int | tuple[int, int], ...] = ()
    product: Product | None = None
    neighbours: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        around: list[list[int]] = [[] for _ in self.names]
        for a, b in self.cables:
            around[a].append(b)
            around[b].append(a)
        object.__setattr__(self, "neighbours", tuple(map(tuple, around)))

    def called(self, part: int | tuple[int, int]) -> str:
        """The name of a node or cable."""
        if isinstance(part, int):
            return f"node {self.names[part]}"
        return f"cable {self.names[part[0]]} - {self.names[part[1]]}"

    def given_back(self, parts: Sequence[int | tuple[int, int]]) -> Ground:
        """The network with some of the missing parts again."""
        assert self.topology is not None
        missing = [part for part in self.missing if part not in parts]
        return ground_of(self.topology, missing, self.names)


def ground_of(
    topology: Topology | str | Path,
    missing: Sequence[int | tuple[int, int]] | None = None,
    names: Sequence[str] | None = None,
) -> Ground:
    """The ground that a topology is, or that it would be without the given parts.

    Examples
    --------
    >>> import flitloom as fl
    >>> ground = ground_of(fl.Torus(4, 2, failed_links=[(0, 1)]))
    >>> len(ground.cables), [ground.called(part) for part in ground.missing]
    (11, ['cable 0 (0,0) - 1 (1,0)'])
    """
    topology = torus_of(topology, "exact placements")
    if missing is None:
        gone = set(topology.failed_nodes)
        links = {(min(ends), max(ends)) for ends in topology.failed_links}
        missing = [*sorted(gone), *sorted(link for link in links if not gone & {*link})]
    lost = {part for part in missing if isinstance(part, int)}
    cut = set(missing)
    cables = [
        cable
        for cable in grid_cables(topology.sizes, topology.wraps)
        if cable not in cut and not lost & {*cable}
    ]
    if names is None:
        places = product(*(range(size) for size in reversed(topology.sizes)))
        names = [f"{node} ({','.join(map(str, place[::-1]))})" for node, place in enumerate(places)]
    nodes = tuple(node for node in range(topology.nodes) if node not in lost)
    return Ground(tuple(names), nodes, tuple(cables), topology, tuple(missing))


def ground_of_product(product: Product) -> Ground:
    """The ground that a product is: a torus or mesh if it has rings and lines only.

    Examples
    --------
    >>> import flitloom as fl
    >>> ground = ground_of_product(fl.Product("full4 x ring3", failed_links=[(0, 3)]))
    >>> len(ground.cables), ground.names[5], str(ground_of_product(fl.Product("ring4 x ring3")).topology)
    (29, '5 (1,1)', '4x3 torus')
    """
    wired = Wired(product)
    if wired.is_torus:
        return ground_of(product.torus("exact placements"))
    cables = sorted({(min(ends), max(ends)) for ends in wired.links})
    names = [f"{node} ({','.join(map(str, wired.point(node)))})" for node in range(wired.nodes)]
    healthy = not (product.damaged or any(product.steps)) and set(product.grid.width) == {1}
    return Ground(tuple(names), wired.working, tuple(cables), product=product if healthy else None)


def ground_of_network(network: str, failed: Sequence[str] = ()) -> Ground:
    """The ground of a name: a product, or the switches with hosts of a family as ``dragonfly(4,2,2)``.

    Raises
    ------
    SpecError
        There is no such network, or a failed part is not in it.

    Examples
    --------
    >>> ground = ground_of_network("slimfly(5)")
    >>> len(ground.nodes), len(ground.cables), len(ground_of_network("fattree(4)").cables)
    (50, 175, 0)
    """
    if is_family(network):
        subnet = Fabric(network=network, failed=tuple(failed)).subnet
        ground = ground_of_subnet(subnet)
        held = {switch for switch, count in enumerate(subnet.hosts_per_switch()) if count}
        if len(held) == len(subnet.switches):
            return ground
        cables = tuple(cable for cable in ground.cables if held.issuperset(cable))
        return Ground(ground.names, tuple(sorted(held)), cables)
    return ground_of_product(Product(network, **read_failed(failed)))


def ground_of_fabric(file: str | Path, failed: Sequence[str] = ()) -> Ground:
    """The ground that a fabric's file describes, with the coordinates of a torus or mesh if it is one.

    What the torus or mesh has and the fabric has not is missing. A fabric with cables between switches that
    are not neighbours counts as a graph without coordinates, as does a twisted torus.

    Raises
    ------
    SpecError
        The file is not understood, or a failed part is not in it.
    """
    return ground_of_subnet(fabric(file, fail=failed))


def ground_of_subnet(subnet: Subnet, names: Sequence[str] | None = None) -> Ground:
    """The same of a fabric that has been read; `names` are those of its switches unless told otherwise.

    Examples
    --------
    >>> from flitloom.fabric.examples import torus
    >>> ground = ground_of_subnet(torus((4, 3), cables=1))
    >>> str(ground.topology), len(ground.missing)
    ('3x4 torus with 1 failed part', 1)
    """
    cables = sorted({(min(cable.a, cable.b), max(cable.a, cable.b)) for cable in subnet.cables})
    cables = [(a, b) for a, b in cables if a != b]
    names = tuple(switch.name for switch in subnet.switches) if names is None else tuple(names)
    seen = recognise(subnet)
    if seen.kind not in ("torus", "mesh") or seen.misfits:
        return Ground(names, tuple(range(len(names))), tuple(cables))
    topology = Topology(kind=seen.kind, sizes=seen.sizes, wrap=seen.wraps)
    strides = strides_of(seen.sizes)

    def number(place: Sequence[int]) -> int:
        return sum(at * stride for at, stride in zip(place, strides, strict=True))

    at = {number(place): name for name, place in zip(names, seen.coordinates, strict=True)}
    called = []
    for node in range(topology.nodes):
        place = ",".join(str(node // s % size) for s, size in zip(strides, seen.sizes, strict=True))
        called.append(at.get(node, f"at ({place})"))
    lost = [number(place) for place in seen.missing_switches]
    here = [number(place) for place in seen.coordinates]
    ends = [sorted((here[a], here[b])) for a, b in seen.missing_cables]
    missing: list[int | tuple[int, int]] = [*sorted(lost), *sorted((a, b) for a, b in ends)]
    fields = topology.model_dump()
    fields["failed_nodes"] = tuple(sorted(lost))
    fields["failed_links"] = tuple(sorted((a, b) for a, b in ends))
    return ground_of(Topology(**fields), missing, called)
