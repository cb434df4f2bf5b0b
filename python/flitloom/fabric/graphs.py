"""Graphs as other programs write them: GraphML, and BookSim's anynet."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree.ElementTree import Element

from flitloom.errors import SpecError, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.directed import ways_of
from flitloom.fabric.kinds import kind_of
from flitloom.ground.numerals import counted
from flitloom.ground.reading import parse_xml, text_lines


def parse_graphml(text: str, source: str) -> Assembly:
    """Read GraphML; nodes are what their ``type`` (or ``kind``, ``role``) says, or what is guessed."""
    root = parse_xml(text, source)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    keys = {key.get("id"): key.get("attr.name", "") for key in root.iter("key")}
    assembly = Assembly(source)
    if len(graphs := root.findall("graph")) > 1:
        raise SpecError(f"{source}: has {len(graphs)} graphs; write a file for each")
    if next(root.iter("hyperedge"), None) is not None:
        raise SpecError(f"{source}: has hyperedges; a cable has two ends: write a node and edges for each")
    joined = {edge.get(end, "") for edge in root.iter("edge") for end in ("source", "target")}
    # yEd's groups are nodes with a graph in them.
    groups = {node.get("id", "") for node in root.iter("node") if node.find("graph") is not None} - joined
    if groups:
        assembly.remarks.append(f"{counted(len(groups), 'group')} of nodes left out: they have no cables")
    nodes = [
        (node.get("id", ""), _facts(node, keys))
        for node in root.iter("node")
        if node.get("id", "") not in groups
    ]
    labels = Counter(facts.get("label") or facts.get("name") for _, facts in nodes)
    strange = Counter[str]()
    for identifier, facts in nodes:
        said = facts.get("type") or facts.get("kind") or facts.get("role") or ""
        kind = kind_of(said)
        strange[said] += bool(said) and not kind
        label = facts.get("label") or facts.get("name") or identifier
        name = label if labels[label] < 2 else identifier
        assembly.add_node(
            identifier, Node(kind or ("switch" if said else ""), name, place=f"{source}, node {identifier}")
        )
    if twice := sum(label is not None and count > 1 for label, count in labels.items()):
        assembly.remarks.append(f"{counted(twice, 'name')} of several nodes left out: these have their ids")
    if strange := +strange:
        named = ", ".join(sorted(map(show, strange))[:3])
        assembly.remarks.append(f"nodes of type {named} are taken for switches")
    if any(node.kind for node in assembly.nodes.values()):
        for node in assembly.nodes.values():
            node.kind = node.kind or "switch"
    directed = any(graph.get("edgedefault") == "directed" for graph in root.iter("graph"))
    edges = [(*_edge(edge, directed), edge) for edge in root.iter("edge")]
    ways = ways_of([edge[:3] for edge in edges])
    for (a, b, _, edge), one_way in zip(edges, ways, strict=True):
        if one_way is None:
            continue
        assembly.leave_out("port", edge.get("sourceport", ""))
        assembly.leave_out("port", edge.get("targetport", ""))
        for fact, value in _facts(edge, keys).items():
            assembly.leave_out(fact, value)
        assembly.join(a, b, f"{source}, edge {a} - {b}", one_way)
    return assembly


def _edge(edge: Element, directed: bool) -> tuple[str, str, bool]:
    """The ends of an edge, and whether it leads from the first to the second only.

    yEd calls all graphs directed, and the arrows of an edge say how it leads.
    """
    ends = edge.get("source", ""), edge.get("target", "")
    for arrows in edge.iter("Arrows"):
        back, ahead = (arrows.get(end) != "none" for end in ("source", "target"))
        return *(ends[::-1] if back and not ahead else ends), back != ahead
    return *ends, edge.get("directed", "true" if directed else "false") == "true"


def _facts(element: Element, keys: dict[str | None, str]) -> dict[str, str]:
    """What a node or an edge says of itself, by the names of the keys."""
    facts = {keys.get(data.get("key"), ""): (data.text or "").strip() for data in element.findall("data")}
    # yEd writes what it shows of a node.
    shown = next(element.iter("NodeLabel"), None)
    return facts if shown is None else {"label": (shown.text or "").strip(), **facts}


def parse_anynet(text: str, source: str) -> Assembly:
    """Read BookSim's anynet: ``router 0 node 0 node 1 router 1 [latency] ...`` per line."""
    assembly = Assembly(source)
    joined: set[frozenset[str]] = set()
    for number, line in enumerate(text_lines(text, source), start=1):
        words = line.split("//")[0].split()
        if not words:
            continue
        place = f"{source}, line {number}"
        pairs: list[str] = []
        at = 0
        while at < len(words):
            number_next = at + 1 < len(words) and re.fullmatch(r"[0-9]{1,9}", words[at + 1])
            if words[at] not in ("router", "node") or not number_next:
                raise SpecError(
                    f"{place}: {' '.join(words[at : at + 2])[:40]!r} is not a 'router N' or 'node N'"
                )
            name = f"{words[at]}{int(words[at + 1])}"
            pairs.append(name)
            if name not in assembly.nodes:
                assembly.nodes[name] = Node("switch" if words[at] == "router" else "host", name)
            at += 2
            if at < len(words) and words[at].isdigit():
                assembly.leave_out("latency", words[at])
                at += 1
        for other in pairs[1:]:
            if frozenset((pairs[0], other)) not in joined:
                joined.add(frozenset((pairs[0], other)))
                assembly.join(pairs[0], other, place)
    return assembly
