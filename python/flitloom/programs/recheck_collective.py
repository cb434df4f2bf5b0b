#!/usr/bin/env python3
"""Verify a plan of a collective operation and the lower bound it claims, without flitloom.

usage: recheck_collective.py plan.json

The network is built anew from its sizes, factors or cables. Every chunk is followed over links that exist and
are free, from a node that has it at that time; sums must have each contribution once. Then the bound is
counted anew from what the plan names as its proof: a cut, distances, or lengths of links.
"""

import json
import re
import sys
from collections import Counter
from heapq import heappop, heappush
from itertools import product
from math import prod

#: Bytes of a file.
MOST_BYTES = 1 << 29
#: Chunks that nodes get over all links.
MOST_MOVES = 1 << 24
#: Operations that are others run backwards: over reversed links.
BACKWARDS = {"reduce-scatter": "all-gather", "reduce": "broadcast", "gather": "scatter"}
OPERATIONS = {*BACKWARDS, *BACKWARDS.values(), "all-reduce", "all-to-all", "all-to-all-v"}


class Refused(Exception):
    """What is wrong."""


def need(holds, problem):
    if not holds:
        raise Refused(problem)


def whole(value, low, high, place):
    """A whole number between two others."""
    need(
        type(value) is int and low <= value <= high, f"{place}: {value!r:.40} is no whole number {low}-{high}"
    )
    return value


