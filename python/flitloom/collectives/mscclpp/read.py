"""Reads execution plans of MSCCL++ (JSON, as its executor does: ``src/core/executor/execution_plan.cc``)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from flitloom.collectives.contents import Buffers
from flitloom.errors import SpecError, show, show_file
from flitloom.ground import limits
from flitloom.ground.reading import placed, read_json

#: Names of operations in plans, and here.
COLLECTIVES = {
    "allgather": "all-gather",
    "allreduce": "all-reduce",
    "reducescatter": "reduce-scatter",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
}
#: Operations that move chunks: whether all sources are added up, and whether they wait until those are there.
MOVES = {
    "put": (False, False), "pws": (False, False), "pwsf": (False, False), "get": (False, False),
    "copy": (False, False), "re": (True, False), "res": (True, False), "rre": (True, False),
    "rres": (True, False), "ppkt": (False, False), "rppkt": (False, True), "cpkt": (False, False),
    "upkt": (False, True), "repkt": (True, True), "recpkt": (True, True), "respkt": (True, True),
    "recspkt": (True, True),
}  # fmt: skip
#: Operations that only keep order.
ORDERS = (
    "nop", "flush", "signal", "rlxsignal", "wait", "rlxwait", "barrier", "sem_acquire", "sem_release",
)  # fmt: skip
#: Operations that end in signals.
SIGNALS = ("signal", "rlxsignal", "pws", "pwsf")
#: Operations that write their one source to all destinations.
SPREADS = ("rppkt",)
#: Signals and waits that make nothing known but themselves.
RELAXED = ("rlxsignal", "rlxwait")
#: Operations whose chunks are there as soon as they have arrived, without a signal.
PACKETS = ("ppkt", "rppkt", "cpkt", "respkt", "recspkt", "recpkt")
MOST_GPUS = 4096
MOST_CHUNKS = 1 << 22
#: Most chunks that all operations together read and write.
MOST_MOVED = 1 << 23


@dataclass(slots=True)
class Piece:
    """Chunks of a buffer.

    Attributes
    ----------
    rank : int
        Whose buffer it is.
    buffer : str
        ``i``, ``o`` or ``s``.
    index, size : int
        Its first chunk, and how many.
    """

    rank: int
    buffer: str
    index: int
    size: int


class Operation(NamedTuple):
    """One operation of a threadblock."""

    name: str
    sources: tuple[Piece, ...] = ()
    targets: tuple[Piece, ...] = ()
    #: Connections (peer, number among those with this peer, type).
    channels: tuple[tuple[int, int, str], ...] = ()
    semaphores: tuple[int, ...] = ()
    barrier: tuple[int, int] = (0, 1)
    #: The step of the plan that the file was written from; -1 if it does not say.
    given: int = -1
    #: Whether a port channel moves the data, not the threads.
    port: bool = False


@dataclass
class Block:
    """A threadblock: operations in order."""

    gpu: int
    number: int
    operations: list[Operation]
    done: int = 0

    def at(self, place: int) -> str:
        """The name of one of its operations."""
        return f"gpu {self.gpu}, threadblock {self.number}, op {place}"

    def __str__(self) -> str:
        return self.at(self.done)


@dataclass
class Plan:
    """An execution plan.

    Attributes
    ----------
    name : str
        Its name.
    buffers : Buffers
        What it has and promises.
    blocks : list of Block
        All threadblocks.
    semaphores : dict
        What semaphores hold at first, by (gpu, number).
    flaws : list of str
        What keeps it from running.
    """

    name: str
    buffers: Buffers
    blocks: list[Block]
    semaphores: dict[tuple[int, int], int]
    flaws: list[str] = field(default_factory=list)


def read_mscclpp(file: str | Path) -> Plan:
    """Read an execution plan.

    Raises
    ------
    SpecError
        It is none, or uses channels of switches; the message names GPU, threadblock and operation.
    """
    data = read_json(file, limits.FOREIGN_BYTES)
    return placed(show_file(file), lambda: _Reader(data).plan)


def _get(table: Any, name: str, kind: type, where: str, default: Any = None) -> Any:
    """A field of a table, of the right type."""
    value = table.get(name, default) if isinstance(table, dict) else None
    if value is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        found = "is missing" if value is None else f"{show(value)} is no {kind.__name__}"
        raise SpecError(f"{where}: {name}: {found}")
    return value


def _count(table: Any, name: str, where: str, default: int | None = None, most: int = MOST_CHUNKS) -> int:
    value = table.get(name) if type(table) is dict else None
    if type(value) is not int:
        value = int(_get(table, name, int, where, default))
    if not 0 <= value <= most:
        raise SpecError(f"{where}: {name}: {value}; 0 to {most} are possible")
    return value


def _counts(table: Any, name: str, where: str) -> list[int]:
    if type(table) is dict and name not in table:
        return []
    values: list[Any] = _get(table, name, list, where)
    for value in values:
        if type(value) is not int or not 0 <= value <= MOST_CHUNKS:
            raise SpecError(f"{where}: {name}: {show(value)} is not a whole number from 0")
    return values


class _Reader:
    def __init__(self, data: dict[str, Any]) -> None:
        if "colletive" in data:
            raise SpecError.at(
                "plan", "is of an older form, whose channels are called sm and proxy", "it is not read"
            )
        name = _get(data, "collective", str, "plan")
        if name not in COLLECTIVES:
            raise SpecError.at(
                "plan", f"collective: {show(name)} is unknown", f"it is {', '.join(COLLECTIVES)}"
            )
        gpus = _get(data, "gpus", list, "plan")
        if not 1 <= len(gpus) <= MOST_GPUS:
            raise SpecError.at("plan", f"gpus: {len(gpus)}", f"1 to {MOST_GPUS} are read")
        self.count = len(gpus)
        self.flaws: list[str] = []
        self.moved = 0
        self.sizes: dict[int, dict[str, int]] = {}
        for rank, gpu in enumerate(gpus):
            if _count(gpu, "id", f"gpus[{rank}]") != rank:
                raise SpecError(f"gpus[{rank}]: id: gpus are listed in their order, from 0")
            long = {"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}
            self.sizes[rank] = {
                short: _count(gpu, name, f"gpu {rank}", 0 if short == "s" else None)
                for short, name in long.items()
            }
        if sum(sum(sizes.values()) for sizes in self.sizes.values()) > MOST_CHUNKS:
            raise SpecError.at("plan", f"more than {MOST_CHUNKS} chunks in all buffers")
        blocks: list[Block] = []
        semaphores: dict[tuple[int, int], int] = {}
        for rank, gpu in enumerate(gpus):
            for number, one in enumerate(_get(gpu, "semaphores", list, f"gpu {rank}", [])):
                semaphores[rank, number] = _count(one, "init_value", f"gpu {rank}, semaphore {number}")
            blocks += self._blocks(rank, gpu)
        for block in blocks:
            for place, one in enumerate(block.operations):
                for number in one.semaphores:
                    if (block.gpu, number) not in semaphores:
                        self.flaws.append(
                            f"gpu {block.gpu}, threadblock {block.number}, op {place}: semaphore {number} "
                            "does not exist"
                        )
        inplace = _get(data, "inplace", bool, "plan")
        buffers = Buffers(COLLECTIVES[name], self.count, inplace, self.sizes)
        self.plan = Plan(str(data.get("name", "")), buffers, blocks, semaphores, self.flaws)

    def _blocks(self, rank: int, gpu: Any) -> list[Block]:
        where = f"gpu {rank}"
        channels: dict[str, list[tuple[int, int, str]]] = {"memory": [], "port": []}
        seen: dict[tuple[str, int], int] = defaultdict(int)
        for number, one in enumerate(_get(gpu, "channels", list, where, [])):
            kind = one.get("channel_type", one.get("type")) if isinstance(one, dict) else None
            if not isinstance(kind, str) or kind not in channels:
                raise SpecError(
                    f"{where}: channels[{number}]: {show(kind)}; memory and port channels are read"
                )
            for peer in _counts(one, "connected_to", f"{where}: channels[{number}]"):
                if peer >= self.count or peer == rank:
                    raise SpecError(f"{where}: channels[{number}]: gpu {peer} does not exist or is itself")
                channels[kind].append((peer, seen[kind, peer], kind))
                seen[kind, peer] += 1
        remote = []
        for number, one in enumerate(_get(gpu, "remote_buffers", list, where, [])):
            here = f"{where}: remote_buffers[{number}]"
            peer, kind = _count(one, "rank", here, most=self.count - 1), _get(one, "type", str, here)
            if kind not in ("i", "o", "s"):
                raise SpecError(f"{here}: type: {show(kind)}; it is i, o or s")
            remote.append((peer, kind))
        blocks = []
        for place, one in enumerate(_get(gpu, "threadblocks", list, where)):
            number = _count(one, "id", f"{where}, threadblocks[{place}]")
            here = f"{where}, threadblock {number}"
            mine: dict[str, list[tuple[int, int, str]]] = {"memory": [], "port": []}
            for part in _get(one, "channels", list, here, []):
                kind = _get(part, "channel_type", str, f"{here}: channels")
                for channel in _counts(part, "channel_ids", f"{here}: channels"):
                    if kind not in channels or channel >= len(channels[kind]):
                        raise SpecError(f"{here}: channels: {show(kind)} channel {channel} does not exist")
                    mine[kind].append(channels[kind][channel])
            known: dict[str, list[tuple[int, str]]] = {"memory": [], "port": []}
            for part in _get(one, "remote_buffer_refs", list, here, []):
                kind = _get(part, "access_channel_type", str, f"{here}: remote_buffer_refs")
                for buffer in _counts(part, "remote_buffer_ids", f"{here}: remote_buffer_refs"):
                    if kind not in known or buffer >= len(remote):
                        raise SpecError(f"{here}: remote_buffer_refs: buffer {buffer} does not exist")
                    known[kind].append(remote[buffer])
            operations: list[Operation] = []
            alike: dict[str, Operation] = {}
            for listed in _get(one, "ops", list, here):
                inner = (
                    listed.get("ops", [])
                    if isinstance(listed, dict) and listed.get("name") == "pipeline"
                    else None
                )
                for raw in [listed] if inner is None else inner:
                    # Operations that move nothing come again and again.
                    key = (
                        ""
                        if not isinstance(raw, dict) or "src_buff" in raw or "dst_buff" in raw
                        else str(raw)
                    )
                    same = alike.get(key)
                    if same is None:
                        there = f"{here}, op {len(operations)}"
                        same = self._operation(raw, rank, mine, known, there)
                        if key:
                            alike[key] = same
                    operations.append(same)
            blocks.append(Block(rank, number, operations))
        if len({block.number for block in blocks}) != len(blocks):
            raise SpecError(f"{where}: a threadblock is given twice")
        return blocks

    def _operation(
        self,
        raw: Any,
        rank: int,
        channels: dict[str, list[tuple[int, int, str]]],
        remote: dict[str, list[tuple[int, str]]],
        where: str,
    ) -> Operation:
        name = _get(raw, "name", str, where)
        if name not in MOVES and name not in ORDERS:
            raise SpecError(f"{where}: name: {show(name)} is unknown; it is {', '.join([*MOVES, *ORDERS])}")
        if raw.get("tbg_info") not in (None, {"tb_id": 0, "tbg_size": 1}):
            raise SpecError(f"{where}: tbg_info: threadblocks that share a chunk are not read")
        kind = raw.get("channel_type", "memory")
        if kind == "none":
            kind = "memory"
        if not isinstance(kind, str) or kind not in channels:
            raise SpecError(f"{where}: channel_type: {show(kind)}; memory and port channels are read")
        used = []
        for number in _counts(raw, "channel_ids", where):
            if number >= len(channels[kind]):
                raise SpecError(f"{where}: channel_ids: the threadblock has no {kind} channel {number}")
            used.append(channels[kind][number])
        sources, targets = (
            tuple(
                self._piece(part, rank, remote[kind], f"{where}: {side}")
                for part in _get(raw, side, list, where, [])
            )
            for side in ("src_buff", "dst_buff")
        )
        if name in MOVES:
            adds = MOVES[name][0]
            spread = name in SPREADS and len(sources) == 1
            if not sources or not targets or (not adds and not spread and len(sources) != len(targets)):
                raise SpecError(f"{where}: {name} needs sources and destinations, one for each")
            sizes = [piece.size for piece in (*sources, *targets)]
            if len(set(sizes)) != 1 and (
                adds or spread or any(a.size != b.size for a, b in zip(sources, targets, strict=True))
            ):
                raise SpecError(f"{where}: pieces of {sizes} chunks do not fit each other")
        barrier = _count(raw, "barrier_id", where, 0), _count(raw, "num_threadblocks", where, 1)
        semaphores = tuple(_counts(raw, "semaphore_ids", where))
        given = _count(raw, "step", where) if "step" in raw else -1
        return Operation(name, sources, targets, tuple(used), semaphores, barrier, given, kind == "port")

    def _piece(self, part: Any, rank: int, remote: list[tuple[int, str]], where: str) -> Piece:
        index, size = _count(part, "index", where), _count(part, "size", where, 1)
        owner, buffer = rank, part.get("type")
        if "buffer_id" in part:
            number = _count(part, "buffer_id", where)
            if number >= len(remote):
                raise SpecError(f"{where}: the threadblock has no remote buffer {number}")
            owner, buffer = remote[number]
        if not isinstance(buffer, str) or buffer not in ("i", "o", "s"):
            raise SpecError(f"{where}: type: {show(buffer)}; it is i, o or s")
        self.moved += size
        if self.moved > MOST_MOVED:
            raise SpecError(f"{where}: more than {MOST_MOVED} chunks are moved in all")
        if not size or index + size > self.sizes[owner][buffer]:
            last = f" to {index + size - 1}" if size > 1 else ""
            has = self.sizes[owner][buffer]
            self.flaws.append(f"{where}: chunk {index}{last}; buffer {buffer} of gpu {owner} has {has}")
        return Piece(owner, buffer, index, size)
