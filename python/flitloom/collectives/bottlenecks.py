"""Bottlenecks that bound collective operations: parts of a network between which few links lead.

Sums of nodes in k parts take 2 (k - 1) transfers between parts: before a part knows a sum every other one
has sent something, and after that every other one receives something. Where all nodes take part and links
lead both ways some partition proves what packings of spanning trees reach (Tutte 1961, Nash-Williams 1961).
It is found by flows (Cunningham 1985).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.proofs import BACKWARDS, nodes_of, transfers
from flitloom.spec.ground import Ground

#: Largest number of nodes times links for which flows are looked for; some seconds at most.
LARGEST = 1 << 21
#: Nodes whose cuts from a root are tried.
ENDS = 4


class Flow:
    """Maximum flows from one node to another one (Dinic 1970).

    Parameters
    ----------
    nodes : int
        How many nodes there are.

    Examples
    --------
    >>> flow = Flow(3)
    >>> for start, end, most in [(0, 1, 3), (1, 2, 2), (0, 2, 1)]:
    ...     flow.arc(start, end, most)
    >>> flow.least_cut(0, 2)
    (3, {0, 1})
    """

    def __init__(self, nodes: int) -> None:
        #: Where arcs lead and what they have left; arc `a ^ 1` is the way back.
        self.heads: list[int] = []
        self.left: list[int] = []
        self.out: list[list[int]] = [[] for _ in range(nodes)]

    def arc(self, start: int, end: int, most: int, back: int = 0) -> None:
        """Let so much flow from a node to another one, and so much back."""
        self.out[start].append(len(self.heads))
        self.out[end].append(len(self.heads) + 1)
        self.heads += [end, start]
        self.left += [most, back]

    def least_cut(self, source: int, sink: int) -> tuple[int, set[int]]:
        """The capacity of a least cut between two nodes, and the nodes on the side of the source."""
        total = 0
        while sink in (levels := self._levels(source, sink)):
            tried = [0] * len(self.out)
            while more := self._pushed(source, sink, levels, tried):
                total += more
        return total, {*levels}

    def _levels(self, source: int, sink: int) -> dict[int, int]:
        found, border = {source: 0}, [source]
        for node in border:
            for arc in self.out[node]:
                head = self.heads[arc]
                if self.left[arc] and head not in found:
                    found[head] = found[node] + 1
                    border.append(head)
            if sink in found:
                break
        return found

    def _pushed(self, source: int, sink: int, levels: dict[int, int], tried: list[int]) -> int:
        """What one more way to the sink takes; 0 if there is none left on these levels."""
        heads, left, out = self.heads, self.left, self.out
        way: list[int] = []
        node = source
        while node != sink:
            arcs = out[node]
            while tried[node] < len(arcs):
                arc = arcs[tried[node]]
                if left[arc] and levels.get(heads[arc]) == levels[node] + 1:
                    way.append(arc)
                    node = heads[arc]
                    break
                tried[node] += 1
            else:
                if not way:
                    return 0
                node = heads[way.pop() ^ 1]
                tried[node] += 1
        most = min(left[arc] for arc in way)
        for arc in way:
            left[arc] -= most
            left[arc ^ 1] += most
        return most


def parts_of_sums(ground: Ground, least: Fraction) -> list[list[int]]:
    """Parts of a network for whose links sums need more than `least` transfers per sum and link.

    Returns
    -------
    list of list of int
        The parts with more than one node; all other nodes are alone. Of all partitions, where all nodes take
        part and the network is small enough, those of the most transfers; empty if none has more.

    Examples
    --------
    >>> import flitloom as fl
    >>> path = Ground(fl.Graph(["0-1", "0-1", "1-2", "2-3", "2-3"], nodes=4))
    >>> parts_of_sums(path, Fraction(3, 5))  # 6 transfers over 10 links, and 2 over 2
    [[0, 1], [2, 3]]
    """
    best, parts = _strongest(ground)
    return sorted(sorted(part) for part in parts if len(part) > 1) if best > least else []


@lru_cache(maxsize=4)
def _strongest(ground: Ground) -> tuple[Fraction, list[set[int]]]:
    """The most transfers per sum and link that parts need, and the parts; every node alone to begin with."""
    parts = [{node} for node in ground.working]
    best = _per_link(ground, parts)
    if ground.whole:
        for tried in (list(_shifted(ground, box)) for box in boxes(ground)):
            if (found := _per_link(ground, tried)) > best:
                best, parts = found, tried
    elif len(ground.working) * len(ground.links) <= LARGEST:
        while tried := _densest(ground, best):
            if (found := _per_link(ground, tried)) <= best:
                break
            best, parts = found, tried
    return best, parts


def _per_link(ground: Ground, parts: Sequence[set[int]]) -> Fraction:
    _, needed, links = transfers(ground, ground.members, [sorted(part) for part in parts])
    return Fraction(needed, links) if links else Fraction(0)


def boxes(ground: Ground) -> Iterator[set[int]]:
    """Of a network in which all nodes see the same: those that differ from node 0 in some dimensions only.

    >>> import flitloom as fl
    >>> [sorted(box) for box in boxes(Ground(fl.Product("full2 x full3")))]
    [[0, 1], [0, 2, 4]]
    """
    places = [] if ground.twist else [place for place, size in enumerate(ground.sizes) if size > 1]
    for count in range(1, len(places)):
        for free in combinations(places, count):
            fixed = [place for place in places if place not in free]
            yield {node for node in ground.working if not any(ground.point(node)[at] for at in fixed)}


def _shifted(ground: Ground, box: set[int]) -> Iterator[set[int]]:
    """The box, and all others of its kind, which cover the network."""
    left = {*ground.working}
    points = [ground.point(node) for node in box]
    while left:
        origin = ground.point(min(left))
        ends = ([a + b for a, b in zip(origin, point, strict=True)] for point in points)
        shifted = {ground.number(ground.normal(end)) for end in ends}
        yield shifted
        left -= shifted


def _densest(ground: Ground, least: Fraction) -> list[set[int]]:
    """A partition with the most transfers above what `least` per link allows; empty if none has more.

    With l links between k parts that is 2 (k - 1) - least l. Nodes come one after the other; each joins the
    parts that the least cut around it, among the nodes so far, leaves on its side.
    """
    cables = Counter[tuple[int, int]]()
    for (start, end), several in ground.links.items():
        cables[min(start, end), max(start, end)] += several
    # A part with c cables to others, each way counted, costs price * c, and is worth 2 * worth.
    worth, price = 2 * least.denominator, least.numerator
    place = {node: number for number, node in enumerate(ground.working)}
    beside: list[list[tuple[int, int]]] = [[] for _ in place]
    for (start, end), several in cables.items():
        beside[place[start]].append((place[end], price * several))
        beside[place[end]].append((place[start], price * several))
    values: list[int] = []
    parts: list[set[int]] = []
    for number in range(len(place)):
        sink = number + 1
        flow = Flow(sink + 1)
        for node in range(sink):
            beyond = sum(cost for other, cost in beside[node] if other > number)
            flow.arc(node, sink, beyond + (max(-values[node], 0) if node < number else 0))
            for other, cost in beside[node]:
                if other < node:
                    flow.arc(other, node, cost, cost)
        for node, value in enumerate(values):
            if value > 0:
                flow.arc(number, node, value)
        cost, near = flow.least_cut(number, sink)
        values.append(cost - sum(value for value in values if value > 0) - 2 * worth)
        joined = {number}.union(*(part for part in parts if part & near))
        parts = [part for part in parts if not part & near] + [joined]
    if sum(values) >= -2 * worth:
        return []
    nodes = ground.working
    return _with_members(ground, [{nodes[number] for number in part} for part in parts])


def _with_members(ground: Ground, parts: list[set[int]]) -> list[set[int]]:
    """The same with every part in which no node takes part joined to the one to which most links lead."""
    members = {*ground.members}
    while alone := next((part for part in parts if not part & members and len(parts) > 1), None):
        parts.remove(alone)
        ahead = Counter[int]()
        for (start, end), several in ground.links.items():
            if start in alone and end not in alone:
                ahead[next(number for number, part in enumerate(parts) if end in part)] += several
        # Relays of another piece change no part.
        parts[max(ahead, key=lambda number: ahead[number], default=0)] |= alone
    return parts


def tightened(plan: CollectivePlan) -> CollectivePlan:
    """The same plan with the bound of a bottleneck, where that is better.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.collectives.plan(fl.Product("full4*8 x ring4"), "all-reduce", chunks=8).proof_text
    '768 transfers between 4 parts over 32 links: at least 24 steps'
    """
    best = plan
    for proof in _proofs(plan):
        other = plan.model_copy(update={"proof": proof})
        steps = other.proven()[0]
        if steps > best.bound:
            best = other.model_copy(update={"bound": steps, "optimal": steps == plan.steps})
    return best


def _proofs(plan: CollectivePlan) -> Iterator[dict[str, object]]:
    """Proofs that may be better than that of a plan."""
    ground, all_nodes = plan.ground, {*plan.ground.working}
    backwards = plan.operation in BACKWARDS
    if plan.operation in ("all-gather", "reduce-scatter"):
        sets = [nodes_of(ground, plan.proof)] if plan.proof["kind"] == "cut" else []
        sets += [all_nodes - box for box in boxes(ground)] if ground.whole else []
        if plan.proof["kind"] == "distance" and len(all_nodes) * len(ground.links) <= LARGEST:
            sets.append(_cut(ground, plan.proof["from"], plan.proof["to"], backwards)[1])
        for inside in sets:
            yield named("crossing", ground, inside) | {"to": _farthest(plan, inside, backwards)}
        for node in _poorest(plan, not backwards):
            yield named("crossing", ground, all_nodes - {node}) | {"to": node}
    elif plan.operation in ("all-to-all", "all-to-all-v"):
        for node in _poorest(plan, True):
            yield named("crossing", ground, all_nodes - {node}) | {"to": node}
        for node in _poorest(plan, False):
            yield named("crossing", ground, {node}) | {"from": node}
        for inside in _behind_relays(plan):
            yield named("crossing", ground, inside)
    elif plan.operation == "all-reduce" and ground.members == plan.members:
        sums = plan.chunks * len(plan.members)
        if parts := parts_of_sums(ground, Fraction(max(plan.bound - plan.latency, 1), sums)):
            yield {"kind": "parts", "parts": parts}
    elif plan.root is not None and len(all_nodes) * len(ground.links) <= LARGEST:
        far = ground.distances(plan.root, backwards)
        cuts = {node: _cut(ground, plan.root, node, backwards) for node in plan.members if node != plan.root}
        scatters = plan.operation in ("scatter", "gather")

        def steps(node: int) -> float:
            """Steps that the chunks behind the cut need, about."""
            links, inside = cuts[node]
            return far[node] + plan.chunks * (len({*plan.members} - inside) if scatters else 1) / links

        for end in sorted(cuts, key=steps, reverse=True)[:ENDS]:
            proof = named("crossing", ground, cuts[end][1]) | {"from": plan.root}
            yield proof if scatters else proof | {"to": end}


def _poorest(plan: CollectivePlan, entering: bool) -> list[int]:
    """Some members with the most chunks per link into them, or out of them; none without nodes between."""
    ground, members = plan.ground, _ends(plan)
    if len(members) == len(ground.working):
        return []
    beside = ground.incoming if entering else ground.outgoing
    chunks = Counter[int]()
    for row in plan.demands or ():
        chunks[row[1 if entering else 0]] += row[2]

    def rank(node: int) -> tuple[float, bool]:
        """Links per chunk, and whether another member is beside the node."""
        ends = [(end, node) if entering else (node, end) for end in beside[node]]
        links = sum(ground.links[pair] for pair in ends)
        return links / max(chunks[node], 1), not members.isdisjoint(beside[node])

    return sorted(sorted(members), key=rank)[:ENDS]


def _ends(plan: CollectivePlan) -> set[int]:
    """Nodes that send or receive chunks of their own."""
    if plan.demands is None:
        return {*plan.members}
    return {node for row in plan.demands for node in row[:2]}


def _behind_relays(plan: CollectivePlan) -> list[set[int]]:
    """Relays with the members beside them that have the most chunks for others per link."""
    ground, members = plan.ground, _ends(plan)
    sets: list[set[int]] = []
    for relay in {*ground.working} - members:
        inside = {relay, *members.intersection(ground.incoming[relay])}
        if 1 < len(inside) <= len(members):
            sets.append(inside)

    def rank(inside: set[int]) -> tuple[float, int]:
        """Links per chunk, and the least node."""
        own = inside & members
        chunks = len(own) * (len(members) - len(own))
        if plan.demands is not None:
            chunks = sum(count for a, b, count in plan.demands if a in own and b not in own)
        return _leaving(ground, inside) / max(chunks, 1), min(inside)

    return sorted(sets, key=rank)[:ENDS]


def narrowest(ground: Ground, root: int, backwards: bool = False) -> int:
    """The fewest links between a root and some member; from the member to the root if backwards.

    Examples
    --------
    >>> import flitloom as fl
    >>> narrowest(Ground(fl.Mesh(4, 4)), 0), narrowest(Ground(fl.Product("full4*8 x ring4")), 0)
    (2, 8)
    """
    if ground.whole:
        degree = sum(ground.directions.values())
        return min([degree, *(_leaving(ground, box) for box in boxes(ground))])
    ends = [node for node in ground.members if node != root]
    if len(ground.working) * len(ground.links) > LARGEST:
        # The links of the root and of members.
        return min(sum(n for pair, n in ground.links.items() if node in pair) // 2 for node in (root, *ends))
    return min(_cut(ground, root, node, backwards)[0] for node in ends)


def _leaving(ground: Ground, inside: set[int]) -> int:
    return sum(n for (start, end), n in ground.links.items() if start in inside and end not in inside)


def named(kind: str, ground: Ground, inside: set[int]) -> dict[str, object]:
    """A proof that names a set of nodes, or the fewer ones that are not in it.

    >>> import flitloom as fl
    >>> named("cut", Ground(fl.Mesh(4)), {0, 1, 2})
    {'kind': 'cut', 'all_but': [3]}
    """
    rest = {*ground.working} - inside
    few = {"all_but": sorted(rest)} if len(rest) < len(inside) else {"nodes": sorted(inside)}
    return {"kind": kind, **few}


def _farthest(plan: CollectivePlan, inside: set[int], backwards: bool) -> int:
    """The member outside a set that has the most hops from the links that leave it."""
    outside = [node for node in plan.members if node not in inside]
    links = (ends[::-1] if backwards else ends for ends in plan.ground.links)
    heads = {head for tail, head in links if tail in inside and head not in inside}
    least = plan.ground.nearest(heads, backwards)
    return max(outside, key=lambda node: (least.get(node, 0), -node))


def _cut(ground: Ground, start: int, end: int, backwards: bool) -> tuple[int, set[int]]:
    """Links between two nodes that are least in number, and the nodes on the side of the first one."""
    flow = Flow(ground.nodes)
    for (tail, head), several in ground.links.items():
        flow.arc(*((head, tail) if backwards else (tail, head)), several)
    return flow.least_cut(start, end)
