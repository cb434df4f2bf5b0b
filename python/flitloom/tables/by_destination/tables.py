"""Forwarding tables, service levels and lanes of a subnet, as OpenSM and ibdmchk write and read them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show_file
from flitloom.fabric.identifiers import has_none
from flitloom.fabric.model import Subnet
from flitloom.ground import limits
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import opened, read_text, text_lines
from flitloom.tables.by_destination.colours import read_rises, rises_in, rule_of
from flitloom.tables.by_destination.dumped_names import with_dumped_identifiers, with_dumped_lids
from flitloom.tables.by_destination.management import SwitchRoutes, routes_in
from flitloom.tables.traffic import Demand, demand_of

#: What to do with tables that speak of a switch that the fabric lacks.
_SINCE = "if it has failed since, name the fabric as it was, and the switch with --fail node:NAME"
#: Where the rule comes from if nothing chooses lanes.
_ASSUMED = "assumed: no file chooses lanes; name those there are with --path-sl and --slvl"
#: No channel.
NONE = 0xFFFFFFFF
#: Service levels of InfiniBand.
LEVELS = 16
#: Lanes that links have, if not the most.
_FEW_LANES = 8
#: A row of ibdmchk's SLVL file: switch, ports in and out, two lanes a number.
_SLVL = re.compile(r"0x([0-9a-fA-F]{1,16})\s+(\d{1,9})\s+(\d{1,9})((?:\s+0x[0-9a-fA-F]{2})+)")
#: A row of ``opensm-sl2vl.dump``: ports in and out, a lane a number.
_SL2VL = re.compile(r"(\d{1,9})\s+(\d{1,9})\s*:\s*(\d{1,9}(?:\s+\d{1,9}){15})")


@explained
@dataclass(frozen=True)
class ForwardingTables:
    """Tables by destination of a subnet, with what chooses the lanes of packets.

    Attributes
    ----------
    subnet : Subnet
        The subnet, with LIDs and GUIDs.
    owners : array
        The host every destination belongs to.
    following : array
        Channel by destination and switch.
    levels : array or None
        Service level by destination and host; None for level 0 everywhere.
    rows : tuple of array, or None
        Start of every switch's lane table, and lanes by service level with a row per port in and out; None
        where the lane is the level modulo `lanes`.
    lanes : int
        Lanes of the links.
    rule : str
        What chooses lanes, as text.
    rules_from : str
        Where that comes from.
    remarks : tuple of str
        What was odd in the files.
    demand : Demand, optional
        Pairs that count in loads and the bound, if not all do.
    rising : array, optional
        By switch whether lanes rise there by one, up to the last of `lanes`, whatever levels say.
    undelivered : array
        Destinations whose own switch does not hand their packets over, those from its other hosts included.
    to_switches : tuple of list and array, optional
        Switches, and channels by these and all switches to their LIDs where other ones than to their hosts;
        by default as tables are made.
    """

    subnet: Subnet
    owners: NDArray[np.int64]
    following: NDArray[np.uint32]
    levels: NDArray[np.uint8] | None
    rows: tuple[NDArray[np.uint64], NDArray[np.uint8]] | None
    lanes: int
    rule: str
    rules_from: str = "from the tables"
    remarks: tuple[str, ...] = ()
    demand: Demand | None = None
    rising: NDArray[np.bool_] | None = None
    undelivered: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    to_switches: SwitchRoutes | None = None

    @property
    def roots(self) -> list[int]:
        """The switch every destination hangs off."""
        return roots_of(self.subnet, self.owners)

    @property
    def used_lanes(self) -> int:
        """Lanes that the tables use."""
        if self.rising is not None:
            return self.lanes
        if self.rows is not None:
            lanes = self.rows[1]
            return int(lanes[lanes < 15].max(initial=0)) + 1
        highest = 0 if self.levels is None else int(self.levels.max(initial=0))
        return min(self.lanes, highest + 1)

    def checksum(self) -> int:
        """CRC-32 of the cables, the hosts and all entries: what packets do is the same where it is.

        >>> from flitloom.fabric import parse_fabric, route_subnet
        >>> rings = ("a,b\\nb,c\\nc,a\\n", "a,b\\nb,c\\nc,d\\nd,a\\n")
        >>> made = [route_subnet(parse_fabric(text)) for text in rings]
        >>> one, other = (routes.forwarding().checksum() for routes in made)
        >>> one == other
        False
        """
        subnet = self.subnet
        hosts = np.array([host.switch for host in subnet.hosts])
        parts = [subnet.cable_ends(), hosts, self.owners, self.following, np.array([self.lanes])]
        parts += [part for part in (self.levels, self.rising, *(self.rows or ())) if part is not None]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(np.asarray(part, dtype=np.uint64).tobytes(), checksum)
        return checksum


def read_tables(
    subnet: Subnet,
    tables: str | Path,
    *,
    path_levels: str | Path | None = None,
    lane_tables: str | Path | None = None,
    lanes: int | None = None,
) -> ForwardingTables:
    """Read tables and what goes with them; see `flitloom.fabric.check_subnet`.

    A folder that ``route --fabric`` wrote has all that belongs to it; a dump alone is on one lane. With
    `lanes` the lanes that tables of lanes name are taken modulo that number, as on links with fewer lanes.

    Raises
    ------
    SpecError
        A damaged file, or one that belongs to another subnet.
    """
    file, rising = tables, rises_in(tables)
    if rising is not None:
        return _read_rising(subnet, Path(tables), rising, path_levels or lane_tables, lanes)
    if Path(file).is_dir():
        folder = Path(file)
        file = dump_in(folder)
        path_levels, lane_tables = path_levels or folder / "path-sl.txt", lane_tables or folder / "sl2vl.dump"
    # The tables that are made for a file without LIDs and GUIDs have made-up ones.
    named_as_in = with_dumped_identifiers if has_none(subnet) else with_dumped_lids
    subnet = named_as_in(subnet, file)
    lids, owners = destinations(subnet)
    ports, remarks = read_forwarding(subnet, file)
    handed = handed_over(subnet, ports, lids, owners)
    following = channels(subnet, ports, lids, owners)
    levels, rows, given = None, None, lanes
    # Levels fold on links with few lanes, as they are asked for or as ports say.
    lanes = lanes_there(subnet, lanes) if lanes is not None or subnet.fewest_lanes() else None
    if path_levels is not None and not all_are_zero(path_levels):
        # LIDs of the levels are those of the dump beside them, if there is one.
        was = with_dumped_lids(subnet, dump_in(Path(path_levels).parent))
        was = was if all(host.lid for host in was.hosts) else subnet
        levels, missing, more = read_path_levels(was, path_levels, destinations(was)[0])
        if missing == len(lids) * len(subnet.hosts) - len(lids) and len(more) > 1:
            raise SpecError(
                f"{show_file(path_levels)} is of another fabric: no line names a host of this one; name the "
                "service levels of these tables"
            )
        remarks += more
    used = 1 if levels is None else int(levels.max(initial=0)) + 1
    if lane_tables is not None:
        rows = read_lane_tables(subnet, lane_tables)
        rule = f"lanes by {lane_tables}"
        used = int(np.where(rows[1] < LEVELS - 1, rows[1], 0)[:, :used].max(initial=0)) + 1
        if lanes is not None:
            rows = rows[0], np.where(rows[1] < LEVELS - 1, rows[1] % lanes, rows[1])
            rule += f" mod {lanes}"
    else:
        lanes = lanes or (8 if levels is not None else 1)
        rule = "one lane" if lanes == 1 or levels is None else f"lane = service level mod {lanes}"
    if levels is None:
        rule += ", every packet on service level 0"
    else:
        rule += f", service levels by {path_levels}"
    if given is None and (fewest := fewest_in_words(subnet)):
        rule += f"; {fewest}"
        if used > (lanes or LEVELS):
            remarks += (f"the tables use {used} lanes, and {fewest}: levels share lanes there",)
    said = path_levels is not None or lane_tables is not None
    return ForwardingTables(
        subnet,
        owners,
        following,
        levels,
        rows,
        lanes or 8,
        rule,
        "from the file" if said else _ASSUMED if given is None else "from --lanes",
        remarks,
        demand_of(subnet, lids, owners),
        undelivered=np.flatnonzero(~handed),
        to_switches=routes_in(subnet, ports, following, roots_of(subnet, owners)),
    )


def _read_rising(
    subnet: Subnet, folder: Path, file: Path, other: str | Path | None, lanes: int | None
) -> ForwardingTables:
    """Tables in a folder whose lanes rise at the switches that a file names."""
    if other is not None:
        raise SpecError(f"{show_file(other)}: {show_file(file)} says the lanes of these tables; leave it out")
    if lanes is None:
        said = report_in(folder).get("lanes")
        lanes = said if isinstance(said, int) and 1 <= said < LEVELS else _FEW_LANES
    require_lanes(lanes)
    dump = dump_in(folder)
    subnet = with_dumped_identifiers(subnet, dump)
    lids, owners = destinations(subnet)
    ports, remarks = read_forwarding(subnet, dump)
    rising = read_rises(subnet, file)
    return ForwardingTables(
        subnet,
        owners,
        channels(subnet, ports, lids, owners),
        None,
        None,
        lanes,
        f"{rule_of(rising)}, up to lane {lanes - 1}, by {file}",
        "from the file",
        remarks,
        demand_of(subnet, lids, owners),
        rising,
        np.flatnonzero(~handed_over(subnet, ports, lids, owners)),
    )


def require_lanes(lanes: int) -> None:
    """Refuse lanes that no link has.

    Raises
    ------
    SpecError
        Another number than 1 to 15.
    """
    if not 1 <= lanes < LEVELS:
        raise SpecError.at("--lanes", str(lanes), f"links have 1 to {LEVELS - 1} lanes")


def lanes_there(subnet: Subnet, lanes: int | None) -> int:
    """The lanes that tables may use: those asked for, else what ports have, if a file says, else 8.

    Raises
    ------
    SpecError
        More lanes than a port of a cable has, or than any link.
    """
    fewest = subnet.fewest_lanes()
    if lanes is None:
        return _FEW_LANES if fewest is None else fewest[0]
    require_lanes(lanes)
    if fewest is not None and lanes > fewest[0]:
        problem = f"{lanes}, and {fewest_in_words(subnet)}"
        raise SpecError.at("--lanes", problem, f"write {fewest[0]} or less, or leave it out")
    return lanes


def fewest_in_words(subnet: Subnet) -> str:
    """The port with the fewest lanes, how many it has and what says so; empty if no file says."""
    fewest = subnet.fewest_lanes()
    if fewest is None or subnet.port_lanes is None:
        return ""
    return f"port {fewest[1]} has {counted(fewest[0], 'lane')} ({subnet.port_lanes.source})"


def lanes_of_links(lanes: int) -> int:
    """Lanes of links whose tables use `lanes` of them: 8, or 15, of the numbers that InfiniBand knows.

    Examples
    --------
    >>> [lanes_of_links(lanes) for lanes in (1, 8, 9, 15)]
    [8, 8, 15, 15]
    """
    return _FEW_LANES if lanes <= _FEW_LANES else LEVELS - 1


def own_lanes(lanes: int) -> list[int]:
    """The lane of every service level where OpenSM lets the level be the lane.

    Examples
    --------
    >>> own_lanes(8)
    [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
    >>> own_lanes(9)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7]
    """
    there = lanes_of_links(lanes)
    return [level if level < there else level % _FEW_LANES for level in range(LEVELS)]


def all_are_zero(file: str | Path) -> bool:
    """Whether a file of levels is not there because all are 0, as the report beside it says."""
    file = Path(file)
    return not file.exists() and report_in(file.parent).get("service_levels") == 1


def report_in(folder: Path) -> dict[str, Any]:
    """The report of tables in a folder; empty if there is none."""
    try:
        report = json.loads(read_text(folder / "report.json", limits.FABRIC_BYTES))
    except (SpecError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


def read_bytes(file: str | Path) -> bytes:
    """The contents of a file."""
    with opened(file, limits.SUBNET_BYTES) as source:
        return source.content()


@contextmanager
def _pieces(file: str | Path) -> Iterator[Iterator[bytes]]:
    """The contents of a file piece by piece; what the core finds wrong with them is told with its name."""
    with opened(file, limits.SUBNET_BYTES) as source:
        try:
            yield source.pieces()
        except SpecError:
            raise
        except ValueError as error:
            advice = f"; {_SINCE}" if "is not in the fabric" in str(error) else ""
            raise SpecError(f"{source.name}, {error}{advice}") from None


def destinations(subnet: Subnet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """LIDs of hosts, ``2**lmc`` each, and the index of the host each belongs to."""
    lids, owners = [], []
    for index, host in enumerate(subnet.hosts):
        if host.lid is None:
            raise SpecError.at(
                "fabric",
                f"host {host.name} has no LID",
                "take what ibnetdiscover prints on the running subnet",
            )
        for offset in range(1 << host.lmc):
            lids.append(host.lid + offset)
            owners.append(index)
    return np.array(lids, dtype=np.int64), np.array(owners, dtype=np.int64)


def roots_of(subnet: Subnet, owners: NDArray[np.int64]) -> list[int]:
    """The switch that every destination hangs off, given the host that each belongs to."""
    return [subnet.hosts[owner].switch for owner in owners.tolist()]


def read_forwarding(
    subnet: Subnet, file: str | Path, strict: bool = True
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Out ports by switch and LID from ``opensm-lfts.dump`` or ``opensm.fdbs``, and what was odd.

    Raises
    ------
    SpecError
        A damaged row, or (with `strict`) switches that the fabric does not have.
    """
    guids = []
    for switch in subnet.switches:
        if switch.guid is None:
            raise SpecError.at(
                "fabric", f"switch {switch.name} has no GUID", "tables cannot name the switch without one"
            )
        guids.append(switch.guid)
    with _pieces(file) as pieces:
        ports, absent = _core.read_lfts(_whole(pieces, file), [*guids, *subnet.gone], strict)
    remarks: tuple[str, ...] = ()
    absent = [index for index in absent if index < len(guids)]
    if absent:
        count = f"{counted(len(absent), 'switch')}, the first" if len(absent) > 1 else "switch"
        remarks = (f"{file} tells nothing about {count} {subnet.switches[absent[0]].name}",)
    return ports[: len(guids)], remarks


