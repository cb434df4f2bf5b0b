"""Simulations that are held."""

import copy
import pickle

import numpy as np
import pytest

import flitloom as fl


@pytest.mark.parametrize("records", [{}, {"packets": True, "link_time": True}])
def test_pieces_give_the_result_of_the_whole(records):
    net = fl.Network(fl.Torus(8, 8))
    load = fl.Load("rand", rate=0.3, cycles=300)
    whole = fl.simulate(net, load, **records)
    sim = fl.Simulation(net, load, **records)
    latencies = []
    for _ in range(5):
        sim.step(40)
        latencies.append(sim.totals.mean_latency)
    assert sim.now == 200
    assert not sim.finished
    middle = fl.simulate(net, load, stop_at=200)
    assert sim.result().to_dict() == {**middle.to_dict(), "engine": sim.engine}
    assert latencies[-1] == middle.mean_latency
    other = copy.copy(sim)
    sim.run()
    assert sim.finished
    assert sim.result().fingerprint == whole.fingerprint
    assert sim.totals.mean_latency == whole.mean_latency
    assert sim.result().links.equals(whole.links)
    if records:
        assert sim.result().packets.equals(whole.packets)
        assert np.array_equal(sim.result().link_time, whole.link_time)
    assert (other.now, other.finished) == (200, False)
    other.run()
    assert other.totals.fingerprint == whole.fingerprint


def test_occupancy_counts_the_flits_in_the_network():
    net = fl.Network(fl.Torus(8, 4))
    sim = fl.Simulation(net, fl.Collective("brot", payload=20))
    seen = 0
    while not sim.finished:
        flits = sim.occupancy()
        assert flits.sizes == {"y": 4, "x": 8, "direction": 4, "channel": 3}
        seen = max(seen, int(flits.max()))
        sim.step(7)
    assert seen == net.router.buffer
    assert int(sim.occupancy().sum()) == 0


def test_a_limit_leaves_a_run_that_can_go_on():
    sim = fl.Simulation(fl.Network(fl.Torus(16, 16)), fl.Collective("trns"))
    with pytest.raises(fl.CycleLimitError):
        sim.run(cycle_limit=30)
    assert sim.now == 30
    sim.run()
    assert sim.totals.duration == 74  # cup-stacking-2022, Table 2


def test_networks_and_results_pickle():
    net = fl.Network(fl.Torus(8, 8, failed_nodes=(3,)), fl.Router(buffer=6))
    again = pickle.loads(pickle.dumps(net))
    assert (again.topology, again.router) == (net.topology, net.router)
    sim = fl.Simulation(net, fl.Packets([(0, 9, 8, 0), (1, 8, 8, 5)]))
    sim.step(9)
    other = pickle.loads(pickle.dumps(sim))
    assert other.now == 9
    sim.run()
    other.run()
    assert other.result().to_dict() == sim.result().to_dict()
    result = fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("next"))
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()


def test_steps_go_forwards():
    sim = fl.Simulation(fl.Network(fl.Torus(4, 4)), fl.Collective("next"))
    with pytest.raises(fl.SpecError, match="cycles: -1 is negative"):
        sim.step(-1)
    with pytest.raises(fl.SpecError, match="until: -5 is out of range"):
        sim.run(until=-5)
    with pytest.raises(fl.SpecError, match="cycle_limit: -1 is out of range"):
        sim.run(cycle_limit=-1)


# Duration and sum of ages of bursts of ten packets, from an independent program.
@pytest.mark.parametrize(("pattern", "expected"), [("shfl", (762, 826902)), ("brev", (867, 942754))])
def test_bursts_on_the_router_of_2015(pattern, expected):
    net = fl.Network(fl.Torus(16, 16), fl.Router(preset="t15"))
    result = fl.simulate(net, fl.Collective(pattern, packets=10))
    assert (result.duration, result.summary()["age_sum"]) == expected


def test_nothing_of_a_simulation_is_set():
    simulation = fl.Simulation(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"))
    for name in ("network", "now", "nothing"):
        with pytest.raises(fl.SpecError, match=f"Simulation.{name}: cannot be set"):
            setattr(simulation, name, 3)
    assert simulation.now == 0
