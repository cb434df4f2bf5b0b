"""Hosts and switches by what a dump of forwarding tables calls them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.fabric.identifiers import is_made_up, with_made_up
from flitloom.fabric.model import Host, Subnet
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Source, opened

#: A destination of ``opensm-lfts.dump``: LID, port GUID, name.
_ROW = re.compile(
    rb"0x([0-9a-fA-F]{1,4})\s+\d+\s*:\s*\(Channel Adapter portguid 0x([0-9a-fA-F]{1,16}): '(.*)'\)"
)
#: Switches of a dump whose names are compared where GUIDs say nothing.
_SAMPLE = 64
#: The first line about a switch.
_HEAD = re.compile(rb"Unicast lids .* of switch Lid \d+ guid 0x([0-9a-fA-F]{1,16}) \('(.*)'\)")


def with_dumped_lids(subnet: Subnet, file: str | Path) -> Subnet:
    """The subnet with the LIDs that a dump gives to hosts without one: by port GUID, else by name.

    Hosts that the dump does not name stay without; a remark counts those that it names. Where hosts have
    other LIDs now, those of the dump hold for their GUIDs, as OpenSM takes them.
    """
    if not Path(file).is_file():
        # A pipe can be read once only.
        return subnet
    if have_other_lids(subnet, file):
        was = as_it_was(subnet, file)
        count = sum(new.lid != old.lid for new, old in zip(was.hosts, subnet.hosts, strict=True))
        remark = (
            f"{counted(count, 'host')} have other LIDs than in {show_file(file)}: GUIDs tell their entries"
        )
        return replace(was, remarks=(*subnet.remarks, remark))
    if all(host.lid for host in subnet.hosts):
        return subnet
    by_guid: dict[int, int] = {}
    by_name: dict[str, set[int]] = {}
    for lid, guid, name in dumped_hosts(file):
        by_guid.setdefault(guid, lid)
        by_name.setdefault(name, set()).add(lid)
    names = [host.name for host in subnet.hosts]
    taken = {host.lid for host in subnet.hosts if host.lid}

    def found(host: Host) -> int | None:
        lids = {by_guid[host.port_guid]} if host.port_guid in by_guid else by_name.get(host.name, set())
        alone = len(lids) == 1 and (host.port_guid in by_guid or names.count(host.name) == 1)
        return next(iter(lids)) if alone and not lids & taken else None

    hosts = tuple(host if host.lid else replace(host, lid=found(host)) for host in subnet.hosts)
    count = sum(new.lid != old.lid for new, old in zip(hosts, subnet.hosts, strict=True))
    if not count:
        return subnet
    remark = f"LIDs of {count} hosts are those that {show_file(file)} gives to their GUIDs or names"
    return replace(subnet, hosts=hosts, remarks=(*subnet.remarks, remark))


def as_it_was(subnet: Subnet, file: str | Path) -> Subnet:
    """The subnet with the GUIDs and LIDs that replaced switches and hosts had, by their names in a dump.

    A switch whose GUID the dump lacks is one of the same name there that the subnet lacks. The same holds
    for a host, by its port GUID and LID.
    """
    heads = {guid: name for name, guid in _switches(file)}
    lost: dict[str, list[int]] = {}
    for guid in heads.keys() - {switch.guid for switch in subnet.switches}:
        lost.setdefault(heads[guid], []).append(guid)
    names = Counter(switch.name for switch in subnet.switches)
    switches = tuple(
        replace(switch, guid=lost[switch.name][0])
        if switch.guid not in heads and names[switch.name] == 1 and len(lost.get(switch.name, ())) == 1
        else switch
        for switch in subnet.switches
    )
    there = {lid: (guid, name) for lid, guid, name in dumped_hosts(file)}
    known = {host.port_guid for host in subnet.hosts}
    gone: dict[str, list[int]] = {}
    for lid, (guid, name) in there.items():
        if guid not in known:
            gone.setdefault(name, []).append(lid)
    plugs = Counter(host.name for host in subnet.hosts)
    guids = {guid for guid, _ in there.values()}
    first: dict[int | None, int] = {}
    for lid, (guid, _) in sorted(there.items()):
        first.setdefault(guid, lid)

    def earlier(host: Host) -> Host:
        lids = gone.get(host.name, [])
        if host.port_guid in guids:
            return host if is_made_up(host.port_guid or 0) else replace(host, lid=first[host.port_guid])
        if plugs[host.name] > 1 or len(lids) != 1 << host.lmc:
            return host
        port = there[min(lids)][0]
        # A host with one port has the next GUID there.
        return replace(host, lid=min(lids), guid=port - 1, port_guid=port)

    return replace(subnet, switches=switches, hosts=tuple(earlier(host) for host in subnet.hosts))


def have_other_lids(subnet: Subnet, file: str | Path) -> bool:
    """Whether the first switches of a dump name GUIDs of hosts with other LIDs than they have now."""
    lids: dict[int, int] = {}
    for lid, guid, _ in _rows(_first_switches(file)):
        lids[guid] = min(lid, lids.get(guid, lid))
    return any(
        host.lid
        and not is_made_up(host.port_guid or 0)
        and lids.get(host.port_guid or 0, host.lid) != host.lid
        for host in subnet.hosts
    )


def _first_switches(file: str | Path) -> list[bytes]:
    """The lines of a dump about its first two switches: each names all hosts to which it has entries."""
    heads, found = 0, []
    # Not left to a generator: who stops reading is told, too, that somebody writes to the file meanwhile.
    with opened(file, limits.SUBNET_BYTES) as source:
        for line in _lines_of(source):
            heads += line.startswith(b"Unicast")
            if heads > 2:
                break
            found.append(line)
    return found


def require_same_fabric(subnet: Subnet, told: Sequence[bool], file: str | Path) -> None:
    """Refuse a dump that tells nothing about most switches of the subnet, by GUID or, once replaced, by name.

    GUIDs that were made up for a file without any say nothing; there names decide.

    Parameters
    ----------
    subnet : Subnet
        The fabric, with the GUIDs that replaced parts had.
    told : sequence of bool
        Whether the dump has entries of every switch.
    file : path
        The dump.

    Raises
    ------
    SpecError
        More than half of the switches do not fit.
    """
    names = {guid: name for name, guid in islice(_switches(file), _SAMPLE)}
    strange, judged = [], 0
    for switch, known in zip(subnet.switches, told, strict=True):
        guid = switch.guid or 0
        made_up = known and is_made_up(guid)
        judged += not made_up or guid in names
        other = made_up and names.get(guid, switch.name) != switch.name
        if not known or (other and switch.name not in names.values()):
            strange.append(switch)
    if 2 * len(strange) > judged:
        listed = ", ".join(f"{one.name} (0x{one.guid or 0:016x})" for one in strange[:5])
        raise SpecError.at(
            "--from",
            f"{show_file(file)} is of another fabric: it has neither GUID nor name of {len(strange)} of "
            f"{counted(len(subnet.switches), 'switch')}: {listed}{', ...' * (len(strange) > 5)}",
            "name tables of this fabric",
        )


def with_dumped_identifiers(subnet: Subnet, file: str | Path) -> Subnet:
    """A subnet without any LID or GUID with those of a dump, by names, also where switches have failed since.

    They are made up for nodes that the dump does not name, and for all where it names other switches.
    """
    named = with_dumped_lids(subnet, file)
    heads = list(_switches(file)) if Path(file).is_file() else []
    once = [name for name, times in Counter(switch.name for switch in subnet.switches).items() if times == 1]
    if heads and {name for name, _ in heads} <= {*once, *subnet.gone_names}:
        gone = (guid for name, guid in heads if name in subnet.gone_names)
        named = replace(as_it_was(subnet, file), remarks=named.remarks, gone=(*subnet.gone, *gone))
    return with_made_up(named)


def _switches(file: str | Path) -> Iterator[tuple[str, int]]:
    """Names and GUIDs of the switches of a dump."""
    for line in _lines(file):
        if match := _HEAD.match(line):
            yield match[2].decode("utf-8", "replace"), int(match[1], 16)


def dumped_hosts(file: str | Path) -> Iterator[tuple[int, int, str]]:
    """LID, port GUID and name of every host that a dump has entries for."""
    return _rows(_lines(file))


def _rows(lines: Iterable[bytes]) -> Iterator[tuple[int, int, str]]:
    """LID, port GUID and name of the hosts in lines of a dump, each once."""
    seen: set[bytes] = set()
    for line in lines:
        match = _ROW.match(line)
        if match and match[1] not in seen:
            seen.add(match[1])
            yield int(match[1], 16), int(match[2], 16), match[3].decode("utf-8", "replace")


def _lines(file: str | Path) -> Iterator[bytes]:
    with opened(file, limits.SUBNET_BYTES) as source:
        yield from _lines_of(source)


def _lines_of(source: Source) -> Iterator[bytes]:
    rest = b""
    for piece in source.pieces():
        lines = (rest + bytes(piece)).split(b"\n")
        rest = lines.pop()
        yield from lines
    yield rest
