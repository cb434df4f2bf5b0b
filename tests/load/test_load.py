"""Loads and what comes of them."""

import json

import numpy as np
import pytest

import flitloom as fl
from flitloom.analysis.demands import make_demands
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.load import (
    machine_router,
    make_cases,
    ramp_profile,
    run_curve,
    run_impulse,
    run_ramp,
    run_steady,
    run_step,
    verdict,
)
from flitloom.load.steady import ages as statistics_of
from flitloom.run.simulation import begin_experiment


def saved_half_way(whole, cycle, folder):
    """Runs to the end, and the same from a file saved on the way: no window differs."""
    whole.run(until=cycle)
    whole.save(folder / "half.flit")
    half = fl.Simulation.load(folder / "half.flit")
    for sim in (whole, half):
        sim.run()
    assert half.windows().identical(whole.windows())


def test_windows_hold_every_packet_once():
    net = fl.Network(fl.Torus(8, 8))
    load = fl.Load("rand", rate=0.3, length=5, cycles=1000)
    sim = fl.Simulation(net, load, windows=64)
    sim.run()
    series = sim.windows()
    packets = fl.simulate(net, load, packets=True).packets
    assert int(series.delivered_packets.sum()) == packets.sizes["packet"]
    ages = packets.tail_arrival + 2 - packets.generated
    assert int(series.age_sum.sum()) == int(ages.sum())
    assert int(series.age_max.max()) == int(ages.max())
    assert statistics_of(series, "age")["median"] == float(np.median(ages))
    network_ages = packets.tail_arrival + 2 - packets.injected
    assert statistics_of(series, "network_age")["mean"] == pytest.approx(float(network_ages.mean()))
    assert series.delivered_by_source.values.tolist() == np.bincount(packets.source, minlength=64).tolist()
    assert int(series.generated_flits.sum()) == 5 * packets.sizes["packet"]
    assert float(series.offered_flits.sum()) == pytest.approx(0.3 * 64 * 1000)


def test_windows_are_saved_and_measured_anew(tmp_path):
    net = fl.Network(fl.Torus(4, 4))
    load = fl.Load("rand", rate=0.2, cycles=2000)
    whole = fl.Simulation(net, load, windows=50)
    whole.run(until=500)
    whole.save(tmp_path / "half.flit")
    half = fl.Simulation.load(tmp_path / "half.flit")
    for sim in (whole, half):
        sim.measure(600, 1000)
        sim.run(until=1500)
    assert half.windows().identical(whole.windows())
    assert half.windows().attrs["measured_packets"] == int(half.windows().age_histogram.sum()) > 0
    with pytest.raises(fl.SpecError, match="measure: 10 is out of range"):
        whole.measure(10)


def test_waiting_packets_take_no_memory(tmp_path):
    sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), fl.Load("rand", rate=0.9, cycles=10**6), windows=10_000)
    # The histogram of ages grows with their logarithm: it is left out.
    sim.measure(0, 1)
    sizes = []
    # What is counted of source queues has 64 slots at most: as many at 40,000 cycles as at 80,000.
    for cycles in (40_000, 80_000):
        sim.run(until=cycles)
        sim.save(tmp_path / "run.flit")
        sizes.append((tmp_path / "run.flit").stat().st_size)
    waiting = int(sim.windows().generated_flits.sum()) // 8 - int(sim.windows().injected_packets.sum())
    assert waiting > 50_000
    assert sizes[1] < 1.02 * sizes[0] < 200_000


def test_a_profile_is_followed():
    net = fl.Network(fl.Torus(16, 16))
    ramp = fl.Load(
        "next", profile=[(0, 0.0), (4000, 0.2), (6000, 0.2), (6000, 0.1)], cycles=8000, process="gap"
    )
    sim = fl.Simulation(net, ramp, windows=1000)
    sim.run(until=8000)
    series = sim.windows()
    offered = series.offered_flits / 256 / 1000
    assert offered.values.tolist() == pytest.approx(
        [0.025, 0.075, 0.125, 0.175, 0.2, 0.2, 0.1, 0.1], abs=1e-4
    )
    assert (abs(series.generated_flits / series.offered_flits - 1) < 0.08).all()
    assert ramp.mean_rate == pytest.approx(0.125, abs=1e-4)


