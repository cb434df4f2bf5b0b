"""Chakra execution traces (MLCommons): per rank a file of messages of Protocol Buffers behind their lengths.

The first message is the metadata, every other a node with what it waits for. Sends, receives and computations
are taken as they are; a collective becomes messages: all-gather, reduce-scatter and all-reduce go round a
ring in the order of the ranks, an all-to-all sends to every other rank, broadcast, reduce, scatter and gather
go straight from or to the root, a barrier to the first rank and back.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show_file
from flitloom.ground import limits, outputs
from flitloom.ground.reading import opened
from flitloom.traces.operations import Operation, Ranks, check_count
from flitloom.traces.protobuf import Schema, decode, delimited, encode, write_varint

#: Version of the schema that is written.
VERSION = "0.0.4"
#: Values of an attribute: number of the field, its name and its type; every type also as a list, one higher.
_VALUES = (
    (3, "double"), (5, "float"), (7, "int32"), (9, "int64"), (11, "uint32"), (13, "uint64"), (15, "sint32"),
    (17, "sint64"), (19, "fixed32"), (21, "fixed64"), (23, "sfixed32"), (25, "sfixed64"), (27, "bool"),
    (29, "string"), (31, "bytes"),
)  # fmt: skip
#: The messages of et_def.proto that traces of messages and computations are made of.
SCHEMA: Schema = {
    "AttributeProto": {
        1: ("name", "string", False),
        2: ("doc_string", "string", False),
        **{
            number + place: field
            for number, kind in _VALUES
            for place, field in enumerate(
                ((f"{kind}_val", kind, False), (f"{kind}_list", f"{kind.capitalize()}List", False))
            )
        },
    },
    **{f"{kind.capitalize()}List": {1: ("values", kind, True)} for _, kind in _VALUES},
    "GlobalMetadata": {1: ("version", "string", False), 2: ("attr", "AttributeProto", True)},
    "IOInfo": {
        1: ("values", "string", False), 2: ("shapes", "string", False), 3: ("types", "string", False),
    },
    "Node": {
        1: ("id", "uint64", False),
        2: ("name", "string", False),
        3: ("type", "enum", False),
        4: ("ctrl_deps", "uint64", True),
        5: ("data_deps", "uint64", True),
        6: ("start_time_micros", "uint64", False),
        7: ("duration_micros", "uint64", False),
        8: ("inputs", "IOInfo", False),
        9: ("outputs", "IOInfo", False),
        10: ("attr", "AttributeProto", True),
    },
}  # fmt: skip
METADATA, COMPUTE, SEND, RECEIVE, COLLECTIVE = 1, 4, 5, 6, 7
#: Types of collectives, by their numbers.
COLLECTIVES = (
    "all-reduce", "reduce", "all-gather", "gather", "scatter", "broadcast", "all-to-all", "reduce-scatter",
    "reduce-scatter", "barrier",
)  # fmt: skip
#: Tags of the messages of collectives begin here.
_TAGS = 1 << 31
_NAME = re.compile(r"(.*?)\.(\d{1,7})\.et", re.ASCII)

Node = dict[str, Any]


def read_nodes(file: str | Path) -> tuple[dict[str, Any], list[Node]]:
    """The metadata and the nodes of one file, the attributes of each as a table.

    Raises
    ------
    SpecError
        It is not such a file; the message names the node.
    """
    place = show_file(file)
    with opened(file, limits.FOREIGN_BYTES) as source:
        data = source.content()
    try:
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(data)
        messages = list(delimited(data))
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from None
    if not messages:
        raise SpecError(f"{place}: the file is empty; a trace begins with its metadata")
    parsed = []
    for number, message in enumerate(messages):
        kind = "Node" if number else "GlobalMetadata"
        try:
            fields = decode(SCHEMA, kind, message)
        except SpecError as error:
            raise SpecError(f"{place}: message {number}, {kind}: {error}") from None
        fields["attr"] = {one.get("name", ""): _plain(one) for one in fields.get("attr", ())}
        parsed.append(fields)
    return parsed[0], parsed[1:]


def _unpacked(data: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            content = packed.read(limits.FOREIGN_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SpecError(f"cannot be unpacked: {error}") from None
    if len(content) > limits.FOREIGN_BYTES:
        raise SpecError(f"unpacks to more than {limits.FOREIGN_BYTES} bytes")
    return content


def _plain(attribute: dict[str, Any]) -> Any:
    """The value of an attribute, whichever its type."""
    for name, value in attribute.items():
        if name not in ("name", "doc_string"):
            return value.get("values", []) if isinstance(value, dict) else value
    return None


def files_of(file: str | Path) -> list[Path]:
    """The files of all ranks of a trace of which one is named; ``trace.et`` means all of them.

    Raises
    ------
    SpecError
        Its name is not of that form, or a rank is missing.
    """
    path = Path(file)
    found = _NAME.fullmatch(path.name)
    if found is None and path.suffix == ".et":
        found = _NAME.fullmatch(f"{path.stem}.0.et")
    if found is None:
        raise SpecError(f"{show_file(file)}: files of a trace are named NAME.RANK.et, from NAME.0.et on")
    ranks: dict[int, Path] = {}
    folder = path.parent
    for other in folder.iterdir() if folder.is_dir() else ():
        name = _NAME.fullmatch(other.name)
        if name is not None and name[1] == found[1]:
            ranks[int(name[2])] = other
    for rank in range(max(len(ranks), 1)):
        if rank not in ranks:
            missing = folder / f"{found[1]}.{rank}.et"
            raise SpecError(f"{show_file(missing)}: does not exist; a trace has a file per rank, from 0")
    check_count(len(ranks), 0)
    return [ranks[rank] for rank in range(len(ranks))]


def read_chakra(file: str | Path) -> Ranks:
    """Read a Chakra trace of all ranks.

    Parameters
    ----------
    file : path
        One of its files, NAME.RANK.et, or NAME.et.

    Raises
    ------
    SpecError
        A file cannot be read, or contradicts itself or another one.

    Examples
    --------
    >>> import tempfile
    >>> from flitloom.traces import Operation, read_chakra, write_chakra
    >>> ranks = [[Operation("send", 64, 1)], [Operation("recv", 64, 0)]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_chakra(ranks, f"{folder}/trace.et")
    ...     read_chakra(f"{folder}/trace.0.et") == ranks
    True
    """
    files = files_of(file)
    return _Expansion([(show_file(one), read_nodes(one)[1]) for one in files]).ranks


def _dispatches(node: Node) -> bool:
    """Whether it is the call on the CPU that starts a communication, which a separate node describes.

    PyTorch writes such nodes, as ``c10d::broadcast_``: they keep order, and nothing more.
    """
    needed = {SEND: "comm_dst", RECEIVE: "comm_src", COLLECTIVE: "comm_type"}.get(node.get("type", 0))
    return needed is not None and bool(node["attr"].get("is_cpu_op")) and needed not in node["attr"]


class _Expansion:
    """Nodes of all ranks as operations."""

    def __init__(self, traces: list[tuple[str, list[Node]]]) -> None:
        self.traces = traces
        self.count = 0
        self.groups = self._groups()
        self.ranks: Ranks = [self._rank(rank) for rank in range(len(traces))]

    def _groups(self) -> dict[str, tuple[list[int], list[list[Node]]]]:
        """Per process group its ranks, and the collectives of each of them."""
        found: dict[str, dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
        for rank, (_, nodes) in enumerate(self.traces):
            for node in nodes:
                if node.get("type") == COLLECTIVE and not _dispatches(node):
                    found[str(node["attr"].get("pg_name", ""))][rank].append(node)
        groups = {}
        for name, members in found.items():
            ranks = sorted(members)
            first = members[ranks[0]]
            for rank in ranks:
                place, mine = self.traces[rank][0], members[rank]
                if len(mine) != len(first):
                    raise SpecError(
                        f"{place}: {len(mine)} collectives of group {name[:40]!r}, "
                        f"rank {ranks[0]} has {len(first)}"
                    )
                for number, (here, there) in enumerate(zip(mine, first, strict=True)):
                    if self._kind(rank, here) != self._kind(ranks[0], there):
                        raise SpecError(
                            f"{self._where(rank, here)}: is {self._kind(rank, here)}, collective {number} of "
                            f"rank {ranks[0]} is {self._kind(ranks[0], there)}"
                        )
            groups[name] = ranks, [members[rank] for rank in ranks]
        return groups

    def _where(self, rank: int, node: Node) -> str:
        return f"{self.traces[rank][0]}: node {node.get('id', 0)}"

    def _kind(self, rank: int, node: Node) -> str:
        number = self._attribute(rank, node, "comm_type", most=len(COLLECTIVES) - 1)
        return COLLECTIVES[number]

    def _attribute(
        self, rank: int, node: Node, name: str, default: int | None = None, most: int = 1 << 50
    ) -> int:
        value = node["attr"].get(name, default)
        if not isinstance(value, int) or not 0 <= value <= most:
            found = (
                "is missing" if value is None else f"{str(value)[:40]} is not a whole number from 0 to {most}"
            )
            raise SpecError(f"{self._where(rank, node)}: attribute {name}: {found}")
        return int(value)

    def _rank(self, rank: int) -> list[Operation]:
        operations: list[Operation] = []
        last: dict[int, list[int]] = {}
        first: list[tuple[Node, range]] = []
        turns: dict[str, int] = defaultdict(int)
        for node in self.traces[rank][1]:
            number = node.get("id", 0)
            if number in last:
                raise SpecError(f"{self._where(rank, node)}: its number is given twice")
            begin = len(operations)
            last[number] = self._operations(rank, node, operations, turns)
            self.count += len(operations) - begin
            check_count(0, self.count)
            first.append((node, range(begin, len(operations))))
        for node, mine in first:
            needed: set[int] = set()
            for other in [*node.get("data_deps", ()), *node.get("ctrl_deps", ())]:
                if other not in last:
                    raise SpecError(
                        f"{self._where(rank, node)}: waits for node {other}, which does not exist"
                    )
                if other == node.get("id", 0):
                    raise SpecError(f"{self._where(rank, node)}: waits for itself")
                needed.update(last[other])
            for operation in mine:
                own = operations[operation]
                if not any(other in mine for other in own.requires):
                    own.requires = sorted({*own.requires, *needed})
        return operations

    def _operations(
        self, rank: int, node: Node, operations: list[Operation], turns: dict[str, int]
    ) -> list[int]:
        """Add the operations of a node; gives those that end it."""
        kind = node.get("type", 0)
        begin = len(operations)
        if _dispatches(node):
            operations.append(Operation("calc", 0))
            return [begin]
        if kind in (SEND, RECEIVE):
            side = "comm_dst" if kind == SEND else "comm_src"
            peer = self._attribute(rank, node, side, most=len(self.traces) - 1)
            size = self._attribute(rank, node, "comm_size")
            tag = node["attr"].get("comm_tag", 0)
            if not isinstance(tag, int):
                raise SpecError(f"{self._where(rank, node)}: attribute comm_tag: is not a whole number")
            name = "send" if kind == SEND else "recv"
            operations.append(Operation(name, size, peer, tag & 0xFFFFFFFF))  # type: ignore[arg-type]
            return [begin]
        if kind == COLLECTIVE:
            group = str(node["attr"].get("pg_name", ""))
            self._collective(rank, node, group, turns[group], operations)
            turns[group] += 1
            if len(operations) > begin:
                return self._ends(operations, begin)
        operations.append(Operation("calc", node.get("duration_micros", 0)))
        return [len(operations) - 1]

    @staticmethod
    def _ends(operations: list[Operation], begin: int) -> list[int]:
        """Operations from `begin` on that none of them waits for."""
        waited = {other for one in operations[begin:] for other in one.requires}
        return [number for number in range(begin, len(operations)) if number not in waited]

    def _collective(self, rank: int, node: Node, group: str, turn: int, operations: list[Operation]) -> None:
        members = self.groups[group][0]
        kind, count, here = self._kind(rank, node), len(members), members.index(rank)
        size = self._attribute(rank, node, "comm_size", 0)
        part = -(-size // count)
        tag = _TAGS + (turn * len(self.groups) + list(self.groups).index(group)) % _TAGS
        root = self._attribute(rank, node, "comm_root", 0, count - 1)

        def send(to: int, many: int, after: Sequence[int] = ()) -> int:
            operations.append(Operation("send", many, members[to % count], tag, requires=sorted(after)))
            return len(operations) - 1

        def receive(whence: int, many: int, after: Sequence[int] = ()) -> int:
            operations.append(Operation("recv", many, members[whence % count], tag, requires=sorted(after)))
            return len(operations) - 1

        if count == 1:
            return
        if kind in ("all-gather", "reduce-scatter", "all-reduce"):
            rounds = (2 if kind == "all-reduce" else 1) * (count - 1)
            last: list[int] = []
            for _ in range(rounds):
                last = [
                    send(here + 1, size if kind == "all-gather" else part, last),
                    receive(here - 1, size if kind == "all-gather" else part, last),
                ]
        elif kind == "all-to-all":
            for distance in range(1, count):
                send(here + distance, part)
                receive(here - distance, part)
        elif kind == "barrier":
            if here:
                receive(0, 1, [send(0, 1)])
            else:
                came = [receive(other, 1) for other in range(1, count)]
                for other in range(1, count):
                    send(other, 1, came)
        else:
            many = part if kind == "scatter" else size
            outwards = kind in ("broadcast", "scatter")
            others = [other for other in range(count) if other != root]
            for other in others if here == root else [root]:
                (send if outwards == (here == root) else receive)(other, many)


def chakra_bytes(nodes: Sequence[Node], attributes: dict[str, Any] | None = None) -> bytes:
    """A file of nodes, whose attributes are given as tables from names to (type, value)."""
    metadata = {"version": VERSION, "attr": _attributes(attributes or {})}
    messages = [encode(SCHEMA, "GlobalMetadata", metadata)]
    for node in nodes:
        fields = {name: value for name, value in node.items() if value not in (0, "", [])}
        messages.append(encode(SCHEMA, "Node", fields | {"attr": _attributes(node["attr"])}))
    return b"".join(write_varint(len(message)) + message for message in messages)


def _attributes(table: dict[str, Any]) -> list[bytes]:
    return [
        _attribute(name, kind, tuple(value) if isinstance(value, list) else value)
        for name, (kind, value) in table.items()
    ]


@lru_cache(maxsize=1 << 16)
def _attribute(name: str, kind: str, value: Any) -> bytes:
    """An attribute as a message; a tuple is a list of values. Most nodes of a trace share theirs."""
    field = (f"{kind}_list", {"values": list(value)}) if isinstance(value, tuple) else (f"{kind}_val", value)
    return encode(SCHEMA, "AttributeProto", {"name": name, field[0]: field[1]})


def node_of(number: int, rank: int, one: Operation) -> Node:
    """An operation as a node."""
    deps = sorted({*one.requires, *one.follows})
    node: Node = {"id": number, "data_deps": deps, "attr": {"is_cpu_op": ("bool", False)}}
    if one.kind == "calc":
        return node | {"name": "COMP_NODE", "type": COMPUTE, "duration_micros": one.size}
    sends = one.kind == "send"
    ends = (rank, one.peer) if sends else (one.peer, rank)
    tag = one.tag - (1 << 32) if one.tag >= 1 << 31 else one.tag
    # The types are those that Chakra's feeder reads.
    node["attr"] |= {
        "comm_size": ("int64", one.size),
        "comm_src": ("int32", ends[0]),
        "comm_dst": ("int32", ends[1]),
        "comm_tag": ("int32", tag),
    }
    name = "COMM_SEND_NODE" if sends else "COMM_RECV_NODE"
    return node | {"name": f"{name}_{ends[0]}_{ends[1]}", "type": SEND if sends else RECEIVE}


@lru_cache(maxsize=1 << 16)
def _frame(start: int, end: int, sends: bool, size: int, tag: int) -> tuple[bytes, bytes]:
    """What all sends, or receives, of a size between two ranks have before and behind their dependencies."""
    one = Operation("send" if sends else "recv", size, end if sends else start, tag)
    node = node_of(0, start if sends else end, one)
    head = encode(SCHEMA, "Node", {"name": node["name"], "type": node["type"]})
    return head, attribute_bytes(node["attr"])


_number = lru_cache(maxsize=1 << 16)(write_varint)


def message_node(
    number: int,
    start: int,
    end: int,
    sends: bool,
    size: int,
    requires: Sequence[int],
    more: bytes = b"",
    tag: int = 0,
) -> bytes:
    """One end of a message as a node behind its length, quickly: as `node_of` and `chakra_bytes` write it.

    Parameters
    ----------
    number : int
        The node's number.
    start, end : int
        From which rank to which.
    sends : bool
        Whether it is the sending end.
    size : int
        Bytes.
    requires : sequence of int
        Nodes that must be complete before, in ascending order.
    more : bytes
        Further attributes, by `attribute_bytes`.
    tag : int
        What tells the message from others between the two ranks that are under way at the same time.
    """
    head, tail = _frame(start, end, sends, size, tag)
    if requires:
        packed = b"".join(map(_number, requires))
        head = b"%b\x2a%b%b" % (head, _number(len(packed)), packed)
    if number:
        head = b"\x08" + _number(number) + head
    return b"%b%b%b%b" % (_number(len(head) + len(tail) + len(more)), head, tail, more)


def attribute_bytes(table: dict[str, Any]) -> bytes:
    """Attributes, as a node holds them, from names to (type, value)."""
    return encode(SCHEMA, "Node", {"attr": _attributes(table)})


def name_of(file: str | Path, rank: int) -> Path:
    """The file of a rank of a trace whose name is ``NAME.et``."""
    return Path(file).with_suffix(f".{rank}.et")


def write_chakra(ranks: Ranks, file: str | Path) -> None:
    """Write a trace as NAME.0.et, NAME.1.et, ... for the name NAME.et; times count as microseconds.

    Raises
    ------
    SpecError
        A file cannot be written.
    """
    write_files(
        [
            chakra_bytes([node_of(number, rank, one) for number, one in enumerate(operations)])
            for rank, operations in enumerate(ranks)
        ],
        file,
    )


def write_files(contents: Sequence[bytes], file: str | Path) -> None:
    """Write the files of all ranks.

    Raises
    ------
    SpecError
        A file of one rank more is there, which would be read as one of this trace; or one cannot be written.
    """
    names = [outputs.check_output(name_of(file, rank)) for rank in range(len(contents))]
    other = name_of(file, len(contents))
    if other.exists():
        problem = f"is of another trace, and would be read as rank {len(contents)} of this one"
        raise SpecError.at(show_file(other), problem, "remove its files, or write to another name")
    outputs.write_files(dict(zip(names, contents, strict=True)))
