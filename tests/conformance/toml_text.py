"""Values as TOML text."""

from __future__ import annotations

import json
import re
from typing import Any

#: Longest line of an array.
WIDTH = 110


def dump(fields: dict[str, Any], place: tuple[str, ...] = ()) -> str:
    """A table and those in it; tables of arrays are written inline.

    >>> print(dump({"seed": 1, "topology": {"sizes": [4, 4]}}), end="")
    seed = 1
    <BLANKLINE>
    [topology]
    sizes = [4, 4]
    """
    lines = [
        f"{_key(name)} = {_value(value)}" for name, value in fields.items() if not isinstance(value, dict)
    ]
    text = f"[{'.'.join(map(_key, place))}]\n" * (bool(place) and bool(lines or not fields))
    text += "".join(f"{line}\n" for line in lines)
    for name, value in fields.items():
        if isinstance(value, dict):
            text += "\n" * bool(text) + dump(value, (*place, name))
    return text


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if not isinstance(value, list | tuple):
        return json.dumps(value)
    parts = [_value(one) for one in value]
    if len(line := "[" + ", ".join(parts) + "]") <= WIDTH:
        return line
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("")
        lines[-1] += f" {part},"
    return "[\n" + "\n".join(f" {line}" for line in lines) + "\n]"
