"""``flitloom bench families``: collective operations and routing tables of named networks."""

from __future__ import annotations

import time

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.errors import SpecError
from flitloom.fabric.networks import graph_of, named_subnet
from flitloom.spec.families import is_family
from flitloom.tables.by_destination.making import route_subnet

#: Networks of every family, and larger ones.
NETWORKS = (
    "full6 x full6",
    "full4 x full4 x ring4",
    "ring6*2 x full4",
    "dragonfly(4,2)",
    "dragonfly(6,3)",
    "slimfly(5)",
    "slimfly(7)",
    "circulant(32;1,7)",
    "random(64,5)",
    "fattree(8)",
)
LARGE = ("full16 x full16", "dragonfly(8,4)", "slimfly(11)", "circulant(256;1,16)", "random(256,6)")


def run(context: Context) -> list[Row]:
    """Steps of an all-gather and an all-to-all beside their proven bounds, and the same of routing tables.

    Tables are by destination and deadlock-free; their load is in pairs of hosts on the busiest channel.
    Seconds are wall-clock times of all three.
    """
    chosen = [*NETWORKS, *(LARGE if context.everything else ())]
    rows: list[Row] = []
    for text in chosen:
        begin = time.perf_counter()
        fabric = named_subnet(text)
        tables = route_subnet(fabric, safe_for=()).facts()
        row: Row = {"network": text, "routers": len(fabric.switches), "cables": len(fabric.cables)}
        for operation in ("all-gather", "all-to-all"):
            try:
                network = graph_of(fabric) if is_family(text) else fl.Product(text)
                plan = fl.collectives.plan(network, operation)
                row |= {operation: plan.steps, f"{operation} bound": plan.bound}
            except SpecError:
                row |= {operation: "", f"{operation} bound": ""}
        row |= {"load": tables["max_load"], "load bound": tables["bound"], "lanes": tables["lanes"]}
        row["seconds"] = round(time.perf_counter() - begin, 2)
        rows.append(row)
        context.progress(len(rows), len(chosen))
    return rows
