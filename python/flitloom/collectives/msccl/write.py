"""Writes plans as MSCCL XML."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from flitloom.collectives.plan import CollectivePlan
from flitloom.errors import SpecError
from flitloom.outputs import write_text

#: Names of operations in MSCCL files.
NAMES = {
    "all-gather": "allgather",
    "reduce-scatter": "reduce_scatter",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
}


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
        raise SpecError.at(
            "msccl", f"{', '.join(NAMES)} over all nodes can be written, not {plan.operation} over some"
        )
    return _Writer(plan.expanded(), name).text()


class _Writer:
    """Threadblocks of all nodes, filled in the order of time."""

    def __init__(self, plan: CollectivePlan, name: str) -> None:
        self.plan, self.name = plan, name
        self.nodes, self.chunks = plan.ground.nodes, plan.chunks
        self.rows: dict[tuple[int, str, int, int], list[list[Any]]] = {}
        self.times: dict[tuple[int, str, int, int], list[int]] = defaultdict(list)
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
            self.times[start, "send", end, lane].append(row[0])
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
            f'<algo name="{plan.operation} {plan.ground}" proto="Simple" nchannels="{channels}" '
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
                if side == "send":
                    lines.append(f"   <!-- steps of plan: {' '.join(map(str, self.times[key]))} -->")
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
