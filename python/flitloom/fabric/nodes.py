"""Lists of nodes in Slurm notation."""

from __future__ import annotations

import re
from pathlib import Path

from flitloom.errors import SpecError, show, show_file
from flitloom.limits import DIGITS, NODES_BYTES
from flitloom.reading import read_text

_ITEM = re.compile(r"(?P<prefix>[A-Za-z][A-Za-z0-9_.-]*?)?(?:\[(?P<ranges>[0-9,:/-]+)\]|(?P<number>[0-9]+))")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+)(?:[/:]([0-9]+))?)?")


def parse_nodes(text: str, nodes: int, place: str = "nodes") -> list[int]:
    """Read a node list such as ``node[0-7,12],node[20-30/2]``; the number of a name is its node.

    Parameters
    ----------
    text : str
        The list; items are separated by commas, blanks or line ends.
    nodes : int
        Number of nodes that exist.
    place : str
        Where the list stands, for messages.

    Examples
    --------
    >>> from flitloom.fabric.nodes import parse_nodes
    >>> parse_nodes("node[0-2,12],node20", 32)
    [0, 1, 2, 12, 20]
    >>> parse_nodes("node[0-9/3]", 32)
    [0, 3, 6, 9]
    """
    found: list[int] = []
    seen: dict[int, None] = {}
    for item in split_list(text, place):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise SpecError(f"{place}: {show(item)} is no list of nodes; write node[0-7,12] or node3")
        for part in (match["ranges"] or match["number"]).split(","):
            bounds = _RANGE.fullmatch(part)
            if bounds is None:
                raise SpecError(f"{place}: {show(part)} in {show(item)} is no range; write 0-7 or 12")
            first, last = (_number(digits) for digits in (bounds[1], bounds[2] or bounds[1]))
            if last < first:
                raise SpecError(f"{place}: the range {show(part)} in {show(item)} runs backwards")
            if last >= nodes:
                unknown = f"node {max(first, nodes)}" if max(first, last) < 10**DIGITS else "a node"
                text = f"{unknown} in {show(item)} is unknown; nodes are 0 to {nodes - 1}"
                raise SpecError(f"{place}: {text}")
            step = _number(bounds[3] or "1")
            if step == 0:
                raise SpecError(f"{place}: the range {show(part)} in {show(item)} has no step")
            for node in range(first, last + 1, step):
                if node in seen:
                    raise SpecError(f"{place}: node {node} is named twice")
                seen[node] = None
                found.append(node)
    if not found:
        raise SpecError(f"{place}: no nodes in the list")
    return found


def read_nodes(file: str | Path, nodes: int) -> list[int]:
    """Read a file of node lists in Slurm notation."""
    return parse_nodes(read_text(file, NODES_BYTES), nodes, show_file(file))


def _number(digits: str) -> int:
    """The number; of more digits than any node has, a number above all nodes."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= DIGITS else 10**DIGITS


def split_list(text: str, place: str) -> list[str]:
    """Split at commas and blanks outside of brackets."""
    items, item, depth = [], "", 0
    for letter in text + ",":
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            raise SpecError(f"{place}: brackets do not match in {show(text.strip())}")
        if depth == 0 and (letter == "," or letter.isspace()):
            if item:
                items.append(item)
            item = ""
        else:
            item += letter
    if depth:
        raise SpecError(f"{place}: brackets do not match in {show(text.strip())}")
    return items
