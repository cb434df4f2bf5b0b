"""Which way packets go, as users say it."""

import copy
import json

import pytest

import flitloom as fl
from flitloom import _core
from flitloom.commands import run
from flitloom.networks.experiment import build_experiment

NAMES = [name for name, _, _ in _core.routing_functions()]


def network(routing, *sizes):
    return fl.Network(fl.Torus(*sizes), fl.Router(flow_control="cut-through", buffer=16), routing=routing)


@pytest.mark.parametrize(("name", "long", "summary"), _core.routing_functions())
def test_every_function_is_known_by_both_names(name, long, summary):
    router = fl.Router(routing=long, flow_control="cut-through")
    assert router == fl.Router(routing=name, flow_control="cut-through")
    assert router.routing == name
    assert f"``{name}``" in fl.Router.__doc__
    assert summary


@pytest.mark.parametrize("name", NAMES)
def test_results_keep_function_and_seed(name, tmp_path):
    net, load = network(name, 6, 6), fl.Load("rand", rate=0.2, cycles=150)
    whole = fl.simulate(net, load, seed=3)
    assert whole.spec.router.routing == name
    plain = fl.Network(net.topology, net.router, routing="do")
    assert fl.simulate(plain, load, seed=3, routing=name).fingerprint == whole.fingerprint
    sim = fl.Simulation(net, load, seed=3)
    sim.step(70)
    sim.save(tmp_path / "run.flit")
    again = fl.Simulation.load(tmp_path / "run.flit")
    other = copy.copy(sim)
    for one in (again, other):
        one.run()
        assert one.totals.fingerprint == whole.fingerprint


def test_channels_are_those_the_function_needs():
    assert {name: network(name, 8, 8).channels for name in NAMES} == {
        "do": 3, "sa": 3, "cl": 3, "ma": 3, "o1turn": 6, "valiant": 6, "ugal": 6,
    }  # fmt: skip
    assert network("valiant", 8).channels == 4


def test_the_command_line_takes_names(capsys):
    simulate = "simulate --torus 8x8 --pattern torn --packets 4 --flow-control cut-through --buffer 16 --json"
    hops = {}
    for name in NAMES:
        assert run([*simulate.split(), "--routing", name]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["packets_delivered"] == 256
        assert result["spec"]["router"]["routing"] == name
        hops[name] = result["flit_hops"]
    assert all((count == hops["do"]) == (name not in ("valiant", "ugal")) for name, count in hops.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--routing best", "router.routing: 'best' is unknown; it must be one of do, dimension-order, sa"),
        ("--routing given", "router.routing: 'given' is unknown"),
        ("--routing sa", "router.flow_control is wormhole; routing sa needs cut-through: packets that wait"),
        ("--routing o1turn --channels 3", "router.channels is 3; routing o1turn needs 6 on this shape"),
        (
            "--routing valiant --flow-control bubble --buffer 16",
            "router.routing is valiant, whose channels rely on",
        ),
        ("--routing o1turn --fail node:3", "router.routing is o1turn, which knows no failed parts"),
    ],
)
def test_what_cannot_run_ends_in_one_message(arguments, message, capsys):
    assert run(["simulate", "--torus", "8x8", "--pattern", "next", *arguments.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err


def test_packets_with_routes_follow_no_other_function():
    plan = fl.Packets([(0, 3, 8, 0)], routes=["+x3"])
    with pytest.raises(fl.SpecError, match=r"router\.routing is sa, but the packets bring their routes"):
        fl.simulate(network("sa", 8, 8), plan)


def test_a_spec_names_it():
    fields = {
        "topology": {"sizes": "8x8"},
        "router": {"routing": "cross-line", "flow_control": "cut-through", "buffer": 16},
        "traffic": {"kind": "load", "pattern": "rand", "rate": 0.1, "cycles": 100},
    }
    assert build_experiment(fields).router.routing == "cl"
