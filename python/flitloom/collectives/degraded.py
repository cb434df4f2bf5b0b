"""What failures cost: collective operations on a network with random failed cables, many times over."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from flitloom.collectives.search import collective
from flitloom.errors import SpecError, unknown_parts
from flitloom.ground import provenance
from flitloom.ground.numerals import counted
from flitloom.jobs import Job, Store, run_jobs
from flitloom.spec import Topology
from flitloom.spec.ground import Ground

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
            f"{low} to {high} of {counted(len(cables), 'cable')}",
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
    raise SpecError.at("failures", f"almost no {topology} stays connected with these", "give fewer")


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


class PlanJob(Job):
    """One operation on one damaged network, under the id of all it depends on."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__("plan", spec)

    @property
    def topology(self) -> Topology:
        """The network with its failures."""
        return Topology(**self.spec["topology"])


def plan_jobs(topology: Topology, networks: Iterable[Topology], operations: Sequence[str]) -> list[PlanJob]:
    """All operations on all networks, behind those on the network without failures."""
    jobs = []
    for network in (topology, *networks):
        for operation in operations:
            spec = {
                "operation": operation,
                "topology": network.model_dump(mode="json"),
                "seed": 1,
                "version": provenance.version(),
            }
            jobs.append(PlanJob(spec))
    return jobs


def plan_one(spec: dict[str, Any]) -> dict[str, Any]:
    """Steps and bound of one operation on one network."""
    begin = time.perf_counter()
    plan = collective(PlanJob(spec).topology, spec["operation"], seed=spec["seed"])
    return {
        "steps": plan.steps,
        "bound": plan.bound,
        "seconds": time.perf_counter() - begin,
    }


def degraded(
    topology: Topology,
    *,
    count: int = 100,
    failures: tuple[int, int] = (1, 6),
    operations: Sequence[str] = OPERATIONS,
    seed: int = 1,
    store: Store | None = None,
    executor: Executor | None = None,
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
    store : Store, optional
        Where every plan's steps and bound are kept at once; what is there already is not planned again.
    executor : concurrent.futures.Executor, optional
        Where plans are made, as `flitloom.ground.workers.Workers`; one after the other here without.
    progress : callable, optional
        Called with the number of plans so far and in all.

    Returns
    -------
    list of dict
        As `degraded_rows`.

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
    jobs = plan_jobs(topology, damaged(topology, count, failures, seed), operations)
    results = Store(":memory:") if store is None else store
    # One at a time, so that what is kept grows plan by plan.
    own = ThreadPoolExecutor(1) if executor is None else None
    try:
        run_jobs(jobs, results, plan_one, executor=own or executor, progress=progress)
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)
    return degraded_rows(jobs, results)


def degraded_rows(jobs: Sequence[PlanJob], store: Store) -> list[dict[str, Any]]:
    """What failures cost, from the plans that are finished.

    Returns
    -------
    list of dict
        Per operation: ``operation``, ``plans``, ``at_bound`` (plans with as many steps as their proven
        bound), ``gap_percent`` (the largest gap to the bound), ``mean_gap_percent``, ``whole`` (steps without
        failures), ``least``, ``mean`` and ``most`` (steps with them), ``seconds`` (wall-clock time per plan).
        Operations without a plan are left out.
    """
    finished = store.finished()
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    whole: dict[str, int] = {}
    for job in jobs:
        if job.id in finished:
            plan = store.result(job.id)
            operation = job.spec["operation"]
            if job.topology.failed_links:
                found[operation].append(plan)
            else:
                whole[operation] = plan["steps"]
    return [_row(operation, whole.get(operation), plans) for operation, plans in found.items()]


def _row(operation: str, whole: int | None, plans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    steps = [plan["steps"] for plan in plans]
    gaps = [100 * (plan["steps"] / plan["bound"] - 1) for plan in plans]
    return {
        "operation": operation,
        "plans": len(plans),
        "at_bound": sum(plan["steps"] == plan["bound"] for plan in plans),
        "gap_percent": round(max(gaps), 1),
        "mean_gap_percent": round(sum(gaps) / len(gaps), 1),
        "whole": whole,
        "least": min(steps),
        "mean": round(sum(steps) / len(steps), 2),
        "most": max(steps),
        "seconds": round(sum(plan["seconds"] for plan in plans) / len(plans), 3),
    }
