"""Verdicts on source queues: against queues whose limits are known, and against long runs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import flitloom as fl
from flitloom.analysis.limit import Point, find_limit, settled
from flitloom.analysis.utilisation import utilisation
from flitloom.commands import run
from flitloom.load.validation import draw

LENGTH, SLOTS = 8, 50


def queues(loads, cycles, seed, spread=0.0):
    """What `utilisation` reads, of queues that get packets at random, counted here.

    A packet takes LENGTH cycles over its queue's speed, give or take a share drawn evenly.
    """
    random = np.random.default_rng(seed)
    columns: dict[str, list[list[float]]] = {"busy": [], "sent": [], "generated": []}
    for load in loads:
        busy, sent, made = ([0.0] * SLOTS for _ in columns)
        free = 0.0
        starts = np.flatnonzero(random.random(cycles) < load / LENGTH).tolist()
        services = LENGTH * (1 + spread * random.uniform(-1, 1, len(starts)))
        for start, service in zip(starts, services.tolist(), strict=True):
            begin = max(start, free)
            made[start * SLOTS // cycles] += 1
            if begin >= cycles:
                continue
            slot = int(begin * SLOTS // cycles)
            free = begin + service
            busy[slot] += free - begin
            sent[slot] += 1
        for name, values in zip(columns, (busy, sent, made), strict=True):
            columns[name].append(values)
    return xr.Dataset(
        {
            f"{name}_by_source": (("slot", "node"), np.floor(np.array(values).T))
            for name, values in columns.items()
        }
        | {"generated_for": (("slot", "node"), np.zeros((SLOTS, len(loads))))},
        coords={"window": [cycles - 1]},
        attrs={"window_cycles": 1, "slot_cycles": cycles // SLOTS, "packet_length": LENGTH},
    )


def verdict(loads, cycles, seed, spread=0.8):
    known = loads[0] if len(set(loads)) == 1 else None
    return utilisation(queues(loads, cycles, seed, spread), known).verdict


@pytest.mark.parametrize("count", [1, 64])
def test_queues_below_their_limit_are_steady_and_those_above_grow(count):
    for seed in range(2):
        assert verdict([0.9] * count, 20_000, seed) != "growing"
        assert verdict([1.1] * count, 20_000, seed) != "steady"
    assert verdict([0.9] * count, 80_000, 5) == "steady"
    assert verdict([1.1] * count, 80_000, 5) == "growing"


def test_one_growing_queue_of_64_is_seen():
    """All that is generated is 98 % accepted: more than the level rule asks for."""
    loads = [0.5] * 63 + [1.15]
    assert verdict(loads, 40_000, 1) == "growing"
    assert verdict([0.5] * 63 + [0.9], 40_000, 1) == "steady"


def test_a_run_that_is_too_short_is_undecided():
    assert verdict([1.0] * 16, 4000, 1) == "undecided"


def test_a_line_finds_a_limit_within_its_interval():
    random = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        loads = 0.4 * np.exp(random.uniform(-0.05, 0.05, 8))
        noise = random.normal(0, 0.02, 8)
        points = [Point(x, 4 * np.log(x / 0.4) + e, 0.02, "") for x, e in zip(loads, noise, strict=True)]
        found = find_limit(points)
        inside += abs(found.load - 0.4) < found.half_width
    assert inside >= 180
    assert find_limit(points[:1]) is None


def test_a_limit_that_moves_with_the_length_of_runs_has_a_wider_interval():
    """Runs of 32,000 cycles find 0.4 +- 1 %, those of 8,000 as much or 10 % more."""
    random = np.random.default_rng(4)

    def measured(limit, cycles):
        loads = limit * np.exp([-0.04, -0.02, 0.02, 0.04] * 2)
        logs = 4 * np.log(loads / limit) + random.normal(0, 0.02, 8)
        return [Point(load, log, 0.02, "", cycles) for load, log in zip(loads, logs, strict=True)]

    long = measured(0.4, 32_000)
    still, moving = (settled([*measured(limit, 8000), *long], 32_000) for limit in (0.4, 0.44))
    assert still.load == moving.load == find_limit(long).load
    assert find_limit(long).error < still.error < 0.01 < 0.08 < moving.error < 0.1
    assert settled(long, 32_000) is None


@pytest.mark.parametrize("router", [{}, {"processor_queues": "per-direction"}, {"model": "pipelined"}])
def test_busy_cycles_are_those_of_the_packets(router):
    """Counted cycle by cycle from the times of all packets, where nodes have one queue."""
    load = fl.Load("rand", rate=0.6, cycles=600, length=4)
    spec = fl.Experiment(topology=fl.Torus(4, 4), router=fl.Router(**router), traffic=load, seed=3)
    counted = []
    for pieces in (1, 3):
        sim = fl.Simulation(fl.Network(spec.topology, spec.router), load, windows=50, seed=3)
        for piece in range(1, pieces + 1):
            sim.run(until=600 * piece // pieces)
        counted.append(sim.windows())
    names = ("busy_by_source", "sent_by_source", "generated_by_source", "generated_for")
    for name in names:
        assert (counted[0][name] == counted[1][name]).all()
    packets = fl.simulate(fl.Network(spec.topology, spec.router), load, packets=True, seed=3).packets
    source, start, left = (packets[name].values for name in ("source", "generated", "injected"))
    found = {
        name: counted[0][name].values.reshape(-1, 16, counted[0].sizes.get("queue", 1)) for name in names[:3]
    }
    assert (
        found["sent_by_source"].sum(axis=(0, 2)).tolist()
        == np.bincount(source[left < 600], minlength=16).tolist()
    )
    assert found["generated_by_source"].sum() == len(source)
    assert int(counted[0].generated_for.sum()) == 4 * len(source)
    if counted[0].sizes.get("queue", 1) == 1:
        for node in range(16):
            cycles = np.zeros(20_000, dtype=bool)
            for first, last in zip(start[source == node], left[source == node] + 4, strict=True):
                cycles[first:last] = True
            assert found["busy_by_source"][:, node].sum() == cycles[:600].sum()


def test_a_hot_spot_is_judged_by_what_it_receives():
    """A tenth of all packets go to one node of 64: from 0.137 on it is sent more than it takes."""
    load = fl.Load("hots", rate=0.15, cycles=20_000, hotspot_fraction=0.1)
    sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), load, windows=100)
    sim.run(until=20_000)
    series = sim.windows()
    assert float(series.generated_for.sum("slot").max()) / 20_000 > 1
    assert utilisation(series, 0.15).verdict != "steady"


def test_drawn_cases_are_the_same_for_the_same_numbers():
    """`flitloom validate load` runs them."""
    assert draw(0, 1) == draw(0, 1) != draw(1, 1)


@pytest.mark.parametrize(("limit", "code"), [(1 / 7, 0), (0.15, 1)])
def test_saturations_are_held_against_known_limits(limit, code, monkeypatch, capsys):
    from flitloom.commands.actions import validate_load
    from flitloom.load import known

    # The mesh whose limit is its bound: one case runs in this process.
    case = (limit, 0.0005, *known.KNOWN[10][2:])
    monkeypatch.setattr(known, "KNOWN", (case,))
    monkeypatch.setattr(validate_load, "KNOWN", (case,))
    assert run(["validate", "load", "--known"]) == code
    assert f"within 3 half widths: {1 - code} of 1" in capsys.readouterr().out
