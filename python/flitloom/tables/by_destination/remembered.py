"""What a folder of tables remembers: the fabric that they are for, and the first of a row of repairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from flitloom.errors import remarks, show_file
from flitloom.fabric.identifiers import is_made_up
from flitloom.fabric.model import Host, Subnet, Switch
from flitloom.fabric.reading import parse_fabric
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import opened, read_text
from flitloom.tables.by_destination.colours import RISES
from flitloom.tables.by_destination.tables import dump_in, report_in

#: The fabric that tables are for, in their folder.
FABRIC = "fabric.topo"
#: The folder of the first tables in that of a repair.
FIRST = "first"
#: Files of tables that OpenSM loads, and what their check reads.
LOADED = (
    *("opensm-lfts.dump", "path-sl.txt", "qos-policy.conf", "partitions.conf"),
    *("slvl.txt", "sl2vl.dump", RISES, FABRIC, "report.json"),
)
#: Folders of stages.
_STAGE = re.compile(r"(?:stage|back)-\d+")
#: Fabrics that are kept in memory.
_FABRICS = 2
#: Names that a remark shows.
_SHOWN = 3
#: Unicast LIDs.
_LIDS = 0xC000

Node = TypeVar("Node", Switch, Host)


def fabric_in(tables: str | Path) -> Subnet | None:
    """The fabric that a folder says its tables are for; None where it does not, as beside dumps of OpenSM.

    Parameters
    ----------
    tables : path
        The folder, or its dump.
    """
    folder = _folder(tables)
    if folder is None:
        return None
    file = folder / FABRIC
    return _read(read_text(file, limits.FABRIC_BYTES), show_file(file))


@lru_cache(maxsize=_FABRICS)
def _read(text: str, source: str) -> Subnet:
    """The fabric that a text describes, which repairs look at several times."""
    return replace(parse_fabric(text, source), remarks=())


def with_gone(subnet: Subnet, tables: str | Path) -> Subnet:
    """A subnet to which the switches are known that it lost since tables were made, as their folder says.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.remembered import with_gone
    >>> less = fl.tables.fabric("full5", fail=["node:(2)"])
    >>> with TemporaryDirectory() as folder:
    ...     out = fl.tables.make("full5").write(folder)
    ...     with_gone(replace(less, gone=()), out).remarks
    ('the tables are for a fabric with S2, too: its entries are left out',)
    """
    past = fabric_in(tables)
    if past is None:
        return subnet
    there = {switch.guid for switch in subnet.switches} | set(subnet.gone)
    gone = [switch for switch in past.switches if switch.guid is not None and switch.guid not in there]
    if not gone or 2 * len(gone) > len(past.switches):
        return subnet
    names = [switch.name for switch in gone]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    whose = "its" if len(names) == 1 else "their"
    whole = f"{', '.join(names[:_SHOWN])}{more}"
    told = f"the tables are for a fabric with {whole}, too: {whose} entries are left out"
    remarks.tell(told)
    guids = (*subnet.gone, *(switch.guid for switch in gone if switch.guid is not None))
    return replace(subnet, gone=guids, remarks=(*subnet.remarks, told))


def _folder(tables: str | Path) -> Path | None:
    """The folder of tables that says their fabric."""
    tables = Path(tables)
    folder = tables if tables.is_dir() else tables.parent
    if tables not in (folder, dump_in(folder)) or not dump_in(folder).is_file():
        return None
    # That of a stage is the one around it.
    around = folder.absolute().parent
    places = (folder, around) if _STAGE.fullmatch(folder.absolute().name) else (folder,)
    return next((place for place in places if (place / FABRIC).is_file()), None)


@dataclass(frozen=True)
class Match:
    """Which switches and hosts of a fabric are those of its past: the number there of each, or None.

    GUIDs decide, then names that stand once, then places: what hangs at the same ports replaces what hung
    there. GUIDs that were made up for a file without any come last.
    """

    switches: list[int | None]
    hosts: list[int | None]

    @classmethod
    def of(cls, now: Subnet, past: Subnet) -> Match:
        """The match of two fabrics."""
        switches: list[int | None] = [None] * len(now.switches)
        of_switches = now.switches, past.switches
        _pair(switches, of_switches, _guid)
        _pair(switches, of_switches, lambda switch: switch.name)
        _place(switches, now, past)
        _pair(switches, of_switches, lambda switch: switch.guid)
        hosts: list[int | None] = [None] * len(now.hosts)
        # A host counts at the switch of the past, so that the keys of both are the same.
        where = [replace(host, switch=_past(switches, host.switch)) for host in now.hosts]
        of_hosts = where, past.hosts
        _pair(hosts, of_hosts, lambda host: _real(host.port_guid))
        _pair(hosts, of_hosts, lambda host: (host.name, host.switch, host.lmc))
        _pair(hosts, of_hosts, lambda host: (host.name, host.lmc))
        _pair(hosts, of_hosts, lambda host: (host.switch, host.switch_port, host.lmc))
        _pair(hosts, of_hosts, lambda host: host.port_guid)
        return cls(switches, hosts)

    def is_whole(self, now: Subnet, past: Subnet) -> bool:
        """Whether all that was there is there, at the same ports, and nothing else."""
        switches, hosts = self.switches, self.hosts
        if None in switches or None in hosts or len(switches) != len(past.switches):
            return False
        plugs = [(_past(switches, host.switch), host.switch_port) for host in now.hosts]
        same = [
            plug == (past.hosts[index].switch, past.hosts[index].switch_port)
            for plug, index in zip(plugs, hosts, strict=True)
            if index is not None
        ]
        return len(hosts) == len(past.hosts) and all(same) and _cables(now, switches) == _cables(past)


def _real(guid: int | None) -> int | None:
    """A GUID that was not made up."""
    return None if guid is None or is_made_up(guid) else guid


def _guid(switch: Switch) -> int | None:
    return _real(switch.guid)


def _past(switches: Sequence[int | None], switch: int) -> int:
    """The number in the past, -1 for none."""
    found = switches[switch]
    return -1 if found is None else found


def _pair(
    found: list[int | None],
    nodes: tuple[Sequence[Node], Sequence[Node]],
    key: Callable[[Node], Hashable],
) -> None:
    """Match what is left on both sides by keys that stand once there."""
    now, past = nodes
    taken = set(found)
    left = [index for index, known in enumerate(found) if known is None]
    there = [index for index in range(len(past)) if index not in taken]
    counts = Counter(key(now[index]) for index in left), Counter(key(past[index]) for index in there)
    by_key = {key(past[index]): index for index in there}
    for index in left:
        word = key(now[index])
        if word is not None and counts[0][word] == counts[1][word] == 1:
            found[index] = by_key[word]


def _plugs(subnet: Subnet) -> list[dict[int, Hashable]]:
    """What hangs at the ports of every switch: a host's GUID, or the port of a switch."""
    plugs: list[dict[int, Hashable]] = [{} for _ in subnet.switches]
    for host in subnet.hosts:
        plugs[host.switch][host.switch_port] = host.port_guid
    for cable in subnet.cables:
        plugs[cable.a][cable.a_port] = cable.b, cable.b_port
        plugs[cable.b][cable.b_port] = cable.a, cable.a_port
    return plugs


