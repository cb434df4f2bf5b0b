"""Check plans in rounds by replaying them part by part; independent of the code that makes them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.advice import IN_ROUNDS
from flitloom.collectives.latencies import latencies_of_plan, round_latencies
from flitloom.collectives.least import least, with_chunks
from flitloom.collectives.rounds_plan import RoundsPlan
from flitloom.collectives.telling import Told, telling, untold
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground

#: Problems that are reported before the replay ends.
MOST = 20
#: Words of bits, of all parts at all nodes, that a replay follows.
MOST_WORDS = 1 << 26
#: Most nodes for which the routes of all pairs are kept.
MOST_PAIRS = 1024
#: Links of messages that are looked at together.
MOST_PLACES = 1 << 20
#: Numbers of hops from the ends of links to nodes that are kept.
MOST_KEPT = 1 << 24


def check_rounds(plan: RoundsPlan, told: Told = untold) -> dict[str, Any]:
    """Replay a plan: every sum, every part, the busiest link and the messages of every round, and the time.

    Parameters
    ----------
    plan : RoundsPlan
        The plan.
    told : function
        Told now and then how many of how many rounds are replayed.

    Returns
    -------
    dict
        ``passed``, ``rounds``, ``messages`` (to how many nodes a node sends in a round, or from how many it
        receives, at most), ``factor`` (vectors on the busiest links), ``microseconds``, ``algbw``,
        ``busbw`` (bytes/s), ``problems`` (a list of messages), and ``not_verified``.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> plan = make_rounds(fl.Torus(4, 4, failed_nodes=[5]), "all-reduce", "spheres", 2.0**20, 1e-6, 50e9)
    >>> report = check_rounds(plan)
    >>> report["passed"], report["rounds"], report["problems"]
    (True, 8, [])
    """
    problems: list[str] = []
    loads: list[float] = []
    messages: list[int] = []
    delays: tuple[float, ...] = ()
    try:
        _head(plan)
        led = _Led(plan) if plan.symmetries else None
        by_round = _by_round(plan)
        messages = [_messages(plan, *one, problems) for one in enumerate(by_round)]
        replay = _Replay(plan, led)
        loads = [replay.round(turn, rows, problems) for turn, rows in enumerate(telling(by_round, told, 1))]
        replay.end(problems)
        delays = round_latencies(plan)
    except SpecError as error:
        problems.append(str(error))
    if len(loads) != len(plan.loads) or not all(
        isclose(found, said, rel_tol=1e-9) for found, said in zip(loads, plan.loads, strict=True)
    ):
        problems.append("loads: they are not those of the busiest links")
    most = max(messages, default=0)
    if plan.messages not in (None, most):
        problems.append(f"messages: the file says {plan.messages}, a node has up to {most} in a round")
    total = float(sum(loads))
    factor = total / plan.total
    seconds = plan.rounds * plan.alpha + factor * plan.size / plan.bandwidth + sum(delays)
    if plan.message:
        # Of the messages over a link all but the first one.
        links = plan.ground.most_links
        seconds += plan.message * sum((count - 1) // links for count in messages if count)
    if not isclose(seconds, plan.seconds, rel_tol=1e-9):
        problems.append(f"seconds: the file says {plan.seconds:.6g}, the replay takes {seconds:.6g}")
    bound = _bound(plan, problems)
    algbw, busbw = plan.bandwidths
    return {
        "passed": not problems,
        "operation": plan.operation,
        "network": str(plan.ground),
        "algorithm": plan.algorithm,
        "rounds": plan.rounds,
        "messages": most,
        "factor": round(factor, 6),
        "microseconds": round(1e6 * seconds, 4),
        "bound": None if bound is None else round(1e6 * bound, 4),
        "algbw": algbw,
        "busbw": busbw,
        "problems": problems[:MOST],
        "not_verified": dict.fromkeys(("algorithm", "version"), "nothing in the messages says so"),
    }


def _bound(plan: RoundsPlan, problems: list[str]) -> float | None:
    """The bound that a plan says, in seconds; a problem if its prices prove less."""
    if plan.bound is None:
        return None
    try:
        if [len(one.links) for one in plan.prices] != [*range(1, len(plan.prices) + 1)]:
            raise SpecError.at("prices", "they are of 1, 2, ... rounds, one after the other")
        members = len(plan.members)
        known = with_chunks(plan.ground, plan.prices)
        given = (plan.cut, plan.clusters, plan.link_lengths)
        proof = least(plan.ground, plan.operation, members, known, *given)
        cost = (plan.alpha, plan.bandwidth, plan.message, latencies_of_plan(plan))
        found = proof.seconds(plan.ground, members, plan.size, *cost)
        if plan.bound > found * (1 + 1e-9):
            problems.append(f"bound: the file says {plan.bound:.6g} s, its prices prove {found:.6g}")
    except SpecError as error:
        problems.append(str(error))
    return plan.bound


def _head(plan: RoundsPlan) -> None:
    if plan.operation not in IN_ROUNDS:
        raise SpecError.at("operation", f"{plan.operation} has no plans in rounds")
    if len(plan.members) < 2:
        raise SpecError.at("topology", "fewer than two nodes take part")
    if plan.lengths and len(plan.lengths) != plan.pieces:
        raise SpecError.at("lengths", f"{len(plan.lengths)} of {counted(plan.pieces, 'piece')}")
    if not plan.owned and (plan.alike or plan.operation != "all-reduce"):
        raise SpecError.at(
            "owned", "nodes have a share if all do the same, and of an all-gather and its mirror"
        )
    members = len(plan.members)
    followed = plan.pieces if plan.alike else plan.parts
    if plan.symmetries:
        followed = len(plan.listed_owners) * plan.pieces
    words = followed * members * _words(plan)
    if words > MOST_WORDS:
        raise SpecError.at(
            "plan", f"{counted(plan.parts, 'part')} at {members} nodes", "fewer of them can be followed"
        )
    if plan.alike and not plan.ground.whole:
        raise SpecError.at("alike", "not all nodes see the same network")
    if (plan.sums or plan.partials) and plan.operation in ("all-gather", "all-to-all"):
        raise SpecError.at("sums", f"have no part in {plan.operation}")
    if plan.operation == "all-to-all" and (plan.alike or plan.lengths or plan.pieces % members):
        raise SpecError.at("pieces", "in an all-to-all a node has equal parts for every node, one by one")
    if plan.symmetries and (plan.alike or plan.lengths or plan.partials or not plan.owned):
        raise SpecError.at("symmetries", "they are of equal parts of all nodes, which are not alike")
    if plan.partials and plan.alike:
        raise SpecError.at("partials", "they are those of all nodes")
    if plan.moves and plan.operation == "reduce-scatter":
        raise SpecError.at("moves", "have no part in reduce-scatter")
    for row in plan.partials:
        if len(row) % 2 == 0:
            raise SpecError.at("partials", str(row), "a round without a node")
    known = set(plan.members)
    for adds, (turn, start, end, first, count) in plan.rows():
        what = f"{'sums' if adds else 'moves'}: {[turn, start, end, first, count]}"
        if turn >= plan.rounds:
            raise SpecError(f"{what}: there are {counted(plan.rounds, 'round')}")
        if start == end or not {start, end} <= known:
            raise SpecError(f"{what}: the nodes are the same, or one does not exist or has failed")
        if count < 1 or first + count > plan.parts:
            raise SpecError(f"{what}: there are {counted(plan.parts, 'part')}")
        if plan.alike and start:
            raise SpecError(f"{what}: only what node 0 sends is listed")


class _Led:
    """What symmetries make of rows: whose parts are listed, how many, and where nodes and links go."""

    def __init__(self, plan: RoundsPlan) -> None:
        ground, members, count = plan.ground, np.array(plan.members), len(plan.symmetries)
        if {*map(len, plan.symmetries)} != {ground.nodes} or plan.operation == "all-to-all":
            raise SpecError.at("symmetries", f"places of {counted(ground.nodes, 'node')} are needed")
        self.images = np.array(plan.symmetries)
        tails, heads = np.array(list(ground.links), dtype=np.int64).T
        number = np.full((ground.nodes, ground.nodes), -1)
        number[tails, heads] = np.arange(len(tails))
        widths = np.array(list(ground.links.values()))
        if not (np.sort(self.images[:, members], axis=1) == members).all():
            raise SpecError.at("symmetries", "two nodes go to the same one, or one to a node that has failed")
        self.links = number[self.images[:, tails], self.images[:, heads]]
        if self.links.min() < 0 or (widths[self.links] != widths).any():
            raise SpecError.at("symmetries", "one leads a link to where there is none, or fewer")
        self.shares: dict[int, int] = {}
        led = np.zeros(ground.nodes, dtype=np.int64)
        for owner in plan.listed_owners:
            if owner >= len(members):
                continue
            times = np.bincount(self.images[:, members[owner]], minlength=ground.nodes)
            several = {*times[times > 0].tolist()}
            share, rest = divmod(plan.pieces * int((times > 0).sum()), count)
            if len(several) > 1 or rest:
                raise SpecError.at(
                    "symmetries", f"they do not lead node {members[owner]} to all equally often"
                )
            self.shares[owner] = share
            led += times > 0
        if (led[members] != 1).any():
            raise SpecError.at("symmetries", "the parts of a node are those of no listed node, or of several")
        for _, row in plan.rows():
            owner, piece = divmod(row[3], plan.pieces)
            if piece + row[4] > self.shares.get(owner, 0):
                raise SpecError.at("symmetries", f"{[*row]} is not of the first share of a node")
        self.begins = dict(zip(self.shares, np.cumsum([0, *self.shares.values()]).tolist(), strict=False))


def _by_round(plan: RoundsPlan) -> list[list[tuple[bool, list[int]]]]:
    found: list[list[tuple[bool, list[int]]]] = [[] for _ in range(plan.rounds)]
    for adds, rows in ((True, plan.sums), (True, plan.partials), (False, plan.moves)):
        for row in rows:
            found[row[0]].append((adds, row))
    return found


def _messages(plan: RoundsPlan, turn: int, rows: list[tuple[bool, list[int]]], problems: list[str]) -> int:
    """To how many nodes a node sends in a round, or from how many it receives, at most.

    Unless further ones have a cost, these are at most the links of the node with the most of them. In an
    all-reduce it is every part for which this holds, since some of its parts may go other ways than others.
    """
    pairs = {(row[1], row[2]) for _, row in rows}
    if plan.symmetries and pairs:
        ends, images = np.array(sorted(pairs)).T, np.array(plan.symmetries)
        starts, others = np.divmod(
            np.unique(images[:, ends[0]] * images.shape[1] + images[:, ends[1]]), images.shape[1]
        )
        pairs = set(zip(starts.tolist(), others.tolist(), strict=True))
    most, links = 0, plan.ground.most_links
    for side, verb in ((0, "sends to"), (1, "receives from")):
        counts = Counter(pair[side] for pair in pairs)
        most = max([most, *counts.values()])
        if plan.message is not None:
            continue
        for node in (node for node, count in counts.items() if count > links):
            if plan.operation == "all-reduce" and not plan.alike and not plan.symmetries:
                begins = np.zeros(plan.parts + 1, dtype=np.int64)
                for _, row in rows:
                    if row[1 + side] == node:
                        begins[row[3]] += 1
                        begins[row[3] + row[4]] -= 1
                counts[node] = int(begins.cumsum().max())
            if counts[node] > links:
                problems.append(
                    f"round {turn}: node {node} {verb} {counted(counts[node], 'node')}, and no node has more "
                    f"than {counted(links, 'link')}"
                )
    return most


def _words(plan: RoundsPlan) -> int:
    """Words of bits of who has contributed to a part; where nothing is added only whether it is there."""
    return 1 if plan.operation in ("all-gather", "all-to-all") else -(-len(plan.members) // 64)


class _Replay:
    """Contributions to every part at every node, as bits; where all do the same, to the parts of node 0."""

    def __init__(self, plan: RoundsPlan, led: _Led | None = None) -> None:
        self.plan, self.ground, self.led = plan, plan.ground, led
        self.members = np.array(plan.members)
        count = len(self.members)
        self.place = {node: place for place, node in enumerate(plan.members)}
        self.points = [self.ground.point(node) for node in range(self.ground.nodes)] if plan.alike else []
        self.parts = plan.pieces if plan.alike else plan.parts
        self.own = np.arange(self.parts) // plan.pieces
        if led is not None:
            # Those of the nodes whose parts are listed.
            self.own = np.repeat(np.array([*led.shares]), [*led.shares.values()])
            self.parts = len(self.own)
        # By node, part and word of bits; without sums a part is there or not.
        if plan.operation in ("all-gather", "all-to-all"):
            self.full: NDArray[Any] = np.ones(1, dtype=np.uint8)
            self.held = np.zeros((count, self.parts, 1), dtype=np.uint8)
            self.held[self.own, np.arange(self.parts)] = self.full
        else:
            numbers = np.arange(count)
            one = np.zeros((count, _words(plan)), dtype=np.uint64)
            one[numbers, numbers // 64] = np.uint64(1) << (numbers % 64).astype(np.uint64)
            self.full = np.bitwise_or.reduce(one, axis=0)
            self.held = np.repeat(one[:, None], self.parts, axis=1)
        self.routes = _Routes(self.ground, plan.alike, None if led is None else led.links)
        share = np.array(plan.lengths or [1] * plan.pieces, dtype=np.int64)
        self.until = np.concatenate([[0], np.cumsum(np.tile(share, plan.parts // plan.pieces))])
        # What partial sums are made of: what was there when a round began, and what came in it from where.
        named = [row[at : at + 2] + row[1:2] for row in plan.partials for at in range(5, len(row), 2)]
        self.begins = {turn for turn, node, sender in named if node == sender}
        self.wanted = {(turn, node, end) for turn, node, end in named if node != end}
        self.begun: dict[int, NDArray[Any]] = {}
        self.came: defaultdict[tuple[int, int, int], list[tuple[slice, NDArray[Any]]]] = defaultdict(list)

    def difference(self, a: int, b: int) -> int:
        """The node at which a vector from node b to node a ends, if it begins at node 0."""
        vector = [x - y for x, y in zip(self.points[a], self.points[b], strict=True)]
        return self.ground.number(self.ground.normal(vector))

    def pieces(self, row: list[int]) -> Iterator[tuple[int, int, slice]]:
        """Sender, receiver and parts of a row; if alike, as the node with the parts of node 0 sees it."""
        start, end, first, count = row[1:5]
        if self.led is not None:
            owner, piece = divmod(first, self.plan.pieces)
            first = self.led.begins[owner] + piece
        if not self.plan.alike:
            yield self.place[start], self.place[end], slice(first, first + count)
            return
        while count:
            owner, piece = divmod(first, self.plan.pieces)
            several = min(self.plan.pieces - piece, count)
            yield self.difference(start, owner), self.difference(end, owner), slice(piece, piece + several)
            first, count = first + several, count - several

    def partial(self, row: list[int], parts: slice) -> NDArray[Any]:
        """The sum that a row names, of its parts; `SpecError` if its sender cannot have it."""
        turn, start = row[:2]
        found = np.zeros((parts.stop - parts.start, len(self.full)), dtype=np.uint64)
        for when, node in zip(row[5::2], row[6::2], strict=True):
            if when > turn or (when == turn and node != start):
                raise SpecError.at("partials", str(row), f"nothing came in round {when} before it was sent")
            if node == start:
                pieces = [(parts, self.begun[when][self.place[start], parts])]
            else:
                pieces = self.came.get((when, node, start), [])
            covered = np.zeros(len(found), dtype=bool)
            for place, values in pieces:
                low, high = max(place.start, parts.start), min(place.stop, parts.stop)
                if low < high:
                    inner = values[low - place.start : high - place.start]
                    known = found[low - parts.start : high - parts.start]
                    if (known & inner).any():
                        raise SpecError.at("partials", str(row), "something is added twice")
                    known |= inner
                    covered[low - parts.start : high - parts.start] = True
            if not covered.all():
                raise SpecError.at(
                    "partials", str(row), f"not all of it came from node {node} in round {when}"
                )
        return found

    def round(self, turn: int, rows: list[tuple[bool, list[int]]], problems: list[str]) -> float:
        """Send all messages of a round; the length on its busiest link."""
        if turn in self.begins:
            self.begun[turn] = self.held.copy()
        sizes: defaultdict[tuple[int, int], int] = defaultdict(int)
        for _, row in rows:
            sizes[row[1], row[2]] += int(self.until[row[3] + row[4]] - self.until[row[3]])
        sent = [(adds, row, *piece) for adds, row in rows for piece in self.pieces(row)]
        if not sent:
            return 0.0
        adding, listed, *ends, parts = zip(*sent, strict=True)
        counts = [one.stop - one.start for one in parts]
        until = np.cumsum(counts)
        begins = until - counts
        # Part by part.
        which = np.repeat(np.arange(len(sent)), counts)
        part = np.array([one.start for one in parts])[which] + np.arange(len(which)) - begins[which]
        senders, receivers = (np.array(one)[which] for one in ends)
        values = self.held[senders, part]
        for number, (adds, row) in enumerate(zip(adding, listed, strict=True)):
            place = slice(begins[number], until[number])
            if len(row) > 5:
                values[place] = self.partial(row, parts[number])
            if adds and (turn, row[1], row[2]) in self.wanted:
                self.came[turn, row[1], row[2]].append((parts[number], values[place].copy()))
        for number in np.unique(which[~values.any(axis=1)]).tolist():
            node = self.members[ends[0][number]]
            problems.append(f"round {turn}: node {node} does not have all parts of {listed[number]}")
        self.arrive(np.array(adding)[which], receivers, part, values, problems)
        return self.routes.busiest(sizes)

    def arrive(
        self,
        adds: NDArray[np.bool_],
        receivers: NDArray[np.int64],
        parts: NDArray[np.int64],
        values: NDArray[Any],
        problems: list[str],
    ) -> None:
        """Add or keep what arrives, in its order; what comes to the same place comes one after the other."""
        places = receivers * self.parts + parts
        order = np.argsort(places, kind="stable")
        again = np.concatenate([[False], places[order][1:] == places[order][:-1]])
        numbers = np.arange(len(order))
        nth = numbers - np.maximum.accumulate(np.where(again, 0, numbers))
        for turn in range(int(nth.max()) + 1):
            now = order[nth == turn]
            known, new = self.held[receivers[now], parts[now]], values[now]
            twice = (known & new).any(axis=1) & adds[now]
            problems += [
                f"sums at node {self.members[place]}: something is added twice"
                for place in np.unique(receivers[now][twice]).tolist()
            ]
            self.held[receivers[now], parts[now]] = np.where(adds[now][:, None], known | new, new)

    def end(self, problems: list[str]) -> None:
        """Whether every node has what it needs."""
        complete = (self.held == self.full).all(axis=2)
        if self.plan.operation == "reduce-scatter":
            complete[np.arange(len(self.members))[:, None] != self.own] = True
        if self.plan.operation == "all-to-all":
            count, pieces = len(self.members), self.plan.pieces
            complete[np.arange(count)[:, None] != np.arange(self.parts) % pieces * count // pieces] = True
        problems += [
            f"node {self.members[place]} does not get part {part}, or lacks contributions to it"
            for place, part in np.argwhere(~complete)[: MOST + 1].tolist()
        ]


class _Routes:
    """The share of a message on every link: all minimal routes transfer equally much."""

    def __init__(self, ground: Ground, alike: bool, led: NDArray[np.int64] | None = None) -> None:
        self.ground, self.alike, self.led = ground, alike, led
        self.known: dict[tuple[int, int], list[tuple[tuple[int, int], float]]] = {}
        self.distances = cache(ground.distances)
        self.beside = cache(self._beside)

    def busiest(self, sizes: Mapping[tuple[int, int], int]) -> float:
        """The length on the busiest link under messages of some lengths."""
        loads: defaultdict[tuple[int, int], float] = defaultdict(float)
        far = {}
        for (start, end), length in sizes.items():
            if not self.alike and self.ground.nodes <= MOST_PAIRS and (start, end) not in self.ground.links:
                far[start, end] = length
                continue
            for link, share in self.shares(start, end):
                loads[link] += share * length
        if far:
            for link, load in zip(self.ground.links, self.together(far).tolist(), strict=True):
                loads[link] += load
        if self.led is not None:
            row = np.array([loads.get(link, 0.0) for link in self.ground.links])
            return float(np.bincount(self.led.ravel(), np.tile(row, len(self.led))).max())
        return max(loads.values(), default=0.0)

    def together(self, sizes: Mapping[tuple[int, int], int]) -> NDArray[np.float64]:
        """Loads of all links under messages over several hops."""
        hops, routes = self.ground.routes
        tails, heads = np.array(list(self.ground.links), dtype=np.int64).T
        loads = np.zeros(len(tails))
        by_sender: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for (start, end), length in sizes.items():
            by_sender[start].append((end, length))
        batch = max(MOST_PLACES // len(tails), 1)
        # By node the hops that are left behind every link.
        behind = hops.T[:, heads] if hops.size * len(tails) <= self.ground.nodes * MOST_KEPT else None
        for start, several in by_sender.items():
            ahead = hops[start, tails] + 1
            for begin in range(0, len(several), batch):
                ends, lengths = np.array(several[begin : begin + batch], dtype=np.int64).T
                whole = hops[start, ends]
                if whole.min() < 0:
                    end = ends[whole.argmin()]
                    raise SpecError.at("moves", f"node {end} cannot be reached from node {start}")
                left = hops[heads, ends[:, None]] if behind is None else behind[ends]
                row, inside = np.nonzero(ahead + left == whole[:, None])
                ends = ends[row]
                ways = routes[start, tails[inside]] * routes[heads[inside], ends] / routes[start, ends]
                loads += np.bincount(inside, lengths[row] * ways, len(loads))
        return loads

    def shares(self, start: int, end: int) -> list[tuple[tuple[int, int], float]]:
        """Links, and the share that each of their parallel links transfers; alike ones are as from node 0."""
        links = self.ground.links
        if (start, end) in links:
            return [((start, end), 1 / links[start, end])]
        if not self.ground.whole:
            return self.routed(start, end)
        # All nodes see the same network, so it is as from node 0.
        row = self.beside(start)
        found = self.routed(0, row.index(end))
        if self.alike:
            return [((0, self.beside(a).index(b)), share) for (a, b), share in found]
        return [((row[a], row[b]), share) for (a, b), share in found]

    def _beside(self, node: int) -> list[int]:
        """Where vectors from node 0 to all nodes end if they begin at a node."""
        ground, here = self.ground, self.ground.point(node)
        points = map(ground.point, range(ground.nodes))
        return [
            ground.number(ground.normal([x + y for x, y in zip(here, point, strict=True)]))
            for point in points
        ]

    def routed(self, start: int, end: int) -> list[tuple[tuple[int, int], float]]:
        """Links of all minimal routes, with their shares."""
        links = self.ground.links
        if (start, end) not in self.known:
            before, behind = self.distances(start), self.distances(end, True)
            if end not in before:
                raise SpecError.at("moves", f"node {end} cannot be reached from node {start}")
            inside = {
                one: hops for one, hops in before.items() if hops + behind.get(one, hops + 1) == before[end]
            }
            routes = {start: 1}
            for node in sorted(inside, key=inside.__getitem__):
                for after in self.ground.outgoing[node]:
                    if inside.get(after) == inside[node] + 1:
                        routes[after] = routes.get(after, 0) + routes[node] * links[node, after]
            onward = {end: 1}
            for node in sorted(inside, key=inside.__getitem__, reverse=True):
                for after in self.ground.outgoing[node]:
                    if inside.get(after) == inside[node] + 1:
                        onward[node] = onward.get(node, 0) + onward[after] * links[node, after]
            self.known[start, end] = [
                ((node, after), routes[node] * onward[after] / routes[end])
                for node in inside
                for after in self.ground.outgoing[node]
                if inside.get(after) == inside[node] + 1
            ]
        return self.known[start, end]
