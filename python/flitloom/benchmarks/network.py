"""How fast networks are simulated, in simulations, router-cycles and flit-hops per second of CPU time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

from flitloom import _core
from flitloom.benchmarks import Context, Row
from flitloom.networks.network import Network
from flitloom.run.simulation import simulate
from flitloom.spec import Collective, Load, Router, Torus

#: Measurements per row; the median counts.
MEASUREMENTS = 3
#: Share of saturation at which the general engine's goal is stated.
SHARE = 0.75


#: Nodes beyond which a case is for ``--all``.
LARGE = 64**2
#: Side of the torus whose saturation is scaled to larger ones.
SMALL = 32


@dataclass(frozen=True)
class Case:
    """What is simulated, and the goals: per engine, a unit and what it should reach.

    Large cases are for ``--all`` only.
    """

    name: str
    network: Network
    traffic: Collective | Load
    stop_at: int | None
    goals: dict[str, tuple[str, float]]
    is_large: bool = False


def cases() -> list[Case]:
    """The cases, loads at a share of saturation included."""
    slices = Collective("shfl", payload=14, slices=2, interval=58)
    simulations = {"planes AVX2": ("simulations/s", 17e3), "planes AVX-512": ("simulations/s", 25e3)}
    found = [Case("two 8-flit slices, shfl, 16x16", Network(Torus(16, 16)), slices, None, simulations)]
    # The published router's cycle has two parts.
    halves = {engine: (unit, goal / 2) for engine, (unit, goal) in simulations.items()}
    published = Network(Torus(16, 16), Router(preset="cup-stacking"))
    found.append(Case("two 8-flit slices, shfl, 16x16, cup-stacking", published, slices, None, halves))

    def loaded(
        size: Torus,
        rate: float,
        cycles: int,
        goals: dict[str, tuple[str, float]],
        what: str = "",
        **more: Any,
    ) -> None:
        router = Router(**more.pop("router", {}))
        load = Load("rand", **{"rate": rate, "length": 8, "cycles": cycles, **more})
        name = f"uniform {rate:g} flits/node/cycle, {str(size).split()[0]}{what}"
        large = size.nodes > LARGE
        found.append(Case(name, Network(size, router), load, cycles, goals, large))

    share = f" ({SHARE:.0%} of saturation)"
    base = saturation(Network(Torus(SMALL, SMALL)))

    def flit_hops(goal: float) -> dict[str, tuple[str, float]]:
        return {"general": ("flit-hops/s", goal * 1e6)}

    for size, cycles, goal in ((16, 10_000, 125), (SMALL, 4_000, 145), (64, 2_000, 140), (128, 1_000, 100)):
        rate = saturation(Network(Torus(size, size))) if size < SMALL else base * SMALL / size
        loaded(Torus(size, size), round(SHARE * rate, 4), cycles, flit_hops(goal), share)
    loaded(Torus(256, 256), round(SHARE * base * SMALL / 256, 5), 1_000, flit_hops(60), share)
    scaled = round(SHARE * base * SMALL / 1024, 5)
    loaded(Torus(1024, 1024), scaled, 300, {"planes": ("cycles/s", 250)}, share)
    for size, cycles, goal in ((8, 3_000, 120), (16, 500, 100)):
        cube = Torus(size, size, size)
        loaded(cube, round(SHARE * saturation(Network(cube), 1_000), 3), cycles, flit_hops(goal), share)
    rate = round(SHARE * base, 3)
    for length in (1, 32):
        loaded(Torus(SMALL, SMALL), rate, 4_000, {}, f", packets of {length}", length=length)
    for size in (8, 16, SMALL):
        loaded(Torus(size, size), 0.01, 20_000, {})
    for routing in ("do", "sa", "cl"):
        router = {"preset": "s07", "routing": routing}
        loaded(Torus(SMALL, SMALL), rate, 4_000, {}, f", s07 {routing}", router=router)
    goals = {"planes AVX-512": ("cycles/s", 700e3)}
    loaded(Torus(SMALL, SMALL), 0.1, 4_000, goals)
    loaded(Torus(SMALL, SMALL), 0.9, 4_000, {})
    loaded(Torus(128, 128), 0.1, 1_000, {"planes": ("cycles/s", 20e3)})
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
    every = [case for case in cases() if context.everything or not case.is_large]
    for done, case in enumerate(every):
        # Whole simulations run side by side, as the searches do it.
        workload = case.traffic.workload(case.network, 1)
        best = _core.best_planes(
            case.network.one_cycle("engines are of"), workload, 2 if case.stop_at is None else 1
        )
        engines = ["general"]
        if best is not None:
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
    unit, goal = case.goals.get(engine) or case.goals.get(engine.split()[0], ("", 0.0))
    if unit:
        row["goal"] = f"{goal:,.0f} {unit}: {'reached' if row[unit] >= goal else 'missed'}"
    return row


def _measure(case: Case, engine: str, repeats: int) -> tuple[float, dict[str, int]]:
    """Return the CPU time in seconds, and the totals of one simulation."""
    workload = case.traffic.workload(case.network, 1)
    begin = time.process_time()
    totals = _core.repeat(
        case.network.one_cycle("engines are of"), workload, engine, repeats, case.stop_at, True
    )
    return time.process_time() - begin, totals
