#!/usr/bin/env python3
"""Verify what flitloom proves, without flitloom: one file, with nothing but Python's standard library.

usage: recheck.py tables.json certificate.json [--rules NAME]
       recheck.py plan.json certificate.json
       recheck.py out/ certificate.json
       recheck.py experiment.toml certificate.json
       recheck.py plan.json
       recheck.py placement.json

with --json for the verdict and what is proven as JSON. What a file is, it says itself; each kind has a
section below.

Deadlock certificates. Every pair of working nodes (every packet of a plan) must have a route over existing,
working links, and every step of a route from one channel to the next must go to a channel of higher rank;
with the bubble rule the rank may stay the same within one ring of one direction, which always keeps a free
slot. Then no cycle of channels can wait for each other. How many virtual channels there are, when a packet
changes them and whether there is a bubble rule is taken from the tables (from --rules, if the tables were
checked with it), never from the certificate, which must say the same. Tables without rules are taken to have
one channel per link and no bubble rule.

Folders of tables by destination: opensm-lfts.dump, path-sl.txt if any packet has another service level than
0, and sl2vl.dump if that chooses the lanes, or lane-rises.txt with the switches where lanes rise by one. They
must lead every host's packets to every other host over the cables that the certificate names, each hop to a
channel and lane of higher rank.

Lower bounds of tables are beside the ranks as lengths of channels. Every pair goes at least as far as on
its shortest way, so the load of the busiest channel is at least the sum of pairs times distances over the sum
of all lengths. Where ways of any kind prove less than the certificate says of tables of source routes, ways
are those with the fewest hops that the rules and turns of the tables allow. In tables by destination all
hosts of a switch send to a host over one channel: loads are multiples of what divides the numbers of hosts.

Experiments with adaptive routing over escape channels, under virtual cut-through. A header moves on only
where its whole packet has room, so a packet that waits is in one queue and holds nothing behind it. Every
packet is always offered an escape channel, in dimension order: channel 0 of a ring up to its wrap line,
channel 1 over it and after; channel 0 of the one link that crosses a full mesh. From wherever adaptive
channels have taken it, a packet in an escape channel must find the next one of higher rank. Then the escape
channel of highest rank drains, and so do all others, and the adaptive ones through them (Duato 1993).
Network, routing, flow control, buffers and packets are taken from the experiment.

Plans of collective operations. Every chunk is followed over links that exist and are free, from a node that
has it at that time; sums must have each contribution once. Then the bound is counted anew from what the plan
names as its proof: a cut, distances, or lengths of links.

Plans in rounds. Every part is followed from round to round in the same manner, also sums of some pieces of a
node, and the busiest link of every round is found with messages over several hops on all minimal routes,
evenly. The time follows from these. In a round a node sends to at most as many nodes as the node with the
most links has links, and receives from as many; in an all-reduce this is counted for every part.

Placements. The traffic is built anew from its axes or pairs, every byte is sent along its way by dimension
order, and the busiest channel, the busiest port and the hop-bytes are counted, also with ranks in the order
of the nodes. Then what a pair, a rank, a cut, or sorted distances prove is computed anew in whole numbers,
without floating point. Between hosts of switches every byte is sent along the channels that the file names,
which must lead from host to host. Of phases all that is done for each, and the busiest channels are added up.
"""

import json
import os
import re
import signal
import stat
import sys
import time
import tomllib
from collections import Counter
from difflib import get_close_matches
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, combinations, pairwise, product
from math import comb, gcd, prod

NAMES = "xyzuvw"
LARGEST = 1 << 20
#: Bytes of a file; JSON takes eight times as much memory.
MOST_BYTES = 1 << 29
#: Seconds before a terminal is told how far it is.
SOON = 2.0


class Refused(Exception):
    """What is wrong."""


def need(holds, problem):
    if not holds:
        raise Refused(problem)


def whole(value, low, high, place):
    """A whole number between two others."""
    if type(value) is not int or not low <= value <= high:
        raise Refused(f"{place}: {value!r:.40} is not a whole number {low}-{high}")
    return value


def only(table, place, needed, others=""):
    """Refuse a table that lacks one of some fields, or has others than these and further ones."""
    need(type(table) is dict, f"{place}: is not a table of fields")
    needed, others = needed.split(), others.split()
    dot = f"{place}." if place else ""
    for name in table:
        if name not in needed and name not in others:
            near = get_close_matches(name, [*needed, *others], n=1)
            said = f"did you mean {dot}{near[0]}?" if near else f"known are {', '.join(needed + others)}"
            raise Refused(f"{dot}{name:.40}: is an unknown field; {said}")
    lacking = [name for name in needed if name not in table]
    need(not lacking, f"{place or 'the file'} lacks {', '.join(lacking)}")


