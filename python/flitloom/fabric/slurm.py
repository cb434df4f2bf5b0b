"""Slurm's topology.conf and topology.yaml: trees of switches, and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flitloom.errors import SpecError, nearest, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.hostlist import count, expand
from flitloom.ground.limits import FABRIC_PARTS, LINE_BYTES
from flitloom.ground.numerals import counted
from flitloom.ground.reading import text_lines

#: Names of nodes in all lines: every level of a tree may name every host.
MOST_NAMES = 4 * FABRIC_PARTS
_FIELD = re.compile(r"\b(\w++)\s*+=\s*+(\S++)")
#: Fields of topology.conf, and those that ``scontrol show topology`` prints beside them.
_FIELDS = {
    name.lower(): name
    for name in (
        *("SwitchName", "Switches", "Nodes", "LinkSpeed", "BlockName", "BlockSizes"),
        *("Level", "BlockIndex", "BlockSize", "AggregatedBlock"),
    )
}


def parse_slurm(text: str, source: str) -> Assembly:
    """Read Slurm's topology.conf: ``SwitchName=s0 Nodes=n[0-3]`` and ``SwitchName=top Switches=s[0-3]``."""
    assembly, homes = Assembly(source), _Homes()
    aggregated = 0
    blocks: list[tuple[str, list[str], str]] = []
    _require_few(_rows(text, source), source)
    for place, row, fields in _rows(text, source):
        if "blockname" in fields:
            blocks.append((fields["blockname"], expand(fields.get("nodes", ""), place), place))
            continue
        if "aggregatedblock" in fields:
            aggregated += 1
        if {"blocksizes", "aggregatedblock"} & fields.keys():
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
    if aggregated:
        assembly.remarks.append(
            f"{counted(aggregated, 'aggregated block')} left out: these are made of blocks"
        )
    for host, name, place in homes.lowest():
        assembly.nodes[f"host {host}"] = Node("host", host)
        assembly.join(f"switch {name}", f"host {host}", place)
    return assembly


def _rows(text: str, source: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Where a line stands, the line, and its fields."""
    begun, number = "", 0
    for number, line in enumerate(text_lines(text, source), start=1):
        row = line.split("#")[0].rstrip()
        # Lists have no blanks.
        row = begun.rstrip() + row.lstrip() if begun.rstrip().endswith(",") else begun + row
        if len(row) > LINE_BYTES:
            raise SpecError(f"{source}, line {number}: is longer than {LINE_BYTES} characters")
        # A line that ends with a backslash goes on in the next one.
        begun = row[:-1] if row.endswith("\\") else ""
        if row.strip() and not row.endswith("\\"):
            yield _row(row.strip(), f"{source}, line {number}")
    if begun:
        raise SpecError(
            f"{source}, line {number}: ends with a backslash, and no line follows: was it cut off?"
        )


def _row(row: str, place: str) -> tuple[str, str, dict[str, str]]:
    """Where a line stands, the line, and its fields, which are all known."""
    # Values may stand in quotes.
    fields = {name.lower(): value.strip("\"'") for name, value in _FIELD.findall(row)}
    if stray := _FIELD.sub(" ", row).split():
        raise SpecError(
            f"{place}: {show(stray[0])} is in no field; lists have no blanks, write Nodes=n[0-3],n7"
        )
    for name in fields.keys() - _FIELDS:
        near = nearest(name, _FIELDS)
        known = _FIELDS[near] if near else ", ".join(("SwitchName", "Switches", "Nodes", "BlockName"))
        raise SpecError(f"{place}: {show(name)} is not a field of topology.conf; write {known}")
    return place, row, fields


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
    """A topology of Slurm's topology.yaml: its lines as topology.conf has them."""

    name: str
    trees: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    default: bool = False


def parse_slurm_yaml(text: str, source: str) -> Assembly:
    """Read a tree (``switch``, ``children``, ``nodes``) or blocks (``block``, ``nodes``) of topology.yaml.

    Of several topologies it is the only tree, the only one of blocks where there is no tree, or the one with
    ``cluster_default: true``.
    """
    described, rows = [_Described("")], list[str]()
    for number, line in enumerate(text_lines(text, source), start=1):
        match = _SLURM_KEY.match(line.strip())
        value = "" if match is None else match[2].partition("#")[0].strip().strip("\"'")
        if match is None or not value:
            continue
        key, last = match[1], described[-1]
        if key == "topology":
            described.append(_Described(value))
            rows = []
        elif key == "cluster_default":
            last.default = value.lower() in ("true", "yes", "on")
        elif key in ("switch", "block"):
            rows = last.trees if key == "switch" else last.blocks
            rows.append(f"{key}name={value}")
        elif rows:
            rows[-1] += f" {'Switches' if key == 'children' else 'Nodes'}={value}"
        else:
            raise SpecError(f"{source}, line {number}: {key} before the first switch")
    found = [one for one in described if one.trees] or [one for one in described if one.blocks]
    if not found:
        raise SpecError(f"{source}: neither switches nor blocks in it")
    if len(found) > 1:
        what = f"the {'trees' if found[0].trees else 'blocks of'} {', '.join(one.name for one in found)}"
        found = [one for one in found if one.default]
        if len(found) != 1:
            raise SpecError(f"{source}: has {what}; mark one with cluster_default: true")
    assembly = parse_slurm("\n".join(found[0].trees or found[0].blocks), source)
    if len(described) > 2:
        assembly.remarks.append(f"of the topologies of the file, {found[0].name} is read")
    return assembly
