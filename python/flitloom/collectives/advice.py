"""What should my network give: the best algorithm of an operation per message size, beside the bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.bottlenecks import boxes, narrowest, parts_of_sums
from flitloom.collectives.collective_plan import CollectivePlan, OperationName
from flitloom.collectives.flow import link_lengths
from flitloom.collectives.latencies import Latencies
from flitloom.collectives.least import Least, across, along, known_prices, least, least_rounds
from flitloom.collectives.listing import NEAR, applying, counted_messages, finer_steps, in_rounds, pipelined
from flitloom.collectives.prices import Prices
from flitloom.collectives.proofs import nodes_of
from flitloom.collectives.rounds_plan import bus_factor
from flitloom.collectives.search import collective
from flitloom.collectives.telling import Told, share, untold
from flitloom.errors import SpecError
from flitloom.fabric.networks import direct_network
from flitloom.ground.numerals import counted
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

#: Most nodes of a healthy torus.
MOST_NODES = 4096
#: Most nodes of any other network: every message is routed there.
MOST_ELSEWHERE = 1024
#: Most nodes of an all-to-all: every pair of nodes has a message.
MOST_PAIRED = 256

#: Most nodes of a network without symmetry for which a cut is looked for.
MOST_CUT = 512

#: Most members times links for whose all-to-all lengths of links are looked for; a second at most.
MOST_LENGTHS = 1 << 14

#: Largest denominator of what is proven of links, for parts of a network to be looked for that prove more.
MOST_PARTS = 1 << 20

#: Operations of which there are plans in rounds.
IN_ROUNDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
#: Operations that algorithms are compared for.
COMPARED = (*IN_ROUNDS, "broadcast", "reduce")


@dataclass(frozen=True)
class Advice:
    """Algorithms by message size.

    Attributes
    ----------
    operation : str
        The operation.
    sizes : tuple of float
        Bytes: of the vector every node has (all-reduce), gathers (all-gather), shares out (reduce-scatter) or
        sends in equal blocks to all (all-to-all).
    algorithms : tuple of Algorithm
        Every algorithm that applies.
    seconds : tuple of tuple of float
        Per size and algorithm the time.
    bounds : tuple of float
        Per size a lower bound on the time.
    members : int
        Nodes that take part.
    rounds : int
        Least number of rounds.
    plan : CollectivePlan
        The planned steps.
    message : float or None
        Seconds of every message of a node over a link beyond the first one of a round; none if a node sends
        at most as many messages as it has links.
    crowded : tuple of Algorithm
        Algorithms with more messages than links, if these have no cost.
    free : tuple of tuple of float
        Per size and crowded algorithm the time if messages cost nothing.
    prices : tuple of Prices
        By number of rounds what proves the bytes of all-gathers.
    proof : Least
        Vectors on the busiest links that are proven.
    halved : tuple of float
        Per size a lower bound on the time of all-reduces that scatter, then gather.
    cut : tuple of int
        Nodes with few links to all others, over which their parts go; none if no cut bounds more than what
        enters nodes.
    clusters : tuple of list of int
        Nodes with few links to those of other clusters, over which sums go; none if they bound no more.
    link_lengths : tuple of list of int
        From, to, length of links by which blocks of all-to-alls have far to go; none if they bound no more.
    slow : Latencies or None
        What links add to the time of rounds.
    """

    operation: str
    sizes: tuple[float, ...]
    algorithms: tuple[Algorithm, ...]
    seconds: tuple[tuple[float, ...], ...]
    bounds: tuple[float, ...]
    members: int
    rounds: int
    plan: CollectivePlan
    message: float | None = None
    crowded: tuple[Algorithm, ...] = ()
    free: tuple[tuple[float, ...], ...] = ()
    prices: tuple[Prices, ...] = ()
    proof: Least = field(default_factory=lambda: Least((0.0,), (0.0,)))
    halved: tuple[float, ...] = ()
    cut: tuple[int, ...] = ()
    clusters: tuple[list[int], ...] = ()
    link_lengths: tuple[list[int], ...] = ()
    slow: Latencies | None = None

    def best(self, row: int) -> int:
        """The fastest algorithm for a size of those of which a plan is made.

        Of those that differ by rounding only it is the first.
        """
        times = self.seconds[row]
        made = filter(self.is_made, range(len(times)))
        return min(made, key=lambda number: (float(f"{times[number]:.12g}"), number))

    def is_made(self, number: int) -> bool:
        """Whether a plan is made of an algorithm, as of planned steps; else its time is an estimate."""
        return self.algorithms[number].is_made

    def least(self, one: Algorithm) -> float:
        """Vectors on the busiest links of schedules with as many rounds, at least.

        Of an all-reduce that scatters, then gathers, it is that of schedules that do so.
        """
        return self.proof.of(one.rounds, one.halves and self.operation == "all-reduce")

    def best_free(self, row: int) -> tuple[str, float] | None:
        """The fastest crowded algorithm for a size and its time if messages are free; none if no faster."""
        names = [one.name for one in self.crowded]
        seconds, name = min(zip(self.free[row] if self.free else (), names, strict=True), default=(inf, ""))
        return (name, seconds) if seconds < self.seconds[row][self.best(row)] else None

    def crossovers(self) -> list[tuple[float, str]]:
        """From which of the sizes on which algorithm is the fastest."""
        found: list[tuple[float, str]] = []
        for row, size in enumerate(self.sizes):
            name = self.algorithms[self.best(row)].name
            if not found or found[-1][1] != name:
                found.append((size, name))
        return found

    def facts(self, network: str) -> dict[str, Any]:
        """All of it as plain values, by name; `network` is what the network is called."""
        names = [one.name for one in self.algorithms]
        return {
            "operation": self.operation,
            "network": network,
            "members": self.members,
            "rounds": self.rounds,
            "algorithms": [
                {
                    "name": one.name,
                    "rounds": one.rounds,
                    "factor": one.factor,
                    "least": self.least(one),
                    "source": one.source,
                    "plan": self.is_made(number),
                    **({} if self.slow is None else {"latency": sum(one.delays)}),
                }
                for number, one in enumerate(self.algorithms)
            ],
            "cases": [
                {
                    "bytes": size,
                    "bound": self.bounds[row],
                    **({"halved": self.halved[row]} if self.halved else {}),
                    "best": names[self.best(row)],
                    **dict(zip(("algbw", "busbw"), self.bandwidths(row), strict=True)),
                    "seconds": dict(zip(names, self.seconds[row], strict=True)),
                    "free": dict(zip(("best", "seconds"), self.best_free(row) or (), strict=False)),
                }
                for row, size in enumerate(self.sizes)
            ],
            "crossovers": [{"bytes": size, "best": name} for size, name in self.crossovers()],
        }

    def bandwidths(self, row: int) -> tuple[float, float]:
        """Bytes per second of the fastest algorithm for a size, as NCCL's tests print them.

        Returns
        -------
        tuple
            ``algbw``, size by time, and ``busbw``, that times (N-1)/N, twice as much for an all-reduce.
        """
        algorithm = self.sizes[row] / self.seconds[row][self.best(row)]
        return algorithm, algorithm * self.bus_factor

    @property
    def bus_factor(self) -> float:
        """``busbw`` by ``algbw``: (N-1)/N, twice as much for an all-reduce."""
        return bus_factor(self.operation, self.members)


def weigh(
    topology: AnyNetwork | str | Path,
    sizes: Sequence[float],
    alpha: float,
    bandwidth: float,
    *,
    operation: OperationName | str = "all-reduce",
    root: int | None = None,
    message: float | None = None,
    latencies: Mapping[tuple[int, int], float] | None = None,
    told: Told = untold,
) -> Advice:
    """Compare algorithms: a round costs `alpha` plus the bytes of the busiest link by `bandwidth`.

    On a torus, a mesh and a twisted torus, also with failed cables, partners are those of the torus of the
    same sizes; elsewhere they are found by rank. Messages go over the links that are there, all minimal
    routes in equal parts.

    Parameters
    ----------
    topology : AnyNetwork, str or path
        The network with its failed parts, or what names it; see `flitloom.Network`.
    sizes : sequence of float
        Bytes; see `Advice`.
    alpha : float
        Seconds a round costs besides its bytes.
    bandwidth : float
        Bytes per second of a link in one direction.
    operation : str
        One of `COMPARED`.
    root : int, optional
        The root of a broadcast or reduce; the first node that takes part without.
    message : float, optional
        Seconds of every message of a node over a link beyond the first one of a round; without it a node
        sends at most as many messages as it has links.
    latencies : mapping, optional
        Seconds of links besides all else, by the nodes from and to which they lead.
    told : function
        Told now and then how much of how much is done.

    Examples
    --------
    >>> import flitloom as fl
    >>> advice = weigh(fl.Torus(8, 8), [1024, 2**20, 2**27], 1e-6, 50e9)
    >>> [advice.algorithms[advice.best(row)].name for row in range(3)]
    ['family (sums over all)', 'family (Swing, 4 of 6 halved)', 'spheres']
    """
    topology, plain = _compared(topology, operation)
    told(0, 100)
    plan = _carrier(topology, operation, root)
    told(40, 100)
    ground, members = plan.ground, len(plan.members)
    prices = known_prices(ground, operation)
    cut, clusters, lengths, proof = _proven(plan, operation, prices)
    told(55, 100)
    among = (operation, plain, () if message is None else prices, proof.every[-1])
    every = _every(plan, *among, share(told, 100, 0.7, 1.0))
    slow = Latencies(ground, latencies, plan.root) if latencies else None
    known, crowded = _by_crowd(every, ground, message, operation, slow)
    cost, halved = (alpha, bandwidth, message, slow), operation == "all-reduce"
    return Advice(
        operation,
        tuple(sizes),
        tuple(known),
        tuple(tuple(one.seconds(size, *cost[:2], message or 0.0) for one in known) for size in sizes),
        tuple(proof.seconds(ground, members, size, *cost) for size in sizes),
        members,
        least_rounds(ground, members),
        plan,
        message,
        tuple(crowded),
        tuple(tuple(one.seconds(size, *cost[:2]) for one in crowded) for size in sizes),
        prices,
        proof,
        tuple(proof.halved_seconds(ground, members, size, *cost) for size in sizes if halved),
        cut,
        clusters,
        lengths,
        slow,
    )


def _delayed(one: Algorithm, operation: str, slow: Latencies) -> Algorithm:
    """An algorithm with what links add to its rounds; to an estimate the slowest route every time."""
    if one.plan is not None:
        return replace(one, delays=slow.of_steps(one.plan))
    if one.messages is None:
        return replace(one, delays=(float(slow.slowest.max()),) * one.rounds)
    return replace(one, delays=slow.of_rounds(one.of(operation, one.messages()), one.rounds))


def _by_crowd(
    every: Sequence[Algorithm],
    ground: Ground,
    message: float | None,
    operation: str,
    slow: Latencies | None,
) -> tuple[list[Algorithm], list[Algorithm]]:
    """Algorithms whose messages may be sent, and those that have too many if these have no cost."""
    if slow is not None:
        every = [_delayed(one, operation, slow) for one in every]
    if message is None:
        return [one for one in every if not any(one.crowd)], [one for one in every if any(one.crowd)]
    return [counted_messages(one, ground) if message else one for one in every], []


def _proven(
    plan: CollectivePlan, operation: str, prices: Sequence[Prices]
) -> tuple[tuple[int, ...], tuple[list[int], ...], tuple[list[int], ...], Least]:
    """Nodes with few links around them, clusters with few between them, lengths of links, what is proven."""
    if plan.root is not None:
        over = 1 / narrowest(plan.ground, plan.root, backwards=operation == "reduce")
        return (), (), (), Least((over,), (over,))
    ground, members, cut = plan.ground, len(plan.members), _cut(plan)
    proof = least(ground, operation, members, prices, cut)
    if operation == "all-to-all":
        lengths = _lengths(plan, proof.every[-1])
        return cut, (), lengths, least(ground, operation, members, prices, cut, (), lengths)
    if operation != "all-reduce":
        return cut, (), (), proof
    floor = Fraction(proof.every[-1]).limit_denominator(MOST_PARTS)
    clusters = tuple(parts_of_sums(ground, floor))
    if clusters:
        proof = least(ground, operation, members, prices, cut, clusters)
    return cut, clusters, (), proof


def _lengths(plan: CollectivePlan, least: float) -> tuple[list[int], ...]:
    """Lengths of links that prove more of an all-to-all, where nodes do not see the same network."""
    ground, members = plan.ground, plan.members
    if ground.whole or len(members) * len(ground.links) > MOST_LENGTHS:
        return ()
    found = link_lengths(ground, tuple(members))
    return tuple(found) if found and along(ground, "all-to-all", found) > least * (1 + NEAR) else ()


def _carrier(topology: AnyNetwork, operation: str, root: int | None) -> CollectivePlan:
    """The operation in steps; an all-gather where relays would add up what passes them."""
    if root is not None:
        return collective(topology, operation, root=root)
    summed = bool(topology.members) and operation in ("all-reduce", "reduce-scatter")
    return _planned(topology, "all-gather" if summed else operation)


def _every(
    plan: CollectivePlan,
    operation: str,
    plain: bool,
    prices: Sequence[Prices],
    least: float,
    told: Told,
) -> list[Algorithm]:
    """All algorithms, with the steps of the plan if it is one of the operation."""
    if plan.root is not None:
        return pipelined(plan, least, told)
    if plan.operation != operation:
        return in_rounds(plan.ground, operation, plain, prices)
    every = applying(plan, plain, prices)
    return every + finer_steps(plan, every, least, told)


@lru_cache(maxsize=4)
def _planned(topology: AnyNetwork, operation: str) -> CollectivePlan:
    """The operation in steps, which is asked for several times; a root is the first node that takes part."""
    return collective(topology, operation)


def _cut(plan: CollectivePlan) -> tuple[int, ...]:
    """Several nodes with few links to all others for their chunks, as plans of all-gathers prove them."""
    ground = plan.ground
    if ground.whole:
        # A box, if all else has fewer links to it than to a node, for what it holds.
        every = sum(ground.directions.values())
        narrow = [sorted(box) for box in boxes(ground)]
        alone = (ground.nodes - 1) / ground.nodes / every
        best = max(narrow, key=lambda box: across(ground, "all-gather", box), default=[])
        return tuple(best) if best and across(ground, "all-gather", best) > alone * (1 + NEAR) else ()
    if len(plan.members) > MOST_CUT:
        return ()
    gather = plan
    if plan.operation != "all-gather":
        gather = _planned(ground.topology, "all-gather")
    proof = gather.proof
    if proof["kind"] not in ("cut", "crossing"):
        return ()
    inside = nodes_of(ground, proof)
    smaller = min(inside, {*ground.working} - inside, key=len)
    return tuple(sorted(smaller)) if len(smaller) > 1 and len(smaller & {*ground.members}) > 0 else ()


def _compared(topology: AnyNetwork | str | Path, operation: str) -> tuple[AnyNetwork, bool]:
    """A network that can be compared on, and whether it is a healthy torus without a twist."""
    if operation not in COMPARED:
        raise SpecError.at("operation", f"{operation!r}", f"write one of {', '.join(COMPARED)}")
    if isinstance(topology, str | Path):
        topology = direct_network(topology)
    topology.require_no_circulants("comparisons of collective operations are")
    if topology.one_way_links:
        raise SpecError.at(
            "network",
            f"{topology} has links that lead one way, and algorithms are compared on cables",
            f"flitloom collective {operation} plans on them",
        )
    ground = Ground(topology)
    plain = ground.is_torus and ground.whole and not ground.twist
    most = MOST_PAIRED if operation == "all-to-all" else MOST_NODES if plain else MOST_ELSEWHERE
    if topology.nodes > most:
        kind = f"of an {operation} " if operation == "all-to-all" else "" if plain else "off a healthy torus "
        raise SpecError.at(
            "topology", counted(topology.nodes, "node"), f"algorithms {kind}are compared on at most {most}"
        )
    return topology, plain


def powers(low: float, high: float) -> list[float]:
    """Sizes from `low` to at most `high`, each twice the one before."""
    if not 1 <= low <= high <= 2**50:
        raise SpecError.at("--size", "write two sizes from 1B to 1024TiB, the smaller first, e.g. 1KiB:1GiB")
    found = [low]
    while found[-1] * 2 <= high:
        found.append(found[-1] * 2)
    return found


def compare(topology: AnyNetwork, known: CollectivePlan | None = None) -> list[dict[str, object]]:
    """What failures and a twist change: steps of planned operations beside those without.

    Parameters
    ----------
    topology : Topology, Product or Graph
        The network with its failed parts.
    known : CollectivePlan, optional
        A plan for this network that need not be made again.

    Returns
    -------
    list of dict
        ``operation``, ``steps``, ``bound``, ``without`` (steps there) and ``ratio``, steps by
        steps without; empty if nothing has failed and nothing is twisted.
    """
    ground = Ground(topology)
    if not ground.is_torus or not (ground.twist or topology.damaged):
        return []
    plain = Topology(sizes=topology.sizes, wrap=topology.wraps)
    rows: list[dict[str, object]] = []
    for operation in ("all-gather", "all-reduce", "all-to-all"):
        if operation == "all-to-all" and topology.nodes > MOST_PAIRED and not plain_is_enough(topology):
            continue
        same = known if known is not None and known.operation == operation else None
        here, there = same or _planned(topology, operation), collective(plain, operation)
        rows.append(
            {
                "operation": operation,
                "steps": here.steps,
                "bound": here.bound,
                "without": there.steps,
                "ratio": round(here.steps / there.steps, 4),
            }
        )
    return rows


def in_words(row: dict[str, object], network: AnyNetwork) -> str:
    """What a row of `compare` means for a network with failed parts or a twist.

    >>> import flitloom as fl
    >>> row = {"operation": "all-gather", "steps": 21, "without": 16}
    >>> in_words(row, fl.Torus(8, 8, failed_links=[(0, 1)]))
    'an all-gather takes 31 % longer than on the healthy network'
    >>> row = {"operation": "all-to-all", "steps": 74, "without": 128}
    >>> in_words(row, fl.Torus(4, 4, 8, twist=True))
    'an all-to-all is 1.73 times as fast as on the network without a twist'
    """
    steps, without = int(str(row["steps"])), int(str(row["without"]))
    where = "on the healthy network" if network.damaged else "on the network"
    where += " without a twist" if network.twist else ""
    if steps == without:
        return f"an {row['operation']} takes as long as {where}"
    if steps < without:
        return f"an {row['operation']} is {without / steps:.2f} times as fast as {where}"
    return f"an {row['operation']} takes {100 * (steps / without - 1):.0f} % longer than {where}"


def plain_is_enough(topology: AnyNetwork) -> bool:
    """Whether plans are orbits, which are quick on any size."""
    return not topology.failed_nodes and not topology.failed_links
