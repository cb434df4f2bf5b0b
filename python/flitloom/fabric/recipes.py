"""Networks described by sizes: ASTRA-sim's dimensions, htsim's fat trees, SimGrid's clusters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from flitloom.errors import SpecError
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.hostlist import expand
from flitloom.ground.limits import DIGITS, FABRIC_PARTS
from flitloom.ground.numerals import counted
from flitloom.ground.reading import parse_xml, text_lines

#: A list of YAML, in brackets or an item per line; comments are taken out before.
_ASTRA = re.compile(
    r"^(topology|npus_count|bandwidth|latency)[ \t]*:\s*(?:\[([^\]]*)\]|((?:-[ \t][^\n]*\s*)+))", re.MULTILINE
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")
_TIER = re.compile(r"^[ \t]*Tiers[ \t]+\d", re.MULTILINE | re.IGNORECASE)
_PLATFORM = re.compile(r"<platform\b[^>]*>")


def is_astra(text: str) -> bool:
    """Whether a text is a network of ASTRA-sim's analytical backend."""
    return "npus_count" in text and {"topology", "npus_count"} <= _lists(text).keys()


def _lists(text: str) -> dict[str, list[str]]:
    """The lists of a network of ASTRA-sim, by their names."""
    found = {}
    for name, within, lines in _ASTRA.findall(re.sub(r"\n[ \t]+-", "\n-", _COMMENT.sub("", text))):
        items = lines.removeprefix("-").replace("\n-", ",") or within
        found[name] = [item.strip() for item in items.split(",")]
    return found


