"""Fields of specs that options give, and that overrule those of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from flitloom.errors import SpecError, show
from flitloom.ground.numerals import real

if TYPE_CHECKING:
    from flitloom.spec.base import SpecModel

Part = TypeVar("Part", bound="SpecModel")


def whole_numbers(text: str, place: str) -> list[int]:
    """Whole numbers separated by commas."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise SpecError(f"{place} {text[:60]}: write whole numbers like 0,4,8")
    return [int(part) for part in parts]


def given(**fields: Any) -> dict[str, Any]:
    """The fields that were given, files as absolute paths."""
    return {
        name: value.absolute() if isinstance(value, Path) else value
        for name, value in fields.items()
        if value is not None
    }


def part(kind: type[Part], fields: dict[str, Any], default: dict[str, Any] | None = None) -> Part:
    """A part of a spec, which ``--set`` may have made anything."""
    value = fields.get(kind.place, default or {})
    if not isinstance(value, dict):
        raise SpecError(f"{kind.place}: {show(value)} is not a table of fields")
    return kind(**value)


def merge(fields: dict[str, Any], changes: dict[str, Any]) -> None:
    """Let options overrule the fields of a spec file."""
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(fields.get(name, {}), dict):
            merge(fields.setdefault(name, {}), value)
        else:
            fields[name] = value


def read_time(text: str, place: str) -> float:
    """Seconds of a text like 60s, 1.5m or 20."""
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    try:
        value = real(text[:-1]) * unit if unit else real(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1e9:
        raise SpecError(f"{place} {text}: write a time like 60s or 2m")
    return value
