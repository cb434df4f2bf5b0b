"""Files of BookSim2 as experiments: the packets of their runs, pages, saved states, other packets."""

import json
import re

import numpy as np
import pytest

import flitloom as fl
from flitloom.booksim import Options, experiment, run
from flitloom.commands import run as command
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.networks.experiment import build_experiment

SHORT = {"sample_period": "60", "max_samples": "3", "sim_type": "throughput", "warmup_periods": "1"}
FILES = {
    "mesh": {"topology": "mesh", "k": "4", "routing_function": "dor", "num_vcs": "2", "packet_size": "3"},
    "torus": {
        "topology": "torus",
        "k": "4",
        "routing_function": "dim_order",
        "num_vcs": "4",
        "traffic": "tornado",
    },
    "cube": {"topology": "torus", "k": "3", "n": "3", "routing_function": "dim_order", "num_vcs": "2"},
    "adaptive": {"topology": "mesh", "k": "4", "routing_function": "min_adapt", "num_vcs": "4"},
    "shared": {
        "topology": "mesh",
        "k": "3",
        "routing_function": "dor",
        "buffer_policy": "shared",
        "buf_size": "9",
        "num_vcs": "2",
    },
    "speculative": {
        "topology": "mesh",
        "k": "4",
        "routing_function": "dor",
        "speculative": "1",
        "vc_allocator": "islip(2)",
        "vc_buf_size": "2",
        "wait_for_tail_credit": "1",
        "credit_delay": "2",
        "injection_rate": "0.4",
    },
}

#: Node 3 enters at router 0.
ANY = """router 0 node 0 node 3 router 1 4
router 1 node 1 router 2
router 2 node 2 node 4 router 0 2
"""
OF_SWITCHES = {
    "cmesh": {
        "topology": "cmesh",
        "k": "4",
        "c": "4",
        "x": "4",
        "y": "4",
        "xr": "2",
        "yr": "2",
        "routing_function": "dor",
    },
    "flatfly": {
        "topology": "flatfly",
        "k": "4",
        "c": "4",
        "x": "4",
        "y": "4",
        "xr": "2",
        "yr": "2",
        "routing_function": "ran_min",
    },
    "dragonfly": {"topology": "dragonflynew", "k": "2", "n": "1", "routing_function": "min"},
    "any": {"topology": "anynet", "routing_function": "min"},
    "tree": {"topology": "fattree", "k": "2", "n": "3", "routing_function": "nca"},
}


@pytest.mark.parametrize("options", FILES.values(), ids=FILES)
def test_the_packets_of_a_run_arrive_in_the_same_cycles(options):
    read = Options.of({"injection_rate": "0.2", **options, **SHORT})
    log = run(read, packets=True).packets
    found = experiment(read)
    assert found.topology.nodes == int(options["k"]) ** int(options.get("n", "2"))
    result = fl.run_experiment(found)
    assert result.packets_delivered == len(log["packet"]) > 100
    # From the creation of packets to the arrival of their tails, which is counted in one way by both.
    assert result.to_dict()["latency"] == pytest.approx(np.mean(np.subtract(log["tail"], log["created"])))
    # What a link carries, packets pass.
    flits = sum(size * (hops - 1) for size, hops in zip(log["size"], log["hops"], strict=True))
    assert result.flit_hops == flits


def read_of(options, folder):
    """The options of a network of switches, with its file if it has one."""
    if options["topology"] == "anynet":
        (folder / "any.txt").write_text(ANY)
        options = {**options, "network_file": str(folder / "any.txt")}
    return Options.of({"injection_rate": "0.2", "packet_size": "3", **options, **SHORT})


@pytest.mark.parametrize("name", ["cmesh", "flatfly", "any"])
def test_packets_arrive_in_the_same_cycles_between_hosts_of_switches(name, tmp_path):
    read = read_of(OF_SWITCHES[name], tmp_path)
    log = run(read, packets=True).packets
    found = experiment(read)
    result = fl.run_experiment(found, links=True)
    assert result.packets_delivered == len(log["packet"]) > 30
    # Of the routers that a packet passes the last one sends it to its node.
    flits = sum(size * (hops - 1) for size, hops in zip(log["size"], log["hops"], strict=True))
    assert result.flit_hops == flits == int(result.links["flits"].sum())
    again = fl.Experiment.model_validate_json(found.model_dump_json())
    assert again == found


