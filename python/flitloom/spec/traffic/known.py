"""The closed list of kinds of traffic, and what a spec holds of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Union

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from flitloom.errors import show
from flitloom.spec.any_traffic import AnyTraffic
from flitloom.spec.traffic.collective import Collective
from flitloom.spec.traffic.load import Load
from flitloom.spec.traffic.messages import Messages
from flitloom.spec.traffic.packets import Packets
from flitloom.spec.traffic.traffic_matrix import TrafficMatrix


def name_of(kind: type[AnyTraffic]) -> str:
    """What a spec calls a kind.

    >>> name_of(TrafficMatrix)
    'matrix'
    """
    return str(kind.model_fields["kind"].default)


#: All kinds of traffic by their names, in the order in which messages name them.
KINDS: dict[str, type[AnyTraffic]] = {
    name_of(kind): kind for kind in (Collective, Load, Packets, TrafficMatrix, Messages)
}


def kind_of(fields: Mapping[str, Any]) -> type[AnyTraffic] | None:
    """The kind that fields say, by its name or by the field that needs no name in Python; or none.

    >>> kind_of({"kind": "load", "pattern": "shfl"}), kind_of({"matrix": "m.csv"}), kind_of({"rate": 0.1})
    (<class '...Load'>, <class '...TrafficMatrix'>, None)
    """
    named = KINDS.get(str(fields.get("kind")))
    return named or next((kind for kind in KINDS.values() if kind.positional in fields), None)


def _check_kind(traffic: Any) -> Any:
    """Refuse fields that name no kind."""
    if isinstance(traffic, Mapping) and str(traffic.get("kind")) not in KINDS:
        problem = f"{show(str(traffic['kind']))} is unknown" if "kind" in traffic else "is missing"
        *others, last = KINDS
        told = f"{problem}; it must be {', '.join(others)} or {last}"
        raise PydanticCustomError("unknown_kind", "{told}", {"told": told})
    return traffic


class OfAnyKind:
    """The traffic of a spec, which ``kind`` tells apart."""

    @staticmethod
    def parts() -> Iterable[type[AnyTraffic]]:
        """What it may be, for messages that name fields."""
        return KINDS.values()

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        kinds: Any = Union[tuple(KINDS.values())]  # noqa: UP007
        chosen = handler.generate_schema(Annotated[kinds, Field(discriminator="kind")])
        return core_schema.no_info_before_validator_function(_check_kind, chosen)


#: A field of a spec that holds any of them.
Traffic = Annotated[AnyTraffic, OfAnyKind]
