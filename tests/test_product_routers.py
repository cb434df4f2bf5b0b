"""Products with full meshes in routers of one cycle."""

import json

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.spec.experiment import build_experiment
from flitloom.spec.factored import Factored
from flitloom.spec.switched import Switched


def test_all_to_all_over_a_full_mesh_uses_every_link_once():
    rows = [(a, b, 3, 0) for a in range(8) for b in range(8) if a != b]
    result = fl.simulate(fl.Network(fl.Product("full8")), fl.Packets(rows))
    assert result.packets_delivered == len(rows)
    assert result.flit_hops == 3 * len(rows)
    used = result.links["flits"].values
    assert sorted(used.ravel().tolist()) == [0] * 8 + [3] * 56
    assert np.array_equal(used > 0, result.links["works"].values)
    assert list(result.network.directions) == ["+x", "-x", "+2x", "-2x", "+3x", "-3x", "+4x", "-4x"]


def test_a_product_of_rings_and_lines_is_as_a_torus_or_mesh():
    load = fl.Load("rand", rate=0.3, cycles=500)
    for product, plain in (
        ("ring4 x line3", fl.Torus(4, 3, wrap=[True, False])),
        ("ring5 x ring4", fl.Torus(5, 4)),
    ):
        one, other = (fl.simulate(fl.Network(network), load) for network in (fl.Product(product), plain))
        assert one.fingerprint == other.fingerprint


def test_hops_are_the_differing_coordinates():
    result = fl.simulate(fl.Network(fl.Product("full5 x full4")), fl.Packets([(0, 19, 1, 0), (3, 8, 1, 0)]))
    assert result.flit_hops == 3
    assert result.duration == 4


def test_the_model_says_which_routers():
    load = {"kind": "load", "pattern": "rand", "rate": 0.1, "cycles": 100}
    fields = {"topology": {"network": "full4 x ring4"}, "traffic": load}
    plain = build_experiment(fields)
    pipelined = build_experiment({**fields, "router": {"model": "pipelined"}})
    assert isinstance(plain.topology, Factored)
    assert isinstance(pipelined.topology, Switched)
    for spec in (plain, pipelined):
        assert build_experiment(spec.model_dump(mode="json")).topology.is_as(spec.topology)


def test_the_command_line_runs_and_loads_products(capfd):
    assert run(["simulate", "--network", "full4 x full4", "--pattern", "shfl", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["engine"] == "general"
    words = ["load", "curve", "--network", "full4 x ring4", "--pattern", "rand", "--rates", "0.1,0.2"]
    assert run([*words, "--json"]) == 0
    assert "accepted" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("network", "options", "words"),
    [
        ("full4*2", [], "write full4, or give router.model = pipelined"),
        ("full64", ["--channels", "2"], "fewer channels or smaller full meshes"),
        ("full66", [], "at most 64; give router.model = pipelined"),
        ("full8", ["--html", "page.html"], "pages that move are for tori and meshes"),
        ("full8", ["--throttle", "spth"], "take a throttle without signals"),
        ("full8", ["--routing", "cl"], "take do, o1turn"),
    ],
)
def test_what_is_not_known_says_so(network, options, words, capfd):
    assert run(["simulate", "--network", network, "--pattern", "rand", *options]) == 2
    printed = capfd.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_schedules_do_not_know_full_meshes():
    with pytest.raises(fl.SpecError, match="for tori and meshes"):
        fl.plans.search(fl.Network(fl.Product("full4")), fl.Collective("shfl", payload=7))
