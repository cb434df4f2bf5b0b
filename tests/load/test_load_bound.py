"""Static analysis: channel loads, ideal throughput and bounds, without simulating."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flitloom as fl
from flitloom.analysis import minimal_routes
from flitloom.analysis.channel_loads import OBLIVIOUS, TIES, channel_loads
from flitloom.analysis.demands import Demands, make_demands
from flitloom.analysis.load_bound import load_bound, uniform_rule
from flitloom.analysis.minimal_routes import minimal_routes_bound
from flitloom.commands import run
from flitloom.errors import SpecError

SHAPES = [
    fl.Torus(8),
    fl.Torus(8, 8),
    fl.Torus(4, 8, 4),
    fl.Mesh(8, 4),
    fl.Torus(4, 8, wrap=(True, False)),
]


@pytest.mark.parametrize("topology", SHAPES, ids=str)
@pytest.mark.parametrize("pattern", ["bcmp", "brev", "brot", "shfl", "torn", "next", "rpar"])
@pytest.mark.parametrize("ties", ["wrap", "balanced"])
def test_loads_of_dimension_order_are_the_flits_the_simulator_counts(topology, pattern, ties):
    network = fl.Network(topology, fl.Router(ties=ties))
    traffic = fl.Collective(pattern, payload=0)
    flits = fl.simulate(network, traffic, seed=3).links.flits
    loads = channel_loads(make_demands(network, traffic, 3), ties=ties)
    assert loads.scale == 1
    assert np.array_equal(loads.array().values, flits.values)


@pytest.mark.parametrize("topology", [*SHAPES, fl.Torus(5, 6), fl.Torus(3, 2, 4)], ids=str)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("routing", OBLIVIOUS)
def test_products_of_weights_are_all_their_pairs(topology, ties, routing):
    """Uniform traffic as one product, and listed pair by pair: two ways through the code."""
    nodes = topology.nodes
    random = np.random.default_rng(nodes)
    sending, receiving = random.integers(0, 5, size=(2, nodes))
    pairs = [(s, d, sending[s] * receiving[d]) for s in range(nodes) for d in range(nodes) if s != d]
    none = np.zeros((0, 3), dtype=np.int64)
    whole = Demands(topology, none, ((sending, receiving),), 7)
    listed = Demands(topology, np.array(pairs), (), 7)
    assert np.array_equal(whole.sent, listed.sent)
    assert np.array_equal(whole.received, listed.received)
    first, second = (channel_loads(demands, routing, ties) for demands in (whole, listed))
    assert first.scale == second.scale
    assert np.array_equal(first.counts, second.counts)


def test_weights_and_classes_are_what_they_are_made_of():
    network = fl.Network(fl.Torus(4, 4))

    def exact(**fields):
        demands = make_demands(network, fl.Load(**fields, rate=0.1, cycles=100))
        loads = channel_loads(demands)
        return loads.counts / loads.scale, demands.received / demands.scale

    uniform, transpose = exact(pattern="rand"), exact(pattern="trns")
    even = (3 - 3 * np.eye(16, dtype=int)).tolist()
    assert all(np.allclose(ours, theirs) for ours, theirs in zip(exact(weights=even), uniform, strict=True))
    mixed = exact(classes=[fl.TrafficClass("rand", weight=3), fl.TrafficClass("trns", weight=1)])
    for ours, first, second in zip(mixed, uniform, transpose, strict=True):
        assert np.allclose(ours, 0.75 * first + 0.25 * second)
    # Node 0 sends a third to node 1, the rest the other way round to node 2; the others keep their packets.
    few = np.zeros((16, 16), dtype=int)
    few[0, 1:3] = (1, 2)
    demands = make_demands(network, fl.Load(weights=few.tolist(), rate=0.1, cycles=100))
    assert demands.receive_bound == Fraction(3, 5)
    assert channel_loads(demands).ideal_throughput == Fraction(3, 2)


def test_weights_too_fine_to_add_up_are_refused():
    rows = np.diag(np.arange(1, 33) * 2 + 1).astype(int)
    rows[:, 0] += 1000003
    load = fl.Load(weights=rows.tolist(), rate=0.1, cycles=1)
    with pytest.raises(SpecError, match="too fine"):
        make_demands(fl.Network(fl.Torus(4, 8)), load)


def test_hotspots_are_what_sources_draw():
    """Shares of a long load that is simulated, and the exact ones."""
    network = fl.Network(fl.Torus(6, 4))
    load = fl.Load("hots", hotspot_fraction=0.25, hotspot_target=7, rate=0.05, length=1, cycles=20_000)
    flits = fl.simulate(network, load).links.flits.values / load.cycles / load.rate
    loads = channel_loads(make_demands(network, load)).array().values
    # About 1000 flits per node: six standard deviations.
    assert np.allclose(flits, loads, atol=6 * np.sqrt(loads.max() / 1000))
    bound = make_demands(network, load).receive_bound
    assert bound == 1 / (Fraction(1, 4) * 23 + Fraction(3, 4))


def test_known_throughputs():
    """8/N for uniform traffic with the own node counted in (scaling-effects-2007), 1/8 for bcmp at N = 32."""
    network = fl.Network(fl.Torus(32, 32))
    uniform = channel_loads(make_demands(network, fl.Collective("rand")), ties="split")
    assert uniform.ideal_throughput == Fraction(8, 32) * Fraction(1023, 1024)
    assert uniform_rule(network.topology) == Fraction(1, 4)
    bound = load_bound(network, fl.Collective("bcmp"))
    assert bound.throughput("do") == bound.minimal_throughput == Fraction(1, 8)
    # Valiant's two phases are uniform whatever the pattern, but for nodes that keep their packets.
    assert load_bound(network, fl.Collective("torn"), ["valiant"]).throughput("valiant") == Fraction(2, 17)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([fl.Torus(4, 4), fl.Mesh(4, 3), fl.Torus(6), fl.Torus(2, 3, 4)]),
    st.integers(0, 2**32 - 1),
)
def test_bounds_are_below_what_routes_reach(topology, seed):
    """Whatever the traffic: no split that was found, and no oblivious minimal routing, is below the bound."""
    random = np.random.default_rng(seed)
    pairs = np.array(
        [(s, random.integers(topology.nodes), random.integers(1, 9)) for s in range(topology.nodes)]
    )
    demands = Demands(topology, pairs, (), 8)
    bound = minimal_routes_bound(demands, rounds=20)
    assert bound.found is None or float(bound.least) <= bound.found + 1e-9
    for routing in ("do", "o1turn"):
        assert bound.least <= channel_loads(demands, routing).largest


def test_the_search_comes_near_the_linear_program(monkeypatch):
    network = fl.Network(fl.Torus(8, 8))
    for pattern in ("trns", "brot", "bcmp"):
        demands = make_demands(network, fl.Collective(pattern))
        solved = minimal_routes_bound(demands)
        assert solved.found == pytest.approx(float(solved.least), rel=1e-5)
        with monkeypatch.context() as patch:
            patch.setattr(minimal_routes, "LARGEST_PROGRAM", 0)
            searched = minimal_routes_bound(demands)
        assert searched.proof in ("prices", "volume")
        assert 0.9 * solved.least <= searched.least <= solved.least * (1 + Fraction(1, 10**5))
        assert solved.found <= searched.found + 1e-6 <= 1.05 * solved.found


def test_the_program_knows_all_routes():
    """One pair, far apart on a mesh: its flow spreads over the two links of the corner and no further."""
    mesh = fl.Mesh(4, 4)
    demands = Demands(mesh, np.array([(0, 15, 1)]), (), 1)
    assert minimal_routes_bound(demands).least == Fraction(1, 2)
    # Half of a ring away, the tie splits: twice as many ways.
    ring = Demands(fl.Torus(4), np.array([(0, 2, 1)]), (), 1)
    assert minimal_routes_bound(ring).least == Fraction(1, 2)


def test_the_command_prints_what_python_computes(capsys):
    assert run(["load", "bound", "--torus", "32x32", "--pattern", "bcmp", "--routing", "do", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["routings"] == {"do": {"throughput": 0.125, "largest_load": 8.0, "busiest_link": "(0,0)-x"}}
    assert found["minimal_routes"]["throughput"] == 0.125
    assert (found["receive_bound"], found["uniform_rule"]) == (1.0, 0.25)
    assert run(["load", "bound", "--torus", "8x8", "--pattern", "hots"]) == 0
    assert "o1turn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pattern", "bcmp", "--routing", "sa"], "not fixed by the traffic"),
        (["--pattern", "bcmp", "--ties", "left"], "must be one of balanced, wrap, split"),
        (["--pattern", "fish"], "fish"),
        ([], "pattern or destinations"),
    ],
)
def test_requests_that_cannot_be_met(options, message, capsys):
    assert run(["load", "bound", "--torus", "8x8", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("product", ["full4 x ring4", "full8 x full4", "full5 x line3", "full2 x ring4"])
@pytest.mark.parametrize("pattern", ["rpar", "torn", "next"])
def test_loads_of_products_are_the_flits_the_simulator_counts(product, pattern):
    network, traffic = fl.Network(fl.Product(product)), fl.Collective(pattern, payload=0)
    links = fl.simulate(network, traffic, seed=3).links
    loads = channel_loads(make_demands(network, traffic, 3)).array()
    assert np.array_equal(loads.values, links.flits.values)
    assert list(loads.direction.values) == list(links.direction.values)
    used = links.flits.values.sum(axis=tuple(range(links.flits.ndim - 1)))
    assert minimal_routes_bound(make_demands(network, traffic, 3)).least <= used.max()


def test_products_of_weights_are_all_their_pairs_on_full_meshes():
    network = fl.Network(fl.Product("full4 x ring4"))
    uniform = make_demands(network, fl.Collective("rand"))
    pairs = np.array([(s, d, 1) for s in range(16) for d in range(16) if s != d])
    listed = Demands(network.topology, pairs, (), uniform.scale)
    for routing in OBLIVIOUS:
        first, second = (channel_loads(demands, routing) for demands in (uniform, listed))
        assert np.array_equal(first.counts, second.counts)
    assert minimal_routes_bound(uniform).least == minimal_routes_bound(listed).least


@pytest.mark.parametrize("name", ["full4 x full4", "dragonfly(2,1)", "fattree(4)", "fat-tree(4)"])
def test_bounds_of_switches_are_those_of_their_tables(name, capsys):
    ask = ["--network", name, "--model", "pipelined", "--pattern", "rand", "--json"]
    assert run(["load", "bound", *ask]) == 0
    found = json.loads(capsys.readouterr().out)
    tables = found["routings"]["tables"]
    assert 0 < found["minimal_routes"]["largest_load"] <= tables["largest_load"]
    assert found["uniform_rule"] is None
    # A search within 0.2 ends at 0.8 of the bound where that is steady, without a saturation.
    quick = ["--within", "0.1", "--measure", "300"]
    assert run(["load", "saturation", *ask, *quick]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["outcome"] == "measured"
    assert row["bound"] == tables["throughput"] >= row["saturation"]
    assert run(["load", "bound", *ask, "--routing", "do"]) == 2
    assert "--routing: switches with hosts go by their tables" in capsys.readouterr().err


def test_hops_over_channels_bound_every_table():
    """On a ring of switches with one host each, shortest ways of all pairs fill all channels alike."""
    from flitloom.analysis.switch_loads import any_tables_bound
    from flitloom.networks.fabric import Fabric

    ring = Fabric(network="ring5")
    demands = make_demands(fl.Network(ring, fl.Router(model="pipelined")), fl.Collective("rand"))
    # Each of 5 nodes has 2 others one hop and 2 others two hops away; 10 channels.
    assert any_tables_bound(demands, ring.subnet).least == Fraction(5 * 6, 4 * 10)


def test_failed_parts_are_refused():
    network = fl.Network(fl.Torus(4, 4, failed_nodes=[3]))
    with pytest.raises(SpecError, match="healthy"):
        load_bound(network, fl.Collective("rand"))
