"""Plans in rounds hop by hop: every part takes one minimal route, over links that transfer a part a step."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import gcd

from flitloom.collectives.collective_plan import MOST_MOVES
from flitloom.collectives.rounds_plan import RoundsPlan, image_rows, shifted
from flitloom.collectives.telling import Told, telling, untold
from flitloom.collectives.transfers import Transfer
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground

Link = tuple[int, int]


@dataclass(frozen=True)
class Hops:
    """A plan in rounds, chunk by chunk over single links.

    Attributes
    ----------
    plan : RoundsPlan
        The plan.
    chunks : int
        Chunks of a node, or of a pair of nodes in an all-to-all.
    unit : int
        Chunks of a part of length 1.
    transfers : list of Transfer
        Every chunk over every link, in the order of time. What a node sends in a round needs what came in
        earlier rounds.
    ends : list of int
        Per round the first step after it.
    busiest : list of int
        Per round the chunks on the busiest link; of parallel links on each.
    """

    plan: RoundsPlan
    chunks: int
    unit: int
    transfers: list[Transfer]
    ends: list[int]
    busiest: list[int]

    @property
    def steps(self) -> int:
        """Steps until the last chunk has arrived."""
        return self.ends[-1] if self.ends else 0

    @property
    def evenly(self) -> float:
        """Chunks on the busiest links, over all rounds, where messages take all minimal routes evenly."""
        return self.unit * sum(self.plan.loads)


@dataclass(frozen=True, slots=True)
class Message:
    """What a node sends to another one in a round.

    Attributes
    ----------
    start, end : int
        The nodes.
    adds : bool
        Whether these are sums that the receiver adds to its own.
    first, count : int
        The first part of the vector and how many follow in a row.
    named : tuple
        Rounds and nodes: what the sum consists of, if not of all that the sender has.
    """

    start: int
    end: int
    adds: bool
    first: int
    count: int
    named: tuple[tuple[int, int], ...]


class Arrivals:
    """Which messages brought what nodes send; the caller numbers them.

    Examples
    --------
    >>> arrivals = Arrivals()
    >>> arrivals.note(0, Message(3, 1, True, 0, 1, ()), 0, 17)
    >>> arrivals.needed(1, Message(1, 2, True, 0, 1, ()), 0)
    (17,)
    """

    def __init__(self) -> None:
        self._known: defaultdict[Link, list[tuple[int, int, bool, int]]] = defaultdict(list)

    def note(self, turn: int, message: Message, what: int, number: int) -> None:
        """A message of a round has brought something to its receiver."""
        self._known[message.end, what].append((turn, message.start, message.adds, number))

    def needed(self, turn: int, message: Message, what: int) -> tuple[int, ...]:
        """What must have come before a node can send something: sums wait for all that was added."""
        known = [one for one in self._known.get((message.start, what), ()) if one[0] < turn]
        if message.named:
            begun = max((when for when, node in message.named if node == message.start), default=-1)
            pieces = set(message.named)
            return tuple(one[3] for one in known if one[0] < begun or one[:2] in pieces)
        copies = [place for place, one in enumerate(known) if not one[2]]
        return tuple(one[3] for one in known[copies[-1] if copies else 0 :])


def messages_by_round(plan: RoundsPlan) -> list[list[Message]]:
    """All messages of all nodes, per round, parts in ascending order."""
    found: list[list[Message]] = [[] for _ in range(plan.rounds)]
    if plan.symmetries:
        for adds, led in image_rows(plan):
            found[led[0]].append(Message(led[1], led[2], adds, led[3], led[4], ()))
        return [sorted(row, key=lambda one: (one.first, one.start, one.end)) for row in found]
    for adds, rows in ((True, plan.sums), (True, plan.partials), (False, plan.moves)):
        for row in rows:
            named = tuple(zip(row[5::2], row[6::2], strict=True))
            head = (row[0], row[1], row[2], row[3], row[4])
            for turn, start, end, first, count in (
                shifted(plan.ground, plan.pieces, head) if plan.alike else (head,)
            ):
                found[turn].append(Message(start, end, adds, first, count, named))
    return [sorted(row, key=lambda one: (one.first, one.start, one.end)) for row in found]


def is_direct(plan: RoundsPlan) -> bool:
    """Whether all messages go to neighbours, and whole sums only."""
    return not plan.partials and all((row[1], row[2]) in plan.ground.links for _, row in plan.rows())


def first_chunks(plan: RoundsPlan) -> tuple[list[int], int]:
    """The first of equal chunks of every part, and at last all; and the chunks of a part of length 1.

    Every node has as many.
    """
    share = plan.lengths or [1] * plan.pieces
    times = 1 if plan.owned else len(plan.members) // gcd(sum(share), len(plan.members))
    starts = [0, *accumulate(times * length for length in share * (plan.parts // plan.pieces))]
    return starts, times


def hop_by_hop(plan: RoundsPlan, told: Told = untold) -> Hops:
    """Every chunk of every message over a minimal route, round after round.

    A chunk takes the minimal route whose links have the fewest chunks so far. Chunks with the most hops left
    go first. A node keeps a chunk until its next link is free.

    Parameters
    ----------
    plan : RoundsPlan
        A plan that was checked.
    told : function
        Told now and then how many of how many rounds are done.

    Raises
    ------
    SpecError
        There are too many chunks.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> plan = make_rounds(fl.Torus(4, 4), "all-gather", "Swing, bandwidth", 2.0**20, 1e-6, 50e9)
    >>> found = hop_by_hop(plan)
    >>> found.steps, found.busiest, found.evenly
    (15, [1, 2, 4, 8], 15.0)
    """
    first, unit = first_chunks(plan)
    rows = messages_by_round(plan)
    routes = _Routes(plan.ground)
    hops = sum(
        (first[one.first + one.count] - first[one.first]) * routes.hops(one.start, one.end)
        for row in rows
        for one in row
    )
    if hops > MOST_MOVES:
        raise SpecError.at("plan", f"more than {counted(MOST_MOVES, 'move')}", "it is kept as rounds")
    arrivals, found = Arrivals(), list[Transfer]()
    last: defaultdict[Link, list[int]] = defaultdict(list)
    ends, busiest, begin = list[int](), list[int](), 0
    owners = len(plan.members) ** (2 if plan.operation == "all-to-all" else 1)
    chunks = first[-1] // owners
    for turn, row in enumerate(telling(rows, told, 1)):
        work = [
            (one, number) for one in row for number in range(first[one.first], first[one.first + one.count])
        ]
        loads: Counter[Link] = Counter()
        paths = [routes.quiet(one.start, one.end, loads) for one, _ in work]
        steps, times = _scheduled(paths, plan.ground.links)
        latest: dict[int, int] = {}
        for step, task, hop in sorted(
            (step, task, hop) for task, row_ in enumerate(times) for hop, step in enumerate(row_)
        ):
            one, number = work[task]
            ends_of = (paths[task][hop], paths[task][hop + 1])
            lane, width = last[ends_of], plan.ground.links[ends_of]
            needs = (latest[task],) if hop else arrivals.needed(turn, one, number)
            before = lane[-width] if len(lane) >= width else -1
            block = _block(plan, number, chunks)
            found.append(Transfer(begin + step, *ends_of, block, one.adds, needs, before, len(lane) % width))
            latest[task] = len(found) - 1
            lane.append(latest[task])
        for task, (one, number) in enumerate(work):
            arrivals.note(turn, one, number, latest[task])
        begin += steps
        ends.append(begin)
        busiest.append(
            max((-(-count // plan.ground.links[link]) for link, count in loads.items()), default=0)
        )
    return Hops(plan, chunks, unit, found, ends, busiest)


def _block(plan: RoundsPlan, number: int, chunks: int) -> tuple[int, ...]:
    """A chunk as plans in steps name it."""
    place, chunk = divmod(number, chunks)
    if plan.operation == "all-to-all":
        source, target = divmod(place, len(plan.members))
        return plan.members[source], plan.members[target], chunk
    return plan.members[place], chunk


def _scheduled(paths: list[list[int]], width: Counter[Link]) -> tuple[int, list[list[int]]]:
    """Steps in all, and of every hop of every path, where links transfer a chunk a step."""
    queues: defaultdict[Link, list[tuple[int, int]]] = defaultdict(list)
    times: list[list[int]] = [[] for _ in paths]
    arriving = list(range(len(paths)))
    step, busy = 0, set[Link]()
    while arriving or busy:
        for task in arriving:
            path, hop = paths[task], len(times[task])
            link = path[hop], path[hop + 1]
            heappush(queues[link], (hop - len(path), task))
            busy.add(link)
        arriving = []
        for link in list(busy):
            queue = queues[link]
            for _ in range(min(width[link], len(queue))):
                _, task = heappop(queue)
                times[task].append(step)
                if len(times[task]) + 1 < len(paths[task]):
                    arriving.append(task)
            if not queue:
                busy.remove(link)
        step += 1
    return step, times


class _Routes:
    """Minimal routes, over the links that have the least to do."""

    def __init__(self, ground: Ground) -> None:
        self.links, self.outgoing = ground.links, ground.outgoing
        self.left = cache(lambda end: ground.distances(end, backwards=True))

    def hops(self, start: int, end: int) -> int:
        """Links of a minimal route."""
        return 1 if (start, end) in self.links else self.left(end)[start]

    def quiet(self, start: int, end: int, loads: Counter[Link]) -> list[int]:
        """The nodes of the route whose links have the least to do, to which it adds itself."""
        if (start, end) in self.links:
            path = [start, end]
        else:
            left = self.left(end)
            # Nodes with as many hops left: the least work on the links behind them, and which these are.
            border: dict[int, tuple[float, list[int]]] = {start: (0.0, [start])}
            for near in range(left[start] - 1, -1, -1):
                after: dict[int, tuple[float, list[int]]] = {}
                for node, (work, way) in border.items():
                    for other in self.outgoing[node]:
                        if left.get(other) == near:
                            link = node, other
                            more = work + ((loads[link] + 1) / self.links[link]) ** 2
                            if other not in after or more < after[other][0]:
                                after[other] = more, [*way, other]
                border = after
            path = border[end][1]
        loads.update(pairwise(path))
        return path
