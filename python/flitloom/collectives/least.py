"""What is proven of every schedule in rounds: the fewest vectors on the busiest links, and the least time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod

from flitloom.collectives.latencies import Latencies
from flitloom.collectives.nested import MOST_NODES
from flitloom.collectives.nested_orbits import has_few_orbits
from flitloom.collectives.prices import (
    Prices,
    least_chunks,
    least_less_failures,
    prices_less_failures,
    proven_prices,
)
from flitloom.collectives.proofs import over_lengths, transfers
from flitloom.collectives.rounds_plan import Priced
from flitloom.collectives.unlike import FEW, direct_chunks, least_chunks_unlike, prices_unlike
from flitloom.collectives.unlike import MOST_NODES as MOST_UNLIKE
from flitloom.errors import SpecError
from flitloom.spec.ground import Ground

#: Operations whose bytes depend on the number of rounds.
GATHERING = ("all-reduce", "all-gather", "reduce-scatter")


@dataclass(frozen=True)
class Least:
    """The fewest vectors on the busiest links, over all rounds.

    Attributes
    ----------
    every : tuple of float
        Of every schedule, by the number of rounds from 1 on; the last one also of more rounds.
    halves : tuple of float
        Of an all-gather or a reduce-scatter, in the same manner.
    """

    every: tuple[float, ...]
    halves: tuple[float, ...]

    def of(self, rounds: int, halved: bool = False) -> float:
        """Of schedules with a number of rounds; `halved` all-reduces scatter, then gather."""
        if not halved:
            return self.every[min(rounds, len(self.every)) - 1]
        half = [self.halves[min(one, len(self.halves)) - 1] for one in range(1, max(rounds, 2))]
        return max(min(map(sum, zip(half, half[::-1], strict=True))), self.of(rounds))

    def seconds(
        self,
        ground: Ground,
        members: int,
        size: float,
        alpha: float,
        bandwidth: float,
        message: float | None = None,
        slow: Latencies | None = None,
    ) -> float:
        """The least time of an operation: the least over all numbers of rounds.

        Parameters
        ----------
        ground : Ground
            The network.
        members : int
            Nodes that take part.
        size : float
            Bytes of the vector.
        alpha : float
            Seconds of a round besides its bytes.
        bandwidth : float
            Bytes per second of a link in one direction.
        message : float, optional
            Seconds of every message of a node over a link beyond the first one of a round; without it a node
            sends at most as many messages as it has links.
        slow : Latencies, optional
            What links add to rounds.
        """
        starts = _starts(ground, members, len(self.every), alpha, message, slow)
        return min(start + self.of(max(rounds, 1)) * size / bandwidth for rounds, start in starts.items())

    def halved_seconds(
        self,
        ground: Ground,
        members: int,
        size: float,
        alpha: float,
        bandwidth: float,
        message: float | None = None,
        slow: Latencies | None = None,
    ) -> float:
        """The same of all-reduces that scatter, then gather: both take as many rounds as one alone needs."""
        starts = _starts(ground, members, len(self.halves), alpha, message, slow)
        return min(
            one_start + other_start + self.of(max(one + other, 2), halved=True) * size / bandwidth
            for (one, one_start), (other, other_start) in product(starts.items(), repeat=2)
        )


def _starts(
    ground: Ground, members: int, rounds: int, alpha: float, message: float | None, slow: Latencies | None
) -> dict[int, float]:
    """Seconds of numbers of rounds besides their bytes: enough rounds, or fewer with more messages.

    The chain of messages by which the farthest two hear of each other takes the latency of its links.
    """
    fewest = least_rounds(ground, members)
    first = fewest if message is None else min(fewest, 1)
    return {
        turns: turns * alpha
        + (message or 0.0) * further_messages(ground, members, turns)
        + (0.0 if slow is None else slow.least(turns))
        for turns in range(first, max(fewest, rounds) + 1)
    }


def least(
    ground: Ground,
    operation: str,
    members: int,
    prices: Sequence[Prices],
    cut: Sequence[int] = (),
    clusters: Sequence[Sequence[int]] = (),
    link_lengths: Sequence[Sequence[int]] = (),
) -> Least:
    """What some prices prove, what enters or leaves nodes, and what goes over links around or between some.

    `link_lengths` has lengths of links, by their ends: what all-to-alls have to go is shared by all links.

    Raises
    ------
    SpecError
        The nodes of the cut or of the clusters do not exist, or none are left outside; or a link does not.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Product("full8"))
    >>> least(ground, "all-reduce", 8, known_prices(ground, "all-reduce")).every  # one round; more
    (1.0, 0.25)
    """
    floor = max(
        _least_factor(ground, operation, members),
        across(ground, operation, cut),
        between(ground, operation, clusters),
        along(ground, operation, link_lengths),
    )
    if operation not in GATHERING or not prices:
        return Least((floor,), (floor / (2 if operation == "all-reduce" else 1),))
    enters = max(_least_factor(ground, "all-gather", members), across(ground, "all-gather", cut))
    halves = tuple(max(one.chunks / members, enters) for one in prices)
    # With more rounds than there are prices for, only what enters is known.
    if operation != "all-reduce":
        return Least((*halves, enters), (*halves, enters))
    every = [max(floor, one.sums) for one in prices]
    return Least((*every, floor), (*halves, enters))


def across(ground: Ground, operation: str, cut: Sequence[int]) -> float:
    """Vectors on the busiest of the links between some nodes and all others, at least.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Mesh(4, 2))
    >>> [across(ground, name, [0, 1, 4, 5]) for name in ("all-gather", "all-reduce", "all-to-all")]
    [0.25, 0.5, 1.0]
    """
    if not cut:
        return 0.0
    inside, members = {*cut}, {*ground.members}
    links = max(
        sum(
            count for ends, count in ground.links.items() if (ends[way] in inside) > (ends[1 - way] in inside)
        )
        for way in (0, 1)
    )
    count, rest = len(inside & members), len(members - inside)
    if not inside <= {*ground.working} or not (count and rest and links):
        raise SpecError.at("cut", "working nodes are needed, with links to some others")
    if operation == "all-reduce":
        # Every sum needs something of either side, and is needed at either side.
        return 1 / links
    chunks = count * rest if operation == "all-to-all" else max(count, rest)
    return chunks / links / len(members)


def between(ground: Ground, operation: str, clusters: Sequence[Sequence[int]]) -> float:
    """Vectors on the busiest of the links between clusters, nodes in none of which are alone, at least.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> between(Ground(fl.Product("full2*8 x ring3")), "all-reduce", [[0, 1], [2, 3], [4, 5]])
    0.3333333333333333
    """
    if not clusters:
        return 0.0
    _, needed, links = transfers(ground, ground.members, clusters)
    if operation != "all-reduce" or not needed or not links:
        raise SpecError.at("clusters", "they are of all-reduces, and several are needed that links join")
    return needed / links


def along(ground: Ground, operation: str, lengths: Sequence[Sequence[int]]) -> float:
    """Vectors on the busiest link of an all-to-all, at least, as lengths of links prove.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> slow = Ground(fl.Graph(["0-1", "0-1", "1-2"], nodes=3))
    >>> along(slow, "all-to-all", [[1, 2, 1], [2, 1, 1]])  # two chunks of a third each way
    0.6666666666666666
    """
    if not lengths:
        return 0.0
    if operation != "all-to-all":
        raise SpecError.at("link_lengths", "they are of all-to-alls")
    members = ground.members
    far, total = over_lengths(ground, lengths, {(a, b): 1 for a in members for b in members if a != b})
    if not total:
        raise SpecError.at("link_lengths", "all are 0")
    return far / total / len(members)


def known_prices(ground: Ground, operation: str) -> tuple[Prices, ...]:
    """Prices for a network of up to 1024 nodes that see the same except for failures, or of up to 128 others.

    Those are nodes that take part, where others only pass on. There are none for other networks.
    """
    count = len(ground.members)
    if operation not in GATHERING or not 1 < count <= MOST_NODES:
        return ()
    if ground.has_relays:
        return least_chunks_unlike(ground) if count <= MOST_UNLIKE else ()
    if ground.whole:
        return least_chunks(ground)
    if count <= FEW or (count <= MOST_UNLIKE and not has_few_orbits(ground)):
        return least_chunks_unlike(ground)
    if count <= MOST_UNLIKE:
        return (direct_chunks(ground), *least_less_failures(ground)[1:])
    return least_less_failures(ground) if ground.without_failures().whole else ()


def with_chunks(ground: Ground, prices: Sequence[Priced]) -> list[Prices]:
    """Prices of a file, of nodes and links, and potentials, with what they prove.

    Raises
    ------
    SpecError
        They are not prices of the network, or it has too many nodes that are not alike.
    """
    return [_with_chunks(ground, one) for one in prices]


def _with_chunks(ground: Ground, one: Priced) -> Prices:
    if len({*map(len, one.links)}) > 1:
        raise SpecError.at("prices", "all rounds need lengths of equally many links")
    if one.healthy:
        if ground.has_relays or not ground.without_failures().whole:
            raise SpecError.at("prices.healthy", "without failures not all nodes are alike either")
        return prices_less_failures(ground, one.nodes, one.links, one.potentials)
    if ground.whole:
        return proven_prices(ground, one.nodes, one.links, one.potentials)
    if len(ground.members) > MOST_UNLIKE:
        raise SpecError.at("prices", f"not all nodes are alike, and they are more than {MOST_UNLIKE}")
    if one.potentials:
        raise SpecError.at("prices.potentials", "they are of networks in which all nodes are alike")
    return prices_unlike(ground, one.nodes, one.links)


def further_messages(ground: Ground, members: int, rounds: int) -> int:
    """Messages over a link beyond the first one of every round, so that every node can have heard of all.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> [further_messages(Ground(fl.Torus(8, 8)), 64, rounds) for rounds in (3, 2, 1)]  # 9 times 9, 65 nodes
    [0, 2, 15]
    """
    counts, links = [1] * rounds, ground.most_links
    while prod(1 + links * count for count in counts) < members:
        counts[counts.index(min(counts))] += 1
    return sum(counts) - rounds


def least_rounds(ground: Ground, members: int) -> int:
    """Rounds after which every node can have heard of all: of a part, one message per link and round.

    Links are those of the node with the most, failed ones included.

    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> least_rounds(Ground(fl.Torus(8, 8)), 64)  # 5, 25, 125 nodes
    3
    """
    rounds, heard = 0, 1
    while heard < members:
        heard *= 1 + ground.most_links
        rounds += 1
    return rounds


def _least_factor(ground: Ground, operation: str, members: int) -> float:
    """Vectors that some link transfers at least, over all rounds."""
    incoming, outgoing = [0] * ground.nodes, [0] * ground.nodes
    for (node, end), count in ground.links.items():
        outgoing[node] += count
        incoming[end] += count
    fewest = min(min(incoming[node], outgoing[node]) for node in ground.members) or inf
    # All that members receive or send goes over their own links.
    links = min(sum(counts[node] for node in ground.members) for counts in (incoming, outgoing))
    if operation == "all-reduce":
        # All but one add up to one sum, which all but one receive; nobody knows it without receiving.
        return max(2 * (members - 1) / links, 1 / fewest)
    if operation == "all-to-all":
        sources = ground.working[:1] if ground.whole else ground.members
        distances = map(ground.distances, sources)
        near = sum(far.get(node, 0) for far in distances for node in ground.members)
        hops = near * (members / len(sources))
        every = sum(ground.links.values())
        return max(hops / members / every, (members - 1) / members / fewest)
    return max((members - 1) / links, (members - 1) / members / fewest)
