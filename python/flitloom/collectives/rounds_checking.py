"""Check plans in rounds by replaying them part by part; independent of the code that makes them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import isclose
from typing import Any

from flitloom.collectives.rounds_plan import RoundsPlan, Row
from flitloom.errors import SpecError
from flitloom.numerals import counted
from flitloom.spec.ground import Ground

#: Problems that are reported before the replay ends.
MOST = 20
#: Parts at nodes that a replay follows.
MOST_PLACES = 1 << 22


def check_rounds(plan: RoundsPlan) -> dict[str, Any]:
    """Replay a plan: every sum, every part, the busiest link of every round, and the time.

    Returns
    -------
    dict
        ``passed``, ``rounds``, ``factor`` (vectors on the busiest links), ``microseconds``, ``algbw``,
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
    loads: list[Fraction] = []
    try:
        _head(plan)
        replay = _Replay(plan)
        loads = [replay.round(rows, problems) for rows in _by_round(plan)]
        replay.end(problems)
    except SpecError as error:
        problems.append(str(error))
    if len(loads) != len(plan.loads) or not all(
        isclose(found, said, rel_tol=1e-9) for found, said in zip(loads, plan.loads, strict=True)
    ):
        problems.append("loads: they are not those of the busiest links")
    total = float(sum(loads))
    seconds = plan.rounds * plan.alpha + total / plan.parts * plan.size / plan.bandwidth
    if not isclose(seconds, plan.seconds, rel_tol=1e-9):
        problems.append(f"seconds: the file says {plan.seconds:.6g}, the replay takes {seconds:.6g}")
    algbw, busbw = plan.bandwidths
    return {
        "passed": not problems,
        "operation": plan.operation,
        "network": str(plan.ground),
        "algorithm": plan.algorithm,
        "rounds": plan.rounds,
        "factor": round(total / plan.parts, 6),
        "microseconds": round(1e6 * seconds, 4),
        "algbw": algbw,
        "busbw": busbw,
        "problems": problems[:MOST],
        "not_verified": dict.fromkeys(("algorithm", "version"), "nothing in the messages says so"),
    }


def _head(plan: RoundsPlan) -> None:
    if plan.operation not in ("all-reduce", "all-gather", "reduce-scatter"):
        raise SpecError.at("operation", f"{plan.operation} has no plans in rounds")
    if len(plan.members) < 2:
        raise SpecError.at("topology", "fewer than two nodes take part")
    places = plan.parts * (1 if plan.alike else len(plan.members))
    if places > MOST_PLACES:
        raise SpecError.at(
            "plan", f"{counted(places, 'part')} at nodes", f"at most {MOST_PLACES} are followed"
        )
    if plan.alike and not plan.ground.whole:
        raise SpecError.at("alike", "not all nodes see the same network")
    if plan.sums and plan.operation == "all-gather":
        raise SpecError.at("sums", "have no part in all-gather")
    if plan.moves and plan.operation == "reduce-scatter":
        raise SpecError.at("moves", "have no part in reduce-scatter")
    members = set(plan.members)
    for adds, (turn, start, end, first, count) in plan.rows():
        what = f"{'sums' if adds else 'moves'}: {[turn, start, end, first, count]}"
        if turn >= plan.rounds:
            raise SpecError(f"{what}: there are {counted(plan.rounds, 'round')}")
        if start == end or not {start, end} <= members:
            raise SpecError(f"{what}: the nodes are the same, or one does not exist or has failed")
        if count < 1 or first + count > plan.parts:
            raise SpecError(f"{what}: there are {counted(plan.parts, 'part')}")
        if plan.alike and start:
            raise SpecError(f"{what}: only what node 0 sends is listed")


def _by_round(plan: RoundsPlan) -> list[list[tuple[bool, Row]]]:
    found: list[list[tuple[bool, Row]]] = [[] for _ in range(plan.rounds)]
    for adds, row in plan.rows():
        found[row[0]].append((adds, row))
    return found


