"""Slurm's topology.conf and topology.yaml: trees of switches, and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flitloom.errors import SpecError
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.hostlist import count, expand
from flitloom.ground.limits import FABRIC_PARTS, LINE_BYTES
from flitloom.ground.reading import text_lines

#: Names of nodes in all lines: every level of a tree may name every host.
MOST_NAMES = 4 * FABRIC_PARTS


def parse_slurm(text: str, source: str) -> Assembly:
    """Read Slurm's topology.conf: ``SwitchName=s0 Nodes=n[0-3]`` and ``SwitchName=top Switches=s[0-3]``."""
    assembly, homes = Assembly(source), _Homes()
    blocks: list[tuple[str, list[str], str]] = []
    _require_few(_rows(text, source), source)
    for place, row, fields in _rows(text, source):
        if "blockname" in fields:
            blocks.append((fields["blockname"], expand(fields.get("nodes", ""), place), place))
            continue
        if "blocksizes" in fields:
            continue
        if "switchname" not in fields:
            raise SpecError(f"{place}: {row[:60]!r} names no switch; write SwitchName=s0 Nodes=n[0-3]")
        name = fields["switchname"]
        assembly.add_node(f"switch {name}", Node("switch", name, place=place))
        if fields.get("linkspeed", "1") != "1":
            assembly.leave_out("LinkSpeed", fields["linkspeed"])
        for other in expand(fields.get("switches", ""), place):
            assembly.join(f"switch {name}", f"switch {other}", place)
            homes.below.setdefault(name, []).append(other)
        for host in expand(fields.get("nodes", ""), place):
            homes.of.setdefault(host, {}).setdefault(name, place)
    if blocks:
        _join_blocks(assembly, homes, blocks)
    for host, name, place in homes.lowest():
        assembly.nodes[f"host {host}"] = Node("host", host)
        assembly.join(f"switch {name}", f"host {host}", place)
    return assembly


def _rows(text: str, source: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Where a line stands, the line, and its fields."""
    begun = ""
    for number, line in enumerate(text_lines(text, source), start=1):
        row = begun + line.split("#")[0].strip()
        if len(row) > LINE_BYTES:
            raise SpecError(f"{source}, line {number}: is longer than {LINE_BYTES} characters")
        # A line that ends with a backslash goes on in the next one.
        begun = row[:-1].rstrip() if row.endswith("\\") else ""
        if row and not begun:
            found = re.findall(r"\b(\w++)\s*+=\s*+(\S++)", row)
            yield f"{source}, line {number}", row, {name.lower(): value for name, value in found}


def _require_few(rows: Iterable[tuple[str, str, dict[str, str]]], source: str) -> None:
    """Refuse lists with more cables or names than are read, before any is expanded."""
    cables = names = 0
    for place, _, fields in rows:
        cables += count(fields.get("switches", ""), place)
        names += count(fields.get("nodes", ""), place)
    Assembly.require_cables(cables, source)
    if names > MOST_NAMES:
        raise SpecError(f"{source}: nodes are named {names} times; at most {MOST_NAMES} names are read")


@dataclass
class _Homes:
    """The switches that name a host, and the switches below switches."""

    of: dict[str, dict[str, str]] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=dict)

    def lowest(self) -> Iterator[tuple[str, str, str]]:
        """Every host with each switch that names it, except for those above others, and where it stands."""
        under: dict[str, set[str]] = {}
        for host, places in self.of.items():
            for name, place in places.items():
                if len(places) > 1 and name not in under:
                    under[name] = self._all_below(name)
                if len(places) == 1 or not under[name] & places.keys():
                    yield host, name, place

    def _all_below(self, name: str) -> set[str]:
        found: dict[str, None] = dict.fromkeys(self.below.get(name, ()))
        queue = list(found)
        for one in queue:
            new = [other for other in self.below.get(one, ()) if other not in found]
            found.update(dict.fromkeys(new))
            queue += new
        return set(found) - {name}


def _join_blocks(assembly: Assembly, homes: _Homes, blocks: list[tuple[str, list[str], str]]) -> None:
    """Blocks as switches that one switch joins: Slurm says which nodes are near each other, not how."""
    if assembly.nodes:
        raise SpecError(f"{blocks[0][2]}: blocks beside switches; Slurm takes a tree or blocks")
    for name, hosts, place in blocks:
        assembly.add_node(f"switch {name}", Node("switch", name, place=place))
        for host in hosts:
            homes.of.setdefault(host, {}).setdefault(name, place)
    if len(blocks) > 1:
        assembly.nodes["between blocks"] = Node("switch", "between blocks")
        for name, _, place in blocks:
            assembly.join("between blocks", f"switch {name}", place)
    assembly.remarks.append(
        "blocks say nothing about cables: each is taken for a switch, and one more switch joins them"
    )


_SLURM_KEY = re.compile(r"(?:-\s*+)?(topology|cluster_default|switch|children|nodes|block)\s*+:(.+)$")


@dataclass
class _Described:
    """A topology of Slurm's topology.yaml: lines of a tree as topology.conf has them."""

    name: str
    rows: list[str] = field(default_factory=list)
    blocks: bool = False
    default: bool = False


def parse_slurm_yaml(text: str, source: str) -> Assembly:
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
            last.rows[-1] += f" {'Switches' if key == 'children' else 'Nodes'}={value}"
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
    assembly = parse_slurm("\n".join(trees[0].rows), source)
    if len(described) > 2:
        assembly.remarks.append(f"of the topologies of the file, {trees[0].name} is read")
    return assembly
