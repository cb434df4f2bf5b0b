"""Lists of cables as OpenSM writes them (opensm-subnet.lst)."""

from __future__ import annotations

import re

from flitloom.errors import SpecError
from flitloom.fabric.assembly import LONGEST, Assembly, Node, infiniband_kind
from flitloom.ground.reading import text_lines

_END = re.compile(
    r"\{\s*(?P<kind>CA|SW|RT)(?:-SM)?\s+Ports:(?P<ports>[0-9a-fA-F]+)\s+(?:SystemGUID:[0-9a-fA-F]+\s+)?"
    r"NodeGUID:(?P<guid>[0-9a-fA-F]+)\s+PortGUID:(?P<port_guid>[0-9a-fA-F]+).*?"
    r"\{(?P<name>.*?)\}\s*LID:(?P<lid>[0-9a-fA-F]+)\s+PN:(?P<port>[0-9a-fA-F]+)\s*\}"
)


#: Width and speed behind the ends of a cable.
_SPEED = re.compile(r"\}\s*PHY=(\S{1,20})(?:\s+LOG=\S{1,20})?(?:\s+SPD=(\S{1,20}))?\s*$")


def looks_like(text: str) -> bool:
    """Whether a text is such a list."""
    return re.search(r"^[ \t]*\{[ \t]*(?:CA|SW|RT)(?:-SM)?[ \t]+Ports:", text, re.MULTILINE) is not None


def parse(text: str, source: str) -> Assembly:
    """Read a list; raises `SpecError` at a damaged line. All its numbers are hexadecimal."""
    assembly = Assembly(source)
    for number, line in enumerate(text_lines(text, source), start=1):
        row = line.strip()
        if not row or row.startswith("#"):
            continue
        place = f"{source}, line {number}"
        # Longer ones would take time by the square of their length.
        ends = list(_END.finditer(row)) if len(row) <= LONGEST else []
        if len(ends) != 2:
            raise SpecError(
                f"{place}: {row[:60]!r} is not a cable; a cable is '{{ SW Ports:.. }} {{ SW Ports:.. }}'"
            )
        keys = []
        for end in ends:
            key = f"{end['kind']}-{end['guid']}"
            port, lid = int(end["port"], 16), int(end["lid"], 16)
            kind = infiniband_kind(end["kind"])
            if key not in assembly.nodes:
                name = end["name"].strip() or key
                assembly.nodes[key] = Node(kind, name, int(end["guid"], 16), lid or None)
            if kind != "switch":
                facts = {"guid": int(end["port_guid"], 16), "lid": lid or None}
                assembly.port_facts[(key, port)] = facts
            if not 0 < port < 255:
                raise SpecError(f"{place}: port {port}; ports are 1 to 254")
            keys.append((key, port))
        if speed := _SPEED.search(row):
            assembly.leave_out_of((keys[0], keys[1]), "speed", f"{speed[1]} {speed[2] or ''}".strip())
        assembly.connect(keys[0], keys[1], place)
    return assembly
