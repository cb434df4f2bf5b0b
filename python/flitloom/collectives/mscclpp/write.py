"""Writes plans as execution plans of MSCCL++."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import groupby
from typing import Any

from flitloom.collectives.plan import CollectivePlan
from flitloom.collectives.transfers import Transfer, transfers
from flitloom.errors import SpecError

#: Names of operations in execution plans.
NAMES = {
    "all-gather": "allgather",
    "reduce-scatter": "reducescatter",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
}
_Block = tuple[int, ...]


def mscclpp_text(plan: CollectivePlan) -> str:
    """Give a plan as an execution plan of MSCCL++ (JSON): a threadblock per GPU, a memory channel per link.

    Step by step a GPU puts its chunks into its neighbours' buffers, signals, waits for what comes, and adds
    up partial sums, which come to places of their own.

    Raises
    ------
    SpecError
        It is no all-gather, reduce-scatter, all-reduce or all-to-all over all nodes.

    Examples
    --------
    >>> import flitloom as fl, json
    >>> data = json.loads(fl.collective(fl.Torus(3), "all-gather").to_mscclpp())
    >>> [one["name"] for one in data["gpus"][0]["threadblocks"][0]["ops"]][-7:]
    ['put', 'put', 'nop', 'signal', 'signal', 'wait', 'wait']
    """
    name = NAMES.get(plan.operation)
    if name is None or plan.nodes is not None or plan.topology.get("failed_nodes"):
        raise SpecError.at(
            "mscclpp", f"{', '.join(NAMES)} over all nodes can be written, not {plan.operation} over some"
        )
    return json.dumps(_Writer(plan, name).data(), indent=1) + "\n"


class _Writer:
    """The operations of all GPUs, in the order of time."""

    def __init__(self, plan: CollectivePlan, name: str) -> None:
        self.plan, self.name = plan, name
        self.nodes, self.chunks = plan.ground.nodes, plan.chunks
        #: Neighbours of every GPU, one for every link, in the order of its channels.
        self.peers: list[list[int]] = [[] for _ in range(self.nodes)]
        for start, end in sorted(plan.ground.links):
            self.peers[start] += [end] * plan.ground.links[start, end]
        self.operations: list[list[dict[str, Any]]] = [self._own(node) for node in range(self.nodes)]
        #: Where a GPU keeps a block that is not in its input, and what it has of it.
        self.home: list[dict[_Block, tuple[str, int]]] = [{} for _ in range(self.nodes)]
        self.slots = [0] * self.nodes
        for _, group in groupby(transfers(plan), key=lambda one: one.step):
            self._step(list(group))

    def _own(self, node: int) -> list[dict[str, Any]]:
        """Chunks of its own input that a GPU copies to its output."""
        each = self.chunks
        if self.name == "allgather":
            start, end = 0, node * each
        elif self.name == "alltoall":
            start = end = node * each
        else:
            return []
        return [_operation("copy", [_local("i", start, each)], [_local("o", end, each)]), {"name": "nop"}]

    def _place(self, node: int, block: _Block) -> tuple[str, int]:
        """Where a GPU has a block now."""
        if block in self.home[node]:
            return self.home[node][block]
        if self.name == "allgather":
            return "i", block[1]
        if self.name == "alltoall":
            return "i", block[1] * self.chunks + block[2]
        return "i", block[0] * self.chunks + block[1]

    def _final(self, node: int, block: _Block) -> tuple[str, int]:
        """Where a GPU is to have a block at the end; a slot of its own for what it only passes on."""
        if self.name in ("allgather", "allreduce"):
            return "o", block[0] * self.chunks + block[1]
        if self.name == "alltoall" and block[1] == node:
            return "o", block[0] * self.chunks + block[2]
        if self.name == "reducescatter" and block[0] == node:
            return "o", block[1]
        return "s", self._slot(node)

    def _slot(self, node: int) -> int:
        self.slots[node] += 1
        return self.slots[node] - 1

    def _step(self, batch: list[Transfer]) -> None:
        """The transfers of a step: all puts read what was there before it."""
        signals: dict[int, list[int]] = defaultdict(list)
        waits: dict[int, list[int]] = defaultdict(list)
        lanes: dict[tuple[int, int], int] = defaultdict(int)
        sums: dict[int, list[tuple[_Block, int]]] = defaultdict(list)
        homes: list[tuple[int, _Block, tuple[str, int]]] = []
        for one in batch:
            lane = lanes[one.start, one.end]
            lanes[one.start, one.end] += 1
            if one.adds:
                target = ("s", self._slot(one.end))
                sums[one.end].append((one.block, target[1]))
            else:
                target = self._final(one.end, one.block)
                homes.append((one.end, one.block, target))
            channel = self.peers[one.start].index(one.end) + lane
            buffer = self.peers[one.start].index(one.end) * 2 + int(target[0] == "s")
            put = _operation(
                "put",
                [_local(*self._place(one.start, one.block))],
                [{"buffer_id": buffer, "index": target[1], "size": 1}],
            )
            # The executor looks for its own keys only.
            put |= {"channel_ids": [channel], "channel_type": "memory", "step": one.step}
            self.operations[one.start].append(put)
            signals[one.start].append(channel)
            waits[one.end].append(self.peers[one.end].index(one.start) + lane)
        for node, channels in signals.items():
            self.operations[node].append({"name": "nop"})
            self.operations[node] += [_order("signal", channel) for channel in sorted(channels)]
        for node, channels in waits.items():
            self.operations[node] += [_order("wait", channel) for channel in sorted(channels)]
        for node, block, place in homes:
            self.home[node][block] = place
        for node, listed in sums.items():
            self.operations[node].append({"name": "nop"})
            for block, slot in listed:
                known = self.home[node].get(block)
                target = known if known is not None else self._final(node, block)
                sources = [_local(*self._place(node, block)), _local("s", slot)]
                self.operations[node].append(
                    _operation("re", sources, [_local(*target)]) | {"reduce_op": "sum"}
                )
                self.home[node][block] = target
        for node in {*waits}:
            self.operations[node].append({"name": "nop"})

    def data(self) -> dict[str, Any]:
        """The whole plan."""
        count = self.nodes * self.chunks
        inputs = self.chunks if self.name == "allgather" else count
        outputs = self.chunks if self.name == "reducescatter" else count
        gpus = []
        for node in range(self.nodes):
            operations = self.operations[node]
            while operations and operations[-1]["name"] == "nop":
                operations.pop()
            peers = self.peers[node]
            # An output and a scratch buffer for every channel, so that their numbers follow from its number.
            remote = [
                {"rank": peer, "type": kind, "access_channel_types": ["memory"]}
                for peer in peers
                for kind in "os"
            ]
            channels = [{"channel_type": "memory", "channel_ids": list(range(len(peers)))}]
            refs = [{"access_channel_type": "memory", "remote_buffer_ids": list(range(len(remote)))}]
            block = {"id": 0, "ops": operations, "channels": channels, "remote_buffer_refs": refs}
            gpus.append(
                {
                    "id": node,
                    "input_chunks": inputs,
                    "output_chunks": outputs,
                    "scratch_chunks": self.slots[node],
                    "threadblocks": [block],
                    "channels": [{"channel_type": "memory", "connected_to": peers}],
                    "remote_buffers": remote,
                    "semaphores": [],
                }
            )
        return {
            "name": f"{self.plan.operation} {self.plan.ground}",
            "collective": self.name,
            "protocol": "Simple",
            "inplace": False,
            "reuse_resources": False,
            "gpus": gpus,
            "num_threads_per_block": 1024,
            "use_double_scratch_buffer": False,
            "buffer_alignment": 16,
            "min_message_size": 0,
            "max_message_size": 18446744073709551615,
        }


def _local(kind: str, index: int, size: int = 1) -> dict[str, Any]:
    return {"type": kind, "index": index, "size": size}


def _operation(name: str, sources: list[dict[str, Any]], targets: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "src_buff": sources, "dst_buff": targets}


def _order(name: str, channel: int) -> dict[str, Any]:
    return {"name": name, "channel_ids": [channel], "channel_type": "memory"}
