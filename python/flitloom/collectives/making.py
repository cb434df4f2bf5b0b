"""Make what advice names: a plan in rounds of one of the algorithms that it compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flitloom.collectives.advice import Advice, weigh
from flitloom.collectives.algorithms import Algorithm
from flitloom.collectives.collective_plan import OperationName, network_fields
from flitloom.collectives.rounds import busiest_loads
from flitloom.collectives.rounds_plan import (
    Messages,
    Priced,
    RoundsPlan,
    crowding,
    most_messages,
    taken,
)
from flitloom.collectives.telling import Told, untold
from flitloom.errors import SpecError, unknown_parts
from flitloom.ground import provenance
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork

#: The name that asks for the fastest algorithm of those that are made.
BEST = "best"


def make_rounds(
    topology: AnyNetwork,
    operation: OperationName | str,
    algorithm: str,
    size: float,
    alpha: float,
    bandwidth: float,
    *,
    message: float | None = None,
    latencies: Mapping[tuple[int, int], float] | None = None,
) -> RoundsPlan:
    """A plan in rounds of an algorithm that advice names.

    Parameters
    ----------
    topology : Topology, Product or Graph
        The network with its failed parts.
    operation : str
        ``all-reduce``, ``all-gather``, ``reduce-scatter`` or ``all-to-all``.
    algorithm : str
        Its name, or ``best`` for the fastest one of those that are made as messages.
    size : float
        Bytes of the vector.
    alpha : float
        Seconds a round costs besides its bytes.
    bandwidth : float
        Bytes per second of a link in one direction.
    message : float, optional
        Seconds of every message of a node over a link beyond the first one of a round; without it a node
        sends at most as many messages as it has links.
    latencies : mapping, optional
        Seconds of links besides all else, by the nodes from and to which they lead.

    Raises
    ------
    SpecError
        No such algorithm applies, or its messages are not made yet.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> make_rounds(fl.Product("full8"), "all-reduce", "best", 1024, 1e-6, 50e9)
    RoundsPlan(all-reduce on full8, one shot: 1 round, 1 of the vector, 1.02 us)
    """
    advice = weigh(
        topology, [size], alpha, bandwidth, operation=operation, message=message, latencies=latencies
    )
    chosen = choose(advice, 0, algorithm)
    if chosen.messages is None:
        raise SpecError.at("algorithm", f"{chosen.name} is planned in steps", "leave the algorithm out")
    return from_messages(advice, chosen, chosen.messages(), size, alpha, bandwidth)


def choose(advice: Advice, row: int, algorithm: str) -> Algorithm:
    """The algorithm of a name, or the fastest one that can be made for a size."""
    if algorithm == BEST:
        return advice.algorithms[advice.best(row)]
    names = [one.name for one in advice.algorithms]
    crowded = next((one for one in advice.crowded if one.name == algorithm), None)
    if crowded is not None:
        most = counted(max(crowded.crowd) + 1, "message")
        raise SpecError.at(
            "algorithm",
            f"{algorithm!r} has up to {most} over a link in a round",
            "say what they cost with --message-cost, e.g. 50ns or 0ns",
        )
    if algorithm not in names:
        raise SpecError.at("algorithm", *unknown_parts(algorithm, (BEST, *names)))
    found = advice.algorithms[names.index(algorithm)]
    if not advice.is_made(names.index(algorithm)):
        made = ", ".join(name for number, name in enumerate(names) if advice.is_made(number))
        raise SpecError.at(
            "algorithm",
            f"{algorithm!r} is an estimate, since its messages are too many to be listed",
            f"write one of {made}",
        )
    return found


def from_messages(
    advice: Advice,
    algorithm: Algorithm,
    messages: Messages,
    size: float,
    alpha: float,
    bandwidth: float,
    told: Told = untold,
) -> RoundsPlan:
    """A plan of the messages of an algorithm; `told` is told how many of how many rounds are done."""
    ground, operation = advice.plan.ground, advice.operation
    messages = algorithm.of(operation, messages)
    # Blocks of all-to-alls are of one length, and the rounds of comparisons have as many messages.
    loads = (
        [load * messages.pieces for load in algorithm.loads]
        if operation == "all-to-all"
        else busiest_loads(ground, messages, algorithm.rounds, told)
    )
    messages_by_round = most_messages(messages, algorithm.rounds)
    fields: dict[str, Any] = {
        "operation": operation,
        **network_fields(ground.topology),
        "algorithm": algorithm.name,
        "pieces": messages.pieces,
        "owned": messages.owned,
        "lengths": list(messages.lengths),
        "rounds": algorithm.rounds,
        "loads": loads,
        "messages": max(messages_by_round, default=0),
        "size": size,
        "alpha": alpha,
        "message": advice.message,
        "bandwidth": bandwidth,
        "seconds": 0.0,
        "latencies": [] if advice.slow is None else advice.slow.rows(),
        "bound": advice.proof.seconds(
            ground, len(advice.plan.members), size, alpha, bandwidth, advice.message, advice.slow
        ),
        "prices": [
            Priced(
                nodes=list(one.nodes),
                links=[list(row) for row in one.links],
                potentials=[[list(row) for row in table] for table in one.potentials],
                healthy=one.healthy,
            )
            for one in advice.prices
        ],
        "cut": list(advice.cut),
        "clusters": [list(cluster) for cluster in advice.clusters],
        "link_lengths": list(advice.link_lengths),
        "version": provenance.version(),
        "alike": messages.alike,
        "symmetries": [list(row) for row in messages.symmetries],
        "sums": [list(row) for row in sorted(messages.sums)],
        "partials": [list(row) for row in sorted(messages.partials)],
        "moves": [list(row) for row in sorted(messages.moves)],
    }
    made = RoundsPlan.model_construct(**fields)
    further = sum(crowding(messages_by_round, ground.most_links)) * (advice.message or 0.0)
    seconds = taken(loads, made.total, size, alpha, bandwidth) + further + sum(algorithm.delays)
    return made.model_copy(update={"seconds": seconds})
