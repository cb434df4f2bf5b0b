"""An operator's own coordinates and datelines: ``torus-2QoS.conf`` of OpenSM, read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from flitloom.errors import SpecError, show, show_file, unknown
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.ground.limits import NODES_BYTES
from flitloom.ground.reading import read_text, text_lines

_LINK = re.compile(r"([xyz])([pm])_link")
_DATELINE = re.compile(r"([xyz])_dateline")
_RADIX = re.compile(r"(\d{1,6})([mMtT]?)")
#: First words of lines behind the first one.
_KEYWORDS = (
    "next_seed", "portgroup_max_ports", "port_order",
    *(f"{axis}{way}_link" for axis in "xyz" for way in "pm"), *(f"{axis}_dateline" for axis in "xyz"),
)  # fmt: skip


@dataclass
class Seed:
    """A switch with neighbours along the axes, and how far the origin is from it.

    Attributes
    ----------
    links : list of (int, int, int, int, int)
        Axis, way (1 or -1), GUID of the switch, GUID of the neighbour, line.
    datelines : dict of int to int
        Position of the origin by axis, counted from the switch.
    """

    links: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    datelines: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TorusConfig:
    """What a configuration says: radices of x, y and z, which of them close to rings, and seeds."""

    place: str
    radices: tuple[int, ...]
    wraps: tuple[bool, ...]
    seeds: tuple[Seed, ...]


def read_torus_config(file: str | Path) -> TorusConfig:
    """Read a configuration of OpenSM's routing engine torus-2QoS (its manual page torus-2QoS.conf(5)).

    Raises
    ------
    SpecError
        A line is not understood; the message names it.
    """
    return parse_torus_config(read_text(file, NODES_BYTES), show_file(Path(file)))


def parse_torus_config(text: str, source: str = "torus-2QoS.conf") -> TorusConfig:
    """The same of a text.

    Examples
    --------
    >>> from flitloom.fabric.torus_config import parse_torus_config
    >>> config = parse_torus_config("mesh 4t 3 1\\nxp_link 0x10 0x11\\nyp_link 0x10 0x14\\nx_dateline -1")
    >>> config.radices, config.wraps, config.seeds[0].datelines
    ((4, 3, 1), (True, False, False), {0: -1})
    """
    shape: tuple[tuple[int, ...], tuple[bool, ...]] | None = None
    seeds = [Seed()]
    for number, line in enumerate(text_lines(text, source), start=1):
        words, place = line.split(), f"{source}, line {number}"
        if not words or words[0].startswith("#"):
            continue
        word, *rest = words
        if shape is None:
            if word not in ("torus", "mesh"):
                raise SpecError.at(place, f"{show(word)} comes first", "begin with torus X Y Z or mesh X Y Z")
            shape = _shape(word == "torus", rest, place)
        elif word == "next_seed":
            seeds.append(Seed())
        elif match := _LINK.fullmatch(word):
            ends = [_number(text, place, "a GUID like 0x200000") for text in _several(rest, 2, word, place)]
            begins = {link[2] for link in seeds[-1].links}
            if begins and ends[0] not in begins:
                problem = f"0x{ends[0]:x} is not where the other links of the seed begin"
                raise SpecError.at(
                    place, problem, f"write {word} 0x{begins.pop():x} ..., or next_seed before"
                )
            way = 1 if match[2] == "p" else -1
            seeds[-1].links.append(("xyz".index(match[1]), way, ends[0], ends[1], number))
        elif match := _DATELINE.fullmatch(word):
            (at,) = _several(rest, 1, word, place)
            seeds[-1].datelines["xyz".index(match[1])] = _number(at, place, "a whole number")
        elif word not in _KEYWORDS:
            raise SpecError.at(place, unknown(word, _KEYWORDS))
    if shape is None:
        raise SpecError.at(source, "names no torus or mesh", "begin with torus X Y Z")
    return TorusConfig(source, *shape, tuple(seed for seed in seeds if seed.links))


def _several(rest: list[str], count: int, word: str, place: str) -> list[str]:
    if len(rest) < count:
        raise SpecError.at(
            place, f"{word} takes {count} words, there {'is' if len(rest) == 1 else 'are'} {len(rest)}"
        )
    return rest[:count]


def _number(text: str, place: str, what: str) -> int:
    match = re.fullmatch(r"-?(0[xX][0-9a-fA-F]{1,16}|\d{1,19})", text)
    if match is None:
        raise SpecError.at(place, f"{show(text)} is not {what}")
    return int(text, 0 if "x" in text.lower() else 10)


def _shape(rings: bool, rest: list[str], place: str) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Radices, and which of them close to rings."""
    matches = [_RADIX.fullmatch(one) for one in _several(rest, 3, "torus" if rings else "mesh", place)]
    for one, match in zip(rest, matches, strict=False):
        if match is None or int(match[1]) < 1:
            raise SpecError.at(
                place, f"{show(one)} is not a radix", "write a number from 1, with t or m behind it"
            )
    found = [match for match in matches if match is not None]
    wraps = (match[2].lower() == "t" if match[2] else rings for match in found)
    radices = tuple(int(match[1]) for match in found)
    return radices, tuple(wrap and radix > 1 for wrap, radix in zip(wraps, radices, strict=True))


