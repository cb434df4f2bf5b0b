"""``flitloom bench place_order``: whether loads order placements as simulated runs do."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.place_cases import Case, cases
from flitloom.placing.running import duration
from flitloom.placing.search import problem_of

#: Ranks at most, pairs that are drawn, and by what factor they differ at least.
RANKS, PAIRS, APART = 128, 200, 1.1
#: Effort in channel loads, and whether hops are minimised, of the placements that are searched.
SEARCHES = ((200_000, False), (3_000_000, False), (200_000, True), (3_000_000, True))

#: Simulated time, and what the loads say: the larger one of channel and port, channel, hop-bytes.
Measured = tuple[int, tuple[int, int, int]]
#: What orders placements: a name, and the key of a placement.
MEASURES: dict[str, Callable[[Measured], tuple[int, ...]]] = {
    "larger of channel and port": lambda one: one[1][:1],
    "the same, then the busiest channel, then hop-bytes": lambda one: one[1],
    "busiest channel": lambda one: one[1][1:2],
    "hop-bytes": lambda one: one[1][2:],
}


def run(context: Context) -> list[Row]:
    """Draw 200 pairs of placements that are a tenth or more apart, and order them by loads.

    A case (of the 70, those up to 128 ranks) has seven placements: row-major, two at random, and four that
    were searched. Pairs are a tenth apart in the larger one of busiest channel and busiest port, or in the
    simulated time. `agree` is the percentage of pairs in which the measure is smaller for the faster one; a
    tie counts half, and `ties` is the percentage of them. One rank per node has the same busiest port
    wherever it is, so placements whose channels are less full are tied.
    """
    chosen = [case for case in cases() if np.prod(case.sizes) <= RANKS]
    drawn: dict[str, list[tuple[Measured, Measured]]] = {"load": [], "time": []}
    for number, case in enumerate(chosen):
        for pair in combinations(_measured(case, number), 2):
            fast, slow = sorted(pair, key=lambda each: each[0])
            less, more = sorted(one[1][0] for one in pair)
            if more >= APART * less and fast[0] < slow[0]:
                drawn["load"].append((fast, slow))
            if slow[0] >= APART * fast[0]:
                drawn["time"].append((fast, slow))
        context.progress(number + 1, len(chosen))
    rows: list[Row] = []
    for apart, pairs in drawn.items():
        Random(1).shuffle(pairs)
        pairs = pairs[:PAIRS]
        for name, key in MEASURES.items():
            marks = [1.0 if key(fast) < key(slow) else 0.5 * (key(fast) == key(slow)) for fast, slow in pairs]
            row: Row = {"apart in": apart, "measure": name, "pairs": len(pairs)}
            rows.append(
                {**row, "agree": _percent(np.mean(marks)), "ties": _percent(np.mean(np.array(marks) == 0.5))}
            )
    return rows


def _percent(part: np.floating[Any]) -> float:
    return round(100 * float(part), 1)


def _measured(case: Case, seed: int) -> list[Measured]:
    """Simulated time and measures of the placements of a case."""
    topology, traffic = fl.Torus(*case.sizes), case.make()
    network = fl.Network(topology)
    problem = problem_of(topology, traffic, range(topology.nodes))
    dice = random.Random(seed)
    placements: list[NDArray[np.uint32]] = [np.arange(topology.nodes, dtype=np.uint32)]
    nodes_of_all = range(topology.nodes)
    placements += [np.array(dice.sample(nodes_of_all, topology.nodes), dtype=np.uint32) for _ in range(2)]
    for effort, hops in SEARCHES:
        mesh = list(traffic.mesh) or [traffic.ranks]
        placements.append(problem.search(mesh, hops, 0, seed, effort)["nodes"])
    found: list[Measured] = []
    for nodes in placements:
        _loads, (channel, _count, total), port = problem.loads(nodes)
        found.append((duration(network, traffic, nodes, None, 1), (max(channel, port), channel, total)))
    return found
