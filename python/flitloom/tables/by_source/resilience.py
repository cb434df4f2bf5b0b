"""How many failures leave every pair with a legal deadlock-free route."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from flitloom import _core
from flitloom.ground.numerals import counted
from flitloom.spec import Topology
from flitloom.tables.by_source.rules import RouterRules, routing_system

#: The regimes, in the order of the columns.
REGIMES = ("no first/last steps", "direction sets", "closed form", "exact", "on demand")

Failure = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class Survival:
    """Fractions of failures that every healthy pair survives, by regime.

    Attributes
    ----------
    failures : str
        What fails.
    systems : int
        Number of failed systems that were tried.
    exhaustive : bool
        Whether these are all there are.
    fractions : tuple of float
        Fraction served without first and last steps, with the turns of angara-routing-2021
        (Theorem 2), with all turns that can never close a cycle, with every further turn that an exact
        test admits in the order of the links, and with turns on demand.
    """

    failures: str
    systems: int
    exhaustive: bool
    fractions: tuple[float, ...]


def survive(
    topology: Topology,
    nodes: int,
    links: int,
    *,
    rules: str | RouterRules = "angara",
    sample: int = 200,
    seed: int = 1,
) -> Survival:
    """Try every way in which that many nodes and links fail, or a random sample of them.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.tables.by_source.resilience import survive
    >>> survive(fl.Torus(4, 2, 2, 2), 1, 0).fractions[-1]
    1.0
    """
    rules = RouterRules.chosen(rules, topology)
    whole = topology.model_copy(update={"failed_nodes": (), "failed_links": ()})
    system = routing_system(whole, rules)
    cables = sorted({(min(a, b), max(a, b)) for _, a, b, _ in system.links()})
    failures, exhaustive = _failures(topology.nodes, cables, nodes, links, sample, seed)
    served = _core.resilience(whole.core(), rules.core(), failures)
    count = len(served)
    fractions = tuple(sum(regime) / count for regime in zip(*served, strict=True))
    parts = [counted(number, name) for number, name in ((nodes, "node"), (links, "link")) if number]
    return Survival(" and ".join(parts), count, exhaustive, fractions)


def _failures(
    count: int, cables: Sequence[tuple[int, int]], nodes: int, links: int, sample: int, seed: int
) -> tuple[list[Failure], bool]:
    total = comb(count, nodes) * comb(len(cables), links)
    if total <= max(sample, count, len(cables)):
        pairs = itertools.product(
            itertools.combinations(range(count), nodes), itertools.combinations(cables, links)
        )
        return [(chosen, tuple(broken)) for chosen, broken in pairs], True
    draw = random.Random(seed)
    chosen: dict[Failure, None] = {}
    while len(chosen) < sample:
        broken = (tuple(sorted(draw.sample(range(count), nodes))), tuple(sorted(draw.sample(cables, links))))
        chosen[broken] = None
    return list(chosen), False
