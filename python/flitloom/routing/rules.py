"""What a router accepts as a route, as data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, model_validator

from flitloom import _core
from flitloom.errors import SpecError, show
from flitloom.spec.base import SpecModel, each, problem, text, whole

#: Rules with a name of their own.
NAMED_RULES = ("angara", "dimension-order", "dateline", "unrestricted")


class RouterRules(SpecModel):
    """Direction order, direction bits, first and last steps, and what keeps rings from blocking.

    Parameters
    ----------
    name : str
        What the rules are called.
    order : sequence of str
        Every direction once (``"+x"``, ``"-y"``, ...), in the order in which a route may use them.
    direction_bits : bool
        Whether a route keeps to one sign per dimension between its first and its last step.
    first_steps, last_steps : sequence of str
        Directions that the first or the last hop of a route may take against the order.
    virtual_channels : int, optional
        Virtual channels per link; without them one channel per link and the bubble rule.
    datelines : bool
        Whether a packet moves one virtual channel up at each dateline.

    Examples
    --------
    >>> from flitloom.routing import RouterRules
    >>> RouterRules.named("angara", 2).order        # angara-routing-2021, Section 2.1
    ('+x', '+y', '-x', '-y')
    """

    place: ClassVar[str] = "rules"

    name: str = "custom"
    order: Annotated[tuple[str, ...], BeforeValidator(each(text, 12, 2))]
    direction_bits: bool = True
    first_steps: Annotated[tuple[str, ...], BeforeValidator(each(text, 12))] = ()
    last_steps: Annotated[tuple[str, ...], BeforeValidator(each(text, 12))] = ()
    virtual_channels: Annotated[int, whole(1, 16)] | None = None
    datelines: bool = False

    @model_validator(mode="after")
    def _datelines_need_channels(self) -> RouterRules:
        if self.datelines and self.virtual_channels is None:
            raise problem("datelines need virtual_channels")
        return self

    @classmethod
    def named(cls, name: str, dimensions: int) -> RouterRules:
        """Rules of a name: ``angara``, ``dimension-order``, ``dateline`` or ``unrestricted``."""
        if name not in NAMED_RULES:
            raise SpecError(f"rules: {show(name)} is unknown; they are one of {', '.join(NAMED_RULES)}")
        parts: dict[str, Any] = _core.RoutingRules.named(name, dimensions).parts()
        return cls(**parts)

    def core(self) -> _core.RoutingRules:
        """The same rules in the core."""
        return _core.RoutingRules(
            self.name,
            self.order,
            self.direction_bits,
            self.first_steps,
            self.last_steps,
            self.virtual_channels,
            self.datelines,
        )
