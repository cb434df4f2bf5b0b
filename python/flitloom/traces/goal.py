"""GOAL, the Group Operation Assembly Language (Hoefler, Siebert and Lumsdaine 2009), as LogGOPSim reads it.

The binary form is that of LogGOPSim's txt2bin, in little-endian order: the number 4223 (8 bytes); ranks
(4), the highest processor and network interface (1 each); per rank where its part begins and ends (8 each,
counted behind the first 8 bytes). A part: operations and those that wait for nothing (4 each), the numbers of
the latter; per operation 39 bytes - how many it waits for (4), type (1), peer (4), size (8), tag (4),
processor and interface (1 each), and twice a number of operations and where they begin in the list behind
all operations (4 each): those that wait for its end, and those that wait for its start.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from flitloom.errors import SpecError, show
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import opened, placed
from flitloom.traces.operations import Operation, Ranks, check_count

#: The number that binary files begin with.
COOKIE = 4223
_KINDS = {1: "send", 2: "recv", 3: "calc"}
_NUMBERS = {"send": 1, "recv": 2, "calc": 3}
_NODE = struct.Struct("<IbIQIBBIIII")
_HEAD = struct.Struct("<QIBB")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MESSAGE = re.compile(
    r"(send|recv) +(\d{1,18})b +(to|from) +(\d{1,9})((?: +(?:tag|cpu|nic) +\d{1,10})*)", re.ASCII
)
_CALC = re.compile(r"calc +(\d{1,18})((?: +(?:cpu|nic) +\d{1,9})*)", re.ASCII)
_LABEL = re.compile(r"([A-Za-z0-9_]{1,64}) *: *(.*)", re.ASCII)
_REQUIRES = re.compile(r"([A-Za-z0-9_]{1,64}) +(i?requires) +([A-Za-z0-9_]{1,64})", re.ASCII)


def parse_goal(text: str) -> Ranks:
    """Read a GOAL text.

    Raises
    ------
    SpecError
        A line is not GOAL; the message has its number.

    Examples
    --------
    >>> from flitloom.traces import parse_goal
    >>> text = "num_ranks 2\\nrank 0 {\\na: calc 5\\nb: send 8b to 1 tag 3\\nb requires a\\n}\\n"
    >>> parse_goal(text + "rank 1 {\\nrecv 8b from 0 tag 3\\n}\\n")[0][1].requires
    [0]
    """
    ranks: Ranks | None = None
    rank = -1
    labels: dict[str, int] = {}
    given: set[int] = set()
    count = 0
    for line, words in _lines(text):
        where = f"line {line}"
        if ranks is None:
            found = re.fullmatch(r"num_ranks +(\d{1,9})", words, re.ASCII)
            if found is None or not int(found[1]):
                raise SpecError(f"{where}: {show(words)}: expected num_ranks and a number")
            check_count(int(found[1]), 0)
            ranks = [[] for _ in range(int(found[1]))]
        elif rank < 0:
            found = re.fullmatch(r"rank +(\d{1,9}) *\{", words, re.ASCII)
            if found is None or int(found[1]) >= len(ranks) or int(found[1]) in given:
                raise SpecError(
                    f"{where}: {show(words)}: expected rank N {{, every rank below num_ranks once"
                )
            rank, labels = int(found[1]), {}
            given.add(rank)
        elif words == "}":
            rank = -1
        else:
            _operation(words, where, ranks[rank], labels, len(ranks))
            count += 1
            check_count(0, count)
    if ranks is None:
        raise SpecError("the text is empty; it begins with num_ranks and a number")
    if rank >= 0:
        raise SpecError(f"rank {rank}: }} is missing at its end; the file is cut off")
    for operations in ranks:
        for one in operations:
            one.requires = sorted(set(one.requires))
            one.follows = sorted(set(one.follows))
    return ranks


def read_goal(file: str | Path) -> str | Ranks:
    """A GOAL text, or what the binary form says: files of either ending are read as what they are.

    Raises
    ------
    SpecError
        The file cannot be read.
    """
    with opened(file, limits.GOAL_BYTES) as source:
        if is_binary(source.start()):
            return placed(source.name, lambda: parse_goal_binary(source.content()))
        return source.text()


def without_comments(text: str) -> str:
    """A text without comments between /* and */, its lines where they were."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text) if "/*" in text else text


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines without comments and blanks at their ends."""
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        words = " ".join(line.split("//", 1)[0].split())
        if words and not words.startswith("#"):
            yield number, words


def _operation(
    words: str, where: str, operations: list[Operation], labels: dict[str, int], ranks: int
) -> None:
    found = _REQUIRES.fullmatch(words)
    if found is not None:
        if found[1] not in labels or found[3] not in labels:
            raise SpecError(f"{where}: {words[:200]}: a label that was not given before in this rank")
        one = operations[labels[found[1]]]
        (one.requires if found[2] == "requires" else one.follows).append(labels[found[3]])
        return
    label = _LABEL.fullmatch(words)
    rest = words if label is None else label[2]
    message, calc = _MESSAGE.fullmatch(rest), _CALC.fullmatch(rest)
    if message is not None and (message[1] == "send") == (message[3] == "to"):
        if int(message[4]) >= ranks:
            raise SpecError(f"{where}: rank {message[4]} does not exist; there are {ranks}")
        kind: Literal["send", "recv"] = "send" if message[1] == "send" else "recv"
        more = _attributes(message[5], where)
        operations.append(Operation(kind, int(message[2]), int(message[4]), *more))
    elif calc is not None:
        operations.append(Operation("calc", int(calc[1]), 0, *_attributes(calc[2], where)))
    else:
        raise SpecError(
            f"{where}: {show(rest)}: expected send SIZEb to RANK tag TAG, recv SIZEb from RANK tag TAG, "
            "calc TIME, a requirement (l2 requires l1) or }"
        )
    if label is not None:
        if label[1] in labels:
            raise SpecError(f"{where}: label {label[1]} was given before in this rank")
        labels[label[1]] = len(operations) - 1


def _attributes(text: str, where: str) -> tuple[int, int, int]:
    """Tag, processor and network interface."""
    words = text.split()
    found = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    if found.get("tag", 0) >= 1 << 32 or max(found.get("cpu", 0), found.get("nic", 0)) > 255:
        raise SpecError(f"{where}: tags are below 2^32, processors and interfaces below 256")
    return found.get("tag", 0), found.get("cpu", 0), found.get("nic", 0)


def goal_text(ranks: Ranks) -> str:
    """Write operations as a GOAL text.

    Examples
    --------
    >>> from flitloom.traces import Operation, goal_text
    >>> print(goal_text([[Operation("calc", 7)]]))
    num_ranks 1
    rank 0 {
    l1: calc 7
    }
    <BLANKLINE>
    """
    lines = [f"num_ranks {len(ranks)}"]
    for rank, operations in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        for number, one in enumerate(operations, 1):
            where = f"{'to' if one.kind == 'send' else 'from'} {one.peer} tag {one.tag}"
            what = f"calc {one.size}" if one.kind == "calc" else f"{one.kind} {one.size}b {where}"
            what += f" cpu {one.cpu}" if one.cpu else ""
            what += f" nic {one.nic}" if one.nic and one.kind != "calc" else ""
            lines.append(f"l{number}: {what}")
        for number, one in enumerate(operations, 1):
            lines += [f"l{number} requires l{other + 1}" for other in one.requires]
            lines += [f"l{number} irequires l{other + 1}" for other in one.follows]
        lines.append("}")
    return "\n".join(lines) + "\n"


def goal_binary(ranks: Ranks) -> bytes:
    """Write operations in GOAL's binary form.

    Examples
    --------
    >>> from flitloom.traces import Operation, goal_binary, parse_goal_binary
    >>> ranks = [[Operation("send", 8, 1)], [Operation("recv", 8, 0)]]
    >>> len(goal_binary(ranks)), parse_goal_binary(goal_binary(ranks)) == ranks
    (148, True)
    """
    everything = [one for operations in ranks for one in operations]
    head = _HEAD.pack(
        COOKIE,
        len(ranks),
        max((one.cpu for one in everything), default=0),
        max((one.nic for one in everything), default=0),
    )
    begin = len(head) - 8 + 16 * len(ranks)
    table, parts = [], []
    for operations in ranks:
        part = _part(operations)
        table.append(struct.pack("<QQ", begin, begin + len(part)))
        parts.append(part)
        begin += len(part)
    return b"".join([head, *table, *parts])


def _part(operations: list[Operation]) -> bytes:
    waiting: list[list[int]] = [[] for _ in operations]
    starting: list[list[int]] = [[] for _ in operations]
    for number, one in enumerate(operations):
        for other in one.requires:
            waiting[other].append(number)
        for other in one.follows:
            starting[other].append(number)
    roots = [number for number, one in enumerate(operations) if not one.requires and not one.follows]
    pieces = [struct.pack(f"<II{len(roots)}I", len(operations), len(roots), *roots)]
    later: list[int] = []
    for number, one in enumerate(operations):
        places = []
        for others in (waiting[number], starting[number]):
            places += [len(others), len(later)]
            later += others
        pieces.append(
            _NODE.pack(
                len(one.requires) + len(one.follows), _NUMBERS[one.kind], one.peer, one.size, one.tag,
                one.cpu, one.nic, *places,
            )
        )  # fmt: skip
    return b"".join([*pieces, struct.pack(f"<{len(later)}I", *later)])


def is_binary(start: bytes) -> bool:
    """Whether a file that begins so is GOAL in binary form."""
    return start[:8] == COOKIE.to_bytes(8, "little")


def parse_goal_binary(data: bytes) -> Ranks:
    """Read GOAL's binary form.

    Raises
    ------
    SpecError
        It is none, is cut off, or contradicts itself; the message names rank and operation.
    """
    if not is_binary(data):
        raise SpecError("is not GOAL in binary form; it begins with the number 4223")
    if len(data) < _HEAD.size:
        raise SpecError("the file is cut off in its head")
    _, count, _, _ = _HEAD.unpack_from(data)
    check_count(count, 0)
    if len(data) < _HEAD.size + 16 * count:
        raise SpecError(f"the file is cut off in the table of its {counted(count, 'rank')}")
    ranks: Ranks = []
    total, left = 0, len(data) - _HEAD.size - 16 * count
    for rank in range(count):
        begin, end = struct.unpack_from("<QQ", data, _HEAD.size + 16 * rank)
        if not _HEAD.size + 16 * count - 8 <= begin <= end <= len(data) - 8:
            raise SpecError(
                f"rank {rank}: its part, bytes {begin} to {end}, is not in the file; it is cut off"
            )
        left -= end - begin
        if left < 0:
            raise SpecError(f"rank {rank}: its part, bytes {begin} to {end}, is in those of other ranks")
        operations = _read_part(data[begin + 8 : end + 8], rank, count)
        total += len(operations)
        check_count(0, total)
        ranks.append(operations)
    return ranks


def _read_part(part: bytes, rank: int, ranks: int) -> list[Operation]:
    cut = f"rank {rank}: its part is cut off"
    if len(part) < 8:
        raise SpecError(cut)
    count, roots = struct.unpack_from("<II", part)
    begin = 8 + 4 * roots
    later = begin + _NODE.size * count
    if len(part) < later or (len(part) - later) % 4:
        raise SpecError(cut)
    others = struct.unpack_from(f"<{(len(part) - later) // 4}I", part, later)
    operations: list[Operation] = []
    links: list[tuple[int, int, int, int]] = []
    needed: list[int] = []
    for number in range(count):
        fields = _NODE.unpack_from(part, begin + _NODE.size * number)
        waits, kind, peer, size, tag, cpu, nic = fields[:7]
        where = f"rank {rank}, operation {number}"
        if kind not in _KINDS:
            raise SpecError(f"{where}: type {kind} is unknown; it is 1 (send), 2 (recv) or 3 (calc)")
        if kind != 3 and peer >= ranks:
            raise SpecError(f"{where}: rank {peer} does not exist; there are {ranks}")
        name = _KINDS[kind]
        operations.append(Operation(name, size, peer, tag, cpu, nic))  # type: ignore[arg-type]
        links.append(fields[7:])
        needed.append(waits)
    if sum(ends + starts for ends, _, starts, _ in links) > len(others):
        raise SpecError(
            f"rank {rank}: its operations have more dependents than its list; the part is cut off"
        )
    for number, (ends, first, starts, second) in enumerate(links):
        where = f"rank {rank}, operation {number}"
        for many, start, name in ((ends, first, "requires"), (starts, second, "follows")):
            if start + many > len(others) and many:
                raise SpecError(f"{where}: its dependents are beyond the list; the part is cut off")
            for other in others[start : start + many]:
                if other >= count:
                    raise SpecError(f"{where}: operation {other} is to wait for it and does not exist")
                getattr(operations[other], name).append(number)
    for number, one in enumerate(operations):
        if len(one.requires) + len(one.follows) != needed[number]:
            raise SpecError(
                f"rank {rank}, operation {number}: waits for {needed[number]} operations, "
                f"{len(one.requires) + len(one.follows)} name it"
            )
        one.requires.sort()
        one.follows.sort()
    return operations