def _place(found: list[int | None], now: Subnet, past: Subnet) -> None:
    """Match switches that are left with those at whose ports more than half hung that hangs there now."""
    left = [index for index, known in enumerate(found) if known is None]
    lost = [index for index in range(len(past.switches)) if index not in set(found)]
    if not left or not lost:
        return
    here, there = _plugs(now), _plugs(past)
    for index in left:
        named = {
            port: (_past(found, plug[0]), plug[1]) if isinstance(plug, tuple) else plug
            for port, plug in here[index].items()
        }
        same = {other: len(named.items() & there[other].items()) for other in lost if other not in found}
        best = max(same, key=lambda other: same[other], default=None)
        if best is not None and 2 * same[best] > len(named):
            found[index] = best


def _cables(subnet: Subnet, switches: Sequence[int | None] | None = None) -> set[frozenset[tuple[int, int]]]:
    """The ports that cables join, in the numbers of the past."""

    def end(switch: int, port: int) -> tuple[int, int]:
        return switch if switches is None else _past(switches, switch), port

    return {frozenset((end(cable.a, cable.a_port), end(cable.b, cable.b_port))) for cable in subnet.cables}


def as_in(subnet: Subnet, past: Subnet, first: Subnet | None = None) -> Subnet:
    """A fabric with the LIDs and GUIDs that its parts had in the past, or at first if they were away then.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.identifiers import with_identifiers
    >>> from flitloom.tables.by_destination.remembered import as_in
    >>> past = with_identifiers(parse_fabric("h,a\\nk,b\\na,b\\n"))
    >>> others = replace(past, hosts=tuple(replace(host, lid=host.lid + 9) for host in past.hosts))
    >>> as_in(others, past) == past
    True
    """
    match = Match.of(subnet, past)
    used = {lid for host in past.hosts for lid in _lids(host)} | {node.lid for node in past.switches}
    free = iter(sorted(set(range(1, _LIDS)) - used - {lid for host in subnet.hosts for lid in _lids(host)}))
    # Levels of hosts behind a failed switch are kept with the LIDs that they had.
    away = {host.port_guid: host.lid for host in (first.hosts if first else ()) if not used & {*_lids(host)}}
    switches = tuple(
        switch
        if index is None
        else replace(switch, guid=past.switches[index].guid, lid=past.switches[index].lid)
        for switch, index in zip(subnet.switches, match.switches, strict=True)
    )

    def named(host: Host, index: int | None) -> Host:
        if index is not None:
            known = past.hosts[index]
            return replace(host, guid=known.guid, port_guid=known.port_guid, lid=known.lid)
        # What is new has no entries, though its LID may have been that of another host.
        return replace(host, lid=away.get(host.port_guid) or next(free)) if host.lmc == 0 else host

    hosts = tuple(named(*both) for both in zip(subnet.hosts, match.hosts, strict=True))
    return replace(subnet, switches=switches, hosts=hosts)


