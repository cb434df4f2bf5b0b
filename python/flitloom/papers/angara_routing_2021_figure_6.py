"""Figure 6 of angara-routing-2021: bandwidth of communication patterns by routing tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import flitloom as fl
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.papers.angara_routing_2021_table_2 import SYSTEMS
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "angara-routing-2021/figure-6"
TITLE = "Bandwidth of communication patterns relative to BFS tables on the Desmos cluster"
#: Options that change what is computed.
OPTIONS = ("full",)

#: Bytes of a message, and of a flit (Sections 2 and 5.2); the quick run shortens messages.
MESSAGE, QUICK_MESSAGE, FLIT = 1 << 20, 1 << 14, 16
METHODS = ("bfs", "genetic", "sssp", "balanced")
#: Bandwidth on 32 nodes relative to BFS, as far as the text names it.
PUBLISHED = {
    ("Transpose", "genetic"): 0.961,
    ("Alltoall", "sssp"): 1.111,
}

REMARKS = [
    "Published: on 32 nodes up to 11.6 % better than BFS for Neighbor and up to 52.9 % for Tornado (the "
    "method is not stated), Alltoall 11.1 % by SSSP and 1.1 % more by Genetic, Transpose 3.9 % worse "
    "by Genetic.",
    "Patterns are permutations of the rank index (Dally and Towles): transpose rotates its bits by half "
    "their number, neighbor adds 1, tornado half the ranks less 1; ranks stand on nodes in "
    "order. The order of nodes on the cluster is not published.",
    "Router: one deterministic channel, bubble flow control, buffers of 64 flits, packets of 16 flits and a "
    "header. The run without --full has messages of 16 KiB instead of 1 MiB.",
]


def transpose(rank: int, ranks: int) -> int:
    """The index with its bits rotated by half their number."""
    bits = ranks.bit_length() - 1
    half = bits // 2
    return (rank >> half | rank << (bits - half)) & (ranks - 1)


PATTERNS: dict[str, Callable[[int, int], Iterator[int]]] = {
    "Transpose": lambda rank, ranks: iter([transpose(rank, ranks)]),
    "Neighbor": lambda rank, ranks: iter([(rank + 1) % ranks]),
    "Tornado": lambda rank, ranks: iter([(rank + max(ranks // 2 - 1, 1)) % ranks]),
    "Alltoall": lambda rank, ranks: ((rank + step) % ranks for step in range(1, ranks)),
}


def reproduce(context: Context) -> Report:
    """Simulate every pattern with the tables of every method."""
    size = MESSAGE if context.quick is False else QUICK_MESSAGE
    router = fl.Router(flow_control="bubble", channels=1, buffer=64)
    cells: list[Cell] = []
    total = len(PATTERNS) * len(SYSTEMS)
    for nodes, sizes in SYSTEMS.items():
        topology = fl.Torus(*sizes)
        network = fl.Network(topology, router)
        tables = {method: fl.tables.make(topology, method=method, seed=context.seed) for method in METHODS}
        for pattern, targets in PATTERNS.items():
            messages = [
                (rank, target, size)
                for rank in range(nodes)
                for target in targets(rank, nodes)
                if target != rank
            ]
            if not messages:
                continue
            graph = MessageGraph.exchange(nodes, messages)
            durations = {
                method: simulate_messages(network, graph, tables=tables[method], flit_bytes=FLIT)["duration"]
                for method in METHODS
            }
            row = f"{pattern}, {nodes} nodes"
            payload = len(messages) * size / nodes
            cells.append(Cell(row, "bytes/node/cycle, bfs", None, round(payload / durations["bfs"], 3)))
            for method in METHODS[1:]:
                published = PUBLISHED.get((pattern, method)) if nodes == 32 else None
                cells.append(
                    Cell(row, f"{method} / bfs", published, round(durations["bfs"] / durations[method], 3))
                )
            if context.progress:
                context.progress("patterns", len({cell.row for cell in cells}), total)
    cells.sort(key=lambda cell: list(PATTERNS).index(cell.row.split(",")[0]))
    return Report(IDENTIFIER, TITLE, cells, REMARKS, _files(context, cells))


def _files(context: Context, cells: list[Cell]) -> list[Path]:
    file = context.file(IDENTIFIER, ".png")
    if file is None:
        return []
    from flitloom.plots.canvas import figure
    from flitloom.plots.style import marker

    with figure(file, 10, 7) as drawing:
        for axes, pattern in zip(drawing.subplots(2, 2).flat, PATTERNS, strict=True):
            for number, method in enumerate(METHODS[1:]):
                points = [
                    (int(cell.row.split()[1]), cell.computed)
                    for cell in cells
                    if cell.row.startswith(pattern) and cell.column == f"{method} / bfs"
                ]
                # Curves that coincide are seen behind each other.
                shape = {"marker": marker(number), "linewidth": 5 - 2 * number, "markersize": 10 - 3 * number}
                axes.plot(*zip(*points, strict=True), label=method, **shape)
            axes.axhline(1, color="0.6", linestyle=":")
            axes.set(title=pattern, xlabel="nodes", ylabel="bandwidth / BFS")
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(SYSTEMS), [str(nodes) for nodes in SYSTEMS])
            axes.legend()
    return [file]
