"""Kinds of traffic of a subnet besides packets on the level of their direction, and the verdict on each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flitloom import _core
from flitloom.errors import SpecError, show_file, unknown_parts
from flitloom.fabric.allocation import names_of_hosts
from flitloom.fabric.model import Subnet
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import text_lines
from flitloom.tables.by_destination.management import SwitchRoutes
from flitloom.tables.by_destination.tables import LEVELS, read_bytes, report_in
from flitloom.tables.verdict import Row, deadlock_row

#: Kinds of traffic: packets of pairs of hosts on the level of their own direction, on that of either
#: direction, of managers and monitors, and of multicast groups.
HOST_PAIRS, BOTH_WAYS, MANAGERS, MULTICAST = KINDS = ("host pairs", "both ways", "managers", "multicast")
#: A row of ``opensm.mcfdbs``: a multicast LID and the ports that its packets leave by.
_GROUP = re.compile(r"0x([0-9a-fA-F]{1,4})\s*:?((?:\s+0x[0-9a-fA-F]{1,3})+)")
#: The first multicast LID.
_FIRST_GROUP = 0xC000


@dataclass(frozen=True)
class Beside:
    """What is known of managers and multicast, and what tables must be safe for.

    Attributes
    ----------
    managers : tuple of str
        Hosts that the subnet manager and monitors run on, as lists of names; empty if any single host may be.
    manager_level : int
        Service level of their packets, OpenSM's ``sm_sl``.
    multicast : path or None
        Multicast tables, ``opensm.mcfdbs``; None for the tree that OpenSM builds for all hosts.
    multicast_level : int
        Service level of multicast.
    safe_for : tuple of str
        Kinds of traffic of `KINDS` that must be deadlock-free besides the first.
    levels_from : str
        What says the levels, as text behind them.
    """

    managers: tuple[str, ...] = ()
    manager_level: int = 0
    multicast: Path | None = None
    multicast_level: int = 0
    safe_for: tuple[str, ...] = ()
    levels_from: str = ""

    @classmethod
    def of(cls, tables: str | Path) -> Beside:
        """What the ``report.json`` of a folder says of managers and multicast."""
        folder = Path(tables)
        said = report_in(folder) if folder.is_dir() else {}
        multicast = folder / "opensm.mcfdbs"
        managers = said.get("managers")
        levels = (said.get(name) for name in ("sm_sl", "multicast_sl"))
        manager_level, multicast_level = (level if isinstance(level, int) else 0 for level in levels)
        return cls(
            managers=tuple(managers) if isinstance(managers, list) else (),
            manager_level=manager_level,
            multicast=multicast if multicast.is_file() else None,
            multicast_level=multicast_level,
            levels_from=f" by {show_file(folder / 'report.json')}" if "sm_sl" in said else ", assumed",
        )

    @property
    def highest_level(self) -> int:
        """The higher one of both service levels."""
        return max(self.manager_level, self.multicast_level)

    def __post_init__(self) -> None:
        for option, level in (("--sm-sl", self.manager_level), ("--multicast-sl", self.multicast_level)):
            if not 0 <= level < LEVELS:
                raise SpecError.at(option, str(level), "service levels are 0 to 15")
        for kind in self.safe_for:
            if kind not in KINDS:
                words = [word.replace(" ", "-") for word in KINDS]
                raise SpecError.at("--safe-for", *unknown_parts(kind.replace(" ", "-"), words))

    def hosts(self, subnet: Subnet) -> list[int]:
        """The ports of the managers, by their places in `Subnet.hosts`."""
        names = names_of_hosts(subnet) if self.managers else None
        found = [host for text in self.managers for host in names.listed(text, "--manager")] if names else []
        return sorted(set(found))

    def request(
        self, subnet: Subnet, to_switches: SwitchRoutes
    ) -> tuple[list[int], int, list[list[int]], int, list[int], list[int]]:
        """What the core judges."""
        trees = assumed_tree(subnet) if self.multicast is None else read_multicast(subnet, self.multicast)
        roots, rows = to_switches
        managers = self.hosts(subnet)
        return managers, self.manager_level, trees, self.multicast_level, roots, rows.reshape(-1).tolist()


def assumed_tree(subnet: Subnet) -> list[list[int]]:
    """The tree that OpenSM builds for a group of all hosts: the channels of its cables."""
    ports = [port for cable in subnet.cables for port in (cable.a_port, cable.b_port)]
    return [_core.multicast_tree(subnet.core(), ports)]


def read_multicast(subnet: Subnet, file: str | Path) -> list[list[int]]:
    """Channels by multicast tree, from ``opensm.mcfdbs``; groups with the same ones are one tree.

    Raises
    ------
    SpecError
        A row that is none, or a switch that the fabric does not have.
    """
    by_guid = {switch.guid: index for index, switch in enumerate(subnet.switches)}
    channels = subnet.channels_by_port()
    groups: dict[int, list[int]] = {}
    here: int | None = None
    known = False
    text = read_bytes(file).decode("utf-8", "replace")
    for number, line in enumerate(text_lines(text, show_file(file)), start=1):
        row, place = line.strip(), f"{file}, line {number}"
        if not row or row.startswith(("#", "LID", "MCast", "Multicast")):
            continue
        if head := re.match(r"Switch\s+0x([0-9a-fA-F]{1,16})", row):
            guid = int(head[1], 16)
            here, known = by_guid.get(guid), True
            if here is None and guid not in subnet.gone:
                raise SpecError(f"{place}: switch 0x{head[1]} is not in the fabric")
            continue
        match = _GROUP.fullmatch(row)
        if match is None or not known or int(match[1], 16) < _FIRST_GROUP:
            raise SpecError(
                f"{place}: {row[:60]!r} is not a multicast row; write '0xC000 : 0x001 0x002' behind a line "
                "'Switch 0x<guid>'"
            )
        if here is not None:
            ports = [int(port, 16) for port in match[2].split()]
            found = [int(channels[here, port]) for port in ports if port < 256]
            groups.setdefault(int(match[1], 16), []).extend(
                channel for channel in found if channel < 2 * len(subnet.cables)
            )
    trees = {tuple(sorted(tree)) for tree in groups.values() if tree}
    return [list(tree) for tree in sorted(trees)]


@explained
@dataclass(frozen=True)
class KindVerdict:
    """Whether a kind of traffic can deadlock, beside host pairs and the kinds that cannot.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    deadlock : bool or None
        Whether channels can wait for each other; None where it was not judged.
    cycle : list of str
        A shortest cycle of them.
    premise : str
        What was assumed of the traffic.
    unsafe_places : int
        Of hosts that were tried as the only manager, those whose packets close a cycle.
    """

    kind: str
    deadlock: bool | None
    cycle: list[str]
    premise: str
    unsafe_places: int = 0

    def facts(self) -> dict[str, Any]:
        """The same as plain values; the premise says how many places are unsafe."""
        return {name: value for name, value in asdict(self).items() if name != "unsafe_places"}

    def row(self) -> Row:
        """What a printed report says of it."""
        if self.deadlock is None:
            return self.kind, f"not judged: {self.premise}", []
        _, text, below = deadlock_row(self.cycle)
        return self.kind, f"{text} ({self.premise})", below


def verdicts(
    subnet: Subnet,
    facts: dict[str, Any] | None,
    besides: Sequence[Beside],
    cycle: Sequence[str],
) -> tuple[KindVerdict, ...]:
    """The verdict on every kind of traffic, from what was found beside one or several sets of tables.

    Parameters
    ----------
    facts : dict or None
        Cycles by kind, and the places of one manager; None where only host pairs were judged.
    besides : sequence of Beside
        What is known of managers and multicast for each; managers are those of the first.
    cycle : sequence of str
        The cycle of host pairs.
    """
    first = KindVerdict(HOST_PAIRS, bool(cycle), list(cycle), "host pairs, each direction on its own level")
    if facts is None:
        why = "host pairs can deadlock already" if cycle else "host pairs can go round already"
        why = why if besides else "only host pairs were asked for"
        return first, *(KindVerdict(kind, None, [], why) for kind in KINDS[1:])

    def judged(kind: str, found: Iterable[tuple[int, int]], premise: str, places: int = 0) -> KindVerdict:
        names = [f"{subnet.channel_name(channel)}, lane {lane}" for channel, lane in found]
        return KindVerdict(kind, bool(names), names, premise, places)

    beside = besides[0]
    said = dict.fromkeys(f"{each.manager_level}{each.levels_from}" for each in besides)
    level = f"on level {' and '.join(said)}"
    if beside.managers:
        managers = f"hosts and {counted(len(beside.hosts(subnet)), 'manager')} {level}"
    elif places := facts["unsafe_places"]:
        managers = f"at {len(places)} of {facts['places']} places of one manager, e.g. "
        managers += f"{subnet.hosts[places[0]].name}, {level}"
    else:
        managers = f"one manager at any of {counted(facts['places'], 'place')} {level}"
    said = dict.fromkeys(f"{each.multicast_level}{each.levels_from}" for each in besides)
    files = [each.multicast for each in besides if each.multicast is not None]
    tree = " and ".join(map(str, files)) if files else "the tree that OpenSM builds, assumed"
    return (
        first,
        judged(
            BOTH_WAYS, facts["both_ways"], "both directions of a pair on the level of either, as with rdma_cm"
        ),
        judged(MANAGERS, facts["managers"], managers, len(facts["unsafe_places"])),
        judged(MULTICAST, facts["multicast"], f"{tree}, on level {' and '.join(said)}"),
    )


def safe_for(kinds: Sequence[KindVerdict]) -> str:
    """Which kinds of traffic cannot deadlock together, and which can or were not judged, in a line.

    Examples
    --------
    >>> kinds = [KindVerdict("host pairs", False, [], ""), KindVerdict("both ways", True, ["a"], "")]
    >>> safe_for(kinds), safe_for(kinds[:1])
    ('safe for host pairs; not for both ways', 'safe for host pairs')
    """
    safe = ", ".join(kind.kind for kind in kinds if kind.deadlock is False)
    unsafe = ", ".join(kind.kind for kind in kinds if kind.deadlock)
    unknown = ", ".join(kind.kind for kind in kinds if kind.deadlock is None)
    parts = [f"safe for {safe}"] if safe else []
    parts += [f"not {'' if parts else 'safe '}for {unsafe}"] if unsafe else []
    parts += [f"not judged for {unknown}"] if unknown else []
    return "; ".join(parts)
