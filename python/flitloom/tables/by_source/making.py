"""Make routing tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.errors import SpecError, UnreachableError, require_kind, unknown_parts
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import require_whole
from flitloom.spec.topology import BY_DESTINATION
from flitloom.tables.by_source.bound import LARGEST_PROGRAM, Bound, linear_bound
from flitloom.tables.by_source.rules import RouterRules, routing_system
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.traffic import traffic_matrix

#: How a table can be made.
METHODS = _core.LISTS["table_methods"]
#: What editors offer: methods, turns against the order that first and last steps may take, and rules.
MethodName = Literal["balanced", "sssp", "bfs", "genetic", "dor", "coherent"]
TurnsName = Literal["on-demand", "none", "direction-sets", "closed-form", "exact"]
RulesName = Literal["angara", "dimension-order", "dateline", "unrestricted"]


def route(
    topology: AnyNetwork,
    *,
    method: MethodName | str = "balanced",
    failed_nodes: Iterable[int | str] = (),
    failed_links: Iterable[tuple[int, int] | str] = (),
    rules: RulesName | RouterRules | str | None = None,
    turns: TurnsName | str = "on-demand",
    traffic: ArrayLike | None = None,
    seed: int = 1,
    effort: int = 1,
    population: int = 100,
    mutation: float = 0.02,
    patience: int = 30,
    threshold: float = 0.05,
    unique_first: bool = True,
    exact_bound: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Tables:
    """Make tables by source: one legal, deadlock-free route per ordered pair of working nodes.

    Parameters are those of `flitloom.tables.make`.
    """
    topology = _with_failures(topology, failed_nodes, failed_links)
    if method not in METHODS:
        raise SpecError.at("method", *unknown_parts(method, METHODS))
    weights = traffic_matrix(traffic, topology.nodes)
    _check_numbers(seed, effort, population, mutation, patience, threshold)

    def made(system: _core.RoutingSystem) -> tuple[_core.RoutingTable, dict[str, Any]]:
        genetic = (population, mutation, patience, threshold)
        return _core.route(system, method, weights, seed, effort, genetic, unique_first, progress)

    chosen = RouterRules.chosen(rules or "angara", topology)
    started = time.perf_counter()
    system = routing_system(topology, chosen, turns, progress)
    try:
        table, facts = made(system)
    except UnreachableError as error:
        # Perhaps all pairs are served with the ways along a dimension exchanged.
        free = rules is None and turns == "on-demand"
        mirrored = system.mirrored(method, turns, weights, progress) if free else None
        if mirrored is None:
            text = advice(system, topology, chosen, turns, method, weights, free)
            raise UnreachableError(f"{error}; {text}", error.pairs) from None
        chosen = RouterRules.of(mirrored)
        system = routing_system(topology, chosen, turns, progress)
        table, facts = made(system)
    bound = Bound(Fraction(facts.pop("bound_numerator"), facts.pop("bound_denominator")), facts.pop("proof"))
    if exact_bound and bound.ceiling < facts["max_load"]:
        bound = max(bound, linear_bound(system, weights, LARGEST_PROGRAM) or bound)
    seconds = time.perf_counter() - started
    return Tables(topology, chosen, system, facts, table, bound, method, seed, weights, seconds)


def _check_numbers(
    seed: int, effort: int, population: int, mutation: float, patience: int, threshold: float
) -> None:
    """Refuse parameters of searches that are out of range."""
    require_whole("seed", seed, 0, 2**64 - 1)
    require_whole("effort", effort, 1, 1_000_000)
    require_whole("population", population, 2, 100_000)
    require_whole("patience", patience, 1, 2**31)
    if not 0 <= mutation <= 1 or not threshold >= 0:
        raise SpecError("mutation must be 0 to 1, threshold at least 0")


def advice(
    system: _core.RoutingSystem,
    topology: Topology,
    rules: RouterRules,
    turns: str,
    method: str,
    weights: NDArray[np.uint64] | None,
    exchanged: bool = False,
) -> str:
    """What would serve the pairs that cannot be served, as the end of a sentence.

    Every change that is named was tried, with the same rules, turns, method and traffic; `exchanged` says
    that orders with exchanged ways were tried before.
    """
    found = system.advise(method, turns, weights)
    if found is None:
        return "another seed may help"
    cause = {
        "Disconnected": "no working links connect them",
        "NoLegalRoute": "every working way breaks a rule of the router",
        "Deadlock": "its legal routes need turns that could close a cycle of waiting channels",
    }[found["cause"]]
    if rules.any_walk and found["cause"] == "NoLegalRoute":
        # The router would take them; it is the generators that keep the order.
        cause = "every working way breaks the order of directions, which all methods keep"
    others = [
        (other_turns, other_method)
        for other_turns, other_method in (
            ("on-demand", method),
            (turns, "balanced"),
            ("on-demand", "balanced"),
        )
        if (other_turns, other_method) != (turns, method)
    ]
    changes = []
    if found["cause"] != "Disconnected" and others:
        left = {pair: routing_system(topology, rules, pair[0]).left_out(pair[1], weights) for pair in others}
        if found["first"] not in left[others[-1]]:
            cause = f"their legal routes are none that method {method} takes with turns {turns}"
        serving = [pair for pair in others if not left[pair]][:1]
        changes = [f"method {method} with turns {turns}" for turns, method in serving]
    mirrored = None if exchanged else system.mirrored(method, turns, weights)
    if mirrored is not None and RouterRules.of(mirrored).known:
        changes.append(f"rules {RouterRules.of(mirrored).name}")
    text = {
        "cable": "repairing the link {0}-{1}",
        "node": "repairing node {0}",
        "drop": "leaving node {0} out",
    }
    changes += [text[kind].format(node, other) for kind, node, other in found["single"]]
    if changes:
        return f"{cause}; {' or '.join(changes[:5])} would serve every pair"
    if found["together"]:
        return f"{cause}; leaving nodes {', '.join(map(str, found['together']))} out would serve every pair"
    return f"{cause}; no small change would help {topology}"


def without_others(topology: AnyNetwork, nodes: Sequence[int]) -> Topology:
    """A network in which all nodes but these have failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> without_others(fl.Torus(2, 2), [0, 1]).failed_nodes
    (2, 3)
    """
    allocated = set(nodes)
    return _with_failures(topology, (node for node in range(topology.nodes) if node not in allocated), ())


def _with_failures(
    topology: AnyNetwork, nodes: Iterable[int | str], links: Iterable[tuple[int, int] | str]
) -> Topology:
    require_kind("topology", topology, AnyNetwork, "topology", "fl.Torus(...) or fl.Mesh(...)")
    plain: Topology = topology.torus("source routes", BY_DESTINATION)
    nodes, links = tuple(nodes), tuple(links)
    if not nodes and not links:
        return plain
    fields = plain.model_dump()
    fields["failed_nodes"] = tuple(dict.fromkeys((*plain.failed_nodes, *nodes)))
    fields["failed_links"] = tuple(dict.fromkeys((*plain.failed_links, *links)))
    return Topology(**fields)