def _lids(host: Host) -> range:
    return range(host.lid or 0, (host.lid or 0) + (1 << host.lmc))


def with_away(subnet: Subnet, past: Subnet) -> tuple[Subnet, list[int]]:
    """A fabric with the hosts of its past whose port is free, and the new numbers of those that are there.

    A host that reboots, or whose cable is out, is away: its entries and levels stay. A remark names them.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.identifiers import with_identifiers
    >>> from flitloom.tables.by_destination.remembered import with_away
    >>> past = with_identifiers(parse_fabric("h,a\\nk,b\\nl,b\\na,b\\n", hosts="h,k,l"))
    >>> found, places = with_away(replace(past, hosts=past.hosts[1:]), past)
    >>> found.hosts == past.hosts, places, found.remarks[-1]
    (True, [1, 2], '1 host is away, and its entries stay: h')
    """
    match = Match.of(subnet, past)
    here = {then: index for index, then in enumerate(match.switches) if then is not None}
    taken = {(switch, port) for switch, plugs in enumerate(_plugs(subnet)) for port in plugs}
    lids = {lid for host in subnet.hosts for lid in _lids(host)} | {switch.lid for switch in subnet.switches}
    guids = {host.port_guid for host in subnet.hosts}
    away = []
    for index in sorted(set(range(len(past.hosts))) - set(match.hosts)):
        host = past.hosts[index]
        place = here.get(host.switch, -1), host.switch_port
        known = host.port_guid in guids or not lids.isdisjoint(_lids(host))
        if place[0] >= 0 and place not in taken and not known:
            away.append(replace(host, switch=place[0]))
    if not away:
        return subnet, list(range(len(subnet.hosts)))
    # Hosts stand in the order of their switches.
    order = [(host.switch, host.switch_port, index) for index, host in enumerate((*subnet.hosts, *away))]
    places = {index: place for place, (_, _, index) in enumerate(sorted(order))}
    hosts = sorted((*subnet.hosts, *away), key=lambda host: (host.switch, host.switch_port))
    names = ", ".join(host.name for host in away[:_SHOWN]) + (", ..." if len(away) > _SHOWN else "")
    one = len(away) == 1
    verbs = f"{'is' if one else 'are'} away, and {'its' if one else 'their'} entries stay"
    remark = f"{counted(len(away), 'host')} {verbs}: {names}"
    whole = replace(subnet, hosts=tuple(hosts), remarks=(*subnet.remarks, remark))
    return whole, [places[index] for index in range(len(subnet.hosts))]


@dataclass(frozen=True)
class First:
    """The first tables of a row of repairs, which are right again when all is back.

    Attributes
    ----------
    folder : path
        Where they are.
    fabric : Subnet
        What they were made for.
    """

    folder: Path
    fabric: Subnet

    @classmethod
    def of(cls, old: str | Path) -> First | None:
        """Those that old tables go back to, or are; None where no folder says what they were made for."""
        folder = _folder(old)
        if folder is None:
            return None
        kept = folder / FIRST
        place = kept if _folder(kept) else folder
        fabric = fabric_in(place)
        return None if fabric is None else cls(place, fabric)

    @property
    def is_there(self) -> bool:
        """Whether the folder is still there."""
        return _folder(self.folder) is not None

    def files(self) -> dict[str, Iterable[str | bytes]]:
        """Its files as they are, by name."""
        return {name: _copied(self.folder / name) for name in LOADED if (self.folder / name).is_file()}

    def has_all_of(self, subnet: Subnet) -> bool:
        """Whether it knows all switches and hosts, so that its tables can be right again."""
        match = Match.of(subnet, self.fabric)
        return None not in (*match.switches, *match.hosts)

    def suits(self, mode: str | None, method: str | None, lanes: int, pairs: int | None) -> bool:
        """Whether it was made for what is asked: a mode, a method, lanes, pairs that count."""
        said = report_in(self.folder)
        return (
            said.get("mode") == "portable"
            and mode in (None, "portable")
            and method in (None, said.get("method"))
            and said.get("service_levels", lanes + 1) <= lanes
            and max(said.get("sm_sl", 0), said.get("multicast_sl", 0)) < lanes
            and said.get("pairs_checksum") == pairs
        )

    def names(self, subnet: Subnet, all_of_it: bool = True) -> bool:
        """Whether LIDs and GUIDs are those of these tables: of all parts, or of those that are there."""
        now, past = _named(subnet), _named(self.fabric)
        return now == past if all_of_it else now <= past


def _named(subnet: Subnet) -> set[tuple[int | None, ...]]:
    """LIDs and GUIDs."""
    switches = {(switch.lid, switch.guid) for switch in subnet.switches}
    return {*switches, *((host.lid, host.guid, host.port_guid) for host in subnet.hosts)}


def _copied(file: Path) -> Iterator[bytes]:
    with opened(file, limits.SUBNET_BYTES) as source:
        yield from map(bytes, source.pieces())