def up(numerator, denominator):
    """The quotient, rounded up."""
    return -(-numerator // denominator)


class Shape:
    """Sizes and ways of a torus, a mesh or a product with full meshes, and what of it has failed."""

    def __init__(self, topology):
        if topology.get("network") is not None:
            self.factors = self.factors_of(topology["network"])
        else:
            self.factors = self.dimensions_of(topology)
        need(1 <= len(self.factors) <= len(NAMES), "topology.sizes: there are 1 to 6 dimensions")
        self.sizes = [whole(size, 2, LARGEST, "topology.sizes") for _, size, _ in self.factors]
        self.wraps = [kind == "ring" and size > 2 for kind, size, _ in self.factors]
        self.full = [kind == "full" and size > 2 for kind, size, _ in self.factors]
        # In a twisted torus a step over the edge of a short dimension also moves half of every long one.
        twist = topology.get("twist", False) or str(topology.get("network")).startswith("twisted ")
        need(type(twist) is bool, "topology.twist: must be true or false")
        self.short = min(self.sizes) if twist else 0
        if twist:
            fits = all(size == self.short or size % self.short == size % 2 == 0 for size in self.sizes)
            fits &= max(self.sizes) > self.short and all(kind == "ring" for kind, _, _ in self.factors)
            need(fits, "topology.twist: these sizes have none")
            self.wraps = [True] * len(self.sizes)
        self.count = 1
        for size in self.sizes:
            self.count *= size
        need(self.count <= LARGEST, f"topology.sizes: more than {LARGEST} nodes")
        last = self.count - 1
        self.failed = {
            whole(node, 0, last, "topology.failed_nodes") for node in topology.get("failed_nodes") or []
        }
        self.cut = set()
        for link in topology.get("failed_links") or []:
            ends = [int(node) for node in link.split("-")] if isinstance(link, str) else link
            need(len(ends) == 2, "topology.failed_links: a link has two ends")
            self.cut.add(frozenset(whole(node, 0, last, "topology.failed_links") for node in ends))

    @staticmethod
    def factors_of(text):
        """Kind, size and parallel links of the factors of a product, like ring4*6 x full8."""
        parts = text.removeprefix("twisted ").split("x")
        found = [re.fullmatch(r"(ring|line|full)(\d+)(?:\*(\d+))?", part.strip()) for part in parts]
        need(all(found), f"topology.network: {text!r:.40} is not a product")
        return [(one[1], int(one[2]), whole(int(one[3] or 1), 1, 64, "parallel links")) for one in found]

    @staticmethod
    def dimensions_of(topology):
        """The same of a torus or mesh."""
        sizes = topology["sizes"]
        sizes = [int(size) for size in sizes.split("x")] if isinstance(sizes, str) else sizes
        need(type(sizes) is list, "topology.sizes: must be a list")
        kind = topology.get("kind", "torus")
        need(kind in ("torus", "mesh"), "topology.kind: must be torus or mesh")
        wrap = topology.get("wrap")
        wrap = [kind == "torus"] * len(sizes) if wrap is None else wrap
        need(
            len(wrap) == len(sizes) and all(type(one) is bool for one in wrap), "topology.wrap: one per size"
        )
        return [("ring" if one else "line", size, 1) for one, size in zip(wrap, sizes, strict=True)]

    def coordinates(self, node):
        found = []
        for size in self.sizes:
            node, coordinate = divmod(node, size)
            found.append(coordinate)
        return found

    def number(self, place):
        """The number of a place: the first coordinate counts up fastest."""
        node = 0
        for at, size in zip(reversed(place), reversed(self.sizes), strict=True):
            node = node * size + at
        return node

    def moved(self, place, dimension, sign):
        """The place one hop further, or None beyond the rim."""
        there = list(place)
        there[dimension] += sign
        size = self.sizes[dimension]
        if not 0 <= there[dimension] < size:
            if not self.wraps[dimension] and not self.full[dimension]:
                return None
            there[dimension] %= size
            if size == self.short:
                for other, long in enumerate(self.sizes):
                    if long != size:
                        there[other] = (there[other] + long // 2) % long
        return there


# Deadlock certificates of tables by source and of plans of packets.

#: What a deadlock certificate proves.
FREE = {"deadlock": False}
#: Virtual channels that a plan's router has beyond one per wrapping dimension, and its least number.
MORE, LEAST = 1, 3
ASSUMED_CHANNELS = "assumed: as many virtual channels as dimension order needs, at least three"
ASSUMED = "assumed: the file brings none; name those of the router with --rules"


class Network(Shape):
    """The shape and the failed parts of tables or a plan."""

    def __init__(self, topology):
        super().__init__(topology)
        self.known = {}

    def step(self, node, dimension, sign):
        """The node one hop further, or None beyond the rim."""
        place = self.moved(self.coordinates(node), dimension, sign)
        return None if place is None else self.number(place)

    def around(self, node):
        """All neighbours of a node."""
        ways = product(range(len(self.sizes)), (1, -1))
        return {there for way in ways if (there := self.step(node, *way)) is not None}

    def direction(self, a, b):
        """The direction in which b is the neighbour of a over a working link, or None."""
        if not all(type(node) is int and 0 <= node < self.count for node in (a, b)):
            return None
        if (a, b) not in self.known:
            self.known[a, b] = self.way(a, b)
        return self.known[a, b]

    def way(self, a, b):
        """The direction between two nodes, found anew."""
        if {a, b} & self.failed or frozenset((a, b)) in self.cut:
            return None
        for dimension in range(len(self.sizes)):
            for sign, name in ((1, "+"), (-1, "-")):
                if self.step(a, dimension, sign) == b:
                    return name + NAMES[dimension]
        return None

    def walk(self, source, route):
        """The nodes of a route as text, like "+x3 -y2"."""
        nodes = [whole(source, 0, self.count - 1, "source")]
        for leg in route.split():
            dimension = NAMES.index(leg[1])
            need(leg[0] in "+-" and dimension < len(self.sizes), f"route {route!r:.40} is not understood")
            for _ in range(whole(int(leg[2:]), 1, LARGEST, "route")):
                nodes.append(self.step(nodes[-1], dimension, 1 if leg[0] == "+" else -1))
                need(nodes[-1] is not None, f"route {route!r:.40} leaves the network")
        return nodes


def named(name, dimensions):
    """The rules of a name."""
    plus = ["+" + axis for axis in NAMES[:dimensions]]
    minus = ["-" + axis for axis in NAMES[:dimensions]]
    rules = {"name": name, "order": [way for pair in zip(plus, minus, strict=True) for way in pair]}
    base, _, along = name.partition("-") if isinstance(name, str) else ("", "", "")
    if base == "angara" and list(along) == [axis for axis in NAMES[:dimensions] if axis in along]:
        # Along the dimensions behind the name, the two ways are exchanged.
        for index, axis in enumerate(NAMES[:dimensions]):
            if axis in along:
                plus[index], minus[index] = minus[index], plus[index]
        rules |= {"order": plus + minus, "first_steps": plus, "last_steps": minus}
    elif name == "dateline":
        rules |= {"virtual_channels": dimensions + 1, "datelines": True}
    elif name == "unrestricted":
        rules |= {"virtual_channels": 1, "any_walk": True}
    else:
        need(name == "dimension-order", f"rules: {name!r:.40} is unknown")
    return rules


def complete(rules):
    """Rules with everything that was left out."""
    common = {"name": "custom", "direction_bits": True, "first_steps": [], "last_steps": []}
    return {**common, "virtual_channels": None, "datelines": False, "any_walk": False, **rules}


def flow(tables, network, given):
    """Virtual channels, whether they change at datelines, the bubble rule; and what else must agree."""
    if "packets" in tables:
        need(given is None, "--rules belongs to routing tables")
        need(
            tables.get("router") is None,
            "packets of this plan wait on time, too; there is no certificate for it",
        )
        channels = tables.get("channels")
        source = ASSUMED_CHANNELS if channels is None else "from the file"
        channels = max(sum(network.wraps) + MORE, LEAST) if channels is None else channels
        return whole(channels, 1, 8, "channels"), True, False, {"rules_from": source}
    if given is not None:
        rules, source = named(given, len(network.sizes)), "from --rules"
    elif "rules" in tables:
        rules, source = tables["rules"], "from the file"
        rules = named(rules, len(network.sizes)) if isinstance(rules, str) else rules
    else:
        rules, source = named("unrestricted", len(network.sizes)), ASSUMED
    rules = complete(rules)
    channels, datelines = rules["virtual_channels"], rules["datelines"]
    need(channels is not None or datelines is False, "rules.datelines: need virtual_channels")
    need(type(datelines) is bool, "rules.datelines: must be true or false")
    bubble = channels is None
    channels = 1 if bubble else whole(channels, 1, 16, "rules.virtual_channels")
    return channels, datelines, bubble, {"rules": rules, "rules_from": source}


def agree(certificate, tables, network, given):
    """What the tables say about their channels; refuses a certificate that says anything else."""
    channels, datelines, bubble, more = flow(tables, network, given)
    expected = {
        "format": "flitloom-certificate",
        "version": 2,
        "sizes": network.sizes,
        "wraps": network.wraps,
        "bubble": bubble,
        "virtual_channels": channels,
        "datelines": datelines,
        **({"twist": True} if network.short else {}),
        **more,
    }
    for name, value in expected.items():
        need(name in certificate, f"the certificate lacks {name!r}")
        said = certificate[name]
        if name == "rules" and isinstance(said, dict):
            said = complete(said)
        same = json.dumps(said, sort_keys=True) == json.dumps(value, sort_keys=True)
        # Rules are those of tables in memory just as well as of their file.
        same |= name == "rules_from" and (said, value) == ("from the tables", "from the file")
        need(same, f"the certificate says {name} {said!r:.60}, the tables {value!r:.60}")
    unknown = set(certificate) - set(expected) - {"channels", "bound"}
    need(not unknown, f"the certificate has unknown fields: {sorted(unknown)!r:.60}")
    return channels, datelines, bubble


def ranks_of(certificate, network, channels, ways=None):
    """The rank of every channel; directions are those of a torus, or others that are named."""
    rank = {}
    if ways is None:
        ways = [sign + axis for sign in "+-" for axis in NAMES[: len(network.sizes)]]
    ways = set(ways)
    for row in certificate["channels"]:
        node, way, channel, value = row
        place = "channels of the certificate"
        whole(node, 0, network.count - 1, place)
        whole(channel, 0, channels - 1, place)
        need(way in ways, f"{place}: no direction {way!r:.20}")
        need((node, way, channel) not in rank, f"{place}: one has two ranks")
        rank[node, way, channel] = whole(value, 0, 1 << 62, place)
    return rank


def shortest(source, ahead):
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


def lengths_of(rows, known):
    """The length of every channel that a proof names; the others have none."""
    found = {}
    for *place, value in rows:
        place = tuple(place)
        need(
            place in known and place not in found,
            f"bound: {place!r:.60} is not a channel, or has two lengths",
        )
        found[place] = whole(value, 0, 1 << 40, "a length")
    need(any(found.values()), "bound: all lengths are 0")
    return found


class LegalWays:
    """Routes that rules and turns allow: a first step or none, a middle in order, a last step or none."""

    def __init__(self, network, rules, tables, length):
        self.network, self.length = network, length
        self.order = rules["order"]
        names = {sign + axis for sign in "+-" for axis in NAMES[: len(network.sizes)]}
        need(sorted(self.order) == sorted(names), "rules.order: names every direction once")
        self.rank = {way: at for at, way in enumerate(self.order)}
        self.firsts, self.lasts = rules["first_steps"], rules["last_steps"]
        need(set(self.firsts) | set(self.lasts) <= names, "rules: a step has an unknown direction")
        steps = self.firsts or self.lasts
        need(not steps or "turns" in tables, "bound: the tables do not say which turns are legal")
        self.turns = {tuple(turn) for turn in tables.get("turns", [])}
        self.withheld = {tuple(turn) for turn in tables.get("withheld_turns", [])}
        self.ahead = {
            node: {name: there for name in names if (there := self.over(node, name)) is not None}
            for node in range(network.count)
        }

    def over(self, node, name):
        """The node at the end of a working link."""
        there = self.network.step(node, NAMES.index(name[1]), 1 if name[0] == "+" else -1)
        return None if there is None or self.network.direction(node, there) is None else there

    def permits(self, node, before, after):
        """Whether a packet that came one way may leave another way."""
        turn = (node, before, after)
        return turn in self.turns if self.rank[before] > self.rank[after] else turn not in self.withheld

    def moves(self, node, before, used, stage):
        """Directions a packet may take, with those of the middle, and the part of the route, from then on."""
        for way in self.ahead[node]:
            straight, back = way == before, before is not None and way[1] == before[1] and way != before
            if back or stage == 3:
                continue
            free = before is None or straight or self.permits(node, before, way)
            opposite = ("-" if way[0] == "+" else "+") + way[1]
            if stage == 2 and straight:
                yield way, used, 2
            elif free and opposite not in used and (stage < 2 or self.rank[way] > self.rank[before]):
                yield way, used | {way}, 2
            if free and not straight:
                if stage == 0 and way in self.firsts:
                    yield way, used, 1
                elif stage and way in self.lasts:
                    yield way, used, 3

    def distances(self, source, wanted):
        """Least lengths of legal routes with the fewest hops, from a node."""
        found, known = {source: 0}, set()
        border = {(source, None, frozenset(), 0): 0}
        while border and len(found) < wanted:
            known.update(border)
            ahead, arrived = {}, {}
            for (node, before, used, stage), far in border.items():
                for way, then, part in self.moves(node, before, used, stage):
                    there = self.ahead[node][way]
                    state = (there, way, then, part)
                    if state in known:
                        continue
                    far_there = far + self.length.get((node, there), 0)
                    ahead[state] = min(far_there, ahead.get(state, far_there))
                    if part > 1 and there not in found:
                        arrived[there] = min(far_there, arrived.get(there, far_there))
            found.update(arrived)
            border = ahead
        return found


def bounded(tables, proof, network, given):
    """What is proven of the busiest channel of all tables, as text and numbers; `Refused` if it is not."""
    unknown = set(proof) ^ {"kind", "value", "weights", "lengths"}
    need(not unknown and proof["kind"] == "lengths", f"bound: is not understood: {sorted(unknown)!r:.60}")
    value = whole(proof["value"], 1, 1 << 62, "bound")
    working = [node for node in range(network.count) if node not in network.failed]
    links = {(a, b) for a in working for b in network.around(a) if network.direction(a, b) is not None}
    length = lengths_of(proof["lengths"], links)
    weights = proof["weights"]
    if weights is not None:
        need(len(weights) == network.count, "bound: weights have a row per node")
        need(all(len(row) == network.count for row in weights), "bound: weights have a column per node")
        for row in weights:
            for weight in row:
                whole(weight, 0, 1 << 62, "a weight")

    def pairs(source):
        row = None if weights is None else weights[source]
        return [(node, 1 if row is None else row[node]) for node in working if node != source]

    ahead = {}
    for a, b in links:
        ahead.setdefault(a, []).append((b, length.get((a, b), 0)))
    spent = sum(length.values())
    needed = (value - 1) * spent
    total = 0
    for a in working:
        far = shortest(a, ahead)
        total += sum(count * far[node] for node, count in pairs(a) if count)
    which = "no tables"
    if total <= needed:
        rules = complete(flow(tables, network, given)[3]["rules"])
        need(given is None or not (rules["first_steps"] or rules["last_steps"]), "bound: turns are not known")
        ordered = rules["direction_bits"] and not rules["any_walk"]
        need(ordered, f"bound: {total} over {spent} is below {value}")
        ways, total = LegalWays(network, rules, tables, length), 0
        for a in told(working):
            far = ways.distances(a, len(working))
            total += sum(count * far[node] for node, count in pairs(a) if count)
        which = "no tables of minimal routes under these rules"
    need(total > needed, f"bound: {total} over {spent} is below {value}")
    loads = Counter()
    for route in tables["routes"]:
        count = 1 if weights is None else weights[route["source"]][route["destination"]]
        for hop in pairwise(route["nodes"]):
            loads[hop] += count
    busiest = max(loads.values(), default=0)
    whose = "" if weights is None else " of the traffic it names"
    said = f"{which} have less than {value}{whose} on the busiest channel; these have {busiest}"
    return {"bound": value, "max_load": busiest}, said


def certified(tables, certificate, given=None):
    """What a certificate proves of tables or a plan, in numbers and words; `Refused` if it does not hold."""
    network = Network(tables["topology"])
    channels, datelines, bubble = agree(certificate, tables, network, given)
    rank = ranks_of(certificate, network, channels)
    plan = "packets" in tables
    need(
        not (plan and "routes" in tables and isinstance(tables["routes"], list)),
        "tables and plan in one file",
    )
    served = set()
    for route in told(tables["packets"] if plan else tables["routes"]):
        nodes = network.walk(route["source"], route["route"]) if plan else route["nodes"]
        pair = (route["source"], route["destination"])
        where = f"route from {pair[0]!r:.20} to {pair[1]!r:.20}"
        need(nodes and (nodes[0], nodes[-1]) == pair, f"{where}: wrong ends")
        need(plan or (pair not in served and len(nodes) > 1), f"{where}: given twice, or without a hop")
        served.add(pair)
        given_channels = None if plan else route.get("channels")
        need(given_channels is None or len(given_channels) == len(nodes) - 1, f"{where}: one channel per hop")
        before, channel = None, 0
        if plan and tables.get("channels") is not None:
            channel = whole(route.get("channel", 0), 0, channels - 1, where)
        for hop, (a, b) in enumerate(pairwise(nodes)):
            way = network.direction(a, b)
            need(way is not None, f"{where}: there is no working link from {a!r:.20} to {b!r:.20}")
            if given_channels is not None:
                channel = whole(given_channels[hop], 0, channels - 1, where)
            elif datelines:
                # One channel higher at each dateline: at the ring's seam and half-way around.
                dimension = NAMES.index(way[1])
                size = network.sizes[dimension]
                upper = network.coordinates(a)[dimension] + (way[0] == "+")
                # A ring of a twisted dimension has two seams, and they are its lines.
                lines = (0,) if size == network.short else (0, size // 2)
                crosses = network.wraps[dimension] and upper % size in lines
                channel = min(channel + crosses, channels - 1)
            after = (a, way, channel)
            if before is not None:
                need(before in rank and after in rank, f"{where}: a channel has no rank")
                same_ring = bubble and before[1:] == after[1:]
                rises = rank[before] < rank[after] or (same_ring and rank[before] == rank[after])
                need(rises, f"{where}: rank does not rise from {before} to {after}")
            before = after
    if not plan:
        working = [node for node in range(network.count) if node not in network.failed]
        missing = ((a, b) for a in working for b in working if a != b and (a, b) not in served)
        first = next(missing, None)
        need(first is None, f"no route for {first}")
    if "bound" not in certificate:
        return FREE, "certificate holds"
    need(not plan, "bound: belongs to tables")
    facts, said = bounded(tables, certificate["bound"], network, given)
    return FREE | facts, f"certificate holds: {said}"


# Deadlock certificates of tables by destination.


class Fabric:
    """Tables by destination in a folder, over the cables and hosts that a certificate names."""

    def __init__(self, folder, certificate):
        self.cables, self.hosts = {}, []
        for a, a_port, b, b_port in certificate["cables"]:
            for end, other in (((a, a_port), (b, b_port)), ((b, b_port), (a, a_port))):
                need(end not in self.cables, f"port {end[1]!r:.20} of {end[0]!r:.20} has two cables")
                self.cables[end] = other
        for guid, lid, lmc, switch, port in certificate["hosts"]:
            whole(lid, 1, 0xBFFF, "LID of a host")
            whole(lmc, 0, 7, "LMC of a host")
            need((switch, port) not in self.cables, f"port {port!r:.20} of {switch!r:.20} has two cables")
            self.cables[switch, port] = guid
            self.hosts.append((guid, range(lid, lid + (1 << lmc)), (switch, port)))
        lids = [lid for _, lids, _ in self.hosts for lid in lids]
        need(len(set(lids)) == len(lids), "two hosts have one LID")
        known = {switch for _, _, (switch, _) in self.hosts} | {end[0] for end in self.cables}
        self.out = self.rows(
            folder, "opensm-lfts.dump", r"Unicast lids .* guid (0x\w+)", r"0x(\w+) +(\d+) +:", 16
        )
        need(
            known <= set(self.out), f"the tables lack switch {min(known - set(self.out), default=None)!r:.20}"
        )
        levels = text_of(folder, "path-sl.txt") or ""
        self.levels = {
            (named_guid(guid), int(lid)): int(level)
            for guid, lid, level in re.findall(r"(?m)^(0x\w+) +(\d+) +(\d+)", levels)
        }
        self.count = certificate["lanes"]
        self.lanes = {}
        self.rises = frozenset()
        if self.count == "rising":
            rows = (text_of(folder, "lane-rises.txt") or "").splitlines()
            self.rises = frozenset(named_guid(row) for row in rows if row.startswith("0x"))
            need(self.rises, "lane-rises.txt is missing, or says nothing")
        elif self.count is None:
            row = r"(\d+) +(\d+) +: *((?:\d+ *){16})$"
            self.lanes = self.rows(folder, "sl2vl.dump", r"Switch (0x\w+),", row, 10)
        else:
            whole(self.count, 1, 15, "lanes of the certificate")

    @staticmethod
    def rows(folder, name, head, row, base):
        """What a dump says of every switch, by the first words of its rows."""
        found, of_switch = {}, None
        for line in (text_of(folder, name) or "").splitlines():
            if begun := re.match(head, line):
                of_switch = found.setdefault(named_guid(begun[1]), {})
            elif of_switch is not None and (match := re.match(row, line)):
                first, *rest = match.groups()
                key = int(first, base) if len(rest) == 1 else (int(first), int(rest[0]))
                of_switch[key] = int(rest[0]) if len(rest) == 1 else [int(lane) for lane in rest[1].split()]
        need(found, f"{name} is missing, or says nothing")
        return found

    def lane(self, switch, port, out, level, before):
        """The lane of a packet that came by a port; `before` is None or the hop, which ends with its lane."""
        if self.count == "rising":
            return 0 if before is None else before[2] + (switch in self.rises)
        return level % self.count if self.count is not None else self.lanes[switch][port, out][level]

    def follow(self, rank):
        """Raise `Refused` unless all packets arrive over ever higher ranks."""
        for owner, lids, (last, plug) in told(self.hosts):
            for lid in lids:
                seen = set()
                for source, _, (switch, port) in self.hosts:
                    level = self.levels.get((source, lid), 0)
                    where = f"from {source} to LID {lid}"
                    before = None
                    while source != owner and (before, switch, port, level) not in seen:
                        seen.add((before, switch, port, level))
                        out = self.out[switch].get(lid)
                        if switch == last:
                            need(out == plug, f"{where}: switch {switch} does not hand packets over")
                            break
                        after = (switch, out, self.lane(switch, port, out, level, before))
                        ahead = self.cables.get((switch, out))
                        need(isinstance(ahead, tuple), f"{where}: no cable at port {out} of switch {switch}")
                        need(after in rank, f"{where}: {after} has no rank")
                        need(
                            before is None or rank[before] < rank[after],
                            f"{where}: rank does not rise to {after}",
                        )
                        before, (switch, port) = after, ahead

    def bound(self, proof):
        """What a proof proves of the busiest channel of all tables."""
        unknown = set(proof) ^ {"kind", "value", "pairs", "lengths"}
        need(not unknown and proof["kind"] == "lengths", f"bound: is not understood: {sorted(unknown)!r:.60}")
        value = whole(proof["value"], 1, 1 << 62, "bound")
        channels = {end: other for end, other in self.cables.items() if isinstance(other, tuple)}
        length = lengths_of(proof["lengths"], channels)
        ahead = {}
        for end, other in channels.items():
            ahead.setdefault(end[0], []).append((other[0], length.get(end, 0)))
        pairs, plugged = {}, Counter(switch for _, _, (switch, _) in self.hosts)
        if proof["pairs"] is None:
            pairs = {
                a: [(b, here * there) for b, there in plugged.items() if a != b]
                for a, here in plugged.items()
            }
        else:
            for a, b, count in proof["pairs"]:
                pairs.setdefault(a, []).append((b, whole(count, 0, 1 << 62, "pairs")))
        total, crossing = 0, Counter()
        for source in told(sorted(pairs)):
            far = shortest(source, ahead)
            total += sum(count * far[target] for target, count in pairs[source])
            crossing.update({target: plugged[source] for target in plugged if far.get(target)})
        spent = sum(length.values())
        # Where all pairs count, loads are sums of the hosts of switches.
        step = gcd(*plugged.values()) or 1 if proof["pairs"] is None else 1
        proven = -(-total // (spent * step)) * step
        if proof["pairs"] is None and len({switch for switch, _ in length}) == 1:
            # At one switch, all that goes to a destination takes one of these channels.
            each = sorted((crossing[end[0]] for _, _, end in self.hosts), reverse=True)
            proven = max(proven, *(pairs * -(-n // len(length)) for n, pairs in enumerate(each, 1)))
        need(proven >= value, f"bound: {total} over {spent}, in steps of {step}, is below {value}")
        return value


def named_guid(text):
    return f"0x{int(text, 16):016x}"


def text_of(folder, name):
    """The text of a file in a folder, or None."""
    file = os.path.join(folder, name)
    if not os.path.exists(file):
        return None
    need(os.stat(file).st_size <= MOST_BYTES, f"{file}: at most {MOST_BYTES} bytes are read")
    with open(file, encoding="utf-8", errors="replace") as text:
        return text.read()


def certified_folder(folder, certificate):
    """Raise `Refused` unless the certificate holds for the tables in a folder."""
    unknown = (set(certificate) - {"bound", "topology"}) ^ {
        "format",
        "version",
        "lanes",
        "cables",
        "hosts",
        "channels",
    }
    need(not unknown, f"fields that are missing or unknown: {sorted(unknown)!r:.60}")
    need(certificate["format"] == "flitloom-certificate", "it is not a certificate")
    need(certificate["version"] == 2, "it is of another version")
    rank = {}
    for switch, port, lane, value in certificate["channels"]:
        place = (switch, whole(port, 1, 254, "port"), whole(lane, 0, 14, "lane"))
        need(place not in rank, f"{place}: has two ranks")
        rank[place] = whole(value, 0, 1 << 62, "rank")
    fabric = Fabric(folder, certificate)
    fabric.follow(rank)
    cables, hosts = len(certificate["cables"]), len(certificate["hosts"])
    said = f"certificate holds for the {cables} cables and {hosts} hosts that it names"
    if "bound" not in certificate:
        return FREE, said
    value = fabric.bound(certificate["bound"])
    whose = "" if certificate["bound"]["pairs"] is None else " of the pairs it names"
    return FREE | {"bound": value}, f"{said}: no tables have less than {value}{whose} on the busiest channel"


# Certificates of adaptive routing over escape channels.

#: Routing functions with two escape channels, by both of their names.
ADAPTIVE = {
    "sa": "sa",
    "simple-adaptive": "sa",
    "cl": "cl",
    "cross-line": "cl",
    "ma": "ma",
    "minimal-adaptive": "ma",
}
#: Routers by name: what of them matters here.
PRESETS = {name: {"channels": 3, "buffer": 16, "flow_control": "cut-through"} for name in ("t15", "s07")}
#: Parts of a router and of traffic that are not understood here.
STRANGE = ("model", "variant", "reply_length", "message_classes"), ("classes", "changes")


def escape_facts(experiment):
    """What an experiment says of its network, router and packets, and its shape."""
    shape = Shape(experiment["topology"])
    need(not shape.short, "topology: must be without a twist")
    need(all(several == 1 for _, _, several in shape.factors), "topology: one link leads each way")
    need(not shape.failed and not shape.cut, "topology: adaptive routing is for healthy networks")
    router, traffic = experiment.get("router", {}), experiment["traffic"]
    for part, names in ((router, STRANGE[0]), (traffic, STRANGE[1])):
        found = [name for name in names if name in part]
        need(not found, f"{found}: is not understood, so nothing is verified")
    preset = router.get("preset")
    need(preset is None or preset in PRESETS, f"router.preset: {preset!r:.40} has no escape channels")
    router = {**PRESETS.get(preset, {}), **router}
    kind = traffic.get("kind")
    need(kind in ("collective", "load"), f"traffic.kind: {kind!r:.40} does not say how long packets are")
    if kind == "load":
        longest = traffic.get("length", 8)
    else:
        longest = traffic.get("payload", 7) // traffic.get("slices", 1) + 1
    facts = {
        "format": "flitloom-certificate",
        "version": 2,
        "kind": "escape",
        "sizes": shape.sizes,
        "wraps": shape.wraps,
        **({"full": shape.full} if any(shape.full) else {}),
        "routing": ADAPTIVE.get(router.get("routing")),
        "flow_control": router.get("flow_control", "wormhole"),
        "virtual_channels": router.get("channels", max(sum(shape.wraps) + MORE, LEAST)),
        "escape_channels": 2,
        "buffer": router.get("buffer", 4),
        "longest_packet": longest,
    }
    need(
        facts["routing"] is not None, f"router.routing: {router.get('routing')!r:.40} has no escape channels"
    )
    need(
        facts["routing"] != "cl" or not any(shape.full),
        "router.routing: cl looks along lines, and full meshes have none",
    )
    need(facts["flow_control"] == "cut-through", "router.flow_control: escape channels need cut-through")
    whole(facts["virtual_channels"], 3, 64, "router.channels")
    whole(facts["longest_packet"], 1, whole(facts["buffer"], 1, 1024, "router.buffer"), "the longest packet")
    return shape, facts


def ways_of_line(size, wraps, full):
    """Routes of packets along a dimension: lists of coordinate, way and escape channel.

    A way is 1 or -1; in a full mesh, over its one link, as many coordinates as that goes, the shorter way
    round, and forwards where both are equally long.
    """
    for source, target in product(range(size), repeat=2):
        if full:
            far = (target - source) % size
            if far:
                yield [(source, far if 2 * far <= size else far - size, 0)]
            continue
        hops = {1: target - source, -1: source - target}
        if wraps:
            hops = {way: count % size for way, count in hops.items()}
        # Both ways where they are equally long: whichever a router takes is then right.
        least = min((count for count in hops.values() if count >= 0), default=0)
        for way in (way for way, count in hops.items() if count == least and least):
            route, here, channel = [], source, 0
            for _ in range(least):
                there = (here + way) % size
                channel |= int(wraps and abs(there - here) > 1)
                route.append((here, way, channel))
                here = there
            need(here == target, "a way does not arrive")
            yield route


def certified_escapes(experiment, certificate):
    """Raise `Refused` unless packets in escape channels wait for ever higher ranks."""
    shape, facts = escape_facts(experiment)
    for name, value in facts.items():
        need(name in certificate, f"the certificate lacks {name!r}")
        said = certificate[name]
        need(
            type(said) is type(value) and said == value,
            f"the certificate says {name} {said!r:.60}, the experiment {value!r:.60}",
        )
    unknown = set(certificate) - set(facts) - {"channels"}
    need(not unknown, f"the certificate has unknown fields: {sorted(unknown)!r:.60}")
    named_way = {
        (at, way): f"{'+-'[way < 0]}{'' if abs(way) == 1 else abs(way)}{NAMES[at]}"
        for at, size in enumerate(shape.sizes)
        for way in (range(-((size - 1) // 2), size // 2 + 1) if shape.full[at] else (1, -1))
    }
    rank = ranks_of(certificate, shape, facts["escape_channels"], named_way.values())
    # What packets may do at a coordinate of each dimension: way, channel, and the next channel if they go on.
    steps = [[set() for _ in range(size)] for size in shape.sizes]
    for at, size in enumerate(shape.sizes):
        for route in ways_of_line(size, shape.wraps[at], shape.full[at]):
            # A packet may come into an escape channel at any hop of its way.
            for hop, (here, way, channel) in enumerate(route):
                steps[at][here].add((way, channel, route[hop + 1][2] if hop + 1 < len(route) else None))
    count = 0
    for node in told(range(shape.count)):
        place = shape.coordinates(node)
        for at, here in enumerate(place):
            for way, channel, going_on in steps[at][here]:
                before = (node, named_way[at, way], channel)
                ahead = shape.moved(place, at, way)
                need(ahead is not None, f"there is no link {before[1]} from node {node}")
                number = shape.number(ahead)
                if going_on is not None:
                    after = [(number, named_way[at, way], going_on)]
                else:
                    # It turns into any later dimension.
                    after = [
                        (number, named_way[later, turn], next_channel)
                        for later in range(at + 1, len(place))
                        for turn, next_channel, _ in steps[later][ahead[later]]
                    ]
                for one in (before, *after):
                    need(one in rank, f"escape channel {one} has no rank")
                for one in after:
                    need(rank[before] < rank[one], f"rank does not rise from {before} to {one}")
                    count += 1
    return f"certificate holds for {len(rank)} escape channels and {count} waits, each for a higher rank"


# Plans of collective operations, with their bounds.

#: Chunks that nodes get over all links.
MOST_MOVES = 1 << 24
#: Most nodes that are not alike for which prices are followed.
MOST_UNLIKE = 128
#: Messages by nodes of a round whose raises of potentials are followed.
MOST_RAISES = 1 << 25
#: Operations that are others run backwards: over reversed links.
BACKWARDS = {"reduce-scatter": "all-gather", "reduce": "broadcast", "gather": "scatter"}
OPERATIONS = {*BACKWARDS, *BACKWARDS.values(), "all-reduce", "all-to-all", "all-to-all-v"}


#: Lists of the moves of a plan.
ROWS = ("sums", "moves")

#: Fields of networks by their kind: those they need, and others.
NETWORKS = {
    "torus": ("sizes", "kind wrap twist failed_nodes failed_links"),
    "mesh": ("sizes", "kind wrap twist failed_nodes failed_links"),
    "product": ("network", "kind failed_nodes failed_links"),
    "graph": ("kind cables failed_nodes failed_links", "nodes name names one_way hosts"),
}
#: Fields of plans in steps, and those that they may lack.
STEPS = "format operation topology twist width chunks root nodes demands latency steps bound optimal proof"
STEPS_MORE = "groups seed version directions adds sends paths sums moves"
#: The same of plans in rounds, and of what proves their bounds.
ROUNDS = "format operation topology twist pieces rounds loads size alpha bandwidth seconds alike"
ROUNDS_MORE = (
    "algorithm owned lengths messages message latencies bound prices cut clusters link_lengths version "
    "symmetries sums partials moves"
)
PRICED = ("nodes links", "potentials healthy")
#: Fields of proofs of plans in steps by their kind, besides it.
PROOFS = {
    "nothing": "",
    "cut": "nodes all_but",
    "distance": "from to",
    "hops": "",
    "lengths": "lengths",
    "root": "node",
    "arrival": "node",
    "farthest": "distance",
    "crossing": "nodes all_but from to",
    "transfers": "",
    "parts": "parts",
    "groups": "proofs",
}


def known_network(topology):
    """Refuse a network with unknown fields: what it means is not known."""
    need(type(topology) is dict, "topology: is not a table of fields")
    kind = topology.get("kind", "product" if "network" in topology else "torus")
    need(kind in NETWORKS, f"topology.kind: {kind!r:.40} is unknown; it is {', '.join(NETWORKS)}")
    only(topology, "topology", *NETWORKS[kind])


def known_proof(proof, place="proof"):
    """Refuse a proof with unknown fields."""
    need(type(proof) is dict, f"{place}: is not a table of fields")
    kind = proof.get("kind")
    need(kind in PROOFS, f"{place}.kind: {kind!r:.40} is unknown; it is {', '.join(PROOFS)}")
    only(proof, place, "kind", PROOFS[kind])
    for number, one in enumerate(proof.get("proofs", [])):
        known_proof(one, f"{place}.proofs[{number}]")


class Links:
    """Nodes and links that work; parallel links are counted."""

    def __init__(self, plan):
        topology = plan["topology"]
        self.twist = bool(plan["twist"] or topology.get("twist"))
        if topology["kind"] == "graph":
            self.failed = set(topology["failed_nodes"])
            self.cut = {frozenset(link) for link in topology["failed_links"]}
            ends = [tuple(cable) for cable in topology["cables"]]
            self.sizes, self.regular = (), False
            one_way = [tuple(link) for link in topology.get("one_way") or []]
            self.count = 1 + max(map(max, ends + one_way))
            links = Counter(ends) + Counter((b, a) for a, b in ends) + Counter(one_way)
            hosts = set(topology.get("hosts") or [])
        else:
            hosts = set()
            self.shape = shape = Shape({**topology, "twist": self.twist})
            self.twist, self.failed, self.cut = bool(shape.short), shape.failed, shape.cut
            self.sizes, self.count = shape.sizes, shape.count
            self.factors = self.widened(shape.factors, plan["width"])
            self.regular = all(kind != "line" or size == 2 for kind, size, _ in self.factors)
            links = Counter()
            for point in product(*map(range, self.sizes)):
                for end, several in self.around(point).items():
                    links[self.number(point), self.number(end)] += several
        out = Counter()
        for (start, _), several in links.items():
            out[start] += several
        self.links = Counter(
            {
                ends: n
                for ends, n in links.items()
                if frozenset(ends) not in self.cut and not self.failed & {*ends}
            }
        )
        self.whole = self.regular and not self.failed and not self.cut
        self.working = [node for node in range(self.count) if node not in self.failed]
        # Hosts of switches that work; where there are none, all nodes take part.
        joined = {node for pair in links if not self.failed & {*pair} for node in pair}
        self.members = sorted(hosts & joined) or self.working
        # Links of the member with the most of them, failed ones included.
        self.most = max(out[node] for node in hosts or range(self.count))
        self.next = {node: set() for node in range(self.count)}
        self.previous = {node: set() for node in range(self.count)}
        for a, b in self.links:
            self.next[a].add(b)
            self.previous[b].add(a)

    @staticmethod
    def widened(factors, width):
        """The factors with as many parallel links as a plan says."""
        if not width:
            return factors
        return [
            (kind, size, whole(several, 1, 64, "parallel links"))
            for (kind, size, _), several in zip(factors, width, strict=True)
        ]

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
        return self.shape.number(point)

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


class Collective:
    """What a plan says, with its network."""

    def __init__(self, document):
        need(document["format"] == "flitloom collective 1", "format: is another one")
        self.rows = {name: document.get(name, []) for name in ("adds", "sends", "paths", "sums", "moves")}
        self.name, self.proof = document["operation"], document["proof"]
        need(self.name in OPERATIONS, f"operation: {self.name!r:.40} is unknown")
        self.network = Links(document)
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
        for arrival, place, who in landing:
            if arrival <= step:
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
        for step, _, adds, (_, start, end, *block) in told(rows, "moves", 4096):
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
        need(kind != "groups", "proof: is one of groups")
        return 0 if kind == "nothing" else getattr(self, kind)()

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
            far = shortest(source, ahead)
            total += sum(count * far[target] for target, count in targets)
        return up(total, sum(value * self.links[ends] for ends, value in length.items())) + self.latency

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

    def parts(self):
        need(self.name == "all-reduce", "proof: parts are of sums")
        count, links = between_parts(self.net, self.members, self.proof["parts"])
        # Every part but one sends something of a sum, and every part but one receives something of it.
        return up(2 * self.plan.chunks * len(self.members) * (count - 1), links) + self.latency

    def crossing(self):
        inside, gathers, scatters = self.inside(), self.name == "all-gather", self.name == "scatter"
        spreads = self.name == "broadcast"
        known = self.exchange or gathers or spreads or scatters or self.name == "all-reduce"
        need(known, f"proof: a crossing says nothing of {self.plan.name}")
        rooted = spreads or scatters
        need(not rooted or self.proof["from"] == self.plan.root, "proof: it begins at the root")
        # Of an exchange that names no end or no start all nodes on that side count that send or receive.
        every = {side: self.exchange and side not in self.proof for side in ("from", "to")}
        members = self.members
        if any(every.values()):
            members = {node for pair in self.plan.wanted() for node in pair}
        ends = members - inside if scatters or every["to"] else {self.proof["to"]}
        starts = members & inside if gathers or every["from"] else {self.proof["from"]}
        need(
            starts and starts <= members & inside and ends and ends <= members - inside,
            "proof: both ends take part",
        )
        before = {}
        for start in starts:
            for node, hops in self.far(start).items():
                before[node] = min(hops, before.get(node, hops))
        behind = {}
        for end in ends:
            for node, hops in self.net.distances(end, not self.backwards).items():
                behind[node] = min(hops, behind.get(node, hops))
        over = [
            (before[a] + 1 + behind[b]) * (1 + self.latency)
            for (a, b), n in self.links.items()
            if a in inside and b not in inside and a in before and b in behind
            for _ in range(n)
        ]
        if gathers or scatters:
            count = self.plan.chunks * len(starts) * len(ends)
        elif self.exchange:
            wanted = self.plan.wanted().items()
            count = sum(chunks for (a, b), chunks in wanted if a in starts and b in ends)
        else:
            count = self.plan.chunks * (1 if spreads else len(self.members))
        need(over and count, "proof: nothing goes from one node to the other")
        steps = min(over)
        # A link of a path of so many steps can transfer one chunk more in each step from then on.
        while sum(max(0, steps + 1 - least) for least in over) < count:
            steps += 1
        return steps


def between_parts(net, members, parts):
    """How many parts of a network have members, with nodes alone that are in none, and the links between."""
    where = {node: (node,) for node in net.working}
    for number, part in enumerate(parts):
        for node in part:
            need(where.get(node) == (node,), f"parts: node {node!r:.20} is in two, or does not work")
            where[node] = number
    links = sum(several for (a, b), several in net.links.items() if where[a] != where[b])
    count = len({where[node] for node in members})
    need(count > 1 and links, "parts: several are needed, with links between them")
    return count, links


def of_groups(document):
    """A plan for every group over the links between its nodes, which are numbered by their places in it."""
    groups, proof = document["groups"], document["proof"]
    links = Links(document)
    for field in ("nodes", "root", "demands", "directions"):
        need(not document.get(field), f"{field}: does not go with groups")
    need(proof["kind"] == "groups" and len(proof["proofs"]) == len(groups) > 0, "proof: one of every group")
    known = [node for group in groups for node in group]
    need(len(set(known)) == len(known) and set(known) <= set(links.working), "groups: a node twice, or none")
    where = {node: number for number, group in enumerate(groups) for node in group}
    last = 5 if document["operation"] == "all-to-all" else 4
    dealt = [{name: [] for name in ROWS} for _ in groups]
    for name in ROWS:
        for row in document.get(name, []):
            need(row[1] in where, "a node of no group sends something")
            dealt[where[row[1]]][name].append(row)
    for number, group in enumerate(groups):
        place = {node: spot for spot, node in enumerate(group)}
        own = {"kind": "graph", "failed_nodes": [], "failed_links": []}
        own["cables"] = [
            (place[a], place[b])
            for (a, b), count in links.links.items()
            if a in place and b in place and place[a] < place[b]
            for _ in range(count)
        ]
        need(own["cables"], f"groups: nothing joins group {number}")
        for row in dealt[number]["sums"] + dealt[number]["moves"]:
            need(all(node in place for node in row[1:last]), f"{row}: leaves its group")
        rows = {
            name: [[row[0], *(place[node] for node in row[1:last]), *row[last:]] for row in listed]
            for name, listed in dealt[number].items()
        }
        part = {"topology": own, "twist": False, "width": [], "proof": proof["proofs"][number]}
        yield {**document, **part, **rows}


def verified_collective(document):
    """The steps and the bound of a plan, both counted anew; `Refused` if it claims anything else."""
    only(document, "", STEPS, STEPS_MORE)
    known_network(document["topology"])
    known_proof(document["proof"])
    parts = [document] if document.get("groups") is None else of_groups(document)
    plans = [Collective(one) for one in parts]
    steps, least = max(one.finish() for one in plans), max(Bound(one).steps() for one in plans)
    claimed = whole(document["steps"], 0, 1 << 32, "steps")
    need(steps == claimed, f"steps: the file says {claimed}, the last chunk arrives after {steps}")
    bound = whole(document["bound"], 0, 1 << 32, "bound")
    need(bound <= least, f"bound: the file says {bound}, its proof proves {least}")
    need(document["optimal"] is (steps == bound), "optimal: steps and bound say otherwise")
    proven = "no plan has fewer" if steps == bound else f"no plan has fewer than {bound}"
    said = f"verified: every chunk arrives within {steps} steps; {proven}"
    return {"steps": steps, "bound": bound, "optimal": steps == bound}, said


# Plans in rounds.


class Rounds:
    """What a plan in rounds says, with its network."""

    def __init__(self, document):
        self.name = document["operation"]
        known = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
        need(self.name in known, "operation: is unknown")
        self.network = Links({**document, "width": []})
        self.members = self.network.members
        need(len(self.members) > 1, "topology: fewer than two nodes take part")
        self.pieces = whole(document["pieces"], 1, 1 << 16, "pieces")
        self.message = document.get("message")
        self.latencies = {}
        for start, end, value in document.get("latencies", []):
            need((start, end) in self.network.links, "latencies: there is no such link")
            need((start, end) not in self.latencies, "latencies: a link has two")
            need(0 <= value < 1 << 20, "latencies: seconds are needed")
            self.latencies[start, end] = value
        self.alike, self.owned = document["alike"], document.get("owned", True)
        need(self.owned or (self.name == "all-reduce" and not self.alike), "owned: nodes have a share here")
        self.parts = self.pieces * (len(self.members) if self.owned else 1)
        # Without sums a part is there or not.
        self.passed_on = self.name in ("all-gather", "all-to-all")
        self.pairs = self.name == "all-to-all"
        blocks = self.pieces % len(self.members) == 0 and not self.alike and not document.get("lengths")
        need(not self.pairs or blocks, "pieces: a node has equal parts for every node")
        lengths = [whole(one, 1, 1 << 40, "lengths") for one in document.get("lengths", [])]
        need(len(lengths) in (0, self.pieces), f"lengths: {self.pieces} are needed")
        # How long the parts before every part are together.
        share = lengths or [1] * self.pieces
        self.before = [0, *accumulate(share * (self.parts // self.pieces))]
        self.count = whole(document["rounds"], 0, 1 << 20, "rounds")
        need(not self.alike or self.network.whole, "alike: not all nodes see the same network")
        self.rows = [(True, row) for row in document.get("sums", [])]
        partials = document.get("partials", [])
        need(not self.alike or not partials, "partials: they are those of all nodes")
        self.rows += [(True, row) for row in partials]
        self.rows += [(False, row) for row in document.get("moves", [])]
        # What partial sums are made of: what a node had in a round, and what it got from whom.
        named = [(row[at], row[at + 1], row[1]) for row in partials for at in range(5, len(row) - 1, 2)]
        self.begins = {turn for turn, node, end in named if node == end}
        self.asked = {one for one in named if one[1] != one[2]}
        self.kept = {}
        self.points = {}
        if self.network.whole:
            every = product(*map(range, self.network.sizes))
            self.points = {self.network.number(point): point for point in every}
        self.routes, self.known, self.spots, self.ahead = {}, {}, {}, {}
        #: Symmetries, and by the place of a node how many pieces of its part are listed; all without them.
        self.moved, self.shares = document.get("symmetries", []), {}
        if self.moved:
            bare = not (self.alike or self.pairs or partials or lengths) and self.owned
            need(bare, "symmetries: they are of equal parts of all nodes, which are not alike")
            self.led_by(self.moved)

    def led_by(self, moved):
        """What symmetries make of rows; `Refused` unless they keep links and lead parts to all parts."""
        net, listed = (
            self.network,
            {whole(row[3], 0, 1 << 32, "a row") // self.pieces for _, row in self.rows},
        )
        place = {node: number for number, node in enumerate(self.members)}
        for one in moved:
            need(len(one) == net.count, f"symmetries: places of {net.count} nodes are needed")
            ends = sorted(one[node] for node in self.members)
            need(ends == sorted(self.members), "symmetries: two nodes go to the same one")
            same = all(net.links.get((one[a], one[b])) == several for (a, b), several in net.links.items())
            need(same, "symmetries: one leads a link to where there is none, or fewer")
        reached = Counter()
        for owner in sorted(listed):
            need(owner < len(self.members), "a row: there are no such parts")
            ends = Counter(place[one[self.members[owner]]] for one in moved)
            even = len({*ends.values()}) == 1 and self.pieces * len(ends) % len(moved) == 0
            need(even, "symmetries: they do not lead a node to all equally often")
            self.shares[owner] = self.pieces * len(ends) // len(moved)
            reached.update(ends.keys())
        once = [reached[number] for number in range(len(self.members))]
        need(once == [1] * len(once), "symmetries: the parts of a node are of no listed node, or of several")
        for _, row in self.rows:
            owner, piece = divmod(row[3], self.pieces)
            fits = piece + whole(row[4], 1, 1 << 32, "a row") <= self.shares[owner]
            need(fits, f"{row}: is not of the first share of a node")

    def far(self, node, backwards=False):
        """Hops from a node, or to it."""
        if (node, backwards) not in self.known:
            self.known[node, backwards] = self.network.distances(node, backwards)
        return self.known[node, backwards]

    def apart(self, node, other):
        """Where the vector from a node to another one ends if it begins at node 0."""
        there, here = self.points[other], self.points[node]
        return self.network.number(self.network.normal([b - a for a, b in zip(here, there, strict=True)]))

    @cached_property
    def sums(self):
        """By two nodes the one at the sum of the vectors to them."""
        net, points = self.network, [self.points[node] for node in range(self.network.count)]
        return [
            [net.number(net.normal([x + y for x, y in zip(a, b, strict=True)])) for b in points]
            for a in points
        ]

    def finish(self):
        """Per round the parts on the busiest link; `Refused` unless all nodes get all they need."""
        # Without shares of nodes all parts are alike.
        owners = self.members[:1] if self.alike or not self.owned else self.members
        places = [*self.shares] if self.moved else [*range(len(owners))]
        owners = [owners[place] for place in places]
        need(len(owners) * len(self.members) * self.pieces <= MOST_MOVES, "pieces: too many to be followed")
        bit = {node: 1 << place for place, node in enumerate(self.members)}
        full = (1 << len(bit)) - 1
        has, wanted = {}, []
        for place, owner in zip(places, owners, strict=True):
            for part in range(place * self.pieces, place * self.pieces + self.shares.get(place, self.pieces)):
                if self.passed_on:
                    has[owner, part] = full
                else:
                    has.update(((node, part), bit[node]) for node in self.members)
                ends = [owner] if self.name[0] == "r" else self.members
                if self.pairs:
                    ends = [self.members[part % self.pieces * len(self.members) // self.pieces]]
                wanted += [(node, part) for node in ends]
        by_round, pairs = [[] for _ in range(self.count)], [set() for _ in range(self.count)]
        for adds, row in self.rows:
            turn, start, end, first, count, *made = (whole(value, 0, 1 << 32, "a row") for value in row)
            problem = ""
            if turn >= self.count:
                problem = "there is no such round"
            elif start not in bit or end not in bit or start == end:
                problem = "a node has failed, or sends to itself"
            elif not count or first + count > self.parts:
                problem = "there are no such parts"
            elif self.alike and start:
                problem = "is not of node 0"
            elif len(made) % 2:
                problem = "a round without a node"
            elif self.passed_on if adds else self.name == "reduce-scatter":
                problem = f"does not belong to {self.name}"
            if problem:
                raise Refused(f"{row}: {problem}")
            by_round[turn].append((adds, start, end, range(first, first + count), made))
            pairs[turn].add((start, end))
        self.slowed = self.delay(pairs)
        every = [self.spread(turn, rows) for turn, rows in enumerate(by_round)]
        self.messages = max(every, default=0)
        # Messages of a node over a link beyond the first one.
        self.further = sum((count - 1) // self.network.most for count in every if count)
        most = [self.send(turn, has, rows) for turn, rows in enumerate(told(by_round, "rounds", 1))]
        need(all(has.get(place) == full for place in wanted), "a node does not get a part, or not all of it")
        return most

    def delay(self, pairs):
        """Seconds that links with a latency add to the rounds of messages: in each its slowest route."""
        if not self.latencies:
            return 0.0
        count, ends, total = self.network.count, {}, 0.0
        for row in pairs:
            every = row
            if self.alike:
                every = {(self.sums[node][a], self.sums[node][b]) for a, b in row for node in range(count)}
            elif self.moved:
                every = {(one[a], one[b]) for a, b in row for one in self.moved}
            slowest = 0.0
            for start, end in every:
                if end not in ends:
                    ends[end] = self.slowest_to(end)
                need(start in ends[end], f"node {end} cannot be reached from node {start}")
                slowest = max(slowest, ends[end][start])
            total += slowest
        return total

    def slowest_to(self, end):
        """By node the seconds of its slowest minimal route to a node."""
        far, found = self.far(end, True), {end: 0.0}
        for node in sorted(far, key=far.__getitem__)[1:]:
            found[node] = max(
                self.latencies.get((node, other), 0.0) + found[other]
                for other in self.network.next[node]
                if far.get(other) == far[node] - 1
            )
        return found

    def spread(self, turn, rows):
        """The most nodes that one sends to, or receives from; `Refused` above the links of a node.

        Parts of an all-reduce may go different ways, so there it is counted part by part.
        """
        most, links = 0, self.network.most
        for side, verb in (1, "sends to"), (2, "receives from"):
            others, parts = {}, {}
            for row in rows:
                others.setdefault(row[side], set()).add(row[3 - side])
                parts.setdefault(row[side], []).append(row)
            if self.moved:
                led = {
                    (one[a], one[b]) for a, several in others.items() for b in several for one in self.moved
                }
                others = {}
                for a, b in led:
                    others.setdefault(a, set()).add(b)
            for node, several in others.items():
                most, count = max(most, len(several)), len(several)
                if count > links and self.name == "all-reduce" and not (self.alike or self.moved):
                    each = {}
                    for row in parts[node]:
                        for part in row[3]:
                            each.setdefault(part, set()).add(row[3 - side])
                    count = max(map(len, each.values()))
                fits = count <= links or self.message is not None
                need(fits, f"round {turn}: node {node} {verb} {count} nodes over {links} links")
        return most

    def send(self, turn, has, rows):
        """Sends the messages of a round, as all was when it began; the length on its busiest link."""
        lengths, arriving = Counter(), []
        if turn in self.begins:
            self.kept.update(((turn, node, node, part), who) for (node, part), who in has.items())
        for adds, start, end, parts, made in rows:
            for part in parts:
                sender, receiver, what = start, end, part
                if self.alike:
                    owner, what = divmod(part, self.pieces)
                    sender, receiver = self.apart(owner, start), self.apart(owner, end)
                if (sender, what) not in has:
                    raise Refused(f"node {sender} sends part {what}, which it does not have")
                who = self.made_of(made, turn, start, part) if made else has[sender, what]
                arriving.append((adds, (receiver, what), who))
                if (turn, start, end) in self.asked and adds:
                    need((turn, start, end, part) not in self.kept, f"part {part} comes twice to node {end}")
                    self.kept[turn, start, end, part] = who
            lengths[start, end] += self.before[parts.stop] - self.before[parts.start]
        for adds, place, who in arriving:
            if adds and has.get(place, 0) & who:
                raise Refused(f"something is added twice at {place}")
            has[place] = has.get(place, 0) | who if adds else who
        return self.busiest(lengths)

    def busiest(self, lengths):
        """The length on the busiest link under messages that take all minimal routes evenly."""
        loads = Counter()
        if not self.network.whole:
            for (start, end), length in lengths.items():
                for link, share in self.along(start, end):
                    loads[link] += share * length
            if self.moved:
                led = Counter()
                for one in self.moved:
                    for (a, b), load in loads.items():
                        led[one[a], one[b]] += load
                loads = led
            return max(loads.values(), default=0.0)
        # From all nodes it is as from node 0; where all do the same, so are the links that lead the same way.
        along = {}
        for (start, end), length in lengths.items():
            spots, vectors = self.beside(start)
            for node, way, share in self.from_origin(vectors[end]):
                if way not in along:
                    along[way] = [0.0] * self.network.count
                along[way][0 if self.alike else spots[node]] += share * length
        return max(map(max, along.values()), default=0.0)

    def made_of(self, made, turn, node, part):
        """Whose contributions are in a sum of some of what a node has."""
        who = 0
        for when, whence in zip(made[::2], made[1::2], strict=True):
            need(when < turn or (when == turn and whence == node), f"round {when} is not over")
            piece = self.kept.get((when, whence, node, part), 0)
            need(piece, f"partials: node {node} did not get part {part} from node {whence} in round {when}")
            need(not who & piece, f"partials: something is added twice at node {node}")
            who |= piece
        return who

    def beside(self, node):
        """Where vectors from node 0 to all nodes end if they begin at a node, and the other way round."""
        if node not in self.spots:
            here = self.points[node]
            ends = [
                self.network.normal([x + y for x, y in zip(here, self.points[n], strict=True)])
                for n in range(self.network.count)
            ]
            spots = [self.network.number(end) for end in ends]
            self.spots[node] = spots, {end: vector for vector, end in enumerate(spots)}
        return self.spots[node]

    def from_origin(self, end):
        """Links of all minimal routes from node 0: where they begin, their directions and shares."""
        if end not in self.ahead:
            self.ahead[end] = [(a, self.apart(a, b), share) for (a, b), share in self.along(0, end)]
        return self.ahead[end]

    def along(self, start, end):
        """Links of all minimal routes from a node to another one, with their shares."""
        if (start, end) not in self.routes:
            self.routes[start, end] = self.ways(start, end)
        return self.routes[start, end]

    def ways(self, start, end):
        """The same, found anew: routes that cross a link, by all routes."""
        net, near = self.network, self.far(end, True)
        need(start in near, f"node {end} cannot be reached from node {start}")
        come, steps = {start: 1}, []
        nodes = [start]
        for node in nodes:
            for other in net.next[node]:
                if near.get(other) == near[node] - 1:
                    if other not in come:
                        come[other] = 0
                        nodes.append(other)
                    come[other] += come[node] * net.links[node, other]
                    steps.append((node, other))
        onward = Counter({end: 1})
        for node, other in reversed(steps):
            onward[node] += onward[other] * net.links[node, other]
        return [(step, come[step[0]] * onward[step[1]] / onward[start]) for step in steps]


def least_vectors(plan, document):
    """Vectors on the busiest links that a plan's prices prove, by the number of rounds, or of more."""
    net, nodes = plan.network, len(plan.members)
    entering, leaving = Counter(), Counter()
    for (start, end), several in net.links.items():
        leaving[start] += several
        entering[end] += several
    fewest = min(min(entering[node], leaving[node]) for node in plan.members)
    # All that members send or receive goes over their own links.
    links = min(sum(counts[node] for node in plan.members) for counts in (entering, leaving))
    enters = max((nodes - 1) / links, (nodes - 1) / nodes / fewest)
    floor = enters
    if plan.name == "all-reduce":
        floor = max(2 * (nodes - 1) / links, 1 / fewest)
    elif plan.pairs:
        hops = sum(plan.far(node).get(other, 0) for node in plan.members for other in plan.members)
        floor = max(hops / nodes / sum(net.links.values()), (nodes - 1) / nodes / fewest)
    if cut := {*document.get("cut", [])}:
        across = sum(
            several for (start, end), several in net.links.items() if start in cut and end not in cut
        )
        back = sum(several for (start, end), several in net.links.items() if end in cut and start not in cut)
        count, most = len(cut & {*plan.members}), max(across, back)
        fits = cut <= {*net.working} and 0 < count < nodes and across
        need(fits, "cut: working nodes with links to some others are needed")
        gathered = max(count, nodes - count) / most / nodes
        enters = max(enters, gathered)
        crossing = {"all-reduce": 1 / most, "all-to-all": count * (nodes - count) / most / nodes}
        floor = max(floor, crossing.get(plan.name, gathered))
    if clusters := document.get("clusters"):
        need(plan.name == "all-reduce", "clusters: they are of sums")
        count, several = between_parts(net, plan.members, clusters)
        floor = max(floor, 2 * (count - 1) / several)
    if lengths := document.get("link_lengths"):
        floor = max(floor, vectors_along(plan, lengths))
    found = []
    for number, row in enumerate(document.get("prices", []), 1):
        need(not plan.pairs, "prices: they are of sums")
        alike = plan.members == net.working
        need(alike or not (row.get("healthy") or net.whole), "prices: some nodes only pass on")
        need(len(row["links"]) == number, f"prices: {number} rounds are needed")
        # The first sum needs a scatter, to where it costs least. Every other node needs a transfer.
        if row.get("healthy"):
            every, least = less_failures(plan, row, document)
            chunks, sums = sum(every), min(every) + (nodes - 1) * least
        elif net.whole:
            chunks = priced_chunks(plan, row["nodes"], row["links"])
            if row.get("potentials"):
                chunks = max(chunks, reached_chunks(plan, row["potentials"], row["links"]))
            sums = (chunks + (nodes - 1) * min(map(min, row["links"]))) / nodes
        else:
            need(not row.get("potentials"), "potentials: they are of nodes that are alike")
            every = priced_one_by_one(plan, row["nodes"], row["links"])
            chunks, last = sum(every), dict.fromkeys(plan.members, float("inf"))
            for lengths in row["links"]:
                for (_, end), length in zip(sorted(net.links), lengths, strict=True):
                    # Links to nodes that only pass on bring nothing there.
                    last[end] = min(last.get(end, 0.0), length)
            first = min(one - last[node] for node, one in zip(plan.members, every, strict=True))
            sums = first + sum(last[node] for node in plan.members)
        least = max(enters, chunks / nodes)
        if plan.name == "all-reduce":
            least = max(floor, chunks if number == 1 else sums)
        found.append(least)
    return [*found, floor]


def vectors_along(plan, rows):
    """Vectors on the busiest link of an all-to-all: links share what blocks have to go, by lengths."""
    need(plan.name == "all-to-all", "link_lengths: they are of all-to-alls")
    net, length = plan.network, {}
    for start, end, value in rows:
        need((start, end) in net.links, "link_lengths: there is no such link")
        need((start, end) not in length, "link_lengths: a link has two")
        length[start, end] = whole(value, 0, 10**7, "link_lengths")
    ahead = {}
    for start, end in net.links:
        ahead.setdefault(start, []).append((end, length.get((start, end), 0)))
    all_links = sum(value * net.links[ends] for ends, value in length.items())
    need(all_links, "link_lengths: all are 0")
    far = 0
    for node in plan.members:
        ways = shortest(node, ahead)
        far += sum(ways[other] for other in plan.members)
    return far / all_links / len(plan.members)


def less_failures(plan, row, document):
    """What prices of the network without failures prove of every chunk on what is left, and the least length.

    Messages cost the shortest way there. What failed nodes would pay does not count, nor do failed links.
    """
    topology = {**document["topology"], "failed_nodes": [], "failed_links": []}
    rows = {key: [] for key in ("symmetries", "sums", "partials", "moves")}
    whole_one = Rounds({**document, "topology": topology, **rows})
    need(whole_one.network.whole, "prices: without failures not all nodes are alike either")
    ways, net = sorted(whole_one.network.next[0]), plan.network
    for lengths in row["links"]:
        lengths_by_way(whole_one, lengths)
    once = max(
        sum(
            several * lengths[ways.index(whole_one.apart(start, end))]
            for (start, end), several in net.links.items()
        )
        for lengths in row["links"]
    )
    prices, found = row["nodes"], []
    worth = sum(prices) - priced_chunks(whole_one, prices, row["links"], cheapest)
    found.append(
        [sum(prices[whole_one.apart(owner, node)] for node in plan.members) - worth for owner in plan.members]
    )
    if row.get("potentials"):
        far, last = whole_one.far(0), row["potentials"][-1]
        reached = reached_chunks(whole_one, row["potentials"], row["links"], cheapest)
        heights = [last[far[node] - 1][0] if node else 0.0 for node in range(net.count)]
        share = reached / (sum(heights) or 1.0)
        found.append(
            [
                share * sum(heights[whole_one.apart(owner, node)] for node in plan.members)
                for owner in plan.members
            ]
        )
    least = min(map(min, row["links"])) / once
    return [one / once for one in max(found, key=sum)], least


def cheapest(plan, row):
    """What a chunk costs by the shortest of all its routes, by the vector that it goes."""
    ways, found = sorted(plan.network.next[0]), {0: 0.0}
    border = [0]
    while border:
        reached = {}
        for node in border:
            for way, length in zip(ways, row, strict=True):
                end, cost = plan.sums[node][way], found[node] + length
                if cost < min(found.get(end, cost + 1), reached.get(end, cost + 1)):
                    reached[end] = cost
        found.update(reached)
        border = list(reached)
    return [found[node] for node in range(plan.network.count)]


def priced_chunks(plan, prices, links, costs_of=None):
    """Chunks on the busiest links of an all-gather that prices of nodes and lengths of links prove."""
    net, costs_of = plan.network, costs_of or vector_costs
    fits = len(prices) == net.count and all(0 <= price < 1 << 20 for price in prices)
    need(fits, "prices: one of every node is needed")
    worth = list(map(float, prices))
    for row in reversed(links):
        costs = sorted((cost, end) for end, cost in enumerate(costs_of(plan, row)) if end)
        # Vectors whose cost no chunk is worth gain nothing.
        cheap = [one for one in costs if one[0] < max(worth)]
        worth = [
            own + sum(max(worth[ends[vector]] - cost, 0) for cost, vector in cheap)
            for own, ends in zip(worth, plan.sums, strict=True)
        ]
    return sum(prices) - worth[0]


def lengths_by_way(plan, row):
    """Lengths of all links that lead a way together; `Refused` unless they are those of a round."""
    net = plan.network
    ways = sorted(net.next[0])
    fits = len(row) == len(ways) and all(0 <= length <= 1 for length in row)
    need(fits, "prices: one length of every link is needed")
    # Parallel links have the same share each.
    length = {way: net.links[0, way] * one for way, one in zip(ways, row, strict=True)}
    need(sum(length.values()) <= 1 + 1e-9, "prices: the lengths of links add up to more than one")
    return length


def vector_costs(plan, row):
    """What a chunk costs, by the vector that it goes, if links have some lengths."""
    length, count = lengths_by_way(plan, row), plan.network.count
    return [0.0] + [
        sum(share * length[way] for _, way, share in plan.from_origin(end)) for end in range(1, count)
    ]


def reached_chunks(plan, potentials, links, costs_of=None):
    """Chunks on the busiest links of an all-gather that potentials of nodes prove: all must be reached."""
    far, sums = plan.far(0), plan.sums
    count, most = plan.network.count, max(far.values())
    rows = [row for table in potentials for row in table]
    fits = {*map(len, potentials)} == {most} and len(potentials) == len(links)
    fits = fits and all(len(row) == most + 1 and all(0 <= one < 1 << 20 for one in row) for row in rows)
    need(fits, f"potentials: {len(links)} times {most} times {most + 1} are needed")
    for before, after in pairwise(potentials):
        steady = all(
            a >= b for old, new in zip(before, after, strict=True) for a, b in zip(old, new, strict=True)
        )
        need(steady, "potentials: one rises while nothing is sent")
    need(not any(row[away] for away, row in enumerate(potentials[0], 1)), "potentials: node 0 had the chunk")
    senders = unlike_senders(plan, links)
    need(len(senders) * count**2 <= MOST_RAISES, "potentials: too many nodes are to be looked at")
    # By two nodes the hops from the first one to the second one.
    hops = [[0] * count for _ in range(count)]
    for here, ends in enumerate(sums):
        for vector, end in enumerate(ends):
            hops[here][end] = far[vector]
    kinds = [far[node] - 1 for node in range(1, count)]
    over, before = 1.0, [[0.0] * (count - 1)] * count
    for turn, table in enumerate(potentials):
        costs = (costs_of or vector_costs)(plan, links[turn])
        after = [[table[kind][away] for kind, away in zip(kinds, row[1:], strict=True)] for row in hops]
        for sender in senders if turn else [0]:
            had = before[sender]
            for cost, end in zip(costs, sums[sender], strict=True):
                raised = sum(new - old for new, old in zip(after[end], had, strict=True) if new > old)
                if raised > over * cost:
                    need(cost, "potentials: a message that costs nothing raises them")
                    over = raised / cost
        before = after
    return sum(potentials[-1][kind][0] for kind in kinds) / over


def unlike_senders(plan, links):
    """Nodes that represent all others: mirrored, or with dimensions exchanged, if that changes no length."""
    net, points = plan.network, plan.points
    ways = sorted(net.next[0])
    places = range(len(net.sizes))
    moves = [[(place, -1) for place in places]]
    moves += [[(place, -1 if place == one else 1) for place in places] for one in places]
    for one, other in combinations(places, 2):
        moves.append([({one: other, other: one}.get(place, place), 1) for place in places])
    stands = list(range(net.count))
    for move in moves:
        moved = [
            net.number(net.normal([sign * points[node][place] for place, sign in move]))
            for node in range(net.count)
        ]
        same = sorted(moved) == [*range(net.count)] and all(moved[way] in net.next[0] for way in ways)
        same = same and all(net.links[0, way] == net.links[0, moved[way]] for way in ways)
        same = same and all(
            row[ways.index(moved[way])] == length
            for row in links
            for way, length in zip(ways, row, strict=True)
        )
        # Sums go to sums, so all links go to links.
        if same and all(
            moved[ends[way]] == plan.sums[moved[node]][moved[way]]
            for node, ends in enumerate(plan.sums)
            for way in ways
        ):
            for node in range(net.count):
                chain = sorted({node, moved[node]})
                stands[chain[-1]] = min(stands[chain[-1]], chain[0])
    return [node for node in range(net.count) if stands[node] == node]


def priced_one_by_one(plan, prices, links):
    """The same chunk by chunk, where nodes do not see the same network: what every chunk costs at least."""
    net, members = plan.network, plan.members
    count, ends = len(members), sorted(net.links)
    need(count <= MOST_UNLIKE, f"prices: more than {MOST_UNLIKE} nodes are not alike")
    fits = len(prices) == count * count and all(0 <= price < 1 << 20 for price in prices)
    need(fits, "prices: one of every chunk at every node is needed")
    own = [list(map(float, prices[at : at + count])) for at in range(0, count * count, count)]
    worths = own
    for row in reversed(links):
        fits = len(row) == len(ends) and all(0 <= length <= 1 for length in row)
        need(fits, "prices: one length of every link is needed")
        length = dict(zip(ends, row, strict=True))
        once = sum(length[one] * net.links[one] for one in ends)
        need(once <= 1 + 1e-9, "prices: the lengths of links add up to more than one")
        costs = [[] for _ in members]
        for place, end in enumerate(members):
            far = plan.far(end, True)
            ways, mean = {end: 1}, {end: 0.0}
            for node in sorted(far, key=far.__getitem__)[1:]:
                onward = [
                    (net.links[node, one], one) for one in net.next[node] if far.get(one) == far[node] - 1
                ]
                ways[node] = sum(several * ways[one] for several, one in onward)
                mean[node] = (
                    sum(several * ways[one] * (length[node, one] + mean[one]) for several, one in onward)
                    / ways[node]
                )
            for number, node in enumerate(members):
                if node != end and node in mean:
                    costs[number].append((mean[node], place))
        for one in costs:
            one.sort()
        found = []
        for worth in worths:
            most, after = max(worth), []
            for here, several in zip(worth, costs, strict=True):
                for cost, place in several:
                    if cost >= most:
                        break
                    here += max(worth[place] - cost, 0)
                after.append(here)
            found.append(after)
        worths = found
    return [sum(row) - worths[place][place] for place, row in enumerate(own)]


def least_seconds(plan, document):
    """Seconds of an operation at least, over all numbers of rounds."""
    least, nodes, links = least_vectors(plan, document), len(plan.members), plan.network.most
    fewest = 0
    while (1 + links) ** fewest < nodes:
        fewest += 1
    # Links with a latency: the least of one, and of a way between the two nodes that are farthest apart.
    nearest, farthest, found = 0.0, 0.0, []
    if plan.latencies:
        ahead = {}
        for start, end in plan.network.links:
            ahead.setdefault(start, []).append((end, plan.latencies.get((start, end), 0.0)))
        nearest = min(length for row in ahead.values() for _, length in row)
        every = [shortest(node, ahead) for node in plan.members]
        farthest = max(ways[other] for ways in every for other in plan.members)
    for rounds in range(1 if plan.message is not None else fewest, max(fewest, len(least)) + 1):
        # Messages over a link, so that every node can have heard of all.
        counts = [1] * rounds
        while prod(1 + links * count for count in counts) < nodes:
            counts[counts.index(min(counts))] += 1
        start = rounds * document["alpha"] + (sum(counts) - rounds) * (plan.message or 0)
        start += max(rounds * nearest, farthest)
        vectors = least[min(rounds, len(least)) - 1]
        found.append(start + vectors * document["size"] / document["bandwidth"])
    return min(found)


def verified_rounds(document):
    """The rounds, the loads and the time of a plan, counted anew; `Refused` if it claims anything else."""
    only(document, "", ROUNDS, ROUNDS_MORE)
    known_network(document["topology"])
    for number, row in enumerate(document.get("prices", [])):
        only(row, f"prices[{number}]", *PRICED)
    plan = Rounds(document)
    most = plan.finish()
    need(len(most) == len(document["loads"]), f"loads: {plan.count} are needed")
    for number, (found, said) in enumerate(zip(most, document["loads"], strict=True)):
        need(abs(float(found) - said) <= 1e-9 * said, f"loads: round {number} has {float(found)}")
    claimed = document.get("messages")
    need(claimed in (None, plan.messages), f"messages: a node has up to {plan.messages} in a round")
    factor = sum(most) / plan.before[plan.pieces if plan.pairs else -1]
    bytes_ = document["size"] / document["bandwidth"]
    seconds = plan.count * document["alpha"] + float(factor) * bytes_ + plan.slowed
    if plan.message is not None:
        need(0 <= plan.message < float("inf"), "message: seconds are needed")
        seconds += plan.further * plan.message
    fits = seconds < float("inf") and abs(seconds - document["seconds"]) <= 1e-9 * seconds
    need(fits, f"seconds: they are {seconds}")
    claimed = document.get("bound")
    if claimed is not None:
        need(claimed <= least_seconds(plan, document) * (1 + 1e-9), "bound: its prices prove less")
    said = f"verified: every part arrives in {plan.count} rounds, {float(factor):.4g} vectors on a link"
    facts = {"rounds": plan.count, "messages": plan.messages, "factor": float(factor)}
    return facts | {"microseconds": 1e6 * seconds}, said


# Placements of ranks, with their bounds.


class Board(Shape):
    """Where ranks are placed, with dimension-order routing."""

    def degree(self):
        """Channels that leave a node in the middle of its lines."""
        return sum(k - 1 if full else min(k - 1, 2) for k, full in zip(self.sizes, self.full, strict=True))

    def displacements(self, a, b):
        """Shortest displacements from coordinates to others."""
        if not self.short:
            choices = []
            for dimension, size in enumerate(self.sizes):
                ahead = b[dimension] - a[dimension]
                if not self.wraps[dimension]:
                    choices.append([ahead])
                    continue
                ahead %= size
                choices.append(
                    [ahead] if 2 * ahead < size else [ahead - size] if 2 * ahead > size else [ahead, -ahead]
                )
            return [list(one) for one in product(*choices)]
        best, found = None, []
        short = [d for d, size in enumerate(self.sizes) if size == self.short]
        for turns in product((-1, 0, 1), repeat=len(short)):
            base = [b[d] - a[d] for d in range(len(a))]
            for d, turn in zip(short, turns, strict=True):
                base[d] += turn * self.sizes[d]
            shift = sum(turns)
            choices = []
            for d, size in enumerate(self.sizes):
                if d in short:
                    choices.append([base[d]])
                    continue
                ahead = (base[d] - shift * size // 2) % size
                choices.append(
                    [ahead] if 2 * ahead < size else [ahead - size] if 2 * ahead > size else [ahead, -ahead]
                )
            for one in product(*choices):
                length = sum(map(abs, one))
                if best is None or length < best:
                    best, found = length, []
                if length == best and list(one) not in found:
                    found.append(list(one))
        return found

    def way(self, source, destination):
        """Channels (node, dimension, forwards) of the way: dimension after dimension, at exactly half a ring
        minus from the lower half of the coordinates, plus from the upper one.
        """
        here = self.coordinates(source)
        left = self.displacements(here, self.coordinates(destination))
        channels = []
        for dimension, size in enumerate(self.sizes):
            hops = [one[dimension] for one in left]
            chosen = max(hops) if 2 * here[dimension] >= size - size % 2 else min(hops)
            left = [one for one in left if one[dimension] == chosen]
            if self.full[dimension] and chosen:
                # One hop, over the cable of these two places.
                channels.append((self.number(here), dimension, chosen))
                here[dimension] += chosen
                continue
            for _ in range(abs(chosen)):
                channels.append((self.number(here), dimension, chosen > 0))
                here = self.moved(here, dimension, 1 if chosen > 0 else -1)
        need(self.number(here) == destination, "a way does not arrive")
        return channels

    def joined(self, here, there):
        """The channel (node, dimension, forwards) over a working cable between neighbours."""
        need(here not in self.failed and there not in self.failed, f"node {here} or {there} has failed")
        need(frozenset((here, there)) not in self.cut, f"the cable {here}-{there} has failed")
        place, target = self.coordinates(here), self.coordinates(there)
        need(not any(self.full), "ways: products with full meshes have those of dimension order")
        for dimension in range(len(self.sizes)):
            for forwards in (True, False):
                if self.moved(place, dimension, 1 if forwards else -1) == target:
                    return here, dimension, forwards
        raise Refused(f"nodes {here} and {there} are not neighbours")

    def channels(self, dimension):
        """Channels of a dimension: both directions of all its links."""
        rows = self.count // self.sizes[dimension]
        if self.full[dimension]:
            return self.count * (self.sizes[dimension] - 1)
        links = self.sizes[dimension] if self.wraps[dimension] else self.sizes[dimension] - 1
        return 2 * rows * links

    def distances(self, lengths):
        """Distances to all nodes, ascending, each the least over all nodes they are measured from."""
        sources = [0]
        if not self.short and any(
            not wraps and not full and size > 2
            for wraps, full, size in zip(self.wraps, self.full, self.sizes, strict=True)
        ):
            sources = range(self.count)
        least = None
        for source in sources:
            here = self.coordinates(source)
            lines = []
            for node in range(self.count):
                there = self.coordinates(node)
                if self.short:
                    hops = sum(map(abs, self.displacements(here, there)[0]))
                    lines.append(hops * min(lengths))
                    continue
                total = 0
                for dimension, size in enumerate(self.sizes):
                    apart = abs(here[dimension] - there[dimension])
                    apart = min(apart, size - apart) if self.wraps[dimension] else apart
                    apart = min(apart, 1) if self.full[dimension] else apart
                    total += apart * lengths[dimension]
                lines.append(total)
            lines.sort()
            least = lines if least is None else [min(a, b) for a, b in zip(least, lines, strict=True)]
        return least


class Wiring:
    """Hosts at switches, where ranks are placed, and the cables between these."""

    def __init__(self, wiring, host_cables):
        # Whether cables of hosts are channels like any other.
        self.host_cables = host_cables
        self.switches = len(wiring["switches"])
        need(1 <= self.switches <= LARGEST, "wiring.switches: is empty, or too long")
        last = self.switches - 1
        self.hosts = [whole(one, 0, last, "wiring.hosts") for one in wiring["hosts"]]
        self.cables = []
        for ends in wiring["cables"]:
            need(len(ends) == 2 and ends[0] != ends[1], "wiring.cables: a cable joins two switches")
            self.cables.append([whole(one, 0, last, "wiring.cables") for one in ends])
        self.count, self.near = len(self.hosts), [[] for _ in range(self.switches)]
        self.failed = {whole(host, 0, self.count - 1, "wiring.failed") for host in wiring.get("failed", [])}
        #: The switches of hosts that work.
        self.working = [switch for host, switch in enumerate(self.hosts) if host not in self.failed]
        for number, (a, b) in enumerate(self.cables):
            self.near[a].append((b, number))
            self.near[b].append((a, number))

    def led(self, way):
        """The pair of hosts that a way joins, and its channels: 2 i along cable i, 2 i + 1 back."""
        need(type(way) is list and len(way) >= 2, "ways: a way has a source and a destination")
        source, destination, *channels = way
        here = self.hosts[whole(source, 0, self.count - 1, "ways")]
        whole(destination, 0, self.count - 1, "ways")
        for channel in channels:
            ends = self.cables[whole(channel, 0, 2 * len(self.cables) - 1, "ways") // 2]
            tail, here_after = ends if channel % 2 == 0 else ends[::-1]
            need(here == tail, f"ways: channel {channel} does not begin where {source} to {destination} is")
            here = here_after
        need(here == self.hosts[destination], f"ways: {source} to {destination} does not arrive")
        return (source, destination), channels

    def spots(self, per_node):
        """Places besides its own that a rank has at its switch, and the channels from there."""
        counts = Counter(self.working)
        return {(count * per_node - 1, len(self.near[switch])) for switch, count in counts.items()}

    def sorted_sum(self, ranks, bytes_of, per_node, lengths, of_host=0):
        """At least this many bytes times lengths, every rank at the switch that is best for it alone.

        What leaves a host, and what comes to one, crosses its cable, which has a separate length.
        """
        partners = [{} for _ in range(ranks)]
        for (source, destination), amount in bytes_of.items():
            for one, other in ((source, destination), (destination, source)):
                partners[one][other] = partners[one].get(other, 0) + amount
        lists = Counter(tuple(sorted(one.values(), reverse=True)) for one in partners)
        most, rows = max(map(len, lists)), set()
        ahead = {
            here: [(there, lengths[cable]) for there, cable in near] for here, near in enumerate(self.near)
        }
        for start in set(self.working):
            far = shortest(start, ahead)
            # What is not reached is as far as the farthest.
            farthest = max(far.values())
            places = sorted(far.get(switch, farthest) for switch in self.working for _ in range(per_node))
            # The host of a rank itself is at its switch.
            others = [each + 2 * of_host for each in places[per_node:]]
            rows.add(tuple(([0] * (per_node - 1) + others)[:most]))
        return up(
            sum(
                count * min(sum(a * d for a, d in zip(amounts, row, strict=False)) for row in rows)
                for amounts, count in lists.items()
            ),
            2,
        )

    def outwards(self, count, ranks, bytes_of, axes):
        """The least that any set of this many ranks sends to the others, or receives from them."""
        load, units = worst_edge(axes or [], ranks)
        best = up(8 * count * (ranks - count) * units, load) if load else 0
        for side in (0, 1):
            lists = [[] for _ in range(ranks)]
            for pair, amount in bytes_of.items():
                lists[pair[side]].append(amount)
            for each in lists:
                each.sort()
            # Of so many ranks each keeps its largest messages inside at best; the others send theirs in.
            for few in (count, ranks - count):
                left = sorted(sum(each[: max(0, len(each) - few + 1)]) for each in lists) if few else []
                best = max(best, sum(left[:few]))
        return best

    def proven(self, proof, ranks, bytes_of, axes, per_node, hops):
        """The number that a certificate proves, before it is rounded up."""
        kind = proof["kind"]
        if kind == "sorted":
            lengths = [whole(each, 0, 1 << 40, "lengths") for each in proof["lengths"]]
            need(len(lengths) == len(self.cables), "lengths: one per cable")
            need(max(lengths, default=0) <= 1 or not hops, "lengths: hop-bytes count every hop once")
            of_host = whole(proof.get("hosts", 0), 0, 1, "hosts")
            need(not of_host or (hops and self.host_cables), "hosts: their cables do not count here")
            total = self.sorted_sum(ranks, bytes_of, per_node, lengths, of_host)
            return total if hops else up(total, 2 * sum(lengths))
        need(not hops, f"a certificate of the kind {kind!r:.40} is not about this")
        # A host is as a switch with one cable.
        of_host = proof.get("host", False)
        need(not of_host or self.host_cables, "host: cables of hosts do not count here")
        spots = {(per_node - 1, 1)} if of_host else self.spots(per_node)
        if kind == "across":
            need(of_host, "across: is about hosts")
            few, many = up(ranks, len(self.working)), min(per_node, ranks)
            return min(self.outwards(count, ranks, bytes_of, axes) for count in range(few, many + 1))
        if kind == "cut":
            inside = {whole(one, 0, self.switches - 1, "cut") for one in proof["switches"]}
            channels = sum((a in inside) != (b in inside) for a, b in self.cables)
            need(channels > 0, "switches: no channel leaves them")
            places = per_node * sum(switch in inside for switch in self.working)
            few, many = max(0, ranks - (per_node * len(self.working) - places)), min(places, ranks)
            step = divisor(bytes_of.values())
            least = min(self.outwards(count, ranks, bytes_of, axes) for count in range(few, many + 1))
            return up(up(least, step) * step, channels)
        if kind == "message":
            need(all(aside == 0 for aside, _ in spots), "a message may stay at its switch")
            return bytes_of.get((proof["source"], proof["destination"]), 0)
        if kind == "component":
            left, least = set(proof["ranks"]), whole(proof["bytes"], 1, 1 << 62, "bytes")
            need(len(left) > 1 + max(aside for aside, _ in spots), "ranks: fit at one switch")
            ahead, partners = [left.pop()], {}
            for pair, amount in bytes_of.items():
                for one, other in (pair, pair[::-1]) if amount >= least else ():
                    partners.setdefault(one, []).append(other)
            while ahead:
                reached = left.intersection(partners.get(ahead.pop(), ()))
                left -= reached
                ahead += reached
            need(not left, "ranks: are not joined by messages as large")
            return least
        need(kind in ("degree", "packing"), f"a certificate {kind!r:.40}")
        side = 0 if proof["sends"] else 1
        amounts = sorted(
            (each for pair, each in bytes_of.items() if pair[side] == proof["rank"]), reverse=True
        )
        values = []
        for aside, channels in spots:
            need(channels > 0, "a switch has no cables")
            if kind == "degree":
                values.append(up(sum(amounts[aside:]), channels))
                continue
            shared = whole(proof["shared"], 1, LARGEST, "shared")
            last = aside + (shared - 1) * channels + 1
            need(last <= len(amounts), "shared: the rank has too few messages")
            values.append(sum(amounts[last - shared : last]))
        return min(values)


def pairs_of(traffic, names=None):
    """Bytes per ordered pair of ranks, from axes (only those with these names) or from rows."""
    ranks = whole(traffic["ranks"], 1, LARGEST, "traffic.ranks")
    bytes_of = {}
    if "axes" not in traffic:
        for source, destination, amount in traffic["pairs"]:
            whole(source, 0, ranks - 1, "traffic.pairs")
            whole(destination, 0, ranks - 1, "traffic.pairs")
            whole(amount, 0, 1 << 62, "traffic.pairs")
            if source != destination and amount:
                bytes_of[source, destination] = bytes_of.get((source, destination), 0) + amount
        return ranks, bytes_of
    stride = 1
    for axis in traffic["axes"]:
        size = whole(axis["size"], 1, LARGEST, "traffic.axes")
        amount = whole(axis["bytes"], 1, 1 << 62, "traffic.axes")
        for rank in range(ranks) if names is None or axis["name"] in names else ():
            here = rank // stride % size
            if axis["kind"] == "a2a":
                there = set(range(size))
            elif axis["kind"] == "ring":
                there = {(here + 1) % size, (here - 1) % size}
            elif axis["kind"] == "line":
                there = {one for one in (here - 1, here + 1) if 0 <= one < size}
            else:
                need(axis["kind"] == "pairs", "traffic.axes: an unknown kind")
                there = {here ^ (1 << bit) for bit in range(size.bit_length() - 1)}
            for one in there - {here}:
                pair = rank, rank + (one - here) * stride
                bytes_of[pair] = bytes_of.get(pair, 0) + amount
        stride *= size
    need(stride == ranks, "traffic.axes: their product is not the number of ranks")
    return ranks, bytes_of


def divisor(numbers):
    found = 0
    for number in numbers:
        while number:
            found, number = number, found % number
    return found or 1


def sorted_sum(network, ranks, bytes_of, per_node, lengths):
    """At least this many bytes times lengths: every rank's largest partners at the least distances."""
    distances = [each for each in network.distances(lengths) for _ in range(per_node)][1:]
    partners = [{} for _ in range(ranks)]
    for (source, destination), amount in bytes_of.items():
        for one, other in ((source, destination), (destination, source)):
            partners[one][other] = partners[one].get(other, 0) + amount
    total = 0
    for rank in range(ranks):
        amounts = sorted(partners[rank].values(), reverse=True)
        total += sum(a * d for a, d in zip(amounts, distances, strict=False))
    return up(total, 2)


#: 2 pi, and what fractions are multiples of, as whole numbers of 40 digits.
ONE = 10**40
TURN = 62831853071795864769252867665590057683943


def cosine(part, whole_turn):
    """cos(2 pi part / whole_turn) times ONE, wrong by less than 10^-30."""
    part = min(part % whole_turn, -part % whole_turn)
    angle = TURN * part // whole_turn
    square = angle * angle // ONE
    total, term = 0, ONE
    for step in range(1, 60, 2):
        total += term
        term = -(term * square // ONE) // (step * (step + 1))
    return total


class Scheme:
    """Classes of the ordered pairs of an axis, and positive semidefinite matrices that they make up."""

    def __init__(self, kind, size):
        self.kind, self.size = kind, size
        if kind == "clique":
            self.pairs = [size, size * (size - 1)] if size > 1 else [1]
        elif kind == "ring":
            self.pairs = [size * (1 if 2 * t in (0, size) else 2) for t in range(size // 2 + 1)]
        elif kind == "cube":
            need(size & (size - 1) == 0, "mesh: a cube has a power of two of places")
            self.bits = size.bit_length() - 1
            self.pairs = [size * comb(self.bits, t) for t in range(self.bits + 1)]
        else:
            need(
                kind == "line" and size <= 64, "mesh: there are cliques, rings, cubes, and lines of up to 64"
            )
            self.line = sorted({self.turned(i, j) for i in range(size) for j in range(size)})
            self.number = {pair: at for at, pair in enumerate(self.line)}
            self.pairs = [0] * len(self.line)
            for i, j in product(range(size), repeat=2):
                self.pairs[self.number[self.turned(i, j)]] += 1
        self.groups = (size + 1) // 2 if kind == "line" else 1
        #: As many matrices as places on a line, else as classes.
        self.blocks = size if kind == "line" else len(self.pairs)

    def turned(self, i, j):
        return min((i, j), (self.size - 1 - i, self.size - 1 - j))

    def of(self, i, j):
        """The class of two places."""
        if self.kind == "ring":
            return min((i - j) % self.size, (j - i) % self.size)
        if self.kind == "cube":
            return (i ^ j).bit_count()
        return self.number[self.turned(i, j)] if self.kind == "line" else int(i != j)

    def same(self, at):
        """Whether a class has places with themselves."""
        return self.line[at][0] == self.line[at][1] if self.kind == "line" else at == 0

    def source(self, at):
        """The group of places where the pairs of a class begin."""
        return min(self.line[at][0], self.size - 1 - self.line[at][0]) if self.kind == "line" else 0

    def matrix(self, e, at):
        """What matrix e has in a class, times ONE: characters of the group, or waves on a line."""
        if self.kind == "ring":
            return cosine(e * at, self.size)
        if self.kind == "line":
            i, j = self.line[at]
            return cosine(e * (2 * i + 1), 4 * self.size) * cosine(e * (2 * j + 1), 4 * self.size) // ONE
        if self.kind == "cube":
            n = self.bits
            value = sum(
                (-1) ** j * comb(at, j) * comb(n - at, e - j) for j in range(e + 1) if e - j <= n - at
            )
            return ONE * value // comb(n, e)
        return -ONE // (self.size - 1) if e and at else ONE


def along(numbers, shape, matrices):
    """A matrix applied along every axis of a list of numbers, divided by ONE each time."""
    for matrix in matrices:
        size, rest = shape[0], len(numbers) // shape[0]
        wide = len(matrix[0])
        done = [0] * (rest * wide)
        # The axis that is done becomes the last one.
        for one in range(size):
            row = matrix[one]
            for at in range(rest):
                number = numbers[one * rest + at]
                if number:
                    for to in range(wide):
                        done[at * wide + to] += number * row[to]
        numbers = [number // ONE for number in done]
        shape = [*shape[1:], wide]
    return numbers


def least_of_classes(schemes, number, bytes_of):
    """The least that two ranks of a class send each other, both ways together, and how many pairs do."""
    least, seen = [None] * len(number), [0] * len(number)
    for (a, b), amount in bytes_of.items():
        back = bytes_of.get((b, a))
        for one, other in ((a, b), (b, a)) if back is None else ((a, b),):
            at = []
            for scheme in schemes:
                at.append(scheme.of(one % scheme.size, other % scheme.size))
                one, other = one // scheme.size, other // scheme.size
            at = number[tuple(at)]
            both = amount + (back or 0)
            seen[at] += 1
            least[at] = both if least[at] is None else min(least[at], both)
    return least, seen


def cosine_sum(proof, network, ranks, bytes_of):
    """At least this many bytes times lengths, by positive semidefinite cosine matrices, times 2 scale ONE.

    A pair of ranks has a class (one per axis of the mesh that the certificate names) and a displacement (per
    dimension, without its sign). Every weight belongs to a matrix over the classes and a frequency, and says
    that the sum over all pairs of the product of both is at least 0; v belongs to a group of ranks and a
    displacement, at which every rank has as many others as there are nodes. What a class then costs at least
    is counted here, from the least bytes that its pairs exchange, not taken from the file.
    """
    need(ranks == network.count and not network.short, "a cosine bound is for a torus that is full")
    need(
        all(w or k == 2 for w, k in zip(network.wraps, network.sizes, strict=True)),
        "a mesh has no cosine bound",
    )
    scale = whole(proof["scale"], 1, 10**18, "scale")
    sizes = network.sizes
    lengths = [whole(each, 0, 10**18, "lengths") for each in proof["lengths"]]
    need(len(lengths) == len(sizes), "lengths: one per dimension")
    places = list(product(*(range(k // 2 + 1) for k in sizes)))
    schemes = [Scheme(kind, whole(size, 1, 4096, "mesh")) for size, kind in proof["mesh"]]
    reached = 1
    for scheme in schemes:
        reached *= scheme.size
    need(reached == ranks, "mesh: its product is not the number of ranks")
    classes = list(product(*(range(len(scheme.pairs)) for scheme in schemes)))
    need(len(classes) * len(places) <= 1_000_000, "too many classes")
    number = {one: at for at, one in enumerate(classes)}
    least, seen = least_of_classes(schemes, number, bytes_of)
    shape = [scheme.blocks for scheme in schemes] + [k // 2 + 1 for k in sizes]
    blocks = 1
    for scheme in schemes:
        blocks *= scheme.blocks
    spent, numbers = 0, [0] * (blocks * len(places))
    for e, f, weight in proof["weights"]:
        whole(e, 0, blocks - 1, "weights"), whole(f, 0, len(places) - 1, "weights")
        numbers[e * len(places) + f] += whole(weight, 0, 10**30, "weights") * ONE
        spent += weight
    matrices = [
        [[scheme.matrix(e, at) for at in range(len(scheme.pairs))] for e in range(scheme.blocks)]
        for scheme in schemes
    ]
    matrices += [[[cosine(f * at, k) for at in range(k // 2 + 1)] for f in range(k // 2 + 1)] for k in sizes]
    sums = along(numbers, shape, matrices)
    # Cosines, and products of up to a dozen of them, are wrong by less than 10^-25; so is what is rounded.
    wrong = (spent + 1) * (ONE // 10**25)
    groups = list(product(*(range(scheme.groups) for scheme in schemes)))
    v = [[whole(each, -(10**30), 10**30, "v") for each in row] for row in proof["v"]]
    need(len(v) == len(groups) and all(len(row) == len(places) for row in v), "v: one per displacement")
    group = {one: at for at, one in enumerate(groups)}
    members, total = [0] * len(groups), 0
    far = [sum(each * at for each, at in zip(lengths, place, strict=True)) for place in places]
    for a, one in enumerate(classes):
        pairs, same = 1, all(scheme.same(at) for scheme, at in zip(schemes, one, strict=True))
        for scheme, at in zip(schemes, one, strict=True):
            pairs *= scheme.pairs[at]
        source = group[tuple(scheme.source(at) for scheme, at in zip(schemes, one, strict=True))]
        members[source] += pairs if same else 0
        amount = least[a] if seen[a] == pairs else 0
        row = sums[a * len(places) : (a + 1) * len(places)]
        total += pairs * min(
            (amount * far[b] - 2 * v[source][b]) * ONE - 2 * (row[b] + wrong)
            for b, place in enumerate(places)
            if same != any(place)
        )
    for row, count in zip(v, members, strict=True):
        for each, place in zip(row, places, strict=True):
            for at, k in zip(place, sizes, strict=True):
                each *= 1 if 2 * at in (0, k) else 2
            total += 2 * count * each * ONE
    return total, 2 * scale * ONE


def shared(proof, network, bytes_of, ordered):
    """Bytes of messages that share a channel.

    More messages of a rank than its node has channels: some of them share one. Of g ranks that all send to
    each other (g - floor(g / 3)) / 2 messages do, under dimension order: in the first dimension in which they
    differ there are two coordinates, or one that at most g / 3 of them have.
    """
    plain = not network.short and not any(network.full)
    if proof["kind"] == "packing":
        side = 0 if proof["sends"] else 1
        amounts = sorted(
            (each for pair, each in bytes_of.items() if pair[side] == proof["rank"]), reverse=True
        )
        along = whole(proof.get("along", len(network.sizes)), 1, len(network.sizes), "along")
        # Over the channels of the first dimensions leaves what goes to other places in them; over those of
        # the last ones arrives what comes from other places in them.
        dimensions = range(along) if proof["sends"] else range(len(network.sizes) - along, len(network.sizes))
        need(along == len(network.sizes) or (plain and ordered), "along: is about dimension order")
        channels, aside = 0, network.count
        for d in dimensions:
            size = network.sizes[d]
            channels += size - 1 if network.full[d] else min(size - 1, 2)
            aside //= size
        many = whole(proof["shared"], 2, LARGEST, "shared")
        last = aside - 1 + (many - 1) * channels + 1
        need(last <= len(amounts), "shared: the rank has too few messages")
        return sum(amounts[last - many : last])
    need(ordered and plain, "a clique is about dimension order in rings and lines")
    ranks = proof["ranks"]
    need(
        type(ranks) is list and 2 <= len(ranks) == len(set(ranks)) <= 4096, "ranks: 2 or more, all different"
    )
    least = min(bytes_of.get((a, b), 0) for a in ranks for b in ranks if a != b)
    return up(len(ranks) - len(ranks) // 3, 2) * least


#: Coordinates that are tried before a division among slabs counts as possible.
MOST_TRIES = 10_000
#: Ranks for which divisions are tried.
MOST_DIVIDED = 1024


def side_by_side(ranks, bytes_of, first):
    """All ranks, each one that exchanges most with those before it, and its messages from and to these.

    Those in `first` come before all others.
    """
    partners = [{} for _ in range(ranks)]
    for pair, amount in bytes_of.items():
        for one, other in (pair, pair[::-1]):
            partners[one][other] = partners[one].get(other, 0) + amount
    every = [sum(one.values()) for one in partners]
    tied, place = [0] * ranks, {}
    line = [(rank not in first, 0, -every[rank], rank) for rank in range(ranks)]
    line.sort()
    while line:
        _, before, _, rank = heappop(line)
        if rank in place or -before != tied[rank]:
            continue
        place[rank] = len(place)
        for other, amount in partners[rank].items():
            if other not in place:
                tied[other] += amount
                heappush(line, (other not in first, -tied[other], -every[other], other))
    messages = [[] for _ in place]
    for (a, b), amount in bytes_of.items():
        messages[max(place[a], place[b])].append((a, b, amount))
    return list(place), messages


class Tight:
    """Ranks most of whose partners must be in their own slab, and how many others each may have there."""

    def __init__(self, ranks, bytes_of, sends, most, room, places):
        lists = [{} for _ in range(ranks)]
        for pair, amount in bytes_of.items():
            one, other = pair if sends else pair[::-1]
            lists[one][other] = amount
        # Two channels take what leaves the slab; the rest goes to partners in it.
        spare = {
            rank: room - 1 - up(sum(one.values()) - 2 * most, max(one.values()))
            for rank, one in enumerate(lists)
            if sum(one.values()) > 2 * most
        }
        self.least = min(spare.values(), default=0)
        self.ranks = {rank for rank, left in spare.items() if left == self.least}
        # Where each may have many others, or slabs need not be filled, nothing follows.
        if self.least * len(self.ranks) >= ranks - len(self.ranks) or ranks < places:
            self.ranks = set()
        self.strangers = {rank: set(range(ranks)) - {rank, *lists[rank]} for rank in self.ranks}

    def fit(self, at, room):
        """Whether all others may still be put into slabs so that none of these has too many strangers."""
        members = [[] for _ in room]
        for rank, here in at.items():
            members[here].append(rank)
        left, costs = [], []
        free = [rank for rank in range(sum(room) + len(at)) if rank not in at]
        for inside in members:
            hosts = [self.strangers[rank] for rank in inside]
            left.append(self.least * len(inside) - sum(rank in host for rank in inside for host in hosts))
            costs.append([sum(rank in host for host in hosts) for rank in free])
        if any(sum(sorted(each)[:some]) > few for each, some, few in zip(costs, room, left, strict=True)):
            return False
        return sum(map(min, zip(*costs, strict=True))) <= sum(left)


def divided(network, ranks, bytes_of, sends, most):
    """Whether ranks may be divided among the slabs of a dimension so that no channel has more than `most`.

    Under dimension order, what a rank sends to other slabs of the first dimension begins on the two channels
    of its node there, one for each direction. What it receives ends on those of the last dimension.
    All divisions are tried, rank after rank, as long as no channel has more.
    """
    dimension = 0 if sends else len(network.sizes) - 1
    size, wraps = network.sizes[dimension], network.wraps[dimension]
    # At exactly half a ring minus from the lower half, plus from the upper one.
    forwards = [
        [2 * ((b - a) % size) < size + (2 * a >= size) if wraps else b > a for b in range(size)]
        for a in range(size)
    ]
    at, loads, room = {}, [0] * (2 * ranks), [network.count // size] * size
    tight = Tight(ranks, bytes_of, sends, most, room[0], network.count)
    order, messages = side_by_side(ranks, bytes_of, tight.ranks)
    # A mirrored division is as good, so the first rank is in the lower half.
    choices, added = [list(range(up(size, 2)))], []
    for _ in range(MOST_TRIES):
        while not choices[-1]:
            choices.pop()
            if not choices:
                return False
            room[at.pop(order[len(choices) - 1])] += 1
            for channel, amount in added.pop():
                loads[channel] -= amount
        step = len(choices) - 1
        here = choices[-1].pop()
        if not room[here]:
            continue
        at[order[step]] = here
        added.append([])
        for a, b, amount in messages[step]:
            if at[a] != at[b]:
                channel = 2 * (a if sends else b) + forwards[at[a]][at[b]]
                loads[channel] += amount
                added[-1].append((channel, amount))
                if loads[channel] > most:
                    break
        else:
            if step + 1 == ranks:
                return True
            room[here] -= 1
            fits = step >= len(tight.ranks) or tight.fit(at, room)
            choices.append(list(range(size)) if fits else [])
            continue
        del at[order[step]]
        for channel, amount in added.pop():
            loads[channel] -= amount
    return True


#: Nodes that are looked at for a rank, and ways of its messages that are tried, before a placement counts as
#: possible.
MOST_LOOKED = 1_000_000
#: Ranks for which all placements are tried.
MOST_TRIED = 128


class Laying:
    """A search through all placements on a torus with at most this many bytes on a channel.

    Messages at exactly half a ring may go either way here, in every dimension. So a placement that is moved
    or mirrored is as good: the first rank sits on node 0, and the second one in the nearer half of every
    ring. If as much is sent back everywhere, and the sizes read the same backwards, so is one with the
    dimensions in the other order, all messages turned round: of two such places of the second rank one is
    tried.

    A rank at a node sends each partner a message over a channel of the first dimension in which their
    coordinates differ, and gets one over a channel of the last one. What the channels at the node have left
    is room for this many partners.
    """

    def __init__(self, network, ranks, bytes_of, most):
        self.most, self.least, self.sizes = most, min(bytes_of.values()), network.sizes
        self.partners = [{} for _ in range(ranks)]
        for (a, b), amount in bytes_of.items():
            need((b, a) in bytes_of, "a search is about messages both ways")
            self.partners[a][b] = amount, bytes_of[b, a]
        self.places = [network.coordinates(node) for node in range(network.count)]
        dimensions = range(len(self.sizes))
        # Channels are numbered node by node, dimension by dimension, forwards before backwards.
        self.beside = [
            [network.number(network.moved(place, d, sign)) for d in dimensions for sign in (1, -1)]
            for place in self.places
        ]
        each = 2 * len(self.sizes)
        self.ends = [(node, there) for node, near in enumerate(self.beside) for there in near]
        self.around = [
            [
                (
                    (each * node + 2 * d, each * node + 2 * d + 1),
                    (
                        each * self.beside[node][2 * d + 1] + 2 * d,
                        each * self.beside[node][2 * d] + 2 * d + 1,
                    ),
                )
                for d in dimensions
            ]
            for node in range(network.count)
        ]
        self.loads, self.left = [0] * len(self.ends), MOST_LOOKED
        self.turns = self.sizes == self.sizes[::-1] and all(
            there == back for partners in self.partners for there, back in partners.values()
        )
        self.known = {}
        self.at, self.holder, self.free = {}, {}, set(range(network.count))
        self.rooms = [self.room(node) for node in range(network.count)]

    def room(self, node):
        """Partners that a rank at a node may still have."""
        loads, most, least = self.loads, self.most, self.least
        ahead = found = 0
        for (a, b), (c, d) in self.around[node]:
            ahead += (most - loads[a]) // least + (most - loads[b]) // least
            back = (most - loads[c]) // least + (most - loads[d]) // least
            taken = ahead if ahead < back else back
            found, ahead = found + taken, ahead - taken
        return found

    def ways(self, a, b):
        """Channels of the minimal routes in dimension order."""
        if (a, b) not in self.known:
            found = [(a, [])]
            for d, size in enumerate(self.sizes):
                ahead = (self.places[b][d] - self.places[a][d]) % size
                hops = [(ahead, 0)] if 2 * ahead <= size else []
                hops += [(size - ahead, 1)] if 2 * ahead >= size else []
                longer = []
                for (here, channels), (count, sign) in product(found, hops):
                    more = []
                    for _ in range(count):
                        more.append(2 * (len(self.sizes) * here + d) + sign)
                        here = self.beside[here][2 * d + sign]
                    longer.append((here, channels + more))
                found = longer
            self.known[a, b] = [channels for _, channels in found]
        return self.known[a, b]

    def fits(self, a, b, amount):
        """Whether a route between two nodes has room for this many bytes."""
        loads, most = self.loads, self.most - amount
        for way in self.known.get((a, b)) or self.ways(a, b):
            for channel in way:
                if loads[channel] > most:
                    break
            else:
                return True
        return False

    def fitting(self, a, b, amount):
        """The ways with room for this many bytes, and the bytes."""
        loads, most = self.loads, self.most - amount
        return [(way, amount) for way in self.ways(a, b) if all(loads[channel] <= most for channel in way)]

    def nodes_for(self, rank):
        """Nodes at which a rank has room for its partners, and a way to and from each of those placed."""
        partners = self.partners[rank]
        known = [(self.at[other], *amounts) for other, amounts in partners.items() if other in self.at]
        roomy = [node for node in self.free if self.rooms[node] >= len(partners)]
        self.left -= len(roomy)
        return [
            node
            for node in roomy
            if all(self.fits(node, at, there) and self.fits(at, node, back) for at, there, back in known)
        ]

    def next(self):
        """A rank with partners that are placed and the fewest nodes, and these."""
        best = None
        for rank, partners in enumerate(self.partners):
            if rank not in self.at and not self.at.keys().isdisjoint(partners):
                nodes = self.nodes_for(rank)
                if best is None or len(nodes) < len(best[1]):
                    best = rank, nodes
                    if not nodes:
                        break
        if best is None:
            lone = (rank for rank in range(len(self.partners)) if rank not in self.at)
            middle = len(self.partners) // 2
            rank = max(lone, key=lambda rank: (len(self.partners[rank]), -abs(rank - middle)))
            best = rank, self.nodes_for(rank)
        return best

    def is_possible(self):
        """Whether all ranks may be placed beside those that have nodes; also if that is not known."""
        if len(self.at) == len(self.partners):
            return True
        rank, nodes = self.next()
        if not self.at:
            nodes = [0]
        elif len(self.at) == 1:
            nodes = [node for node in nodes if self.is_first(self.places[node])]
        return any(self.tried(rank, node) for node in sorted(nodes))

    def is_first(self, place):
        """Whether a place of the second rank is the first one of those that are as good."""
        near = all(2 * at <= size for at, size in zip(place, self.sizes, strict=True))
        return near and (not self.turns or place >= place[::-1])

    def tried(self, rank, node):
        """Whether all is possible with a rank at a node."""
        messages = []
        for other, (there, back) in self.partners[rank].items():
            if other in self.at:
                at = self.at[other]
                messages += [self.fitting(node, at, there), self.fitting(at, node, back)]
        return any(self.laid(rank, node, ways) for ways in product(*messages))

    def laid(self, rank, node, ways):
        """Whether all is possible with a rank at a node and its messages on these ways."""
        self.left -= 1
        if self.left < 0:
            return True
        loads, most, added, possible = self.loads, self.most, [], True
        for way, amount in ways:
            for channel in way:
                loads[channel] += amount
                added.append((channel, amount))
                possible &= loads[channel] <= most
            if not possible:
                break
        if possible:
            possible = self.goes_on(rank, node, [channel for channel, _ in added])
        for channel, amount in added:
            loads[channel] -= amount
        return possible

    def goes_on(self, rank, node, channels):
        """Whether all is possible with a rank at a node, its messages on these channels being counted."""
        self.at[rank], self.holder[node] = node, rank
        self.free.discard(node)
        touched = {node, *(end for channel in channels for end in self.ends[channel])}
        before = {each: self.rooms[each] for each in touched}
        possible = True
        for each in touched:
            self.rooms[each] = self.room(each)
            if each in self.holder:
                waiting = sum(other not in self.at for other in self.partners[self.holder[each]])
                possible &= self.rooms[each] >= waiting
        possible = possible and self.have_room() and self.is_possible()
        for each, room in before.items():
            self.rooms[each] = room
        self.free.add(node)
        del self.at[rank], self.holder[node]
        return possible

    def have_room(self):
        """Whether there are as many nodes with room for this many partners as ranks that have them."""
        wanted = sorted(len(each) for rank, each in enumerate(self.partners) if rank not in self.at)
        rooms = sorted(self.rooms[node] for node in self.free)
        return all(few <= room for few, room in zip(reversed(wanted), reversed(rooms), strict=False))


def worst_edge(axes, ranks):
    """Where every ordered pair of ranks sends one unit along the axes: the load of the worst edge, times
    eight, and its bytes; nothing if that is not known.
    """
    load, units = 0, 1
    for axis in axes:
        size = axis["size"]
        if size == 1:
            continue
        if axis["kind"] not in ("a2a", "ring", "line"):
            return 0, 1
        if axis["kind"] == "a2a" or size == 2:
            each = 8
        elif axis["kind"] == "ring":
            each = size * size if size % 2 == 0 else size * size - 1
        else:
            each = 8 * (size // 2) * up(size, 2)
        each *= ranks // size
        if each * units > load * axis["bytes"]:
            load, units = each, axis["bytes"]
    return load, units


def proven(proof, network, ranks, bytes_of, axes, per_node, hops, busiest=0, ordered=False):
    """The number that a certificate proves.

    `busiest` is what the placement itself has; `ordered` says that routes are by dimension order.
    """
    kind = proof["kind"]
    step = divisor(bytes_of.values())
    if kind == "nothing":
        return 0
    if isinstance(network, Wiring) and kind not in ("uniform", "port"):
        return up(network.proven(proof, ranks, bytes_of, axes, per_node, hops), step) * step
    if kind == "sorted":
        lengths = [whole(each, 0, 1 << 40, "lengths") for each in proof["lengths"]]
        need(len(lengths) == len(network.sizes), "lengths: one per dimension")
        total = sorted_sum(network, ranks, bytes_of, per_node, lengths)
        if hops:
            need(max(lengths) <= 1, "lengths: hop-bytes count every hop once")
        else:
            total = up(total, sum(network.channels(d) * each for d, each in enumerate(lengths)))
        return up(total, step) * step
    if kind == "cosine":
        need(per_node == 1, "a cosine bound is for one rank per node")
        total, scale = cosine_sum(proof, network, ranks, bytes_of)
        if hops:
            need(max(proof["lengths"]) <= proof["scale"], "lengths: hop-bytes count every hop once")
        else:
            scale = 2 * ONE * sum(network.channels(d) * each for d, each in enumerate(proof["lengths"]))
            need(scale > 0, "lengths: all are 0")
        return max(0, up(up(total, scale), step) * step)
    if kind == "uniform":
        need(not hops and per_node == 1 and ranks == network.count, "a uniform bound is for a full network")
        need(len(bytes_of) == ranks * (ranks - 1), "all ranks must send to all others")
        need(len(set(bytes_of.values())) == 1, "all messages must be alike")
        return busiest
    need(not hops and per_node == 1, f"a certificate of the kind {kind} is not about this")
    if kind in ("clique", "packing"):
        return up(shared(proof, network, bytes_of, ordered), step) * step
    if kind == "slabs":
        need(ordered and not network.short and not any(network.full), "slabs are about dimension order")
        need(ranks <= MOST_DIVIDED, f"slabs are about {MOST_DIVIDED} ranks at most")
        least = whole(proof["least"], 1, 1 << 62, "least")
        return 0 if divided(network, ranks, bytes_of, proof["sends"] is True, least - 1) else least
    if kind == "search":
        need(
            ordered and not network.short and all(network.wraps), "a search is about dimension order in rings"
        )
        need(ranks <= min(MOST_TRIED, network.count), f"a search is about {MOST_TRIED} ranks at most")
        least = whole(proof["least"], 1, 1 << 62, "least")
        return 0 if Laying(network, ranks, bytes_of, least - 1).is_possible() else least
    if kind == "port":
        # A message becomes flits, and every 16 of them, or what is left, a packet with a header.
        bytes_of_flit = whole(proof["flit_bytes"], 1, 1 << 40, "flit_bytes")
        side, total = 0 if proof["sends"] else 1, 0
        for pair, amount in bytes_of.items():
            if pair[side] == proof["rank"]:
                flits = up(amount, bytes_of_flit)
                total += flits + up(flits, 16)
        return total
    if kind == "message":
        return bytes_of.get((proof["source"], proof["destination"]), 0)
    if kind == "degree":
        rank = proof["rank"]
        side = 0 if proof["sends"] else 1
        amount = sum(amount for pair, amount in bytes_of.items() if pair[side] == rank)
        return up(up(amount, network.degree()), step) * step
    need(
        kind == "cut" and axes and not network.short and ranks == network.count, f"a certificate {kind!r:.40}"
    )
    slab = network.count // network.sizes[whole(proof["dimension"], 0, len(network.sizes) - 1, "dimension")]
    nodes = whole(proof["nodes"], 1, ranks - 1, "nodes")
    need(nodes % slab == 0, "a cut is between slabs")
    channels = slab * (2 if network.wraps[proof["dimension"]] else 1)
    if network.full[proof["dimension"]]:
        channels = nodes * (network.sizes[proof["dimension"]] - nodes // slab)
    load, units = worst_edge(axes, ranks)
    need(load > 0, "a cut needs traffic")
    value = up(8 * nodes * (ranks - nodes) * units, load * channels)
    return up(value, step) * step


class Sent:
    """What ranks on nodes send at the same time, and what that loads."""

    def __init__(self, network, listed, nodes, sent):
        self.network, self.ordered = network, listed is None
        self.ranks, self.bytes_of, self.axes, self.per_node = sent
        loads, out, into = {}, {}, {}
        for (source, destination), amount in self.bytes_of.items():
            a, b = nodes[source], nodes[destination]
            if a == b:
                continue
            out[a] = out.get(a, 0) + amount
            into[b] = into.get(b, 0) + amount
            need(listed is None or (a, b) in listed, f"ways: none leads from {a} to {b}")
            ways = network.way(a, b) if listed is None else listed[a, b]
            if isinstance(network, Wiring) and network.host_cables:
                ways = [("from", a), *ways, ("to", b)]
            for channel in ways:
                loads[channel] = loads.get(channel, 0) + amount
        self.busiest = max(loads.values(), default=0)
        self.at_maximum = sum(value == self.busiest for value in loads.values())
        self.port = max([*out.values(), *into.values()], default=0)
        self.hop_bytes = sum(loads.values())

    def proven(self, certificate, hops):
        """The number that a certificate proves of it."""
        about = self.ranks, self.bytes_of, self.axes, self.per_node
        return proven(certificate, self.network, *about, hops, self.busiest, self.ordered)


def of_phase(document, names):
    """Ranks, bytes per pair, axes and ranks per node of what is sent along some of the axes.

    Cuts need axes that join all ranks, so there are none where one of more than one rank is silent.
    """
    axes = document["traffic"]["axes"]
    joined = all(axis["name"] in names or axis["size"] == 1 for axis in axes)
    return (*pairs_of(document["traffic"], names), axes if joined else None, document["per_node"])


def phases_of(document, sent_in, plain_in):
    """What is sent in every phase, if there are any: every axis is in one, and all say what they load.

    `plain_in` tells what a phase loads with ranks in the order of the nodes.
    """
    found, told = [], document.get("phases", [])
    names = [name for phase in told for name in phase["axes"]]
    known = [axis["name"] for axis in document["traffic"]["axes"]] if told else []
    need(len(set(known)) == len(known), "traffic.axes: two have the same name")
    need(sorted(names) == sorted(known), "phases: every axis of the traffic is in one of them")
    for number, phase in enumerate(told):
        sent = sent_in(phase["axes"])
        facts = {"busiest_channel": sent.busiest, "busiest_port": sent.port}
        facts["row_major"] = plain_in(phase["axes"]).busiest
        if sent.busiest:
            facts["channels_at_maximum"] = sent.at_maximum
        for name, value in facts.items():
            need(
                phase[name] == value,
                f"phases.{number}.{name}: the file says {phase[name]!r:.40}, the ways say {value}",
            )
        claimed = whole(phase["bound"], 0, 1 << 62, f"phases.{number}.bound")
        need(phase["certificate"]["kind"] != "port", f"phases.{number}.certificate: is about time")
        value = sent.proven(phase["certificate"], False)
        need(
            claimed <= value,
            f"phases.{number}.bound: the file says {claimed}, its certificate proves {value}",
        )
        found.append(sent)
    return found


def proven_by_phases(certificate, document, phases, of_time):
    """What the certificates of phases prove together: of the busiest channels of all, or of the time."""
    if not of_time:
        # They were gone through where the phases were read.
        return sum(phase["bound"] for phase in document["phases"])
    parts = certificate["parts"]
    need(len(parts) == len(phases), "certificate: has a part for every phase")
    for part in parts:
        need(part["kind"] in ("port", "nothing"), "certificate: is not about time")
    return sum(phase.proven(part, False) for part, phase in zip(parts, phases, strict=True))


def listed_ways(document, network):
    """Channels by pair of nodes or hosts where the file lists the ways; nothing by dimension order.

    Ways that only ranks in the order of the nodes use stand apart.
    """
    wired = isinstance(network, Wiring)
    if document.get("routing") == "do":
        need(not wired, "routing: dimension order is not for hosts of switches")
        need(not network.failed and not network.cut, "routing: dimension order needs a whole network")
        return None
    listed = {}
    for way in (*document["ways"], *document.get("row_major_ways", ())):
        if wired:
            ends, channels = network.led(way)
        else:
            need(type(way) is list and len(way) > 1, "ways: a way has two nodes or more")
            for node in way:
                whole(node, 0, network.count - 1, "ways")
            ends, channels = (way[0], way[-1]), [network.joined(*hop) for hop in pairwise(way)]
        need(ends not in listed, f"ways: two lead from {ends[0]} to {ends[1]}")
        listed[ends] = channels
    return listed


def in_order(document, network, ranks, per_node):
    """The node of every rank where ranks are in the order of the nodes that they may have."""
    allowed = document.get("allowed")
    if allowed is None:
        allowed = [node for node in range(network.count) if node not in network.failed]
    need(type(allowed) is list and allowed, "allowed: is a list of nodes")
    for node in allowed:
        whole(node, 0, network.count - 1, "allowed")
        need(node not in network.failed, f"allowed: node {node} has failed")
    need(all(a < b for a, b in pairwise(allowed)), "allowed: nodes ascend")
    need(ranks <= per_node * len(allowed), "allowed: too few nodes for all ranks")
    need(set(allowed).issuperset(document["placement"]), "placement: has other nodes than ranks may have")
    return [node for node in allowed for _ in range(per_node)][:ranks]


#: Names in older files of placements, and those of today.
RENAMED = {
    "fullest_channel": "busiest_channel",
    "fullest_port": "busiest_port",
    "channels_at_fullest": "channels_at_maximum",
}


def of_today(part):
    """A part of a document with the names of today."""
    if type(part) is not dict:
        return part
    return {RENAMED.get(name, name): value for name, value in part.items()}


def verified_placement(document):
    """What holds of a placement's document; `Refused` if it claims anything else."""
    document = of_today(document)
    document["row_major"] = of_today(document["row_major"])
    if "phases" in document:
        document["phases"] = [of_today(phase) for phase in document["phases"]]
    host_cables = document.get("host_cables", False)
    need(type(host_cables) is bool, "host_cables: is true or false")
    need(not host_cables or "wiring" in document, "host_cables: are those of hosts of switches")
    network = Wiring(document["wiring"], host_cables) if "wiring" in document else Board(document["topology"])
    listed = listed_ways(document, network)
    ranks, bytes_of = pairs_of(document["traffic"])
    per_node = whole(document["per_node"], 1, 1024, "per_node")
    nodes = document["placement"]
    need(type(nodes) is list and len(nodes) == ranks, "placement: one node per rank")
    held = {}
    for rank, node in enumerate(nodes):
        whole(node, 0, network.count - 1, f"placement of rank {rank}")
        need(node not in network.failed, f"placement: rank {rank} sits on node {node}, which has failed")
        held[node] = held.get(node, 0) + 1
        need(held[node] <= per_node, f"placement: node {node} has more than {per_node} ranks")
    axes = document["traffic"].get("axes")
    plain = in_order(document, network, ranks, per_node)
    at_once = Sent(network, listed, nodes, (ranks, bytes_of, axes, per_node))
    phases = phases_of(
        document,
        lambda names: Sent(network, listed, nodes, of_phase(document, names)),
        lambda names: Sent(network, listed, plain, of_phase(document, names)),
    )
    facts = {
        "busiest_channel": sum(phase.busiest for phase in phases) if phases else at_once.busiest,
        "busiest_port": sum(phase.port for phase in phases) if phases else at_once.port,
        "hop_bytes": at_once.hop_bytes,
    }
    require_told(document, network, phases or [at_once])
    # Files of grids that fit exactly say nothing of other placements.
    if document["row_major"]:
        other = Sent(network, listed, plain, (ranks, bytes_of, axes, per_node))
        busiest = sum(phase["row_major"] for phase in document["phases"]) if phases else other.busiest
        facts["row_major"] = {"busiest_channel": busiest, "hop_bytes": other.hop_bytes}
    for name, value in facts.items():
        need(
            document.get(name) == value,
            f"{name}: the file says {document.get(name)!r:.40}, the ways say {value}",
        )
    by_hops, by_time = (document.get("minimised") == word for word in ("hops", "time"))
    for name, hops, certificate in (
        ("bound", by_hops, document["certificate"]),
        ("hop_bytes_bound", True, document["hop_bytes_certificate"]),
    ):
        of_time = by_time and not hops
        if certificate["kind"] == "phases":
            need(phases and not hops, f"{name}: a certificate of phases is about the busiest channel of each")
            value = proven_by_phases(certificate, document, phases, of_time)
        else:
            need(
                (certificate["kind"] == "port") <= (of_time and not phases),
                f"{name}: a certificate of ports is about time",
            )
            value = at_once.proven(certificate, hops)
        claimed = whole(document[name], 0, 1 << 62, name)
        need(claimed <= value, f"{name}: the file says {claimed}, its certificate proves {value}")
        facts[name] = claimed
    reached = facts["hop_bytes"] if by_hops else facts["busiest_channel"]
    if by_time:
        kinds = ("phases", "nothing") if phases else ("port", "nothing")
        need(document["certificate"]["kind"] in kinds, "certificate: is not about time")
        reached = whole(document["duration"], 0, 1 << 62, "duration")
        need(facts["bound"] <= reached, "duration: is below the bound")
    need(document["optimal"] is (facts["bound"] >= reached), "optimal: the bound says otherwise")
    facts["optimal"] = document["optimal"]
    rows = [f"{name.replace('_', ' '):16} {in_words(value)}" for name, value in facts.items()]
    verified = "verified: loads, ports, hop-bytes and bounds are as the file says"
    left = ["not verified: whether hosts are called so"] if "hosts" in document else []
    return facts, "\n".join([*rows, verified, *left])


def of_hosts(topology, count):
    """What finds the coordinates of a host: those of a product, or its number alone."""
    text = topology.get("network") or ""
    # Of a circulant, whose steps stand behind its size, the size counts.
    sizes = [int(size) for size in re.findall(r"(?:ring|line|full|circulant\()(\d+)", text)]
    grid = Shape({"sizes": sizes}) if sizes else None
    return grid.coordinates if grid and grid.count == count else lambda host: [host]


def require_told(document, network, sent):
    """Refuse what a document says of channels, coordinates and hosts that its placement does not say."""
    nodes = document["placement"]
    if "channels_at_maximum" in document and all(one.busiest for one in sent):
        claimed, counted = document["channels_at_maximum"], sum(one.at_maximum for one in sent)
        text = f"channels_at_maximum: the file says {claimed!r:.40}, the ways say {counted}"
        need(claimed == counted, text)
    if "coordinates" in document:
        wired = isinstance(network, Wiring)
        at = of_hosts(document["topology"], network.count) if wired else network.coordinates
        for rank, (node, place) in enumerate(zip(nodes, document["coordinates"], strict=True)):
            where = list(at(node))
            need(place == where, f"coordinates: rank {rank} is at {where}, the file says {place!r:.40}")
    if "hosts" in document:
        of_node = {}
        for rank, (node, host) in enumerate(zip(nodes, document["hosts"], strict=True)):
            need(type(host) is str and host, f"hosts: rank {rank} has no name of a host")
            need(
                of_node.setdefault(node, host) == host,
                f"hosts: node {node} has two names, {host!r:.40} of rank {rank}",
            )


def in_words(value):
    """A number, or numbers by their names."""
    if type(value) is not dict:
        return str(value)
    return ", ".join(f"{name.replace('_', ' ')} {each}" for name, each in value.items())


# What a file is.

#: What verifies a file that has its certificates in it, and what it is, by the file's format.
ALONE = {
    "flitloom collective 1": ("collective", verified_collective),
    "flitloom rounds 1": ("rounds", verified_rounds),
    "flitloom placement 1": ("placement", verified_placement),
}


def told(entries, unit="routes", every=1024):
    """All entries; a terminal is told how far it is, and the time left, if that takes long."""
    begin, last = time.monotonic(), -1
    shows = sys.stderr.isatty()
    for number, entry in enumerate(entries):
        spent = time.monotonic() - begin
        if shows and number and number % every == 0 and spent > SOON:
            done = 100 * number // len(entries)
            if done > last:
                last = done
                left = spent * (len(entries) - number) / number
                line = f"{done} % of {len(entries)} {unit}, about {left:.0f} s left"
                print(f"\r{line:60}", end="", file=sys.stderr, flush=True)
        yield entry
    if last >= 0:
        print("\r" + 60 * " ", end="\r", file=sys.stderr, flush=True)


def load(file):
    about = os.stat(file)
    need(stat.S_ISREG(about.st_mode), f"{file}: is not a file")
    need(about.st_size <= MOST_BYTES, f"{file}: {about.st_size} bytes; at most {MOST_BYTES} are read")
    with open(file, encoding="utf-8") as text:
        return json.load(text)


def verify(files, rules, verdict):
    """What holds of a file, or of one and its certificate: facts, and a text; a verdict is told its kind."""
    file = files[0]
    if len(files) == 2:
        certificate = load(files[1])
        if os.path.isdir(file):
            verdict["kind"] = "folder"
            need(rules is None, "--rules belongs to tables of source routes")
            return certified_folder(file, certificate)
        if file.endswith(".toml"):
            verdict["kind"] = "experiment"
            need(rules is None, "--rules belongs to tables of source routes")
            return FREE, certified_escapes(tomllib.loads(text_of(*os.path.split(file))), certificate)
        document = load(file)
        need(type(document) is dict, "the file is not JSON object")
        verdict["kind"] = "plan" if "packets" in document else "tables"
        return certified(document, certificate, rules)
    document = load(file)
    need(type(document) is dict, "the file is not JSON object")
    if document.get("format") not in ALONE:
        raise Missing
    verdict["kind"], verified = ALONE[document["format"]]
    need(rules is None, "--rules belongs to tables of source routes")
    return verified(document)


class Missing(Exception):
    """No certificate is named of a file that has none in it."""


def main(arguments):
    as_json = "--json" in arguments
    files = [one for one in arguments if one != "--json"]
    rules = None
    if len(files) > 2 and files[-2] == "--rules":
        *files, _, rules = files
    if len(files) not in (1, 2):
        sys.exit(__doc__)
    problem, facts, said = None, {}, ""
    verdict = {"file": files[0], "kind": None}
    try:
        facts, said = verify(files, rules, verdict)
    except Missing:
        print(f"{files[0]}: name its certificate, too")
        return 2
    except Refused as refused:
        problem = str(refused)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        problem = f"not understood, so nothing is verified: {type(error).__name__}: {error!s:.100}"
    if as_json:
        problems = [] if problem is None else [problem]
        print(json.dumps({**verdict, "passed": problem is None, "problems": problems, **facts}))
    else:
        print(said if problem is None else f"FAILED: {problem}")
    return 0 if problem is None else 1


if __name__ == "__main__":
    # Nothing is lost when somebody ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