def test_an_impulse_is_generated_in_its_window():
    net = fl.Network(fl.Torus(4, 4))
    load = fl.Load("rand", rate=0.05, cycles=3000, impulse=fl.Impulse("trns", at=1000, packets=4))
    sim = fl.Simulation(net, load, windows=100)
    sim.run()
    generated = sim.windows().generated_flits.values
    assert generated[10] >= 16 * 4 * 8
    assert generated[9] < 200 > generated[12]
    assert float(sim.windows().offered_flits[10]) == pytest.approx(16 * 4 * 8 + 0.05 * 16 * 100)


def test_classes_and_weights_say_where_packets_go():
    net = fl.Network(fl.Torus(4, 4))
    to_zero = [[1 if column == 0 else 0 for column in range(16)] for _ in range(16)]
    only = fl.simulate(net, fl.Load(weights=to_zero, rate=0.02, cycles=2000), packets=True)
    assert set(only.packets.destination.values) == {0}
    classes = [fl.TrafficClass(destinations=[0] * 16, weight=1), fl.TrafficClass("trns", weight=3)]
    mixed = fl.simulate(net, fl.Load(classes=classes, rate=0.02, cycles=9000), packets=True).packets
    others = mixed.where(mixed.source % 5 != 0, drop=True)
    share = float((others.destination == 0).mean())
    assert share == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize(("router", "throttle"), [({}, "none"), ({"preset": "t15"}, "pt")])
