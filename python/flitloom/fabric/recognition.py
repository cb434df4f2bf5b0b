"""What a fabric is: a torus, mesh, product with full meshes, member of another family or a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError, require_kind
from flitloom.fabric.dragonflies import Dragonfly, damaged_dragonfly
from flitloom.fabric.members import Member, member_of_family
from flitloom.fabric.model import Grid, Subnet
from flitloom.fabric.nested import Nested, tori_of_tori
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted

_DIMENSIONS = "xyzuvw"
#: Switches of tori of which any misfit is a reason to look for another name.
_SMALL = 128
#: Switches with two neighbours that are tried one by one as hung on a torus.
_MOST_HUNG = 8
#: Level of a switch that no cable joins to a fat tree.
_APART = 65535


@explained
@dataclass(frozen=True)
class Recognition:
    """What a fabric was recognised as.

    Attributes
    ----------
    kind : str
        ``torus``, ``mesh``, ``twisted``, ``product``, ``tori``, ``fat tree``, ``dragonfly``, ``slim fly``,
        ``circulant`` or ``graph``.
    sizes : tuple of int
        Switches along every dimension, of a fat tree on every level from the leaves up, of a dragonfly in
        every group, of tori of tori inside and outside; empty for a graph.
    wraps : tuple of bool
        Whether each dimension closes to rings.
    closed : tuple of tuple of int
        Displacements that lead back to where they begin, and generate all that do: of a torus its sizes,
        dimension by dimension.
    coordinates : tuple of tuple of int
        Of every switch; empty for a fat tree, a dragonfly or a graph.
    missing_switches : tuple
        Coordinates where no switch stands.
    missing_cables : tuple of (int, int)
        Neighbouring switches without a cable between them, unless a swapped cable explains that.
    misfits : tuple of int
        Cables that join switches which are not neighbours.
    swaps : tuple of (int, int)
        Pairs of misfits that exchanged an end.
    levels : tuple of int
        Level of every switch of a fat tree, 0 for leaves; 65535 for one that no cable joins to it.
    order : tuple of int
        Switches of a fat tree that have hosts, neighbours in the tree side by side.
    factors : tuple of str
        What every dimension of a product or of tori is, e.g. ``full8``, ``ring16``, ``line2``.
    groups : tuple of int
        The group of every switch of a dragonfly.
    nested : Nested or None
        Of tori of tori, what they are inside and outside, and where links lead out of them.
    service : dict
        Switches that are hung on a torus or mesh, each with the one or two of its switches that it is joined
        to; they have no coordinates.
    damaged : Dragonfly or None
        Of a dragonfly, what is missing, if anything is.
    member : Member or None
        Of a Slim Fly or circulant network, which one it is, and what is missing.
    """

    subnet: Subnet
    kind: str
    sizes: tuple[int, ...] = ()
    wraps: tuple[bool, ...] = ()
    coordinates: tuple[tuple[int, ...], ...] = ()
    missing_switches: tuple[tuple[int, ...], ...] = ()
    missing_cables: tuple[tuple[int, int], ...] = ()
    misfits: tuple[int, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()
    closed: tuple[tuple[int, ...], ...] = ()
    levels: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    factors: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    nested: Nested | None = None
    service: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    damaged: Dragonfly | None = None
    member: Member | None = None

    def grid(self) -> Grid | None:
        """Sizes, closed ways and coordinates of a torus or mesh, for dimension order.

        A switch that is hung on it stands a step beside it, in a dimension of its own for the first at every
        switch, in another one for the second, and so on.
        """
        if not self.coordinates or self.factors:
            return None
        more = max(Counter(at for at, *_ in self.service.values()).values(), default=0)
        places = [[*place, *[0] * more] for place in self.coordinates]
        taken = Counter[int]()
        for switch, (at, *_) in self.service.items():
            places[switch] = list(places[at])
            places[switch][len(self.sizes) + taken[at]] = 1
            taken[at] += 1
        closed = [[*way, *[0] * more] for way in self.closed]
        return [*self.sizes, *[2] * more], closed, places

    def core(self) -> _core.Network:
        """The network as the core has it, placed on its torus or mesh if it is one."""
        return self.subnet.core(grid=self.grid())

    def place(self, switch: int) -> str:
        """A switch as its name and coordinates."""
        name = self.subnet.switches[switch].name
        return f"{name} {self.where(switch)}" if self.coordinates else name

    def where(self, switch: int) -> str:
        """The coordinates of a switch; of one that is hung on a torus those of the switches that it is at."""
        places = (self.coordinates[at] for at in self.service.get(switch, (switch,)))
        text = " and ".join(f"({','.join(map(str, place))})" for place in places)
        return f"at {text}" if switch in self.service else text

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"switches": len(self.subnet.switches), "cables": len(self.subnet.cables)}
        return fields_html(self.describe(), fields | {"hosts": len(self.subnet.ports_of_hosts())})

    def describe(self) -> str:
        """One line: what it is and what is missing."""
        count = len(self.subnet.switches)
        if self.kind == "graph":
            return f"a graph of {counted(count, 'switch')} and {counted(len(self.subnet.cables), 'cable')}"
        if self.kind == "fat tree":
            return self._describe_fat_tree()
        if self.kind == "dragonfly" or self.member is not None:
            text = f"{self._describe_family()} and {counted(len(self.subnet.cables), 'cable')}"
            return text + (f", {less} missing" if (less := self._less()) else "")
        text = self._describe_whole()
        if less := self._less():
            text += f" less {less}"
        if self.swaps:
            text += f"; {_count(2 * len(self.swaps), '', 'cables')} swapped"
        if other := len(self.misfits) - 2 * len(self.swaps):
            text += f"; {_count(other, 'cable joins', 'cables join')} switches that are not neighbours"
        if self.service:
            text += f"; {_count(len(self.service), 'switch is', 'switches are')} hung on it"
        return text

    def _less(self) -> str:
        """How many switches and cables are missing, as text; empty for none."""
        switches, cables = self.missing()
        lost = [_count(switches, "switch", "switches"), _count(cables, "cable", "cables")]
        return " and ".join(part for part in lost if part)

    def missing(self) -> tuple[int, int]:
        """How many switches are missing, and how many cables."""
        if self.damaged is not None:
            return len(self.damaged.switches), self.damaged.missing_cables()
        if self.member is not None:
            return len(self.member.switches), len(self.member.cables)
        return len(self.missing_switches), len(self.missing_cables)

    def group(self, number: int) -> str:
        """A group of a dragonfly by one of its switches."""
        return f"the group of {self.subnet.switches[self.groups.index(number)].name}"

    def _describe_family(self) -> str:
        """A dragonfly, Slim Fly or circulant network and its switches."""
        if self.member is not None:
            kind = {"slim fly": "a Slim Fly", "circulant": "a circulant network"}[self.kind]
            return f"{kind}, {self.member.name}, of {counted(len(self.subnet.switches), 'switch')}"
        least, most = min(self.sizes), max(self.sizes)
        size = str(most) if least == most else f"{least} to {most}"
        return f"a dragonfly of {counted(len(self.sizes), 'group')} of {size} switches"

    def _describe_whole(self) -> str:
        """What it is if nothing is missing."""
        if self.nested is None:
            return " x ".join(self.factors) or self._describe_grid()
        inner, outer = (" x ".join(factors) for factors in (self.nested.inner, self.nested.outer))
        joined = counted(len(self.nested.places), "cable")
        text = f"tori of tori: {inner} on the places of {outer}, {joined} between neighbours"
        return f"{self.nested.name}, {text}" if self.nested.name else text

    def _describe_grid(self) -> str:
        sizes = "x".join(map(str, self.sizes))
        rings = [_DIMENSIONS[n] for n, wrap in enumerate(self.wraps) if wrap]
        name = {"torus": "torus", "mesh": "mesh", "twisted": "twisted torus"}[self.kind]
        if self.kind == "torus" and not all(
            wrap or size == 2 for wrap, size in zip(self.wraps, self.sizes, strict=True)
        ):
            name += f" (rings along {', '.join(rings)} only)"
        return f"{sizes} {name}"

    def _describe_fat_tree(self) -> str:
        """Levels, and how many cables some switches lack beside others of their level."""
        levels = " + ".join(map(str, self.sizes))
        text = (
            f"a fat tree of {levels} switches, leaves first, and {counted(len(self.subnet.cables), 'cable')}"
        )
        lacking = sum(most - has for _, has, most in self.uneven())
        return text + (f", {_count(lacking, 'cable', 'cables')} up missing" if lacking else "")

    def uneven(self) -> list[tuple[int, int, int]]:
        """Switches of a fat tree with fewer cables up than most of their level, and both numbers."""
        if not self.levels:
            return []
        up = Counter[int]()
        for cable in self.subnet.cables:
            up[min((cable.a, cable.b), key=self.levels.__getitem__)] += 1
        usual = {
            level: Counter(up[s] for s, at in enumerate(self.levels) if at == level).most_common(1)[0][0]
            for level in range(len(self.sizes))
        }
        return [
            (switch, up[switch], usual[level])
            for switch, level in enumerate(self.levels)
            if up[switch] < usual.get(level, 0)
        ]

    def host_order(self) -> list[int]:
        """Hosts of a fat tree in the order in which shift permutations are free of conflicts."""
        at: dict[int, list[int]] = {}
        for index, host in enumerate(self.subnet.hosts):
            at.setdefault(host.switch, []).append(index)
        return [host for switch in self.order for host in at[switch]]

    def swap_lines(self) -> list[str]:
        """One line per pair of swapped cables: which ports, and how to mend it."""
        lines = []
        for one, other in self.swaps:
            first, second = (
                self.subnet.channel_name(2 * cable).replace(" -> ", " - ") for cable in (one, other)
            )
            lines.append(f"{first} and {second}: exchange one end of each")
        return lines


def _count(number: int, one: str, many: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    if number == 0:
        return ""
    shown = words[number] if number < len(words) else str(number)
    return f"{shown} {one if number == 1 else many}"


def recognise(subnet: Subnet, sizes: Sequence[int] | None = None) -> Recognition:
    """Find the torus, mesh or product a subnet is, with coordinates, or the member of another family.

    Parallel cables count once. Rings of four and meshes of 2x2 are the same graph; the fewest dimensions
    are reported unless `sizes` say otherwise. If the topology is ambiguous, the answer is ``graph``.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, recognise
    >>> ring = "\\n".join(f"s{n},s{(n + 1) % 6}" for n in range(6))
    >>> recognise(parse_fabric(ring)).describe()
    '6 torus'
    """
    require_kind("subnet", subnet, Subnet, "fabric", "fl.tables.fabric('dragonfly(4,2)')")
    grid = _grid(subnet, sizes)
    if grid is not None:
        # One or two cables of a large torus are plugged wrong; more may be no torus.
        unexplained = len(grid.misfits) - 2 * len(grid.swaps)
        doubtful = sizes is None and unexplained > (0 if len(subnet.switches) <= _SMALL else 2)
        return (_member(subnet) if doubtful else None) or grid
    if sizes is not None:
        raise SpecError.at("--sizes", f"the fabric is not a torus or mesh of {'x'.join(map(str, sizes))}")
    found = _fat_tree(subnet) or _product(subnet) or _dragonfly(subnet) or _tori(subnet) or _member(subnet)
    return found or Recognition(subnet, "graph")


def as_grid(subnet: Subnet) -> Recognition:
    """The torus or mesh that a subnet is, if it is one, else a graph."""
    return _grid(subnet, None) or Recognition(subnet, "graph")


def _grid(subnet: Subnet, sizes: Sequence[int] | None) -> Recognition | None:
    """The torus or mesh that a subnet is, if it is one."""
    asked = None if sizes is None else list(sizes)
    ends = subnet.cable_ends()
    found: dict[str, Any] | None = _core.recognise(len(subnet.switches), ends, asked)
    service: dict[int, tuple[int, ...]] = {}
    if found is None or found["misfits"]:
        # Of several explanations with as few misfits the first one has the fewest hung switches.
        for hung in _hung(subnet):
            left = np.array([switch not in hung for switch in range(len(subnet.switches))])
            number = np.cumsum(left) - 1
            among = ends[left[ends].all(axis=1)]
            few = 2 * len(hung) <= int(left.sum())
            less = _core.recognise(int(left.sum()), number[among].astype(np.uint32), asked) if few else None
            if less is not None and (found is None or len(less["misfits"]) < len(found["misfits"])):
                found, service = _renamed(less, np.flatnonzero(left).tolist(), len(left)), hung
    if found is None:
        return None
    wraps = tuple(found["wraps"])
    kind = "twisted" if found["twisted"] else "torus" if any(wraps) else "mesh"
    by_ends: dict[tuple[int, int], list[int]] = {}
    for index, cable in enumerate(subnet.cables):
        by_ends.setdefault((min(cable.a, cable.b), max(cable.a, cable.b)), []).append(index)
    return Recognition(
        subnet,
        kind,
        tuple(found["sizes"]),
        wraps,
        tuple(map(tuple, found["coordinates"])),
        tuple(map(tuple, found["missing_switches"])),
        tuple(found["missing_cables"]),
        tuple(index for pair in found["misfits"] for index in by_ends[pair]),
        tuple((by_ends[swap[0]][0], by_ends[swap[1]][0]) for swap in found["swaps"]),
        tuple(map(tuple, found["closed"])),
        service=service,
    )


def _hung(subnet: Subnet) -> list[dict[int, tuple[int, ...]]]:
    """Sets of switches that may be hung on others, the smallest first, and those that they are joined to.

    They are joined to one other, which has others besides. Where most switches have more neighbours, they
    may be joined to two.
    """
    near: list[set[int]] = [set() for _ in subnet.switches]
    for cable in subnet.cables:
        near[cable.a].add(cable.b)
        near[cable.b].add(cable.a)
    usual = Counter(map(len, near)).most_common(1)[0][0] if near else 0
    by_one = {n: tuple(joined) for n, joined in enumerate(near) if len(joined) == 1}
    by_two = {n: tuple(sorted(joined)) for n, joined in enumerate(near) if len(joined) == 2 and usual > 3}
    each = [by_one | {n: joined} for n, joined in by_two.items()] if len(by_two) <= _MOST_HUNG else []
    sets = [by_one, *each, by_one | by_two]
    return [hung for hung in sets if hung and not any(hung.keys() & set(joined) for joined in hung.values())]


def _renamed(found: dict[str, Any], names: list[int], count: int) -> dict[str, Any]:
    """What was recognised of a part of the switches, by their numbers in the whole; others have no place."""
    coordinates: list[Any] = [()] * count
    for switch, place in zip(names, found["coordinates"], strict=True):
        coordinates[switch] = place
    cables = {what: [(names[a], names[b]) for a, b in found[what]] for what in ("missing_cables", "misfits")}
    swaps = [[(names[a], names[b]) for a, b in swap] for swap in found["swaps"]]
    return found | cables | {"coordinates": coordinates, "swaps": swaps}


def _fat_tree(subnet: Subnet) -> Recognition | None:
    """The fat tree that a subnet is, if it is one."""
    tree = _core.recognise_fat_tree(subnet.core())
    if tree is None:
        return None
    levels, order = tree
    hosts = subnet.hosts_per_switch()
    if 2 * sum(hosts[switch] for switch, level in enumerate(levels) if level == 0) < sum(hosts):
        # Above a few switches with many hosts every network of two colours has levels.
        return None
    sizes = tuple(map(levels.count, range(max(level for level in levels if level != _APART) + 1)))
    return Recognition(subnet, "fat tree", sizes, levels=tuple(levels), order=tuple(order))


def _product(subnet: Subnet) -> Recognition | None:
    """The product of full meshes, rings and lines that a subnet is, if it is one."""
    found = _core.recognise_product(subnet.core())
    if found is None:
        return None
    return Recognition(
        subnet,
        "product",
        tuple(size for _, size in found["factors"]),
        tuple(kind == "ring" for kind, _ in found["factors"]),
        tuple(map(tuple, found["coordinates"])),
        tuple(map(tuple, found["missing_switches"])),
        tuple(found["missing_cables"]),
        factors=tuple(f"{kind}{size}" for kind, size in found["factors"]),
    )


def _tori(subnet: Subnet) -> Recognition | None:
    """The torus of tori that a subnet is, if it is one."""
    cables = [(cable.a, cable.b) for cable in subnet.cables]
    found = tori_of_tori(len(subnet.switches), cables, [switch.name for switch in subnet.switches])
    if found is None:
        return None
    factors = (*found.inner, *found.outer)
    return Recognition(
        subnet,
        "tori",
        tuple(int(factor.lstrip("abcdefghijklmnopqrstuvwxyz")) for factor in factors),
        tuple(factor.startswith("ring") for factor in factors),
        found.coordinates,
        found.missing_switches,
        found.missing_cables,
        factors=factors,
        nested=found,
    )


def _dragonfly(subnet: Subnet) -> Recognition | None:
    """The dragonfly that a subnet is, if it is one."""
    groups: Sequence[int] | None = _core.recognise_groups(subnet.core())
    damaged = None
    if groups is None:
        damaged = damaged_dragonfly(len(subnet.switches), subnet.cable_ends().tolist())
        if damaged is None:
            return None
        groups = damaged.groups
    counts = Counter(groups)
    return Recognition(
        subnet,
        "dragonfly",
        tuple(counts[group] for group in sorted(counts)),
        groups=tuple(groups),
        missing_cables=() if damaged is None else damaged.cables,
        damaged=damaged,
    )


def _member(subnet: Subnet) -> Recognition | None:
    """The Slim Fly or circulant network that a subnet is, if it is one."""
    member = member_of_family(len(subnet.switches), subnet.cable_ends().tolist())
    if member is None:
        return None
    kind = "slim fly" if member.name.startswith("slimfly") else "circulant"
    return Recognition(subnet, kind, missing_cables=member.cables, member=member)
