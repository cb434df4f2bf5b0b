"""Other descriptions of graphs: GraphML, BookSim's anynet, Slurm's topology.conf, tables of cables."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from flitloom.errors import SpecError
from flitloom.fabric.hostlist import expand
from flitloom.fabric.model import Assembly, Node, Subnet
from flitloom.limits import FABRIC_PARTS, LINE_BYTES
from flitloom.reading import parse_xml, text_lines

#: What a GraphML node may call itself if it is no switch.
_HOSTS = {"host", "node", "terminal", "ca", "hca", "nic", "endpoint", "compute", "server"}


def parse_graphml(text: str, source: str) -> Subnet:
    """Read GraphML; nodes with ``type`` (or ``kind``, ``role``) ``host`` are hosts, others switches."""
    root = parse_xml(text, source)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    keys = {key.get("id"): key.get("attr.name", "") for key in root.iter("key")}
    assembly = Assembly(source)
    for node in root.iter("node"):
        name = node.get("id", "")
        facts = {keys.get(data.get("key"), ""): (data.text or "").strip() for data in node.findall("data")}
        said = facts.get("type") or facts.get("kind") or facts.get("role") or "switch"
        kind = "host" if said.lower() in _HOSTS else "switch"
        assembly.nodes[name] = Node(kind, facts.get("label") or facts.get("name") or name)
    directed = any(graph.get("edgedefault") == "directed" for graph in root.iter("graph"))
    waiting: Counter[tuple[str, str]] = Counter()
    for edge in root.iter("edge"):
        a, b = edge.get("source", ""), edge.get("target", "")
        # A directed graph names every cable once per direction.
        if directed and waiting[b, a]:
            waiting[b, a] -= 1
            continue
        waiting[a, b] += 1
        assembly.join(a, b, f"{source}, edge {a} - {b}")
    return assembly.finish()


def parse_anynet(text: str, source: str) -> Subnet:
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
                    f"{place}: {' '.join(words[at : at + 2])[:40]!r} is no 'router N' or 'node N'"
                )
            name = f"{words[at]}{int(words[at + 1])}"
            pairs.append(name)
            if name not in assembly.nodes:
                assembly.nodes[name] = Node("switch" if words[at] == "router" else "host", name)
            at += 2
            if at < len(words) and words[at].isdigit():
                at += 1
        for other in pairs[1:]:
            if frozenset((pairs[0], other)) not in joined:
                joined.add(frozenset((pairs[0], other)))
                assembly.join(pairs[0], other, place)
    return assembly.finish()


def parse_slurm(text: str, source: str) -> Subnet:
    """Read Slurm's topology.conf: ``SwitchName=s0 Nodes=n[0-3]`` and ``SwitchName=top Switches=s[0-3]``."""
    assembly = Assembly(source)
    begun = ""
    for number, line in enumerate(text_lines(text, source), start=1):
        row = begun + line.split("#")[0].strip()
        if len(row) > LINE_BYTES:
            raise SpecError(f"{source}, line {number}: is longer than {LINE_BYTES} characters")
        # A line that ends with a backslash goes on in the next one.
        begun = row[:-1].rstrip() if row.endswith("\\") else ""
        if not row or begun:
            continue
        place = f"{source}, line {number}"
        fields = {name.lower(): value for name, value in re.findall(r"\b(\w++)\s*+=\s*+(\S++)", row)}
        if "switchname" not in fields:
            if "blockname" in fields or "blocksizes" in fields:
                raise SpecError(f"{place}: blocks say nothing about cables; a tree of switches is needed")
            raise SpecError(f"{place}: {row[:60]!r} names no switch; write SwitchName=s0 Nodes=n[0-3]")
        name = fields["switchname"]
        assembly.nodes[f"switch {name}"] = Node("switch", name)
        for kind, key in (("switch", "switches"), ("host", "nodes")):
            for other in expand(fields.get(key, ""), place):
                if kind == "host":
                    assembly.nodes[f"host {other}"] = Node("host", other)
                assembly.join(f"switch {name}", f"{kind} {other}", place)
    return assembly.finish()


_SLURM_KEY = re.compile(r"(?:-\s*+)?(topology|cluster_default|switch|children|nodes|block)\s*+:(.+)$")


@dataclass
class _Described:
    """A topology of Slurm's topology.yaml: lines of a tree as topology.conf has them."""

    name: str
    rows: list[str] = field(default_factory=list)
    blocks: bool = False
    default: bool = False