def parse_astra(text: str, source: str) -> Assembly:
    """Read ``topology: [ Ring, FullyConnected, Switch ]`` and ``npus_count: [ 4, 2, 8 ]``.

    Neighbours along the first dimension are numbered one after the other. A dimension with switches has one
    for all nodes that differ in it alone.
    """
    fields = _lists(text)
    kinds, counts = fields["topology"], fields["npus_count"]
    if len(kinds) != len(counts):
        raise SpecError(f"{source}: topology has {len(kinds)} dimensions, npus_count {len(counts)}")
    sizes = [_whole(count, f"{source}: npus_count", 2) for count in counts]
    nodes = math.prod(sizes)
    _few(nodes, source)
    rows = [nodes // size * _cables(kind.lower(), size) for kind, size in zip(kinds, sizes, strict=True)]
    Assembly.require_cables(sum(rows), source)
    assembly = Assembly(source)
    names = {place: f"npu{_number(place, sizes)}" for place in product(*map(range, sizes))}
    for name in names.values():
        assembly.nodes[name] = Node("host", name)
    for dimension, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        if kind.lower() not in ("ring", "fullyconnected", "switch"):
            raise SpecError(
                f"{source}: topology: {kind[:40]!r} is unknown; write Ring, FullyConnected or Switch"
            )
        before = len(assembly.ends)
        for place in (place for place in names if place[dimension] == 0):
            row = [names[(*place[:dimension], at, *place[dimension + 1 :])] for at in range(size)]
            _join_row(assembly, kind.lower(), row, f"switch{dimension}-{_number(place, sizes)}", source)
        for fact in ("bandwidth", "latency"):
            values = fields.get(fact, [])
            value = values[dimension] if dimension < len(values) else ""
            assembly.leave_out(fact, value, (len(assembly.ends) - before) // 2)
    return assembly


def _cables(kind: str, size: int) -> int:
    """Cables of a row, as `_join_row` makes them."""
    if kind == "switch" or (kind == "ring" and size > 2):
        return size
    return size * (size - 1) // 2


def _join_row(assembly: Assembly, kind: str, row: list[str], switch: str, source: str) -> None:
    """Join the nodes of a row of a dimension."""
    if kind == "switch":
        assembly.nodes[switch] = Node("switch", switch)
        pairs: Iterable[tuple[str, str]] = ((name, switch) for name in row)
    elif kind == "ring" and len(row) > 2:
        pairs = zip(row, [*row[1:], row[0]], strict=True)
    else:
        pairs = combinations(row, 2)
    for a, b in pairs:
        assembly.join(a, b, source)


def _number(place: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of a place, the first coordinate fastest."""
    number = 0
    for at, size in zip(reversed(place), reversed(sizes), strict=True):
        number = number * size + at
    return number


def is_htsim(text: str) -> bool:
    """Whether a text is a fat tree of htsim."""
    return _TIER.search(text) is not None


def parse_htsim(text: str, source: str) -> Assembly:
    """Read a fat tree of htsim: ``Nodes``, ``Tiers`` and ``Podsize``, and per ``Tier`` its radices.

    ``Radix_Down`` and ``Radix_Up`` count the ports of a switch of a tier; with ``Oversubscribed`` alone the
    ports up follow from those down.
    """
    tree: dict[str, int] = {}
    tiers: list[dict[str, int]] = []
    assembly = Assembly(source)
    for number, line in enumerate(text_lines(text, source), start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        place = f"{source}, line {number}"
        if len(words) != 2:
            raise SpecError(f"{place}: {line.strip()[:60]!r} is not a field; write e.g. Radix_Down 16")
        key = words[0].lower()
        if key not in (
            "nodes",
            "tiers",
            "podsize",
            "tier",
            "radix_down",
            "radix_up",
            "oversubscribed",
        ):
            assembly.leave_out(words[0][:40], words[1])
            continue
        value = _whole(words[1], f"{place}: {words[0]}", 0 if key == "tier" else 1)
        if key != "tier":
            (tiers[-1] if tiers else tree)[key] = value
        elif value == len(tiers):
            tiers.append({})
        else:
            raise SpecError(f"{place}: Tier {value} where Tier {len(tiers)} is next")
    for key in ("nodes", "tiers"):
        if key not in tree:
            raise SpecError(f"{source}: {key.capitalize()} is missing")
    if tree["tiers"] not in (2, 3) or len(tiers) != tree["tiers"]:
        raise SpecError(f"{source}: Tiers {tree['tiers']} with {len(tiers)} times Tier; 2 or 3 of both")
    _few(tree["nodes"], source)
    _fat_tree(assembly, tree["nodes"], tree.get("podsize", tree["nodes"]), tiers, source)
    return assembly


def _fat_tree(assembly: Assembly, nodes: int, pod: int, tiers: list[dict[str, int]], source: str) -> None:
    """The switches and cables of a fat tree of two tiers, which is one pod, or three."""
    if len(tiers) == 2:
        pod = nodes
    below = [f"host{n}" for n in range(nodes)]
    for name in below:
        assembly.nodes[name] = Node("host", name)
    ports = 1
    for tier, facts in enumerate(tiers):
        place = f"{source}: Tier {tier}"
        if "radix_down" not in facts:
            raise SpecError(f"{place}: Radix_Down is missing")
        down = facts["radix_down"]
        # Joined are the hosts of a switch, the switches of a pod, and those of one position in all pods.
        each = down if tier == 0 else len(below) * pod // nodes
        if nodes % down * (tier == 0) or nodes % pod or not each:
            raise SpecError(f"{place}: {nodes} nodes are not divided by Radix_Down {down} and Podsize {pod}")
        if tier < 2:
            rows = [below[first : first + each] for first in range(0, len(below), each)]
        else:
            rows = [below[position::each] for position in range(each)]
        if len(below) * ports > FABRIC_PARTS:
            raise SpecError(
                f"{place}: {len(below) * ports} cables from below; at most {FABRIC_PARTS} are read"
            )
        made: list[str] = []
        for row in rows:
            if len(row) * ports % down:
                raise SpecError(
                    f"{place}: Radix_Down {down} does not divide the {len(row) * ports} cables from below"
                )
            switches = [f"tier{tier}-{len(made) + n}" for n in range(len(row) * ports // down)]
            for name in switches:
                assembly.nodes[name] = Node("switch", name)
            for name in row:
                for port in range(ports):
                    assembly.join(name, switches[port % len(switches)], place)
            made += switches
        below, ports = made, facts.get("radix_up", down // facts.get("oversubscribed", 1))


def is_simgrid(text: str) -> bool:
    """Whether a text is a platform of SimGrid."""
    return _PLATFORM.search(text) is not None


def parse_simgrid(text: str, source: str) -> Assembly:
    """Read the one ``<cluster>`` of a platform: a torus, a fat tree, a dragonfly, or hosts at one switch."""
    root = parse_xml(re.sub(r"<!DOCTYPE[^\[>]*>", "", text, count=1), source)
    clusters = list(root.iter("cluster"))
    if len(clusters) != 1 or any(True for _ in root.iter("host")):
        what = counted(len(clusters), "cluster")
        raise SpecError(f"{source}: a platform with {what} and other zones; one <cluster> alone is read")
    cluster = clusters[0]
    where = f"{source}, cluster {cluster.get('id', '')}"
    numbers = expand(f"[{cluster.get('radical', '')}]", f"{where}: radical")
    names = [f"{cluster.get('prefix', '')}{number}{cluster.get('suffix', '')}" for number in numbers]
    _few(len(names), where)
    assembly = Assembly(source)
    for name in names:
        assembly.add_node(name, Node("host", name, place=where))
    shape = cluster.get("topology", "FLAT").upper()
    if shape not in ("TORUS", "FAT_TREE", "DRAGONFLY", "FLAT"):
        raise SpecError(f"{where}: topology {shape[:40]!r} is unknown; write TORUS, FAT_TREE or DRAGONFLY")
    parts = [
        [_whole(word, f"{where}: topo_parameters", 1) for word in part.split(",")]
        for part in cluster.get("topo_parameters", "1").split(";")
    ]
    {"TORUS": _torus, "FAT_TREE": _parallel_tree, "DRAGONFLY": _dragonfly, "FLAT": _flat}[shape](
        assembly, names, parts, where
    )
    for fact in ("bw", "lat"):
        assembly.leave_out(fact, cluster.get(fact, ""), len(assembly.ends) // 2)
    return assembly


def _require(right: bool, names: Sequence[str], where: str) -> None:
    if not right:
        raise SpecError(f"{where}: topo_parameters do not fit the {len(names)} hosts of radical")


def _torus(assembly: Assembly, names: list[str], parts: list[list[int]], where: str) -> None:
    """A torus of hosts, the first dimension fastest."""
    sizes = parts[0]
    _require(len(parts) == 1 and math.prod(sizes) == len(names), names, where)
    Assembly.require_cables(sum(len(names) // size * _cables("ring", size) for size in sizes), where)
    for dimension, size in enumerate(sizes):
        for place in product(*map(range, sizes)):
            if place[dimension] == 0 and size > 1:
                row = [
                    names[_number((*place[:dimension], at, *place[dimension + 1 :]), sizes)]
                    for at in range(size)
                ]
                _join_row(assembly, "ring", row, "", where)


def _parallel_tree(assembly: Assembly, names: list[str], parts: list[list[int]], where: str) -> None:
    """A parallel ports generalized fat tree: levels; children, parents and cables per level."""
    levels = parts[0][0]
    _require(len(parts) == 4 and all(len(part) == levels for part in parts[1:]), names, where)
    children, parents, cables = parts[1:]
    _require(math.prod(children) == len(names), names, where)
    _few(math.prod(children) * math.prod(parents), where)
    Assembly.require_cables(
        sum(
            math.prod(children[level:]) * math.prod(parents[: level + 1]) * cables[level]
            for level in range(levels)
        ),
        where,
    )
    below = dict(zip((place[::-1] for place in product(*map(range, reversed(children)))), names, strict=True))
    for level in range(levels):
        above: dict[tuple[int, ...], str] = {}
        for place, name in below.items():
            for parent in range(parents[level]):
                at = (*place[:level], parent, *place[level + 1 :])
                if at not in above:
                    above[at] = f"level{level + 1}-{len(above)}"
                    assembly.nodes[above[at]] = Node("switch", above[at])
                for _ in range(cables[level]):
                    assembly.join(name, above[at], where)
        below = above


def _dragonfly(assembly: Assembly, names: list[str], parts: list[list[int]], where: str) -> None:
    """Groups of chassis of routers, each a full mesh: how many and how many cables, and hosts per router."""
    _require([len(part) for part in parts] == [2, 2, 2, 1], names, where)
    (groups, blue), (chassis, black), (routers, green), (each,) = parts
    count = groups * chassis * routers
    _require(count * each == len(names) and groups <= chassis * routers, names, where)
    rows, columns = groups * chassis * math.comb(routers, 2), groups * routers * math.comb(chassis, 2)
    between = math.comb(groups, 2) * blue
    Assembly.require_cables(len(names) + rows * green + columns * black + between, where)
    made = [f"router{n}" for n in range(count)]
    for name in made:
        assembly.nodes[name] = Node("switch", name)
    for host, name in enumerate(names):
        assembly.join(name, made[host // each], where)

    def near() -> Iterator[tuple[int, int, int]]:
        """The two routers of every link, and its cables."""
        for first in range(0, count, routers):
            yield from ((first + a, first + b, green) for a, b in combinations(range(routers), 2))
        size = chassis * routers
        for group, column in product(range(groups), range(routers)):
            at = range(group * size + column, (group + 1) * size, routers)
            yield from ((a, b, black) for a, b in combinations(at, 2))
        yield from ((a * size + b, b * size + a, blue) for a, b in combinations(range(groups), 2))

    for a, b, cables in near():
        for _ in range(cables):
            assembly.join(made[a], made[b], where)


def _flat(assembly: Assembly, names: list[str], parts: list[list[int]], where: str) -> None:
    """All hosts at one switch."""
    del parts
    assembly.nodes["backbone"] = Node("switch", "backbone")
    for name in names:
        assembly.join(name, "backbone", where)


def _whole(word: str, place: str, least: int) -> int:
    """A whole number of a file."""
    word = word.strip()
    if not word.isdecimal() or len(word) > DIGITS or int(word) < least:
        raise SpecError(f"{place}: {word[:40]!r} is not a whole number from {least} on")
    return int(word)


def _few(nodes: int, place: str) -> None:
    """Refuse more nodes than a fabric has, before any is made."""
    if not 2 <= nodes <= FABRIC_PARTS:
        raise SpecError(f"{place}: {nodes} nodes; a network has 2 to {FABRIC_PARTS}")
