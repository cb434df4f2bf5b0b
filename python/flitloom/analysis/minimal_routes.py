"""The least load that the busiest link must have, over all ways of splitting traffic over minimal routes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from flitloom.analysis.channel_loads import _coordinates
from flitloom.analysis.demands import Demands, Whole
from flitloom.errors import SpecError
from flitloom.ground.linear import solve

#: Most cells (pairs times places a packet may pass) for which prices are searched.
LARGEST_SEARCH = 1 << 23
#: Most variables (pairs times links they may use) for which the program is solved.
LARGEST_PROGRAM = 30_000
#: Rounds of the search for prices.
ROUNDS = 100
#: Prices are rounded to multiples of 1 / this, and evaluated exactly.
PRICE_STEPS = 1 << 20


@dataclass(frozen=True)
class RouteBound:
    """Bounds on the load of the busiest link over all minimal routes, for a load of 1 flit/node/cycle.

    Attributes
    ----------
    least : Fraction
        No split over minimal routes has a lower largest load; exact, as the proof was evaluated in whole
        numbers.
    found : float or None
        The largest load of a split that was found; None where none was looked for.
    proof : str
        What proves `least`: ``volume`` (hops over links, per dimension), ``prices`` of links found by a
        search, or ``linear program`` (prices at its optimum).
    """

    least: Fraction
    found: float | None
    proof: str

    @property
    def throughput(self) -> Fraction | None:
        """Load above which no minimal routing delivers everything, in flits/node/cycle."""
        return 1 / self.least if self.least else None


def minimal_routes_bound(demands: Demands, rounds: int = ROUNDS) -> RouteBound:
    """Bound the load of the busiest link over all minimal routes.

    By linear programming duality: with any prices of links, the cheapest minimal routes of all pairs together
    cost at most the largest load times the sum of the prices. Prices are those of a linear program of flows
    where that is small, else the best of a multiplicative-weights search (Plotkin, Shmoys and Tardos 1995),
    which also finds a split. Traffic from every node to every other is bounded by its volume alone, which is
    tight on tori; so is all traffic where a dimension is a full mesh.

    Parameters
    ----------
    demands : Demands
        What is sent, made by `make_demands`.
    rounds : int
        Rounds of the search.

    Raises
    ------
    SpecError
        Parts of the network have failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.analysis.demands import make_demands
    >>> network = fl.Network(fl.Torus(8, 8))
    >>> bound = minimal_routes_bound(make_demands(network, fl.Load("trns", rate=0.1, cycles=100)))
    >>> bound.least, bound.proof                # dimension order: 4
    (Fraction(3, 2), 'linear program')
    """
    topology = demands.topology
    topology.require_untwisted(
        "bounds over all minimal routes", "flitloom route --torus 4x4x8 --twist has a bound"
    )
    topology.require_no_circulants("bounds over all minimal routes are")
    if topology.failed_nodes or topology.failed_links:
        raise SpecError.at("topology", "routes of a healthy network are bounded", "take the failed parts out")
    volume = RouteBound(_volume(demands), None, "volume")
    moving = demands.pairs[demands.pairs[:, 0] != demands.pairs[:, 1]]
    if demands.products or not len(moving) or any(topology.full):
        return volume
    routes = _Routes(demands, moving)
    if routes.cells > LARGEST_SEARCH:
        return volume
    if routes.variables <= LARGEST_PROGRAM and (solved := _program(routes)) is not None:
        prices, found = solved
        least, proof = routes.bound(prices), "linear program"
    else:
        least = max(routes.bound(_slab(routes)), volume.least)
        candidates, found = _search(routes, rounds, float(least))
        least, proof = max([least, *map(routes.bound, candidates)]), "prices"
    return (
        RouteBound(least, found, proof) if least > volume.least else RouteBound(volume.least, found, "volume")
    )


def any_routes_bound(demands: Demands) -> RouteBound:
    """Bound the load of the busiest link over all routes, minimal or not, by the volume of the traffic.

    No route crosses fewer links of a dimension than the shortest ones do, so the hops of these over the links
    of a dimension are a bound for every routing.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.analysis.demands import make_demands
    >>> network = fl.Network(fl.Torus(8, 8))
    >>> float(any_routes_bound(make_demands(network, fl.Load("torn", rate=0.1, cycles=100))).throughput)
    0.5
    """
    topology = demands.topology
    topology.require_untwisted("bounds over all routes")
    topology.require_no_circulants("bounds over all routes are")
    if topology.failed_nodes or topology.failed_links:
        raise SpecError.at("topology", "routes of a healthy network are bounded", "take the failed parts out")
    return RouteBound(_volume(demands), None, "volume")


def _volume(demands: Demands) -> Fraction:
    """Hops in a dimension over its links: the largest of these."""
    topology = demands.topology
    sizes, nodes = topology.sizes, topology.nodes
    ends = _coordinates(demands.pairs, sizes) if len(demands.pairs) else None
    most = Fraction(0)
    full = topology.full
    for dimension, (size, wraps) in enumerate(zip(sizes, topology.wraps, strict=True)):
        # Over a full mesh every way is one hop.
        most_hops = 1 if full[dimension] else size
        hops = 0
        if ends is not None:
            apart = np.minimum(_hops(ends[0][dimension], ends[1][dimension], size, wraps), most_hops)
            hops += int((apart * demands.pairs[:, 2]).sum())
        axes = tuple(axis for axis in range(len(sizes)) if axis != len(sizes) - 1 - dimension)
        here, there = np.indices((size, size))
        apart = np.minimum(_hops(here, there, size, wraps), most_hops)
        for sending, receiving in demands.products:
            sources, destinations = (
                weights.reshape(tuple(reversed(sizes))).sum(axis=axes) for weights in (sending, receiving)
            )
            # In Python's whole numbers: sums over all pairs of nodes may be long.
            hops += sum(
                int(part) * int(weight) for part, weight in zip(apart @ destinations, sources, strict=True)
            )
        lines = nodes // size
        links = lines * size * (size - 1) if full[dimension] else 2 * (nodes if wraps else lines * (size - 1))
        most = max(most, Fraction(hops, demands.scale * max(links, 1)))
    return most


def _hops(source: Whole, destination: Whole, size: int, wraps: bool) -> Whole:
    apart = np.abs(destination - source)
    hops: Whole = np.minimum(apart, size - apart) if wraps else apart
    return hops


class _Routes:
    """All minimal routes of pairs: boxes of hops left, in one or, at ties, several senses."""

    def __init__(self, demands: Demands, pairs: Whole) -> None:
        topology = demands.topology
        self.sizes, self.nodes = topology.sizes, topology.nodes
        self.scale = demands.scale
        self.links = self.nodes * 2 * len(self.sizes)
        sources, destinations = _coordinates(pairs, self.sizes)
        senses, hops = [], []
        for source, destination, size, wraps in zip(
            sources, destinations, self.sizes, topology.wraps, strict=True
        ):
            hops.append(_hops(source, destination, size, wraps))
            forward = destination > source
            if wraps:
                ahead = (destination - source) % size
                forward = 2 * ahead <= size
                both = 2 * ahead == size
            else:
                both = np.zeros(len(pairs), dtype=bool)
            senses.append([(forward, np.ones(len(pairs), dtype=bool)), (~forward, both)])
        group, signs, chosen = [], [], []
        for choice in product(*senses):
            used = np.flatnonzero(np.logical_and.reduce([allowed for _, allowed in choice]))
            group.append(used)
            signs.append(np.stack([np.where(sign[used], 1, -1) for sign, _ in choice], axis=1))
            chosen.append(used)
        #: Which pair every variant belongs to, its sense and its hops per dimension.
        self.pair = np.concatenate(group)
        self.sign = np.concatenate(signs)
        self.hops = np.stack(hops, axis=1)[self.pair]
        self.end = np.stack(destinations, axis=1)[self.pair]
        self.weight = pairs[:, 2]
        self.box = tuple(int(most) + 1 for most in self.hops.max(axis=0))
        self.strides = np.cumprod([1, *self.sizes[:-1]])

    @property
    def cells(self) -> int:
        """Variants times places of the largest box."""
        return len(self.pair) * int(np.prod(self.box))

    @property
    def variables(self) -> int:
        """Links that variants may use, all together."""
        inner = self.hops + 1
        whole = inner.prod(axis=1)
        return int(sum((whole // inner[:, k] * self.hops[:, k]).sum() for k in range(len(self.sizes))))

    def link(
        self, left: tuple[int, ...] | Whole, dimension: int, which: slice | Whole = slice(None)
    ) -> Whole:
        """The link of a hop in a dimension, where `left` hops are left in each."""
        sign = self.sign[which]
        place = (self.end[which] - sign * np.asarray(left)) % np.array(self.sizes)
        links: Whole = place @ self.strides * (2 * len(self.sizes)) + 2 * dimension + (sign[:, dimension] < 0)
        return links

    def cheapest(
        self, prices: NDArray[np.float64] | Whole
    ) -> tuple[NDArray[np.float64] | Whole, NDArray[np.int8]]:
        """Cost of the cheapest route of every variant, and the dimension of its hop from every cell."""
        costs = np.zeros((*self.box, len(self.pair)), dtype=prices.dtype)
        hop = np.full(costs.shape, -1, dtype=np.int8)
        for left in product(*map(range, self.box)):
            for dimension, some in enumerate(left):
                if not some:
                    continue
                nearer = (*left[:dimension], some - 1, *left[dimension + 1 :])
                cost = costs[nearer] + prices[self.link(left, dimension)]
                better = (hop[left] < 0) | (cost < costs[left])
                costs[left] = np.where(better, cost, costs[left])
                hop[left] = np.where(better, dimension, hop[left])
        return costs[(*self.hops.T, np.arange(len(self.pair)))], hop

    def best_variants(self, costs: NDArray[np.float64] | Whole) -> Whole:
        """The cheapest variant of every pair."""
        order = np.lexsort((costs, self.pair))
        first = np.flatnonzero(np.diff(self.pair[order], prepend=-1))
        chosen: Whole = order[first]
        return chosen

    def loads(self, chosen: Whole, hop: NDArray[np.int8]) -> NDArray[np.float64]:
        """Loads when every pair takes the cheapest route."""
        total = np.zeros(self.links)
        left = self.hops[chosen].copy()
        weight = self.weight[self.pair[chosen]].astype(float) / self.scale
        for _ in range(int(left.sum(axis=1).max())):
            moving = np.flatnonzero(left.any(axis=1))
            dimension = hop[(*left[moving].T, chosen[moving])]
            for k in range(len(self.sizes)):
                now = moving[dimension == k]
                total += np.bincount(
                    self.link(left[now], k, chosen[now]), weights=weight[now], minlength=self.links
                )
                left[now, k] -= 1
        return total

    def bound(self, prices: NDArray[np.float64]) -> Fraction:
        """The bound that prices prove, rounded to whole numbers first."""
        top = float(prices.max(initial=0))
        if top <= 0:
            return Fraction(0)
        whole = np.rint(prices / top * PRICE_STEPS).astype(np.int64)
        costs, _ = self.cheapest(whole)
        chosen = self.best_variants(costs)
        paid = sum(
            int(cost) * int(weight)
            for cost, weight in zip(costs[chosen], self.weight[self.pair[chosen]], strict=True)
        )
        return Fraction(paid, self.scale * int(whole.sum()))


def _search(routes: _Routes, rounds: int, least: float) -> tuple[list[NDArray[np.float64]], float]:
    """Candidates for the best prices, and the largest load of a split that was found meanwhile.

    It ends with a split that meets the bound `least`.

    Two searches, as neither is better on all patterns: steps that shrink towards the cheapest routes, whose
    prices are averaged, and multiplicative weights, whose best prices are kept.
    """
    links = routes.links
    candidates, found = [], np.inf
    flow, averaged = np.zeros(links), np.zeros(links)
    prices = np.ones(links)
    for turn in range(rounds):
        costs, hop = routes.cheapest(prices)
        flow += (routes.loads(routes.best_variants(costs), hop) - flow) * (2 / (turn + 2))
        found = min(found, float(flow.max()))
        if found <= least * (1 + 1e-9):
            return [], found
        # Sharper with every round: near the end only links that are nearly full cost something.
        prices = _exponential((flow / flow.max() - 1) * (8 + 4 * math.sqrt(turn)))
        averaged += (turn + 1) * prices / prices.sum()
    candidates.append(averaged)
    total = np.zeros(links)
    prices, best, best_value = np.ones(links), np.ones(links), 0.0
    for turn in range(rounds):
        costs, hop = routes.cheapest(prices)
        chosen = routes.best_variants(costs)
        value = float((costs[chosen] * routes.weight[routes.pair[chosen]]).sum() / prices.sum())
        if value > best_value:
            best, best_value = prices, value
        loads = routes.loads(chosen, hop)
        total += loads
        found = min(found, float(total.max()) / (turn + 1))
        prices = _exponential((total - total.max()) / loads.max() * 3 / math.sqrt(turn + 1))
    candidates.append(best)
    return candidates, found


def _exponential(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """About e to a power of 0 or less, by operations that every machine rounds in the same way.

    >>> _exponential(np.array([0.0, -1.0, -1e9])).round(5).tolist()
    [1.0, 0.36788, 0.0]
    """
    value = np.maximum(1 + power / (1 << 20), 0)
    for _ in range(20):
        value = value * value
    return value


def _slab(routes: _Routes) -> NDArray[np.float64]:
    """Prices of the links into or out of the slab of consecutive coordinates that is hardest to pass."""
    best, chosen = -1.0, np.zeros(routes.links)
    node = np.arange(routes.nodes)
    for dimension, (size, stride) in enumerate(zip(routes.sizes, routes.strides, strict=True)):
        end, sign, hops = routes.end[:, dimension], routes.sign[:, dimension], routes.hops[:, dimension]
        source = (end - sign * hops) % size
        for minus in (False, True):
            # How often every variant leaves a coordinate in this direction.
            used = (sign < 0) == minus
            steps = (end - source) % size if not minus else (source - end) % size
            for first in range(size):
                for second in range(first + 1, size):
                    away = [
                        used & (((cut - source) % size if not minus else (source - cut) % size) < steps)
                        for cut in (first, second)
                    ]
                    crossed = away[0].astype(np.int64) + away[1]
                    least = np.full(len(routes.weight), 2, dtype=np.int64)
                    np.minimum.at(least, routes.pair, crossed)
                    value = float((least * routes.weight).sum()) / 2
                    if value * size > best:
                        best = value * size
                        place = node // int(stride) % size
                        chosen = np.zeros(routes.links)
                        at = node[(place == first) | (place == second)]
                        chosen[at * 2 * len(routes.sizes) + 2 * dimension + minus] = 1
    return chosen


def _program(routes: _Routes) -> tuple[NDArray[np.float64], float] | None:
    """Prices at the optimum of the linear program of flows, and its value; None if the solver gives up."""
    variants = len(routes.pair)
    box = np.array(routes.box)
    cells = int(box.prod())
    rows, columns, numbers = [], [], []
    count = 0
    balance = routes.links
    for left in product(*map(range, routes.box)):
        here = int(np.ravel_multi_index(left, routes.box))
        inside = np.flatnonzero((routes.hops >= left).all(axis=1))
        for dimension, some in enumerate(left):
            if not some:
                continue
            nearer = int(
                np.ravel_multi_index((*left[:dimension], some - 1, *left[dimension + 1 :]), routes.box)
            )
            column = count + np.arange(len(inside))
            count += len(inside)
            # The hop loads a link, leaves one cell and enters another.
            rows += [routes.link(left, dimension, inside), balance + inside * cells + here]
            rows.append(balance + inside * cells + nearer)
            columns += [column] * 3
            numbers += [np.ones(len(inside)), np.ones(len(inside)), -np.ones(len(inside))]
    # A variant's share starts in its outermost cell; the shares of a pair add up to its weight.
    start = np.ravel_multi_index(tuple(routes.hops.T), routes.box)
    share = count + np.arange(variants)
    rows += [balance + np.arange(variants) * cells + start, balance + variants * cells + routes.pair]
    columns += [share, share]
    numbers += [-np.ones(variants), np.ones(variants)]
    top = count + variants
    rows.append(np.arange(routes.links))
    columns.append(np.full(routes.links, top))
    numbers.append(-np.ones(routes.links))
    pairs = len(routes.weight)
    used = np.concatenate(rows)
    # Cells outside of a pair's box, and the arrival, have no balance to keep.
    keep = np.zeros(balance + variants * cells + pairs, dtype=bool)
    keep[used] = True
    keep[balance : balance + variants * cells : cells] = False
    numbered = np.cumsum(keep) - 1
    entries = [np.concatenate(part) for part in (rows, columns, numbers)]
    kept = keep[entries[0]]
    lower = np.zeros(len(keep))
    lower[:balance] = -np.inf
    upper = np.zeros(len(keep))
    weight = routes.weight / routes.scale
    lower[balance + variants * cells :] = upper[balance + variants * cells :] = weight
    cost = np.zeros(top + 1)
    cost[top] = 1
    solved = solve(
        cost,
        (numbered[entries[0][kept]], entries[1][kept], entries[2][kept]),
        lower[keep],
        upper[keep],
        "ipm",
    )
    if solved is None:
        return None
    prices = np.zeros(routes.links)
    links = np.flatnonzero(keep[:balance])
    prices[links] = np.maximum(-solved.duals[: len(links)], 0)
    return prices, float(solved.value)
