"""The one form of certificates: what they are about, and a rank for every channel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flitloom.ground.outputs import write_text


def write_ranks(
    file: str | Path,
    head: Mapping[str, Any],
    ranks: Iterable[object],
    *,
    indent: int | None = None,
    **lines: object,
) -> None:
    """Write a certificate: its head, further fields in a line each, and the ranks of channels, one a line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_ranks(f"{folder}/c.json", {"version": 2}, [[0, "+x", 0], [1, "+x", 1]], bound=None)
    ...     print(Path(folder, "c.json").read_text(), end="")
    {"version": 2,
     "bound": null,
     "channels": [
      [0, "+x", 0],
      [1, "+x", 1]
     ]
    }
    """
    more = "".join(f',\n "{name}": {json.dumps(value)}' for name, value in lines.items())
    rows = ",\n  ".join(map(json.dumps, ranks))
    text = json.dumps(head, indent=indent).removesuffix("}").rstrip("\n")
    write_text(file, f'{text}{more},\n "channels": [\n  {rows}\n ]\n}}\n')
