"""How many chunks an all-gather of a number of rounds has on its busiest links at least, proven by prices.

All nodes see the same network, and schedules may be taken as averaged over all shifts. A chunk that a node
has at the end has a price, by the offset of the node from its owner. To send it costs the lengths of the
links on its routes, which add up to one in a round. Before a round a chunk is worth its own price and what
sending it gains over its cost, to every node. So the prices of all nodes at the end, less the worth of the
chunk at its owner at the begin, bound the chunks on the busiest links. This is the dual of a linear program
in which nodes hold shares of chunks; it has no other variables than these prices and lengths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.moats import Distances, climbed, reached
from flitloom.collectives.nested import MOST_ROUNDS, numbers, offsets
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground

#: Steps by which prices of a number of rounds are improved.
STEPS = 400
#: Vectors of kinds that all steps may look at: large networks take fewer steps, down to enough of them.
WORK, ENOUGH = 200_000_000, 50
#: Share of the way to the bound of a round less by which the first steps aim ahead.
AHEAD = 0.5
#: Steps without a better bound after which half of it is enough.
PATIENCE = 20
#: Bounds above the chunks that enter a node by less than this share need no more rounds; those by potentials.
CLOSE, REACHED = 1e-3, 0.01
#: Digits of prices and lengths behind the point.
DIGITS = 9


@dataclass(frozen=True)
class Prices:
    """Prices that prove a bound.

    Attributes
    ----------
    nodes : tuple of float
        By offset the price of a chunk at the end.
    links : tuple of tuple of float
        Per round the length of a link, by the way that it leads.
    chunks : float
        Chunks on the busiest links, over all rounds, at least.
    sums : float
        Vectors on the busiest links of an all-reduce of as many rounds, at least.
    potentials : tuple of tuple of tuple of float
        Where all nodes see the same network, potentials of nodes (`flitloom.collectives.moats`) with the same
        lengths of links; none if prices of nodes prove as much.
    healthy : bool
        Whether they are of the network without failures, where all nodes see the same.
    """

    nodes: tuple[float, ...]
    links: tuple[tuple[float, ...], ...]
    chunks: float
    sums: float
    potentials: tuple[tuple[tuple[float, ...], ...], ...] = ()
    healthy: bool = False


@dataclass(frozen=True)
class _Kinds:
    """Offsets that symmetries of the network join, and how many vectors lead between them.

    Attributes
    ----------
    of : array of int
        The kind of every offset; 0 is that of offset 0.
    counts : array of int
        Offsets of a kind.
    loads : array of float
        Different loads of vectors, by class of links.
    starts, sends, vectors : array of int
        Steps from an offset of a kind (`starts`) to one of a kind over a load (`sends`: the kind times the
        number of loads, and the load), and how many vectors do such a step.
    """

    of: NDArray[np.int64]
    counts: NDArray[np.int64]
    loads: NDArray[np.float64]
    starts: NDArray[np.int64]
    sends: NDArray[np.int64]
    vectors: NDArray[np.float64]


def network_symmetries(ground: Ground) -> list[NDArray[np.int64]]:
    """Dimensions that are mirrored or exchanged, where that changes nothing."""
    group, hops = offsets(ground), offsets(ground).hops
    points = np.array([ground.point(node) for node in range(ground.nodes)])
    places = range(len(ground.sizes))
    tried = list(group.turns)
    for place in places:
        signs = np.where(np.arange(len(places)) == place, -1, 1)
        tried.append(numbers(ground, points * signs))
        for other in range(place):
            order = [{place: other, other: place}.get(one, one) for one in places]
            if ground.sizes[place] == ground.sizes[other]:
                tried.append(numbers(ground, points[:, order]))
    return [
        one
        for one in tried
        if np.allclose(hops[one], hops) and (group.behind[one][:, one] == one[group.behind]).all()
    ]


def _kinds(ground: Ground) -> _Kinds:
    group = offsets(ground)
    least = np.arange(ground.nodes)
    every = network_symmetries(ground)
    while True:
        before = least.copy()
        for one in every:
            np.minimum.at(least, one, least.copy())
            least = np.minimum(least, least[one])
        if (least == before).all():
            break
    firsts, of, counts = np.unique(least, return_inverse=True, return_counts=True)
    loads, which = np.unique(group.hops.round(9), axis=0, return_inverse=True)
    ends = of[group.behind[firsts][:, group.behind[0]]]
    # To stay, over the vector 0, is not to send.
    ends, over = ends[:, 1:], which.reshape(-1)[1:]
    several = len(firsts) * len(loads)
    keys = np.arange(len(firsts))[:, None] * several + ends * len(loads) + over
    keys, vectors = np.unique(keys, return_counts=True)
    starts, sends = np.divmod(keys, several)
    return _Kinds(of, counts, loads, starts, sends, vectors.astype(np.float64))


@lru_cache(maxsize=4)
def least_chunks(ground: Ground, enough: float = 0.0) -> tuple[Prices, ...]:
    """Bounds for all-gathers of 1, 2, ... rounds, up to the diameter or until only what enters nodes counts.

    They also end with the first one that is not above `enough` chunks.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> [round(one.chunks, 2) for one in least_chunks(Ground(fl.Torus(4, 4)))]  # of 15 over 4 links
    [8.0, 4.5, 4.0, 3.75]
    """
    group, kinds = offsets(ground), _kinds(ground)
    floor = (ground.nodes - 1) / group.links.sum()
    even = group.links / group.links.sum()
    found: list[Prices] = []
    # With equal prices of a hop nothing gains by more than one, and all that enters a node is counted.
    start = np.full(len(kinds.counts), 1 / group.links.sum())
    start[0] = 0
    target = np.inf
    for rounds in range(1, min(int(ground.routes[0][0].max()), MOST_ROUNDS) + 1):
        lengths = np.tile(even, (rounds, 1))
        if rounds == 1:
            # All come straight from their owners, who load the links of a class as they do.
            loads = group.hops.sum(axis=0)
            target = float(loads.max())
            lengths[0] = loads == target
            lengths /= lengths.sum()
            nodes = (kinds.loads @ lengths[0])[_first_loads(kinds)]
        elif target <= floor * (1 + CLOSE):
            nodes = start
        else:
            nodes, lengths = _climb(kinds, start, lengths, target)
        priced = _proof(ground, kinds, nodes, lengths)
        target = priced.chunks
        found.append(_with_potentials(ground, priced))
        close = target <= floor * (1 + CLOSE) and found[-1].chunks <= floor * (1 + REACHED)
        if close or found[-1].chunks <= enough:
            break
    return tuple(found)


def _with_potentials(ground: Ground, priced: Prices) -> Prices:
    """The same, with potentials if these prove more."""
    if len(priced.links) == 1:
        return priced
    costs = _costs(ground, priced.links)
    distances = _distances(ground, costs)
    if not distances.small:
        return priced
    behind = offsets(ground).behind
    found = climbed(distances, behind, costs)
    if found is not None and (chunks := reached(distances, behind, costs, found)) > priced.chunks:
        return _priced(ground, priced.nodes, priced.links, chunks, found.tolist())
    return priced


def _costs(ground: Ground, links: Sequence[Sequence[float]]) -> list[NDArray[np.float64]]:
    """By round what a chunk costs that takes all minimal routes evenly, by the vector that it goes."""
    group = offsets(ground)
    widths = np.array([ground.links[0, way] for way in group.ways])
    return [group.along @ (np.array(row) * widths) for row in links]


def _cheapest(ground: Ground, links: Sequence[Sequence[float]]) -> list[NDArray[np.float64]]:
    """The same by the shortest of all routes, so that none that is left after failures costs less."""
    group, found = offsets(ground), []
    for row in np.array(links):
        cost = np.where(np.arange(ground.nodes) == 0, 0.0, np.inf)
        while (
            (nearer := np.minimum(cost, (cost[group.behind[:, group.ways]] + row).min(axis=1))) < cost
        ).any():
            cost = nearer
        found.append(cost)
    return found


def _distances(ground: Ground, costs: Sequence[NDArray[np.float64]]) -> Distances:
    """Hops between nodes; senders represent all others, by symmetries that keep what messages cost."""
    every = network_symmetries(ground)
    return Distances(
        ground, [one for one in every if all(np.allclose(cost[one], cost, 1e-12, 0) for cost in costs)]
    )


def _first_loads(kinds: _Kinds) -> NDArray[np.int64]:
    """By kind the load of the vectors from offset 0."""
    found = np.zeros(len(kinds.counts), dtype=np.int64)
    of_owner = kinds.sends[kinds.starts == 0]
    found[of_owner // len(kinds.loads)] = of_owner % len(kinds.loads)
    return found


def _climb(
    kinds: _Kinds, nodes: NDArray[np.float64], lengths: NDArray[np.float64], target: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Better prices, step by step along what changes the bound most, towards a bound ever less ahead."""
    counts, kept = kinds.counts, len(kinds.counts)
    best = -np.inf, nodes, lengths
    ahead, failed = AHEAD * (target - float(counts @ nodes)), 0
    for _ in range(min(STEPS, max(ENOUGH, WORK // (len(lengths) * len(kinds.sends))))):
        worth, gains = nodes, []
        for row in lengths[::-1]:
            gain = np.maximum(worth[:, None] - kinds.loads @ row, 0)
            gains.append(gain > 0)
            worth = worth + np.bincount(kinds.starts, kinds.vectors * gain.ravel()[kinds.sends], kept)
        value = float(counts @ nodes - worth[0])
        if value > best[0]:
            best, failed = (value, nodes, lengths), 0
        else:
            failed += 1
        if failed > PATIENCE:
            ahead, failed = ahead / 2, 0
        # What all would hold, and what links would transfer, if all that gains were sent.
        held = np.zeros(kept)
        held[0] = 1.0
        loads = np.zeros_like(lengths)
        for turn, gaining in enumerate(reversed(gains)):
            flow = np.bincount(kinds.sends, kinds.vectors * held[kinds.starts], gaining.size)
            flow = flow.reshape(gaining.shape) * gaining
            loads[turn] = flow.sum(axis=0) @ kinds.loads
            held = held + flow.sum(axis=1)
        slope = (counts - held) / counts
        tilt = loads - loads.mean(axis=1, keepdims=True)
        size = float((counts * slope**2).sum() + (tilt**2).sum())
        step = (best[0] + ahead - value) / max(size, 1e-12)
        nodes = np.maximum(nodes + step * slope, 0)
        nodes[0] = 0
        if lengths.shape[1] > 1:
            lengths = shares(lengths + step * tilt)
    return best[1], best[2]


def shares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest rows of numbers not below 0 that add up to one.

    >>> shares(np.array([[0.75, 0.5], [2.0, 0.5]])).tolist()
    [[0.625, 0.375], [1.0, 0.0]]
    """
    down = np.sort(rows, axis=1)[:, ::-1]
    over = (down.cumsum(axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = (down > over).sum(axis=1) - 1
    found: NDArray[np.float64] = np.maximum(rows - over[np.arange(len(rows)), last][:, None], 0)
    return found


def _proof(ground: Ground, kinds: _Kinds, nodes: NDArray[np.float64], lengths: NDArray[np.float64]) -> Prices:
    """Prices in round numbers, with what these prove."""
    group = offsets(ground)
    prices = nodes.round(DIGITS)[kinds.of]
    # Links of a class have equal lengths.
    rows = (lengths / group.links)[:, group.classes]
    rows = np.floor(rows * 10**DIGITS) / 10**DIGITS
    return proven_prices(ground, prices.tolist(), rows.tolist())


def proven_prices(
    ground: Ground,
    nodes: Sequence[float],
    links: Sequence[Sequence[float]],
    potentials: Sequence[Sequence[Sequence[float]]] = (),
) -> Prices:
    """Prices and potentials with what they prove; see `proven` and `flitloom.collectives.moats.reached`."""
    chunks = proven(ground, nodes, links)
    if potentials:
        costs = _costs(ground, links)
        chunks = max(chunks, reached(_small(ground, costs), offsets(ground).behind, costs, potentials))
    return _priced(ground, nodes, links, chunks, potentials)


def _small(ground: Ground, costs: Sequence[NDArray[np.float64]]) -> Distances:
    """Hops between nodes, if they are few enough for potentials."""
    distances = _distances(ground, costs)
    if not distances.small:
        raise SpecError.at("prices.potentials", f"{counted(ground.nodes, 'node')} are too many for them")
    return distances


def prices_less_failures(
    ground: Ground,
    nodes: Sequence[float],
    links: Sequence[Sequence[float]],
    potentials: Sequence[Sequence[Sequence[float]]] = (),
) -> Prices:
    """What prices and potentials of the network without failures prove of what is left of it.

    A message costs at least the shortest way that it had without failures. What nodes that have failed would
    pay does not count, and neither do lengths of links that have failed.

    Raises
    ------
    SpecError
        They are not such prices and potentials.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(4, 4, failed_nodes=[5]))
    >>> one = least_chunks(ground.without_failures())[1]
    >>> found = prices_less_failures(ground, one.nodes, one.links)
    >>> round(one.chunks, 3), round(found.chunks, 3)  # 15 chunks of 16; 14 chunks over fewer links
    (4.5, 4.5)
    """
    whole = ground.without_failures()
    behind, ways = offsets(whole).behind, offsets(whole).ways
    end, rows = _as_prices(whole, nodes, links)
    costs = _cheapest(whole, links)
    members = np.array(ground.working)
    apart = behind[members[:, None], members]
    every = end[apart].sum(axis=0) - _worth(behind, end, costs)
    if potentials:
        share = reached(_small(whole, costs), behind, costs, potentials)
        last = np.array(potentials[-1])[:, 0]
        away = whole.routes[0][0]
        heights = np.where(away > 0, last[np.maximum(away, 1) - 1], 0.0)
        others = heights[apart].sum(axis=0) * (share / max(heights.sum(), 1e-300))
        every = max(every, others, key=lambda one: float(one.sum()))
    starts, ends = np.array(list(ground.links), dtype=np.int64).T
    several = np.array(list(ground.links.values()))
    places = np.searchsorted(ways, behind[ends, starts])
    # The lengths of all links that are left, in the round where they are the longest together.
    once = float((rows[:, places] * several).sum(axis=1).max())
    every = every / once
    chunks = float(every.sum())
    sums = float(every.min()) + (len(members) - 1) * float(rows.min()) / once if len(rows) > 1 else chunks
    kept = tuple(tuple(map(tuple, table)) for table in potentials)
    return Prices(tuple(nodes), tuple(map(tuple, links)), chunks, sums, kept, healthy=True)


def least_less_failures(ground: Ground) -> tuple[Prices, ...]:
    """Bounds for all-gathers of 1, 2, ... rounds on what failures leave of a network, by those without them.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> [round(one.chunks, 2) for one in least_less_failures(Ground(fl.Torus(4, 4, failed_nodes=[5])))]
    [8.0, 4.5]
    """
    every = least_chunks(ground.without_failures(), entering_chunks(ground))
    return tuple(prices_less_failures(ground, one.nodes, one.links, one.potentials) for one in every)


def entering_chunks(ground: Ground) -> float:
    """Chunks on the links to the node with the fewest, which need those of all others.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> entering_chunks(Ground(fl.Torus(4, 4, failed_nodes=[5])))
    4.666666666666667
    """
    entering = Counter[int]()
    for (_, end), several in ground.links.items():
        entering[end] += several
    return (len(ground.members) - 1) / min(entering[node] for node in ground.members)


def _priced(
    ground: Ground,
    nodes: Sequence[float],
    links: Sequence[Sequence[float]],
    chunks: float,
    potentials: Sequence[Sequence[Sequence[float]]],
) -> Prices:
    """Prices and potentials with the chunks of an all-gather that they prove.

    A node that is the first to know a sum has it from what all others sent, as in a reduce-scatter of as many
    rounds. Every other node needs a transfer that ends no earlier, over a link at least.
    """
    sums = (chunks + (ground.nodes - 1) * min(map(min, links))) / ground.nodes
    kept = tuple(tuple(map(tuple, table)) for table in potentials)
    return Prices(tuple(nodes), tuple(map(tuple, links)), chunks, chunks if len(links) == 1 else sums, kept)


def as_prices(
    nodes: Sequence[float] | NDArray[np.float64],
    links: Sequence[Sequence[float]] | NDArray[np.float64],
    count: int,
    widths: NDArray[np.float64],
    whose: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A number of prices, and by round the lengths of links, which add up to one at most with parallel ones.

    Raises
    ------
    SpecError
        They are not such prices; the message says whose are needed.

    Examples
    --------
    >>> as_prices([0, 1], [[0.5, 0.25]], 2, np.array([1.0, 2.0]), "both nodes")
    (array([0., 1.]), array([[0.5 , 0.25]]))
    """
    end, rows = np.array(nodes, dtype=np.float64), np.array(links, dtype=np.float64)
    shaped = end.shape == (count,) and rows.ndim == 2 and rows.shape[1] == len(widths)
    if not (
        shaped
        and np.isfinite(end).all()
        and min(end.min(), rows.min(initial=0)) >= 0
        and (rows @ widths <= 1 + 1e-9).all()
    ):
        problem = f"prices of {whose}, and lengths of links that add up to one, are needed"
        raise SpecError.at("prices", problem)
    return end, rows


def proven(
    ground: Ground,
    nodes: Sequence[float] | NDArray[np.float64],
    links: Sequence[Sequence[float]] | NDArray[np.float64],
) -> float:
    """Chunks on the busiest links that prices prove, from the last round back to the first one.

    Parameters
    ----------
    ground : Ground
        A network in which all nodes see the same.
    nodes : sequence of float
        By offset the price of a chunk at the end.
    links : sequence of sequence of float
        Per round the length of a link, by the way that it leads: those of all links of a node add up to at
        most one.

    Raises
    ------
    SpecError
        They are not such prices.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(3))
    >>> proven(ground, [0, 0.5, 0.5], [[0.5, 0.5]])  # two chunks over two links
    1.0
    """
    end, rows = _as_prices(ground, nodes, links)
    return float(end.sum() - _worth(offsets(ground).behind, end, _costs(ground, rows.tolist())))


def _as_prices(
    ground: Ground,
    nodes: Sequence[float] | NDArray[np.float64],
    links: Sequence[Sequence[float]] | NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Prices of all nodes and lengths of the links of node 0, where all nodes see the same."""
    widths = np.array([ground.links[0, way] for way in offsets(ground).ways])
    return as_prices(nodes, links, ground.nodes, widths, "all nodes")


def _worth(
    behind: NDArray[np.int64], end: NDArray[np.float64], costs: Sequence[NDArray[np.float64]]
) -> float:
    """What a chunk is worth at node 0 before the first round, from the last round back."""
    worth = end
    for cost in costs[::-1]:
        # By receiver, and the vector over which it is reached.
        gain = np.maximum(worth[:, None] - cost, 0)
        gain[:, 0] = 0
        worth = worth + np.bincount(behind.ravel(), gain.ravel(), len(worth))
    return float(worth[0])
