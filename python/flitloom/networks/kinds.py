"""Which network fields describe, and which one routers run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic
from pydantic import GetJsonSchemaHandler, SerializeAsAny, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema

from flitloom.errors import SpecError, require_kind
from flitloom.networks.described import Described
from flitloom.networks.fabric import Fabric
from flitloom.spec.any_network import AnyNetwork, without_grid
from flitloom.spec.base import Problems, problem, problems_of
from flitloom.spec.graph import Graph
from flitloom.spec.grids import grid_of_fields, is_product
from flitloom.spec.product import Product
from flitloom.spec.topology import Topology
from flitloom.spec.what import fields_of, with_network

#: Fields of which one names a network that may have switches.
OF_SWITCHES = {"network", "graph", "direct", "options"}


def network_of_fields(fields: Mapping[str, Any]) -> AnyNetwork:
    """The network that fields describe, with hosts at switches where they name a family or a file of cables.

    >>> print(network_of_fields({"network": "fattree(4)"}), "-", network_of_fields({"sizes": "4x3"}))
    fattree(4) with 16 hosts - 4x3 torus
    """
    given = {name: value for name, value in fields.items() if value is not None and name != "content"}
    if "cables" in given:
        return Graph(**given)
    return grid_of_fields(given) or _with_hosts(given)(**given)


def _with_hosts(fields: Mapping[str, Any]) -> type[AnyNetwork]:
    """What switches with hosts are that fields describe."""
    return Described if "options" in fields else Fabric


def described(what: AnyNetwork | str | Path, place: str = "topology", folder: Path = Path()) -> AnyNetwork:
    """A network, also by what names it: a torus or mesh, a product, or switches with hosts.

    Raises
    ------
    SpecError
        It is not a network, and names none.

    Examples
    --------
    >>> print(described("mesh 4x4"), "-", described("full4 x ring3"), "-", described("dragonfly(3,1,2)"))
    4x4 mesh - full4 x ring3 - dragonfly(3,1,2) with 24 hosts
    """
    if isinstance(what, str | Path):
        return network_of_fields(fields_of(what, place, folder))
    require_kind(place, what, AnyNetwork, "topology", "fl.Torus(...), fl.Mesh(...) or fl.Product(...)")
    return what


def run_by(topology: AnyNetwork, model: str | None) -> AnyNetwork:
    """The network that routers of a model run: itself, or its switches with hosts.

    Raises
    ------
    SpecError
        These routers do not run it.

    Examples
    --------
    >>> product = Product("full4 x ring3")
    >>> print(run_by(product, "one-cycle"), "-", run_by(product, "pipelined"))
    full4 x ring3 - full4 x ring3 with 12 hosts
    """
    fields = topology.run_as(model)
    return topology if fields is None else Fabric(**fields)


def folder_of(info: ValidationInfo) -> Path:
    """The folder that names of files in a spec are relative to."""
    return Path((info.context or {}).get("folder", ""))


class OrName:
    """In a JSON schema: a field may also be the text that names a network."""

    #: Kinds of networks that a table of fields may describe besides.
    others: ClassVar[tuple[type[AnyNetwork], ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        text = {
            "type": "string",
            "description": "as --network takes it: sizes, a product, a family or a file",
        }
        tables = [handler(kind.__pydantic_core_schema__) for kind in cls.others]
        return {"anyOf": [handler(schema), *tables, text]}


class AnyOrName(OrName):
    """The same where a table of fields may describe any network."""

    others = (Product, Fabric, Graph, Described)


def choose_model(data: Any, info: ValidationInfo) -> Any:
    """Make the network of an experiment one that its routers run; fields that say a grid are left alone."""
    if not isinstance(data, Mapping) or "topology" not in data:
        return data
    try:
        data = with_network(dict(data), folder_of(info))
    except SpecError as error:
        raise problem(str(error)) from None
    router, topology = data.get("router"), data["topology"]
    model = router.get("model") if isinstance(router, Mapping) else getattr(router, "model", None)
    if isinstance(topology, AnyNetwork):
        try:
            return {**data, "topology": run_by(topology, model)}
        except SpecError as error:
            raise problem(str(error)) from None
    if model != "pipelined" or not isinstance(topology, Mapping) or not OF_SWITCHES & set(topology):
        return data
    _refuse_two(topology, "topology: ")
    return {**data, "topology": _chosen(_with_hosts(topology), topology, info, "topology")}


def choose_topology(data: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> AnyNetwork:
    """A product or a network of switches where fields say one, else a torus or mesh."""
    if isinstance(data, AnyNetwork):
        return data
    if isinstance(data, Mapping) and "cables" in data:
        data = {"direct": data}
    if not isinstance(data, Mapping) or not OF_SWITCHES & set(data):
        made: Topology = handler(data)
        return made
    _refuse_two(data)
    chosen = _chosen(Product if is_product(data) else _with_hosts(data), data, info)
    try:
        return chosen if chosen.subnet else run_by(chosen, None)
    except SpecError as error:
        raise problem(error.problem, error.advice) from None


def _refuse_two(fields: Mapping[str, Any], place: str = "") -> None:
    """Refuse fields that name two networks."""
    given = without_grid(fields)
    named = [name for name in ("sizes", "network", "graph") if given.get(name) is not None]
    if len(named) > 1:
        raise problem(f"{place}names two networks, by {named[0]} and by {named[1]}", "keep one of them")


def _chosen(
    kind: type[AnyNetwork], data: Mapping[str, Any], info: ValidationInfo, place: str = ""
) -> AnyNetwork:
    """The network of fields, whose problems are told with their places, below `place` if there is one."""
    try:
        return kind.model_validate(dict(data), context=info.context)
    except pydantic.ValidationError as error:
        problems = Problems()
        found, problems.more = problems_of(error)
        for location, text in found:
            field, _, rest = text.partition(": ")
            if place and not location and field in kind.model_fields:
                location, text = [field], rest
            # A file or an option is named by the message itself.
            problems.first.append(([place, *location] if place and location else location, text))
        problems.end()
        raise


if TYPE_CHECKING:
    Simulated = AnyNetwork
else:
    #: The network of an experiment; fields that name no other are those of a torus or mesh.
    Simulated = SerializeAsAny[Topology]
