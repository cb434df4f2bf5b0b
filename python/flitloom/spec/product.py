"""Networks beyond rings: products of rings, lines, full meshes and circulants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ValidationInfo, model_validator

from flitloom._core import LIMITS
from flitloom.errors import SpecError, show
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork, Grid, without_grid
from flitloom.spec.base import Checked, each, listed, one_of, problem
from flitloom.spec.factors import (
    KINDS,
    MOST_STEPS,
    TWISTED,
    WIDEST,
    Factor,
    factors_of,
    parse_factors,
    split_twist,
)
from flitloom.spec.families import is_family
from flitloom.spec.graph import Graph
from flitloom.spec.topology import (
    CABLE,
    NODE_OR_PLACE,
    TWIST,
    Topology,
    has_twist,
    is_grid,
    read_cable,
    read_node,
)


def checked_network(value: Any, _: ValidationInfo) -> str:
    """The canonical text of a product."""
    hint = (
        'write factors like "full8 x ring4*6 x circulant(16;1,4)": ring, line or full and the size, '
        "or a circulant with its steps, and *6 for six links"
    )
    if not isinstance(value, str):
        raise problem(f"{show(value)} is not a network", hint)
    twist, listed_factors = split_twist(value)
    factors = []
    for factor in parse_factors(listed_factors):
        if isinstance(factor, str):
            raise problem(f"{show(factor)} is not a factor", hint)
        factors.append(factor)
    for factor in factors:
        if factor.size < 2:
            raise problem(f"{factor}: a factor has at least 2 nodes")
        _check_steps(factor)
        if not 1 <= factor.width <= WIDEST:
            raise problem(f"{factor}: 1 to {WIDEST} parallel links are possible")
    if len(factors) > LIMITS["dimensions"]:
        raise problem(f"{len(factors)} factors; at most {LIMITS['dimensions']} are possible")
    nodes = prod(factor.size for factor in factors)
    if nodes > LIMITS["nodes"]:
        raise problem(f"{counted(nodes, 'node')}; at most {LIMITS['nodes']} are possible")
    text = " x ".join(map(str, factors))
    if twist:
        _check_twist(factors)
        return f"{TWISTED}{text}"
    # By its name alone a circulant is a family of graphs.
    return f"{text}*1" if len(factors) == 1 and factors[0].steps and factors[0].width == 1 else text


def _check_twist(factors: Sequence[Factor]) -> None:
    """Refuse factors that are not those of a twisted torus, or of one that its sizes say alone."""
    sizes = [factor.size for factor in factors]
    if {factor.kind for factor in factors} != {"ring"} or not has_twist(sizes):
        raise problem(f"twist: {' x '.join(map(str, factors))} has none", TWIST)
    if all(factor.width == 1 for factor in factors):
        named = "x".join(map(str, sizes))
        raise problem("a twisted torus of single links is named by its sizes", f"write {TWISTED}{named}")


def _check_steps(factor: Factor) -> None:
    """Refuse steps that a circulant does not have, or that do not join its nodes."""
    size, steps = factor.size, factor.steps
    if not steps:
        return
    if len(steps) > MOST_STEPS:
        raise problem(f"{factor}: {len(steps)} steps; as a factor a circulant has at most {MOST_STEPS}")
    if not 0 < steps[0] <= steps[-1] <= size // 2 or len(set(steps)) < len(steps):
        raise problem(f"{factor}: its steps have to be different, from 1 to {size // 2}, half its size")
    if (parts := gcd(size, *steps)) > 1:
        raise problem(f"{factor}: is in {parts} parts, since its size and steps are multiples of {parts}")


_ONE = rf"(({'|'.join(KINDS)})[0-9]+|circulant\([0-9]+;[0-9]+(,[0-9]+)*\))(\*[0-9]+)?"
_TEXT = {"type": "string", "pattern": f"^({TWISTED})?{_ONE}( *x *{_ONE})*$"}


class Product(AnyNetwork):
    """A product of rings, lines, full meshes and circulants, with its failed parts.

    Along a ring or line a node is linked to the next ones, along a full mesh to all others of its line, along
    a circulant to those some steps ahead and behind. Collective operations are planned on products without
    circulants, and packets are simulated on all.

    Parameters
    ----------
    network : str
        The factors, x first: ``full8``, ``ring16``, ``line4`` or ``circulant(16;1,4)``, each with ``*2`` for
        two parallel links. A torus of them may be twisted: ``twisted ring4*2 x ring8``.
    failed_nodes, failed_links
        As in `Topology`.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Product("full8 x full8 x ring4*6")
    >>> network.nodes, network.ports
    (256, 26)
    >>> print(network)
    full8 x full8 x ring4*6
    >>> fl.Product("circulant(16;1,4) x ring4").ports
    6
    """

    place: ClassVar[str] = "network"
    positional: ClassVar[str] = "network"

    kind: Annotated[str, one_of("product")] = "product"
    network: Annotated[str, Checked(checked_network, _TEXT)]
    failed_nodes: Annotated[tuple[int, ...], Checked(each(read_node), listed(NODE_OR_PLACE))] = ()
    failed_links: Annotated[tuple[tuple[int, int], ...], Checked(each(read_cable), listed(CABLE))] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            network: str,
            *,
            failed_nodes: Iterable[int | str] = (),
            failed_links: Iterable[Sequence[int] | str] = (),
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, data: Any) -> Any:
        return without_grid(data)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The dimensions."""
        return factors_of(self.network)

    @property
    def twist(self) -> bool:
        """Whether it is a twisted torus."""
        return split_twist(self.network)[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes along each dimension."""
        return tuple(factor.size for factor in self.factors)

    @cached_property
    def grid(self) -> Grid:
        """Its rings, lines, full meshes and circulants."""
        kinds = [factor.kind if factor.size > 2 else "line" for factor in self.factors]
        return Grid(
            self.sizes,
            tuple(self.twist or kind == "ring" for kind in kinds),
            tuple(kind == "full" for kind in kinds),
            tuple(factor.steps for factor in self.factors),
            tuple(factor.width for factor in self.factors),
            self.twist,
            self.failed_nodes,
            self.failed_links,
        )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)

    @property
    def ports(self) -> int:
        """Links that leave a node in the middle of its lines."""
        return sum((2 if self.twist else _ways(factor)) * factor.width for factor in self.factors)

    @property
    def single(self) -> AnyNetwork:
        """The same product, or a torus or mesh, with one link where several are parallel."""
        grid = self.grid
        if max(grid.width) == 1:
            return self
        if any(grid.full) or any(grid.steps):
            single = " x ".join(str(factor._replace(width=1)) for factor in self.factors)
            return Product(single, failed_nodes=self.failed_nodes, failed_links=self.failed_links)
        return self._of_rings_and_lines()

    def run_as(self, model: str | None) -> dict[str, Any] | None:
        """Itself by routers of one cycle; pipelined ones follow tables between hosts of switches."""
        if model != "pipelined":
            self.require_one_cycle()
            return None
        parts = [f"node:{node}" for node in self.failed_nodes]
        parts += [f"link:{a}-{b}" for a, b in self.failed_links]
        return {"network": self.network, **({"failed": parts} if parts else {})}

    def torus(self, what: str, advice: str = "") -> Topology:
        """The torus or mesh that it is, if it has rings and lines only."""
        self.require_plain(what, advice)
        return self._of_rings_and_lines()

    def _of_rings_and_lines(self) -> Topology:
        """The torus or mesh of single links whose rings and lines it has."""
        grid = self.grid
        kind, wrap = ("torus", grid.wraps) if any(grid.wraps) else ("mesh", None)
        failed = self.failed_nodes, self.failed_links
        return Topology(
            kind=kind,
            sizes=grid.sizes,
            wrap=wrap,
            twist=grid.twist,
            failed_nodes=failed[0],
            failed_links=failed[1],
        )

    def require_one_cycle(self) -> None:
        """Refuse what routers of one cycle have no room for.

        Raises
        ------
        SpecError
            There are parallel links, or too many directions of links.
        """
        for factor in self.factors:
            if factor.width > 1:
                raise SpecError.at(
                    "topology",
                    f"{factor}: parallel links are not known with routers of one cycle",
                    f"write {factor._replace(width=1)}, or give router.model = pipelined",
                )
        links = sum(_directions(factor) for factor in self.factors)
        if links > LIMITS["directions"]:
            raise SpecError.at(
                "topology",
                f"{self.network}: {links} directions of links per router; routers of one cycle have at most "
                f"{LIMITS['directions']}",
                "give router.model = pipelined",
            )

    def __str__(self) -> str:
        failed = len(self.failed_nodes) + len(self.failed_links)
        return self.network + (f" with {counted(failed, 'failed part')}" if failed else "")


def _ways(factor: Factor) -> int:
    """Other nodes that one in the middle of a line of a dimension is linked to."""
    if factor.steps:
        return sum(1 if 2 * step == factor.size else 2 for step in factor.steps)
    return factor.size - 1 if factor.kind == "full" else min(factor.size - 1, 2)


def _directions(factor: Factor) -> int:
    """Directions of links of a dimension: two for every step of a circulant, or up to half a full mesh."""
    return 2 * (factor.size // 2) if factor.kind == "full" else 2 * len(factor.steps or (1,))


def network_of(fields: dict[str, Any]) -> AnyNetwork:
    """The network that the fields of a file or of options describe.

    >>> network_of({"network": "slimfly(5)"}).nodes, network_of({"network": "full8 x full4"}).nodes
    (50, 32)
    """
    if "cables" in fields:
        return Graph(**fields)
    if is_family(fields.get("network")):
        return Graph.family(fields["network"], **{k: v for k, v in fields.items() if k != "network"})
    return Product(**fields) if "network" in fields else Topology(**fields)


def with_beside(network: AnyNetwork, twist: bool = False, width: Sequence[int] = ()) -> AnyNetwork:
    """A torus or mesh with the twist and the parallel links per dimension that are said beside it.

    Raises
    ------
    SpecError
        It has no such twist, it says its links itself, or there are too few or too many numbers.

    Examples
    --------
    >>> import flitloom as fl
    >>> print(with_beside(fl.Torus(4, 8), True), "-", with_beside(fl.Torus(4, 8), True, [2, 1]))
    4x8 twisted torus - twisted ring4*2 x ring8
    """
    failed: dict[str, Any] = {"failed_nodes": network.failed_nodes, "failed_links": network.failed_links}
    if twist and not network.twist:
        if not is_grid(network):
            raise SpecError.at("twist", f"{network} has none", "a twisted torus is given by its sizes")
        if not all(wraps or size == 2 for wraps, size in zip(network.wraps, network.sizes, strict=True)):
            raise SpecError.at("twist", f"a {network} has none", TWIST)
        network = Topology(sizes=network.sizes, twist=True, **failed)
    if not width:
        return network
    if not is_grid(network):
        how = "list a cable twice" if network.grid is None else "e.g. ring4*6"
        raise SpecError.at("width", "the network says its own", f"write it into the network: {how}")
    if len(width) != len(network.sizes):
        dimensions = counted(len(network.sizes), "dimension")
        raise SpecError.at("width", f"{len(width)} numbers for {dimensions}")
    if set(width) == {1}:
        return network
    kinds = ["ring" if wraps else "line" for wraps in network.wraps]
    factors = [Factor(*one) for one in zip(kinds, network.sizes, width, strict=True)]
    return Product(TWISTED * network.twist + " x ".join(map(str, factors)), **failed)
