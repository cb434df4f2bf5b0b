"""``flitloom bench parallel``: one network in several threads, in elapsed time."""

from __future__ import annotations

import os
from statistics import median

from flitloom import _core
from flitloom.benchmarks import Context, Row
from flitloom.benchmarks.network import MEASUREMENTS, SHARE, saturation
from flitloom.network import Network
from flitloom.spec import Load, Torus
from flitloom.workload import make_workload

#: Sides of the tori by engine, and speed-ups to be reached by threads.
CASES = (("general", 256), ("planes", 512))
GOALS = {2: 1.7, 4: 3.0}
#: Side of the torus whose saturation is scaled to the larger ones.
SMALL = 32
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
        before, cycles, one, truth = 2 * side, 16, 0.0, None
        for threads in counts:
            measured = []
            for _ in range(MEASUREMENTS):
                while True:
                    seconds, fingerprint, parts = _core.in_parts(
                        network._core, workload, engine, threads, before, cycles
                    )
                    if threads > 1 or seconds > context.seconds / 2:
                        break
                    cycles *= 2
                measured.append((seconds, fingerprint))
            spent = median(seconds for seconds, _ in measured)
            one = spent if threads == 1 else one
            truth = measured[0][1] if truth is None else truth
            # Flits that come and places left, of three channels, in words of 64 nodes.
            words = side // 64 * 3 * 4
            rows.append(
                {
                    "engine": engine,
                    "torus": f"{side}x{side}",
                    "rate": load.rate,
                    "threads": threads,
                    "parts": parts,
                    "cycles/s": cycles / spent,
                    "speedup": one / spent,
                    "exchange_us": 1e6 * _core.exchange_seconds(threads, words, EXCHANGES)
                    if threads > 1
                    else 0.0,
                    "equal": "yes" if all(fingerprint == truth for _, fingerprint in measured) else "NO",
                    "goal": f"{GOALS[threads]:g} times" if threads in GOALS else "",
                }
            )
            context.progress(len(rows), len(CASES) * len(counts))
    return rows
