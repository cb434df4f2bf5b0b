"""What every node of a plan sends and receives, node after node, so that nobody needs all of it at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.errors import SpecError
from flitloom.spec.ground import Ground, Vector


class Turn(NamedTuple):
    """What a node does with one chunk on one of its links.

    Attributes
    ----------
    step : int
        The step of the plan.
    receives : bool
        Whether it receives; it sends otherwise.
    peer : int
        The other node.
    lane : int
        Which of several links from the sender to the receiver.
    block : tuple of int
        The chunk, as plans name it.
    adds : bool
        Whether it is a partial sum that the receiver adds to its own.
    key : tuple of int
        The same for the sender and the receiver, and for all nodes that do the same, shifted.
    """

    step: int
    receives: bool
    peer: int
    lane: int
    block: tuple[int, ...]
    adds: bool
    key: tuple[int, ...]


class Programs:
    """The turns of all nodes of a plan, by rank: the place of a node among those that take part.

    Raises
    ------
    SpecError
        Chunks are forwarded over nodes that take no part, which have no rank.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.programs import Programs
    >>> programs = Programs(fl.collectives.plan(fl.Torus(3), "all-gather"))
    >>> [(turn.receives, turn.peer, turn.block) for turn in programs.of(0)]
    [(False, 1, (0, 0)), (False, 2, (0, 0)), (True, 2, (2, 0)), (True, 1, (1, 0))]
    >>> programs.longest, programs.lanes
    (1, 1)
    """

    def __init__(self, plan: CollectivePlan) -> None:
        self.plan = plan
        self.nodes = len(plan.members)
        ranks = {node: rank for rank, node in enumerate(plan.members)}
        ends = plan.ground.links.items()
        #: Links between ranks, and how many there are in parallel.
        self.links = {(ranks[a], ranks[b]): count for (a, b), count in ends if a in ranks and b in ranks}
        #: Whether all nodes do the same, shifted.
        self.alike = plan.is_orbit
        #: Most links from a node to another one, and most chunks over one of them.
        self.lanes = max(plan.ground.links.values(), default=1)
        self._orbits = _Orbits(plan) if plan.is_orbit else None
        self._listed = {} if plan.is_orbit else _listed(plan, ranks)
        counts: Counter[tuple[int, ...]] = Counter()
        if self._orbits is not None:
            counts.update((turn.peer, turn.lane) for turn in self._orbits.of(0) if not turn.receives)
        for node, turns in self._listed.items():
            counts.update((node, turn.peer, turn.lane) for turn in turns if not turn.receives)
        self.longest = max(counts.values(), default=0)

    def of(self, node: int) -> list[Turn]:
        """The turns of a node in the order of time, in a step first what it sends."""
        found = self._listed.get(node, []) if self._orbits is None else self._orbits.of(node)
        return sorted(found, key=lambda turn: turn[:2])

    def __iter__(self) -> Iterator[tuple[int, list[Turn]]]:
        for node in range(self.nodes):
            yield node, self.of(node)


def _listed(plan: CollectivePlan, ranks: dict[int, int]) -> dict[int, list[Turn]]:
    """The turns of a plan of moves, by rank."""
    outside = sorted({node for row in (*plan.sums, *plan.moves) for node in row[1:3]} - ranks.keys())
    if outside:
        named = ", ".join(map(str, outside[:20])) + " and others" * (len(outside) > 20)
        over, verb = ("node", "takes") if len(outside) == 1 else ("nodes", "take")
        raise SpecError.at(
            "plan",
            f"chunks are forwarded over {over} {named}, which {verb} no part, and such a file says what all "
            "of its ranks end up with: it has no rank that only forwards",
            "choose nodes that are joined among themselves, add these to --nodes, or write .json, .goal "
            "or .et",
        )
    rows = [(row, True) for row in plan.sums] + [(row, False) for row in plan.moves]
    rows.sort(key=lambda entry: entry[0][0])
    found: dict[int, list[Turn]] = defaultdict(list)
    lanes: Counter[tuple[int, int, int]] = Counter()
    for row, adds in rows:
        step, start, end = row[0], ranks[row[1]], ranks[row[2]]
        block = (*(ranks[node] for node in row[3:-1]), row[-1])
        lane = lanes[step, start, end]
        lanes[step, start, end] += 1
        key = (start, end, lane, step)
        found[start].append(Turn(step, False, end, lane, block, adds, key))
        found[end].append(Turn(step, True, start, lane, block, adds, key))
    return found


class _Orbits:
    """The turns of a plan in which all nodes do the same, shifted."""

    def __init__(self, plan: CollectivePlan) -> None:
        self._ground = plan.ground
        self._points = [self._ground.point(node) for node in range(plan.ground.nodes)]
        self._tables: dict[Vector, list[int]] = {}
        ways = [tuple(way) for way in plan.directions]
        ends = [self._ground.normal(way) for way in ways]
        lanes = [ends[:place].count(end) for place, end in enumerate(ends)]
        #: Step, whether it receives, tables of peer and block, chunk, lane, whether it adds, key.
        self._rows: list[tuple[int, bool, list[int], list[list[int]], int, int, bool, tuple[int, ...]]] = []
        for step, way, offset, chunk in plan.adds:
            self._row(step, ways[way], [_minus(offset)], chunk, lanes[way], True, (way, step))
        for step, way, offset, chunk in plan.sends:
            owner = _plus(ways[way], _minus(offset))
            self._row(step, ways[way], [owner], chunk, lanes[way], False, (way, step))
        for offset, chunk, hops in plan.paths:
            here: Sequence[int] = (0,) * len(offset)
            for step, way in hops:
                blocks = [_minus(here), _plus(offset, _minus(here))]
                self._row(step, ways[way], blocks, chunk, lanes[way], False, (way, step))
                here = _plus(here, ways[way])

    def _row(
        self,
        step: int,
        way: Vector,
        blocks: list[Vector],
        chunk: int,
        lane: int,
        adds: bool,
        key: tuple[int, ...],
    ) -> None:
        """A chunk over a link: its nodes are `blocks`, seen from the sender."""
        sent = [self._table(block) for block in blocks]
        self._rows.append((step, False, self._table(way), sent, chunk, lane, adds, key))
        back = _minus(way)
        got = [self._table(_plus(block, back)) for block in blocks]
        self._rows.append((step, True, self._table(back), got, chunk, lane, adds, key))

    def _table(self, vector: Sequence[int]) -> list[int]:
        """For every node the one at a vector from it."""
        ground: Ground = self._ground
        key = ground.normal(vector)
        if key not in self._tables:
            self._tables[key] = [ground.number(ground.normal(_plus(point, key))) for point in self._points]
        return self._tables[key]

    def of(self, node: int) -> list[Turn]:
        return [
            Turn(step, receives, peer[node], lane, (*[one[node] for one in blocks], chunk), adds, key)
            for step, receives, peer, blocks, chunk, lane, adds, key in self._rows
        ]


def _plus(a: Sequence[int], b: Sequence[int]) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _minus(a: Sequence[int]) -> Vector:
    return tuple(-x for x in a)
