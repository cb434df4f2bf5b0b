"""What verdicts of `flitloom load` say beside a number: routers, bounds, and what is compared."""

import csv
import json

import networkx
import pytest
from matplotlib.figure import Figure

import flitloom as fl
from flitloom.analysis.load_bound import load_bound
from flitloom.commands import run
from flitloom.load import (
    compared,
    curve_rows,
    ideal_loads,
    make_cases,
    ramp_end,
    run_curve,
    run_saturation,
    run_steady,
    verdict,
)
from flitloom.load.comparison import shape_of
from flitloom.load.full_start import _full, full_start
from flitloom.load.search import Search
from flitloom.load.steady import begin_endless
from flitloom.plots.curves import plot_curves

ROOM = {"flow_control": "cut-through", "buffer": 16}


def experiment(pattern="torn", size=8, **router):
    load = fl.Load(pattern, rate=0.1, cycles=1)
    return fl.Experiment(topology=fl.Torus(size, size), router=fl.Router(**router), traffic=load)


@pytest.mark.parametrize("routing", ["do", "o1turn", "valiant", "sa", "cl", "ma", "ugal"])
def test_the_bound_is_that_of_the_routing(routing):
    one = experiment("trns", routing=routing, **ROOM)
    known = load_bound(fl.Network(one.topology, one.router), one.traffic, ["do", "o1turn", "valiant"])
    row = ideal_loads(one)
    if routing == "ugal":
        # Hops of shortest paths along x, over the links along x.
        grid = networkx.grid_graph((8, 8), periodic=True)
        hops = sum(networkx.shortest_path_length(grid, (x, y), (y, x)) for x in range(8) for y in range(8))
        assert row["bound"] == pytest.approx(min(1, 2 * 64 / (hops / 2)))
        assert row["bound_of"] in ("links under any routing", "sources")
    elif routing in known.channel_loads:
        assert row["bound"] == float(known.throughput(routing))
    else:
        assert row["bound"] == float(known.minimal_throughput) > float(known.throughput("do"))
        assert row["bound_of"] == "links under any minimal routing"
    assert run_steady(one, measure=300).row["bound"] == row["bound"]


def test_a_hot_spot_is_bounded_by_its_node():
    load = fl.Load("hots", hotspot_fraction=0.5, rate=0.1, cycles=1)
    row = ideal_loads(fl.Experiment(topology=fl.Torus(8, 8), router=fl.Router(), traffic=load))
    assert row["bound_of"] == "the most wanted node"
    assert row["bound"] == row["receive_bound"] == pytest.approx(1 / (0.5 * 63 + 0.5))


def test_verdicts_name_router_and_bound(capsys):
    curve = ["load", "curve", "--torus", "4x4", "--pattern", "rand", "--measure", "500"]
    assert run([*curve, "--rates", "0.1,0.95", "--routing", "valiant", "--refine", "0"]) == 0
    verdict, beside = capsys.readouterr().out.splitlines()[-2:]
    assert verdict == "4x4 torus saturates between 0.1 and 0.95 flits/node/cycle"
    expected = "  valiant, ties balanced, wormhole, 6 channels of 16 flits: 2 packets; bound 1 "
    assert beside.startswith(expected)
    assert beside.endswith("(links under Valiant's routing)")
    assert run([*curve, "--rates", "0.1", "--throttle", "pt", "--buffer", "16"]) == 0
    assert "3 channels of 16 flits: 2 packets; throttle pt; bound" in capsys.readouterr().out
    ramp = ["load", "ramp", "--torus", "4x4", "--pattern", "bcmp", "--cycles", "9000"]
    assert run([*ramp, "--rates", "0.2:0.9"]) == 0
    assert "2 packets; bound 1 (links in dimension order)" in capsys.readouterr().out


