#!/usr/bin/env python3
"""Verify a deadlock certificate against routing tables or a plan, without flitloom.

usage: recheck.py tables.json certificate.json
       recheck.py plan.json certificate.json

Every pair of working nodes (every packet of a plan) must have a route over existing, working links,
and every step of a route from one channel to the next must go to a channel of higher rank; with the
bubble rule the rank may stay the same within one ring of one direction, which always keeps a free
slot. Then no cycle of channels can wait for each other.
"""

import json
import sys
from itertools import pairwise


def main(tables_file, certificate_file):
    """What is wrong, or None."""
    with open(tables_file, encoding="utf-8") as text:
        tables = json.load(text)
    with open(certificate_file, encoding="utf-8") as text:
        certificate = json.load(text)
    topology = tables["topology"]
    sizes, wraps = certificate["sizes"], certificate["wraps"]
    if list(topology["sizes"]) != sizes:
        return f"the certificate is for sizes {sizes}, the tables for {topology['sizes']}"
    wrap = topology.get("wrap") or [topology["kind"] == "torus"] * len(sizes)
    if [bool(w and size > 2) for w, size in zip(wrap, sizes, strict=True)] != wraps:
        return "the certificate wraps other dimensions than the tables"
    count = 1
    for size in sizes:
        count *= size
    failed = set(topology["failed_nodes"])
    cut = {frozenset(link) for link in topology["failed_links"]}
    names = "xyzuvw"
    rank = {(node, direction, channel): value for node, direction, channel, value in certificate["channels"]}

    def coordinates(node):
        found = []
        for size in sizes:
            node, coordinate = divmod(node, size)
            found.append(coordinate)
        return found

    def direction(a, b):
        """The direction in which b is the neighbour of a, or None."""
        here, there = coordinates(a), coordinates(b)
        moved = [dimension for dimension in range(len(sizes)) if here[dimension] != there[dimension]]
        if len(moved) != 1:
            return None
        (dimension,) = moved
        for sign, step in (("+", 1), ("-", -1)):
            reached = here[dimension] + step
            if wraps[dimension]:
                reached %= sizes[dimension]
            if reached == there[dimension]:
                return sign + names[dimension]
        return None

    def channel_after(channel, node, way):
        """The virtual channel of the link that leaves `node`: one higher at each dateline."""
        dimension = names.index(way[1])
        size = sizes[dimension]
        upper = coordinates(node)[dimension] + (1 if way[0] == "+" else 0)
        crosses = wraps[dimension] and upper % size in (0, size // 2)
        if not certificate["datelines"]:
            return channel
        return min(channel + crosses, certificate["virtual_channels"] - 1)

    def walk(packet):
        """The nodes of a packet's route, and None beyond the rim."""
        nodes = [packet["source"]]
        for leg in packet["route"].split():
            dimension, step = names.index(leg[1]), 1 if leg[0] == "+" else -1
            for _ in range(int(leg[2:])):
                place = coordinates(nodes[-1])
                place[dimension] += step
                if wraps[dimension]:
                    place[dimension] %= sizes[dimension]
                elif not 0 <= place[dimension] < sizes[dimension]:
                    return [*nodes, None]
                stride = 1
                for size in sizes[:dimension]:
                    stride *= size
                nodes.append(nodes[-1] + (place[dimension] - coordinates(nodes[-1])[dimension]) * stride)
        return nodes

    plan = "packets" in tables
    routes = tables["packets"] if plan else tables["routes"]
    served = set()
    for route in routes:
        nodes, pair = walk(route) if plan else route["nodes"], (route["source"], route["destination"])
        where = f"route from {pair[0]} to {pair[1]}"
        if (nodes[0], nodes[-1]) != pair or (pair in served and not plan):
            return f"{where}: wrong ends, or given twice"
        served.add(pair)
        before, channel = None, route.get("channel", 0) if plan and tables["channels"] else 0
        for hop, (a, b) in enumerate(pairwise(nodes)):
            way = direction(a, b) if 0 <= a < count and 0 <= b < count else None
            if way is None or {a, b} & failed or frozenset((a, b)) in cut:
                return f"{where}: there is no working link from {a} to {b}"
            given = None if plan else route.get("channels")
            channel = given[hop] if given else channel_after(channel, a, way)
            after = (a, way, channel)
            if before is not None:
                same_ring = certificate["bubble"] and before[1] == way and before[2] == channel
                if not (rank[before] < rank[after] or (same_ring and rank[before] == rank[after])):
                    return f"{where}: rank does not rise from {before} to {after}"
            before = after
    if plan:
        return None
    working = [node for node in range(count) if node not in failed]
    missing = [(a, b) for a in working for b in working if a != b and (a, b) not in served]
    return f"no route for {missing[0]}" if missing else None


if __name__ == "__main__":
    problem = main(*sys.argv[1:3]) if len(sys.argv) == 3 else __doc__
    print(problem or "certificate holds")
    sys.exit(problem is not None)
