"""Writes plans as MSCCL XML, a GPU after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.contents import Place
from flitloom.collectives.loaders import COUNT, STEPS, Counts
from flitloom.collectives.programs import Programs, Turn
from flitloom.errors import SpecError
from flitloom.ground.outputs import write_lines

#: Names of operations in MSCCL files.
NAMES = {
    "all-gather": "allgather",
    "reduce-scatter": "reducescatter",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
}
_Block = tuple[int, ...]
#: A threadblock before it has a number: whether it receives, peer, lane, and which of its parts.
_Key = tuple[bool, int, int, int]


def write_msccl(plan: CollectivePlan, file: str | Path) -> None:
    """Write a plan as MSCCL XML: all-gather, reduce-scatter, all-reduce or all-to-all, by rank."""
    write_lines(file, msccl_lines(plan))


def msccl_text(plan: CollectivePlan) -> str:
    """Give a plan as MSCCL XML; see `msccl_lines`.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.msccl import msccl_text
    >>> text = msccl_text(fl.collectives.plan(fl.Torus(3), "all-gather"))
    >>> text.splitlines()[0][:60]
    '<algo name="all-gather 3 torus" proto="Simple" nchannels="1"'
    """
    return "".join(msccl_lines(plan))


def msccl_lines(plan: CollectivePlan, counts: Counts | None = None) -> Iterator[str]:
    """Give a plan as MSCCL XML, the text of a GPU after the other.

    Per node a threadblock for every link out, one for every link in, and one for copies of its own chunks;
    the order of steps determines the time, and whatever is passed on waits for the step that brought it. A
    threadblock of more steps than loaders take is split, each part with a separate channel.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    counts : Counts, optional
        What is compared with the limits of loaders.

    Raises
    ------
    SpecError
        MSCCL has no such operation, or the file is above a limit of the loader of `counts`.
    """
    name = NAMES.get(plan.operation)
    if name is None:
        raise SpecError.at("msccl", f"{', '.join(NAMES)} can be written, not {plan.operation}")
    return _lines(plan, name, Counts() if counts is None else counts)


def _lines(plan: CollectivePlan, name: str, counts: Counts) -> Iterator[str]:
    programs = Programs(plan)
    count = programs.nodes * plan.chunks
    inputs = plan.chunks if name == "allgather" else count
    outputs = plan.chunks if name == "reducescatter" else count
    channels = programs.lanes * max(-(-programs.longest // STEPS), 1)
    counts.see(GPUs=programs.nodes, channels=channels)
    yield (
        f'<algo name="{plan.operation} {plan.ground}" proto="Simple" nchannels="{channels}" '
        f'nchunksperloop="{count}" ngpus="{programs.nodes}" coll="{name}" inplace="0" outofplace="1" '
        'minBytes="0" maxBytes="0">\n'
    )
    for node, turns in programs:
        yield _Gpu(node, name, plan.chunks, programs.nodes, turns).text(
            inputs, outputs, programs.lanes, counts
        )
    yield "</algo>\n"


class _Step(NamedTuple):
    kind: str
    source: Place
    target: Place
    #: The threadblock and the step it waits for.
    after: tuple[_Key, int] | None
    time: int


class _Gpu:
    """The threadblocks of a node, filled in the order of time."""

    def __init__(self, node: int, name: str, chunks: int, nodes: int, turns: Sequence[Turn]) -> None:
        self.node, self.name, self.chunks, self.nodes = node, name, chunks, nodes
        self.rows: dict[_Key, list[_Step]] = {}
        self.filled: dict[tuple[bool, int, int], int] = defaultdict(int)
        self.last: dict[_Block, tuple[_Key, int]] = {}
        self.awaited: set[tuple[_Key, int]] = set()
        self.scratch: dict[_Block, int] = {}
        for turn in turns:
            # In a step, sends read what was there before receives write.
            block = turn.block
            before = self.last.get(block)
            if not turn.receives:
                place = self._place(block)
                self._add(turn, _Step("s", place, place, before, turn.step))
                continue
            target = self._home(block)
            if turn.adds:
                step = _Step("rrc", self._place(block), target, before, turn.step)
            else:
                step = _Step("r", target, target, None, turn.step)
            self.last[block] = self._add(turn, step)

    def _input(self, block: _Block) -> int | None:
        """Where the node's own chunk of a block is in its input."""
        if self.name == "allgather":
            return block[1] if block[0] == self.node else None
        if self.name == "alltoall":
            return block[1] * self.chunks + block[2] if block[0] == self.node else None
        return block[0] * self.chunks + block[1]

    def _home(self, block: _Block) -> Place:
        """Where the node keeps what it receives of a block."""
        if self.name == "allgather":
            return "o", block[0] * self.chunks + block[1]
        if self.name == "reducescatter" and block[0] == self.node:
            return "o", block[1]
        if self.name == "allreduce":
            return "o", block[0] * self.chunks + block[1]
        if self.name == "alltoall" and block[1] == self.node:
            return "o", block[0] * self.chunks + block[2]
        return "s", self.scratch.setdefault(block, len(self.scratch))

    def _place(self, block: _Block) -> Place:
        """Where the node has a block now."""
        own = self._input(block)
        if block not in self.last and own is not None:
            return "i", own
        return self._home(block)

    def _add(self, turn: Turn, step: _Step) -> tuple[_Key, int]:
        link = (turn.receives, turn.peer, turn.lane)
        part, place = divmod(self.filled[link], STEPS)
        self.filled[link] += 1
        key = (*link, part)
        self.rows.setdefault(key, []).append(step)
        if step.after is not None:
            self.awaited.add(step.after)
        return key, place

    def _copies(self) -> list[tuple[int, int, int]]:
        """Runs of chunks of its own input that the node copies to its output: from, to and number."""
        if self.name not in ("allgather", "alltoall"):
            return []
        end = self.node * self.chunks
        start = 0 if self.name == "allgather" else end
        return [
            (start + done, end + done, min(COUNT, self.chunks - done))
            for done in range(0, self.chunks, COUNT)
        ]

    def text(self, inputs: int, outputs: int, lanes: int, counts: Counts) -> str:
        """The element of the node; counts it."""
        keys = sorted(self.rows)
        numbers = {key: number for number, key in enumerate(keys)}
        lines = [
            f' <gpu id="{self.node}" i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="{len(self.scratch)}">'
        ]
        for key in keys:
            receives, peer, lane, part = key
            send, receive = (-1, peer) if receives else (peer, -1)
            # Parts of a connection follow each other in channels of their own.
            channel = part * lanes + lane
            lines.append(f'  <tb id="{numbers[key]}" send="{send}" recv="{receive}" chan="{channel}">')
            steps = self.rows[key]
            if not receives:
                lines.append(f"   <!-- steps of plan: {' '.join(str(step.time) for step in steps)} -->")
            for place, (kind, source, target, after, _) in enumerate(steps):
                depends = (-1, -1) if after is None else (numbers[after[0]], after[1])
                lines.append(
                    f'   <step s="{place}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1]}" '
                    f'dstbuf="{target[0]}" dstoff="{target[1]}" cnt="1" depid="{depends[0]}" '
                    f'deps="{depends[1]}" hasdep="{int((key, place) in self.awaited)}"/>'
                )
            lines.append("  </tb>")
        copies = self._copies()
        blocks = len(keys)
        for begin in range(0, len(copies), STEPS):
            lines.append(f'  <tb id="{blocks}" send="-1" recv="-1" chan="0">')
            blocks += 1
            lines += [
                f'   <step s="{place}" type="cpy" srcbuf="i" srcoff="{start}" dstbuf="o" dstoff="{end}" '
                f'cnt="{count}" depid="-1" deps="-1" hasdep="0"/>'
                for place, (start, end, count) in enumerate(copies[begin : begin + STEPS])
            ]
            lines.append("  </tb>")
        lines.append(" </gpu>\n")
        steps_in_all = sum(len(steps) for steps in self.rows.values()) + len(copies)
        nodes = 1 + self.nodes + blocks + steps_in_all
        counts.see_as("XML nodes of a GPU (1 + GPUs + threadblocks + steps)", nodes)
        counts.see(
            threadblocks_of_a_GPU=blocks,
            steps_of_a_threadblock=max((len(steps) for steps in self.rows.values()), default=0),
            chunks_before_the_last_one_of_a_buffer=max(inputs, outputs, len(self.scratch)) - 1,
            chunks_of_a_step=max((count for *_, count in copies), default=1),
            peers_of_a_channel=max(
                sum(key[0] == receives and key[2:] == (0, 0) for key in keys) for receives in (False, True)
            ),
            threadblocks_before_the_last_one_that_a_step_waits_for=max(
                (numbers[key] for key, _ in self.awaited), default=0
            ),
        )
        return "\n".join(lines)