def test_a_curve_with_a_missing_load_has_no_verdict():
    cases = make_cases({}, {"torus": ["4x4"], "pattern": ["rand"]})
    points, _ = run_curve(cases, [0.1, 0.9], measure=300, workers=1)
    rows = curve_rows(points)
    assert verdict(rows, [0.1, 0.9])["outcome"] == "between"
    missing = verdict(rows[1:], [0.1, 0.9])
    assert (missing["outcome"], missing["above"]) == ("incomplete", None)
    assert "no verdict" in missing["text"]


def test_a_ramp_ends_beyond_the_bound_by_default(capsys):
    slow = {routing: ramp_end(experiment("torn", routing=routing, **ROOM)) for routing in ("do", "sa")}
    # Four hops of eight in one sense: links carry a quarter, in both senses a half.
    assert slow == {"do": pytest.approx(0.3), "sa": pytest.approx(0.6)}
    assert ramp_end(experiment("next")) == 1
    assert (
        run(
            [
                "load",
                "ramp",
                "--torus",
                "8x8",
                "--pattern",
                "torn",
                "--cycles",
                "20000",
                "--json",
                "--ties",
                "wrap",
            ]
        )
        == 0
    )
    row = json.loads(capsys.readouterr().out)[0]
    assert row["outcome"] in ("measured", "at the bound")
    assert 0.15 < row["critical_load"] <= row["bound"] == 0.25
    assert row["router"] == "do, ties wrap, wormhole, 3 channels of 16 flits: 2 packets"
    # Where a node can send no more, nobody is asked to offer more.
    assert run(["load", "ramp", "--torus", "4x4", "--pattern", "next", "--cycles", "9000", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["outcome"], row["advice"].partition(",")[0]) == (
        "not reached", "all of the load is delivered up to 1 flits/node/cycle",
    )  # fmt: skip


def test_saturation_is_where_the_busiest_source_is_busy_all_the_time():
    """Five runs of 400,000 cycles within 3 % of each limit, by a program of its own: 0.4043, 0.526, 0.25."""
    known = {("rand", "4"): 0.4043, ("rand", "16"): 0.526, ("torn", "16"): 0.25}
    cases = make_cases({}, {"torus": ["8x8"], "pattern": ["rand", "torn"], "buffer": ["4", "16"]})
    cases = [case for case in cases if (case.labels["pattern"], case.labels["buffer"]) in known]
    rows, interrupted = run_saturation(cases, within=0.03, measure=1000, workers=1)
    assert not interrupted
    for row in rows:
        assert row["outcome"] in ("measured", "proven")
        assert row["below"] < row["saturation"] <= row["above"] <= 1.0001 * row["bound"] + row["half_width"]
        assert row["half_width"] <= 0.03 * row["saturation"]
        limit = known[row["pattern"], row["buffer"]]
        assert abs(row["saturation"] - limit) <= max(3 * row["half_width"], 0.01 * limit)


@pytest.mark.parametrize("seed", [100, 200, 400])
def test_an_interval_that_is_found_fast_holds_for_long_runs(seed):
    """Searches of the 4x4 torus to 0.25 % in runs of 400,000 cycles find 0.596; runs of 8,000 find 0.61."""
    [case] = make_cases({"seed": seed, "router": {"buffer": 4}}, {"torus": ["4x4"], "pattern": ["rand"]})
    [row], _ = run_saturation([case], within=0.05, measure=300, workers=1)
    assert row["outcome"] == "measured"
    assert row["run_cycles"] >= 16_000
    assert row["below"] < 0.596 < row["above"]
    assert row["half_width"] <= 0.05 * row["saturation"]


def test_a_saturation_that_longer_runs_would_move_is_undecided(capsys):
    """A ring whose queues fill after any time: in runs of up to 16,000 cycles nothing is known to 1 %."""
    ring = ["--torus", "16", "--pattern", "rand", "--length", "16", "--buffer", "4", "--ties", "wrap"]
    assert run(["load", "saturation", *ring, "--limit", "16000", "--measure", "500", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["outcome"], row["run_cycles"]) == ("undecided", 16_000)
    assert row["cause"].startswith("not known to 1 % after ")
    assert row["cause"].endswith("; try --limit 64000 or a larger --within")


def test_critical_loads_of_short_measurements_are_those_of_longer_ones():
    """Both ends are measured again four times as long."""
    cases = [
        make_cases({"seed": seed}, {"torus": ["8x8"], "pattern": ["rand"], "buffer": ["16"]})[0]
        for seed in (3, 5)
    ]
    ways = {"within": 0.02, "level": 0.95, "workers": 1}
    rows, _ = run_saturation(cases, measure=300, **ways)
    longer, _ = run_saturation(cases, measure=3000, **ways)
    for row, other in zip(rows, longer, strict=True):
        assert row["outcome"] == "measured"
        assert row["below"] <= other["above"]
        assert other["below"] <= row["above"]


def test_full_source_queues_empty_below_saturation_only():
    [case] = make_cases({"router": {"buffer": 16}}, {"torus": ["4x4"], "pattern": ["rand"]})
    [row], _ = run_saturation([case], within=0.05, measure=1000, full_starts=True, workers=1)
    # None of the nine settings that were looked at has two states.
    assert row["full_start"] == row["below"]
    experiment = case.experiment(kind="load", rate=1.0, cycles=1)
    settings = {"window": 100, "warm_up": None, "measure": 1000, "limit": 40_000, "threads": 1}
    beyond = full_start(Search(experiment, 0.02, settings, None, 1.0, None), 1.1 * row["above"])
    assert beyond is not None
    assert 0.9 * row["below"] < beyond < 1.02 * row["above"]
    # Where queues grow from an empty network, too, they do not empty from a full one.
    for load in (1.15 * row["above"], 1.2 * row["above"]):
        assert full_start(Search(experiment, 0.5, settings, None, 1.0, None), load) != load


@pytest.mark.long
def test_a_load_that_is_steady_from_an_empty_network_only_is_undecided(capsys):
    ring = ["--torus", "16x4", "--routing", "ma", "--flow-control", "cut-through", "--buffer", "16"]
    asked = [*ring, "--pattern", "rand", "--process", "gap", "--rate", "0.2,0.33", "--measure", "2000"]
    asked += ["--limit", "50000", "--json"]
    assert run(["load", "steady", *asked]) == 0
    once = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in once] == ["steady", "steady"]
    assert run(["load", "steady", *asked, "--full-start"]) == 0
    low, high = json.loads(capsys.readouterr().out)
    assert low == once[0]
    assert (high["verdict"], high["saturated"], high["latency"]) == ("undecided", None, None)
    assert "100 packets per node" in high["cause"]
    # From a hundred packets per node the same load is far from accepted.
    router = {"routing": "ma", "flow_control": "cut-through", "buffer": 16}
    [case] = make_cases(
        {"router": router, "traffic": {"process": "gap"}}, {"torus": ["16x4"], "pattern": ["rand"]}
    )
    load = _full(case.experiment(kind="load", rate=0.33, cycles=50_000))
    held = begin_endless(load, 1000)
    held.until(50_000)
    late = held.series.isel(window=slice(25, None))
    assert float(late.ejected_flits.sum()) < 0.9 * float(late.generated_flits.sum())


def test_a_full_start_does_not_go_with_a_level(capsys):
    asked = ["--torus", "4x4", "--pattern", "rand", "--level", "0.95", "--full-start"]
    assert run(["load", "saturation", *asked]) == 2
    assert "--full-start: does not go with --level" in capsys.readouterr().err


def test_a_full_start_needs_a_pattern():
    [case] = make_cases({}, {"torus": ["4x4"], "pattern": ["rand"]})
    load = case.experiment(kind="load", rate=0.5, cycles=1)
    weights = [[0 if row == column else 1 for column in range(16)] for row in range(16)]
    traffic = fl.Load(weights=weights, rate=0.5, cycles=1)
    with pytest.raises(fl.SpecError, match="--full-start: needs traffic of a pattern"):
        _full(load.model_copy(update={"traffic": traffic}))


def test_the_level_rule_finds_more_than_every_source_sustains():
    [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["rand"]})
    [row], _ = run_saturation([case], within=0.03, level=0.95, workers=1)
    assert row["outcome"] == "measured"
    assert 0.41 < row["below"] < row["saturation"] < row["above"] < 0.45


