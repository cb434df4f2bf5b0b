"""The graphs of exact placements: the cables of a shape, and a network with what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flitloom.fabric import Subnet, recognise
from flitloom.fabric.networks import fabric
from flitloom.ground.fixed import explained
from flitloom.networks.kinds import described, run_by
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground as Wired
from flitloom.spec.topology import is_grid


def strides_of(sizes: Sequence[int]) -> list[int]:
    """By how much a node's number grows along each dimension, the first one fastest.

    >>> strides_of([4, 2, 3])
    [1, 4, 8]
    """
    return [math.prod(sizes[:dimension]) for dimension in range(len(sizes))]


def neighbours_of(nodes: int, cables: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The neighbours of every node, in the order of the cables.

    >>> neighbours_of(3, [(0, 1), (0, 2)])
    ((1, 2), (0,), (0,))
    """
    around: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in cables:
        around[a].append(b)
        around[b].append(a)
    return tuple(map(tuple, around))


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
    network : AnyNetwork or None
        The torus or mesh that it is less its failed parts, or the product with full meshes, of which none has
        failed.
    """

    names: tuple[str, ...]
    nodes: tuple[int, ...]
    cables: tuple[tuple[int, int], ...]
    network: AnyNetwork | None = None

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The neighbours of every node."""
        return neighbours_of(len(self.names), self.cables)

    @property
    def topology(self) -> Topology | None:
        """The torus or mesh that it is except for what is missing."""
        return self.network if is_grid(self.network) else None

    @property
    def missing(self) -> tuple[int | tuple[int, int], ...]:
        """Nodes and cables that the torus or mesh has and the network has not; no cables of missing nodes."""
        return () if self.topology is None else _missing_of(self.topology)

    def called(self, part: int | tuple[int, int]) -> str:
        """The name of a node or cable."""
        if isinstance(part, int):
            return f"node {self.names[part]}"
        return f"cable {self.names[part[0]]} - {self.names[part[1]]}"

    def given_back(self, parts: Sequence[int | tuple[int, int]]) -> Ground:
        """The network with some of the missing parts again."""
        assert self.topology is not None
        return _of_torus(
            less(self.topology, [part for part in self.missing if part not in parts]), self.names
        )


def _missing_of(topology: Topology) -> tuple[int | tuple[int, int], ...]:
    gone = set(topology.failed_nodes)
    links = {(min(ends), max(ends)) for ends in topology.failed_links}
    return (*sorted(gone), *sorted(link for link in links if not gone & {*link}))


def less(topology: Topology, missing: Sequence[int | tuple[int, int]]) -> Topology:
    """The same torus or mesh with exactly these failed parts.

    >>> import flitloom as fl
    >>> print(less(fl.Torus(4, 4, failed_nodes=[1]), [2, (4, 5)]))
    4x4 torus with 2 failed parts
    """
    failed = {
        "failed_nodes": tuple(part for part in missing if isinstance(part, int)),
        "failed_links": tuple(part for part in missing if not isinstance(part, int)),
    }
    return topology.model_copy(update=failed)


def ground_of(network: AnyNetwork | str | Path) -> Ground:
    """The ground that a network is: a torus, a mesh, a product, or the switches with hosts of any other.

    Examples
    --------
    >>> import flitloom as fl
    >>> ground = ground_of(fl.Torus(4, 2, failed_links=[(0, 1)]))
    >>> len(ground.cables), [ground.called(part) for part in ground.missing]
    (11, ['cable 0 (0,0) - 1 (1,0)'])
    >>> ground = ground_of(fl.Product("full4 x ring3", failed_links=[(0, 3)]))
    >>> len(ground.cables), ground.names[5], str(ground_of("ring4 x ring3").topology)
    (29, '5 (1,1)', '4x3 torus')
    >>> len(ground_of("slimfly(5)").cables), len(ground_of("fattree(4)").cables)
    (175, 0)
    """
    found = described(network)
    subnet = None if found.grid else run_by(found, "pipelined").subnet
    if subnet is not None:
        held = tuple(switch for switch, count in enumerate(subnet.hosts_per_switch()) if count)
        return ground_of_subnet(subnet) if len(held) == len(subnet.switches) else _of_switches(subnet, held)
    wired = Wired(found)
    names = [f"{node} ({','.join(map(str, wired.point(node)))})" for node in range(wired.nodes)]
    if wired.is_torus:
        return _of_torus(found.torus("exact placements"), names)
    cables = tuple(sorted({(min(ends), max(ends)) for ends in wired.links}))
    healthy = not (found.damaged or any(wired.steps)) and set(wired.width) == {1}
    return Ground(tuple(names), wired.working, cables, found if healthy else None)


def _of_switches(subnet: Subnet, held: Iterable[int], names: Sequence[str] = ()) -> Ground:
    """The ground that some switches of a fabric are with the cables between them, by their numbers there."""
    nodes = set(held)
    cables = {(min(cable.a, cable.b), max(cable.a, cable.b)) for cable in subnet.cables if cable.a != cable.b}
    called = tuple(names) or tuple(switch.name for switch in subnet.switches)
    return Ground(called, tuple(sorted(nodes)), tuple(sorted(one for one in cables if nodes.issuperset(one))))


def _of_torus(topology: Topology, names: Sequence[str]) -> Ground:
    """The ground that a torus or mesh is less its failed parts."""
    cut = set(_missing_of(topology))
    lost = set(topology.failed_nodes)
    cables = grid_cables(topology.sizes, topology.wraps)
    there = tuple(cable for cable in cables if cable not in cut and not lost & {*cable})
    nodes = tuple(node for node in range(topology.nodes) if node not in lost)
    return Ground(tuple(names), nodes, there, topology)


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
    names = tuple(switch.name for switch in subnet.switches) if names is None else tuple(names)
    seen = recognise(subnet)
    if seen.kind not in ("torus", "mesh") or seen.misfits or seen.service:
        return _of_switches(subnet, range(len(names)), names)
    topology = Topology(kind=seen.kind, sizes=seen.sizes, wrap=seen.wraps)
    wired = Wired(topology)
    here = [wired.number(place) for place in seen.coordinates]
    at = dict(zip(here, names, strict=True))
    called = [at.get(node, f"at ({','.join(map(str, wired.point(node)))})") for node in range(wired.nodes)]
    lost = sorted(wired.number(place) for place in seen.missing_switches)
    ends = sorted((min(here[a], here[b]), max(here[a], here[b])) for a, b in seen.missing_cables)
    return _of_torus(less(topology, [*lost, *ends]), called)
