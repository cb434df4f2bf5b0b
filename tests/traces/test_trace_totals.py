"""A trace has the totals and the unit of time of other simulations."""

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.traces import Operation, write_chakra
from verbs import answer, made, refused

pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_trace_has_the_names_and_the_unit_of_other_simulations(capsys):
    # A microsecond of computing, then 1600 bytes to the neighbour: 100 flits and their 7 headers over a hop.
    write_chakra(
        [[Operation("calc", 1), Operation("send", 1600, 1, requires=[0])], [Operation("recv", 1600)]], "t.et"
    )
    plain = answer("simulate t.0.et --torus 4", capsys)
    timed = answer("simulate t.0.et --torus 4 --bandwidth 50GB/s", capsys)
    others = set(fl.simulate(fl.Network(fl.Torus(4)), fl.Collective("next")).to_dict())
    assert set(plain) == others | {"links", "makespan", "network", "ranks"}
    # At 0.32 ns a flit, a microsecond is 3125 cycles.
    assert timed["duration"] - plain["duration"] == 3125 - 1
    assert timed["time"] == pytest.approx(timed["makespan"] * 16 / 50e9)
    assert timed["flits_delivered"] == 107
    assert answer("simulate t.0.et --torus 4 --bandwidth 400Gb/s --flit-bytes 32", capsys)["time"] > 0
    made("convert t.0.et t.goal")
    assert "GOAL does not say how long" in refused("simulate t.goal --torus 4 --bandwidth 50GB/s", capsys)
    product = ["simulate", "t.0.et", "--network", "ring4 x full4"]
    assert run(product) == 0
    assert run([*product[:3], "dragonfly(4,2,2)"]) == 0