def parse_slurm_yaml(text: str, source: str) -> Subnet:
    """Read a tree of Slurm's topology.yaml: ``switch``, ``children`` and ``nodes``.

    Of several topologies it is the only tree, or the one with ``cluster_default: true``.
    """
    described, switch = [_Described("")], ""
    for number, line in enumerate(text_lines(text, source), start=1):
        match = _SLURM_KEY.match(line.strip())
        value = "" if match is None else match[2].partition("#")[0].strip().strip("\"'")
        if match is None or not value:
            continue
        key, last = match[1], described[-1]
        if key == "topology":
            described.append(_Described(value))
            switch = ""
        elif key == "cluster_default":
            last.default = value.lower() in ("true", "yes", "on")
        elif key == "block":
            last.blocks = True
        elif key == "switch":
            switch = value
            last.rows.append(f"SwitchName={switch}")
        elif switch:
            last.rows.append(f"SwitchName={switch} {'Switches' if key == 'children' else 'Nodes'}={value}")
        elif not last.blocks:
            raise SpecError(f"{source}, line {number}: {key} before the first switch")
    trees = [one for one in described if one.rows]
    if not trees:
        raise SpecError(f"{source}: blocks say nothing about cables; a tree is needed")
    if len(trees) > 1:
        names = ", ".join(one.name for one in trees)
        trees = [one for one in trees if one.default]
        if len(trees) != 1:
            raise SpecError(f"{source}: has the trees {names}; mark one with cluster_default: true")
    subnet = parse_slurm("\n".join(trees[0].rows), source)
    if len(described) > 2:
        remark = f"of the topologies of the file, {trees[0].name} is read"
        subnet = replace(subnet, remarks=(*subnet.remarks, remark))
    return subnet


#: What the columns of a cable's ends may be called.
_END = re.compile(
    r"(?:.*[ _-])?(?:a|b|from|to|source|src|destination|dest|dst|target|local|remote|peer|near|far|end|"
    r"switch|node|device|host|name)(?:[ _-]?[ab12])?(?:[ _-].*)?",
    re.IGNORECASE,
)
#: What a heading of two columns begins with.
_FIRST = {"from", "source", "src", "switch_a", "switch a", "local"}
_PORT = re.compile(r"(?:port|p)?[ _]?(\d{1,9})", re.IGNORECASE)


def parse_cables(text: str, source: str) -> Subnet:
    """Read a table of cables: ``a,b`` or ``a,port,b,port`` per line; a name with one cable is a host.

    Commas, semicolons or tabulators separate; a heading that names the ends and ports may give them any place
    among other columns.
    """
    assembly = Assembly(source)
    rows: list[tuple[str, int | None, str, int | None, str]] = []
    degree: Counter[str] = Counter()
    columns: tuple[int, ...] | None = None
    first = True
    for number, fields in enumerate(_fields(text, source), start=1):
        row = [field.strip() for field in fields]
        if not any(row) or row[0].startswith("#"):
            continue
        place = f"{source}, line {number}"
        if first:
            first = False
            columns = _columns(row)
            if columns is not None:
                continue
        if columns is not None:
            if len(row) <= max(columns):
                raise SpecError(f"{place}: {','.join(row)[:60]!r} has fewer columns than the heading")
            row = [row[column] for column in columns]
        if len(row) == 2:
            a, b = row
            numbers: list[int | None] = [None, None]
        elif len(row) >= 4:
            a, b = row[0], row[2]
            found = [_PORT.fullmatch(row[1]), _PORT.fullmatch(row[3])]
            if not all(found):
                raise SpecError(f"{place}: {','.join(row)[:60]!r}: ports are whole numbers")
            numbers = [int(match[1]) for match in found if match]
            if not all(number is not None and 0 < number < 255 for number in numbers):
                raise SpecError(f"{place}: {','.join(row)[:60]!r}: ports are 1 to 254")
        else:
            raise SpecError(f"{place}: {','.join(row)[:60]!r} is not a cable; write a,b or a,port,b,port")
        if not a or not b:
            raise SpecError(f"{place}: a cable without a name at one end")
        if len(rows) >= FABRIC_PARTS:
            raise SpecError(f"{place}: more than {FABRIC_PARTS} cables")
        rows.append((a, numbers[0], b, numbers[1], place))
        degree.update((a, b))
    if not rows:
        raise SpecError(f"{source}: no cables found; a cable is a line a,b or a,port,b,port")
    for name, count in degree.items():
        assembly.nodes[name] = Node("host" if count == 1 and len(degree) > 2 else "switch", name)
    for a, a_port, b, b_port, place in rows:
        if a_port is None or b_port is None:
            assembly.join(a, b, place)
        else:
            assembly.connect((a, a_port), (b, b_port), place)
    return assembly.finish()


def _delimiter(text: str) -> str:
    """What separates the columns of the first line that is no comment."""
    line = next((row for row in text_lines(text) if row.strip() and not row.lstrip().startswith("#")), "")
    return max(",;\t", key=line.count)


def _columns(heading: list[str]) -> tuple[int, ...] | None:
    """Where a heading has the ends of a cable and, in between, their ports; None if it is no heading."""
    ports = [n for n, name in enumerate(heading) if "port" in name.lower()]
    ends = [n for n, name in enumerate(heading) if n not in ports and len(name) < 80 and _END.fullmatch(name)]
    if len(ends) < 2 or any(_PORT.fullmatch(heading[n]) for n in ports):
        return None
    if len(ports) >= 2:
        return ends[0], ports[0], ends[1], ports[1]
    return (ends[0], ends[1]) if heading[ends[0]].lower() in _FIRST else None


def _fields(text: str, source: str) -> Iterator[list[str]]:
    """The fields of every line of CSV text."""
    reader = csv.reader(text_lines(text, source), delimiter=_delimiter(text))
    try:
        yield from reader
    except csv.Error as error:
        raise SpecError(f"{source}, line {reader.line_num}: no valid CSV: {error}") from None
