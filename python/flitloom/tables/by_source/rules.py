"""What a router accepts as a route, as data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, model_validator

from flitloom import _core
from flitloom.errors import SpecError, unknown
from flitloom.ground.numerals import counted
from flitloom.spec import Topology
from flitloom.spec.base import SpecModel, each, problem, text, whole
from flitloom.spec.topology import BY_DESTINATION

#: Rules with a name of their own.
NAMED_RULES = _core.LISTS["rules"]


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
    any_walk : bool
        Whether a check accepts any walk over working links and asks only for absence of deadlock.

    Examples
    --------
    >>> from flitloom.tables.by_source.rules import RouterRules
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
    any_walk: bool = False

    @model_validator(mode="after")
    def _datelines_need_channels(self) -> RouterRules:
        if self.datelines and self.virtual_channels is None:
            raise problem("datelines need virtual_channels")
        return self

    @classmethod
    def named(cls, name: str, dimensions: int) -> RouterRules:
        """Rules of a name: ``angara``, ``dimension-order``, ``dateline`` or ``unrestricted``.

        ``angara-y`` is the order of ``angara`` with the two ways along y exchanged, and so on.

        >>> RouterRules.named("angara-y", 2).order
        ('+x', '-y', '-x', '+y')
        """
        try:
            return cls.of(_core.RoutingRules.named(name, dimensions))
        except SpecError:
            raise SpecError.at(
                "rules",
                f"{unknown(name, NAMED_RULES)}, or angara-y and the like, with the letters of "
                "dimensions whose two directions are exchanged",
            ) from None

    @classmethod
    def chosen(cls, rules: RouterRules | str, topology: Topology) -> RouterRules:
        """Rules as they are, or those of a name for a network."""
        return cls.named(rules, len(topology.sizes)) if isinstance(rules, str) else rules

    @classmethod
    def of(cls, rules: _core.RoutingRules) -> RouterRules:
        """Rules of the core."""
        parts: dict[str, Any] = rules.parts()
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
            self.any_walk,
        )

    @property
    def title(self) -> str:
        """The name under which these very rules are known, for any given name.

        >>> RouterRules.named("dateline", 2).title, RouterRules(name="dateline", order=("+x", "-x")).title
        ('dateline', 'custom rules')
        """
        return self.name if self.known else "custom rules"

    @property
    def known(self) -> bool:
        """Whether these are the known rules of their name."""
        with suppress(SpecError):
            return self == RouterRules.named(self.name, len(self.order) // 2)
        return False

    def describe(self) -> str:
        """The rules as text, with all that a verdict about deadlocks rests on.

        >>> RouterRules.named("angara", 2).describe()
        'angara: 1 channel per link, bubble rule, order +x +y -x -y'
        >>> RouterRules.named("unrestricted", 1).describe()
        'unrestricted: 1 channel per link, no bubble rule, any walk'
        """
        count = self.virtual_channels or 1
        parts = [f"{counted(count, 'channel')} per link"]
        parts.append("bubble rule" if self.virtual_channels is None else "no bubble rule")
        if self.datelines:
            parts.append("datelines")
        parts.append("any walk" if self.any_walk else "order " + " ".join(self.order))
        return f"{self.title}: {', '.join(parts)}"


def routing_system(
    topology: Topology,
    rules: RouterRules,
    turns: str = "none",
    progress: Callable[[float], None] | None = None,
) -> _core.RoutingSystem:
    """The topology with the rules and the turns of a policy, in the core."""
    topology.require_plain("source routes", BY_DESTINATION)
    return _core.RoutingSystem(topology.core(), rules.core(), turns, progress)
