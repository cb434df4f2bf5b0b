"""All-to-alls in few rounds: pieces go from neighbour to neighbour, and wait where others use the links.

A linear program has every node once per round. What a node sends to all others flows through these, over
links or by waiting, so that the busiest links of all rounds have little together. The flows are taken apart
into ways of pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.nested_unlike import whole_shares
from flitloom.collectives.rounds_plan import Messages
from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Most nodes, and more rounds than the diameter that are tried.
MOST_NODES, FURTHER = 16, 2
#: Pieces into which what a node sends to another one may be cut, few ones first.
PIECES = (1, 2, 3, 4, 6, 8, 12, 24, 48)
#: Share of the bytes that more pieces or rounds must save.
SAVED = 2e-3
#: What a hop costs beside the chunks of busiest links, so that nothing goes a way for nothing.
HOP = 1e-6
#: Flows that count as none.
NOTHING = 1e-7

#: Round and link of every hop, in order.
Hops = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Routed:
    """How an all-to-all is done.

    Attributes
    ----------
    ways : tuple of (int, Hops, int)
        Number of the pair of nodes, by their places, the hops, and how many pieces of the pair take them.
    pieces : int
        Pieces of a pair.
    loads : tuple of float
        Per round the chunks on the busiest link.
    """

    ways: tuple[tuple[int, Hops, int], ...]
    pieces: int
    loads: tuple[float, ...]


@lru_cache(maxsize=16)
def routed(ground: Ground, rounds: int) -> Routed | None:
    """An all-to-all in a number of rounds, at least the diameter; none if the solver gives up.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> routed(Ground(fl.Mesh(3)), 2).loads  # two chunks over the links to and from the middle
    (1.0, 1.0)
    """
    members, ends = ground.working, sorted(ground.links)
    flows = _flows(ground, rounds)
    if flows is None:
        return None
    pairs, ways, parts = [], list[Hops](), list[float]()
    for source, flow in enumerate(flows):
        for target in (place for place in range(len(members)) if place != source):
            for hops, part in _taken_apart(ground, flow, target):
                pairs.append(source * len(members) + target)
                ways.append(hops)
                parts.append(part)
    widths = [ground.links[one] for one in ends]
    loads = np.zeros((len(ways), rounds, len(ends)))
    for way, hops in enumerate(ways):
        for turn, link in hops:
            loads[way, turn, link] = 1 / widths[link]
    known, owners = np.unique(pairs, return_inverse=True)
    best: Routed | None = None
    for pieces in PIECES:
        shares, busiest = whole_shares(np.array(parts), owners, np.full(len(known), pieces), loads)
        if best is None or sum(busiest) < sum(best.loads) * (1 - SAVED):
            kept = tuple(one for one in zip(pairs, ways, shares, strict=True) if one[2])
            best = Routed(kept, pieces, busiest)
    return best


def _flows(ground: Ground, rounds: int) -> list[NDArray[np.float64]] | None:
    """By node what it sends, in chunks by round: over all links, then what waits at all nodes."""
    members, ends = ground.working, sorted(ground.links)
    count, links = len(members), len(ends)
    place = {node: number for number, node in enumerate(members)}
    every = np.arange(count)
    tails, heads = (np.concatenate([[place[one[side]] for one in ends], every]) for side in (0, 1))
    arcs = links + count
    turn, arc = (each.ravel() for each in np.indices((rounds, arcs)))
    column = np.arange(rounds * arcs)
    rows, columns, signs, wanted = [], [], [], []
    for source in range(count):
        # What leaves a node in a round came there before; in the end every other node has its chunk.
        first = source * (rounds + 1) * count
        rows += [first + turn * count + tails[arc], first + (turn + 1) * count + heads[arc]]
        columns += [source * rounds * arcs + column] * 2
        signs += [np.ones(len(column)), -np.ones(len(column))]
        need = np.zeros((rounds + 1, count))
        need[0, source], need[rounds] = count - 1, np.where(every == source, 0, -1)
        wanted.append(need.ravel())
    over = arc < links
    begin, busiest = len(wanted) * (rounds + 1) * count, count * rounds * arcs
    widths = np.array([ground.links[one] for one in ends], dtype=np.float64)
    for source in range(count):
        rows.append(begin + turn[over] * links + arc[over])
        columns.append(source * rounds * arcs + column[over])
        signs.append(np.ones(int(over.sum())))
    rows.append(begin + np.arange(rounds * links))
    columns.append(busiest + np.repeat(np.arange(rounds), links))
    signs.append(-np.tile(widths, rounds))
    cost = np.concatenate([np.tile(np.where(over, HOP, 0.0), count), np.ones(rounds)])
    even = np.concatenate(wanted)
    found = solve(
        cost,
        (np.concatenate(rows), np.concatenate(columns), np.concatenate(signs)),
        np.concatenate([even, np.full(rounds * links, -np.inf)]),
        np.concatenate([even, np.zeros(rounds * links)]),
        "ipm",
    )
    if found is None:
        return None
    return list(found.variables[:busiest].reshape(count, rounds, arcs).copy())


def _taken_apart(ground: Ground, flow: NDArray[np.float64], target: int) -> Iterator[tuple[Hops, float]]:
    """Ways of the chunk for a node, from there back to its source, which are taken from the flow."""
    members, ends = ground.working, sorted(ground.links)
    place = {node: number for number, node in enumerate(members)}
    tails = [place[start] for start, _ in ends]
    into: list[list[int]] = [[len(ends) + node] for node in range(len(members))]
    for link, (_, end) in enumerate(ends):
        into[place[end]].append(link)
    left = 1.0
    while left > NOTHING:
        here, arcs = target, []
        for turn in reversed(range(len(flow))):
            arc = max(into[here], key=lambda one: flow[turn, one])
            arcs.append((turn, arc))
            here = tails[arc] if arc < len(ends) else here
        part = min(left, *(float(flow[one]) for one in arcs))
        if part <= NOTHING:
            break
        for one in arcs:
            flow[one] -= part
        left -= part
        yield tuple(one for one in reversed(arcs) if one[1] < len(ends)), part


def routed_exchanges(ground: Ground) -> list[Algorithm]:
    """All-to-alls of as many rounds as the diameter, and of more as long as these save bytes.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> [(one.name, round(one.factor, 9)) for one in routed_exchanges(Ground(fl.Torus(5)))]
    [('routed (2)', 0.6)]
    """
    count, found = len(ground.working), list[Algorithm]()
    if not 1 < count <= MOST_NODES or ground.has_relays:
        return found
    far = int(ground.routes[0].max())
    for rounds in range(far, far + FURTHER + 1):
        one = routed(ground, rounds)
        if one is None or (found and sum(one.loads) / count > found[-1].factor * (1 - SAVED)):
            break
        loads = tuple(load / count for load in one.loads)
        made = partial(routed_messages, ground, one)
        found.append(Algorithm(f"routed ({rounds})", loads, "this project", messages=made))
    return found


def routed_messages(ground: Ground, found: Routed) -> Messages:
    """All messages; parts are numbered by sender, then by receiver.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Mesh(2))
    >>> routed_messages(ground, routed(ground, 1)).moves
    [(0, 0, 1, 1, 1), (0, 1, 0, 2, 1)]
    """
    ends = sorted(ground.links)
    made = Messages(len(ground.working) * found.pieces, alike=False)
    first, before = 0, -1
    for pair, hops, share in found.ways:
        first, before = (0 if pair != before else first), pair
        place = pair * found.pieces + first
        made.moves.extend((turn, *ends[link], place, share) for turn, link in hops)
        first += share
    return made
