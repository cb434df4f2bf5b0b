"""Names of hosts in files."""

from __future__ import annotations

from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.limits import NODES_BYTES
from flitloom.reading import read_text


def read_hosts(file: Path, nodes: int) -> list[str]:
    """The host of every node."""
    names = read_text(file, NODES_BYTES).split()
    if len(names) != nodes:
        raise SpecError(f"{show_file(file)}: has {len(names)} host names; the network has {nodes} nodes")
    return names
