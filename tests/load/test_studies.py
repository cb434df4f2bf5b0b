"""What notebooks call: loads and advice as labelled arrays, tables of results, values that stay."""

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh

NETWORK = fl.Network(fl.Torus(4, 4))
SHUFFLE = fl.Collective("shfl", payload=14, slices=2)


def test_curves_of_several_networks_stand_beside_each_other():
    turning = fl.Network(fl.Torus(4, 4), fl.Router(routing="o1turn", channels=6))
    found = fl.load.curve({"do": NETWORK, "o1turn": turning}, "torn", [0.1, 0.9], refine=0, measure=1000)
    assert found.sizes == {"case": 2, "rate": 2}
    assert found.saturated.values.tolist() == [[False, True]] * 2
    # Beyond saturation there is no latency to draw.
    assert np.isnan(found.latency.sel(rate=0.9)).all()
    # Four hops at most, eight flits, two cycles in and out.
    assert (found.latency.sel(rate=0.1) > 8 + 2).all()
    assert found.accepted.attrs["units"] == "flits/node/cycle"
    assert found.router.sel(case="o1turn").item().startswith("o1turn")
    assert (found.accepted.sel(rate=0.9) <= found.bound + 0.02).all()
    lines = found.accepted.plot(hue="case")
    assert len(lines) == 2


def test_loads_may_be_described_whole():
    load = fl.Load("rand", rate=0.9, cycles=1, length=2)
    found = fl.load.saturation(fl.Network(fl.Torus(8, 8)), load, within=0.05, measure=300)
    assert found.saturation.units == "flits/node/cycle"
    assert float(found.below) < float(found.saturation) < float(found.above)
    # Two flits over two hops on average, at least.
    assert float(found.latency) > 2 + 2


def test_ramps_steps_and_bursts_say_what_they_found():
    ramp = fl.load.ramp(NETWORK, "trns", 0.1, cycles=20_000)
    assert 0.1 < ramp.attrs["critical_load"] <= ramp.attrs["bound"]
    assert ramp.ejected_flits.dims == ("window",)
    step = fl.load.step(NETWORK, "next", 0.5, cycles=4000)
    assert step.attrs["final"] == pytest.approx(0.5, abs=0.05)
    # Neighbours: eight packets of eight flits leave one port.
    burst = fl.load.burst(NETWORK, "next", 8)
    assert int(burst.duration) >= int(burst.bound) >= 8 * 8
    assert burst.bound.units == "cycles"
    assert int(burst.packets_delivered) == 8 * 16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fl.load.curve(fl.Torus(4, 4), "rand", [0.1]), "4x4 torus has no routers yet"),
        (lambda: fl.load.curve({}, "rand", [0.1]), "networks: names no network"),
        (lambda: fl.load.saturation(NETWORK, "shufle"), "did you mean shfl"),
        (lambda: fl.load.step(NETWORK, "rand", 2.0), "traffic.rate"),
        (
            lambda: fl.collectives.advise(fl.Torus(4, 4), ["1 parsec"]),
            "sizes: '1 parsec' is not understood; write a size",
        ),
    ],
)
def test_what_cannot_be_measured_is_told(call, message):
    with pytest.raises(fl.SpecError, match=message):
        call()


def test_advice_is_an_array_by_size_and_algorithm():
    found = fl.collectives.advise(fl.Torus(4, 4), ["1KiB", 2**20], "1us", "400Gb/s")
    rows = weigh(fl.Torus(4, 4), [1024, 2**20], 1e-6, 50e9)
    for row, size in enumerate((1024, 2**20)):
        one = found.sel(size=size)
        assert float(one.seconds.min()) == min(rows.seconds[row]) >= float(one.bound)
        assert str(one.best.values) == str(one.algorithm[int(one.seconds.values.argmin())].values)
    assert "bytes" in found._repr_html_()
    assert len(found.seconds.plot(hue="algorithm")) == found.sizes["algorithm"]


def test_throughput_is_flits_per_node_and_cycle():
    load = fl.Load("next", rate=0.5, length=5, cycles=5000)
    result = fl.simulate(NETWORK, load)
    assert result.throughput == result.flits_delivered / 16 / result.cycles == result.summary()["throughput"]
    assert result.throughput == pytest.approx(0.5, abs=0.03)


def test_names_of_the_package_are_those_for_users():
    assert set(dir(fl)) == set(fl.__all__)
    assert {"collectives", "load", "placing"} <= set(dir(fl))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (NETWORK, "router"),
        (NETWORK, "routr"),
        (fl.simulate(NETWORK, SHUFFLE), "spec"),
        (fl.tables.make(fl.Torus(4, 4)), "max_load"),
        (fl.collectives.plan(fl.Torus(4, 4), "all-gather"), "steps"),
        (fl.plans.search(NETWORK, SHUFFLE), "duration"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_values_are_not_changed_behind_the_back_of_what_was_computed(value, name):
    kind = type(value).__name__
    with pytest.raises(fl.SpecError, match=f"{kind}.{name}: an? {kind} is immutable; create a new one"):
        setattr(value, name, 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (NETWORK, ["network: 4x4 torus", "buffer", "4"]),
        (fl.collectives.plan(fl.Torus(4, 4), "all-gather"), ["all-gather on 4x4 torus", "steps", "optimal"]),
        (
            fl.tables.check(fl.tables.make(fl.Torus(4, 4))),
            ["check of tables of a 4x4 torus", "deadlock", "none possible"],
        ),
        (fl.stack(NETWORK, SHUFFLE), ["best interval", "whole packet"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_notebooks_show_tables(value, words):
    page = value._repr_html_()
    assert page.startswith("<table>")
    assert all(word in page for word in words), page
