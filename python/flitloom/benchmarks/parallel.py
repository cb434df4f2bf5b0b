"""``flitloom bench parallel``: one network in several threads, in elapsed time."""

from __future__ import annotations

import os
from functools import partial
from statistics import median

from flitloom import _core
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.network import MEASUREMENTS, SHARE, SMALL, saturation
from flitloom.network import Network
from flitloom.spec import Load, Torus
from flitloom.workload import make_workload

#: Sides of the tori by engine, and speed-ups to be reached by threads.
CASES = (("general", 256), ("planes", 512))
GOALS = {2: 1.7, 4: 3.0}
#: Exchanges that are timed.
EXCHANGES = 20_000


def run(context: Context) -> list[Row]:
    """Cycles per second by engine, torus and threads at 75 % of saturation, once the network is full.

    Saturation is that of a 32x32 torus, in proportion to the side. The time is that which passes, so other
    work on the machine counts. The goals need as many free cores as threads; `exchange_us` is what threads
    with nothing to do need to exchange the rows of one cycle.
    """
    rate = SHARE * saturation(Network(Torus(SMALL, SMALL))) * SMALL
    counts = [1, 2, 4] if context.everything or (os.cpu_count() or 1) >= 4 else [1, 2]
    rows: list[Row] = []
    for engine, side in CASES:
        network = Network(Torus(side, side))
        load = Load("rand", rate=round(rate / side, 5), length=8, cycles=1_000_000)
        workload = make_workload(network, load, 1)
        cycles = 16
        measure = partial(_core.in_parts, network._core, workload, engine, before=2 * side)
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
            words = side // 64 * 3 * 4
            rows.append(
                {
                    "engine": engine,
                    "torus": f"{side}x{side}",
                    "rate": load.rate,
                    "threads": threads,
                    "parts": measured[0][2],
                    "cycles/s": cycles / median(seconds for seconds, _, _ in measured),
                    "speedup": median(one_round[1][0] / one_round[threads][0] for one_round in rounds),
                    "exchange_us": 1e6 * _core.exchange_seconds(threads, words, EXCHANGES)
                    if threads > 1
                    else 0.0,
                    "equal": "yes" if all(fingerprint == truth for _, fingerprint, _ in measured) else "NO",
                    "goal": f"{GOALS[threads]:g} times" if threads in GOALS else "",
                }
            )
            context.progress(len(rows), len(CASES) * len(counts))
    return rows
