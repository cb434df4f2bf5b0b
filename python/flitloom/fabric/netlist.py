"""Netlists as ibnetdiscover prints them and ibsim reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flitloom.errors import SpecError
from flitloom.fabric.assembly import LONGEST, Assembly, Node, infiniband_kind
from flitloom.fabric.model import Subnet
from flitloom.fabric.port_lanes import LANES
from flitloom.ground.limits import DIGITS
from flitloom.ground.reading import text_lines

_NODE = re.compile(
    r"(?P<kind>Switch|Ca|Hca|Rt|Router)\s+(?P<ports>\d+)\s+\"(?P<id>[^\"]+)\"[^#]*+(?:#(?P<note>.*))?$",
    re.IGNORECASE,
)
_BEGIN = re.compile(r"^[ \t]*(?:Switch|Ca|Hca)[ \t]+\d+[ \t]+\"", re.MULTILINE | re.IGNORECASE)
_PORT = re.compile(
    r"\[(?P<port>\d+)\]\s*(?:\[ext\s*\d+\]\s*)?(?:\((?P<guid>(?:0x)?[0-9a-fA-F]+)\)\s*)?"
    r"\"(?P<peer>[^\"]+)\"\s*\[(?P<peer_port>\d+)\]\s*(?:\[ext\s*\d+\]\s*)?"
    r"(?:\((?P<peer_guid>(?:0x)?[0-9a-fA-F]+)\))?(?P<rest>.*)$"
)
_FIELD = re.compile(r"(?P<name>[a-z]+guid|vendid|devid)\s*=\s*(?P<value>(?:0x)?[0-9a-fA-F]+)", re.IGNORECASE)
_GUID = re.compile(r"[SHRsh]-(?:0x)?([0-9a-fA-F]{1,16})$")
_LID = re.compile(r"\blid\s+(0x[0-9a-fA-F]+|\d+)(?:\s+lmc\s+(\d+))?")
_QUOTED = re.compile(r"[\"'](.*?)[\"'](?=\s|$)")
#: Width and speed of a cable at the end of its line, and behind them with --full the lanes of this port.
_SPEED = re.compile(r"\s(\d{1,2}x[A-Z]{2,4}\d*)(?:\s+s=\d+\s+w=\d+\s+v=(\d+))?\s*$")
#: Lines that say nothing about cables.
_SILENT = re.compile(
    r"#|\s*$|chassis\b|non-?chassis|include\b|do\b|spine\b|line\b|module\b|hosts?\s+on\b|\("
    r"|DR path|Initiated",
    re.IGNORECASE,
)


def looks_like(text: str) -> bool:
    """Whether a text has lines of a netlist."""
    return _BEGIN.search(text) is not None


def parse(text: str, source: str) -> Assembly:
    """Read a netlist; raises `SpecError` at a damaged line."""
    assembly = Assembly(source)
    current: str | None = None
    fields: dict[str, int] = {}
    mentioned: dict[str, tuple[str, str]] = {}
    unknown, strange = 0, list[str]()
    for number, line in enumerate(text_lines(text, source), start=1):
        place = f"{source}, line {number}"
        row = line.strip()
        if len(row) > LONGEST:
            raise SpecError(f"{place}: longer than {LONGEST} characters: {row[:60]!r}")
        if not row:
            current = None
        elif row.startswith("["):
            if current is None:
                raise SpecError(f"{place}: a cable before the node it belongs to: {row[:60]!r}")
            _port(assembly, current, row, place, mentioned)
        elif match := _NODE.match(row):
            current = _node(assembly, match, fields, place)
            fields = {}
        elif re.match(r"(?:Switch|Ca|Hca|Rt)\b", row, re.IGNORECASE):
            raise SpecError(
                f"{place}: {row[:60]!r} is not a node; "
                "a node is 'Switch 36 \"S-<guid>\"' or 'Ca 1 \"H-<guid>\"'"
            )
        elif found := _FIELD.findall(row):
            fields.update({name.lower(): int(value, 16) for name, value in found})
        elif not _SILENT.match(row):
            unknown += 1
            if unknown <= 3:
                strange.append(f"{number} ({row[:40]!r})")
    if unknown:
        more = f" and {unknown - 3} more" if unknown > 3 else ""
        assembly.remarks.append(f"lines not understood and left out: {', '.join(strange)}{more}")
    _undescribed(assembly, mentioned)
    return assembly


def _node(assembly: Assembly, match: re.Match[str], fields: dict[str, int], place: str) -> str:
    identifier = match["id"]
    kind = infiniband_kind(match["kind"])
    note = match["note"] or ""
    guid = fields.get("switchguid" if kind == "switch" else "caguid", fields.get("nodeguid"))
    if guid is None and (written := _GUID.match(identifier)):
        guid = int(written[1], 16)
    name = _description(note) or identifier
    node = Node(kind, name, guid, place=place)
    # After the description, so that a name with "lid" in it says nothing.
    if found := _LID.search(note[note.rfind('"') + 1 :]):
        node.lid, node.lmc = _number(found[1]) or None, _number(found[2] or "0")
    assembly.add_node(identifier, node)
    return identifier


def _port(
    assembly: Assembly, current: str, row: str, place: str, mentioned: dict[str, tuple[str, str]]
) -> None:
    match = _PORT.match(row)
    if match is None:
        raise SpecError(f"{place}: {row[:60]!r} is not a cable; a cable is '[3] \"S-<guid>\"[15]'")
    port, peer_port = _number(match["port"]), _number(match["peer_port"])
    for number in (port, peer_port):
        if not 0 < number < 255:
            raise SpecError(f"{place}: port {number}; ports are 1 to 254")
    here, there = (current, port), (match["peer"], peer_port)
    note = match["rest"].partition("#")[2]
    if speed := _SPEED.search(note):
        assembly.leave_out_of((here, there), "speed", speed[1])
        if lanes := LANES.get(_number(speed[2] or "0")):
            assembly.port_facts.setdefault(here, {})["lanes"] = lanes
    assembly.connect(here, there, place)
    mentioned.setdefault(match["peer"], (_description(note), place))
    # A host's line tells its own LID before the description of the peer, a switch's the peer's after it.
    own = assembly.nodes[current].kind != "switch"
    end = here if own else there
    facts = assembly.port_facts.setdefault(end, {})
    told = note[: note.find('"')] if own and '"' in note else note[note.rfind('"') + 1 :]
    if found := _LID.search(told):
        facts["lid"] = _number(found[1]) or None
        if found[2]:
            facts["lmc"] = _number(found[2])
    guid = match["guid"] if own else match["peer_guid"]
    if guid:
        facts["guid"] = int(guid, 16)


def _number(text: str) -> int:
    """A number as the file has it; of more digits than any number has, the first."""
    return int(text, 16) if text.startswith("0x") else int(text[:DIGITS])


def _description(note: str) -> str:
    match = _QUOTED.search(note)
    return match[1].strip() if match else ""


def _undescribed(assembly: Assembly, mentioned: dict[str, tuple[str, str]]) -> None:
    """Nodes that only cables of others name, as where a file was cut off."""
    missing = [name for name in mentioned if name not in assembly.nodes]
    for name in missing:
        if not _GUID.match(name):
            raise SpecError(f"{mentioned[name][1]}: {name!r} is described nowhere")
        kind = "switch" if name[0] in "Ss" else "host"
        guid = int(_GUID.match(name)[1], 16)  # type: ignore[index]
        lids = [facts.get("lid") for (node, _), facts in assembly.port_facts.items() if node == name]
        node = Node(kind, mentioned[name][0] or name, guid)
        if kind == "switch":
            node.lid = next((lid for lid in lids if lid), None)
        assembly.nodes[name] = node
    if switches := [name for name in missing if name[0] in "Ss"]:
        assembly.remarks.append(
            f"{len(switches)} switches stand at cables only, the first {switches[0]}: was the file cut off?"
        )


def written(subnet: Subnet) -> Iterator[str]:
    """A subnet with LIDs and GUIDs as ``ibnetdiscover`` prints it, node by node.

    Ports of hosts are numbered in the order in which they stand in the subnet.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.identifiers import with_identifiers
    >>> from flitloom.fabric.netlist import written
    >>> ring = with_identifiers(parse_fabric("a,b\\nb,c\\nc,a\\nh,a\\n"))
    >>> again = parse_fabric("".join(written(ring)))
    >>> (again.switches, again.hosts, again.cables) == (ring.switches, ring.hosts, ring.cables)
    True
    """
    yield "# The fabric that the tables of this folder are for\n"
    switches, hosts = subnet.switches, subnet.hosts
    number = {port: place for ports in subnet.ports_of_hosts() for place, port in enumerate(ports, start=1)}
    rows: list[dict[int, str]] = [{} for _ in switches]
    for cable in subnet.cables:
        ends = (cable.a, cable.a_port), (cable.b, cable.b_port)
        for (here, port), (there, peer) in (ends, ends[::-1]):
            other = switches[there]
            note = f"{_quoted(other.name)} lid {other.lid or 0}"
            rows[here][port] = f'"S-{other.guid or 0:016x}"[{peer}]\t\t# {note}'
    for index, host in enumerate(hosts):
        plug = f'"H-{host.guid or 0:016x}"[{number[index]}]({host.port_guid or 0:x})'
        rows[host.switch][host.switch_port] = f"{plug}\t\t# {_quoted(host.name)} lid {host.lid or 0}"
    for switch, lines in zip(switches, rows, strict=True):
        guid = switch.guid or 0
        yield f'\nswitchguid=0x{guid:x}({guid:x})\nSwitch\t{max(lines, default=1)} "S-{guid:016x}"\t\t# '
        yield f"{_quoted(switch.name)} base port 0 lid {switch.lid or 0} lmc 0\n"
        yield "".join(f"[{port}]\t{line}\n" for port, line in sorted(lines.items()))
    for ports in subnet.ports_of_hosts():
        first = hosts[ports[0]]
        yield f'\ncaguid=0x{first.guid or 0:x}\nCa\t{len(ports)} "H-{first.guid or 0:016x}"\t\t# '
        yield f"{_quoted(first.name)}\n"
        for port in ports:
            host = hosts[port]
            switch = switches[host.switch]
            yield (
                f'[{number[port]}]({host.port_guid or 0:x})\t"S-{switch.guid or 0:016x}"[{host.switch_port}]'
                f"\t\t# lid {host.lid or 0} lmc {host.lmc} {_quoted(switch.name)} lid {switch.lid or 0}\n"
            )


def _quoted(name: str) -> str:
    """A description in quotes, less quotes in it that would end it."""
    return '"' + re.sub(r"[\"'](?=\s|$)", "", name) + '"'