class _Replay:
    """Contributions to every part at every node; where all do the same, to the parts of node 0 alone."""

    def __init__(self, plan: RoundsPlan) -> None:
        self.plan, self.ground = plan, plan.ground
        self.bit = {node: 1 << place for place, node in enumerate(plan.members)}
        self.full = (1 << len(self.bit)) - 1
        self.points = [self.ground.point(node) for node in range(self.ground.nodes)] if plan.alike else []
        owners = plan.members[:1] if plan.alike else plan.members
        self.owned = {
            place * plan.pieces + piece: owner
            for place, owner in enumerate(owners)
            for piece in range(plan.pieces)
        }
        self.held: dict[tuple[int, int], int] = {}
        for part, owner in self.owned.items():
            if plan.operation == "all-gather":
                self.held[owner, part] = self.full
            else:
                self.held |= {(node, part): bit for node, bit in self.bit.items()}
        self.routes = _Routes(self.ground, plan.alike)

    def difference(self, a: int, b: int) -> int:
        """The node at which a vector from node b to node a ends, if it begins at node 0."""
        vector = [x - y for x, y in zip(self.points[a], self.points[b], strict=True)]
        return self.ground.number(self.ground.normal(vector))

    def round(self, rows: list[tuple[bool, Row]], problems: list[str]) -> Fraction:
        """Send all messages of a round; the parts on its busiest link."""
        arriving: list[tuple[bool, int, int, int]] = []
        loads: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
        sizes: defaultdict[tuple[int, int], int] = defaultdict(int)
        for adds, (turn, start, end, first, count) in rows:
            sizes[start, end] += count
            for part in range(first, first + count):
                sender, receiver, what = start, end, part
                if self.plan.alike:
                    # Seen from the node whose parts are those of node 0.
                    owner, what = divmod(part, self.plan.pieces)
                    sender, receiver = self.difference(start, owner), self.difference(end, owner)
                value = self.held.get((sender, what))
                if value is None:
                    problems.append(f"round {turn}: node {sender} does not have part {what} that it sends")
                else:
                    arriving.append((adds, receiver, what, value))
        for (start, end), count in sizes.items():
            for link, share in self.routes.shares(start, end):
                loads[link] += share * count
        for adds, node, part, value in arriving:
            known = self.held.get((node, part), 0)
            if adds and known & value:
                problems.append(f"part {part} of node {node}: something is added twice")
            self.held[node, part] = known | value if adds else value
        return max(loads.values(), default=Fraction(0))

    def end(self, problems: list[str]) -> None:
        """Whether every node has what it needs."""
        for part, owner in self.owned.items():
            needing = [owner] if self.plan.operation == "reduce-scatter" else self.plan.members
            problems += [
                f"node {node} does not get part {part}, or lacks contributions to it"
                for node in needing
                if self.held.get((node, part)) != self.full
            ]


class _Routes:
    """The share of a message on every link: all minimal routes transfer equally much."""

    def __init__(self, ground: Ground, alike: bool) -> None:
        self.ground, self.alike = ground, alike
        self.known: dict[tuple[int, int], list[tuple[tuple[int, int], Fraction]]] = {}

    def shares(self, start: int, end: int) -> list[tuple[tuple[int, int], Fraction]]:
        """Links, and the share that each of their parallel links transfers; alike ones are as from node 0."""
        links = self.ground.links
        if (start, end) in links:
            return [((start, end), Fraction(1, links[start, end]))]
        if (start, end) not in self.known:
            before, behind = self.ground.distances(start), self.ground.distances(end, backwards=True)
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
                (self.named(node, after), Fraction(routes[node] * onward[after], routes[end]))
                for node in inside
                for after in self.ground.outgoing[node]
                if inside.get(after) == inside[node] + 1
            ]
        return self.known[start, end]

    def named(self, node: int, after: int) -> tuple[int, int]:
        """A link; of those that are alike the one from node 0."""
        if not self.alike:
            return node, after
        ground = self.ground
        vector = [b - a for a, b in zip(ground.point(node), ground.point(after), strict=True)]
        return 0, ground.number(ground.normal(vector))