def configured(subnet: Subnet, config: TorusConfig) -> Recognition:
    """What a fabric is, with the coordinates of a configuration: its axes, their ways, and its datelines.

    A dateline is always between the last coordinate and 0, so the position of the origin moves it.

    Raises
    ------
    SpecError
        The fabric is not such a torus or mesh, or the seeds do not say where its axes lead.

    Examples
    --------
    >>> from flitloom.fabric import examples
    >>> from flitloom.fabric.torus_config import configured, parse_torus_config
    >>> fabric = examples.torus((5, 3))
    >>> guid = {switch.name: f"0x{switch.guid:x}" for switch in fabric.switches}
    >>> along_x = f"xm_link {guid['S0-0']} {guid['S1-0']}\\nx_dateline -1"
    >>> text = f"torus 5 3 1\\n{along_x}\\nyp_link {guid['S0-0']} {guid['S0-1']}"
    >>> found = configured(fabric, parse_torus_config(text))
    >>> found.describe(), found.place(0), found.place(2)
    ('5x3 torus', 'S0-0 (1,0)', 'S1-0 (0,0)')
    """
    axes = [axis for axis, radix in enumerate(config.radices) if radix > 1]
    sizes = [config.radices[axis] for axis in axes]
    found = recognise(subnet)
    if found.kind not in ("torus", "mesh") or sorted(found.sizes) != sorted(sizes):
        found = recognise(subnet, sizes)
    index = {switch.guid: number for number, switch in enumerate(subnet.switches)}
    lost = None
    placed: tuple[Seed, Recognition] | None = None
    for seed in config.seeds:
        gone = [(guid, link[4]) for link in seed.links for guid in link[2:4] if guid not in index]
        if gone:
            lost = lost or gone[0]
            continue
        made = _placed(found, config, axes, seed, index)
        if placed is None:
            placed = seed, made
        elif made.coordinates != placed[1].coordinates:
            switch, line = index[seed.links[0][2]], seed.links[0][4]
            here, there = (one.coordinates[switch] for one in (made, placed[1]))
            raise SpecError.at(
                f"{config.place}, line {line}",
                f"this seed puts {subnet.switches[switch].name} at {here}, the first one at {there}",
                "give all seeds the same axes and origin",
            )
    if placed is not None:
        return placed[1]
    if lost is not None:
        problem = f"no switch of the fabric has the GUID 0x{lost[0]:016x}, and no other seed is there"
        raise SpecError.at(f"{config.place}, line {lost[1]}", problem)
    raise SpecError.at(config.place, "has no seed", "add xp_link, yp_link and zp_link")


#: Coordinates of a ring of four by whether its two bits are set: the way that begins with either bit.
_RING_OF_FOUR = {(0, 0): 0, (1, 0): 1, (1, 1): 2, (0, 1): 3}
_BITS = {at: bits for bits, at in _RING_OF_FOUR.items()}


class _Lines:
    """The lines of a recognised torus or mesh; a ring of four is two lines of two.

    Two rings of four are one graph, whichever of their lines are paired: the links of a seed say that.
    """

    def __init__(self, found: Recognition) -> None:
        self.found = found
        self.split = [size == 4 and wrap for size, wrap in zip(found.sizes, found.wraps, strict=True)]
        #: Size, whether it closes, and the other line of a ring of four.
        self.lines: list[tuple[int, bool, int | None]] = []
        for size, wrap, split in zip(found.sizes, found.wraps, self.split, strict=True):
            at = len(self.lines)
            self.lines += [(2, False, at + 1), (2, False, at)] if split else [(size, wrap, None)]

    def place(self, coordinates: tuple[int, ...]) -> list[int]:
        """Where coordinates are on every line."""
        place: list[int] = []
        for at, split in zip(coordinates, self.split, strict=True):
            place += _BITS[at] if split else (at,)
        return place

    def way(self, a: list[int], b: list[int]) -> tuple[int, int] | None:
        """The line and the direction from a place to its neighbour."""
        apart = [line for line, (here, there) in enumerate(zip(a, b, strict=True)) if here != there]
        if len(apart) != 1:
            return None
        line, (size, wrap, _) = apart[0], self.lines[apart[0]]
        step = (b[line] - a[line]) % size if wrap else b[line] - a[line]
        return (line, 1) if step == 1 else (line, -1) if step in (-1, size - 1) else None


