"""Benchmarks measure what they say; how fast is not tested."""

import json
import sys

import pytest

from flitloom import _core
from flitloom.benchmarks import (
    BENCHMARKS,
    advise,
    booksim,
    failures,
    network,
    scale,
    throttles,
    traffic,
    verdict,
)
from flitloom.booksim import Options
from flitloom.booksim import run as run_booksim
from flitloom.booksim.printing import lines
from flitloom.commands import run
from flitloom.fabric import examples
from flitloom.networks.network import Network
from flitloom.run.simulation import simulate
from flitloom.spec import PERMUTATIONS, Collective, Load, Torus

CASES = [
    network.Case("slices", Network(Torus(16, 16)), Collective("brev", payload=14, slices=2), None, {}),
    network.Case("load", Network(Torus(8, 8)), Load("rand", rate=0.2, length=4, cycles=200), 200, {}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", _core.engines())
def test_every_engine_simulates_the_case(case, engine):
    workload = case.traffic.workload(case.network, 1)
    totals = _core.repeat(case.network.one_cycle("engines are of"), workload, engine, 2, case.stop_at, True)
    result = simulate(case.network, case.traffic, stop_at=case.stop_at)
    assert totals["flit_hops"] == result.flit_hops
    assert f"{totals['fingerprint']:016x}" == result.fingerprint


def test_rows_are_consistent(monkeypatch, capsys):
    monkeypatch.setattr(network, "cases", lambda: CASES)
    assert run(["bench", "--seconds", "0.002", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 * len(CASES)
    for row in rows:
        assert row["equal"] == "yes"
        assert row["simulations/s"] > 0
        assert row["router-cycles/s"] >= row["cycles/s"] >= row["simulations/s"]


def test_advice_is_printed_beside_its_bounds(monkeypatch, capsys):
    monkeypatch.setattr(advise, "NETWORKS", {"3x3": (True, True), "8x8": (False, False)})
    assert run(["bench", "advise", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["network"] for row in rows] == ["3x3"] * 6 + ["3x3, a node failed"] * 6
    for row in rows:
        assert row["us"] >= row["bound"] >= 1
        assert row["us"] >= row["rounds"]
        # Times are rounded to hundredths.
        assert row["above %"] == pytest.approx(100 * (row["us"] / row["bound"] - 1), abs=1.2)


def test_saturation_is_positive_and_below_the_limit_of_the_bisection():
    # Of 8 nodes' flits 4/7 cross the middle of a ring, over 2 cables of 2 links: 8 * 4/7 * rate <= 4.
    assert 0 < network.saturation(Network(Torus(8)), cycles=500) <= 7 / 8


def test_files_of_booksim2_are_timed_and_compared(monkeypatch, capsys, tmp_path):
    small = {"k": "3", "sample_period": "50", "max_samples": "2"}
    monkeypatch.setattr(booksim, "CASES", dict.fromkeys(("one", "two"), (small, 9)))
    said = list(lines(run_booksim(Options.of({**booksim.COMMON, **small})).events))
    file = tmp_path / "booksim"
    text = "\n".join(["END Configuration File: x", *said, "Total run time 0.1"])
    file.write_text(f"#!{sys.executable}\nprint('''{text}''')\n")
    file.chmod(0o755)
    assert run(["bench", "booksim", "--seconds", "0.001", "--binary", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["case"] for row in rows] == ["one", "two"]
    assert all(row["equal"] == "yes" and row["us/cycle"] > 0 and row["goal_times"] == 9 for row in rows)
    file.write_text(file.read_text().replace("latency average", "latency"))
    assert run(["bench", "booksim", "--seconds", "0.001", "--binary", str(file), "--json"]) == 0
    assert all(row["equal"] == "NO" for row in json.loads(capsys.readouterr().out))
    assert run(["bench", "booksim", "--seconds", "0.001", "--json"]) == 0
    assert all(row["equal"] == row["times"] == "" for row in json.loads(capsys.readouterr().out))
    assert run(["bench", "network", "--binary", str(file)]) == 2
    assert "--binary: does not go with bench network" in capsys.readouterr().err


def test_an_unknown_benchmark_is_refused(capsys):
    assert run(["bench", "speed"]) == 2
    assert f"'speed' is unknown; it must be one of {', '.join(BENCHMARKS)}" in capsys.readouterr().err
    assert run(["bench", "--seconds", "0"]) == 2


def test_methods_are_ordered_by_what_they_may_do(capsys):
    assert run(["bench", "methods", "--seconds", "0.02", "--json"]) == 0
    rows = {(row["torus"], row["method"]): row for row in json.loads(capsys.readouterr().out)}
    for torus in ("8x8", "16x16"):
        for pattern in PERMUTATIONS:
            unison, stacked, exact = (rows[torus, name][pattern] for name in ("unison", "stacked", "exact"))
            assert exact <= rows[torus, "greedy"][pattern]
            assert stacked <= unison
    # Best simple stacking of torn (cup-stacking-extended-2023, Table 2).
    assert rows["16x16", "stacked"]["torn"] == 131


def test_throttles_are_compared_at_a_load_that_all_of_them_carry(monkeypatch, capsys):
    monkeypatch.setattr(throttles, "LOADS", {"bcmp": 0.05})
    monkeypatch.setattr(throttles, "OTHERS", {("sa", "rand"): 0.05})
    assert run(["bench", "throttles", "--all", "--seconds", "0.002", "--json"]) == 0
    every = json.loads(capsys.readouterr().out)
    rows, adaptive = (
        {row["throttle"]: row for row in every if row["routing"] == name} for name in ("do", "sa")
    )
    assert list(rows) == list(adaptive) == list(throttles.THROTTLES)
    assert {row["goal_percent"] for row in adaptive.values()} == {""}
    for row in adaptive.values():
        # Half way round a ring of 32 or less: 8 hops on average, and so from y.
        assert row["hops/cycle"] == pytest.approx(1024 * 0.05 * 16, rel=0.05)
    assert rows["none"]["slower_percent"] == 0
    for row in rows.values():
        # From x to 31 - x it is 8 hops on average, and so from y; 1024 nodes send 0.05 flits each.
        assert row["hops/cycle"] == pytest.approx(1024 * 0.05 * 16, rel=0.05)
        assert row["cycles/s"] > 0


def test_scale_reaches_the_bound_on_16x16(monkeypatch, capsys):
    monkeypatch.setattr(scale, "SCALES", {"16x16": (20.0, 0.0), "128x128": (60.0, 2.5)})
    assert run(["bench", "scale", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["pattern"] for row in rows] == list(PERMUTATIONS)
    assert all(row["gap_percent"] == row["goal_percent"] == 0 for row in rows)
    # The busiest link of dimension order carries 4 packets of 8 flits with bcmp, 8 with brev, torn and trns.
    durations = {row["pattern"]: row["duration"] for row in rows}
    assert durations["bcmp"] >= 4 * 8 + 2
    assert all(durations[name] >= 8 * 8 + 2 for name in ("brev", "torn", "trns"))


def test_failures_of_tori_are_counted(monkeypatch, capsys):
    monkeypatch.setattr(failures, "SINGLE", ((4, 4),))
    monkeypatch.setattr(failures, "RANDOM", ((5, 4),))
    assert run(["bench", "failures", "--all", "--json"]) == 0
    single, drawn = json.loads(capsys.readouterr().out)
    # 16 switches and 32 cables, one by one.
    assert (single["cases"], single["served"]) == (48, 48)
    assert drawn["cases"] == drawn["served"] == failures.DRAWN
    assert all(row["lanes"] <= 8 and row["largest gap"] >= 0 for row in (single, drawn))


def test_what_tables_are_safe_for_stands_beside_what_it_costs(monkeypatch, capsys):
    ring = ("ring", True, lambda: examples.torus((6,)))
    monkeypatch.setattr(traffic, "CASES", (ring,))
    assert run(["bench", "traffic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["bench", "traffic", "--all", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["lanes"] for row in rows] == list(traffic.LANES)
    for row in rows:
        # Five hops at most over six channels in either direction: 1 + 2 + 3/2 pairs on each, rounded up.
        assert row["bound"] == 5 <= row["for pairs"] <= row["load"]
        assert (row["safe for"], row["these safe for"]) == ("all", "host pairs")


def test_the_check_is_timed_in_memory_and_as_a_command(monkeypatch, capsys):
    monkeypatch.setattr(verdict, "CASES", (((4, 4), 60, 60), ((5, 5), 60, None)))
    assert run(["bench", "verdict", "--all", "--seconds", "0.001", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["check"] for row in rows] == ["in memory", "flitloom check", "in memory"]
    assert rows[1]["seconds"] > 0
    assert all(row["seconds"] < row["goal"] and row["verdict"] == "reached" for row in rows)
