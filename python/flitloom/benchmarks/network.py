"""How fast networks are simulated, in simulations, router-cycles and flit-hops per second of CPU time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from flitloom import _core
from flitloom.benchmarks import Context, Row
from flitloom.network import Network
from flitloom.simulation import simulate
from flitloom.spec import Collective, Load, Torus
from flitloom.workload import make_workload

#: Measurements per row; the median counts.
MEASUREMENTS = 3
#: Share of saturation at which the general engine's goal is stated.
SHARE = 0.75


@dataclass(frozen=True)
class Case:
    """What is simulated, and the goals: per engine, a unit and what it should reach."""

    name: str
    network: Network
    traffic: Collective | Load
    stop_at: int | None
    goals: dict[str, tuple[str, float]]


def cases() -> list[Case]:
    """The cases, loads at a share of saturation included."""
    found = [
        Case(
            "two 8-flit slices, shfl, 16x16",
            Network(Torus(16, 16)),
            Collective("shfl", payload=14, slices=2, interval=58),
            None,
            {"planes": ("simulations/s", 15_000)},
        )
    ]
    general = {"general": ("flit-hops/s", 40e6)}
    small = {"planes": ("cycles/s", 400e3)}
    large = {"general": ("flit-hops/s", 15e6), "planes": ("cycles/s", 20e3)}
    for size, cycles, share, goals in (
        (16, 10_000, SHARE, general),
        (32, 4_000, SHARE, general),
        (32, 4_000, 0.1, small),
        (32, 4_000, 0.9, small),
        (128, 1_000, 0.1, large),
        (128, 1_000, 0.9, large),
    ):
        network = Network(Torus(size, size))
        rate = round(SHARE * saturation(network), 3) if share == SHARE else share
        name = f"uniform {rate:g} flits/node/cycle, {size}x{size}"
        name += " (75 % of saturation)" if share == SHARE else ""
        found.append(Case(name, network, Load("rand", rate=rate, length=8, cycles=cycles), cycles, goals))
    return found


def saturation(network: Network, cycles: int = 4_000) -> float:
    """Flits per node and cycle delivered under full load, in the second half of some cycles."""
    load = Load("rand", rate=1.0, length=8, cycles=2 * cycles)
    half, whole = (
        simulate(network, load, stop_at=stop, links=False).flits_delivered for stop in (cycles, 2 * cycles)
    )
    return (whole - half) / cycles / network.nodes


def run(context: Context) -> list[Row]:
    """Measure every case on the general engine and on the planes."""
    rows: list[Row] = []
    every = cases()
    for done, case in enumerate(every):
        # Whole simulations run side by side, as the searches do it.
        best = _core.best_planes(case.network._core, 2 if case.stop_at is None else 1)
        engines = _core.engines() if context.everything else ["general", best]
        truth = _measure(case, "general", 1)[1]["fingerprint"]
        rows += [_row(case, engine, context.seconds, truth) for engine in engines]
        context.progress(done + 1, len(every))
    return rows


def _row(case: Case, engine: str, seconds: float, truth: int) -> Row:
    """Measure one case on one engine, and hold its outcome against the general engine's."""
    repeats = 1
    while (spent := _measure(case, engine, repeats)[0]) < seconds / 4:
        repeats *= 2 if spent > seconds / 64 else 8
    repeats = max(1, round(repeats * seconds / spent))
    measured = [_measure(case, engine, repeats) for _ in range(MEASUREMENTS)]
    spent, totals = median(entry[0] for entry in measured), measured[0][1]
    simulations = repeats * totals["networks"] / spent
    row: Row = {
        "case": case.name,
        "engine": engine,
        "simulations/s": simulations,
        "cycles/s": simulations * totals["cycles"],
        "router-cycles/s": simulations * totals["cycles"] * case.network.nodes,
        "flit-hops/s": simulations * totals["flit_hops"],
        "bytes/router": totals["bytes"] and totals["bytes"] / totals["networks"] / case.network.nodes,
        "equal": "yes" if totals["fingerprint"] == truth else "NO",
        "goal": "",
    }
    unit, goal = case.goals.get(engine.split()[0], ("", 0.0))
    if unit:
        row["goal"] = f"{goal:,.0f} {unit}: {'reached' if row[unit] >= goal else 'missed'}"
    return row


def _measure(case: Case, engine: str, repeats: int) -> tuple[float, dict[str, int]]:
    """Return the CPU time in seconds, and the totals of one simulation."""
    workload = make_workload(case.network, case.traffic, 1)
    begin = time.process_time()
    totals = _core.repeat(case.network._core, workload, engine, repeats, case.stop_at, True)
    return time.process_time() - begin, totals