@dataclass(frozen=True)
class _Axis:
    """Where an axis leads: its line and way, or the two lines of a ring of four, and where its origin is."""

    size: int
    wrap: bool
    line: int
    way: int
    other: int | None
    dateline: int

    def at(self, place: list[int], begin: list[int]) -> int:
        """The coordinate of a place."""
        if self.other is not None:
            bits = (place[self.line] ^ begin[self.line], place[self.other] ^ begin[self.other])
            return (_RING_OF_FOUR[bits] - self.dateline) % 4
        if self.wrap:
            return (self.way * (place[self.line] - begin[self.line]) - self.dateline) % self.size
        # A line begins at its rim.
        return place[self.line] if self.way == 1 else self.size - 1 - place[self.line]


def _placed(
    found: Recognition, config: TorusConfig, axes: list[int], seed: Seed, index: dict[int | None, int]
) -> Recognition:
    """A recognised torus or mesh with the coordinates that a seed gives it."""
    lines = _Lines(found)

    def at(guid: int, number: int) -> list[int]:
        if coordinates := found.coordinates[index[guid]]:
            return lines.place(coordinates)
        problem = f"{found.subnet.switches[index[guid]].name} is hung on the torus or mesh"
        raise SpecError.at(f"{config.place}, line {number}", problem, "name a switch of it")

    begin = at(seed.links[0][2], seed.links[0][4])
    led: dict[int, dict[int, tuple[int, int]]] = {axis: {} for axis in axes}
    for axis, way, _, neighbour, number in seed.links:
        place = f"{config.place}, line {number}"
        if axis not in led:
            raise SpecError.at(place, f"{'xyz'[axis]} has radix 1", "leave the link out")
        there = lines.way(begin, at(neighbour, number))
        if there is None:
            raise SpecError.at(place, "these switches are not neighbours in the torus or mesh that was found")
        for before, (line, step) in led[axis].items():
            same = (line, step * before) == (there[0], there[1] * way)
            # Lines of two may be a ring of four together, and both ways of one lead to the same switch.
            short = lines.lines[line][0] == lines.lines[there[0]][0] == 2
            if not (same or (short and way != before)):
                raise SpecError.at(place, f"the links of {'xyz'[axis]} lead along different lines")
        led[axis][way] = there
    turned = [_axis(lines, config, axis, led[axis], seed.datelines.get(axis, 0)) for axis in axes]
    used = [line for axis in turned for line in (axis.line, axis.other) if line is not None]
    if len(set(used)) < len(used):
        raise SpecError.at(config.place, "two axes of a seed lead along the same lines of the fabric")

    def moved(coordinates: tuple[int, ...]) -> tuple[int, ...]:
        place = lines.place(coordinates)
        return tuple(axis.at(place, begin) for axis in turned)

    return replace(
        found,
        sizes=tuple(axis.size for axis in turned),
        wraps=tuple(axis.wrap for axis in turned),
        coordinates=tuple(moved(place) if place else () for place in found.coordinates),
        missing_switches=tuple(map(moved, found.missing_switches)),
        closed=tuple(
            tuple(axis.size if other is axis else 0 for other in turned) for axis in turned if axis.wrap
        ),
    )


def _axis(
    lines: _Lines, config: TorusConfig, axis: int, led: dict[int, tuple[int, int]], dateline: int
) -> _Axis:
    """Where an axis leads, by the links of a seed."""
    name, size, wrap = "xyz"[axis], config.radices[axis], config.wraps[axis] and config.radices[axis] > 2
    if not led:
        raise SpecError.at(
            config.place, f"a seed has no link along {name}", f"add {name}p_link SWITCH NEIGHBOUR"
        )
    way = 1 if 1 in led else -1
    line, step = led[way]
    there, closes, partner = lines.lines[line]
    if size == 4 and wrap and there == 2:
        # The link down says which line is the other one.
        other = led[-way][0] if len(led) == 2 else partner
        if other is None:
            advice = f"add {name}{'m' if way == 1 else 'p'}_link, which a radix of 4 needs"
            raise SpecError.at(config.place, f"{name} may lead along several rings of the fabric", advice)
        if other != line:
            first, second = (line, other) if way == 1 else (other, line)
            return _Axis(4, True, first, 1, second, dateline)
    elif (there, closes) == (size, wrap) and (partner is None or size == 2):
        return _Axis(size, wrap, line, step * way, None, dateline)
    is_ = "4t" if partner is not None else f"{there}{'t' if closes else 'm'}"
    said = f"{size}{'t' if config.wraps[axis] else 'm'}"
    raise SpecError.at(config.place, f"{name} leads along {is_} switches of the fabric, not {said}")
