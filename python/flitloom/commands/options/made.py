"""Options made of the fields of specs: alone, or a data class of all that belong to a part."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from flitloom.commands.options.patterns import remarked
from flitloom.spec.words import FIELDS, OPTIONS, Option, flags, spoken

#: What a verb calls the values of an option that it takes several of.
_PLURALS = {"NAME": "NAMES", "RULE": "RULES", "": "NUMBERS"}


def shown(
    name: str, *, several: bool = False, default: bool = True, note: str = "", usual: str = "", **changes: Any
) -> Any:
    """What Typer is told of the option of a field, with changes by the names of `typer.Option`'s arguments.

    Without `default` the help names none, for verbs that have another one; `usual` is that of a verb. A
    `note` is added: what a verb makes of it.

    Examples
    --------
    >>> shown("buffer").help
    'Depth of every input queue, in flits. [default: 4]'
    >>> shown("mesh", note="for files that do not say").help
    'Sizes of a mesh, e.g. 8x8; for files that do not say.'
    >>> shown("buffer", usual="16").help
    'Depth of every input queue, in flits. [default: 16]'
    """
    about = OPTIONS[name]
    if name == "pattern":
        changes = {"callback": remarked, **changes}
    metavar = about.metavar or None
    if several and about.several:
        metavar = _PLURALS.get(about.metavar, about.metavar)
    text = about.text(several, default and not usual) + (f" [default: {usual}]" if usual else "")
    if note:
        end = "]" if text.endswith("]") else "."
        text = f"{text.removesuffix(end)}; {note}{end}"
    return typer.Option(*flags(name), **{"help": text, "metavar": metavar, **changes})


def kind_of(about: Option, several: bool = False) -> Any:
    """The type of the values of an option, as Typer takes it."""
    if about.kind is bool:
        return bool
    if several and about.several:
        return str | None
    return (list[str] if about.kind is list else about.kind) | None


class Group:
    """Options that belong together: those of a part of a spec, in their order there, and other fields.

    Subclasses are data classes. `grouped` shows Typer their fields.

    Examples
    --------
    >>> class Queues(Group, part="router", only=("channels", "buffer")):
    ...     "How long and how many queues are."
    >>> Queues(buffer=8).given()
    {'buffer': 8}
    """

    _part: ClassVar[str] = ""

    if TYPE_CHECKING:

        def __init__(self, **values: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(
        cls,
        part: str = "",
        only: Sequence[str] | None = None,
        several: bool = False,
        changes: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        own = inspect.get_annotations(cls)
        cls._part = part or cls._part
        made: dict[str, Any] = {}
        for name in (FIELDS[part] if part else ()) if only is None else only:
            about = OPTIONS[name]
            made[name] = Annotated[
                kind_of(about, several), shown(name, several=several, **(changes or {}).get(name, {}))
            ]
            setattr(cls, name, False if about.kind is bool else None)
        cls.__annotations__ = {**made, **own}
        dataclass(cls)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the options.

        >>> from flitloom.commands.options import Router
        >>> Router.names()[:3]
        ('model', 'preset', 'channels')
        """
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    def given(self) -> dict[str, Any]:
        """Fields of the part that were given, files as absolute paths."""
        known = FIELDS.get(self._part, OPTIONS)
        values = {name: getattr(self, name) for name in self.names() if name in known}
        return {
            name: value.absolute() if isinstance(value, Path) else value
            for name, value in spoken(values).items()
        }
