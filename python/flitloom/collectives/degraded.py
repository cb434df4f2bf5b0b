"""What failures cost: collective operations on a network with random failed cables, many times over."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from flitloom.collectives.ground import Ground
from flitloom.collectives.plan import CollectivePlan
from flitloom.collectives.search import collective
from flitloom.errors import SpecError, unknown_parts
from flitloom.spec import Topology

#: Operations that are compared.
OPERATIONS = ("all-gather", "all-reduce", "all-to-all")


def damaged(topology: Topology, count: int, failures: tuple[int, int], seed: int = 1) -> list[Topology]:
    """Networks with failed cables, in which every node still reaches every other one.

    Parameters
    ----------
    topology : Topology
        The network without failures.
    count : int
        How many networks.
    failures : tuple of int
        Fewest and most failed cables; each number in between is as likely.
    seed : int
        The same seed gives the same networks.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.degraded import damaged
    >>> [len(one.failed_links) for one in damaged(fl.Torus(4, 4), 3, (2, 2))]
    [2, 2, 2]
    """
    dice = random.Random(f"{seed} {topology}")
    cables = sorted(pair for pair in Ground(topology).links if pair[0] < pair[1])
    low, high = failures
    if not 0 < low <= high <= len(cables) - topology.nodes + 1:
        raise SpecError.at(
            "failures",
            f"{low} to {high} of {len(cables)} cables",
            f"at least 1 and at most {len(cables) - topology.nodes + 1} can fail, so that all "
            "nodes may stay connected",
        )
    found: list[Topology] = []
    for _ in range(1000 * count):
        if len(found) == count:
            return found
        cut = set(dice.sample(cables, dice.randint(low, high)))
        if _connected(topology.nodes, [cable for cable in cables if cable not in cut]):
            found.append(Topology(kind=topology.kind, sizes=topology.sizes, failed_links=sorted(cut)))
    raise SpecError.at("failures", f"so many leave hardly any {topology} connected", "give fewer")


def _connected(nodes: int, cables: Sequence[tuple[int, int]]) -> bool:
    beside: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in cables:
        beside[a].append(b)
        beside[b].append(a)
    reached, waiting = {0}, [0]
    while waiting:
        fresh = set(beside[waiting.pop()]) - reached
        reached |= fresh
        waiting += fresh
    return len(reached) == nodes


def degraded(
    topology: Topology,
    *,
    count: int = 100,
    failures: tuple[int, int] = (1, 6),
    operations: Sequence[str] = OPERATIONS,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Plan operations on networks with random failed cables.

    Parameters
    ----------
    topology : Topology
        The network without failures.
    count, failures, seed
        As for `damaged`.
    operations : sequence of str
        Some of `OPERATIONS`.
    progress : callable, optional
        Called with the number of plans so far and in all.

    Returns
    -------
    list of dict
        Per operation: ``operation``, ``plans``, ``at_bound`` (plans with as many steps as their proven
        bound), ``gap_percent`` (the largest gap to the bound), ``whole`` (steps without failures), ``least``,
        ``mean`` and ``most`` (steps with them), ``seconds`` (wall-clock time per plan).

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.degraded import degraded
    >>> row, = degraded(fl.Torus(4, 4), count=3, failures=(1, 1), operations=["all-gather"])
    >>> row["whole"], row["mean"]  # 15 chunks over three links instead of four
    (4, 5.0)
    """
    for operation in operations:
        if operation not in OPERATIONS:
            raise SpecError.at("operation", *unknown_parts(operation, OPERATIONS))
    if count < 1:
        raise SpecError.at("count", f"{count} networks", "give at least 1")
    networks = damaged(topology, count, failures, seed)
    rows: list[dict[str, Any]] = []
    for number, operation in enumerate(operations):
        whole = collective(topology, operation)
        plans: list[CollectivePlan] = []
        for network in networks:
            plans.append(collective(network, operation))
            if progress is not None:
                progress(number * count + len(plans), len(operations) * count)
        rows.append(_row(operation, whole.steps, plans))
    return rows


def _row(operation: str, whole: int, plans: Sequence[CollectivePlan]) -> dict[str, Any]:
    steps = [plan.steps for plan in plans]
    return {
        "operation": operation,
        "plans": len(plans),
        "at_bound": sum(plan.optimal for plan in plans),
        "gap_percent": round(100 * max(plan.steps / plan.bound - 1 for plan in plans), 1),
        "whole": whole,
        "least": min(steps),
        "mean": round(sum(steps) / len(steps), 2),
        "most": max(steps),
        "seconds": round(sum(plan.seconds for plan in plans) / len(plans), 3),
    }
