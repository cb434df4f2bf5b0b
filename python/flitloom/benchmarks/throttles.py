"""``flitloom bench throttles``: what injection throttles cost, in CPU time."""

from __future__ import annotations

import time

import flitloom as fl
from flitloom.benchmarks import Context, Row

#: Throttles; the first is what the others are compared with.
THROTTLES = ("none", "spth:8", "pt", "alo", "pace:64", "global:tuned")
#: Loads that all of them accept, by pattern, and by how much they may slow the network down, in percent.
LOADS, GOAL = {"bcmp": 0.1, "rand": 0.12}, 10.0
#: The same with other routings than dimension order, which have no goal.
OTHERS = {(routing, "rand"): 0.1 for routing in ("o1turn", "ma", "sa", "cl")}
SIZE, WARM_UP, ROUNDS = 32, 2_000, 5


def run(context: Context) -> list[Row]:
    """Cycles per second by routing, pattern and throttle, once the network is full.

    The router is that of state-propagation-throttling-2015, the load one that every throttle accepts, as
    `hops/cycle` shows. The simulations run in turns, so that what else the machine does slows all of them;
    of five rounds the fastest counts.
    """
    loads = {("do", pattern): rate for pattern, rate in LOADS.items()}
    goals = set(loads)
    loads |= OTHERS if context.everything else {}
    rows: list[Row] = []
    for (routing, pattern), rate in loads.items():
        network = fl.Network(fl.Torus(SIZE, SIZE), fl.Router(preset="t15", routing=routing))
        load = fl.Load(pattern, rate=rate, length=8, cycles=1 << 40)
        simulations = {
            throttle: fl.Simulation(network, load, throttle=throttle, links=False, latencies=False)
            for throttle in THROTTLES
        }
        for simulation in simulations.values():
            simulation.run(until=WARM_UP)
        cycles = 256
        while _seconds(simulations[THROTTLES[0]], cycles) < context.seconds / ROUNDS:
            cycles *= 2
        fastest = dict.fromkeys(THROTTLES, float("inf"))
        begun = {throttle: _place(simulation) for throttle, simulation in simulations.items()}
        for _ in range(ROUNDS):
            for throttle, simulation in simulations.items():
                fastest[throttle] = min(fastest[throttle], _seconds(simulation, cycles))
        for throttle, simulation in simulations.items():
            (hops, now), (hops_then, then) = _place(simulation), begun[throttle]
            rows.append(
                {
                    "routing": routing,
                    "pattern": pattern,
                    "rate": rate,
                    "throttle": throttle,
                    "cycles/s": cycles / fastest[throttle],
                    "hops/cycle": round((hops - hops_then) / (now - then), 1),
                    "slower_percent": round(100 * (fastest[throttle] / fastest[THROTTLES[0]] - 1), 1),
                    "goal_percent": GOAL if throttle != THROTTLES[0] and (routing, pattern) in goals else "",
                }
            )
        context.progress(len(rows), len(loads) * len(THROTTLES))
    return rows


def _place(simulation: fl.Simulation) -> tuple[int, int]:
    """Flit hops so far, and the cycle."""
    return simulation.totals.flit_hops, simulation.now


def _seconds(simulation: fl.Simulation, cycles: int) -> float:
    begin = time.process_time()
    simulation.run(until=simulation.now + cycles)
    return time.process_time() - begin
