"""Lists of hosts and of nodes in Slurm notation."""

from __future__ import annotations

import math
import re
from itertools import product

from flitloom.errors import SpecError, show
from flitloom.ground.limits import DIGITS

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?:[:/](\d{1,9}))?)?")
_ITEM = re.compile(r"(?:node)?(?:\[(?P<ranges>[0-9,:/-]+)\]|(?P<number>[0-9]+))")
_NODES = re.compile(r"([0-9]+)(?:-([0-9]+)(?:[/:]([0-9]+))?)?")
#: A name in quotes, between commas and blanks.
_QUOTED = re.compile(r"(?:^|(?<=[\s,]))([\"'])([^\n]*?)\1(?=[\s,]|$)")
#: More names than any list has.
_MOST = 1 << 20


def expand(text: str, place: str = "nodes") -> list[str]:
    """The names of a list such as ``r[0-1]n[01-10/3],login1``.

    Items are separated by commas or blanks; an item may have several brackets, ranges may have steps
    (``/3`` or ``:3``), and leading zeros are kept. What stands in quotes, double or single ones, is one name
    as it is, with its blanks, commas and brackets.

    Examples
    --------
    >>> from flitloom.fabric.hostlist import expand
    >>> expand("r[0-1]n[08-10],login")
    ['r0n08', 'r0n09', 'r0n10', 'r1n08', 'r1n09', 'r1n10', 'login']
    >>> expand("n[0-6/3]")
    ['n0', 'n3', 'n6']
    >>> expand('"node 3 HCA-1", n[0-1]')
    ['node 3 HCA-1', 'n0', 'n1']
    """
    names: list[str] = []
    begin = 0
    for quoted in _QUOTED.finditer(text):
        _expand(text[begin : quoted.start()], place, names)
        names.append(quoted[2])
        begin = quoted.end()
    _expand(text[begin:], place, names)
    return names


def _expand(text: str, place: str, names: list[str]) -> None:
    """Add the names of a list without quotes."""
    for item in split_list(text, place):
        if item[0] in "\"'":
            raise SpecError(f"{place}: the quote before {show(item[1:])} ends nowhere in its line")
        parts = re.split(r"\[([^\[\]]*)\]", item)
        choices = [
            [part] if number % 2 == 0 else _numbers(part, item, place) for number, part in enumerate(parts)
        ]
        count = 1
        for choice in choices:
            count *= len(choice)
        if len(names) + count > _MOST:
            raise SpecError(f"{place}: {item[:60]!r} names more than {_MOST} nodes")
        names.extend("".join(choice) for choice in product(*choices))


def count(text: str, place: str = "nodes") -> int:
    """How many names `expand` would make of a list, without making them.

    >>> count("r[0-1]n[08-10],login") == len(expand("r[0-1]n[08-10],login"))
    True
    """
    bare, quoted = _QUOTED.subn(" ", text)
    found = quoted
    for item in split_list(bare, place):
        found += math.prod(
            sum(len(range(first, last + 1, step)) for first, last, step, _ in _ranges(part, item, place))
            for part in re.findall(r"\[([^\[\]]*)\]", item)
        )
    return found


def _numbers(ranges: str, item: str, place: str) -> list[str]:
    return [
        f"{number:0{width}d}"
        for first, last, step, width in _ranges(ranges, item, place)
        for number in range(first, last + 1, step)
    ]


def _ranges(ranges: str, item: str, place: str) -> list[tuple[int, int, int, int]]:
    """First and last number, step and digits of every range in a pair of brackets."""
    found, names = [], 0
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise SpecError(f"{place}: {part!r} in {item[:60]!r} is not a range; write 0-7, 0-10/2 or 12")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step == 0:
            raise SpecError(f"{place}: the range {part} in {item[:60]!r} runs backwards or has no step")
        names += len(range(first, last + 1, step))
        if names > _MOST:
            raise SpecError(f"{place}: {part!r} in {item[:60]!r} names more than {_MOST} nodes")
        found.append((first, last, step, len(match[1])))
    return found


def parse_nodes(text: str, nodes: int, place: str = "nodes") -> list[int]:
    """Read a list of numbers of nodes such as ``node[0-7,12],20,node[30-40/2]``.

    Digits of other names than ``node`` are not numbers of nodes; `flitloom.fabric.names.Names` knows names.

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
    >>> from flitloom.fabric.hostlist import parse_nodes
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
            advice = "nodes have numbers here, write node[0-7,12] or node3"
            raise SpecError(f"{place}: {show(item)} is not a list of nodes; {advice}")
        for part in (match["ranges"] or match["number"]).split(","):
            bounds = _NODES.fullmatch(part)
            if bounds is None:
                raise SpecError(f"{place}: {show(part)} in {show(item)} is not a range; write 0-7 or 12")
            first, last = (_node(digits) for digits in (bounds[1], bounds[2] or bounds[1]))
            if last < first:
                raise SpecError(f"{place}: the range {show(part)} in {show(item)} runs backwards")
            if last >= nodes:
                unknown = f"node {max(first, nodes)}" if max(first, last) < 10**DIGITS else "a node"
                text = f"{unknown} in {show(item)} is unknown; nodes are 0 to {nodes - 1}"
                raise SpecError(f"{place}: {text}")
            step = _node(bounds[3] or "1")
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


def _node(digits: str) -> int:
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
