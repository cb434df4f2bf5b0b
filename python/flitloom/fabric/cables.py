"""Tables of cables: CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from flitloom.errors import SpecError
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.kinds import kind_of
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.reading import text_lines

#: What the columns of a cable's ends may be called.
_END = re.compile(
    r"(?:.*[ _-])?(?:a|b|from|to|source|src|destination|dest|dst|target|local|remote|peer|near|far|end|"
    r"switch|node|device|host|name)(?:[ _-]?[ab12])?(?:[ _-].*)?",
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
_PORT = re.compile(r"(?:port|p)?[ _]?(\d{1,9})", re.IGNORECASE)
#: A number with a unit: a speed, a latency or a length.
_AMOUNT = re.compile(r"\d[\d.]{0,20}\s*(?:[kKMGT]?i?(?:bps|bit/s|b/s|B/s)|[nmuµ]?s|k?m|cycles?)|\dx\w{2,4}")


def parse_cables(text: str, source: str) -> Assembly:
    """Read a table of cables: ``a,b`` or ``a,port,b,port`` per line.

    Commas, semicolons or tabulators separate; a heading that names the ends and ports may give them any place
    among other columns. Columns ``type`` say what the ends are, one of the first end or two of both; what is
    a host is guessed without.
    """
    assembly = Assembly(source)
    columns: _Columns | None = None
    first = True
    count = 0
    for number, fields in enumerate(_fields(text, source), start=1):
        row = [field.strip() for field in fields]
        if not any(row) or row[0].startswith("#"):
            continue
        place = f"{source}, line {number}"
        if first:
            first = False
            columns = _columns(row)
            if columns is not None:
                continue
        count += 1
        if count > FABRIC_PARTS:
            raise SpecError(f"{place}: more than {FABRIC_PARTS} cables")
        _cable(assembly, row if columns is None else columns.cable(row, assembly, place), place)
    if not count:
        raise SpecError(f"{source}: no cables found; a cable is a line a,b or a,port,b,port")
    return assembly


def _cable(assembly: Assembly, row: list[str], place: str) -> None:
    """Add the cable of a row: both ends, perhaps with their ports."""
    shown = repr(",".join(row)[:60])
    ports = [_PORT.fullmatch(row[1]), _PORT.fullmatch(row[3])] if len(row) >= 4 else []
    plain = len(row) == 2 or (len(row) > 2 and all(_AMOUNT.fullmatch(value) for value in row[2:]))
    if plain:
        ends, ports = (row[0], row[1]), []
        for value in row[2:]:
            assembly.leave_out("what further columns say", value)
    elif len(row) >= 4:
        ends = (row[0], row[2])
        if not all(ports):
            raise SpecError(f"{place}: {shown}: ports are whole numbers")
        for value in row[4:]:
            assembly.leave_out("what further columns say", value)
    else:
        raise SpecError(f"{place}: {shown} is not a cable; write a,b or a,port,b,port")
    if not all(ends):
        raise SpecError(f"{place}: a cable without a name at one end")
    assembly.require_two(*ends, place)
    for name in ends:
        if name not in assembly.nodes:
            assembly.nodes[name] = Node("", name)
    numbers = [int(match[1]) for match in ports if match]
    if not numbers:
        assembly.join(*ends, place)
    elif all(0 < number < 255 for number in numbers):
        assembly.connect((ends[0], numbers[0]), (ends[1], numbers[1]), place)
    else:
        raise SpecError(f"{place}: {shown}: ports are 1 to 254")


@dataclass
class _Columns:
    """Where a heading has the ends of a cable, what they are, and what is not used."""

    ends: tuple[int, ...]
    kinds: tuple[int, ...]
    others: dict[int, str]

    def cable(self, row: list[str], assembly: Assembly, place: str) -> list[str]:
        """The ends and ports of a row; the kinds that it says are kept."""
        if len(row) <= max(self.ends):
            raise SpecError(f"{place}: {','.join(row)[:60]!r} has fewer columns than the heading")
        ends = (row[self.ends[0]], row[self.ends[len(self.ends) // 2]])
        for name, column in zip(ends, self.kinds, strict=False):
            said = row[column] if column < len(row) else ""
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
        return [row[column] for column in self.ends]


def _columns(heading: list[str]) -> _Columns | None:
    """What a heading says of the columns; None if it is not a heading."""
    short = [name if len(name) < 80 else "" for name in heading]
    kinds = [n for n, name in enumerate(short) if _KIND.fullmatch(name)]
    facts = [n for n, name in enumerate(short) if _FACT.fullmatch(name) and n not in kinds]
    ports = [n for n, name in enumerate(short) if "port" in name.lower()]
    ends = [n for n, name in enumerate(short) if n not in (*ports, *kinds, *facts) and _END.fullmatch(name)]
    if len(ends) < 2 or any(_PORT.fullmatch(heading[n]) for n in ports):
        return None
    if len(ports) >= 2:
        used: tuple[int, ...] = (ends[0], ports[0], ends[1], ports[1])
    elif heading[ends[0]].lower() in _FIRST or kinds or facts:
        used = (ends[0], ends[1])
    else:
        return None
    others = {n: name for n, name in enumerate(heading) if n not in (*used, *kinds)}
    return _Columns(used, tuple(kinds[:2]), others)


def _delimiter(text: str) -> str:
    """What separates the columns of the first line that is not a comment."""
    line = next((row for row in text_lines(text) if row.strip() and not row.lstrip().startswith("#")), "")
    return max(",;\t", key=line.count)


def _fields(text: str, source: str) -> Iterator[list[str]]:
    """The fields of every line of CSV text."""
    reader = csv.reader(text_lines(text, source), delimiter=_delimiter(text))
    try:
        yield from reader
    except csv.Error as error:
        raise SpecError(f"{source}, line {reader.line_num}: no valid CSV: {error}") from None