def test_packets_of_ones_own_go_over_the_cables_of_any_network(tmp_path):
    network, router = fl.booksim.network(read_of(OF_SWITCHES["any"], tmp_path))
    assert [host.switch for host in network.subnet.hosts] == [0, 1, 2, 0, 2]
    made = fl.Network(network, router)
    assert (made.name_of_node(3), made.nodes) == ("n3", 5)
    crossed = {}
    for pair in [(3, 1), (0, 2), (4, 0), (1, 4)]:
        flits = fl.simulate(made, fl.Packets([(*pair, 5, 0)])).links["flits"].to_numpy().tolist()
        assert set(flits) <= {0, 5}
        crossed[pair] = {made.name_of_link(link) for link, count in enumerate(flits) if count}
    ends = {pair: sorted(re.sub("/[0-9]+", "", name) for name in names) for pair, names in crossed.items()}
    # The link from router 0 to router 1 has latency 4: over router 2 it is less.
    assert ends == {
        (3, 1): ["r0 -> r2", "r2 -> r1"],
        (0, 2): ["r0 -> r2"],
        (4, 0): ["r2 -> r0"],
        (1, 4): ["r1 -> r2"],
    }


@pytest.mark.parametrize(("name", "nodes"), [("tree", 8), ("dragonfly", 72)])
def test_where_headers_draw_packets_are_ones_own(name, nodes, tmp_path):
    """A header draws which way is up, or the channel that it begins with."""
    read = read_of(OF_SWITCHES[name], tmp_path)
    with pytest.raises(fl.SpecError, match="the packets of the run arrive in other cycles"):
        experiment(read)
    result = fl.run_experiment(experiment(read, fl.Collective("rand")))
    assert result.packets_delivered == nodes
    with pytest.raises(
        fl.SpecError, match=rf"router\.options: are missing for .* of BookSim2 with {nodes} nodes"
    ):
        fl.Network(fl.booksim.network(read)[0], fl.Router(model="pipelined"))


def test_bounds_of_other_routing_functions_hold_for_any_routes():
    loads = []
    for name in ("mesh", "adaptive", "torus"):
        found = experiment(Options.of({**FILES[name], **SHORT}), fl.Load("torn", rate=0.1, cycles=10))
        loads.append((ideal_loads(found)["bound_of"], router_text(found)))
    any_routes = "links under any routing"
    assert [basis for basis, _ in loads] == ["links in dimension order", any_routes, any_routes]
    assert loads[1][1] == "pipelined: min_adapt of BookSim2, 4 channels of 8 flits"
    straight = fl.run_experiment(experiment(Options.of({**FILES["mesh"], **SHORT})))
    assert straight.lower_bound is not None
    assert fl.run_experiment(experiment(Options.of({**FILES["torus"], **SHORT}))).lower_bound is None


def test_other_cycles_than_those_of_the_file_are_refused():
    drawn = {
        "topology": "mesh",
        "k": "4",
        "routing_function": "romm",
        "num_vcs": "4",
        "injection_rate": "0.3",
    }
    with pytest.raises(
        fl.SpecError, match="routing_function: is romm: the packets of the run arrive in other"
    ):
        experiment(Options.of({**drawn, **SHORT}))


def test_an_unstable_run_does_not_have_all_of_its_packets():
    full = {**FILES["mesh"], "injection_rate": "0.5", "sample_period": "100", "latency_thres": "50.0"}
    with pytest.raises(fl.SpecError, match="injection_rate: the run is unstable: it ends with"):
        experiment(Options.of(full))


#: Requests and replies with a channel each, of which there are fewer than by default.
ONE_CHANNEL_EACH = {"use_read_write": "1", "num_vcs": "2"} | {
    f"{kind}_{end}_vc": str(channel)
    for channel, kinds in enumerate((("read_request", "write_request"), ("read_reply", "write_reply")))
    for kind in kinds
    for end in ("begin", "end")
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": "2"}, "^classes: in experiments packets are of one class; give 1"),
        ({"use_read_write": "1", "num_vcs": "16"}, "^use_read_write: in experiments packets are of one"),
        (ONE_CHANNEL_EACH, "^use_read_write: in experiments packets are of one kind; give 0"),
        ({"subnets": "2"}, "^subnets: in experiments there is one network; give 1"),
        ({"num_vcs": "many"}, 'num_vcs: "many" is not a whole number'),
        (
            {"topology": "fly", "n": "2", "routing_function": "dest_tag"},
            "topology: has links that lead one way, which is no network of cables",
        ),
        (
            {"topology": "flatfly"},
            "routing_function: .* is not known on flatfly here; there are ran_min, xyyx",
        ),
    ],
)
def test_what_is_no_experiment_is_refused_by_its_option(changes, said):
    with pytest.raises(fl.SpecError, match=said):
        fl.run_experiment(
            experiment(Options.of({**FILES["mesh"], **SHORT, **changes}), fl.Packets([(0, 5, 2, 0)]))
        )


