"""Topologies of simulators on ns-3: HPCC, ASTRA-sim's ns-3 backend, SimAI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flitloom.errors import SpecError
from flitloom.fabric.assembly import Assembly, Node
from flitloom.ground.limits import DIGITS, FABRIC_PARTS
from flitloom.ground.reading import text_lines

_HEAD = re.compile(r"\s*\d{1,9}(?:[ \t]+\d{1,9}){2}(?:(?:[ \t]+\d{1,9}){2}(?:[ \t]+\w+){0,2})?[ \t]*\r?\n")
_LINK = re.compile(r"^[ \t]*\d+[ \t]+\d+[ \t]+\d[\d.]*[kKMGT]?bps[ \t]", re.MULTILINE)


def looks_like(text: str) -> bool:
    """Whether a text begins with numbers of nodes, switches and links, and has links with a speed."""
    return _HEAD.match(text) is not None and _LINK.search(text) is not None


def parse(text: str, source: str) -> Assembly:
    """Read a topology: ``nodes switches links``, the switches, and ``a b speed delay error`` per link.

    SimAI's first line is ``nodes gpus_per_server nvswitches switches links [gpu]``. Other nodes
    are hosts.

    Raises
    ------
    SpecError
        A number is not a node, or there are fewer or more links than the first line says.
    """
    assembly, words = Assembly(source), _words(text, source)
    first = [int(word) for _, word in _line(text) if word.isdecimal()]
    nodes, links = first[0], first[4 if len(first) > 3 else 2]
    switches = first[2] + first[3] if len(first) > 3 else first[1]
    if not 2 <= nodes <= FABRIC_PARTS or switches > nodes:
        raise SpecError(
            f"{source}, line 1: {nodes} nodes with {switches} switches; 2 to {FABRIC_PARTS} nodes"
        )
    for _ in _line(text):
        next(words)
    for node in range(nodes):
        assembly.nodes[str(node)] = Node("host", str(node))
    for _ in range(switches):
        assembly.nodes[_node(words, nodes, source)[1]].kind = "switch"
    found = 0
    for place, word in words:
        a = _number(word, nodes, place)
        b = _node(words, nodes, source)[1]
        facts = [next(words, (place, ""))[1] for _ in ("speed", "delay", "error rate")]
        if not all(facts):
            raise SpecError(f"{place}: a link is 'a b speed delay error', e.g. '0 8 100Gbps 0.001ms 0'")
        for fact, value in zip(("speed", "delay", "error rate"), facts, strict=True):
            if value not in ("0", "0.0"):
                assembly.leave_out(fact, value)
        assembly.join(a, b, place)
        found += 1
    if found != links:
        raise SpecError(
            f"{source}: the first line says {links} links, and there are {found}: was the file cut off?"
        )
    return assembly


def _line(text: str) -> list[tuple[int, str]]:
    """The words of the first line that has some."""
    return list(enumerate(next(line for line in text_lines(text) if line.strip()).split()))


def _words(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Every word and where it stands."""
    for number, line in enumerate(text_lines(text, source), start=1):
        for word in line.split():
            yield f"{source}, line {number}", word


def _node(words: Iterator[tuple[str, str]], nodes: int, source: str) -> tuple[str, str]:
    """The next word, which is a node, and where it stands."""
    place, word = next(words, (source, ""))
    if not word:
        raise SpecError(f"{source}: ends where a node is expected: was the file cut off?")
    return place, _number(word, nodes, place)


def _number(word: str, nodes: int, place: str) -> str:
    if not word.isdecimal() or len(word) > DIGITS or int(word) >= nodes:
        raise SpecError(f"{place}: {word[:40]!r} is not a node; nodes are 0 to {nodes - 1}")
    return str(int(word))
