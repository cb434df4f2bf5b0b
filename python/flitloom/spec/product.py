"""Networks beyond rings: products of rings, lines, full meshes and circulants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import gcd, prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ValidationInfo

from flitloom._core import LIMITS
from flitloom.errors import show
from flitloom.numerals import counted
from flitloom.spec.base import Checked, SpecModel, each, listed, one_of, problem
from flitloom.spec.factors import (
    KINDS,
    MOST_STEPS,
    WIDEST,
    Factor,
    OfFactors,
    factors_of,
    parse_factors,
)
from flitloom.spec.families import is_family
from flitloom.spec.graph import Graph
from flitloom.spec.topology import CABLE, NODE_OR_PLACE, Topology, failed_parts, read_cable, read_node


def checked_network(value: Any, _: ValidationInfo) -> str:
    """The canonical text of a product."""
    hint = (
        'write factors like "full8 x ring4*6 x circulant(16;1,4)": ring, line or full and the size, '
        "or a circulant with its steps, and *6 for six links"
    )
    if not isinstance(value, str):
        raise problem(f"{show(value)} is not a network", hint)
    factors = []
    for factor in parse_factors(value):
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
    # By its name alone a circulant is a family of graphs.
    return f"{text}*1" if len(factors) == 1 and factors[0].steps and factors[0].width == 1 else text


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
_TEXT = {"type": "string", "pattern": f"^{_ONE}( *x *{_ONE})*$"}


class Product(OfFactors, SpecModel):
    """A product of rings, lines, full meshes and circulants, with its failed parts.

    Along a ring or line a node is linked to the next ones, along a full mesh to all others of its line, along
    a circulant to those some steps ahead and behind. Collective operations are planned on products without
    circulants, and packets are simulated on all.

    Parameters
    ----------
    network : str
        The factors, x first: ``full8``, ``ring16``, ``line4`` or ``circulant(16;1,4)``, each with ``*2`` for
        two parallel links.
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
    #: As those of a topology: no product is twisted.
    twist: ClassVar[bool] = False

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

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The dimensions."""
        return factors_of(self.network)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes along each dimension."""
        return tuple(factor.size for factor in self.factors)

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Whether the ends of each dimension are linked."""
        return tuple(factor.kind in ("ring", "full") and factor.size > 2 for factor in self.factors)

    @property
    def full(self) -> tuple[bool, ...]:
        """Whether each dimension is a full mesh."""
        return tuple(factor.kind == "full" for factor in self.factors)

    @property
    def width(self) -> tuple[int, ...]:
        """Parallel links of each dimension."""
        return tuple(factor.width for factor in self.factors)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.sizes)

    @property
    def ports(self) -> int:
        """Links that leave a node in the middle of its lines."""
        return sum(_ways(factor) * factor.width for factor in self.factors)

    def is_as(self, other: object) -> bool:
        """Whether the same nodes are linked in the same way.

        >>> import flitloom as fl
        >>> fl.Product("full4xring3").is_as(fl.Product("full4 x ring3"))
        True
        """
        return isinstance(other, Product) and self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        return self.network, *failed_parts(self.failed_nodes, self.failed_links)

    def __str__(self) -> str:
        failed = len(self.failed_nodes) + len(self.failed_links)
        return self.network + (f" with {counted(failed, 'failed part')}" if failed else "")


def _ways(factor: Factor) -> int:
    """Other nodes that one in the middle of a line of a dimension is linked to."""
    if factor.steps:
        return sum(1 if 2 * step == factor.size else 2 for step in factor.steps)
    return factor.size - 1 if factor.kind == "full" else min(factor.size - 1, 2)


#: Every kind of network.
AnyNetwork = Topology | Product | Graph


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
