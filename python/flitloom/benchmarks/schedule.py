"""``flitloom bench schedule``: one genetic search of the papers' size on one core."""

from __future__ import annotations

import time

import flitloom as fl
from flitloom import genetic
from flitloom.benchmarks import Context, Row

#: Seconds of one search without and with perturbation (cup-stacking-extended-2023, 7.1).
PUBLISHED_SECONDS = 563.2
#: Seconds one search may take, by the preset of the router.
GOALS = {None: 1.0, "cup-stacking": 3.0}


def run(context: Context) -> list[Row]:
    """Time searches of 50 chromosomes: 16x16 torus, bit-reverse, two 8-flit slices, on two routers."""
    collective = fl.Collective("brev", payload=14, slices=2)
    # A share of the generations takes the same share of the time.
    generations = max(20, min(1000, int(100 * context.seconds)))
    settings = genetic.GeneticSettings(generations=generations, training=min(100, generations // 10))
    rows = []
    methods = ("full", "without-timing", "timing")
    cases = [(preset, genes) for preset in GOALS for genes in methods]
    for number, (preset, genes) in enumerate(cases):
        network = fl.Network(fl.Torus(16, 16), fl.Router(preset=preset))
        begin = time.process_time()
        found = genetic.search(network, collective, settings, genes=genes, threads=1)
        seconds = time.process_time() - begin
        whole = seconds * 50_000 / found.evaluations
        rows.append(
            {
                "router": preset or "plain",
                "genes": genes,
                "evaluations": found.evaluations,
                "seconds": round(seconds, 3),
                "microseconds_per_evaluation": round(seconds / found.evaluations * 1e6, 1),
                "seconds_50x1000": round(whole, 2),
                "goal_seconds": GOALS[preset],
                "paper_seconds": PUBLISHED_SECONDS,
            }
        )
        context.progress(number + 1, len(cases))
    return rows
