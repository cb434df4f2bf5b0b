"""Networks whose nodes have coordinates, also by what names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, require_kind
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.families import is_family
from flitloom.spec.product import Product
from flitloom.spec.topology import Topology
from flitloom.spec.what import fields_of


def is_product(fields: Mapping[str, Any]) -> bool:
    """Whether fields of a topology name a product, whose one-cycle routers are simulated.

    >>> is_product({"network": "full8 x full8"}), is_product({"network": "dragonfly(4,2,2)"})
    (True, False)
    """
    return "network" in fields and not is_family(fields["network"]) and not {"tables", "failed"} & set(fields)


def grid_of_fields(fields: Mapping[str, Any]) -> Topology | Product | None:
    """The torus, mesh or product that fields describe, or none where they describe switches or cables.

    >>> print(grid_of_fields({"sizes": "4x3"}), grid_of_fields({"network": "fattree(4)"}))
    4x3 torus None
    """
    given = {name: value for name, value in fields.items() if value is not None and name != "content"}
    if is_product(given):
        return Product(**given)
    return None if {"network", "graph", "direct", "options", "cables"} & set(given) else Topology(**given)


def torus_of(what: AnyNetwork | str | Path, known: str, advice: str = "") -> Topology:
    """A torus or mesh, also by what names it, where only these are known.

    Parameters
    ----------
    what : AnyNetwork, str or path
        The network.
    known : str
        What is known of tori and meshes only, for the message.
    advice : str
        What there is for other networks.

    Raises
    ------
    SpecError
        It is another network, or none.

    Examples
    --------
    >>> print(torus_of("mesh 4x4", "source routes"))
    4x4 mesh
    >>> torus_of("fattree(4)", "source routes")
    Traceback (most recent call last):
    flitloom.errors.SpecError: topology: fattree(4) has switches, and source routes are for tori and meshes
    """
    if isinstance(what, str | Path):
        grid = grid_of_fields(fields_of(what, "topology"))
        if grid is None:
            problem = f"{what} has switches, and {known} are for tori and meshes"
            raise SpecError.at("topology", problem, advice)
        what = grid
    require_kind("topology", what, AnyNetwork, "topology", "fl.Torus(...), fl.Mesh(...) or fl.Product(...)")
    plain: Topology = what.torus(known, advice)
    return plain
