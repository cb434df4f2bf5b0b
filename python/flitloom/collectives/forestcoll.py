"""Trees of ForestColl (Zhao et al., 2024): an all-gather as spanning trees, one or more for every node."""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path
from typing import Any

from flitloom.collectives.foreign import Send, Sends
from flitloom.collectives.msccl.read import only, parse_xml, whole
from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import placed, read_text
from flitloom.spec.ground import Ground

#: Most chunks of a node, and of all nodes over all links.
MOST_CHUNKS = 1 << 16
MOST_SENDS = 1 << 22


def read_forestcoll(file: str | Path, ground: Ground) -> Sends:
    """Read spanning trees (``<Algo nchunkspernode=...><tree root=...><send src=... dst=... path=...>``).

    Nodes are named by their numbers, by their coordinates (x first), or otherwise; then the names that trees
    grow from are numbered in their order.

    Raises
    ------
    SpecError
        They are not such trees, go over switches, or are for another number of nodes.
    """
    text = read_text(file, limits.FOREIGN_BYTES)
    return placed(show_file(file), lambda: _sends(parse_xml(text), ground))


def _sends(root: Any, ground: Ground) -> Sends:
    if root.tag != "Algo":
        raise SpecError(f"<{root.tag[:40]}> holds no spanning trees; the file begins with <Algo")
    chunks = whole(root, "nchunkspernode", "Algo", least=1)
    most = min(MOST_CHUNKS, MOST_SENDS // ground.nodes)
    if chunks > most:
        raise SpecError(f"Algo: nchunkspernode: {chunks}; at most {most} are read")
    only(root, "tree", "Algo")
    trees = list(root.iter("tree"))
    names = [_name(tree.get("root"), f"tree {number}: root") for number, tree in enumerate(trees)]
    nodes = _nodes(names, ground)
    begun: dict[int, int] = {}
    listed: list[tuple[int, int, Send]] = []
    for number, (tree, name) in enumerate(zip(trees, names, strict=True)):
        source, count = nodes[name], whole(tree, "nchunks", f"tree {number}", 1, least=1)
        first = begun.get(source, 0)
        begun[source] = first + count
        if begun[source] > chunks:
            raise SpecError(f"tree {number}: more than {counted(chunks, 'chunk')} of node {source}")
        only(tree, "send", f"tree {number}")
        depth = {source: 0}
        for place, send in enumerate(tree.iter("send")):
            where = f"tree {number}, send {place}"
            start, end = (_node(send.get(side), nodes, f"{where}: {side}") for side in ("src", "dst"))
            path = _path(send.get("path"), f"{where}: path")
            if len(path) > 2:
                raise SpecError(f"{where}: path: goes over {path[1]}; tori and meshes have no switches")
            depth.setdefault(end, depth.get(start, 0) + 1)
            if len(listed) + count > MOST_SENDS:
                raise SpecError(f"{where}: more than {MOST_SENDS} chunks over links")
            for chunk in range(first, first + count):
                listed.append((depth[end], len(listed), Send(start, end, (source, chunk), where)))
    listed.sort(key=lambda entry: entry[:2])
    owners: dict[tuple[int, ...], int] = {
        (node, chunk): node for node in nodes.values() for chunk in range(chunks)
    }
    return Sends("all-gather", chunks, [send for _, _, send in listed], owners)


def _name(text: str | None, where: str) -> Any:
    """A node's name: a number, a tuple or a word."""
    if text is None or len(text) > 200:
        raise SpecError(f"{where}: {'is missing' if text is None else 'is not a name of a node'}")
    try:
        value = ast.literal_eval(text)
        hash(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value


def _path(text: str | None, where: str) -> list[Any]:
    if text is None:
        return []
    if len(text) > 10_000:
        raise SpecError(f"{where}: is too long")
    try:
        value = ast.literal_eval(f"[{text}]")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text.split(",")
    return list(value)


def _nodes(names: list[Any], ground: Ground) -> dict[Any, int]:
    """Numbers of the nodes that trees grow from."""
    found = set(names)
    if all(type(name) is int for name in found):
        nodes = {name: name for name in found}
    elif all(
        isinstance(name, tuple)
        and len(name) == len(ground.sizes)
        and all(type(one) is int and 0 <= one < size for one, size in zip(name, ground.sizes, strict=True))
        for name in found
    ):
        nodes = {name: ground.number(name) for name in found}
    else:
        nodes = {name: number for number, name in enumerate(sorted(found, key=repr))}
        with suppress(TypeError):
            nodes = {name: number for number, name in enumerate(sorted(found))}
    if sorted(nodes.values()) != list(range(ground.nodes)):
        raise SpecError.at(
            "tree", f"trees grow from {counted(len(nodes), 'node')}, the network has {ground.nodes}"
        )
    return nodes


def _node(text: str | None, nodes: dict[Any, int], where: str) -> int:
    name = _name(text, where)
    if name not in nodes:
        raise SpecError(f"{where}: {text}: no tree grows from it, so that it is not a node")
    return nodes[name]
