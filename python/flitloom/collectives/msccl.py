"""MSCCL XML: algorithms of collective operations as GPUs run them - written, replayed and checked.

Contents are symbolic: a chunk is the set of the input chunks that were added up in it. Messages of a
connection (from, to, channel) arrive in order through a FIFO with a few slots; a threadblock runs its steps
in order.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flitloom import limits
from flitloom.collectives.ground import Ground
from flitloom.collectives.plan import CollectivePlan
from flitloom.errors import SpecError, show_file
from flitloom.outputs import write_text

#: Messages a connection holds that the receiver has not taken yet.
SLOTS = 8
#: Names of operations in MSCCL files, and here.
COLLECTIVES = {
    "allgather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "reducescatter": "reduce-scatter",
    "allreduce": "all-reduce",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
}
NAMES = {
    "all-gather": "allgather",
    "reduce-scatter": "reduce_scatter",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
}
#: Types of steps: whether they receive, send, read their source buffer, and write their destination buffer.
TYPES = {
    "s": (False, True, True, False),
    "r": (True, False, False, True),
    "rcs": (True, True, False, True),
    "rrc": (True, False, True, True),
    "rrs": (True, True, True, False),
    "rrcs": (True, True, True, True),
    "cpy": (False, False, True, True),
    "re": (False, False, True, True),
    "nop": (False, False, False, False),
}
#: Most GPUs, and most chunks of all buffers of all GPUs together.
MOST_GPUS = 4096
MOST_CHUNKS = 1 << 24
#: Problems that are listed.
MOST_PROBLEMS = 20


@dataclass
class Step:
    """One step of a threadblock."""

    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    depends: tuple[int, int] | None
    has_dependent: bool


@dataclass
class Block:
    """A threadblock: steps in order, at most one peer to send to and one to receive from."""

    gpu: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Step] = field(default_factory=list)
    done: int = 0

    def __str__(self) -> str:
        return f"gpu {self.gpu}, threadblock {self.number}, step {self.done}"


@dataclass
class Algorithm:
    """An MSCCL algorithm."""

    name: str
    collective: str
    gpus: int
    inplace: bool
    chunks: dict[int, dict[str, int]]
    blocks: list[Block]


def read_msccl(file: str | Path) -> Algorithm:
    """Read an MSCCL XML file.

    Raises
    ------
    SpecError
        It is no such file; the message names GPU, threadblock and step.
    """
    from flitloom.reading import read_text

    place = show_file(file)
    text = read_text(file, limits.COLLECTIVE_BYTES)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SpecError(f"{place}: document types and entities are not read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise SpecError(f"{place}: is no XML: {error}") from None
    try:
        return _algorithm(root)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from None


def _whole(
    element: ElementTree.Element, name: str, where: str, default: int | None = None, least: int = 0
) -> int:
    text = element.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.lstrip("-").isdecimal() or len(text) > 12 or int(text) < least:
        found = "is missing" if text is None else f"{text[:40]!r} is no whole number from {least}"
        raise SpecError(f"{where}: {name}: {found}")
    return int(text)


def _algorithm(root: ElementTree.Element) -> Algorithm:
    if root.tag != "algo":
        raise SpecError(f"<{root.tag[:40]}> is no MSCCL algorithm; the file begins with <algo")
    gpus = _whole(root, "ngpus", "algo", least=1)
    if gpus > MOST_GPUS:
        raise SpecError(f"algo: ngpus: {gpus}; at most {MOST_GPUS} are read")
    name = root.get("coll", "")
    if name not in COLLECTIVES:
        raise SpecError(f"algo: coll: {name[:40]!r} is unknown; it is {', '.join(COLLECTIVES)}")
    chunks: dict[int, dict[str, int]] = {}
    blocks: list[Block] = []
    for element in root.iter("gpu"):
        gpu = _whole(element, "id", "gpu")
        if gpu >= gpus or gpu in chunks:
            raise SpecError(f"gpu {gpu}: is given twice or is not below ngpus ({gpus})")
        where = f"gpu {gpu}"
        chunks[gpu] = {
            short: _whole(element, f"{short}_chunks", where, 0 if short == "s" else None) for short in "ios"
        }
        blocks += [_block(part, gpu, gpus, chunks[gpu]) for part in element.iter("tb")]
    if len(chunks) != gpus:
        raise SpecError(f"algo: {len(chunks)} of {gpus} gpus are described")
    if sum(sum(sizes.values()) for sizes in chunks.values()) > MOST_CHUNKS:
        raise SpecError(f"algo: more than {MOST_CHUNKS} chunks in all buffers")
    _check_dependencies(blocks)
    inplace = _whole(root, "inplace", "algo", 0) == 1 and _whole(root, "outofplace", "algo", 0) == 0
    return Algorithm(root.get("name", ""), COLLECTIVES[name], gpus, inplace, chunks, blocks)


def _block(part: ElementTree.Element, gpu: int, gpus: int, sizes: dict[str, int]) -> Block:
    number = _whole(part, "id", f"gpu {gpu}, threadblock")
    where = f"gpu {gpu}, threadblock {number}"
    block = Block(
        gpu,
        number,
        _whole(part, "send", where, least=-1),
        _whole(part, "recv", where, least=-1),
        _whole(part, "chan", where, 0),
    )
    for peer in (block.send, block.receive):
        if peer >= gpus or peer == gpu:
            raise SpecError(f"{where}: its peer {peer} is itself or no gpu")
    for place, element in enumerate(part.iter("step")):
        here = f"{where}, step {place}"
        if _whole(element, "s", here) != place:
            raise SpecError(f"{here}: s: steps are numbered in order, from 0")
        kind = element.get("type", "")
        if kind not in TYPES:
            raise SpecError(f"{here}: type: {kind[:40]!r} is unknown; it is {', '.join(TYPES)}")
        receives, sends, reads, writes = TYPES[kind]
        if (receives and block.receive < 0) or (sends and block.send < 0):
            raise SpecError(f"{here}: type: {kind} needs a peer, and the threadblock has none")
        count = 1 if kind == "nop" else _whole(element, "cnt", here, 1, least=1)
        ends = []
        for side, used in (("src", reads), ("dst", writes)):
            buffer, offset = element.get(f"{side}buf", "i"), _whole(element, f"{side}off", here, 0, least=-1)
            if used and (buffer not in sizes or not 0 <= offset <= sizes[buffer] - count):
                raise SpecError(
                    f"{here}: {side}off: chunk {offset} + {count} is beyond buffer {buffer[:8]!r}"
                )
            ends.append((buffer, offset))
        depends = (_whole(element, "depid", here, -1, -1), _whole(element, "deps", here, -1, -1))
        block.steps.append(
            Step(
                kind, ends[0], ends[1], count,
                None if depends[0] < 0 else depends,
                _whole(element, "hasdep", here, 0) == 1,
            )
        )  # fmt: skip
    return block


def _check_dependencies(blocks: list[Block]) -> None:
    known = {(block.gpu, block.number): block for block in blocks}
    if len(known) != len(blocks):
        raise SpecError("tb: a threadblock of a gpu is given twice")
    senders: Counter[tuple[int, int, int]] = Counter()
    receivers: Counter[tuple[int, int, int]] = Counter()
    for block in blocks:
        if block.send >= 0:
            senders[block.gpu, block.send, block.channel] += 1
        if block.receive >= 0:
            receivers[block.receive, block.gpu, block.channel] += 1
        for place, step in enumerate(block.steps):
            where = f"gpu {block.gpu}, threadblock {block.number}, step {place}"
            if step.depends is None:
                continue
            other = known.get((block.gpu, step.depends[0]))
            if other is None or not 0 <= step.depends[1] < len(other.steps):
                raise SpecError(f"{where}: depid, deps: {step.depends} is no step of this gpu")
            if other is block and step.depends[1] >= place:
                raise SpecError(f"{where}: waits for itself")
            if not other.steps[step.depends[1]].has_dependent:
                raise SpecError(f"{where}: waits for {step.depends}, whose hasdep is not 1")
    for counts, what in ((senders, "send"), (receivers, "receive")):
        for (start, end, channel), number in counts.items():
            if number > 1:
                raise SpecError(
                    f"channel {channel} from gpu {start} to {end}: {number} threadblocks {what} on it"
                )


@dataclass
class Hop:
    """One chunk over one link in a replay."""

    step: int
    start: int
    end: int
    content: int
    adds: bool


class Replay:
    """Runs an algorithm as soon as possible: a link carries a chunk per step, all else takes no time."""

    def __init__(
        self, algorithm: Algorithm, links: Counter[tuple[int, int]] | None, slots: int = SLOTS
    ) -> None:
        self.algorithm = algorithm
        self.links = links
        self.slots = slots
        self.problems: list[str] = []
        self.hops: list[Hop] = []
        self.steps = 0
        self.memory = {gpu: self._initial(gpu) for gpu in range(algorithm.gpus)}
        self._run()
        if not self.problems:
            self._outcome()

    def bit(self, gpu: int, chunk: int) -> int:
        """An input chunk as a set."""
        return 1 << (gpu * self.inputs(gpu) + chunk)

    def inputs(self, gpu: int) -> int:
        """Input chunks of a GPU."""
        algorithm, sizes = self.algorithm, self.algorithm.chunks[gpu]
        if algorithm.inplace and algorithm.collective == "all-gather":
            return sizes["o"] // algorithm.gpus
        return sizes["i"] or (sizes["o"] if algorithm.inplace else 0)

    def _alias(self, gpu: int, place: tuple[str, int]) -> tuple[str, int]:
        """In place, input and output share their memory."""
        algorithm = self.algorithm
        buffer, offset = place
        if not algorithm.inplace or buffer != "i":
            if algorithm.inplace and algorithm.collective == "reduce-scatter" and buffer == "o":
                return "i", gpu * self.algorithm.chunks[gpu]["i"] // algorithm.gpus + offset
            return place
        if algorithm.collective == "all-gather":
            return "o", gpu * self.inputs(gpu) + offset
        return ("i", offset) if algorithm.collective == "reduce-scatter" else ("o", offset)

    def _initial(self, gpu: int) -> dict[tuple[str, int], int]:
        return {self._alias(gpu, ("i", chunk)): self.bit(gpu, chunk) for chunk in range(self.inputs(gpu))}

    def _problem(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def _run(self) -> None:
        fifos: dict[tuple[int, int, int], deque[tuple[int, list[int], list[Hop]]]] = defaultdict(deque)
        known = {(block.gpu, block.number): block for block in self.algorithm.blocks}
        finished: dict[tuple[int, int], list[int]] = {key: [] for key in known}
        free: dict[tuple[int, int], list[int]] = {}
        if self.links is not None:
            for block in self.algorithm.blocks:
                if block.send >= 0 and block.steps and (block.gpu, block.send) not in self.links:
                    sends = [place for place, step in enumerate(block.steps) if TYPES[step.kind][1]]
                    if sends:
                        self._problem(
                            f"gpu {block.gpu}, threadblock {block.number}, step {sends[0]}: there is no link "
                            f"from node {block.gpu} to node {block.send}"
                        )
        waiting: list[Block] = [block for block in self.algorithm.blocks if block.steps]
        now = 0
        while waiting and len(self.problems) < MOST_PROBLEMS:
            progress = False
            moved = True
            while moved:
                moved = False
                for block in waiting:
                    while block.done < len(block.steps) and self._step(block, now, fifos, finished, free):
                        moved = progress = True
            waiting = [block for block in waiting if block.done < len(block.steps)]
            pending = [arrival for queue in fifos.values() for arrival, _, _ in queue if arrival > now]
            busy = [time for times in free.values() for time in times if time > now]
            if waiting and not progress and not pending and not busy:
                for block in waiting[:5]:
                    self._problem(f"{block}: waits for ever ({block.steps[block.done].kind})")
                return
            now = min([*pending, *busy], default=now + 1)

    def _step(self, block: Block, now: int, fifos: Any, finished: Any, free: Any) -> bool:
        """Run the next step of a threadblock if it can run now."""
        step = block.steps[block.done]
        receives, sends, reads, writes = TYPES[step.kind]
        if step.depends is not None:
            times = finished[block.gpu, step.depends[0]]
            if len(times) <= step.depends[1]:
                return False
        arriving = fifos[block.receive, block.gpu, block.channel]
        if receives and (not arriving or arriving[0][0] > now):
            return False
        link = (block.gpu, block.send)
        leaving = fifos[block.gpu, block.send, block.channel]
        if sends:
            lanes = free.setdefault(link, [0] * (1 if self.links is None else max(self.links[link], 1)))
            lane = min(range(len(lanes)), key=lanes.__getitem__)
            if lanes[lane] > now or len(leaving) >= self.slots:
                return False
        memory = self.memory[block.gpu]
        content = [0] * step.count
        if receives:
            _, content, hops = arriving.popleft()
            for hop in hops:
                hop.adds = step.kind.startswith("rr")
            if len(content) != step.count:
                self._problem(f"{block}: receives {step.count} chunks, {len(content)} were sent")
                content = (content + [0] * step.count)[: step.count]
        if reads:
            for place in range(step.count):
                at = self._alias(block.gpu, (step.source[0], step.source[1] + place))
                own = memory.get(at)
                if own is None:
                    self._problem(f"{block}: chunk {at[1]} of buffer {at[0]} holds nothing yet")
                    own = 0
                if step.kind == "re":
                    target = self._alias(block.gpu, (step.target[0], step.target[1] + place))
                    content[place] = memory.get(target, 0)
                if content[place] & own:
                    self._problem(f"{block}: something is added twice")
                content[place] |= own
        if writes:
            for place in range(step.count):
                memory[self._alias(block.gpu, (step.target[0], step.target[1] + place))] = content[place]
        if sends:
            lanes[lane] = now + step.count
            sent = [
                Hop(now + place, block.gpu, block.send, value, False) for place, value in enumerate(content)
            ]
            leaving.append((now + step.count, content, sent))
            self.steps = max(self.steps, now + step.count)
            self.hops += sent
        finished[block.gpu, block.number].append(now)
        block.done += 1
        return True

    def wanted(self) -> Iterator[tuple[int, tuple[str, int], int]]:
        """What must be where at the end: gpu, place and content."""
        algorithm = self.algorithm
        gpus = range(algorithm.gpus)
        for gpu in gpus:
            total = self.inputs(gpu)
            if algorithm.collective == "all-gather":
                for other in gpus:
                    for chunk in range(total):
                        yield gpu, ("o", other * total + chunk), self.bit(other, chunk)
            elif algorithm.collective == "all-reduce":
                for chunk in range(total):
                    yield gpu, ("o", chunk), sum(self.bit(other, chunk) for other in gpus)
            elif algorithm.collective == "reduce-scatter":
                each = total // algorithm.gpus
                for chunk in range(each):
                    yield gpu, ("o", chunk), sum(self.bit(other, gpu * each + chunk) for other in gpus)
            elif algorithm.collective == "all-to-all":
                each = total // algorithm.gpus
                for other in gpus:
                    for chunk in range(each):
                        yield gpu, ("o", other * each + chunk), self.bit(other, gpu * each + chunk)

    def _outcome(self) -> None:
        sizes = {self.inputs(gpu) for gpu in range(self.algorithm.gpus)}
        if len(sizes) > 1 or not min(sizes):
            self._problem("i_chunks: all gpus need the same number of input chunks, at least one")
            return
        if self.algorithm.collective in ("reduce-scatter", "all-to-all") and min(sizes) % self.algorithm.gpus:
            self._problem(f"i_chunks: {min(sizes)} chunks cannot be dealt to {self.algorithm.gpus} gpus")
            return
        if self.algorithm.collective == "broadcast":
            self._broadcast(min(sizes))
            return
        for gpu, place, content in self.wanted():
            found = self.memory[gpu].get(self._alias(gpu, place))
            if found != content:
                what = "nothing" if found is None else self._show(found)
                self._problem(
                    f"gpu {gpu}: chunk {place[1]} of buffer {place[0]} holds {what} instead of "
                    f"{self._show(content)}"
                )

    def _broadcast(self, chunks: int) -> None:
        roots = [
            root
            for root in range(self.algorithm.gpus)
            if all(
                self.memory[gpu].get(self._alias(gpu, ("o", chunk))) == self.bit(root, chunk)
                for gpu in range(self.algorithm.gpus)
                for chunk in range(chunks)
            )
        ]
        if not roots:
            self._problem("broadcast: no gpu's chunks are in all output buffers")

    def _show(self, content: int) -> str:
        total = self.inputs(0)
        names: list[str] = []
        while content and len(names) < 4:
            low = content & -content
            place = low.bit_length() - 1
            names.append(f"({place // total}, {place % total})")
            content ^= low
        return " + ".join(names) + (" + ..." if content else "")

    @property
    def chunks(self) -> int:
        """Chunks per node, or per pair, as plans count them."""
        total = self.inputs(0)
        if self.algorithm.collective in ("reduce-scatter", "all-to-all", "all-reduce"):
            return max(total // self.algorithm.gpus, 1)
        return total


def check_msccl(file: str | Path, ground: Ground | None) -> dict[str, Any]:
    """Replay an MSCCL file: whether it does what its name claims, over links that exist, without a deadlock.

    Returns
    -------
    dict
        ``valid``, ``steps`` (link steps of an as-soon-as-possible replay), ``problems``, ``operation``,
        ``gpus``, ``chunks``, and with a network ``bound`` and ``optimal``.
    """
    from flitloom.collectives.search import collective

    algorithm = read_msccl(file)
    if ground is not None and ground.nodes != algorithm.gpus:
        raise SpecError(f"{show_file(file)}: {algorithm.gpus} gpus, the network has {ground.nodes} nodes")
    replay = Replay(algorithm, None if ground is None else ground.links)
    report: dict[str, Any] = {
        "valid": not replay.problems,
        "steps": replay.steps,
        "problems": replay.problems,
        "operation": algorithm.collective,
        "gpus": algorithm.gpus,
        "chunks": replay.chunks,
    }
    whole = algorithm.collective != "all-reduce" or replay.inputs(0) % algorithm.gpus == 0
    if ground is not None and whole and algorithm.collective != "broadcast":
        plan = collective(
            ground.topology,
            algorithm.collective,
            chunks=replay.chunks,
            twist=ground.twist,
            width=ground.width,
        )
        report["bound"] = plan.bound
        report["optimal"] = report["valid"] and replay.steps == plan.bound
    return report


def msccl_plan(file: str | Path, ground: Ground) -> CollectivePlan:
    """Read an MSCCL file as a plan: its chunks over links, in the steps of a replay as soon as possible.

    Raises
    ------
    SpecError
        It is no such file, does not do what it claims, or keeps several partial sums of a part at a node.

    Examples
    --------
    >>> import flitloom as fl, tempfile, pathlib
    >>> from flitloom.collectives.ground import Ground
    >>> from flitloom.collectives.msccl import msccl_plan, write_msccl
    >>> plan = fl.collective(fl.Torus(4, 4), "all-gather")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "plan.xml"
    ...     write_msccl(plan, file)
    ...     msccl_plan(file, Ground(fl.Torus(4, 4))).moves == plan.expanded().moves
    True
    """
    from flitloom.collectives.check import check_collective
    from flitloom.collectives.search import collective

    place = show_file(file)
    algorithm = read_msccl(file)
    if ground.nodes != algorithm.gpus:
        raise SpecError(f"{place}: {algorithm.gpus} gpus, the network has {ground.nodes} nodes")
    replay = Replay(algorithm, ground.links)
    if replay.problems:
        raise SpecError(f"{place}: {replay.problems[0]}")
    name, chunks, total = algorithm.collective, replay.chunks, replay.inputs(0)
    if name == "broadcast" or (name != "all-gather" and total % algorithm.gpus):
        raise SpecError(
            f"{place}: {name} of {total} chunks is no plan; {', '.join(NAMES)} in equal parts are"
        )
    rows: dict[bool, list[list[int]]] = {False: [], True: []}
    for hop in replay.hops:
        source, chunk = divmod(hop.content.bit_length() - 1, total)
        owner, part = divmod(chunk, chunks)
        block = [source, chunk] if name == "all-gather" else [owner, part]
        rows[hop.adds].append(
            [hop.step, hop.start, hop.end, *([source] if name == "all-to-all" else []), *block]
        )
    known = collective(ground.topology, name, chunks=chunks, twist=ground.twist, width=ground.width)
    update = {
        "directions": [], "adds": [], "sends": [], "paths": [],
        "sums": sorted(rows[True]), "moves": sorted(rows[False]),
        "steps": replay.steps, "optimal": replay.steps == known.bound,
    }  # fmt: skip
    plan = known.model_copy(update=update)
    problems = check_collective(plan)["problems"]
    if problems:
        raise SpecError(f"{place}: {problems[0]}")
    return plan


def write_msccl(plan: CollectivePlan, file: str | Path) -> None:
    """Write a plan as MSCCL XML: all-gather, reduce-scatter, all-reduce or all-to-all over all nodes."""
    write_text(file, msccl_text(plan))


def msccl_text(plan: CollectivePlan) -> str:
    """Give a plan as MSCCL XML.

    Per node a threadblock for every link out, one for every link in, and one for copies of its own chunks;
    the order of steps carries the time, and whatever is passed on waits for the step that brought it.

    Examples
    --------
    >>> import flitloom as fl
    >>> text = fl.collective(fl.Torus(3), "all-gather").to_msccl()
    >>> text.splitlines()[0][:60]
    '<algo name="all-gather 3 torus" proto="Simple" nchannels="1"'
    """
    name = NAMES.get(plan.operation)
    if name is None or plan.nodes is not None or plan.topology.get("failed_nodes"):
        raise SpecError(
            f"msccl: {', '.join(NAMES)} over all nodes can be written, not {plan.operation} over some"
        )
    return _Writer(plan.expanded(), name).text()


class _Writer:
    """Threadblocks of all nodes, filled in the order of time."""

    def __init__(self, plan: CollectivePlan, name: str) -> None:
        self.plan, self.name = plan, name
        self.nodes, self.chunks = plan.ground.nodes, plan.chunks
        self.rows: dict[tuple[int, str, int, int], list[list[Any]]] = {}
        self.last: dict[tuple[int, tuple[int, ...]], list[Any]] = {}
        self.scratch: list[dict[tuple[int, ...], int]] = [{} for _ in range(self.nodes)]
        rows = [(row, True) for row in plan.sums] + [(row, False) for row in plan.moves]
        rows.sort(key=lambda entry: entry[0][0])
        step = -1
        batch: list[tuple[list[int], bool]] = []
        for row, adds in rows:
            if row[0] != step:
                self._flush(batch)
                step, batch = row[0], []
            batch.append((row, adds))
        self._flush(batch)

    def _flush(self, batch: list[tuple[list[int], bool]]) -> None:
        """The sends of a step read what was there before its receives write."""
        lanes: Counter[tuple[int, int]] = Counter()
        pairs = []
        for row, adds in batch:
            start, end, block = row[1], row[2], tuple(row[3:])
            lane = lanes[start, end]
            lanes[start, end] += 1
            place = self._place(start, block)
            pairs.append((start, end, lane, block, adds))
            self._add(start, "send", end, lane, "s", place, place, self.last.get((start, block)))
        for start, end, lane, block, adds in pairs:
            before = self._place(end, block) if adds else ("i", 0)
            after = self.last.get((end, block))
            target = self._home(end, block)
            kind, source = ("rrc", before) if adds else ("r", target)
            step = self._add(end, "recv", start, lane, kind, source, target, after if adds else None)
            self.last[end, block] = step

    def _input(self, node: int, block: tuple[int, ...]) -> int | None:
        """Where a node's own chunk of a block is in its input."""
        if self.name == "allgather":
            return block[1] if block[0] == node else None
        if self.name == "alltoall":
            return block[1] * self.chunks + block[2] if block[0] == node else None
        return block[0] * self.chunks + block[1]

    def _home(self, node: int, block: tuple[int, ...]) -> tuple[str, int]:
        """Where a node keeps what it receives of a block."""
        if self.name == "allgather":
            return "o", block[0] * self.chunks + block[1]
        if self.name == "reduce_scatter" and block[0] == node:
            return "o", block[1]
        if self.name == "allreduce":
            return "o", block[0] * self.chunks + block[1]
        if self.name == "alltoall" and block[1] == node:
            return "o", block[0] * self.chunks + block[2]
        known = self.scratch[node]
        return "s", known.setdefault(block, len(known))

    def _place(self, node: int, block: tuple[int, ...]) -> tuple[str, int]:
        """Where a node has a block now."""
        own = self._input(node, block)
        if (node, block) not in self.last and own is not None:
            return "i", own
        return self._home(node, block)

    def _add(
        self, node: int, side: str, peer: int, lane: int, kind: str, source: Any, target: Any, after: Any
    ) -> Any:
        rows = self.rows.setdefault((node, side, peer, lane), [])
        step = [kind, source, target, after, False, (node, side, peer, lane), len(rows)]
        if after is not None:
            after[4] = True
        rows.append(step)
        return step

    def text(self) -> str:
        """The whole file."""
        plan, count = self.plan, self.nodes * self.chunks
        channels = 1 + max((key[3] for key in self.rows), default=0)
        inputs = self.chunks if self.name == "allgather" else count
        outputs = self.chunks if self.name == "reduce_scatter" else count
        lines = [
            f'<algo name="{plan.operation} {plan.ground.topology}" proto="Simple" nchannels="{channels}" '
            f'nchunksperloop="{count}" ngpus="{self.nodes}" coll="{self.name}" inplace="0" outofplace="1" '
            'minBytes="0" maxBytes="0">'
        ]
        numbers: dict[tuple[int, str, int, int], int] = {}
        by_node: dict[int, list[tuple[int, str, int, int]]] = defaultdict(list)
        for key in sorted(self.rows):
            numbers[key] = len(by_node[key[0]])
            by_node[key[0]].append(key)
        for node in range(self.nodes):
            lines.append(
                f' <gpu id="{node}" i_chunks="{inputs}" o_chunks="{outputs}" '
                f's_chunks="{len(self.scratch[node])}">'
            )
            for key in by_node[node]:
                _, side, peer, lane = key
                send, receive = (peer, -1) if side == "send" else (-1, peer)
                lines.append(f'  <tb id="{numbers[key]}" send="{send}" recv="{receive}" chan="{lane}">')
                for place, (kind, source, target, after, has, _, _) in enumerate(self.rows[key]):
                    depends = (-1, -1) if after is None else (numbers[after[5]], after[6])
                    lines.append(
                        f'   <step s="{place}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1]}" '
                        f'dstbuf="{target[0]}" dstoff="{target[1]}" cnt="1" depid="{depends[0]}" '
                        f'deps="{depends[1]}" hasdep="{int(has)}"/>'
                    )
                lines.append("  </tb>")
            own = self._own(node)
            if own:
                lines.append(f'  <tb id="{len(by_node[node])}" send="-1" recv="-1" chan="0">')
                lines += [
                    f'   <step s="{place}" type="cpy" srcbuf="i" srcoff="{start}" dstbuf="o" dstoff="{end}" '
                    'cnt="1" depid="-1" deps="-1" hasdep="0"/>'
                    for place, (start, end) in enumerate(own)
                ]
                lines.append("  </tb>")
            lines.append(" </gpu>")
        return "\n".join([*lines, "</algo>"]) + "\n"

    def _own(self, node: int) -> list[tuple[int, int]]:
        """Chunks of its own input that a node copies to its output."""
        each = range(self.chunks)
        if self.name == "allgather":
            return [(chunk, node * self.chunks + chunk) for chunk in each]
        if self.name == "alltoall":
            return [(node * self.chunks + chunk, node * self.chunks + chunk) for chunk in each]
        return []