def test_a_case_that_cannot_be_is_a_row():
    values = {"torus": ["4x4"], "pattern": ["rand"], "buffer": ["4", "16"], "flow_control": ["cut-through"]}
    rows, _ = run_saturation(make_cases({}, values), within=0.3, measure=300, workers=1)
    assert [row["outcome"] == "impossible" for row in rows] == [True, False]
    assert "buffer" in rows[0]["cause"]
    assert compared(rows, ["buffer"]) == ""


def test_a_load_beyond_the_bound_is_saturated_however_little():
    """At 4 % more than links carry, 96 % arrive."""
    cases = make_cases({"router": {"buffer": 16}}, {"torus": ["8x8"], "pattern": ["trns"]})
    points, _ = run_curve(cases, [0.22, 0.26], measure=2000, refine=0, workers=1)
    below, above = curve_rows(points)
    assert above["accepted"] > 0.95 * above["generated"]
    assert above["bound"] == 0.25
    assert (below["verdict"], above["verdict"], above["latency"]) == ("steady", "growing", None)
    [row], _ = run_saturation(cases, within=0.05, measure=2000, workers=1)
    assert 0.2 < row["below"] < row["saturation"] <= row["above"] <= 0.25


def test_closed_sources_have_no_saturation(capsys):
    closed = ["--torus", "4x4", "--pattern", "rand", "--outstanding", "2"]
    assert run(["load", "saturation", *closed]) == 2
    assert "closed sources accept all that they generate" in capsys.readouterr().err
    assert run(["load", "curve", *closed, "--rates", "0.2,0.9", "--measure", "500", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert run(["load", "curve", *closed, "--rates", "0.2,0.9", "--measure", "500"]) == 0
    most = max(rows, key=lambda row: row["accepted"])
    verdict = f"4x4 torus accepts most at a rate of {most['rate']:g}: {most['accepted']:.4g} flits/node/cycle"
    assert capsys.readouterr().out.splitlines()[-2] == verdict
    assert run(["load", "ramp", *closed, "--rates", "0.1:0.9", "--cycles", "20000", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert row["critical_load"] is None
    assert row["advice"].startswith("closed sources accept all that they generate")


def test_a_network_that_fills_has_not_reached_its_critical_load(capsys):
    """In the first cycles of a short ramp less arrives than is generated, since packets take their time."""
    ramp = ["load", "ramp", "--torus", "8x8", "--pattern", "rand", "--json", "--cycles"]
    assert run([*ramp, "5000"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert row["outcome"] == "measured"
    assert 0.25 < row["critical_load"] < row["bound"]
    assert run([*ramp, "20000", "--rates", "0.6:0.9"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["outcome"], row["critical_load"]) == ("from the start", None)
    assert "begin lower" in row["advice"]


def test_interlocked_nodes_have_no_steady_state(capsys):
    """Every node generates its own number of packets, and all may send equally many but for a few."""
    ask = ["load", "saturation", "--torus", "4x4", "--pattern", "next", "--within", "0.3", "--measure", "300"]
    assert run([*ask, "--throttle", "none,interlock", "--json"]) == 0
    told = capsys.readouterr()
    free, locked = json.loads(told.out)
    assert list(free) == list(locked)
    assert (free["outcome"], locked["outcome"]) == ("not reached", "no steady state")
    assert (locked["saturation"], locked["points"]) == (None, 0)
    assert told.err.count("note: interlock lets a node send only as many packets as it receives") == 1
    # What waits at the sources, as the oldest of it: four times the cycles, about twice as much.
    network, load = fl.Network(fl.Torus(8, 8)), fl.Load("next", rate=0.1, cycles=200_000)
    waiting = []
    for cycles in (2000, 8000, 32000, 128_000):
        simulation = fl.Simulation(network, load, throttle="interlock", windows=1000)
        simulation.run(until=cycles)
        series = simulation.windows()
        waiting.append(int((series.generated_flits.sum() - series.ejected_flits.sum()).item()))
    assert waiting[3] > 2 * waiting[1] > 4 * 64
    assert run(["load", "steady", *ask[2:6], "--throttle", "interlock", "--outstanding", "2"]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_network_that_carries_all_is_not_saturated():
    cases = make_cases({"router": ROOM}, {"torus": ["4x4"], "pattern": ["next"]})
    [row], _ = run_saturation(cases, measure=500)
    assert (row["outcome"], row["saturation"], row["above"], row["below"]) == (
        "not reached",
        None,
        None,
        0.99,
    )


def test_the_saturation_of_all_throttles_is_a_table_and_a_sentence(capsys):
    ask = ["load", "saturation", "--mesh", "4x4", "--pattern", "rand", "--within", "0.3", "--measure", "300"]
    assert run([*ask, "--throttle", "none,pace:256", "--json"]) == 0
    none, pace = json.loads(capsys.readouterr().out)
    assert run([*ask, "--throttle", "none,pace:256"]) == 0
    assert pace["above"] < none["below"]
    last = capsys.readouterr().out.splitlines()[-1]
    ends = (pace["above"] / none["below"], pace["below"] / none["above"])
    lost = sorted({round(100 * (1 - part)) for part in ends})
    assert last == (
        f"Compared with throttle none: throttle pace:256 accepts {' to '.join(map(str, lost))} % less."
    )
    assert run([*ask, "--routing", "all", "--json"]) == 0
    both = capsys.readouterr()
    rows = {row.pop("routing"): row for row in json.loads(both.out)}
    assert [*rows] == [*fl._core.LISTS["routings"]]
    assert "ma with 3 channels is sa" in both.err
    assert rows["ma"]["saturation"] == rows["sa"]["saturation"]
    assert run([*ask, "--routing", "sa,ma", "--channels", "6", "--json"]) == 0
    assert "ma with 3 channels" not in capsys.readouterr().err
    assert run([*ask, "--within", "0"]) == 2
    assert "within: 0 is not a share" in capsys.readouterr().err
    assert compared([], ["routing"]) == ""


def test_a_curve_is_refined_around_saturation(capsys):
    curve = ["load", "curve", "--torus", "8x8", "--pattern", "torn", "--rates", "0.1,0.5", "--json"]
    assert run([*curve, "--measure", "1000"]) == 0
    rows = json.loads(capsys.readouterr().out)
    found = verdict(rows)
    assert [row["rate"] for row in rows] == sorted(row["rate"] for row in rows)
    loads = [found["below"], *found["undecided"], found["above"]]
    assert max(loads[1] - loads[0], loads[-1] - loads[-2]) <= 0.05 * found["above"]
    assert run([*curve, "--measure", "1000", "--refine", "0"]) == 0
    assert [row["rate"] for row in json.loads(capsys.readouterr().out)] == [0.1, 0.5]
    assert run([*curve, "--refine", "1"]) == 2


def test_routers_and_lengths_may_be_lists(capsys):
    ask = ["load", "steady", "--torus", "4x4", "--pattern", "rand", "--rate", "0.1", "--measure", "300"]
    assert run([*ask, "--buffer", "4,16", "--length", "4,8", "--channels", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["buffer"], row["length"]) for row in rows] == [
        ("4", "4"), ("4", "8"), ("16", "4"), ("16", "8"),
    ]  # fmt: skip
    assert "channels" not in rows[0]
    assert rows[0]["router"].endswith("3 channels of 4 flits: one packet")
    assert run([*ask, "--flow-control", "wormhole,cut-through", "--json"]) == 0
    shown = capsys.readouterr()
    assert [row["flow_control"] for row in json.loads(shown.out)] == ["wormhole", "cut-through"]
    assert shown.err == ""
    assert run([*ask, "--buffer", "4,x"]) == 2
    assert "buffer" in capsys.readouterr().err
    assert run([*ask, "--latency", "4", "--wrap", "yes,no", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert row["latency"] > rows[0]["latency"] + 4


def test_latency_means_the_same_everywhere(tmp_path, capsys):
    # One hop, a packet at a time: h + L + 1 in every verb.
    row = run_steady(experiment("next", size=8), measure=4000, warm_up=0).row
    assert run(["simulate", "--torus", "8x8", "--pattern", "next", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["latency"] == 1 + 8 + 1 == row["median"]
    spec = tmp_path / "load.toml"
    spec.write_text(
        '[topology]\nsizes = "8x8"\n[traffic]\nkind = "load"\npattern = "rand"\nrate = 0.02\ncycles = 2000\n'
    )
    assert run(["sweep", str(spec), "--grid", "traffic.rate=0.02,0.9", "-o", str(tmp_path / "s.csv")]) == 0
    low, high = csv.DictReader((tmp_path / "s.csv").read_text().splitlines())
    result = fl.simulate(fl.Network(fl.Torus(8, 8)), fl.Load("rand", rate=0.02, cycles=2000), packets=True)
    ages = result.packets.tail_arrival + 2 - result.packets.generated
    assert float(low["latency"]) == pytest.approx(float(ages.mean())) == result.mean_latency
    assert (low["saturated"], high["saturated"]) == ("False", "True")
    assert run(["plot", str(tmp_path / "s.csv"), "--x", "rate", "--y", "latency"]) == 0


def test_latencies_beyond_saturation_are_not_drawn():
    rows = [
        {"traffic.rate": rate, "latency": latency, "throughput": rate, "saturated": saturated}
        for rate, latency, saturated in [(0.1, 12, "False"), (0.2, 15, "False"), (0.3, 900, "True")]
    ]
    axes = plot_curves(rows, "traffic.rate", "latency", ax=Figure().subplots())
    assert axes.lines[0].get_xdata().tolist() == [0.1, 0.2]
    assert "arrow: saturated" in [text.get_text() for text in axes.texts]
    assert axes.get_xlim()[1] >= 0.3
    axes = plot_curves(rows, "traffic.rate", "throughput", ax=Figure().subplots())
    assert axes.lines[0].get_xdata().tolist() == [0.1, 0.2, 0.3]


def test_a_saturation_below_the_least_load_of_a_search_is_still_measured() -> None:
    fields = {"traffic": {"hotspot_fraction": 1.0}}
    [case] = make_cases(fields, {"torus": ["128x128"], "pattern": ["hots"]})
    [row], _ = run_saturation([case], measure=100, workers=1)
    assert row["points"] == 1
    assert 0 < row["bound"] < 1e-4
    assert (row["below"] or 0) < row["above"] <= 1.06 * row["bound"]


def test_cases_are_called_so_that_a_sentence_says_what_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    curve = "load curve --mesh 4x4 --pattern bcmp --rates 0.1,0.95 --measure 200 --refine 0"
    assert run([*curve.split(), "--buffer", "4,16", "--throttle", "none,pt", "-o", "curve.csv"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "saturates between" in line]
    names = [f"throttle {throttle}, buffer {buffer}" for throttle in ("none", "pt") for buffer in (4, 16)]
    assert told == [f"{name} saturates between 0.1 and 0.95 flits/node/cycle" for name in names]


def test_a_network_without_sizes_is_named(capsys):
    loads = ["--pattern", "rand", "--rates", "0.05", "--measure", "200", "--refine", "0", "--json"]
    assert run(["load", "curve", "--network", "fattree(4)", *loads]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["network"] == "fattree(4) with 16 hosts"
    assert run(["load", "curve", "--torus", "4x4", *loads]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert "network" not in row
    assert row["torus"] == "4x4"


def test_cases_whose_intervals_overlap_are_not_told_apart():
    rows = [
        {"tables": name, "saturation": (low + high) / 2, "outcome": "measured", "below": low, "above": high}
        for name, low, high in (("a", 0.39, 0.43), ("b", 0.4, 0.44), ("c", 0.44, 0.47), ("d", 0.2, 0.22))
    ]
    assert fl.load.compared(rows, ["tables"]) == (
        "Compared with a: b cannot be told apart; c accepts 2 to 21 % more; d accepts 44 to 53 % less."
    )


def test_loads_of_networks_of_other_sizes_are_compared_per_node_port_and_bisection():
    def row(name, load):
        ends = {"below": 0.99 * load, "above": 1.01 * load}
        return {"torus": name, "saturation": load, "outcome": "measured", **ends}

    rows = [row("8x8", 0.4), row("16x16", 0.2), row("8x16", 0.2)]
    shapes = [shape_of(fl.Torus(*sizes)) for sizes in ((8, 8), (16, 16), (8, 16))]
    # By hand: 32, 64 and 32 channels cross the middle, 2, 4 and 4 nodes each; all have four ports per node.
    scales = "accepts 49 to 51 % less per node, per channel of the bisection cannot be told apart"
    assert fl.load.compared(rows, ["torus"], shapes) == (
        f"Compared with 8x8 torus: 16x16 torus {scales}; 8x16 torus {scales}."
    )
    mesh = [{**row(name, 0.4), "network": name} for name in ("torus 4x4", "mesh 4x4")]
    shapes = [shape_of(fl.Torus(4, 4)), shape_of(fl.Mesh(4, 4))]
    # 64 and 48 channels for 16 nodes, 16 and 8 across the middle.
    assert fl.load.compared([{**mesh[0]}, {**mesh[1], "below": 0.5, "above": 0.5}], ["network"], shapes) == (
        "Compared with torus 4x4: mesh 4x4 accepts 24 to 26 % more per node, per port 65 to 68 % more, "
        "per channel of the bisection 148 to 153 % more."
    )
    # Without a known size of a network there is no other scale, and the scale is said all the same.
    assert fl.load.compared(rows[:2], ["torus"], [None, None]) == (
        "Compared with 8x8 torus: 16x16 torus accepts 49 to 51 % less per node."
    )
    # One network under other rules has one scale.
    alike = [{**row("8x8", load), "throttle": name} for load, name in ((0.4, "none"), (0.2, "pt"))]
    told = fl.load.compared(alike, ["throttle"], [shape_of(fl.Torus(8, 8))] * 2)
    assert told == "Compared with throttle none: throttle pt accepts 49 to 51 % less."


def test_a_rate_above_the_bound_that_booksim_calls_stable_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mesh.cfg").write_text(
        "topology = mesh; k = 8; n = 2; routing_function = dor; num_vcs = 8; traffic = transpose;\n"
        "packet_size = 4; injection_rate_uses_flits = 1; sample_period = 500;\n"
    )
    assert run(["load", "curve", "mesh.cfg", "--rates", "0.1,0.15", "--refine", "0"]) == 0
    *_, bound, told = capsys.readouterr().out.splitlines()
    assert bound == "the busiest link allows an injection_rate of at most 0.1429"
    assert told.startswith("0.15 is above that: BookSim2 calls it stable")
    assert run(["load", "curve", "mesh.cfg", "--rates", "0.05,0.1", "--refine", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == bound


def test_a_curve_in_a_table_ends_with_its_arrow_where_it_saturates(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["torus,pattern,rate,saturated,latency", "8x8,bcmp,0.1,False,14", "8x8,bcmp,0.2,True,"]
    (tmp_path / "curve.csv").write_text("\n".join(rows) + "\n")
    drawn = []
    from flitloom.plots import curves

    draw = curves.plot_curves
    monkeypatch.setattr(curves, "plot_curves", lambda *given, **named: drawn.append(draw(*given, **named)))
    assert run(["plot", "curve.csv", "--x", "rate", "--y", "latency"]) == 0
    [axes] = drawn
    [arrow] = [text for text in axes.texts if text.arrow_patch is not None]
    assert arrow.xy == (0.2, 1.0)
    # It is seen to climb.
    assert axes.get_ylim()[1] > 1.3 * 14
    assert axes.get_xlim()[1] > 0.2
    assert (axes.get_xlabel(), axes.get_title()) == ("rate (flits/node/cycle)", "8x8 torus, bcmp")
    capsys.readouterr()


def test_a_short_run_is_drawn_as_a_line(pictures_are_looked_at, tmp_path):
    picture = tmp_path / "steady.png"
    short = ["--warm-up", "300", "--measure", "200", "--limit", "400", "--picture", str(picture)]
    assert run(["load", "steady", "--torus", "4x4", "--pattern", "rand", "--rate", "0.1,0.2", *short]) == 0
    [(figure, _)] = pictures_are_looked_at
    for axes in figure.axes:
        assert [len(line.get_xdata()) > 2 for line in axes.lines] == [True, True]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["rate 0.1", "rate 0.2"]
    assert figure._suptitle.get_text() == "Steady state: 4x4 torus, rand"


def test_points_that_cannot_be_run_end_no_others(tmp_path, capsys):
    """A ring without escape channels deadlocks; sources of the process gap do not reach every load."""
    out = tmp_path / "points.csv"
    ring = ["--torus", "8", "--pattern", "rand", "--channels", "1", "--ties", "wrap", "--buffer", "4"]
    how = ["--measure", "2000", "--refine", "0"]
    assert run(["load", "curve", *ring, "--rates", "0.1,0.9", *how, "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "does not saturate up to 0.1 flits/node/cycle; deadlock at 0.9\n" in told
    assert "deadlock at cycle" in told
    rows = out.read_text().splitlines()
    assert [row.split(",").count("deadlock") for row in rows[1:]] == [0, 1]
    gap = ["--torus", "4x4", "--pattern", "rand", "--length", "2", "--process", "gap"]
    picture = tmp_path / "curve.png"
    assert run(["load", "curve", *gap, "--rates", "0.2,0.8", *how, "--json", "--picture", str(picture)]) == 0
    low, high = json.loads(capsys.readouterr().out)
    assert list(low) == list(high)
    assert (low["verdict"], low["cause"]) == ("steady", None)
    assert (high["verdict"], high["saturated"], high["accepted"]) == ("impossible", None, None)
    assert "reaches 0.6667 at most" in high["cause"]
    assert picture.stat().st_size > 1000
    # Alone it is an error.
    assert run(["load", "curve", *gap, "--rates", "0.8", *how]) == 2


def test_a_deadlock_beyond_saturation_does_not_hide_it(monkeypatch):
    """Only the run for the plateau says how long it warms up."""
    beyond = []

    def stuck(experiment, **how):
        if how["warm_up"] is not None:
            beyond.append(experiment.traffic.rate)
            raise fl.DeadlockError("a circle", 10, [], 4)
        return run_steady(experiment, **how)

    monkeypatch.setattr("flitloom.load.search.run_steady", stuck)
    cases = make_cases({}, {"torus": ["8x8"], "pattern": ["rand"]})
    [row], _ = run_saturation(cases, within=0.05, measure=1000)
    assert (row["outcome"], row["plateau"]) == ("measured", None)
    assert beyond == [pytest.approx(1.2 * row["saturation"])]


def test_sources_of_the_process_gap_end_a_search(capsys):
    """Packets of 2 flits with a pause between them: two thirds of what a link takes."""
    gap = ["--torus", "4x4", "--pattern", "next", "--length", "2", "--process", "gap", "--measure", "1000"]
    assert run(["load", "saturation", *gap, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["outcome"], row["above"]) == ("not reached", None)
    assert row["below"] == pytest.approx(0.66, abs=0.01)
