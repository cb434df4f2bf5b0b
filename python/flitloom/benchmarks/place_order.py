"""``flitloom bench place_order``: whether loads order placements as simulated runs do."""

from __future__ import annotations

import random
from itertools import combinations
from random import Random

import numpy as np
from numpy.typing import NDArray

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.place_cases import Case, cases
from flitloom.placing.running import duration
from flitloom.placing.search import problem_of

#: Ranks at most, pairs that are drawn, and by what factor their times differ at least.
RANKS, PAIRS, APART = 128, 200, 1.1
#: Effort in channel loads, and whether hops are minimised, of the placements that are searched.
SEARCHES = ((200_000, False), (3_000_000, False), (200_000, True), (3_000_000, True))

Measured = tuple[int, dict[str, float]]


def run(context: Context) -> list[Row]:
    """Draw 200 pairs of placements whose simulated times differ by a tenth or more, and order them by loads.

    A case (of the 70, those up to 128 ranks) has seven placements: row-major, two at random, and four that
    were searched. `agree` is the percentage of pairs in which the measure is smaller for the faster one; a
    tie counts half.
    """
    chosen = [case for case in cases() if np.prod(case.sizes) <= RANKS]
    pairs: list[tuple[Measured, Measured]] = []
    for number, case in enumerate(chosen):
        for one, other in combinations(_measured(case, number), 2):
            fast, slow = sorted((one, other), key=lambda each: each[0])
            if slow[0] >= APART * fast[0]:
                pairs.append((fast, slow))
        context.progress(number + 1, len(chosen))
    Random(1).shuffle(pairs)
    pairs = pairs[:PAIRS]
    rows: list[Row] = []
    for name in pairs[0][0][1]:
        marks = [np.sign(slow[1][name] - fast[1][name]) / 2 + 0.5 for fast, slow in pairs]
        rows.append({"measure": name, "pairs": len(pairs), "agree": round(100 * float(np.mean(marks)), 1)})
    return rows


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
    found = []
    for nodes in placements:
        _loads, (channel, _count, total), port = problem.loads(nodes)
        values = {
            "larger of channel and port": float(max(channel, port)),
            "hop-bytes": float(total),
            "fullest channel": float(channel),
        }
        found.append((duration(network, traffic, nodes, None, 1), values))
    return found
