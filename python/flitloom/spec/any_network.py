"""What every network answers, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.spec.base import SpecModel
from flitloom.spec.factors import Factor

if TYPE_CHECKING:
    from flitloom.fabric.model import Subnet
    from flitloom.tables.by_destination.tables import ForwardingTables


@dataclass(frozen=True)
class Grid:
    """Nodes at coordinates, joined along lines of every dimension.

    Attributes
    ----------
    sizes : tuple of int
        Nodes along each dimension, x first.
    wraps : tuple of bool
        Per dimension, whether it is a ring (never of two nodes, but in a twisted torus).
    full : tuple of bool
        Per dimension, whether it is a full mesh of more than two nodes.
    steps : tuple of tuple of int
        Per dimension the steps of a circulant; empty for any other.
    width : sequence of int
        Per dimension the parallel links; empty for one each.
    twist : bool
        Whether a step over the edge of a short dimension also moves half of every long one.
    failed_nodes, failed_links : sequence
        What has failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Product("full4 x ring3").grid.full, fl.Mesh(4, 3).grid.wraps, fl.Graph.family("slimfly(5)").grid
    ((True, False), (False, False), None)
    """

    sizes: tuple[int, ...]
    wraps: tuple[bool, ...]
    full: tuple[bool, ...]
    steps: tuple[tuple[int, ...], ...]
    width: Sequence[int]
    twist: bool = False
    failed_nodes: Sequence[int] = field(default=(), hash=False)
    failed_links: Sequence[tuple[int, int]] = field(default=(), hash=False)


class AnyNetwork(SpecModel):
    """A network. It answers what a caller wants to know, so that nobody asks of what kind it is."""

    if TYPE_CHECKING:

        @property
        def nodes(self) -> int:
            """Number of nodes: routers, or hosts where these are at switches."""

        @property
        def failed_nodes(self) -> tuple[int, ...]:
            """Nodes that do not work."""

        @property
        def failed_links(self) -> tuple[tuple[int, int], ...]:
            """Cables that do not work, by the nodes at their ends."""

        @property
        def sizes(self) -> tuple[int, ...]:
            """Nodes along each dimension; refused where nodes have no coordinates."""

        @property
        def twist(self) -> bool:
            """Whether it is a twisted torus."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, and nothing that was found out from the old ones.

        >>> import flitloom as fl
        >>> less = fl.Product("full4 x ring3", failed_nodes=[1])
        >>> less.grid.failed_nodes, less.model_copy(update={"failed_nodes": ()}).grid.failed_nodes
        ((1,), ())
        """
        copy = super().model_copy(update=update, deep=deep)
        for name in copy.__dict__.keys() - type(self).model_fields.keys():
            del copy.__dict__[name]
        return copy

    @property
    def grid(self) -> Grid | None:
        """Its dimensions, where nodes have coordinates."""
        return None

    @property
    def subnet(self) -> Subnet | None:
        """Its switches, cables and hosts, where nodes are hosts of switches."""
        return None

    def core(self, ties: str = "wrap") -> _core.Network:
        """The network as the core has it.

        Parameters
        ----------
        ties : {"wrap", "balanced"}
            How dimension order leads to the opposite place of a ring; see `Router`.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Torus(4, 4).core().directions(), fl.Graph(["0-1", "1-2"], nodes=3).core().directions()
        (['+x', '-x', '+y', '-y'], [])
        """
        if self.grid is not None:
            return _core.Network.of_grid(self.grid, ties)
        if self.subnet is not None:
            return self.subnet.core(self.dimensions).without_nodes(self.failed_nodes)
        return _core.Network.of_cables(
            self.nodes, self.cable_ends, self.one_way_links, self.failed_nodes, self.failed_links
        )

    @property
    def single(self) -> AnyNetwork:
        """The same network with one link where several are parallel.

        >>> import flitloom as fl
        >>> print(fl.Product("full4*6 x ring8").single, "-", fl.Product("twisted ring4*2 x ring8").single)
        full4 x ring8 - 4x8 twisted torus
        """
        return self

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Sizes in whose order nodes are numbered: those of its grid, or all nodes in a row."""
        return (self.nodes,) if self.grid is None else self.grid.sizes

    @property
    def order(self) -> tuple[int, ...]:
        """Sizes of a mesh in whose order nodes are: of its grid, or of switches and groups of hosts."""
        return self.dimensions

    @property
    def cable_ends(self) -> tuple[tuple[int, int], ...]:
        """The nodes at the ends of every cable, where it is given by its cables."""
        return ()

    @property
    def one_way_links(self) -> tuple[tuple[int, int], ...]:
        """Links that lead one way only, from the first node to the second, besides its cables."""
        return ()

    @property
    def members(self) -> tuple[int, ...]:
        """The nodes that take part, where others only pass on what these send; empty where all do."""
        return ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """What its nodes are called, where they have names besides their numbers and coordinates."""
        return ()

    @property
    def damaged(self) -> bool:
        """Whether nodes or links have failed."""
        return bool(self.failed_nodes or self.failed_links)

    def run_as(self, model: str | None) -> dict[str, Any] | None:
        """The fields of the switches with hosts that routers of a model run in its place, or none.

        Raises
        ------
        SpecError
            These routers do not run it.
        """
        del model
        return None

    @property
    def has_tables(self) -> bool:
        """Whether packets between pipelined routers follow tables by destination."""
        return False

    @property
    def tables_file(self) -> str | None:
        """The file or folder of its own tables by destination, if there is one."""
        return None

    def forwarding(self) -> ForwardingTables | None:
        """Its own tables by destination, if it has some."""
        return None

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Whether each dimension is a ring (never of two nodes, but in a twisted torus)."""
        return self.require_grid("coordinates are").wraps

    @property
    def full(self) -> tuple[bool, ...]:
        """Whether each dimension is a full mesh of more than two nodes."""
        return self.require_grid("coordinates are").full

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The steps of each dimension that is a circulant."""
        return self.require_grid("coordinates are").steps

    @property
    def shape(self) -> tuple[object, ...]:
        """What is alike in networks whose nodes are connected alike, whatever has failed.

        >>> import flitloom as fl
        >>> fl.Torus(2, 4).shape == fl.Mesh(2, 4, wrap=[False, True], failed_nodes=[3]).shape
        True
        """
        grid = self.require_grid("coordinates are")
        return grid.sizes, grid.wraps, grid.full, grid.steps, grid.width, grid.twist

    def is_as(self, other: AnyNetwork) -> bool:
        """Whether the same nodes are connected in the same way, however that is written.

        >>> import flitloom as fl
        >>> fl.Torus(2, 4, failed_links=[(1, 0)]).is_as(fl.Torus(2, 4, failed_links=["0-1", "(0,0)+x"]))
        True
        >>> fl.Torus(2, 4).is_as(fl.Torus(2, 4, failed_nodes=[3]))
        False
        >>> fl.Graph([(0, 1), (1, 2)], nodes=3).is_as(fl.Graph([(2, 1), (0, 1)], nodes=3))
        True
        """
        mine, others = (
            (one.shape, failed_parts(one.failed_nodes, one.failed_links)) for one in (self, other)
        )
        return mine == others

    def require_grid(self, what: str) -> Grid:
        """Its dimensions; a network whose nodes have no coordinates is refused.

        Raises
        ------
        SpecError
            Nodes have no coordinates.
        """
        if self.grid is None:
            made = "is a graph" if self.subnet is None else "has switches"
            raise SpecError.at("topology", f"{self} {made}, and {what} for tori and meshes")
        return self.grid

    def require_untwisted(self, what: str, advice: str = "") -> None:
        """Refuse a twisted torus, whose dimensions are not independent.

        Raises
        ------
        SpecError
            The torus is twisted.
        """
        if self.twist:
            raise SpecError.at("topology.twist", f"is set, and {what} are for plain tori", advice)

    def require_plain(self, what: str, advice: str = "") -> None:
        """Refuse what is not a plain torus or mesh.

        Raises
        ------
        SpecError
            The torus is twisted, or a dimension is a full mesh or a circulant, or there are no dimensions.
        """
        self.require_untwisted(what, advice)
        self.require_rings(f"{what} are")

    def require_rings(self, what: str) -> None:
        """Refuse full meshes and circulants where only rings and lines are known.

        Raises
        ------
        SpecError
            A dimension is a full mesh or a circulant, or there are no dimensions.
        """
        grid = self.require_grid(what)
        if any(grid.full) or any(grid.steps):
            raise SpecError.at("network", f"{self} is a product, and {what} for tori and meshes")

    def torus(self, what: str, advice: str = "") -> Any:
        """The `Topology` of the torus or mesh that it is; anything else is refused as by `require_plain`.

        >>> import flitloom as fl
        >>> print(fl.Product("ring4 x line3").torus("source routes"))
        4x3 torus
        """
        self.require_plain(what, advice)
        raise NotImplementedError

    def require_no_circulants(self, what: str) -> None:
        """Refuse circulants as factors where only rings, lines and full meshes are known.

        Raises
        ------
        SpecError
            A factor is a circulant.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Product("circulant(8;1,3) x ring4").require_no_circulants("plans are")
        Traceback (most recent call last):
        ...
        flitloom.errors.SpecError: network: circulant(8;1,3) is a circulant, and plans are of products of ...
        """
        if self.grid is None:
            return
        for size, steps, width in zip(self.grid.sizes, self.grid.steps, self.grid.width, strict=True):
            if steps:
                factor = Factor("circulant", size, width, steps)
                raise SpecError.at(
                    "network",
                    f"{factor} is a circulant, and {what} of products of rings, lines and full meshes",
                    f"a lone {factor._replace(width=1)} is a family of graphs, of which more is known",
                )


def failed_parts(
    nodes: Iterable[int], links: Iterable[tuple[int, int]]
) -> tuple[frozenset[int], frozenset[frozenset[int]]]:
    """What does not work, however it is written: nodes, and cables of nodes that work.

    >>> failed_parts([3], [(1, 0), (0, 1), (3, 2)])
    (frozenset({3}), frozenset({frozenset({0, 1})}))
    """
    failed = frozenset(nodes)
    return failed, frozenset(frozenset(ends) for ends in links if not failed.intersection(ends))


def without_grid(data: Any, *others: str) -> Any:
    """The fields of a network that older files describe as a mesh too, without those of the mesh and others.

    >>> without_grid({"kind": "mesh", "sizes": [4, 3], "wrap": None, "network": "full4 x ring3"})
    {'network': 'full4 x ring3'}
    """
    # Those files have all fields of the mesh that are not null; who writes a spec leaves some out.
    if not isinstance(data, Mapping) or data.get("kind") != "mesh" or "sizes" not in data:
        return data
    if not {"wrap", "twist"} & set(data):
        return data
    extra = ("kind", "sizes", "wrap", "twist", *others)
    return {name: value for name, value in data.items() if name not in extra}
