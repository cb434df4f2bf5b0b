"""Lists of nodes on the command line, and names of hosts in files."""

from __future__ import annotations

from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.fabric.hostlist import parse_nodes, read_nodes
from flitloom.limits import NODES_BYTES
from flitloom.numerals import counted
from flitloom.reading import read_text


def read_hosts(file: Path, nodes: int) -> list[str]:
    """The host of every node."""
    names = read_text(file, NODES_BYTES).split()
    if len(names) != nodes:
        raise SpecError(
            f"{show_file(file)}: has {len(names)} host names; the network has {counted(nodes, 'node')}"
        )
    return names


def read_node_list(text: str, nodes: int) -> list[int]:
    """Nodes in Slurm notation, or a file of them; bare numbers and ranges may stand without brackets.

    >>> read_node_list("0-2,7", 16)
    [0, 1, 2, 7]
    """
    bare = text and set(text) <= set("0123456789,-")
    # No file has a name as long as a list may be.
    if len(text) < 4096 and Path(text).is_file():
        return read_nodes(Path(text), nodes)
    return parse_nodes(f"node[{text}]" if bare else text, nodes, "--nodes")
