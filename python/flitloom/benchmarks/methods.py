"""``flitloom bench methods``: which method of sending reaches what, and in which time."""

from __future__ import annotations

import time
from collections.abc import Callable

import flitloom as fl
from flitloom.benchmarks import Context, Row
from flitloom.genetic import GeneticSettings
from flitloom.spec import PERMUTATIONS

#: Duration and lower bound of a way of sending, in cycles.
Outcome = tuple[int, int]


def _unison(network: fl.Network, collective: fl.Collective, _: float) -> Outcome:
    return fl.simulate(network, collective, links=False).duration, fl.lower_bound(network, collective)


def _stacked(network: fl.Network, collective: fl.Collective, _: float) -> Outcome:
    found = fl.stack(network, collective, threads=1)
    return found.duration, found.lower_bound


def _planned(method: str, routes: str) -> Callable[[fl.Network, fl.Collective, float], Outcome]:
    def search(network: fl.Network, collective: fl.Collective, seconds: float) -> Outcome:
        plan = fl.plans.search(network, collective, method, routes=routes, seconds=seconds)
        return plan.duration, plan.bound

    return search


def _genetic(network: fl.Network, collective: fl.Collective, seconds: float) -> Outcome:
    generations = max(20, min(1000, int(200 * seconds)))
    settings = GeneticSettings(generations=generations, training=generations // 10)
    plan = fl.plans.search(network, collective, "genetic", genetic=settings)
    return plan.duration, plan.bound


#: Methods by name, the simplest first.
METHODS: dict[str, Callable[[fl.Network, fl.Collective, float], Outcome]] = {
    "unison": _unison,
    "stacked": _stacked,
    "genetic": _genetic,
    "greedy": _planned("greedy", "dor"),
    "exact": _planned("exact", "dor"),
    "exact, any-order": _planned("exact", "any-order"),
    "exact, minimal": _planned("exact", "minimal"),
}


def run(context: Context) -> list[Row]:
    """Durations of two 8-flit slices by method, pattern and torus.

    A search gets 10 times the seconds of a measurement per pattern, a genetic one 200 generations for each
    second of that, 1000 at most. The gap is the mean excess over the lower bound for the routes allowed, in
    percent; seconds are CPU time per pattern.
    """
    collectives = [fl.Collective(name, payload=14, slices=2) for name in PERMUTATIONS]
    sizes = ("8x8", "16x16", "32x32") if context.everything else ("8x8", "16x16")
    rows: list[Row] = []
    total = len(sizes) * len(METHODS) * len(collectives)
    for size in sizes:
        network = fl.Network(fl.Torus(size))
        for name, method in METHODS.items():
            begin = time.process_time()
            outcomes = []
            for number, collective in enumerate(collectives):
                outcomes.append(method(network, collective, 10 * context.seconds))
                context.progress(len(rows) * len(collectives) + number + 1, total)
            seconds = (time.process_time() - begin) / len(collectives)
            gaps = [duration / bound - 1 for duration, bound in outcomes]
            durations = [duration for duration, _ in outcomes]
            rows.append(
                {
                    "torus": size,
                    "method": name,
                    **dict(zip(PERMUTATIONS, durations, strict=True)),
                    "gap_percent": round(100 * sum(gaps) / len(gaps), 1),
                    "seconds": round(seconds, 3),
                }
            )
    return rows
