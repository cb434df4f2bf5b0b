"""Products of rings, lines, full meshes and circulants as networks of one-cycle routers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationInfo, model_validator

from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.numerals import counted
from flitloom.spec.base import problem
from flitloom.spec.factors import Factor, OfFactors, factors_of
from flitloom.spec.product import Product, checked_network
from flitloom.spec.topology import Topology


class Factored(OfFactors, Topology):
    """A product whose routers are simulated; what `Product` becomes in a `Network` of one-cycle routers.

    Parameters
    ----------
    network : str
        The factors, x first, as ``full8 x ring4``.
    failed_nodes, failed_links
        As in `Topology`.

    Examples
    --------
    >>> from flitloom.spec.factored import Factored
    >>> product = Factored(network="full8 x ring4")
    >>> product.nodes, product.full, product.wraps
    (32, (True, False), (False, True))
    """

    network: str

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            network: str,
            failed_nodes: Iterable[int | str] = (),
            failed_links: Iterable[Any] = (),
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _count_nodes(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping):
            return data
        network = checked_network(data.get("network"), info)
        factors = factors_of(network)
        for factor in factors:
            if factor.width > 1:
                raise problem(
                    f"{factor}: parallel links are not known with routers of one cycle",
                    f"write {factor._replace(width=1)}, or give router.model = pipelined",
                )
        links = sum(_links(factor) for factor in factors)
        if links > LIMITS["directions"]:
            at_most = f"routers of one cycle have at most {LIMITS['directions']}"
            advice = "give router.model = pipelined"
            raise problem(f"{network}: {links} directions of links per router; {at_most}", advice)
        fields = {"sizes": tuple(factor.size for factor in factors), "wrap": None, "twist": False}
        return {**data, **fields, "kind": "mesh", "network": network}

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The dimensions."""
        return factors_of(self.network)

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Whether each dimension is a ring (never for size 2)."""
        return tuple(factor.kind == "ring" and factor.size > 2 for factor in self.factors)

    @property
    def full(self) -> tuple[bool, ...]:
        """Whether each dimension is a full mesh (of size 2 it is a line)."""
        return tuple(factor.kind == "full" and factor.size > 2 for factor in self.factors)

    def require_rings(self, what: str) -> None:
        """Refuse full meshes and circulants where only rings and lines are known.

        Raises
        ------
        SpecError
            A dimension is a full mesh or a circulant.
        """
        if any(self.full) or any(self.steps):
            raise SpecError.at("network", f"{self.network} is a product, and {what} for tori and meshes")

    def __str__(self) -> str:
        failed = len(self.failed_nodes) + len(self.failed_links)
        return self.network + (f" with {counted(failed, 'failed part')}" if failed else "")


def _links(factor: Factor) -> int:
    """Directions of links of a dimension: two for every step of a circulant, or up to half a full mesh."""
    return 2 * (factor.size // 2) if factor.kind == "full" else 2 * len(factor.steps or (1,))


def factored(product: Product) -> Factored:
    """A product as a network of one-cycle routers.

    >>> import flitloom as fl
    >>> print(factored(fl.Product("full8 x full8")))
    full8 x full8
    """
    failed = product.failed_nodes, product.failed_links
    return Factored(network=product.network, failed_nodes=failed[0], failed_links=failed[1])
