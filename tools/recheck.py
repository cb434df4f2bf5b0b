#!/usr/bin/env python3
"""Verify a deadlock certificate against routing tables or a plan, without flitloom.

usage: recheck.py tables.json certificate.json [--rules NAME]
       recheck.py plan.json certificate.json
       recheck.py out/ certificate.json

Every pair of working nodes (every packet of a plan) must have a route over existing, working links,
and every step of a route from one channel to the next must go to a channel of higher rank; with the
bubble rule the rank may stay the same within one ring of one direction, which always keeps a free
slot. Then no cycle of channels can wait for each other.

How many virtual channels there are, when a packet changes them and whether there is a bubble rule is
taken from the tables (from --rules, if the tables were checked with it), never from the certificate,
which must say the same. Tables without rules are taken to have one channel per link and no bubble rule.

A folder has tables by destination of a fabric: opensm-lfts.dump, path-sl.txt if any packet has another
service level than 0, and sl2vl.dump if that chooses the lanes. They must lead every host's packets to every
other host over the cables that the certificate names, each hop to a channel and lane of higher rank.
"""

import json
import os
import re
import signal
import stat
import sys
import time
from itertools import pairwise

NAMES = "xyzuvw"
LARGEST = 1 << 20
#: Bytes of a file; JSON takes eight times as much memory.
MOST_BYTES = 1 << 29
#: Seconds before a terminal is told how far it is.
SOON = 2.0
#: Virtual channels that a plan's router has beyond one per wrapping dimension, and its least number.
MORE, LEAST = 1, 3
ASSUMED_CHANNELS = "assumed: as many virtual channels as dimension order needs, at least three"
ASSUMED = "assumed: the file brings none; name those of the router with --rules"


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


