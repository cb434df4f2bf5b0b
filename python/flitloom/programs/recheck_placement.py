#!/usr/bin/env python3
"""Verify a placement of ranks and the bounds it claims, without flitloom and without floating point.

usage: recheck_placement.py p.json [--json]

The traffic is built anew from its axes or pairs, every byte is sent along its way by dimension order, and
the fullest channel, the fullest port and the hop-bytes are counted. Then every certificate is gone through:
what a pair, a rank, a cut, or sorted distances say is computed anew in whole numbers.
"""

import json
import sys
from itertools import pairwise, product
from math import comb

LARGEST = 1 << 20
#: Bytes of a file.
MOST_BYTES = 1 << 29


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
    """A torus or mesh, plain or twisted, or a product with full meshes, with dimension-order routing."""

    def __init__(self, topology):
        factors = (
            [self.factor(text) for text in topology["network"].split(" x ")] if "network" in topology else []
        )
        if factors:
            kinds = [kind for kind, _ in factors]
            topology = {
                **topology,
                "kind": "mesh",
                "sizes": [size for _, size in factors],
                "wrap": [kind == "ring" for kind in kinds],
            }
        sizes = topology["sizes"]
        need(type(sizes) is list and 1 <= len(sizes) <= 6, "topology.sizes: there are 1 to 6 dimensions")
        self.sizes = [whole(size, 2, LARGEST, "topology.sizes") for size in sizes]
        self.count = 1
        for size in self.sizes:
            self.count *= size
        need(self.count <= LARGEST, "topology.sizes: too many nodes")
        kind = topology.get("kind", "torus")
        need(kind in ("torus", "mesh"), "topology.kind: must be torus or mesh")
        wrap = topology.get("wrap")
        wrap = [kind == "torus"] * len(sizes) if wrap is None else wrap
        need(
            len(wrap) == len(sizes) and all(type(one) is bool for one in wrap), "topology.wrap: one per size"
        )
        self.failed = set(topology.get("failed_nodes") or [])
        self.broken = {frozenset(ends) for ends in topology.get("failed_links") or []}
        self.twist = topology.get("twist", False)
        need(type(self.twist) is bool, "topology.twist: must be true or false")
        self.wraps = [one and size > 2 for one, size in zip(wrap, self.sizes, strict=True)]
        if self.twist:
            need(all(wrap), "topology.twist: all dimensions must wrap")
            self.wraps = [True] * len(sizes)
        self.short = min(self.sizes)
        self.full = [kind == "full" and size > 2 for kind, size in factors] or [False] * len(self.sizes)

    @staticmethod
    def factor(text):
        """A factor as ring8, line8 or full8."""
        kind, size = text[:4], text[4:]
        need(
            kind in ("ring", "line", "full") and size.isdigit(), f"topology.network: {text:.40} is no factor"
        )
        return kind, int(size)

    def degree(self):
        """Channels that leave a node in the middle of its lines."""
        return sum(k - 1 if full else min(k - 1, 2) for k, full in zip(self.sizes, self.full, strict=True))

    def place(self, node):
        """The coordinates of a node."""
        coordinates = []
        for size in self.sizes:
            node, coordinate = divmod(node, size)
            coordinates.append(coordinate)
        return coordinates

    def node(self, coordinates):
        number = 0
        for size, coordinate in zip(reversed(self.sizes), reversed(coordinates), strict=True):
            number = number * size + coordinate
        return number

    def step(self, here, dimension, forwards):
        """Coordinates after a hop; over a twisted torus's short edge the long ones move by half."""
        there = list(here)
        there[dimension] += 1 if forwards else -1
        size = self.sizes[dimension]
        if not 0 <= there[dimension] < size:
            there[dimension] %= size
            if self.twist and size == self.short:
                for other, long in enumerate(self.sizes):
                    if long > self.short:
                        there[other] = (there[other] + long // 2) % long
        return there

    def displacements(self, a, b):
        """Shortest displacements from coordinates to others."""
        if not self.twist:
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
        minus from the lower half of the coordinates, plus from the upper one."""
        here = self.place(source)
        left = self.displacements(here, self.place(destination))
        channels = []
        for dimension, size in enumerate(self.sizes):
            hops = [one[dimension] for one in left]
            chosen = max(hops) if 2 * here[dimension] >= size - size % 2 else min(hops)
            left = [one for one in left if one[dimension] == chosen]
            if self.full[dimension] and chosen:
                # One hop, over the cable of these two places.
                channels.append((self.node(here), dimension, chosen))
                here[dimension] += chosen
                continue
            for _ in range(abs(chosen)):
                channels.append((self.node(here), dimension, chosen > 0))
                here = self.step(here, dimension, chosen > 0)
        need(self.node(here) == destination, "a way does not arrive")
        return channels

    def joined(self, here, there):
        """The channel (node, dimension, forwards) over a working cable between neighbours."""
        need(here not in self.failed and there not in self.failed, f"node {here} or {there} has failed")
        need(frozenset((here, there)) not in self.broken, f"the cable {here}-{there} has failed")
        place, target = self.place(here), self.place(there)
        need(not any(self.full), "ways: products with full meshes have those of dimension order")
        for dimension, size in enumerate(self.sizes):
            for forwards in (True, False):
                inside = 0 <= place[dimension] + (1 if forwards else -1) < size
                if (inside or self.wraps[dimension]) and self.step(place, dimension, forwards) == target:
                    return here, dimension, forwards
        raise Refused(f"nodes {here} and {there} are no neighbours")

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
        if not self.twist and any(
            not wraps and not full and size > 2
            for wraps, full, size in zip(self.wraps, self.full, self.sizes, strict=True)
        ):
            sources = range(self.count)
        least = None
        for source in sources:
            here = self.place(source)
            lines = []
            for node in range(self.count):
                there = self.place(node)
                if self.twist:
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


def pairs_of(traffic):
    """Bytes per ordered pair of ranks, from axes or from rows."""
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
        for rank in range(ranks):
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


def ceil(number, by):
    return -(-number // by)


def sorted_sum(network, ranks, bytes_of, per_node, lengths):
    """At least so many bytes times lengths: every rank's largest partners at the least distances."""
    distances = [each for each in network.distances(lengths) for _ in range(per_node)][1:]
    partners = [{} for _ in range(ranks)]
    for (source, destination), amount in bytes_of.items():
        for one, other in ((source, destination), (destination, source)):
            partners[one][other] = partners[one].get(other, 0) + amount
    total = 0
    for rank in range(ranks):
        amounts = sorted(partners[rank].values(), reverse=True)
        total += sum(a * d for a, d in zip(amounts, distances, strict=False))
    return ceil(total, 2)


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
    """At least so many bytes times lengths, by positive semidefinite matrices of cosines, times 2 scale ONE.

    A pair of ranks has a class (one per axis of the mesh that the certificate names) and a displacement (per
    dimension, without its sign). Every weight belongs to a matrix over the classes and a frequency, and says
    that the sum over all pairs of the product of both is at least 0; v belongs to a group of ranks and a
    displacement, at which every rank has as many others as there are nodes. What a class then costs at least
    is counted here, from the least bytes that its pairs exchange, not taken from the file.
    """
    need(ranks == network.count and not network.twist, "a cosine bound is for a torus that is full")
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
    plain = not network.twist and not any(network.full)
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
    return ceil(len(ranks) - len(ranks) // 3, 2) * least


def proven(proof, network, ranks, bytes_of, axes, per_node, hops, fullest=0, ordered=False):
    """The number that a certificate proves.

    `fullest` is what the placement itself has; `ordered` says that routes are by dimension order.
    """
    kind = proof["kind"]
    step = divisor(bytes_of.values())
    if kind == "nothing":
        return 0
    if kind == "sorted":
        lengths = [whole(each, 0, 1 << 40, "lengths") for each in proof["lengths"]]
        need(len(lengths) == len(network.sizes), "lengths: one per dimension")
        total = sorted_sum(network, ranks, bytes_of, per_node, lengths)
        if hops:
            need(max(lengths) <= 1, "lengths: hop-bytes count every hop once")
        else:
            total = ceil(total, sum(network.channels(d) * each for d, each in enumerate(lengths)))
        return ceil(total, step) * step
    if kind == "cosine":
        need(per_node == 1, "a cosine bound is for one rank per node")
        total, scale = cosine_sum(proof, network, ranks, bytes_of)
        if hops:
            need(max(proof["lengths"]) <= proof["scale"], "lengths: hop-bytes count every hop once")
        else:
            scale = 2 * ONE * sum(network.channels(d) * each for d, each in enumerate(proof["lengths"]))
            need(scale > 0, "lengths: all are 0")
        return max(0, ceil(ceil(total, scale), step) * step)
    if kind == "uniform":
        need(not hops and per_node == 1 and ranks == network.count, "a uniform bound is for a full network")
        need(len(bytes_of) == ranks * (ranks - 1), "all ranks must send to all others")
        need(len(set(bytes_of.values())) == 1, "all messages must be alike")
        return fullest
    need(not hops and per_node == 1, f"a certificate of the kind {kind} is not about this")
    if kind in ("clique", "packing"):
        return ceil(shared(proof, network, bytes_of, ordered), step) * step
    if kind == "port":
        # A message becomes flits, and every 16 of them, or what is left, a packet with a header.
        bytes_of_flit = whole(proof["flit_bytes"], 1, 1 << 40, "flit_bytes")
        side, total = 0 if proof["sends"] else 1, 0
        for pair, amount in bytes_of.items():
            if pair[side] == proof["rank"]:
                flits = ceil(amount, bytes_of_flit)
                total += flits + ceil(flits, 16)
        return total
    if kind == "message":
        return bytes_of.get((proof["source"], proof["destination"]), 0)
    if kind == "degree":
        rank = proof["rank"]
        side = 0 if proof["sends"] else 1
        amount = sum(amount for pair, amount in bytes_of.items() if pair[side] == rank)
        return ceil(ceil(amount, network.degree()), step) * step
    need(
        kind == "cut" and axes and not network.twist and ranks == network.count, f"a certificate {kind!r:.40}"
    )
    slab = network.count // network.sizes[whole(proof["dimension"], 0, len(network.sizes) - 1, "dimension")]
    nodes = whole(proof["nodes"], 1, ranks - 1, "nodes")
    need(nodes % slab == 0, "a cut is between slabs")
    channels = slab * (2 if network.wraps[proof["dimension"]] else 1)
    if network.full[proof["dimension"]]:
        channels = nodes * (network.sizes[proof["dimension"]] - nodes // slab)
    # Every ordered pair of ranks sends one unit along the axes: what an edge carries, times eight.
    load, units = 0, 1
    for axis in axes:
        size = axis["size"]
        if size == 1:
            continue
        need(axis["kind"] in ("a2a", "ring", "line"), "a cut is for cliques, rings and lines")
        if axis["kind"] == "a2a" or size == 2:
            each = 8
        elif axis["kind"] == "ring":
            each = size * size if size % 2 == 0 else size * size - 1
        else:
            each = 8 * (size // 2) * ceil(size, 2)
        each *= ranks // size
        if each * units > load * axis["bytes"]:
            load, units = each, axis["bytes"]
    need(load > 0, "a cut needs traffic")
    value = ceil(8 * nodes * (ranks - nodes) * units, load * channels)
    return ceil(value, step) * step


def verify(document):
    """What holds of a placement's document; raises what does not."""
    need(document.get("format") == "flitloom placement 1", "is no placement")
    network = Network(document["topology"])
    listed = None
    if document.get("routing") == "do":
        need(not network.failed and not network.broken, "routing: dimension order needs a whole network")
    else:
        listed = {}
        for way in document["ways"]:
            need(type(way) is list and len(way) > 1, "ways: a way has two nodes or more")
            for node in way:
                whole(node, 0, network.count - 1, "ways")
            need((way[0], way[-1]) not in listed, f"ways: two lead from {way[0]} to {way[-1]}")
            listed[way[0], way[-1]] = [network.joined(*hop) for hop in pairwise(way)]
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
    loads, sent, received = {}, {}, {}
    for (source, destination), amount in bytes_of.items():
        a, b = nodes[source], nodes[destination]
        if a == b:
            continue
        sent[a] = sent.get(a, 0) + amount
        received[b] = received.get(b, 0) + amount
        need(listed is None or (a, b) in listed, f"ways: none leads from {a} to {b}")
        for channel in network.way(a, b) if listed is None else listed[a, b]:
            loads[channel] = loads.get(channel, 0) + amount
    fullest = max(loads.values(), default=0)
    facts = {
        "fullest_channel": fullest,
        "fullest_port": max([*sent.values(), *received.values()], default=0),
        "hop_bytes": sum(loads.values()),
    }
    for name, value in facts.items():
        need(
            document.get(name) == value,
            f"{name}: the file says {document.get(name)!r:.40}, the ways say {value}",
        )
    axes = document["traffic"].get("axes")
    by_hops = document.get("minimised") == "hops"
    for name, hops, certificate in (
        ("bound", by_hops, document["certificate"]),
        ("hop_bytes_bound", True, document["hop_bytes_certificate"]),
    ):
        need(
            (certificate["kind"] == "port") <= (document.get("minimised") == "time" and not hops),
            f"{name}: a certificate of ports is about time",
        )
        value = proven(certificate, network, ranks, bytes_of, axes, per_node, hops, fullest, listed is None)
        claimed = whole(document[name], 0, 1 << 62, name)
        need(claimed <= value, f"{name}: the file says {claimed}, its certificate proves {value}")
        facts[name] = claimed
    reached = facts["hop_bytes"] if by_hops else fullest
    if document.get("minimised") == "time":
        need(document["certificate"]["kind"] in ("port", "nothing"), "certificate: is not about time")
        reached = whole(document["duration"], 0, 1 << 62, "duration")
        need(facts["bound"] <= reached, "duration: is below the bound")
    need(document["optimal"] is (facts["bound"] >= reached), "optimal: the bound says otherwise")
    facts["optimal"] = document["optimal"]
    return facts


def main(arguments):
    files = [one for one in arguments if one != "--json"]
    if len(files) != 1:
        print(__doc__.split("\n\n")[1])
        return 1
    problem, facts = None, {}
    try:
        with open(files[0], "rb") as file:
            text = file.read(MOST_BYTES + 1)
        need(len(text) <= MOST_BYTES, "the file is too large")
        document = json.loads(text)
        need(type(document) is dict, "the file is no JSON object")
        facts = verify(document)
    except Refused as refused:
        problem = str(refused)
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        problem = f"not understood: {type(error).__name__} {error}"
    if "--json" in arguments:
        print(json.dumps({"passed": problem is None, "problem": problem, **facts}))
    elif problem is None:
        for name, value in facts.items():
            print(f"{name.replace('_', ' '):16} {value}")
        print("verified: loads, ports, hop-bytes and bounds are as the file says")
    else:
        print(f"FAILED: {problem}")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
