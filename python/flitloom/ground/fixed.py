"""Values that cannot be changed once they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from flitloom.errors import SpecError

Kind = TypeVar("Kind", bound=type)


class Fixed:
    """A value whose public attributes can be set until its constructor calls `_fix`.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Network(fl.Torus(4, 4)).nodes = 3
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: Network.nodes: a Network is immutable; create a new one ...
    """

    _fixed = False

    def _fix(self) -> None:
        self._fixed = True

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if self._fixed and not name.startswith("_"):
                raise unchangeable(self, name, hasattr(self, name))
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if self._fixed and not name.startswith("_"):
                raise unchangeable(self, name, hasattr(self, name))
            super().__delattr__(name)


def explained(kind: Kind) -> Kind:
    """Let a frozen dataclass refuse changes with a message that tells what to do.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Operation("all-to-all").message = 3
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: Operation.message: an Operation is immutable; create a new one ...
    """

    def refuse(value: object, name: str, *_given: object) -> None:
        raise unchangeable(value, name, hasattr(value, name))

    kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[assignment]
    return kind


def unchangeable(value: object, name: str, there: bool) -> SpecError:
    """The error when an attribute of such a value is set; `there`: whether it has that attribute."""
    kind = type(value).__name__
    named = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
    what = f"another {name}" if there else "what it should be"
    return SpecError.at(f"{kind}.{name}", f"{named} is immutable", f"create a new one with {what}")