def _whole(pieces: Iterator[bytes], file: str | Path) -> Iterator[bytes]:
    """The pieces of a dump, whose last switch ends as the others do: with a line of how many LIDs it has."""
    ends, last = False, b""
    for piece in pieces:
        ends = ends or b"lids dumped" in piece
        last = (last + bytes(piece))[-1024:]
        yield piece
    if ends and b"lids dumped" not in last.rstrip().rpartition(b"\n")[2]:
        raise SpecError(
            f"{show_file(file)} ends within a switch: it was cut off, or is not yet written; dump it again"
        )


def channels(
    subnet: Subnet, ports: NDArray[np.uint8], lids: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Channel by destination and switch; none where a port leads to no switch.

    A destination whose own switch does not hand its packets over has no channels at all.
    """
    table = subnet.channels_by_port()
    following = table[np.arange(len(subnet.switches))[None, :], _by_destination(ports, lids)]
    following[~handed_over(subnet, ports, lids, owners)] = NONE
    following[np.arange(len(lids)), _roots(subnet, owners)] = NONE
    return following


def handed_over(
    subnet: Subnet, ports: NDArray[np.uint8], lids: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the switch of each destination has the port of its host in its own entry."""
    plugs = np.array([host.switch_port for host in subnet.hosts], dtype=np.int64)[owners]
    known: NDArray[np.bool_] = (
        _by_destination(ports, lids)[np.arange(len(lids)), _roots(subnet, owners)] == plugs
    )
    return known


def _by_destination(ports: NDArray[np.uint8], lids: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Out ports by destination and switch; 255 where the file ends before a LID."""
    known = np.full((len(lids), len(ports)), 255, dtype=np.uint8)
    inside = lids < ports.shape[1]
    known[inside] = ports[:, lids[inside]].T
    return known


def _roots(subnet: Subnet, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array([host.switch for host in subnet.hosts], dtype=np.int64)[owners]


def source_guids(subnet: Subnet) -> list[int]:
    """The GUID by which lines of service levels name each port of a host.

    It is that of the node. Ports of a node at several switches have separate levels, and so separate GUIDs.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.identifiers import with_identifiers
    >>> subnet = with_identifiers(parse_fabric("SwitchName=a Nodes=h,k\\nSwitchName=b Nodes=h,m\\n"))
    >>> {host.name: guid == host.guid for guid, host in zip(source_guids(subnet), subnet.hosts)}
    {'h': False, 'k': True, 'm': True}
    """
    at: dict[int | None, set[int]] = {}
    for host in subnet.hosts:
        at.setdefault(host.guid, set()).add(host.switch)
    return [(host.port_guid if len(at[host.guid]) > 1 else None) or host.guid or 0 for host in subnet.hosts]


def read_path_levels(
    subnet: Subnet, file: str | Path, lids: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], int, tuple[str, ...]]:
    """Service levels by destination and host, from lines ``0x<source guid> <dlid> <sl>`` (node or port).

    Returns
    -------
    levels : array
        Service level by destination and host; 0 where the file has no line, and to the host's own LIDs.
    missing : int
        Missing lines: a host and a LID of another one.
    remarks : tuple of str
        What was odd, missing lines included.
    """
    sources: dict[int, list[int]] = {}
    for index, host in enumerate(subnet.hosts):
        for guid in {host.guid, host.port_guid} - {None}:
            sources.setdefault(int(guid), []).append(index)  # type: ignore[arg-type]
    with _pieces(file) as pieces:
        found = _core.read_path_levels(pieces, sources, lids.tolist(), len(subnet.hosts))
    levels, untold, strangers = found
    remarks = []
    if strangers:
        remarks.append(f"{file}: {strangers} lines name sources that the fabric does not have")
    own = {(host.lid or 0) + offset for host in subnet.hosts for offset in range(1 << host.lmc)}
    missing = max(0, untold - sum(lid in own for lid in lids.tolist()))
    if missing:
        remarks.append(
            f"{file}: {missing} lines (source and LID) are missing; these packets are taken to have service "
            "level 0"
        )
    return levels, missing, tuple(remarks)


def port_rows(subnet: Subnet) -> list[dict[int, int]]:
    """By switch, the row of every port in tables of lanes: ports of cables, then those of hosts."""
    rows = [{port: row for row, (_, port, _) in enumerate(lists)} for lists in subnet.outgoing()]
    for host in subnet.hosts:
        rows[host.switch][host.switch_port] = len(rows[host.switch])
    return rows


def _own_levels(subnet: Subnet) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Tables of lanes in which every level is a lane."""
    counts = [len(ins) * len(outs) for ins, outs in zip(port_rows(subnet), subnet.outgoing(), strict=True)]
    entries = np.tile(np.arange(LEVELS, dtype=np.uint8), (sum(counts), 1))
    return np.cumsum([0, *counts[:-1]], dtype=np.uint64), entries


def read_lane_tables(subnet: Subnet, file: str | Path) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Lanes by switch, ports and level: OpenSM's ``opensm-sl2vl.dump`` or ibdmchk's SLVL lines.

    Ports the file leaves out map level to lane as they are.
    """
    rows = port_rows(subnet)
    columns = [{port: column for column, (_, port, _) in enumerate(lists)} for lists in subnet.outgoing()]
    start, entries = _own_levels(subnet)
    by_guid = {switch.guid: index for index, switch in enumerate(subnet.switches)}
    text = read_bytes(file).decode("utf-8", "replace")
    switch: int | None = None
    known = False

    def named(digits: str, place: str) -> int | None:
        """The switch of a GUID; None for one that was taken out."""
        index = by_guid.get(int(digits, 16))
        if index is None and int(digits, 16) not in subnet.gone:
            raise SpecError(f"{place}: switch 0x{digits} is not in the fabric; {_SINCE}")
        return index

    for number, line in enumerate(text_lines(text, show_file(file)), start=1):
        row = line.strip()
        place = f"{file}, line {number}"
        if not row or row.startswith("#"):
            continue
        if head := re.match(r"Switch\s+0x([0-9a-fA-F]+)", row):
            switch, known = named(head[1], place), True
            continue
        if re.match(r"(?:Channel Adapter|CA|Ca|Router|Rt)\b", row):
            switch, known = None, True
            continue
        if match := _SLVL.fullmatch(row):
            here = named(match[1], place)
            lanes = [int(digit, 16) for digit in re.sub(r"0x|\s", "", match[4])]
        elif match := _SL2VL.fullmatch(row):
            if not known:
                raise SpecError(f"{place}: a row before the first switch")
            here, lanes = switch, [int(word) for word in match[3].split()]
        else:
            raise SpecError(
                f"{place}: {row[:60]!r} is not a row of lanes; write 'in out : vl(sl0) ... vl(sl15)'"
            )
        if here is None:
            continue
        if len(lanes) != LEVELS or max(lanes) >= LEVELS:
            problem = (
                f"{counted(len(lanes), 'lane')}; one for each of the 16 service levels is needed, 0 to 15"
            )
            raise SpecError(f"{place}: {problem}")
        arrived, out = (int(port) for port in match.groups()[-3:-1])
        if arrived in rows[here] and out in columns[here]:
            at = int(start[here]) + rows[here][arrived] * len(columns[here]) + columns[here][out]
            entries[at] = lanes
    return start, entries


def host_levels(subnet: Subnet, levels: NDArray[Any]) -> NDArray[np.uint8]:
    """Levels by destination and host from levels by destination and switch."""
    if not levels.any():
        return np.zeros((len(levels), len(subnet.hosts)), dtype=np.uint8)
    return np.take(levels, [host.switch for host in subnet.hosts], axis=1).astype(np.uint8, copy=False)


def with_lanes(
    subnet: Subnet,
    owners: NDArray[np.int64],
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    lanes: tuple[NDArray[np.uint64], NDArray[np.uint8]] | None,
    rising: tuple[NDArray[np.bool_], int] | None = None,
) -> ForwardingTables:
    """Tables as they were made, with lane tables that have a row for every host's port.

    `rising` says instead at which switches lanes rise, and how many there are.
    """
    by_host = host_levels(subnet, levels)
    if rising is not None:
        rule = rule_of(rising[0])
        return ForwardingTables(subnet, owners, following, None, None, rising[1], rule, rising=rising[0])
    if lanes is None:
        there = lanes_of_links(int(levels.max(initial=0)) + 1)
        return ForwardingTables(subnet, owners, following, by_host, None, there, "lane = service level")
    (start, entries), hosts = lanes, subnet.hosts_per_switch()
    starts, rows, total = [], [], 0
    for index, lists in enumerate(subnet.outgoing()):
        degree, begin = len(lists), int(start[index])
        block = [entries[begin : begin + degree * degree]]
        block += [entries[begin + degree * degree : begin + degree * (degree + 1)]] * hosts[index]
        starts.append(total)
        rows.extend(block)
        total += degree * (degree + hosts[index])
    tables = np.array(starts, dtype=np.uint64), np.ascontiguousarray(np.concatenate(rows))
    return ForwardingTables(subnet, owners, following, by_host, tables, 8, "lanes by sl2vl.dump")


def dump_in(tables: str | Path) -> Path:
    """The dump of forwarding tables: the file itself, or that in a folder that ``route --fabric`` wrote."""
    tables = Path(tables)
    return tables / "opensm-lfts.dump" if tables.is_dir() else tables
