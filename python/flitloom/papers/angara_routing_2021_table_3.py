"""Table 3 of angara-routing-2021: NPB kernels by routing tables, as communication skeletons."""

from __future__ import annotations

from collections.abc import Iterable

import flitloom as fl
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.papers.report import Cell, Context, Report

IDENTIFIER = "angara-routing-2021/table-3"
TITLE = "Time of NPB kernels (class C, 32 nodes) relative to BFS tables, as communication skeletons"
#: Options that change what is computed.
OPTIONS = ("full",)

SIZES = (4, 2, 2, 2)
NODES = 32
METHODS = ("bfs", "genetic", "sssp", "balanced")
#: Mops of BFS, Genetic and SSSP.
PUBLISHED = {
    "LU": (364353, 367771, 368548),
    "MG": (374789, 376040, 377562),
    "CG": (88426, 90354, 90443),
    "FT": (172567, 181744, 181911),
    "IS": (7771, 8073, 8181),
}
#: Messages are shortened by this factor, and computations with them.
SCALE, QUICK_SCALE = 64, 512
#: Cycles of computation per cycle that the busiest node needs to send its messages.
COMPUTE = {"LU": 8.0, "MG": 8.0, "CG": 2.0, "FT": 1.0, "IS": 0.5}

Messages = list[tuple[int, int, int]]

REMARKS = [
    "Skeletons of one iteration with the messages of class C between 32 nodes (4 processes of a node count "
    "as one): LU exchanges faces of 162^3 on a grid of 8 x 4, MG those of 512^3 on 4 x 4 x 2 and its coarser "
    "levels, CG sums and transposes vectors of 150000 in rows of 4, FT and IS exchange all to all 512^3 "
    "complex numbers and 2^27 keys.",
    "The computation between them is not published; it is a stated number of cycles per cycle of sending ("
    + ", ".join(f"{kernel} {share:g}" for kernel, share in COMPUTE.items())
    + f"), not fitted to the table. Messages and computations are shortened by {SCALE} (--full) or "
    f"{QUICK_SCALE}, so that effects of single packets weigh more than on the cluster.",
    "Computed is the time with BFS tables over the time with the method's; published are ratios of Mops.",
]


def grid(sizes: tuple[int, ...], faces: Iterable[int], wrap: bool) -> Messages:
    """Messages to both neighbours along every dimension of a process grid, x first."""
    messages = []
    for rank in range(NODES):
        rest, coordinates = rank, []
        for size in sizes:
            rest, coordinate = divmod(rest, size)
            coordinates.append(coordinate)
        for dimension, face in enumerate(faces):
            for step in (1, -1):
                there = coordinates[dimension] + step
                if not wrap and not 0 <= there < sizes[dimension]:
                    continue
                other = list(coordinates)
                other[dimension] = there % sizes[dimension]
                target = 0
                for size, coordinate in zip(reversed(sizes), reversed(other), strict=True):
                    target = target * size + coordinate
                if target != rank:
                    messages.append((rank, target, face))
    return messages


def all_to_all(size: int) -> Messages:
    """A message of `size` bytes between every two nodes."""
    return [(rank, (rank + step) % NODES, size) for rank in range(NODES) for step in range(1, NODES)]


def phases(kernel: str) -> list[Messages]:
    """The messages of one iteration of a kernel, in bytes."""
    match kernel:
        case "LU":
            # Five variables of 8 bytes on the faces of a 162^3 grid cut 8 x 4.
            return [grid((8, 4), (40 * 162 * 162 // 4, 40 * 162 * 162 // 8), wrap=False)] * 2
        case "MG":
            levels = []
            for size in (512, 256, 128, 64):
                x, y, z = size // 4, size // 4, size // 2
                levels.append(grid((4, 4, 2), (8 * y * z, 8 * x * z, 8 * x * y), wrap=True))
            return [*levels, *reversed(levels)]
        case "CG":
            # Rows of 4: three sums by halving, then the exchange with the transposed node.
            part = 150_000 * 8 // 4
            steps = [[(rank, rank ^ bit, part) for rank in range(NODES)] for bit in (1, 2, 4)]
            swap = [(rank, (rank >> 2 | rank << 3) & 31, part) for rank in range(NODES)]
            return [*steps, [message for message in swap if message[0] != message[1]]]
        case "FT":
            return [all_to_all(512**3 * 16 // NODES**2)]
        case _:
            return [all_to_all(4096), all_to_all(2**27 * 4 // NODES**2)]


def reproduce(context: Context) -> Report:
    """Simulate one iteration of every kernel with the tables of every method."""
    scale = SCALE if context.quick is False else QUICK_SCALE
    topology = fl.Torus(*SIZES)
    network = fl.Network(topology, fl.Router(flow_control="bubble", channels=1, buffer=64))
    tables = {method: fl.tables.make(topology, method=method, seed=context.seed) for method in METHODS}
    cells = []
    for number, (kernel, published) in enumerate(PUBLISHED.items()):
        steps = []
        for messages in phases(kernel):
            short = [(source, target, max(size // scale, 16)) for source, target, size in messages]
            sent = [0] * NODES
            for source, _, size in short:
                sent[source] += size // 16
            steps.append((short, int(COMPUTE[kernel] * max(sent))))
        graph = MessageGraph.steps(NODES, steps)
        durations = {
            method: simulate_messages(network, graph, tables=tables[method])["duration"] for method in METHODS
        }
        cells.append(Cell(kernel, "cycles, bfs", None, durations["bfs"]))
        for index, method in enumerate(METHODS[1:], start=1):
            paper = round(published[index] / published[0], 4) if index < len(published) else None
            computed = round(durations["bfs"] / durations[method], 4)
            cells.append(Cell(kernel, f"{method} / bfs", paper, computed))
        if context.progress:
            context.progress("kernels", number + 1, len(PUBLISHED))
    return Report(IDENTIFIER, TITLE, cells, REMARKS)
