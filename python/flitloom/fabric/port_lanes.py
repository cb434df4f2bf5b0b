"""Lanes that ports have, as InfiniBand's programs print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flitloom.errors import SpecError, remarks, show_file
from flitloom.fabric.model import PortLanes, Subnet
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text, text_lines

#: Lanes by the numbers of VLCap and OperVLs.
LANES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 15}
#: What is enabled comes before what is possible.
_FIELDS = ("OperVLs", "VLCap")
_ROW = re.compile(
    r"^[ \t]*(?:#[ \t]*Port info:[ \t]*(?P<node>[^\n]{1,200}?)[ \t]+port[ \t]+(?P<number>\d{1,3})"
    r"|EndPortLid\.+(?P<lid>\d{1,5})|PortNum\.+(?P<port>\d{1,3})"
    r"|(?P<fact>VLCap|OperVLs):\.*(?P<lanes>[^\n.]{1,40}?))[ \t\r]*$",
    re.MULTILINE,
)
_LID = re.compile(r"Lid\s+(\d{1,5})$", re.IGNORECASE)
_LANES = re.compile(r"VL0(?:-(\d{1,2}))?$")
#: A section of ``ibdiagnet2.db_csv`` and its columns.
_SECTION = "START_PORTS"
_COLUMNS = ("NodeGuid", "PortNum", "VLCap", "OpVLs")


@dataclass(frozen=True)
class _Said:
    """What a file says of a port of a node, which it names by its LID or its GUID."""

    node: int
    port: int
    fact: str
    lanes: int


def with_port_lanes(subnet: Subnet, file: str | Path) -> Subnet:
    """A fabric with the lanes that its ports have, as a file says.

    Tables use no more lanes than the port of a cable between switches with the fewest.

    Parameters
    ----------
    subnet : Subnet
        The fabric.
    file : path
        What ``saquery PortInfoRecord`` or ``smpquery portinfo`` print, for any number of ports, or
        ``ibdiagnet2.db_csv``. Lanes in operation (OperVLs) count where it has them, else those that are
        possible (VLCap). ``ibnetdiscover --full`` says the latter in the file of the fabric itself.

    Raises
    ------
    SpecError
        The file says nothing about lanes, or about no cable of this fabric.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from flitloom.fabric import parse_fabric, with_port_lanes
    >>> nodes = ('Switch 8 "S-1" # "a" port 0 lid 1', 'Switch 8 "S-2" # "b" port 0 lid 2')
    >>> pair = parse_fabric(f'{nodes[0]}\\n[1] "S-2"[1]\\n\\n{nodes[1]}\\n[1] "S-1"[1]\\n')
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ports.txt"
    ...     _ = file.write_text("# Port info: Lid 1 port 1\\nVLCap:...VL0-7\\nOperVLs:...VL0-3\\n")
    ...     with_port_lanes(pair, file).fewest_lanes()
    (4, 'a/1')
    """
    name, text = show_file(file), read_text(Path(file), limits.FABRIC_BYTES)
    by_guid = re.search(rf"^{_SECTION}\s*$", text, re.MULTILINE) is not None
    nodes = {switch.guid if by_guid else switch.lid: switch.guid for switch in subnet.switches if switch.guid}
    facts: dict[str, dict[tuple[int, int], int]] = {fact: {} for fact in _FIELDS}
    several = False
    for each in (_of_table if by_guid else _of_ports)(text, name):
        several = True
        if (node := nodes.get(each.node)) is not None:
            facts[each.fact][node, each.port] = each.lanes
    if not several:
        raise SpecError(
            f"{name}: no lanes of ports in it; known are the output of saquery PortInfoRecord and of "
            "smpquery portinfo, and ibdiagnet2.db_csv"
        )
    known = {port: lanes for fact in reversed(_FIELDS) for port, lanes in facts[fact].items()}
    ports = set(_ports_of_cables(subnet))
    if missing := ports - known.keys():
        if missing == ports:
            raise SpecError(
                f"{name} says nothing about any port of a cable between switches of this fabric; take the "
                "file and the fabric from one subnet, with LIDs and GUIDs as ibnetdiscover prints them"
            )
        guid, port = min(missing)
        where = subnet.port_name([switch.guid for switch in subnet.switches].index(guid), port)
        told = f"{name} says nothing about {counted(len(missing), 'port')} of cables, e.g. {where}"
        remarks.tell(told)
        subnet = replace(subnet, remarks=(*subnet.remarks, told))
    by = next(fact for fact in _FIELDS if facts[fact])
    return replace(subnet, port_lanes=PortLanes(known, f"{by} in {name}"))


def _ports_of_cables(subnet: Subnet) -> Iterator[tuple[int, int]]:
    """The ports of cables between switches, by the GUIDs of these."""
    for cable in subnet.cables:
        for switch, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
            yield subnet.switches[switch].guid or 0, port


def _of_ports(text: str, source: str) -> Iterator[_Said]:
    """What ``smpquery portinfo`` and ``saquery PortInfoRecord`` say, port by port; nodes by their LIDs."""
    lid = port = 0
    for row in _ROW.finditer(text):
        if row["node"]:
            found = _LID.match(row["node"])
            if found is None:
                problem = (
                    f"{row[0].strip()[:60]!r} does not name its node; ask by LID: smpquery portinfo LID PORT"
                )
                raise SpecError(f"{_place(text, row, source)}: {problem}")
            lid, port = int(found[1]), int(row["number"])
        elif row["lid"]:
            lid = int(row["lid"])
        elif row["port"]:
            port = int(row["port"])
        elif value := _LANES.match(row["lanes"].strip()):
            lanes = int(value[1] or 0) + 1
            if lanes not in LANES.values():
                there = ", ".join(map(str, LANES.values()))
                problem = f"{row['lanes'].strip()} are {lanes} lanes; ports of InfiniBand have {there}"
                raise SpecError(f"{_place(text, row, source)}: {problem}")
            if not lid:
                problem = "lanes before the port that they belong to: the file was cut off"
                raise SpecError(f"{_place(text, row, source)}: {problem}")
            yield _Said(lid, port, row["fact"], lanes)


def _place(text: str, row: re.Match[str], source: str) -> str:
    """Where a row stands."""
    return f"{source}, line {text.count(chr(10), 0, row.start()) + 1}"


def _of_table(text: str, source: str) -> Iterator[_Said]:
    """What the ports in a file of ibdiagnet say; nodes by their GUIDs."""
    lines = enumerate(text_lines(text, source), start=1)
    next(number for number, line in lines if line.strip() == _SECTION)
    number, heading = next(lines, (0, ""))
    names = heading.strip().split(",")
    if missing := [name for name in _COLUMNS if name not in names]:
        raise SpecError(f"{source}, line {number}: {_SECTION} has no column {missing[0]}")
    places = [names.index(name) for name in _COLUMNS]
    for number, line in lines:
        row = line.strip()
        if row == _SECTION.replace("START", "END"):
            return
        fields = row.split(",")
        if len(fields) != len(names):
            raise SpecError(
                f"{source}, line {number}: {counted(len(fields), 'field')}, and {_SECTION} has "
                f"{counted(len(names), 'column')}"
            )
        guid, port, *values = (fields[place].strip() for place in places)
        for fact, value in zip(("VLCap", "OperVLs"), values, strict=True):
            if not (re.fullmatch(r"0x[0-9a-fA-F]{1,16}", guid) and re.fullmatch(r"\d{1,3}", port)):
                raise SpecError(f"{source}, line {number}: {row[:60]!r} does not name a port")
            # Ports that are down say anything.
            if lanes := LANES.get(int(value) if re.fullmatch("[0-9]{1,2}", value) else 0):
                yield _Said(int(guid, 16), int(port), fact, lanes)
    raise SpecError(f"{source}: {_SECTION} has no end: the file was cut off")
