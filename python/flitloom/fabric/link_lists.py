"""Lists of links as ``ibnetdiscover -p`` and ``iblinkinfo`` print them."""

from __future__ import annotations

import re

from flitloom.errors import SpecError
from flitloom.fabric.assembly import LONGEST, Assembly, Node, infiniband_kind
from flitloom.ground.reading import text_lines

_PORT = re.compile(
    r"(?P<kind>SW|CA|RT)\s+(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})\s+0x(?P<guid>[0-9a-fA-F]{1,16})\s+"
    r"(?P<width>\S+)\s+(?P<speed>\S+)\s+-\s+"
    r"(?P<peer_kind>SW|CA|RT)\s+(?P<peer_lid>\d{1,5})\s+(?P<peer_port>\d{1,3})\s+0x(?P<peer_guid>[0-9a-fA-F]{1,16})"
    r"\s+\(\s*'(?P<name>[^']*)'\s+-\s+'(?P<peer_name>[^']*)'\s*\)"
)
_UNPLUGGED = re.compile(r"(?:SW|CA|RT)\s+\d+\s+\d+\s+0x[0-9a-fA-F]+\s+\S+\s+\S+\s+'")
_SECTION = re.compile(
    r"(?P<kind>Switch|CA|RT|Router):?\s+(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<name>.*?):?$"
)
#: A port and its link as iblinkinfo prints them; with --line its node's name stands in the same row.
_OWN = re.compile(
    r"(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?:\"(?P<name>[^\"]*)\"\s+)?(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})"
    r"\[[^\]]*\]\s*==\((?P<speed>.*)\)==>"
)
_PEER = re.compile(
    r"\s+(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})\[[^\]]*\]\s*"
    r"\"(?P<name>[^\"]*)\""
)


def looks_like(text: str) -> bool:
    """Whether a text is such a list."""
    return (
        re.search(
            r"^[ \t]*(?:SW|CA|RT)[ \t]+\d+[ \t]+\d+[ \t]+0x|==\([^()\n]{0,200}\)==>", text, re.MULTILINE
        )
        is not None
    )


def parse(text: str, source: str) -> Assembly:
    """Read a list; nodes are told apart by their LIDs. Raises `SpecError` at a damaged line."""
    assembly = Assembly(source)
    section: re.Match[str] | None = None
    #: Of nodes whose kind no line says, by their LIDs.
    ports: dict[str, set[str]] = {}
    for number, line in enumerate(text_lines(text, source), start=1):
        row, place = line.strip(), f"{source}, line {number}"
        if not row or row.startswith("#"):
            continue
        if len(row) > LONGEST:
            raise SpecError(f"{place}: longer than {LONGEST} characters: {row[:60]!r}")
        if match := _PORT.match(row):
            ends = [
                _end(assembly, match["kind"], match["lid"], match["port"], match["guid"], match["name"]),
                _end(
                    assembly,
                    match["peer_kind"],
                    match["peer_lid"],
                    match["peer_port"],
                    match["peer_guid"],
                    match["peer_name"],
                ),
            ]
            assembly.leave_out_of((ends[0], ends[1]), "speed", f"{match['width']} {match['speed']}")
            assembly.connect(ends[0], ends[1], place)
        elif (own := _OWN.match(row)) and (section or own["name"] is not None):
            if own["name"] is not None:
                ports.setdefault(own["lid"], set()).add(own["port"])
            _link(assembly, section, own, _PEER.match(row, own.end()), place)
        elif "==(" in row:
            if section is None or "==>" not in row:
                raise SpecError(f"{place}: {row[:60]!r} is not a link of a node")
        elif _UNPLUGGED.match(row):
            continue
        elif match := _SECTION.match(row):
            section = match
        else:
            raise SpecError(
                f"{place}: {row[:60]!r} is not a link as ibnetdiscover -p or iblinkinfo print them"
            )
    for lid, several in ports.items():
        # Ports of a host have LIDs of their own.
        if len(several) > 1 and (node := assembly.nodes.get(f"LID {int(lid)}")):
            node.kind = "switch"
    _join_ports(assembly)
    assembly.remarks.append(
        "the list names GUIDs of ports; service levels by the GUIDs of hosts need what ibnetdiscover prints"
    )
    return assembly


def _link(
    assembly: Assembly,
    section: re.Match[str] | None,
    own: re.Match[str],
    peer: re.Match[str] | None,
    place: str,
) -> None:
    """Add the link of a row of iblinkinfo; a port that is down has no peer."""
    if peer is None:
        return
    kind, name = ("", own["name"]) if section is None else (section["kind"], section["name"])
    guid = (section and section["guid"]) or own["guid"] or "0"
    here = _end(assembly, kind, own["lid"], own["port"], guid, name)
    there = _end(assembly, "", peer["lid"], peer["port"], peer["guid"] or "0", peer["name"])
    # Width and speed, and behind them states.
    assembly.leave_out_of((here, there), "speed", " ".join(own["speed"].split()[:3]))
    assembly.connect(here, there, place)


def _join_ports(assembly: Assembly) -> None:
    """Ports of equal names whose GUIDs follow each other are of one host."""
    hosts = [node for node in assembly.nodes.values() if node.kind == "host" and node.guid]
    known: dict[str, tuple[int, int]] = {}
    for node in sorted(hosts, key=lambda node: node.guid or 0):
        own = node.guid or 0
        first, last = known.get(node.name, (own, own))
        if own - last > 1:
            first = own
        known[node.name] = first, own
        node.guid, node.port_guid = first, own


def _end(assembly: Assembly, kind: str, lid: str, port: str, guid: str, name: str) -> tuple[str, int]:
    """A port of a node, which becomes known; a peer of unknown kind is a host until it says otherwise."""
    key = f"LID {int(lid)}"
    node = assembly.nodes.setdefault(key, Node("host", name.strip() or key, lid=int(lid) or None))
    node.guid = int(guid, 16) or node.guid
    if kind:
        node.kind = infiniband_kind(kind)
    number = int(port)
    if not 0 < number < 255:
        raise SpecError(f"{assembly.source}: port {number} of {key}; ports are 1 to 254")
    return key, number
