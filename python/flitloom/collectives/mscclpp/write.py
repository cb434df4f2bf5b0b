"""Writes plans as execution plans of MSCCL++, a GPU after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.contents import Place
from flitloom.collectives.loaders import STEPS, Counts
from flitloom.collectives.programs import Programs, Turn
from flitloom.errors import SpecError

#: Names of operations in execution plans.
NAMES = {
    "all-gather": "allgather",
    "reduce-scatter": "reducescatter",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
}
_Block = tuple[int, ...]
_Operation = dict[str, Any]


def mscclpp_text(plan: CollectivePlan) -> str:
    """Give a plan as an execution plan of MSCCL++ (JSON); see `mscclpp_lines`.

    Examples
    --------
    >>> import flitloom as fl, json
    >>> from flitloom.collectives.mscclpp import mscclpp_text
    >>> data = json.loads(mscclpp_text(fl.collectives.plan(fl.Torus(3), "all-gather")))
    >>> [one["name"] for one in data["gpus"][0]["threadblocks"][1]["ops"]]
    ['put', 'nop', 'signal', 'wait']
    """
    return "".join(mscclpp_lines(plan))


def mscclpp_lines(plan: CollectivePlan, counts: Counts | None = None) -> Iterator[str]:
    """Give a plan as an execution plan of MSCCL++, the text of a GPU after the other.

    Per GPU a threadblock and a memory channel for every link. Step by step it puts its chunk into the
    neighbour's buffer, signals, waits for what comes over its link, and meets the GPU's other threadblocks;
    partial sums come to separate places, and are added up behind that. Threadblocks of more operations
    than the executor takes are followed by others, which begin where they end.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    counts : Counts, optional
        What is compared with the limits of loaders.

    Raises
    ------
    SpecError
        It is not an all-gather, reduce-scatter, all-reduce or all-to-all, or above a limit of the
        loader of `counts`.
    """
    name = NAMES.get(plan.operation)
    if name is None:
        raise SpecError.at("mscclpp", f"{', '.join(NAMES)} can be written, not {plan.operation}")
    return _lines(plan, name, Counts() if counts is None else counts)


def _lines(plan: CollectivePlan, name: str, counts: Counts) -> Iterator[str]:
    programs = Programs(plan)
    head = {
        "name": f"{plan.operation} {plan.ground}",
        "collective": name,
        "protocol": "Simple",
        "inplace": False,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 18446744073709551615,
    }
    places = _Places(programs, name)
    peers: list[list[int]] = [[] for _ in range(programs.nodes)]
    for start, end in sorted(programs.links):
        peers[start] += [end] * programs.links[start, end]
    # The reader of other programs looks at the beginning for what it is.
    yield json.dumps(head, indent=1)[:-2] + ',\n "gpus": ['
    for node, turns in programs:
        text = _Gpu(node, peers[node], places, turns).text(counts)
        yield ("," if node else "") + "\n" + text
    yield "\n ]\n}\n"


class _Places:
    """Where the GPUs keep what comes to them: outputs, and places of the scratch buffer for each chunk."""

    def __init__(self, programs: Programs, name: str) -> None:
        self.name, self.chunks, self.nodes = name, programs.plan.chunks, programs.nodes
        self.alike = programs.alike
        #: By receiver (0 for all of them, where all do the same) and key of the turn.
        self._slots: dict[tuple[int, tuple[int, ...]], int] = {}
        self._sizes: dict[int, int] = {}
        for node in range(1 if self.alike else self.nodes):
            for turn in programs.of(node):
                if turn.receives and (turn.adds or self._output(node, turn.block) is None):
                    self._slots[node, turn.key] = self._sizes.setdefault(node, 0)
                    self._sizes[node] += 1

    def scratch(self, node: int) -> int:
        """Chunks of the scratch buffer of a GPU."""
        return self._sizes.get(0 if self.alike else node, 0)

    def input(self, block: _Block) -> int:
        """Where a chunk is in the input of its GPU."""
        if self.name == "allgather":
            return block[1]
        if self.name == "alltoall":
            return block[1] * self.chunks + block[2]
        return block[0] * self.chunks + block[1]

    def _output(self, node: int, block: _Block) -> int | None:
        if self.name in ("allgather", "allreduce"):
            return block[0] * self.chunks + block[1]
        if self.name == "alltoall" and block[1] == node:
            return block[0] * self.chunks + block[2]
        return block[1] if self.name == "reducescatter" and block[0] == node else None

    def final(self, node: int, block: _Block, slot: int) -> Place:
        """Where a GPU has a block at the end: in its output, or in a place of its scratch buffer."""
        output = self._output(node, block)
        return ("s", slot) if output is None else ("o", output)

    def arrival(self, node: int, turn: Turn) -> Place:
        """Where the chunk of a turn comes to its receiver."""
        slot = self._slots.get((0 if self.alike else node, turn.key), -1)
        return ("s", slot) if turn.adds else self.final(node, turn.block, slot)


class _Gpu:
    """The threadblocks of a GPU: one per link, and others after these where they are full."""

    def __init__(self, node: int, peers: Sequence[int], places: _Places, turns: Sequence[Turn]) -> None:
        self.node, self.peers, self.places = node, peers, places
        self.blocks: list[list[_Operation]] = [[] for _ in peers]
        self.phase = 0
        #: Where the GPU has blocks that are not in its input.
        self.home: dict[_Block, Place] = {}
        self.sources = 1
        if peers:
            self.blocks[0] += self._own()
        for _, group in groupby(turns, key=lambda turn: turn.step):
            self._step(list(group))

    def _own(self) -> list[_Operation]:
        """Chunks of its own input that the GPU copies to its output."""
        each = self.places.chunks
        if self.places.name not in ("allgather", "alltoall"):
            return []
        end = self.node * each
        start = 0 if self.places.name == "allgather" else end
        return [_operation("copy", [_local("i", start, each)], [_local("o", end, each)])]

    def _place(self, block: _Block) -> Place:
        """Where the GPU has a block now."""
        return self.home.get(block, ("i", self.places.input(block)))

    def _link(self, turn: Turn) -> int:
        return self.peers.index(turn.peer) + turn.lane

    def _step(self, turns: list[Turn]) -> None:
        """What the GPU does in a step: all puts read what was there before it."""
        added: list[list[_Operation]] = [[] for _ in self.peers]
        arrived: dict[int, list[tuple[_Block, Place]]] = {}
        sums: dict[_Block, tuple[int, list[Place]]] = {}
        for turn in turns:
            link = self._link(turn)
            if turn.receives:
                place = self.places.arrival(self.node, turn)
                if turn.adds:
                    sums.setdefault(turn.block, (link, []))[1].append(place)
                else:
                    arrived.setdefault(link, []).append((turn.block, place))
                continue
            kind, index = self.places.arrival(turn.peer, turn)
            target = {"buffer_id": int(kind == "s"), "index": index, "size": 1}
            put = _operation("put", [_local(*self._place(turn.block))], [target])
            # The executor looks for its own keys only.
            put |= {"channel_ids": [0], "channel_type": "memory", "step": turn.step}
            added[link] += [put, {"name": "nop"}, _order("signal")]
        waits = sorted({self._link(turn) for turn in turns if turn.receives})
        for link in waits:
            added[link].append(_order("wait"))
        if waits:
            self._meet(added)
        for listed in arrived.values():
            self.home.update(listed)
        for block, (link, places) in sums.items():
            known = self.home.get(block)
            target_place = self.places.final(self.node, block, places[0][1]) if known is None else known
            sources = [self._place(block), *places]
            self.sources = max(self.sources, len(sources))
            added[link].append(
                _operation("re", [_local(*place) for place in sources], [_local(*target_place)])
                | {"reduce_op": "sum"}
            )
            self.home[block] = target_place
        if sums:
            self._meet(added)
        # Two more are for those that go on.
        if max(len(self._mine(link)) + len(more) for link, more in enumerate(added)) > STEPS - 2:
            self._next_phase()
        for link, more in enumerate(added):
            self._mine(link).extend(self._numbered(one) for one in more)

    def _mine(self, link: int) -> list[_Operation]:
        return self.blocks[self.phase * len(self.peers) + link]

    def _meet(self, added: list[list[_Operation]]) -> None:
        """All threadblocks of this phase wait for each other."""
        for operations in added:
            operations.append({"name": "barrier", "num_threadblocks": len(self.peers)})

    def _numbered(self, one: _Operation) -> _Operation:
        # A phase uses the barrier of the one before the last again, whose threadblocks have ended.
        return one | {"barrier_id": self.phase % 2} if one["name"] == "barrier" else one

    def _next_phase(self) -> None:
        """Threadblocks that begin where those so far end."""
        ends: list[list[_Operation]] = [[] for _ in self.peers]
        if self._mine(0)[-1]["name"] != "barrier":
            self._meet(ends)
        width = len(self.peers)
        for link, more in enumerate(ends):
            semaphore = {"semaphore_ids": [self.phase * width + link]}
            release = {"name": "sem_release"} | semaphore
            self._mine(link).extend([*(self._numbered(one) for one in more), release])
            self.blocks.append([{"name": "sem_acquire"} | semaphore, {"name": "nop"}])
        self.phase += 1

    def text(self, counts: Counts) -> str:
        """The element of the GPU; counts it."""
        places = self.places
        total = places.nodes * places.chunks
        # An output and a scratch buffer for every link, so that their numbers follow from its number.
        remote = [
            {"rank": peer, "type": kind, "access_channel_types": ["memory"]}
            for peer in self.peers
            for kind in "os"
        ]
        blocks = []
        last = self.blocks[self.phase * len(self.peers) :]
        while last and all(operations and operations[-1]["name"] == "barrier" for operations in last):
            # Nothing follows that could wait.
            for operations in last:
                operations.pop()
        for number, operations in enumerate(self.blocks):
            link = number % max(len(self.peers), 1)
            blocks.append(
                {
                    "id": number,
                    "ops": operations,
                    "channels": [{"channel_type": "memory", "channel_ids": [link]}],
                    "remote_buffer_refs": [
                        {"access_channel_type": "memory", "remote_buffer_ids": [2 * link, 2 * link + 1]}
                    ],
                }
            )
        counts.see(
            operations_of_a_threadblock=max((len(operations) for operations in self.blocks), default=0),
            remote_buffers_of_a_threadblock=2,
            channels_of_an_operation=1,
            barriers_of_a_GPU=min(self.phase + 1, 2),
            sources_of_an_operation=self.sources,
        )
        return _rows(
            {
                "id": self.node,
                "input_chunks": places.chunks if places.name == "allgather" else total,
                "output_chunks": places.chunks if places.name == "reducescatter" else total,
                "scratch_chunks": places.scratch(self.node),
                "channels": [{"channel_type": "memory", "connected_to": list(self.peers)}],
                "remote_buffers": remote,
                "semaphores": [{"init_value": 0}] * (self.phase * len(self.peers)),
            },
            blocks,
        )


def _rows(head: dict[str, Any], blocks: list[dict[str, Any]]) -> str:
    """A GPU as JSON, an operation a line."""
    lines = [f"  {json.dumps(head)[:-1]}," + ' "threadblocks": [']
    for number, block in enumerate(blocks):
        operations = ",\n    ".join(json.dumps(one) for one in block.pop("ops"))
        end = "," if number + 1 < len(blocks) else ""
        lines.append(f'   {json.dumps(block)[:-1]}, "ops": [\n    {operations}]}}{end}')
    return "\n".join([*lines, "  ]}"])


def _local(kind: str, index: int, size: int = 1) -> dict[str, Any]:
    return {"type": kind, "index": index, "size": size}


def _operation(name: str, sources: list[dict[str, Any]], targets: list[dict[str, Any]]) -> _Operation:
    return {"name": name, "src_buff": sources, "dst_buff": targets}


def _order(name: str) -> _Operation:
    return {"name": name, "channel_ids": [0], "channel_type": "memory"}
