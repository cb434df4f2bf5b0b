"""``flitloom bench products``: collective operations on products of full meshes and rings."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import prod

import flitloom as fl
from flitloom.benchmarks import Context, Row

#: Operations that are planned; a reduce-scatter is an all-gather backwards.
OPERATIONS = ("all-to-all", "all-gather", "all-reduce")
#: Most nodes of a product.
NODES = 512
#: Products that are drawn where not all are asked for.
SAMPLE = 60


def products(nodes: int = NODES) -> list[str]:
    """All products of this many nodes: full meshes from 2 nodes each, and at most one ring from 3 nodes.

    >>> products(8)[:6], len(products(8))
    (['full2', 'full2 x full2', 'full2 x full2 x full2', 'full2 x full3', 'full2 x full4', 'full3'], 19)
    """
    found = []
    for sizes in _sizes((), 2, nodes):
        full = [f"full{size}" for size in sizes]
        found += [" x ".join(full)] if full else []
        if len(full) < 6:
            rings = range(3, nodes // prod(sizes) + 1)
            found += [" x ".join([*full, f"ring{size}"]) for size in rings]
    return sorted(found, key=lambda text: ("ring" in text, [int(part[4:]) for part in text.split(" x ")]))


def _sizes(begin: tuple[int, ...], least: int, nodes: int) -> Iterator[tuple[int, ...]]:
    yield begin
    if len(begin) < 6:
        for size in range(least, nodes + 1):
            yield from _sizes((*begin, size), size, nodes // size)


def run(context: Context) -> list[Row]:
    """Plans on products of full meshes with at most one ring and at most 512 nodes: 60 drawn, or all of them.

    `at_bound` of `plans` plans have as many steps as their proven bound, `one_above` one more. The gap, in
    percent, is the largest, and `worst` the product that has it. Milliseconds are wall-clock times.
    """
    every = products()
    chosen = every if context.everything else random.Random("products").sample(every, SAMPLE)
    rows: list[Row] = []
    for operation in OPERATIONS:
        facts = []
        for text in chosen:
            plan = fl.collectives.plan(fl.Product(text), operation)
            facts.append((plan.steps - plan.bound, plan.steps / plan.bound, text, plan.seconds))
        above, ratio, worst, _ = max(facts, key=lambda fact: fact[1])
        rows.append(
            {
                "operation": operation,
                "plans": len(facts),
                "at_bound": sum(fact[0] == 0 for fact in facts),
                "one_above": sum(fact[0] == 1 for fact in facts),
                "gap_percent": round(100 * (ratio - 1), 1),
                "worst": worst if above else "",
                "ms": round(1000 * sum(fact[3] for fact in facts) / len(facts), 2),
                "most_ms": round(1000 * max(fact[3] for fact in facts), 1),
            }
        )
        context.progress(len(rows), len(OPERATIONS))
    return rows
