"""``flitloom bench collective``: steps, bounds and search times of collective operations."""

from __future__ import annotations

import random

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.spec.ground import Ground

#: Sizes, whether twisted, and operations with their chunks.
WHOLE = [
    (sizes, False, operation, 1)
    for sizes in ("8x8", "16x16", "4x4x4", "8x8x8", "10x10x10", "8x8x16", "4x4x4x4", "16x16x16")
    for operation in ("all-gather", "all-reduce", "all-to-all")
] + [
    *((sizes, True, "all-to-all", 1) for sizes in ("4x4x8", "4x8x8", "8x8x16", "8x16x16")),
    ("4x4x8", True, "all-to-all", 3),
    ("16x16", False, "broadcast", 64),
    ("8x8x8", False, "broadcast", 64),
    ("8x8", False, "scatter", 1),
]
#: Sizes, whether they wrap around, operation, number of plans.
FAILED = [
    ("6x6", False, "all-gather", 100),
    ("8x8", True, "all-gather", 100),
    ("4x4x4", True, "all-gather", 100),
    ("8x8x8", True, "all-gather", 10),
    ("16x16", True, "all-gather", 20),
    ("8x8", True, "all-to-all", 50),
    ("4x4x4", True, "all-to-all", 50),
    ("8x8", True, "all-reduce", 50),
    ("4x4x4", True, "all-reduce", 50),
]


def run(context: Context) -> list[Row]:
    """Plans on healthy tori and, with `everything`, on such with one to six random failed cables.

    `at_bound` of `plans` plans have as many steps as their proven bound; steps, bound and gap are those of
    the plan with the largest gap, milliseconds the mean of the wall-clock times of the searches.
    """
    rows: list[Row] = []
    failed = FAILED if context.everything else [(*case[:3], 5) for case in FAILED[:3]]
    total = len(WHOLE) + len(failed)
    for sizes, twist, operation, chunks in WHOLE:
        plan = fl.collectives.plan(fl.Torus(sizes, twist=twist), operation, chunks=chunks)
        rows.append(_row(f"{sizes} {'twisted' if twist else 'torus'}", operation, chunks, [plan]))
        context.progress(len(rows), total)
    for sizes, wraps, operation, count in failed:
        plans = [fl.collectives.plan(topology, operation) for topology in _damaged(sizes, wraps, count)]
        rows.append(_row(f"{sizes} {'torus' if wraps else 'mesh'}, failed", operation, 1, plans))
        context.progress(len(rows), total)
    return rows


def _row(network: str, operation: str, chunks: int, plans: list[fl.CollectivePlan]) -> Row:
    worst = max(plans, key=lambda plan: plan.steps / max(plan.bound, 1))
    return {
        "network": network,
        "operation": operation,
        "chunks": chunks,
        "plans": len(plans),
        "at_bound": sum(plan.optimal for plan in plans),
        "steps": worst.steps,
        "bound": worst.bound,
        "gap_percent": round(100 * (worst.steps / max(worst.bound, 1) - 1), 1),
        "ms": round(1000 * sum(plan.seconds for plan in plans) / len(plans), 1),
    }


def _damaged(sizes: str, wraps: bool, count: int) -> list[fl.Topology]:
    """Connected networks with one to six failed cables each, the same ones every time."""
    dice = random.Random(f"{sizes} {wraps}")
    whole: fl.Topology = fl.Torus(sizes) if wraps else fl.Mesh(sizes)
    links = sorted(pair for pair in _links(whole) if pair[0] < pair[1])
    found: list[fl.Topology] = []
    while len(found) < count:
        cut = dice.sample(links, dice.randint(1, 6))
        topology = fl.Topology(kind=whole.kind, sizes=whole.sizes, failed_links=cut)
        if _connected(whole.nodes, set(links) - set(cut)):
            found.append(topology)
    return found


def _links(topology: fl.Topology) -> list[tuple[int, int]]:
    return list(Ground(topology).links)


def _connected(nodes: int, cables: set[tuple[int, int]]) -> bool:
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph(list(cables))
    return len(graph) == nodes and nx.is_connected(graph)
