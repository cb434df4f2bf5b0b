"""Whether the nodes of a Chakra trace wait for what their plan needs, and none of them for ever."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.transfers import Transfer, transfers
from flitloom.ground.numerals import counted
from flitloom.traces.chakra import Node

#: A node by its rank and number.
_At = tuple[int, int]
_Key = tuple[int, int, int, tuple[int, ...], bool]


class _Trace:
    """The nodes of all ranks: who waits for whom, and which receive belongs to which send."""

    def __init__(self, ranks: Sequence[tuple[str, list[Node]]]) -> None:
        self.names = [name for name, _ in ranks]
        self.deps: dict[_At, list[_At]] = {}
        self.received: dict[_At, _At] = {}
        #: Tags of sends.
        self.tags: dict[_At, int] = {}
        self.sends: dict[_Key, list[_At]] = defaultdict(list)
        self.problems: list[str] = []
        ends: dict[tuple[int, int, int], tuple[list[_At], list[_At]]] = defaultdict(lambda: ([], []))
        for rank, (_, nodes) in enumerate(ranks):
            for node in nodes:
                at = (rank, node.get("id", 0))
                if at in self.deps:
                    self.problems.append(f"{self.name(at)}: its number is given twice")
                waits = [*node.get("data_deps", ()), *node.get("ctrl_deps", ())]
                self.deps[at] = [(rank, other) for other in waits]
                table = node["attr"]
                start, end, tag = table.get("comm_src"), table.get("comm_dst"), table.get("comm_tag", 0)
                if start == rank != end and isinstance(table.get("chunk"), list):
                    key = (table["step"], rank, end, tuple(table["chunk"]), bool(table.get("adds")))
                    self.sends[key].append(at)
                    self.tags[at] = tag
                    ends[rank, end, tag][0].append(at)
                elif end == rank != start and isinstance(start, int):
                    ends[start, rank, tag][1].append(at)
        for at, waits in self.deps.items():
            for other in waits:
                if other not in self.deps:
                    self.problems.append(f"{self.name(at)}: waits for node {other[1]}, which does not exist")
        for (start, end, _), (sent, got) in ends.items():
            if len(sent) != len(got):
                who = self.names[end] if end < len(self.names) else f"rank {end}"
                self.problems.append(
                    f"{who}: {len(got)} receives from rank {start}, which sends "
                    f"{counted(len(sent), 'message')}"
                )
            self.received.update(zip(sent, got, strict=False))

    def name(self, at: _At) -> str:
        """The name of a node."""
        return f"{self.names[at[0]]}: node {at[1]}"

    def stuck(self) -> list[_At]:
        """Nodes that never begin."""
        after: dict[_At, list[_At]] = defaultdict(list)
        left: dict[_At, int] = {}
        for at, waits in self.deps.items():
            left[at] = left.get(at, 0) + len(waits)
            for other in waits:
                after[other].append(at)
        for sent, got in self.received.items():
            left[got] += 1
            after[sent].append(got)
        ready = deque(at for at, count in left.items() if not count)
        while ready:
            for other in after[ready.popleft()]:
                left[other] -= 1
                if not left[other]:
                    ready.append(other)
        return [at for at, count in left.items() if count]

    def follows(self, at: _At, first: _At) -> bool:
        """Whether a node waits for another one of its rank, perhaps through others."""
        waits = self.deps[at]
        if first in waits:
            return True
        seen, border = set(waits), list(waits)
        while border:
            for other in self.deps[border.pop()]:
                if other == first:
                    return True
                if other not in seen:
                    seen.add(other)
                    border.append(other)
        return False


def waiting_problems(ranks: Sequence[tuple[str, list[Node]]], plan: CollectivePlan) -> list[str]:
    """What the nodes of a trace do not wait for though their plan needs it, and what waits forever.

    A send needs all receives that bring its chunk, and the one before it between the same ranks with the same
    tag: such messages are told apart by their order only.

    Parameters
    ----------
    ranks : sequence of (str, list of Node)
        Per rank the name of its file, and its nodes.
    plan : CollectivePlan
        Its plan, which has been found right.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.waiting import waiting_problems
    >>> node = {"id": 0, "attr": {"comm_src": 0, "comm_dst": 1, "step": 0, "chunk": [0, 0]}}
    >>> plan = fl.collectives.plan(fl.Mesh(2), "broadcast")
    >>> waiting_problems([("a.0.et", [node]), ("a.1.et", [])], plan)
    ['a.1.et: 0 receives from rank 0, which sends 1 message']
    """
    trace = _Trace(ranks)
    if trace.problems:
        return trace.problems
    stuck = trace.stuck()
    if stuck:
        return [f"{trace.name(at)}: waits forever" for at in stuck]
    moves = transfers(plan)
    nodes = [trace.sends[_key(one)].pop(0) for one in moves]
    last: dict[tuple[int, int, int], _At] = {}
    problems = []
    for one, at in zip(moves, nodes, strict=True):
        for other in one.needs:
            got = trace.received[nodes[other]]
            if not trace.follows(at, got):
                problems.append(
                    f"{trace.name(at)}: sends chunk {list(one.block)} without waiting for node {got[1]}, "
                    "which receives it"
                )
        way = (one.start, one.end, trace.tags[at])
        before, last[way] = last.get(way), at
        if before is None:
            continue
        for later, earlier in ((at, before), (trace.received[at], trace.received[before])):
            if not trace.follows(later, earlier):
                problems.append(
                    f"{trace.name(later)}: does not wait for node {earlier[1]}, whose message goes the same "
                    "way before its own"
                )
    return problems


def _key(one: Transfer) -> _Key:
    return one.step, one.start, one.end, one.block, one.adds