@pytest.mark.parametrize(
    "network",
    [
        fl.Torus(4, 4),
        fl.Mesh(8, 2),
        fl.Mesh(4, 4, failed_nodes=[5]),
        fl.Mesh(4, 4, failed_links=[(0, 1)]),
        "ring16",
        "full4 x full4",
    ],
    ids=str,
)
def test_options_are_of_the_network_that_they_describe(network):
    router = fl.Router(model="pipelined", options=FILES["mesh"])
    assert fl.Network("mesh 4x4", router).channels == 2
    with pytest.raises(fl.SpecError, match=r"router\.options: describe 4x4 mesh, and the network is "):
        fl.Network(network, router)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topology": "fattree", "k": "2"}, 'options.routing_function: "none" is not known on fattree'),
        (
            {"topology": "fly", "k": "2", "n": "2", "routing_function": "dest_tag"},
            "options.topology: has links that lead one way",
        ),
        ({"topology": "torus", "k": "4"}, "options.topology: is 4x4 torus, whose nodes have coordinates"),
        ({"topology": "fattree", "k": "x", "routing_function": "nca"}, "options.k: "),
        ({"nope": "1"}, "options.nope: 'nope' is unknown"),
    ],
)
def test_a_network_of_options_is_refused_by_its_option(options, said):
    fields = {
        "topology": {"options": options},
        "router": {"model": "pipelined"},
        "traffic": {"kind": "collective", "pattern": "rand"},
    }
    with pytest.raises(fl.SpecError, match=f"^{re.escape(f'topology.{said}')}"):
        build_experiment(fields)


def test_channels_buffer_and_latency_are_those_of_the_options():
    router = fl.Router(model="pipelined", options=FILES["torus"])
    assert (router.channels, router.buffer, router.latency) == (4, 8, 2)
    assert fl.Router(**router.model_dump()) == router
    for name in ("channels", "buffer", "latency"):
        with pytest.raises(fl.SpecError, match=rf"router\.{name}: is 7, and \d by the options of BookSim2"):
            fl.Router(model="pipelined", options=FILES["torus"], **{name: 7})
    with pytest.raises(fl.SpecError, match=r"router\.options\.num_vcs: 'many' is not a whole number"):
        fl.Router(model="pipelined", options={**FILES["torus"], "num_vcs": "many"})


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "mesh.cfg"
    made.write_text("".join(f"{name} = {value};\n" for name, value in {**FILES["mesh"], **SHORT}.items()))
    return made


def test_packets_of_ones_own_go_over_the_network_of_a_file(file, capsys):
    (file.parent / "p.csv").write_text("source,destination,length,start\n0,15,4,0\n3,12,4,2\n")
    durations = []
    for change in ("routing_delay=1", "routing_delay=3"):
        assert command(["simulate", str(file), change, "--packet-table", "p.csv", "--json"]) == 0
        durations.append(json.loads(capsys.readouterr().out)["duration"])
    # Seven routers each.
    assert durations[1] - durations[0] == 14
    np.savetxt(file.parent / "m.csv", np.eye(16, k=3, dtype=int), fmt="%d", delimiter=",")
    assert command(["simulate", str(file), "--matrix", "m.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["packets_delivered"] == 13


def test_a_file_is_drawn_shown_and_saved(file, capsys):
    words = ["--picture", "a.png", "--html", "a.html", "--checkpoint", "a.flit", "--space-time", "b.png"]
    assert command(["simulate", str(file), *words]) == 0
    said = capsys.readouterr().err
    assert "mesh.cfg, in the same cycles" in said
    assert command(["view", str(file), "-o", "b.html", "--json"]) == 0
    for name in ("a.png", "a.html", "b.png", "b.html"):
        assert (file.parent / name).stat().st_size > 10_000


@pytest.mark.parametrize("options", [FILES["torus"], OF_SWITCHES["cmesh"]], ids=["torus", "cmesh"])
def test_a_saved_run_of_a_file_goes_on(options, tmp_path):
    found = experiment(Options.of({**options, **SHORT}))
    whole = fl.run_experiment(found)
    part = fl.Simulation(fl.Network(found.topology, found.router), found.traffic)
    part.step(70)
    part.save(tmp_path / "half.flit")
    rest = fl.Simulation.load(tmp_path / "half.flit")
    rest.run()
    assert rest.result().to_dict()["duration"] == whole.duration
    assert whole.duration > 70
    if options["topology"] == "cmesh":
        with pytest.raises(fl.SpecError, match=r"half\.flit' is of a network as a file of BookSim2 has it"):
            fl.Network(str(tmp_path / "half.flit"))