def test_packets_go_elsewhere_after_a_change(router, throttle, tmp_path):
    net = fl.Network(fl.Torus(4, 4), fl.Router(**router))
    changes = [fl.TrafficChange("torn", at=900), fl.TrafficChange(destinations=[7] * 16, at=600)]
    load = fl.Load("trns", rate=0.05, cycles=1200, changes=changes)
    plain = fl.simulate(net, load.model_copy(update={"changes": ()}), packets=True).packets
    packets = fl.simulate(net, load, packets=True, throttle=throttle).packets
    source = packets.source.values
    to = [source % 4 * 4 + source // 4, np.full(len(source), 7), (source + 2) % 16]
    expected = np.choose(np.digitize(packets.generated.values, [600, 900]), to)
    assert (packets.destination.values == expected).all()
    # When packets are generated does not depend on where they go.
    for node in range(16):
        own, as_before = (each.generated.values[each.source.values == node] for each in (packets, plain))
        assert sorted(own) == sorted(as_before)
    saved_half_way(fl.Simulation(net, load, windows=100, throttle=throttle), 650, tmp_path)


def test_a_step_of_the_pattern(capsys):
    case = ["--preset", "t15", "--torus", "16x16", "--pattern", "bcmp", "--rate", "0.15", "--cycles", "6000"]
    step = ["load", "step", *case, "--window", "50", "--json"]
    assert run([*step, "--then", "rand", "--throttle", "none,pt"]) == 0
    for row in json.loads(capsys.readouterr().out):
        # Both patterns are below saturation: what is given is accepted before and after.
        assert row["before"] == pytest.approx(0.15, rel=0.05)
        assert row["final"] == pytest.approx(0.15, rel=0.05)
        assert row["settling_time"] < 500
        assert row["lowest"] < row["final"] < row["peak"]
    # A pattern that the links cannot carry: it is accepted no longer.
    assert run([*step, "--then", "brev", "--at", "2000"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert row["before"] == pytest.approx(0.15, rel=0.05)
    assert row["final"] < 0.13
    assert run([*step, "--at", "2000"]) == 2
    assert "--then" in capsys.readouterr().err
    assert run([*step, "--then", "shfl", "--at", "6000"]) == 2
    assert "traffic.changes" in capsys.readouterr().err
    [one] = make_cases({}, {"torus": ["4x4"], "pattern": ["trns"]})
    changing = one.experiment(kind="load", rate=0.1, cycles=900, changes=[{"pattern": "torn", "at": 300}])
    with pytest.raises(fl.SpecError, match=r"traffic\.changes"):
        run_steady(changing)
    with pytest.raises(fl.SpecError, match=r"traffic\.changes"):
        make_demands(fl.Network(fl.Torus(4, 4)), changing.traffic)


@pytest.mark.parametrize("router", [{}, {"preset": "t15"}])
def test_closed_sources_have_few_packets_on_their_way(router, tmp_path):
    net = fl.Network(fl.Torus(4, 4), fl.Router(**router))
    load = fl.Load("rand", rate=0.9, cycles=1500, outstanding=3)
    whole = fl.Simulation(net, load, windows=100)
    saved_half_way(whole, 700, tmp_path)
    packets = fl.simulate(net, load, packets=True).packets
    assert int(whole.windows().delivered_packets.sum()) == packets.sizes["packet"] > 500
    assert int(whole.windows().generated_flits.sum()) == 8 * packets.sizes["packet"]
    for node in range(16):
        own = packets.sel(packet=packets.source == node)
        begun, ended = own.generated.values, own.tail_arrival.values
        on_their_way = [int(((begun <= start) & (ended >= start)).sum()) for start in begun]
        assert max(on_their_way) == 3


def test_a_closed_load_keeps_from_saturation(capsys):
    load = ["--torus", "8x8", "--pattern", "bcmp", "--rates", "0.1,1", "--measure", "2000"]
    assert run(["load", "curve", *load, "--outstanding", "1", "--json"]) == 0
    low, high = json.loads(capsys.readouterr().out)
    assert not low["saturated"]
    assert not high["saturated"]
    assert low["accepted"] < high["accepted"] == pytest.approx(high["generated"], rel=0.02)
    # A packet at a time: 8 flits in the cycles that one takes, and one or two more until the next one starts.
    assert high["accepted"] == pytest.approx(8 / high["latency"], rel=0.3)
    assert run(["load", "ramp", "--torus", "4x4", "--pattern", "rand", "--outstanding", "0"]) == 2
    assert "traffic.outstanding" in capsys.readouterr().err
    impulse = {"pattern": "trns", "at": 5, "packets": 1}
    with pytest.raises(fl.SpecError, match="closed sources wait"):
        fl.Load("rand", rate=0.1, cycles=10, outstanding=1, impulse=impulse)


def test_classes_and_weights_come_from_a_spec(tmp_path, capsys):
    rows = [",".join("1" if column == 3 else "0" for column in range(16)) for _ in range(16)]
    (tmp_path / "weights.csv").write_text("\n".join(rows) + "\n")
    weights = tmp_path / "weights.toml"
    weights.write_text('[topology]\nsizes = [4, 4]\n[traffic]\nkind = "load"\nweights = "weights.csv"\n')
    assert (
        run(
            [
                "load",
                "curve",
                str(weights),
                "--rates",
                "0.05,0.2",
                "--measure",
                "1500",
                "--refine",
                "0",
                "--json",
            ]
        )
        == 0
    )
    low, high = json.loads(capsys.readouterr().out)
    # Fifteen others send all they have to one node, which ejects a flit per cycle.
    assert low["receive_bound"] == pytest.approx(1 / 15, rel=0.1)
    assert (low["saturated"], high["saturated"]) == (False, True)
    assert high["accepted"] == pytest.approx(low["receive_bound"], rel=0.1)
    classes = tmp_path / "classes.toml"
    classes.write_text(
        '[topology]\nsizes = [4, 4]\n[traffic]\nkind = "load"\n'
        '[[traffic.classes]]\npattern = "next"\nweight = 3\n'
        '[[traffic.classes]]\npattern = "hots"\nhotspot_fraction = 1.0\nweight = 1\n'
    )
    steady = ["load", "steady", str(classes), "--rate", "0.1", "--measure", "1500", "--json"]
    assert run(steady) == 0
    mixed = json.loads(capsys.readouterr().out)[0]
    assert not mixed["saturated"]
    # A quarter of all packets of the others, and what its neighbour sends.
    assert mixed["receive_bound"] == pytest.approx(1 / (15 / 4 + 3 / 4 + 1 / 60), rel=0.1)


def test_a_steady_state_accepts_what_is_offered_with_one_cycle_per_hop():
    def steady(pattern, rate, measure):
        load = fl.Load(pattern, rate=rate, cycles=1)
        return run_steady(fl.Experiment(topology=fl.Torus(8, 8), traffic=load), measure=measure)

    low = steady("next", 0.01, 40_000)
    # Every packet makes one hop: h + L + 1, if it meets nobody.
    assert low.row["median"] == low.row["network_max"] == 1 + 8 + 1
    assert low.row["accepted"] == pytest.approx(low.row["generated"], rel=0.005)
    high = steady("torn", 0.9, 2000)
    assert high.saturated
    assert high.row["latency"] is None
    assert high.row["network_latency"] > 0


def test_critical_load_of_the_2015_router():
    # An independent program has 0.111 +- 0.002; an average of this steeper ramp reaches over 0.0025.
    [case] = make_cases({"router": {"preset": "t15"}}, {"torus": ["32x32"], "pattern": ["bcmp"]})
    profile, cycles = ramp_profile(0.10, 0.125, 50_000)
    ramp = run_ramp(case.experiment(kind="load", profile=profile, cycles=cycles), averaging=50)
    assert (ramp.row["bound"], ramp.row["bound_of"]) == (0.125, "links in dimension order")
    assert 0.109 <= ramp.row["critical_load"] <= 0.113
    assert ramp.row["critical_load"] < ramp.row["end"]
    assert ramp.row["slope_rule"]["outcome"] == "too noisy"


def test_a_hotspot_is_one_of_several_patterns(capsys):
    hot = ["--pattern", "rand,hots", "--hotspot-fraction", "0.2", "--rates", "0.05", "--measure", "500"]
    assert run(["load", "curve", "--torus", "4x4", *hot, "--json"]) == 0
    rand, hots = json.loads(capsys.readouterr().out)
    assert rand["receive_bound"] == 1
    # Fifteen others send it a fifth, and a fifteenth of the rest.
    assert hots["receive_bound"] == pytest.approx(1 / (15 * 0.2 + 14 * 0.8 / 15 + 0.8 / 15))


def test_numbers_and_names_that_cannot_be_are_named(tmp_path, capsys):
    [case] = make_cases({}, {"torus": ["4x4"], "pattern": ["rand"]})
    steady = case.experiment(kind="load", rate=0.1, cycles=100)
    profile, cycles = ramp_profile(0.1, 0.2, 100)
    ramp = case.experiment(kind="load", profile=profile, cycles=cycles)
    for wrong, begin in (
        ("warm_up: -1", lambda: run_steady(steady, warm_up=-1)),
        ("warm_up: 1180591620717411303424", lambda: run_steady(steady, warm_up=2**70)),
        ("window: 0", lambda: run_steady(steady, window=0)),
        ("averaging: 0", lambda: run_ramp(ramp, averaging=0)),
        ("fitted: -2", lambda: run_ramp(ramp, fitted=-2)),
    ):
        with pytest.raises(SpecError, match=f"{wrong} is out of range"):
            begin()
    (tmp_path / "flat.toml").write_text("topology = 3\n")
    network = ["--torus", "4x4", "--pattern", "rand"]
    for given, message in (
        ([str(tmp_path / "flat.toml"), *network], "--torus: 'topology' is not a table of fields"),
        (["--torus", "4x4", "--pattern", 'ra"nd'], "traffic.pattern: 'ra\"nd' is unknown"),
    ):
        assert run(["load", "curve", *given]) == 2
        assert message in capsys.readouterr().err


def test_curves_run_on_all_cores_and_name_their_saturation():
    cases = make_cases({}, {"torus": ["4x4", "8x8"], "pattern": ["bcmp"]})
    points, interrupted = run_curve(cases, [0.1, 0.9], measure=1000, workers=2)
    assert not interrupted
    assert [(case.labels["torus"], point.row["rate"]) for case, point in points] == [
        ("4x4", 0.1),
        ("4x4", 0.9),
        ("8x8", 0.1),
        ("8x8", 0.9),
    ]
    assert verdict([points[2][1].row])["outcome"] == "not reached"
    assert verdict([points[3][1].row])["outcome"] == "below"


def test_a_ramp_finds_the_load_that_the_busiest_link_carries():
    # Every link carries the packets of one node, 1 flit per cycle at best.
    [case] = make_cases({"router": {"buffer": 16}}, {"torus": ["8x8"], "pattern": ["next"]})
    profile, cycles = ramp_profile(0.5, 1.0, 40_000)
    free = run_ramp(case.experiment(kind="load", profile=profile, cycles=cycles))
    assert free.row["outcome"] == "not reached"
    assert free.row["advice"]
    [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["torn"]})
    profile, cycles = ramp_profile(0.0, 0.6, 60_000, warm_up=100, hold=1000)
    full = run_ramp(case.experiment(kind="load", profile=profile, cycles=cycles))
    assert full.row["cycles"] == 61_100
    # Every link of x is shared by four sources of each row: a quarter, which no reading is above.
    assert full.row["outcome"] == "at the bound"
    assert full.row["critical_load"] == 0.25


def test_an_impulse_is_forgotten_or_not_seen():
    [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["rand"]})
    fields = {"kind": "load", "rate": 0.1, "cycles": 8000, "process": "gap"}
    strong = run_impulse(case.experiment(**fields, impulse={"pattern": "trns", "at": 4000, "packets": 10}))
    assert strong.row["outcome"] == "measured"
    assert strong.row["peak"] > 2 * strong.row["before"]
    weak = run_impulse(case.experiment(**fields, impulse={"pattern": "next", "at": 4000, "packets": 1}))
    assert (weak.row["outcome"], weak.row["duration"]) == ("not visible", None)


def test_a_burst_is_a_collective(capsys):
    assert run(["load", "burst", "--torus", "8x8", "--pattern", "shfl", "--packets", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    result = fl.simulate(
        fl.Network(fl.Torus(8, 8), fl.Router(preset="machine")),
        fl.Collective("shfl", payload=7, packets=3),
        packets=True,
    )
    assert found["duration"] == result.duration
    assert found["age_sum"] == int((result.packets.tail_arrival + 2 - result.packets.generated).sum())


@pytest.mark.parametrize(
    ("pattern", "duration", "age_sum"), [("bcmp", 499, 655952), ("brot", 833, 766915), ("torn", 643, 844800)]
)
def test_bursts_of_the_2015_router(pattern, duration, age_sum, capsys):
    # Computed by an independent program, 16x16, ten packets per node.
    burst = ["load", "burst", "--preset", "t15", "--torus", "16x16", "--pattern", pattern, "--packets", "10"]
    assert run([*burst, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    assert (found["duration"], found["age_sum"]) == (duration, age_sum)


def test_bursts_under_throttles_side_by_side(capsys):
    # Computed by an independent program, 16x16, ten packets per node.
    burst = ["load", "burst", "--preset", "t15", "--torus", "16x16", "--pattern", "shfl", "--packets", "10"]
    assert run([*burst, "--throttle", "none,spth:0,spth:margin=8,watch=any,pt", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["throttle"], row["duration"], row["age_sum"]) for row in rows] == [
        ("none", 762, 826902),
        ("spth:0", 722, 814152),
        ("spth:margin=8,watch=any", 741, 782518),
        ("pt", 659, 655510),
    ]


def test_responses_of_several_cases_are_told_and_drawn(tmp_path, capsys):
    picture = tmp_path / "step.png"
    step = [
        "--torus",
        "16x16",
        "--pattern",
        "rand",
        "--rate",
        "0.3,0.5",
        "--cycles",
        "4000",
        "--window",
        "50",
    ]
    assert run(["load", "step", *step, "--picture", str(picture)]) == 0
    assert capsys.readouterr().out.count("measured") == 2
    net = ["--torus", "4x4,8x8", "--pattern", "rand", "--threads", "2"]
    assert picture.stat().st_size > 1000
    ramp = ["--rates", "0.1:0.9", "--cycles", "20000", "--json", "--out", str(tmp_path / "ramp.nc")]
    assert run(["load", "ramp", *net, *ramp, "--picture", str(tmp_path / "ramp.png")]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["torus"] for row in rows] == ["4x4", "8x8"]
    assert rows[0]["critical_load"] > rows[1]["critical_load"] > 0.2
    impulse = ["--rate", "0.1", "--packets", "5", "--at", "3000", "--cycles", "6000", "--impulse", "hots"]
    one = ["load", "impulse", "--torus", "8x8", *impulse, "--hotspot-fraction", "1", "--json"]
    assert run(one) == 0
    assert json.loads(capsys.readouterr().out)[0]["delivered_share"] > 0.5


@pytest.mark.parametrize(("model", "to", "cycles"), [("one-cycle", 0.7, 20_000), ("pipelined", 0.6, 8000)])
def test_a_ramp_goes_on_from_its_checkpoint(model, to, cycles, tmp_path, capsys):
    file = tmp_path / "ramp.flit"
    router = {"model": model, **machine_router({"model": model}, {}, 8)}
    [case] = make_cases({"router": router}, {"torus": ["8x8"], "pattern": ["rand"]})
    words = ["--rates", f"0.2:{to}", "--cycles", str(cycles), "--model", model]
    profile, cycles = ramp_profile(0.2, to, cycles)
    spec = case.experiment(kind="load", profile=profile, cycles=cycles)

    sim = begin_experiment(spec, links=False, windows=100)
    sim.run(until=5000)
    sim.save(file)
    ramp = ["load", "ramp", "--torus", "8x8", "--pattern", "rand", *words]
    assert run([*ramp, "--checkpoint", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] == {**case.labels, **run_ramp(spec).row}
    assert run([*ramp, "--checkpoint", str(file), "--seed", "2"]) == 2
    assert "is of another run" in capsys.readouterr().err


def test_the_command_prints_a_list_and_writes_files(tmp_path, capsys):
    options = [
        "--torus",
        "4x4",
        "--pattern",
        "rand",
        "--rates",
        "0.1,0.95",
        "--measure",
        "500",
        "--refine",
        "0",
        "--threads",
        "1",
    ]
    out, plot = tmp_path / "curve.nc", tmp_path / "curve.png"
    assert run(["load", "curve", *options, "--json", "--out", str(out), "--picture", str(plot)]) == 0
    low, high = json.loads(capsys.readouterr().out)
    assert (low["rate"], low["saturated"], high["saturated"], high["latency"]) == (0.1, False, True, None)
    assert 10 < low["latency"] < 20
    assert out.stat().st_size > 1000 < plot.stat().st_size
    assert run(["load", "curve", *options, "--out", str(tmp_path / "curve.csv")]) == 0
    assert "saturates between 0.1 and 0.95" in capsys.readouterr().out
    assert (
        (tmp_path / "curve.csv")
        .read_text()
        .startswith("torus,pattern,rate,generated,accepted,accepted_confidence")
    )
    assert run(["load", "curve", "--torus", "4x4", "--pattern", "rand", "--rates", "0.1,7"]) == 2
    assert "--rates: 7 is not a load" in capsys.readouterr().err


def test_routers_have_the_room_that_what_is_compared_needs(capsys):
    size = ["--torus", "4x4", "--pattern", "rand"]
    ask = ["load", "steady", *size, "--rate", "0.1", "--measure", "300", "--json"]
    compare = ["--routing", "do,sa", "--throttle", "none,spth:margin=8"]
    assert run([*ask, *compare]) == 0
    shown = capsys.readouterr()
    assert "all cases with --flow-control cut-through, which" in shown.err
    assert run([*ask, *compare, "--flow-control", "cut-through", "--buffer", "16"]) == 0
    said = capsys.readouterr()
    assert "all with" not in said.err
    assert json.loads(said.out) == json.loads(shown.out)
    # Long packets need longer queues, and what is given stays.
    assert run([*ask, "--routing", "sa", "--length", "20"]) == 0
    assert "--flow-control cut-through, which" in capsys.readouterr().err
    assert run([*ask, "--routing", "sa", "--flow-control", "wormhole"]) == 2
    assert "router.flow_control is wormhole" in capsys.readouterr().err
    assert run([*ask, "--throttle", "spth:8", "--buffer", "4"]) == 2
    assert "below the depth of the queues (4)" in capsys.readouterr().err
    assert run([*ask, "--throttle", "spth:3"]) == 0
    assert "all with" not in capsys.readouterr().err


def test_a_step_with_too_few_windows_is_refused_before_it_runs() -> None:
    [case] = make_cases({}, {"torus": ["512x512"], "pattern": ["rand"]})
    step = case.experiment(kind="load", rate=0.01, cycles=10**6)
    with pytest.raises(SpecError, match="10000 cycles are too few; 195 are needed"):
        run_step(step, window=10_000)