def up(numerator, denominator):
    return -(-numerator // denominator)


class Network:
    """Nodes and links that work; parallel links are counted."""

    def __init__(self, plan):
        topology = plan["topology"]
        self.failed = set(topology["failed_nodes"])
        cut = {tuple(link) for link in topology["failed_links"]}
        self.cut = cut | {(b, a) for a, b in cut}
        self.twist = bool(plan["twist"] or topology.get("twist"))
        if topology["kind"] == "graph":
            ends = [tuple(cable) for cable in topology["cables"]]
            self.sizes, self.regular = (), False
            self.count = 1 + max(map(max, ends))
            links = Counter(ends) + Counter((b, a) for a, b in ends)
        else:
            self.factors = self.factors_of(topology, plan["width"])
            self.sizes = [size for _, size, _ in self.factors]
            self.count = prod(self.sizes)
            self.regular = all(kind != "line" or size == 2 for kind, size, _ in self.factors)
            whole(self.count, 2, 1 << 20, "nodes")
            links = Counter()
            for point in product(*map(range, self.sizes)):
                for end, several in self.around(point).items():
                    links[self.number(point), self.number(end)] += several
        self.links = Counter(
            {ends: n for ends, n in links.items() if ends not in self.cut and not self.failed & {*ends}}
        )
        self.whole = self.regular and not self.failed and not self.cut
        self.working = [node for node in range(self.count) if node not in self.failed]
        self.next = {node: set() for node in range(self.count)}
        self.previous = {node: set() for node in range(self.count)}
        for a, b in self.links:
            self.next[a].add(b)
            self.previous[b].add(a)

    @staticmethod
    def factors_of(topology, width):
        """Kind, size and parallel links of every dimension."""
        if topology["kind"] == "product":
            found = re.findall(r"(ring|line|full)(\d+)(?:\*(\d+))?", topology["network"])
            factors = [(kind, int(size), int(several or 1)) for kind, size, several in found]
        else:
            sizes, wrap = topology["sizes"], topology["wrap"]
            wrap = [topology["kind"] == "torus"] * len(sizes) if wrap is None else wrap
            factors = [
                ("ring" if wraps else "line", size, 1) for size, wraps in zip(sizes, wrap, strict=True)
            ]
        if width:
            factors = [(kind, size, n) for (kind, size, _), n in zip(factors, width, strict=True)]
        for _, size, several in factors:
            whole(size, 2, 1 << 20, "a size")
            whole(several, 1, 64, "parallel links")
        return factors

    def around(self, point):
        """Where the links of a point lead, and how many there are."""
        ends = Counter()
        for place, (kind, size, several) in enumerate(self.factors):
            along = set()
            for step in range(1, size) if kind == "full" else (1, -1):
                moved = list(point)
                moved[place] += step
                if kind != "line" or 0 <= moved[place] < size:
                    along.add(self.normal(moved))
            ends.update(dict.fromkeys(along, several))
        return ends

    def normal(self, vector):
        """The point at which a vector from the origin ends."""
        point, turns, short = list(vector), 0, min(self.sizes)
        for place, size in enumerate(self.sizes):
            if self.twist and size == short:
                turns += point[place] // size
        for place, size in enumerate(self.sizes):
            if self.twist and size != short:
                point[place] += turns * (size // 2)
            point[place] %= size
        return tuple(point)

    def number(self, point):
        """The number of a point: the first coordinate counts up fastest."""
        node = 0
        for coordinate, size in zip(reversed(point), reversed(self.sizes), strict=True):
            node = node * size + coordinate
        return node

    def distances(self, start, backwards=False):
        """Hops from a node, or to it."""
        after = self.previous if backwards else self.next
        found, border = {start: 0}, [start]
        for node in border:
            for other in after[node]:
                if other not in found:
                    found[other] = found[node] + 1
                    border.append(other)
        return found


class Plan:
    """What a plan says, with its network."""

    def __init__(self, document):
        need(document["format"] == "flitloom collective 1", "format: is another one")
        self.rows = {name: document.get(name, []) for name in ("adds", "sends", "paths", "sums", "moves")}
        self.name, self.proof = document["operation"], document["proof"]
        need(self.name in OPERATIONS, f"operation: {self.name!r:.40} is unknown")
        self.network = Network(document)
        self.chunks = whole(document["chunks"], 1, 1 << 25, "chunks")
        self.wait = 1 + whole(document["latency"], 0, 1 << 16, "latency")
        nodes = document["nodes"]
        self.all = nodes is None
        self.members = self.network.working if nodes is None else nodes
        need(set(self.members) <= set(self.network.working), "nodes: one does not exist or has failed")
        need(len(set(self.members)) == len(self.members) > 0, "nodes: one is named twice, or there is none")
        self.root = document["root"]
        rooted = self.name in ("broadcast", "reduce", "scatter", "gather")
        need(rooted == (self.root is not None), f"root: belongs to {self.name}, or does not")
        need(not rooted or self.root in self.members, "root: does not take part")
        self.demands = document["demands"]
        need((self.name == "all-to-all-v") == (self.demands is not None), "demands: belong to all-to-all-v")
        self.directions = [self.network.normal(way) for way in document.get("directions", [])]

    def wanted(self):
        """Chunks from node to node of an exchange."""
        if self.demands is None:
            pairs = ((a, b) for a in self.members for b in self.members if a != b)
            return Counter(dict.fromkeys(pairs, self.chunks))
        found = Counter()
        for source, target, count in self.demands:
            found[source, target] += whole(count, 0, 1 << 25, "demands")
        return found

    def finish(self):
        """The step in which the last chunk has arrived; `Refused` unless all is done."""
        return self.orbits() if self.directions else self.replay()

    def orbits(self):
        """What all nodes do alike, shifted: followed as it looks from the node at the origin."""
        net, origin = self.network, (0,) * len(self.network.sizes)
        need(
            net.whole and self.all and self.demands is None,
            "directions: the network is not alike from all nodes",
        )
        need(not self.rows["sums"] and not self.rows["moves"], "directions: do not go with moves")
        links = net.around(origin)
        for end, several in Counter(self.directions).items():
            need(several <= links[end], f"directions: {several} links lead to {end}, there are {links[end]}")
        parts = {
            "all-gather": "sends",
            "reduce-scatter": "adds",
            "all-to-all": "paths",
            "all-reduce": "adds sends",
        }
        need(self.name in parts, f"directions: {self.name} does not look alike from all nodes")
        for part in ("adds", "sends", "paths"):
            need(part in parts[self.name] or not self.rows[part], f"{part}: have no part in {self.name}")
        busy, last = set(), 0

        def over(step, way, where):
            """The vector of a link that is busy from now on."""
            nonlocal last
            need((step, way) not in busy, f"{where}: link {way} is busy twice in step {step}")
            busy.add((whole(step, 0, 1 << 32, where), whole(way, 0, len(self.directions) - 1, where)))
            last = max(last, step + self.wait)
            return self.directions[way]

        def plus(a, b, sign=1):
            return net.normal([one + sign * other for one, other in zip(a, b, strict=True)])

        every = [(point, chunk) for point in product(*map(range, net.sizes)) for chunk in range(self.chunks)]
        complete = 0
        if "adds" in parts[self.name]:
            # Who has contributed to the sum for the origin, by where the partial sum is.
            sums = {(point, chunk): 1 << net.number(point) for point, chunk in every}
            landing = []
            for step, way, offset, chunk in sorted(self.rows["adds"], key=lambda row: row[0]):
                landing = self.land(sums, landing, step)
                along = over(step, way, "adds")
                place = (net.normal(offset), chunk)
                landing.append((step + self.wait, (plus(place[0], along), chunk), sums[place]))
                complete = max(complete, step + self.wait)
            self.land(sums, landing, 1 << 40)
            full = (1 << net.count) - 1
            need(
                all(sums[origin, chunk] == full for chunk in range(self.chunks)),
                "adds: a sum lacks contributions",
            )
        if "sends" in parts[self.name]:
            have = {(origin, chunk): complete for chunk in range(self.chunks)}
            for step, way, offset, chunk in sorted(self.rows["sends"], key=lambda row: row[0]):
                goal = net.normal(offset)
                since = have.get((plus(goal, over(step, way, "sends"), -1), chunk))
                need(since is not None and since <= step, f"sends: {offset} is sent before it is there")
                have[goal, chunk] = min(have.get((goal, chunk), step + self.wait), step + self.wait)
            need(all(place in have for place in every), "sends: a chunk never arrives")
        if "paths" in parts[self.name]:
            arrived = {(origin, chunk) for chunk in range(self.chunks)}
            for offset, chunk, hops in self.rows["paths"]:
                here, ready = origin, 0
                for step, way in hops:
                    here = plus(here, over(step, way, "paths"))
                    need(step >= ready, f"paths: {offset} is sent before it is there")
                    ready = step + self.wait
                need(here == net.normal(offset), f"paths: {offset} ends elsewhere")
                arrived.add((here, chunk))
            need(all(place in arrived for place in every), "paths: a chunk never arrives")
        return last

    @staticmethod
    def land(sums, landing, step):
        """Adds what has arrived by a step; the rest."""
        for time, place, who in landing:
            if time <= step:
                need(not sums.get(place, 0) & who, f"sums: something is added twice at {place}")
                sums[place] = sums.get(place, 0) | who
        return [row for row in landing if row[0] > step]

    def replay(self):
        """Follows every move; the step in which the last one has arrived."""
        has, needs = self.begin_and_end()
        exchange = self.name in ("all-to-all", "all-to-all-v")
        need(not self.rows["sums"] or self.name in (*BACKWARDS, "all-reduce"), f"sums: {self.name} has none")
        need(
            not self.rows["moves"] or self.name not in ("reduce-scatter", "reduce"),
            f"moves: {self.name} has none",
        )
        rows = [
            (row[0], at, adds, row)
            for adds in (False, True)
            for at, row in enumerate(self.rows["sums" if adds else "moves"])
        ]
        need(len(rows) <= MOST_MOVES, f"moves: more than {MOST_MOVES} are not followed")
        rows.sort(key=lambda row: row[:2])
        added, copied, busy, now, last = [], [], Counter(), -1, 0
        for step, _, adds, (_, start, end, *block) in rows:
            if whole(step, 0, 1 << 32, "step") != now:
                now, busy = step, Counter()
                added = self.land(has, added, step)
                has.update((place, who) for time, place, who in copied if time <= step)
                copied = [row for row in copied if row[0] > step]
            need(len(block) == (3 if exchange else 2), "moves: a row has too few or too many numbers")
            busy[start, end] += 1
            need(
                busy[start, end] <= self.network.links[start, end],
                f"the link {start}-{end} is not there or busy in step {step}",
            )
            place = (start, tuple(block))
            need(place in has, f"node {start} does not have {block} in step {step}")
            (added if adds else copied).append((step + self.wait, (end, tuple(block)), has[place]))
            last = max(last, step + self.wait)
        self.land(has, added, 1 << 40)
        has.update((place, who) for _, place, who in copied)
        for place, who in needs.items():
            need(has.get(place) == who, f"node {place[0]} does not get {list(place[1])}, or a part of it")
        return last

    def begin_and_end(self):
        """What nodes have and need: (node, block) to whose contributions are in it, as bits."""
        bit = {node: 1 << place for place, node in enumerate(self.members)}
        full = (1 << len(bit)) - 1
        has, needs = {}, {}
        if self.name in ("all-to-all", "all-to-all-v"):
            for (a, b), count in self.wanted().items():
                for chunk in range(count):
                    has[a, (a, b, chunk)] = needs[b, (a, b, chunk)] = full
            return has, needs
        owners = [self.root] if self.name in ("broadcast", "reduce") else self.members
        for block in ((owner, chunk) for owner in owners for chunk in range(self.chunks)):
            # A chunk is made by one node, or is a sum over all; one node needs it, or all do.
            if self.name in ("reduce", "reduce-scatter", "all-reduce"):
                has.update(((node, block), bit[node]) for node in self.members)
            else:
                has[self.root if self.name == "scatter" else block[0], block] = full
            if self.name in ("reduce", "gather"):
                needs[self.root, block] = full
            elif self.name in ("scatter", "reduce-scatter"):
                needs[block[0], block] = full
            else:
                needs.update(((node, block), full) for node in self.members)
        return has, needs


class Bound:
    """The least number of steps that a proof proves."""

    def __init__(self, plan):
        self.plan, self.net, self.proof = plan, plan.network, plan.proof
        self.backwards = plan.name in BACKWARDS
        self.name = BACKWARDS.get(plan.name, plan.name)
        self.exchange = self.name in ("all-to-all", "all-to-all-v")
        self.members, self.latency = set(plan.members), plan.wait - 1
        self.links = (
            Counter({(b, a): n for (a, b), n in self.net.links.items()}) if self.backwards else self.net.links
        )

    def steps(self):
        kind = self.proof["kind"]
        if kind == "nothing":
            return 0
        rules = ("cut", "distance", "hops", "lengths", "root", "arrival", "farthest", "crossing", "transfers")
        need(kind in rules, f"proof: {kind!r:.40} is unknown")
        return getattr(self, kind)()

    def far(self, node):
        return self.net.distances(node, self.backwards)

    def inside(self):
        named = self.proof.get("nodes")
        return set(self.net.working) - set(self.proof["all_but"]) if named is None else set(named)

    def cut(self):
        inside = self.inside()
        links = sum(n for (a, b), n in self.links.items() if a in inside and b not in inside)
        within, outside = self.members & inside, self.members - inside
        need(within and outside and links, "proof: some members must be inside and some outside")
        if self.exchange:
            crossing = sum(n for (a, b), n in self.plan.wanted().items() if a in inside and b not in inside)
        else:
            need(self.name in ("all-reduce", "all-gather"), f"proof: a cut says nothing of {self.plan.name}")
            # Something of every sum, or every chunk from inside.
            crossing = self.plan.chunks * len(self.members if self.name == "all-reduce" else within)
        return up(crossing, links) + self.latency

    def distance(self):
        start, end = self.proof["from"], self.proof["to"]
        need({start, end} <= self.members, "proof: both ends take part")
        need(
            self.name not in ("broadcast", "scatter") or start == self.plan.root,
            "proof: it begins at the root",
        )
        need(
            not self.exchange or self.plan.wanted()[start, end], "proof: nothing is sent between these nodes"
        )
        return self.far(start)[end] * (1 + self.latency)

    def hops(self):
        need(self.exchange, "proof: hops are counted of exchanges")
        total = 0
        for source, targets in self.by_source().items():
            far = self.far(source)
            total += sum(count * far[target] for target, count in targets)
        return up(total, sum(self.links.values())) + (self.latency if total else 0)

    def by_source(self):
        """Destinations and chunks of an exchange, by source."""
        found = {}
        for (source, target), count in self.plan.wanted().items():
            found.setdefault(source, []).append((target, count))
        return found

    def lengths(self):
        need(self.exchange, "proof: lengths are of exchanges")
        length = {}
        for start, end, value in self.proof["lengths"]:
            need((start, end) in self.links, f"proof: there is no link from {start!r:.20} to {end!r:.20}")
            least = length.get((start, end), value)
            length[start, end] = min(least, whole(value, 0, 10**7, "a length"))
        ahead = {}
        for start, end in self.links:
            ahead.setdefault(start, []).append((end, length.get((start, end), 0)))
        total = 0
        for source, targets in self.by_source().items():
            far = self.along(source, ahead)
            total += sum(count * far[target] for target, count in targets)
        return up(total, sum(value * self.links[ends] for ends, value in length.items())) + self.latency

    @staticmethod
    def along(source, ahead):
        """Lengths of shortest paths from a node (Dijkstra 1959)."""
        far, open_ = {}, [(0, source)]
        while open_:
            length, node = heappop(open_)
            if node not in far:
                far[node] = length
                for end, more in ahead.get(node, ()):
                    if end not in far:
                        heappush(open_, (length + more, end))
        return far

    def degree(self, node, outgoing):
        return sum(n for ends, n in self.links.items() if ends[not outgoing] == node)

    def root(self):
        need(self.name == "broadcast" and self.proof["node"] in self.members, "proof: is one of broadcasts")
        links = self.degree(self.plan.root, True)
        return (
            up(self.plan.chunks, links)
            - 1
            + self.far(self.plan.root)[self.proof["node"]] * (1 + self.latency)
        )

    def arrival(self):
        node = self.proof["node"]
        need(self.name in ("broadcast", "scatter") and node in self.members, "proof: is one of broadcasts")
        links = self.degree(node, False)
        return up(self.plan.chunks, links) - 1 + self.far(self.plan.root)[node] * (1 + self.latency)

    def farthest(self):
        need(self.name == "scatter", "proof: is one of scatters")
        least, far = self.proof["distance"], self.far(self.plan.root)
        count = sum(far[node] >= least for node in self.members - {self.plan.root}) * self.plan.chunks
        need(count, "proof: no node is as far")
        return up(count, self.degree(self.plan.root, True)) - 1 + least * (1 + self.latency)

    def transfers(self):
        need(self.name == "all-reduce", "proof: transfers are counted of all-reduce")
        # Every sum takes a tree in and a tree out.
        count = len(self.members)
        return up(2 * self.plan.chunks * count * (count - 1), sum(self.links.values())) + self.latency

    def crossing(self):
        start, end, inside = self.proof["from"], self.proof["to"], self.inside()
        need(self.exchange or self.name == "all-reduce", "proof: is one of exchanges and all-reduce")
        need(start in self.members & inside and end in self.members - inside, "proof: both ends take part")
        before, behind = self.far(start), self.net.distances(end, True)
        over = [
            (before[a] + 1 + behind[b]) * (1 + self.latency)
            for (a, b), n in self.links.items()
            if a in inside and b not in inside and a in before and b in behind
            for _ in range(n)
        ]
        count = self.plan.wanted()[start, end] if self.exchange else self.plan.chunks * len(self.members)
        need(over and count, "proof: nothing goes from one node to the other")
        steps = min(over)
        # A link of a path of so many steps carries one chunk more in each step from then on.
        while sum(max(0, steps + 1 - least) for least in over) < count:
            steps += 1
        return steps


def verify(document):
    """The steps and the bound of a plan, both counted anew; `Refused` if it claims anything else."""
    plan = Plan(document)
    steps, least = plan.finish(), Bound(plan).steps()
    claimed = whole(document["steps"], 0, 1 << 32, "steps")
    need(steps == claimed, f"steps: the file says {claimed}, the last chunk arrives after {steps}")
    bound = whole(document["bound"], 0, 1 << 32, "bound")
    need(bound <= least, f"bound: the file says {bound}, its proof proves {least}")
    need(document["optimal"] is (steps == bound), "optimal: steps and bound say otherwise")
    return steps, bound


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    try:
        with open(arguments[0], "rb") as file:
            text = file.read(MOST_BYTES + 1)
        need(len(text) <= MOST_BYTES, "the file is too large")
        steps, bound = verify(json.loads(text))
    except Refused as refused:
        print(f"FAILED: {refused}")
        return 1
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        print(f"FAILED: not understood, so nothing is verified: {type(error).__name__}: {error!s:.100}")
        return 1
    proven = "no plan has fewer" if steps == bound else f"no plan has fewer than {bound}"
    print(f"verified: every chunk arrives within {steps} steps; {proven}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
