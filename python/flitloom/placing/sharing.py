"""Lower bounds of the busiest channel from messages that must share a channel.

A message between two ranks takes one route, so of more messages than a node has channels two share one.
Under dimension order messages to nodes with another x leave over the channels of x, and only this many nodes
have the same x; it is the same of x and y together, and of the last dimensions for what arrives.

Under dimension order more is known of g ranks that all send to each other. Take the first dimension in which
not all have the same coordinate. If they have two coordinates there, all messages from one rank to the other
coordinate begin on the same channel; from a rank of the smaller part these are g / 2 or more. If they have
three or more, at most floor(g / 3) ranks have the rarest one, and each of these sends to all others over two
channels. So one channel has (g - floor(g / 3)) / 2 of these messages, rounded up, or more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: Ranks at which a clique is looked for, least messages that it may have, and ranks that it has at most.
STARTS, LEVELS, LARGEST = 4, 8, 4096
#: Pairs in which one is looked for.
MOST_PAIRS = 300_000

Bounded = tuple[int, dict[str, Any]]


def sharing_bound(topology: AnyNetwork, traffic: Traffic, by_order: bool) -> Bounded:
    """The best of these bounds, with its certificate; `by_order` says that routes are by dimension order.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import axes_traffic, parse_axes
    >>> traffic = axes_traffic(parse_axes("a=4:a2a:4,b=4:a2a:2,c=4:a2a:1"))
    >>> sharing_bound(fl.Torus(4, 4, 4), traffic, True)
    (8, {'kind': 'clique', 'ranks': [0, 1, 2, 3]})
    >>> sharing_bound(fl.Torus(16), traffic, False)[1]["kind"]
    'packing'
    """
    plain = by_order and not topology.twist and not any(topology.full)
    best = _packing(topology, traffic, plain)
    if plain:
        found = _clique(traffic)
        best = found if found[0] > best[0] else best
    return best


def at_once(ranks: int) -> int:
    """Messages on one channel, at least, of this many ranks that all send to each other.

    Examples
    --------
    >>> [at_once(ranks) for ranks in (2, 3, 4, 8, 16)]
    [1, 1, 2, 3, 6]
    """
    return -(-(ranks - ranks // 3) // 2)


def _packing(topology: AnyNetwork, traffic: Traffic, by_order: bool) -> Bounded:
    """Of the largest messages of a rank, one more than twice, three times, ... as many as channels.

    Where routes are by dimension order, also for the channels of the first dimensions alone, or the last ones
    for what a rank receives: the largest messages go where the others do not lead, to as many nodes as there
    are.
    """
    each = [k - 1 if full else min(k - 1, 2) for k, full in zip(topology.sizes, topology.full, strict=True)]
    best: Bounded = (0, {"kind": "nothing"})
    amounts = traffic.bytes.astype(np.int64)
    for sends, ends in ((True, traffic.sources), (False, traffic.destinations)):
        # The messages of a rank side by side, the largest first.
        order = np.lexsort((-amounts, ends))
        rows = amounts[order]
        firsts = np.searchsorted(ends[order], np.arange(traffic.ranks))
        counts = np.bincount(ends.astype(np.int64), minlength=traffic.ranks)
        sums = np.concatenate([[0], np.cumsum(rows)])
        for along in range(len(each), 0 if by_order else len(each) - 1, -1):
            used, others = (each[:along], topology.sizes[along:])
            if not sends:
                used, others = (each[len(each) - along :], topology.sizes[: len(each) - along])
            channels, aside = sum(used), math.prod(others) - 1
            for shared in range(2, 2 + max(0, int(counts.max(initial=0)) - aside - 1) // channels):
                many = aside + (shared - 1) * channels + 1
                ranks = np.flatnonzero(counts >= many)
                last = firsts[ranks] + many
                values = sums[last] - sums[last - shared]
                at = int(values.argmax())
                if values[at] > best[0]:
                    proof = {"kind": "packing", "rank": int(ranks[at]), "sends": sends, "channels": channels}
                    proof |= {"shared": shared} if along == len(each) else {"shared": shared, "along": along}
                    best = (int(values[at]), proof)
    return best


def _clique(traffic: Traffic) -> Bounded:
    """The best of the cliques that axes name, or that are found from some ranks on."""
    best: Bounded = (0, {"kind": "nothing"})
    if not traffic.axes:
        return _found(traffic) if len(traffic.bytes) <= MOST_PAIRS else best
    stride = 1
    for axis in traffic.axes:
        value = at_once(axis.size) * axis.bytes
        if axis.kind == "a2a" and value > best[0] and axis.size <= LARGEST:
            best = (value, {"kind": "clique", "ranks": list(range(0, axis.size * stride, stride))})
        stride *= axis.size
    return best


def _found(traffic: Traffic) -> Bounded:
    """The best clique that grows from one of the ranks with most messages, for several least messages."""
    columns = (traffic.sources, traffic.destinations, traffic.bytes)
    rows = np.column_stack([each.astype(np.int64) for each in columns]).tolist()
    sent: dict[int, dict[int, int]] = {}
    for source, destination, amount in rows:
        sent.setdefault(source, {})[destination] = amount
    levels = np.unique(traffic.bytes.astype(np.int64))[::-1]
    levels = levels[np.linspace(0, len(levels) - 1, min(len(levels), LEVELS)).astype(int)]
    starts = sorted(sent, key=lambda rank: (-len(sent[rank]), rank))[:STARTS]
    best: Bounded = (0, {"kind": "nothing"})
    for least in levels.tolist():
        near = {}
        for start in starts:
            ranks, rest = [start], _both_ways(sent, start, least)
            while rest and len(ranks) < LARGEST:
                for rank in rest:
                    if rank not in near:
                        near[rank] = _both_ways(sent, rank, least)
                ranks.append(max(rest, key=lambda rank: (len(near[rank] & rest), -rank)))
                rest &= near[ranks[-1]]
            if at_once(len(ranks)) * least > best[0]:
                best = (at_once(len(ranks)) * least, {"kind": "clique", "ranks": sorted(ranks)})
    return best


def _both_ways(sent: dict[int, dict[int, int]], rank: int, least: int) -> set[int]:
    """Ranks to which a rank sends so much, and which send so much back."""
    others = {other for other, amount in sent.get(rank, {}).items() if amount >= least and other != rank}
    return {other for other in others if sent.get(other, {}).get(rank, 0) >= least}
