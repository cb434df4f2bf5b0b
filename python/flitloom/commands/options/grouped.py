"""Options that belong together: a data class of them means all in the signature of a verb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Show Typer the fields of data classes among a verb's parameters as options, each in its place.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from inspect import signature
    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    ...     height: int = 1
    >>> @grouped
    ... def area(*, size: Size, deep: bool = False) -> None:
    ...     print(size, deep)
    >>> list(signature(area).parameters)
    ['width', 'height', 'deep']
    >>> area(width=3, height=2, deep=True)
    Size(width=3, height=2) True
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    shown: list[Parameter] = []
    for name, parameter in signature(verb).parameters.items():
        if name not in groups:
            shown.append(parameter.replace(annotation=hints[name]))
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        shown.extend(
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=kinds[field.name],
            )
            for field in fields(groups[name])
        )

    @wraps(verb)
    def command(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        verb(**given, **made)

    command.__signature__ = signature(verb).replace(parameters=shown)  # type: ignore[attr-defined]
    return command