class Network:
    """The shape and the failed parts of tables or a plan."""

    def __init__(self, topology):
        sizes = topology["sizes"]
        sizes = [int(size) for size in sizes.split("x")] if isinstance(sizes, str) else sizes
        need(1 <= len(sizes) <= len(NAMES), "topology.sizes: there are 1 to 6 dimensions")
        self.sizes = [whole(size, 2, LARGEST, "topology.sizes") for size in sizes]
        kind = topology.get("kind", "torus")
        need(kind in ("torus", "mesh"), "topology.kind: must be torus or mesh")
        wrap = topology.get("wrap")
        wrap = [kind == "torus"] * len(sizes) if wrap is None else wrap
        need(
            len(wrap) == len(sizes) and all(type(one) is bool for one in wrap), "topology.wrap: one per size"
        )
        self.wraps = [one and size > 2 for one, size in zip(wrap, self.sizes, strict=True)]
        # In a twisted torus a step over the edge of a short dimension also moves half of every long one.
        twist = topology.get("twist", False)
        need(type(twist) is bool, "topology.twist: must be true or false")
        self.short = min(self.sizes) if twist else 0
        if twist:
            fits = all(size == self.short or size % self.short == size % 2 == 0 for size in self.sizes)
            need(all(wrap) and fits and max(self.sizes) > self.short, "topology.twist: these sizes have none")
            self.wraps = [True] * len(sizes)
        self.count = 1
        for size in self.sizes:
            self.count *= size
        need(self.count <= LARGEST, f"topology.sizes: more than {LARGEST} nodes")
        last = self.count - 1
        self.failed = {
            whole(node, 0, last, "topology.failed_nodes") for node in topology.get("failed_nodes", [])
        }
        self.cut = set()
        for link in topology.get("failed_links", []):
            ends = [int(node) for node in link.split("-")] if isinstance(link, str) else link
            need(len(ends) == 2, "topology.failed_links: a link has two ends")
            self.cut.add(frozenset(whole(node, 0, last, "topology.failed_links") for node in ends))
        self.known = {}

    def coordinates(self, node):
        found = []
        for size in self.sizes:
            node, coordinate = divmod(node, size)
            found.append(coordinate)
        return found

    def step(self, node, dimension, sign):
        """The node one hop further, or None beyond the rim."""
        place = self.coordinates(node)
        size = self.sizes[dimension]
        place[dimension] += sign
        if not 0 <= place[dimension] < size:
            if not self.wraps[dimension]:
                return None
            place[dimension] %= size
            if size == self.short:
                for other, long in enumerate(self.sizes):
                    if long != size:
                        place[other] = (place[other] + long // 2) % long
        there = 0
        for at, extent in zip(reversed(place), reversed(self.sizes), strict=True):
            there = there * extent + at
        return there

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
        """The nodes of a route in words, like "+x3 -y2"."""
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
    unknown = set(certificate) - set(expected) - {"channels"}
    need(not unknown, f"the certificate has unknown fields: {sorted(unknown)!r:.60}")
    return channels, datelines, bubble


def ranks_of(certificate, network, channels):
    """The rank of every channel."""
    rank = {}
    for row in certificate["channels"]:
        node, way, channel, value = row
        place = "channels of the certificate"
        whole(node, 0, network.count - 1, place)
        whole(channel, 0, channels - 1, place)
        need(
            way[0] in "+-" and way[1:] in list(NAMES[: len(network.sizes)]),
            f"{place}: no direction {way!r:.20}",
        )
        need((node, way, channel) not in rank, f"{place}: one has two ranks")
        rank[node, way, channel] = whole(value, 0, 1 << 62, place)
    return rank


def main(tables, certificate, given=None):
    """Raise `Refused` unless the certificate holds for the tables or plan."""
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
        if self.count is None:
            row = r"(\d+) +(\d+) +: *((?:\d+ *){16})$"
            self.lanes = self.rows(folder, "sl2vl.dump", r"Switch (0x\w+),", row, 10)
        else:
            whole(self.count, 1, 8, "lanes of the certificate")

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

    def lane(self, switch, port, out, level):
        """The lane of a packet that came by a port."""
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
                        after = (switch, out, self.lane(switch, port, out, level))
                        ahead = self.cables.get((switch, out))
                        need(isinstance(ahead, tuple), f"{where}: no cable at port {out} of switch {switch}")
                        need(after in rank, f"{where}: {after} has no rank")
                        need(
                            before is None or rank[before] < rank[after],
                            f"{where}: rank does not rise to {after}",
                        )
                        before, (switch, port) = after, ahead


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


def main_of_fabric(folder, certificate):
    """Raise `Refused` unless the certificate holds for the tables in a folder."""
    unknown = set(certificate) ^ {"format", "version", "lanes", "cables", "hosts", "channels"}
    need(not unknown, f"fields that are missing or unknown: {sorted(unknown)!r:.60}")
    need(certificate["format"] == "flitloom-certificate", "it is no certificate")
    need(certificate["version"] == 2, "it is of another version")
    rank = {}
    for switch, port, lane, value in certificate["channels"]:
        place = (switch, whole(port, 1, 254, "port"), whole(lane, 0, 14, "lane"))
        need(place not in rank, f"{place}: has two ranks")
        rank[place] = whole(value, 0, 1 << 62, "rank")
    Fabric(folder, certificate).follow(rank)
    cables, hosts = len(certificate["cables"]), len(certificate["hosts"])
    return f"for the {cables} cables and {hosts} hosts that it names"


def told(entries):
    """All entries; a terminal is told how far it is if that takes long."""
    begin, last = time.monotonic(), -1
    shows = sys.stderr.isatty()
    for number, entry in enumerate(entries):
        if shows and number % 1024 == 0 and time.monotonic() - begin > SOON:
            done = 100 * number // len(entries)
            if done > last:
                last = done
                print(f"\r{done} % of {len(entries)} routes", end="", file=sys.stderr, flush=True)
        yield entry
    if last >= 0:
        print("\r" + 40 * " ", end="\r", file=sys.stderr, flush=True)


def load(file):
    about = os.stat(file)
    need(stat.S_ISREG(about.st_mode), f"{file}: is no file")
    need(about.st_size <= MOST_BYTES, f"{file}: {about.st_size} bytes; at most {MOST_BYTES} are read")
    with open(file, encoding="utf-8") as text:
        return json.load(text)


if __name__ == "__main__":
    # Nothing is lost when somebody ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    rules = None
    if len(arguments) == 4 and arguments[2] == "--rules":
        rules = arguments.pop()
        arguments.pop()
    if len(arguments) != 2:
        sys.exit(__doc__)
    try:
        certificate = load(arguments[1])
        if os.path.isdir(arguments[0]):
            need(rules is None, "--rules belongs to tables of source routes")
            of_what = " " + main_of_fabric(arguments[0], certificate)
        else:
            of_what = ""
            main(load(arguments[0]), certificate, rules)
    except Refused as problem:
        print(problem)
        sys.exit(1)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        print(f"not understood, so nothing is verified: {type(error).__name__}: {error!s:.100}")
        sys.exit(1)
    print("certificate holds" + of_what)
