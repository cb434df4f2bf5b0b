"""``flitloom bench parallel``: one network in several threads, in elapsed time."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

from flitloom import _core
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.network import MEASUREMENTS, SHARE, SMALL, saturation
from flitloom.networks.network import Network
from flitloom.run.simulation import Simulation
from flitloom.spec import Load, Router, Torus

#: Sides of the tori by engine, and speed-ups to be reached by threads.
CASES = (("general", 256), ("planes", 512), ("pipelined", 32), ("pipelined", 64))
GOALS = {2: 1.7, 4: 3.0}
#: Those that pipelined routers reach; their nodes have one thread.
PIPELINED_GOALS = {2: 1.5}
#: Exchanges that are timed.
EXCHANGES = 20_000
#: Cycles of load, more than are run.
ENDLESS = 1_000_000

#: Runs in threads for cycles: seconds, a fingerprint of what was delivered, and in how many parts.
Measure = Callable[..., tuple[float, object, int]]


def run(context: Context) -> list[Row]:
    """Cycles per second by engine, torus and threads at 75 % of saturation, once the network is full.

    Saturation is that of a 32x32 torus, in proportion to the side; of pipelined routers half of the
    bisection bandwidth is sent. The time is wall-clock time, so other work on the machine counts. The goals
    need as many free cores as threads; `exchange_us` is what threads with nothing to do need to exchange the
    rows of one cycle.
    """
    at_saturation = SHARE * saturation(Network(Torus(SMALL, SMALL))) * SMALL
    counts = [1, 2, 4] if context.everything or (os.cpu_count() or 1) >= 4 else [1, 2]
    rows: list[Row] = []
    for engine, side in CASES:
        is_pipelined = engine == "pipelined"
        rate = round((4 if is_pipelined else at_saturation) / side, 5)
        measure = _pipelined(side, rate) if is_pipelined else _of_one_cycle(engine, side, rate)
        goals = PIPELINED_GOALS if is_pipelined else GOALS
        cycles = 16
        while measure(threads=1, cycles=cycles)[0] < context.seconds / 2:
            cycles *= 2
        # In turns, so that what else the machine does slows all of them.
        rounds = [
            {threads: measure(threads=threads, cycles=cycles) for threads in counts}
            for _ in range(MEASUREMENTS)
        ]
        truth = rounds[0][1][1]
        for threads in counts:
            measured = [one_round[threads] for one_round in rounds]
            # Flits that come and places left, of three channels, in words of 64 nodes.
            words = side * 3 * 4 // 64
            rows.append(
                {
                    "engine": engine,
                    "torus": f"{side}x{side}",
                    "rate": rate,
                    "threads": threads,
                    "parts": measured[0][2],
                    "cycles/s": cycles / median(seconds for seconds, _, _ in measured),
                    "speedup": median(one_round[1][0] / one_round[threads][0] for one_round in rounds),
                    "exchange_us": 1e6 * _core.exchange_seconds(threads, words, EXCHANGES)
                    if threads > 1
                    else 0.0,
                    "equal": "yes" if all(fingerprint == truth for _, fingerprint, _ in measured) else "NO",
                    "goal": f"{goals[threads]:g} times" if threads in goals else "",
                }
            )
            context.progress(len(rows), len(CASES) * len(counts))
    return rows


def _of_one_cycle(engine: str, side: int, rate: float) -> Measure:
    """Runs routers of one cycle."""
    network = Network(Torus(side, side))
    workload = Load("rand", rate=rate, length=8, cycles=ENDLESS).workload(network, 1)
    return partial(_core.in_parts, network.one_cycle("engines are of"), workload, engine, before=2 * side)


def _pipelined(side: int, rate: float) -> Measure:
    """Runs pipelined routers."""
    load = Load("rand", rate=rate, length=5, cycles=ENDLESS)
    network = Network(Torus(side, side), Router(model="pipelined"))

    def measure(threads: int, cycles: int) -> tuple[float, object, int]:
        simulation = Simulation(network, load, links=False, threads=threads)
        simulation.run(8 * side)
        begun = perf_counter()
        simulation.step(cycles)
        seconds = perf_counter() - begun
        return seconds, simulation.totals.fingerprint, simulation.totals.parts

    return measure
