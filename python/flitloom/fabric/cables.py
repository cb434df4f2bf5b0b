"""Tables of cables: CSV."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flitloom.errors import SpecError, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.directed import ways_of
from flitloom.fabric.kinds import form, kind_of
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.reading import text_lines

#: What the columns of a cable's ends may be called.
_END = re.compile(
    r"(?:.*[ _-])?(?:a|b|z|u|v|from|to|source|src|destination|dest|dst|target|local|remote|peer|near|far|end|"
    r"start|parent|child|switch|router|node|vertex|device|host|name)(?:[ _-]?[abz12])?(?:[ _-].*)?",
    re.IGNORECASE,
)
#: What a heading of two columns begins with.
_FIRST = {"from", "source", "src", "switch_a", "switch a", "local"}
#: Columns that say what the ends are, and what the cable is.
_KIND = re.compile(r"(?:.*[ _-])?(?:type|kind|role)(?:[ _-].*|[ab12])?", re.IGNORECASE)
_FACT = re.compile(
    r"(?:.*[ _-])?(?:bandwidth|bw|speed|rate|capacity|latency|delay|length|weight|cost|loss)(?:[ _(\[-].*)?",
    re.IGNORECASE,
)
#: Columns of ports, and those that number or name cables and say nothing of them.
_PORTS = re.compile(r"port|interface|intf", re.IGNORECASE)
_LABEL = re.compile(r"id|label|timeset", re.IGNORECASE)
_PORT = re.compile(r"(?:port|p)?[ _]?(\d{1,9})", re.IGNORECASE)
#: A number with a unit: a speed, a latency or a length.
_AMOUNT = re.compile(r"\d[\d.]{0,20}\s*(?:[kKMGT]?i?(?:bps|bit/s|b/s|B/s)|[nmuµ]?s|k?m|cycles?)|\dx\w{2,4}")
#: What tables may have besides.
_HEADING = (
    "under a heading like Switch A,Port A,Switch B,Port B there may be more columns, and names of ports"
)


def parse_cables(text: str, source: str) -> Assembly:
    """Read a table of cables: ``a,b`` or ``a,port,b,port`` per line.

    Commas, semicolons or tabulators separate; a heading that names the ends and ports may give them any place
    among other columns. Columns ``type`` say what the ends are, one of the first end or two of both, or
    whether an edge is directed; what is a host is guessed without. A table that lists every cable from both
    ends has it once.
    """
    assembly = Assembly(source)
    rows = [
        (f"{source}, line {number}", row)
        for number, row in enumerate(_fields(text, source), start=1)
        if any(row) and not row[0].startswith("#")
    ]
    columns = _heading(rows, assembly)
    rows = rows[columns is not None :]
    if not rows:
        raise SpecError(f"{source}: no cables found; a cable is a line a,b or a,port,b,port")
    if len(rows) > FABRIC_PARTS:
        raise SpecError(f"{rows[FABRIC_PARTS][0]}: more than {FABRIC_PARTS} cables")
    cables = [
        _plain(row, assembly, place) if columns is None else columns.cable(row, assembly, place)
        for place, row in rows
    ]
    for cable in cables:
        if not all(cable.ends):
            raise SpecError(f"{cable.place}: a cable without a name at one end")
        assembly.require_two(*cable.ends, cable.place)
        for name in cable.ends:
            if name not in assembly.nodes:
                assembly.nodes[name] = Node("", name)
    if any(map(any, (cable.ports for cable in cables))):
        _plug(assembly, cables)
    else:
        _join(assembly, cables)
    return assembly


@dataclass
class _Cable:
    """A row: the ends of a cable and their ports, whether it leads one way, and where it stands."""

    ends: tuple[str, str]
    ports: tuple[str, ...]
    place: str
    leads: bool = False

    @property
    def numbers(self) -> list[int]:
        """Its ports, where both are numbers."""
        matches = [_PORT.fullmatch(port) for port in self.ports]
        return [int(match[1]) for match in matches if match] if all(matches) else []


def _plain(row: list[str], assembly: Assembly, place: str) -> _Cable:
    """The cable of a row of a table without a heading."""
    shown = repr(",".join(row)[:60])
    if len(row) == 2 or (len(row) > 2 and all(_AMOUNT.fullmatch(value) for value in row[2:])):
        cable, further = _Cable((row[0], row[1]), (), place), row[2:]
    elif len(row) >= 4:
        cable, further = _Cable((row[0], row[2]), (row[1], row[3]), place), row[4:]
        if not cable.numbers:
            raise SpecError(f"{place}: {shown}: ports are whole numbers; {_HEADING}")
    else:
        raise SpecError(f"{place}: {shown} is not a cable; write a,b or a,port,b,port; {_HEADING}")
    for value in further:
        assembly.leave_out("what further columns say", value)
    return cable


def _plug(assembly: Assembly, cables: Sequence[_Cable]) -> None:
    """Add cables between their ports; where these have names, in the order in which a node has them."""
    named = not all(cable.numbers for cable in cables if cable.ports)
    known: dict[str, dict[str, int]] = {}
    for cable in cables:
        if not cable.ports:
            assembly.join(*cable.ends, cable.place)
            continue
        numbers = cable.numbers
        if named:
            ports = zip(cable.ends, [port or cable.place for port in cable.ports], strict=True)
            of = [(known.setdefault(name, {}), port) for name, port in ports]
            numbers = [each.setdefault(port, len(each) + 1) for each, port in of]
            for port in cable.ports:
                assembly.leave_out("port", port)
        if not all(0 < number < 255 for number in numbers):
            raise SpecError(f"{cable.place}: {cable.ports[0]}, {cable.ports[1]}: ports are 1 to 254")
        if cable.leads:
            raise SpecError(f"{cable.place}: is directed; a cable with ports has both directions")
        here, there = zip(cable.ends, numbers, strict=True)
        assembly.connect(here, there, cable.place)


def _join(assembly: Assembly, cables: Sequence[_Cable]) -> None:
    """Add cables without ports, and once those that the table lists from both ends."""
    count = Counter(cable.ends for cable in cables)
    # Two cables between two nodes may be meant.
    both = len(count) > 2 and all(count[ends] == count[ends[::-1]] for ends in count)
    if both and not any(cable.leads for cable in cables):
        told = "every cable is listed from both ends and taken once"
        assembly.remarks.append(f"{told}; list cables from one end where there are two of each")
        cables = [cable for cable in cables if cable.ends[0] < cable.ends[1]]
    ways = ways_of([(*cable.ends, cable.leads) for cable in cables])
    for cable, way in zip(cables, ways, strict=True):
        if way is not None:
            assembly.join(*cable.ends, cable.place, way)


@dataclass
class _Columns:
    """Where a heading has the ends of a cable, what they are, and what is not used."""

    ends: tuple[int, ...]
    kinds: tuple[int, ...]
    others: dict[int, str]

    def cable(self, row: list[str], assembly: Assembly, place: str) -> _Cable:
        """The cable of a row; the kinds that it says are kept."""
        if len(row) <= max(self.ends):
            raise SpecError(f"{place}: {','.join(row)[:60]!r} has fewer columns than the heading")
        ends = (row[self.ends[0]], row[self.ends[len(self.ends) // 2]])
        leads = False
        for name, column in zip(ends, self.kinds, strict=False):
            said = row[column] if column < len(row) else ""
            if said.lower() in ("directed", "undirected"):
                leads = said.lower() == "directed"
                continue
            if not said:
                continue
            kind = kind_of(said)
            if not kind:
                raise SpecError(
                    f"{place}: {said[:60]!r} is not a type; a node is a host, a switch or aggregation"
                )
            known = assembly.nodes.get(name)
            if known is not None and known.kind not in ("", kind):
                raise SpecError(f"{place}: {name} is a {kind} here and a {known.kind} before")
            assembly.nodes[name] = Node(kind, name)
        for column, fact in self.others.items():
            assembly.leave_out(fact, row[column] if column < len(row) else "")
        return _Cable(
            ends, tuple(row[column] for column in self.ends[1::2] if len(self.ends) == 4), place, leads
        )


def _heading(rows: Sequence[tuple[str, list[str]]], assembly: Assembly) -> _Columns | None:
    """What the first row says of the columns; None if it is a cable.

    Words that name ends are a heading where no other row has names of their form.
    """
    if not rows:
        return None
    place, heading = rows[0]
    short = [name if len(name) < 80 else "" for name in heading]
    kinds = [n for n, name in enumerate(short) if _KIND.fullmatch(name)]
    facts = [n for n, name in enumerate(short) if _FACT.fullmatch(name) and n not in kinds]
    ports = [n for n, name in enumerate(short) if _PORTS.search(name)]
    ends = [n for n, name in enumerate(short) if n not in (*ports, *kinds, *facts) and _END.fullmatch(name)]
    if len(ends) < 2 or any(_PORT.fullmatch(heading[n]) for n in ports):
        return None
    if len(ports) >= 2:
        used: tuple[int, ...] = (ends[0], ports[0], ends[1], ports[1])
    else:
        used = (ends[0], ends[1])
        if heading[ends[0]].lower() not in _FIRST and not (kinds or facts):
            own = {form(heading[n]) for n in used}
            if len(rows) == 1 or any(form(name) in own for _, row in rows[1:] for name in row):
                return None
            assembly.remarks.append(f"{place}, {show(','.join(heading))}, is taken for a heading")
    others = {
        n: name for n, name in enumerate(heading) if n not in (*used, *kinds) and not _LABEL.fullmatch(name)
    }
    return _Columns(used, tuple(kinds[:2]), others)


def _delimiter(text: str) -> str:
    """What separates the columns of the first line that is not a comment."""
    line = next((row for row in text_lines(text) if row.strip() and not row.lstrip().startswith("#")), "")
    return max(",;\t", key=line.count)


def _fields(text: str, source: str) -> Iterator[list[str]]:
    """The fields of every line of CSV text, without blanks around them."""
    reader = csv.reader(text_lines(text, source), delimiter=_delimiter(text))
    try:
        for row in reader:
            yield [field.strip() for field in row]
    except csv.Error as error:
        raise SpecError(f"{source}, line {reader.line_num}: no valid CSV: {error}") from None
