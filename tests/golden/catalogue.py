"""Of what the golden files tell: what docs, papers and benchmarks publish, and 300 random failed systems.

An entry is a group, a kind of `kinds.py` and its arguments; those of the group ``large`` take seconds each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from flitloom.benchmarks import collective as bench_collective
from flitloom.benchmarks import failures as bench_failures
from flitloom.papers.angara_routing_2021_figure_4 import SYSTEMS

Entry = tuple[str, str, dict[str, Any]]
#: Random failed systems of each of the three kinds.
RANDOM = 108


def sizes_of(text: str) -> list[int]:
    return [int(size) for size in text.split("x")]


def torus(text: str, **fields: Any) -> dict[str, Any]:
    return {"sizes": sizes_of(text), **fields}


def mesh(text: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "mesh", "sizes": sizes_of(text), **fields}


def by_source() -> Iterator[Entry]:
    """Tables of docs, papers and benches by source."""

    def made(network: dict[str, Any], group: str = "by source", **options: Any) -> Entry:
        return group, "by source", {"network": network, **options}

    # flitloom bench route
    for sizes in ("4x2", "4x2x2", "4x2x2x2", "4x4x4", "8x8x8", "8x8x8x2", "8x8x8x8", "16x16x16"):
        group = "by source" if prod(sizes_of(sizes)) <= 512 else "large"
        yield made(torus(sizes), group, exact_bound=False)
    yield made(torus("8x8x8x2"), "large", failed_nodes=[0], exact_bound=False)
    # Figure 4 and Table 2 of angara-routing-2021, and what figures 5 and 6 are drawn from
    for sizes in SYSTEMS:
        for unique in (False, True):
            yield made(torus(sizes), method="sssp", unique_first=unique, exact_bound=False)
    for sizes in ("2", "4", "4x2", "4x2x2", "4x2x2x2"):
        for method in ("bfs", "genetic", "sssp", "balanced"):
            yield made(torus(sizes), method=method)
    draw = random.Random("figure 5")
    population = [found for count in (2, 3, 4) for found in product(range(2, 9), repeat=count)]
    for found in draw.sample([found for found in population if prod(found) <= 128], 30):
        for method in ("balanced", "bfs", "sssp", *["genetic"] * (prod(found) <= 32)):
            yield made({"sizes": list(found)}, method=method, exact_bound=method == "balanced")
    # The docs
    for fails in ({"failed_nodes": [3]}, {"failed_nodes": [3], "failed_links": [[0, 1]]}):
        for sizes in ("4x2x2x2", "4x4x2", "8x4"):
            yield made(torus(sizes, **fails))
            yield made(torus(sizes, **fails), turns="exact")
    for method in ("balanced", "sssp", "bfs", "coherent", "dor"):
        yield made(torus("4x2x2x2"), method=method)
    yield made(torus("4x2x2"), effort=1000, seed=3)
    yield made(torus("8"), method="dor")
    yield made(torus("8x8", failed_nodes=[27]))
    yield made(mesh("4", failed_links=[[1, 2]]))
    for rules in ("angara", "dimension-order", "dateline", "unrestricted"):
        for network in (torus("4x4"), mesh("4x3"), torus("4x4", failed_links=[[0, 1]])):
            yield made(network, rules=rules)
    for turns in ("on-demand", "none", "direction-sets", "closed-form", "exact"):
        yield made(torus("4x4x2", failed_nodes=[5]), turns=turns)
    for weights in (1, 2, 3):
        yield made(torus("4x4"), weights=weights)
        yield made(torus("4x2x2", failed_nodes=[2]), weights=weights)
    for sizes, rules in (("8", "unrestricted"), ("4x4", "dimension-order"), ("4x4x2", "dateline")):
        for method in ("dor", "balanced", "sssp"):
            yield "by source", "under", {"network": torus(sizes), "rules": rules, "method": method}
    for nodes, links in ((1, 0), (0, 1), (1, 1), (2, 0)):
        yield (
            "by source",
            "resilience",
            {"network": torus("4x2x2x2"), "nodes": nodes, "links": links, "sample": 30},
        )


def by_destination() -> Iterator[Entry]:
    """Tables of docs and benches by destination."""

    def made(name: str, *arguments: Any, group: str = "by destination", **options: Any) -> Entry:
        return group, "by destination", {"fabric_": [name, list(arguments)], **options}

    # flitloom bench fabric, verdict and twist
    for sizes in ([4, 4, 4], [16, 16], [8, 8, 8]):
        yield made("torus", sizes)
    yield made("torus", [10, 10, 10], group="large")
    yield made("torus", [16, 16, 16], group="large")
    yield made("torus", [8, 8, 8], 0, 1, group="large")
    yield made("torus", [8, 8, 8], 3, 1, group="large")
    yield made("torus", [8, 8, 8], 76, group="large")
    yield made("express_mesh", 16, 4, group="large")
    yield made("random_regular", 128, 6, group="large")
    yield made("dragonfly", 6, 3, group="large")
    yield made("hyperx", [6, 6])
    yield made("fat_tree", 8)
    for sizes in ([4, 4, 8], [4, 8, 8]):
        yield made("twisted_torus", sizes, group="by destination" if sizes[1] == 4 else "large")
        yield made("torus", sizes)
    # The others of the docs, and every option
    for sizes in ([5], [3, 3], [4, 4], [8, 8], [6, 6, 4], [5, 5, 5], [2, 2, 2, 2], [4, 4, 4, 4]):
        yield made("torus", sizes)
    for name, arguments in (("torus", [[4, 4]]), ("torus", [[5, 4], 2]), ("random_regular", [24, 4])):
        for options in ({"mode": "sl2vl"}, {"mode": "portable"}, {"safe_for": None}, {"effort": 3}):
            yield made(name, *arguments, **options)
    for degree in (3, 4, 5):
        yield made("random_regular", 32, degree, degree)
    yield made("dragonfly", 4, 2)
    yield made("hyperx", [4, 4])
    yield made("hyperx", [3, 4, 2])
    yield made("fat_tree", 4)
    yield made("express_mesh", 8, 3)
    # flitloom bench failures, without --all
    for sizes in bench_failures.SINGLE[:-1]:
        whole = len(list(product(*map(range, sizes))))
        yield "by destination", "by destination", {"fabric_": ["torus", [list(sizes)], [[0], []]]}
        for cable in range(len(sizes)):
            gone = [[], [cable]]
            yield "by destination", "by destination", {"fabric_": ["torus", [list(sizes)], gone]}
        place = {"fabric_": ["torus", [list(sizes)]], "gone": [[whole // 2], []]}
        yield "by destination", "repaired", place
        yield "by destination", "repaired", {**place, "gone": [[], [whole]]}
    for sizes in bench_failures.RANDOM:
        for seed in range(bench_failures.FEW):
            draw = random.Random(f"{sizes} {seed}")
            cables = round(prod(sizes) * len(sizes) * draw.uniform(0.005, 0.05))
            group = "by destination" if prod(sizes) < 256 else "large"
            yield made("torus", list(sizes), cables, draw.randrange(3), seed, group=group)


def plans() -> Iterator[Entry]:
    """Plans of docs and benches."""

    def made(network: dict[str, Any], operation: str, group: str = "plans", **options: Any) -> Entry:
        return group, "plan", {"network": network, "operation": operation, **options}

    # flitloom bench collective --all
    for sizes, twist, operation, chunks in bench_collective.WHOLE:
        heavy = prod(sizes_of(sizes)) > 512 and operation != "broadcast"
        options = {"twist": True} if twist else {}
        yield made(torus(sizes), operation, "large" if heavy else "plans", chunks=chunks, **options)
    for sizes, wraps, operation, count in bench_collective.FAILED:
        for topology in bench_collective._damaged(sizes, wraps, count):
            cut = [list(cable) for cable in topology.failed_links]
            network = (torus if wraps else mesh)(sizes, failed_links=cut)
            yield made(network, operation, "large")
    # The docs, and every option
    everything = ("all-gather", "reduce-scatter", "all-reduce", "broadcast", "reduce", "scatter", "gather")
    for operation in (*everything, "all-to-all"):
        for network in (torus("4x4"), mesh("4x4"), torus("3x3x3"), torus("5x3"), torus("8")):
            yield made(network, operation)
        yield made(torus("8x8", failed_links=[[0, 1]]), operation)
        yield made(torus("4x4"), operation, latency=2)
        yield made(torus("4x4"), operation, chunks=3)
        yield made(torus("4x4"), operation, width=[2, 1])
        yield made(torus("4x4", failed_nodes=[5]), operation, nodes=[0, 1, 2, 6, 9, 15])
    for operation in ("broadcast", "reduce", "scatter", "gather"):
        yield made(mesh("4x4"), operation, root=5, chunks=4)
    for seed in (1, 2, 3):
        yield made(torus("4x4"), "all-to-all-v", demands=seed)
        yield made(mesh("3x4"), "all-to-all-v", demands=seed)
        yield made(torus("4x4", failed_links=[[0, 1]]), "all-to-all-v", demands=seed)
    yield made(mesh("3", failed_links=[[0, 1]]), "all-gather")
    scale = {"sizes": [1.0, 1024.0, 1048576.0], "alpha": 1e-6, "bandwidth": 5e10}
    for sizes in ("8x8", "4x4", "4x4x4"):
        yield "plans", "advice", {"network": torus(sizes), **scale}
    yield "plans", "advice", {"network": torus("8x8", failed_links=[[0, 1]]), **scale}
    yield "plans", "advice", {"network": torus("4x4x8"), "twist": True, **scale}


def failed() -> Iterator[Entry]:
    """Random systems with failures: as many of each kind."""
    for number in range(RANDOM):
        draw = random.Random(f"by source {number}")
        network = _network(draw, ("4x4", "4x4x2", "3x3x3", "4x2x2x2", "5x4", "6x6", "8x4", "4x4x4"))
        options: dict[str, Any] = {"method": draw.choice(("balanced", "balanced", "sssp", "bfs"))}
        if draw.random() < 0.3:
            options["turns"] = draw.choice(("none", "direction-sets", "closed-form", "exact"))
        yield "failed", "by source", {"network": network, **options}
    for number in range(RANDOM):
        draw = random.Random(f"by destination {number}")
        if draw.random() < 0.3:
            switches, degree = draw.choice(((16, 3), (24, 4), (32, 4), (40, 5)))
            made = ["random_regular", [switches, degree, number]]
            cables = switches * degree // 2
        else:
            sizes = draw.choice(([4, 4], [5, 4], [6, 6], [4, 4, 4], [3, 3, 3], [8, 4], [2, 4, 4], [7]))
            made, switches = ["torus", [sizes]], prod(sizes)
            cables = switches * (len(sizes) - sizes.count(2)) + switches // 2 * sizes.count(2)
        gone = [
            draw.sample(range(switches), draw.randint(0, 1)),
            draw.sample(range(cables), draw.randint(1, 4)),
        ]
        if len(made[1]) == 1 and len(made[1][0]) == 1:
            gone = [[], gone[1][:1]]
        yield "failed", "by destination", {"fabric_": [*made, gone]}
    for number in range(RANDOM):
        draw = random.Random(f"plan {number}")
        network = _network(draw, ("4x4", "5x4", "6x4", "3x3x3", "4x4x2", "6x6", "2x2x2x2"))
        operation = draw.choice(
            ("all-gather", "all-gather", "all-reduce", "all-to-all", "reduce-scatter", "broadcast", "scatter")
        )
        yield "failed", "plan", {"network": network, "operation": operation}


def _network(draw: random.Random, shapes: tuple[str, ...]) -> dict[str, Any]:
    """A torus or mesh that has lost up to one node and one to four cables."""
    sizes = sizes_of(draw.choice(shapes))
    wraps = draw.random() < 0.75
    cables = []
    for place in product(*(range(size) for size in reversed(sizes))):
        at = place[::-1]
        for dimension, size in enumerate(sizes):
            if at[dimension] + 1 < size or (wraps and size > 2):
                other = list(at)
                other[dimension] = (at[dimension] + 1) % size
                cables.append([_node(sizes, at), _node(sizes, other)])
    nodes = draw.sample(range(prod(sizes)), draw.randint(0, 1))
    links = draw.sample(cables, draw.randint(1, 4))
    fields: dict[str, Any] = {"sizes": sizes, "failed_nodes": nodes, "failed_links": links}
    return fields if wraps else {"kind": "mesh", **fields}


def _node(sizes: list[int], place: Any) -> int:
    number = 0
    for size, at in zip(reversed(sizes), reversed(list(place)), strict=True):
        number = number * size + at
    return number


def entries() -> list[Entry]:
    """All entries, each once."""
    found: dict[str, Entry] = {}
    for group in (by_source, by_destination, plans, failed):
        for entry in group():
            found.setdefault(repr(entry[1:]), entry)
    return list(found.values())
