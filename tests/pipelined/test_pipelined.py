"""Pipelined routers on flitloom's own networks, held against formulas, other engines and BookSim2."""

import json

import numpy as np
import pytest

import flitloom as fl
from fabrics import command
from flitloom import _core
from flitloom.errors import DeadlockError, SpecError
from flitloom.load import make_cases, run_curve
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.networks.fabric import Fabric
from flitloom.networks.pipelined import channel_loads
from flitloom.run.space_time import record_space_time
from flitloom.view import film
from flitloom.view.pack import Packer


def pipelined(**fields):
    return fl.Router(model="pipelined", **fields)


def switched(name, traffic, seed=1, tables=None, **router):
    topology = Fabric(network=name) if tables is None else Fabric(graph=name, tables=tables)
    experiment = Experiment(topology=topology, router=pipelined(**router), traffic=traffic, seed=seed)
    simulation = fl.Simulation(fl.Network(topology, experiment.router), traffic, seed=seed)
    simulation.run()
    return simulation.result()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"routing_delay": 0},
        {"routing_delay": 3, "crossbar_delay": 2, "latency": 4},
        {"speculative": True},
        {"credit_delay": 5, "vc_allocator": "separable_input_first", "switch_allocator": "wavefront"},
    ],
)
@pytest.mark.parametrize("length", [1, 4])
def test_a_packet_alone_takes_what_the_page_says(fields, length):
    if length > 1 and fields.get("crossbar_delay", 1) > 1:
        pytest.skip("flits wait for a crossbar of several cycles in groups")
    router = pipelined(**fields)
    for network, ends in ((fl.Mesh(5, 4), (0, 13)), (fl.Torus(7, 3, 2), (0, 41))):
        one_cycle = fl.simulate(fl.Network(network), fl.Packets([(*ends, length, 3)]))
        hops = one_cycle.flit_hops // length
        result = fl.simulate(fl.Network(network, router), fl.Packets([(*ends, length, 3)]))
        stages = fields.get("routing_delay", 1) + fields.get("crossbar_delay", 1) + 1
        stages -= fields.get("speculative", False)
        latency = (hops + 1) * stages + hops * (fields.get("latency", 1) + 1) + 4
        latency += length - 1
        assert (result.mean_latency, result.flit_hops) == (latency, hops * length)


@pytest.mark.parametrize("topology", [fl.Torus(4, 4), Fabric(network="dragonfly(3,1,2)")], ids=str)
def test_closed_sources_have_few_packets_under_way(topology):
    load = fl.Load("rand", rate=0.9, length=4, cycles=800, outstanding=2)
    packets = fl.simulate(fl.Network(topology, pipelined()), load, packets=True).packets
    for node in range(topology.nodes):
        own = packets.source.values == node
        starts, arrivals = packets.generated.values[own], np.sort(packets.tail_arrival.values[own] + 2)
        assert len(starts) > 20
        assert (starts[2:] > arrivals[:-2]).all()


@pytest.mark.parametrize("routing", ["do", "o1turn", "valiant"])
@pytest.mark.parametrize(
    "network", [fl.Torus(4, 6), fl.Mesh(5, 3), fl.Torus(3, 3, 4, wrap=[True, False, True])]
)
def test_packets_and_links_are_those_of_the_other_engines(network, routing):
    load = fl.Load("rand", rate=0.15, length=3, cycles=400)
    results = [
        fl.simulate(fl.Network(network, router), load, seed=5)
        for router in (pipelined(routing=routing), fl.Router(routing=routing))
    ]
    ours, others = results
    assert ours.packets_delivered == others.packets_delivered > 100
    assert np.array_equal(ours.links.flits, others.links.flits)
    assert ours.engine == "pipelined"


def test_a_link_time_record_holds_the_flits_of_every_link():
    traffic = fl.Collective("shfl", payload=14, slices=2, interval=20)
    for shape in (fl.Torus(4, 4, 2), fl.Mesh(5, 4)):
        pattern = traffic if isinstance(shape, fl.Torus) else fl.Collective("rpar", payload=6)
        result = fl.simulate(fl.Network(shape, pipelined()), pattern, link_time=True)
        record = result.link_time
        busy = ((record > 0) & (record < 255)).transpose("node", "direction", "cycle").values
        links = {
            name: result.links[name].values.reshape(busy.shape[:2]) for name in ("flits", "first", "last")
        }
        assert np.array_equal(busy.sum(axis=2), links["flits"])
        used = busy.any(axis=2)
        assert np.array_equal(busy.argmax(axis=2)[used], links["first"][used])
        last = busy.shape[2] - 1 - busy[..., ::-1].argmax(axis=2)
        assert np.array_equal(last[used], links["last"][used])
        hops_of_slices = np.bincount(record.values.ravel(), minlength=256)[1:255]
        assert (hops_of_slices > 0).sum() == pattern.slices
        assert len(set(hops_of_slices[: pattern.slices])) == 1


def test_links_are_blocked_only_where_buffers_behind_them_are_full():
    # Nodes 0 to 6 of a line send to node 7, whose port takes a flit per cycle.
    packets = fl.Packets([(node, 7, 6, 0) for node in range(7)])
    blocked = {}
    for buffer in (2, 1024):
        network = fl.Network(fl.Mesh(8, 2), pipelined(buffer=buffer))
        record = fl.simulate(network, packets, link_time=True).link_time == 255
        blocked[buffer] = record.sum("cycle")
        assert int(blocked[buffer].sel(direction=["-x", "+y", "-y"]).sum()) == 0
    assert int(blocked[1024].sum()) == 0
    assert int(blocked[2].sel(direction="+x").isel(node=slice(7)).sum()) > 50


def routes_of(shown):
    """The links of every packet of a film, in order, by its source, start and slice."""
    packets, hops = shown.raw["packets"], shown.raw["hops"]
    order = np.lexsort((hops["head"], hops["packet"]))
    links = np.split(hops["link"][order], np.cumsum(np.bincount(hops["packet"]))[:-1])
    keys = zip(packets["source"], packets["start"], packets["slice"], strict=True)
    return sorted((*map(int, key), list(map(int, way))) for key, way in zip(keys, links, strict=True))


def test_films_show_every_flit_on_its_route():
    load = fl.Load("torn", rate=0.2, length=3, cycles=300)
    network = fl.Network(fl.Torus(4, 6), pipelined())
    result = fl.simulate(network, load)
    shown = result.film()
    packets, hops = shown.raw["packets"], shown.raw["hops"]
    assert routes_of(shown) == routes_of(fl.simulate(fl.Network(fl.Torus(4, 6)), load).film())
    assert np.array_equal(np.bincount(hops["link"], hops["flits"], 24 * 4), result.links.flits.values.ravel())
    cells, width = shown.raw["link_time"]
    busy = (cells > 0) & (cells < 255)
    assert np.array_equal(busy.reshape(-1, width).sum(0), result.links.flits.values.ravel())
    delays = packets["tail_arrival"] + 2 - packets["start"]
    assert (delays.mean(), len(delays)) == (result.mean_latency, result.packets_delivered)
    assert (packets["head_arrival"] + 2 <= packets["tail_arrival"]).all()
    assert (hops["complete"] == 1).all()
    # What stays in a buffer has a channel of its own there.
    assert set(np.unique(hops["channel"])) <= set(range(network.channels))


def test_records_of_packets_are_those_that_other_engines_keep():
    load = fl.Load("rand", rate=0.1, length=3, cycles=300)
    networks = [fl.Network(fl.Torus(4, 6), router) for router in (pipelined(), fl.Router())]
    ours, others = (fl.simulate(network, load, packets=True, seed=3) for network in networks)
    for name in ("source", "destination", "number", "slice", "generated", "hops"):
        assert np.array_equal(ours.packets[name], others.packets[name]), name
    delays = ours.packets.tail_arrival + 2 - ours.packets.generated
    assert float(delays.mean()) == ours.mean_latency
    # Each flit behind the first takes a cycle more.
    assert (ours.packets.tail_arrival - ours.packets.head_arrival >= 2).all()
    assert (ours.packets.injected >= ours.packets.generated).all()


def test_records_of_packets_between_hosts_say_when_jobs_end():
    asked = fl.Network(Fabric(network="dragonfly(3,1,2)"), pipelined(reply_length=2))
    result = fl.simulate(asked, fl.Load("rand", rate=0.1, length=3, cycles=200), packets=True)
    packets = result.packets.to_dataframe()
    replies = packets[packets.number >= 2**31]
    assert len(replies) * 2 == len(packets) == 2 * result.packets_delivered
    assert sorted(zip(replies.source, replies.destination, strict=True)) == sorted(
        (there, here) for here, there in packets[packets.number < 2**31][["source", "destination"]].values
    )
    requests = packets[packets.number < 2**31]
    assert int(requests.tail_arrival.max()) + 2 == result.duration < int(replies.tail_arrival.max()) + 2


@pytest.mark.parametrize("fields", [{}, {"latency": 3, "speculative": True, "crossbar_delay": 2}])
def test_a_packet_alone_never_waits_on_its_page(fields):
    network = fl.Network(fl.Mesh(5, 4), pipelined(**fields))
    shown = film(network, fl.Packets([(0, 13, 1, 7)]))
    head, timing = shown.raw["hops"]["head"], shown.head(Packer())
    assert shown.raw["packets"]["injected"].tolist() == [7]
    assert head[0] - 7 == timing["entry"]
    assert set(np.diff(head)) == {timing["latency"] + timing["router"]}


def test_films_of_replies_and_of_a_deadlock_show_both_kinds_of_packets():
    load = fl.Load("rand", rate=0.9, length=4, cycles=3000)
    fields = {"channels": 8, "buffer": 4, "reply_length": 6, "reply_places": 1}
    shown = film(fl.Network(fl.Mesh(4, 4), pipelined(**fields)), load)
    columns, deadlock = shown.raw["packets"], shown.head(Packer())["deadlock"]
    assert shown.deadlocked
    lengths = set(shown.raw["hops"]["flits"][shown.raw["hops"]["complete"] == 1])
    assert lengths == {4, 6}
    assert (columns["tail_arrival"] < 0).any()
    words, links = deadlock["words"], deadlock["links"]
    assert any("replies of node" in text for text in words)
    # Each queue waits for the next one, and the last for the first.
    ends = [text.split(" waits for ") for text in words]
    assert [after for _, after in ends] == [before for before, _ in [*ends[1:], ends[0]]]
    # The flits of the deadlock have crossed the links that are marked.
    assert set(links) <= set(shown.raw["hops"]["link"].tolist())
    assert len(links) == sum(before.startswith("(") for before, _ in ends) > 0


def test_buffers_hold_what_is_under_way():
    simulation = fl.Simulation(fl.Network(fl.Torus(6, 4), pipelined(buffer=3)), fl.Packets([(0, 2, 9, 0)]))
    seen, most = set(), 0
    while not simulation.finished:
        held = simulation.occupancy()
        most = max(most, int(held.max()))
        for y, x, direction, _ in zip(*np.nonzero(held.values), strict=True):
            seen.add((int(x), int(y), str(held.direction.values[direction])))
        simulation.step()
    # Node 0 sends along the row to node 2, and no buffer holds more than its three flits.
    assert seen == {(1, 0, "+x"), (2, 0, "+x")}
    assert 0 < most <= 3
    load = fl.Load("rand", rate=0.6, length=4, cycles=200)
    simulation = fl.Simulation(fl.Network(fl.Torus(4, 4), pipelined(buffer=4)), load, links=True)
    simulation.run(until=150)
    totals = simulation.totals
    under_way = 4 * totals.packets_injected - totals.flits_delivered
    held = int(simulation.occupancy().sum())
    assert 0 < held <= under_way
    chart = record_space_time(simulation, 40)
    assert int(sum(chart[name].sum() for name in ("+x", "-x", "+y", "-y"))) > 0


def test_what_is_offered_is_accepted_below_saturation_and_not_above():
    cases = make_cases({"router": {"model": "pipelined"}}, {"torus": ["8x8"], "pattern": ["torn"]})
    points, _ = run_curve(cases, [0.1, 0.2, 0.9], measure=2000, workers=1)
    rows = [point.row for _, point in points]
    assert [row["saturated"] for row in rows] == [False, False, True]
    one_cycle = fl.simulate(fl.Network(fl.Torus(8, 8)), fl.Collective("torn", payload=7))
    hops = one_cycle.flit_hops / one_cycle.flits_delivered
    for row in rows[:2]:
        assert row["accepted"] == pytest.approx(row["generated"], rel=0.02)
        assert row["latency"] > (hops + 1) * 3 + hops * 2 + 4 + 7
    assert rows[0]["bound"] == 0.25


@pytest.mark.parametrize("name", ["dragonfly(3,1,2)", "full4 x ring3"])
def test_tables_are_followed_hop_by_hop(name):
    topology = Fabric(network=name)
    hosts = topology.nodes
    rows = [(a, b, 3, 0) for a in range(hosts) for b in range(hosts) if a != b]
    result = switched(name, fl.Packets(rows))
    weights = 3 * (np.ones((hosts, hosts)) - np.eye(hosts))
    loads = channel_loads(topology.forwarding(), weights)
    flits = np.zeros(len(loads))
    names = [topology.subnet.channel_name(channel) for channel in range(len(loads))]
    for row in result.link_rows():
        flits[names.index(row["link"])] += row["flits"]
    assert result.packets_delivered == len(rows)
    assert sorted(flits) == sorted(loads)
    assert result.flit_hops == loads.sum()


def test_a_network_of_booksim2_and_the_same_as_a_graph_take_the_same_cycles(tmp_path):
    """A path of routers with two nodes each: one way between any two."""
    routers, per_router, packets, flits = 5, 2, 6, 3
    nodes = routers * per_router
    lines = [
        f"router {r} "
        + " ".join(f"node {per_router * r + n}" for n in range(per_router))
        + (f" router {r + 1}" if r + 1 < routers else "")
        for r in range(routers)
    ]
    graph = tmp_path / "graph.csv"
    graph.write_text("".join(f"s{r},s{r + 1}\n" for r in range(routers - 1)))
    options = {
        "topology": "anynet", "network_file": "\n".join(lines), "routing_function": "min", "num_vcs": "2",
        "vc_buf_size": "4", "sim_type": "batch", "batch_size": str(packets), "packet_size": str(flits),
        "traffic": "neighbor", "k": str(nodes), "n": "1", "routing_delay": "1", "credit_delay": "1",
    }  # fmt: skip
    theirs = _core.Pipelined(list(options.items()), True, 1, None)
    while theirs.advance() is not None:
        pass
    log = theirs.packets()
    from flitloom.fabric import examples, route_subnet
    from flitloom.run.tables_in_motion import tables_run

    subnet = examples.subnet(((f"s{r}", f"s{r + 1}") for r in range(routers - 1)), per_router, "path")
    rows = np.array([(n, (n + 1) % nodes, flits, 0) for n in range(nodes) for _ in range(packets)])
    ours = tables_run(
        route_subnet(subnet).forwarding(), rows, pipelined(channels=2, buffer=4, credit_delay=1)
    )
    ours.run(None, None, None)
    totals = ours.totals(None, False)
    assert totals["packets_delivered"] == len(log["tail"]) == nodes * packets
    assert totals["duration"] == log["tail"].max()
    assert totals["network_latency_sum"] == (log["tail"] - log["injected"]).sum()
    assert totals["hop_sum"] == log["hops"].sum()


def test_a_deadlock_is_named_with_its_circle(tmp_path, capsys):
    file = tmp_path / "ring.csv"
    file.write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    assert command(capsys, "route", "--fabric", file, "-o", tmp_path / "out")[0] == 0
    dump = tmp_path / "out" / "opensm-lfts.dump"
    packets = fl.Packets([(n, (n + 2) % 5, 40, 0) for n in range(5)])
    with pytest.raises(DeadlockError) as told:
        switched(str(file), packets, tables=str(dump), buffer=2, channels=1)
    assert len(told.value.channels) == 5
    assert "s0" in str(told.value)
    result = switched(str(file), packets, tables=str(tmp_path / "out"), buffer=2)
    assert result.packets_delivered == 5


def test_replies_behind_requests_deadlock_unless_they_have_channels_of_their_own():
    load = fl.Load("rand", rate=0.9, length=4, cycles=3000)
    fields = {"channels": 8, "buffer": 4, "reply_length": 4, "reply_places": 1}
    mesh = fl.Mesh(4, 4)
    with pytest.raises(DeadlockError, match="replies of node"):
        fl.simulate(fl.Network(mesh, pipelined(**fields)), load)
    apart = fl.simulate(fl.Network(mesh, pipelined(**fields, message_classes=2)), load)
    summary = apart.summary()
    assert summary["replies_delivered"] == apart.packets_delivered > 1000
    free = fl.simulate(fl.Network(mesh, pipelined(channels=8, reply_length=4)), load)
    assert free.packets_delivered == apart.packets_delivered


def test_the_command_line_runs_tori_and_switches(capsys):
    asked = ("--pattern", "rand", "--rate", "0.1", "--cycles", "300", "--json")
    for network in (("--torus", "4x4", "--model", "pipelined"), ("--network", "dragonfly(3,1,2)")):
        code, text, _ = command(capsys, "simulate", *network, *asked)
        facts = json.loads(text)
        assert (code, facts["engine"]) == (0, "pipelined")
        assert sum(row["flits"] for row in facts["links"]) == facts["flit_hops"]
    code, text, _ = command(
        capsys, "load", "curve", "--network", "dragonfly(3,1,2)", "--pattern", "rand", "--rates", "0.05,0.1",
        "--measure", "1000", "--json",
    )  # fmt: skip
    rows = json.loads(text)
    assert code == 0
    assert [row["saturated"] for row in rows] == [False, False]
    assert 0 < rows[0]["bound"] <= 1


@pytest.mark.parametrize(
    ("router", "words"),
    [
        (
            {"model": "one-cycle", "vc_allocator": "islip"},
            "router.vc_allocator: belongs to pipelined routers",
        ),
        ({"model": "pipelined", "arbitration": "C05"}, "router.arbitration: belongs to routers of one cycle"),
        ({"model": "pipelined", "vc_allocator": "best"}, "router.vc_allocator: .*there are islip"),
        ({"model": "pipelined", "vc_allocator": "islip(0)"}, "router.vc_allocator: "),
        ({"model": "pipelined", "vc_allocator": "piggyback"}, "router.vc_allocator: .*speculative"),
        (
            {"model": "pipelined", "switch_allocator": "separable_input_first(best)"},
            "router.switch_allocator: .*there are round_robin, matrix",
        ),
        (
            {"model": "pipelined", "speculative": True, "speculative_allocator": "first"},
            "router.speculative_allocator: ",
        ),
        (
            {"model": "pipelined", "switch_allocator": "max_size", "output_speedup": 2},
            "router.output_speedup: ",
        ),
        ({"model": "pipelined", "internal_speedup": 2.0, "output_buffer": 4}, "router.output_buffer: "),
        ({"model": "pipelined", "priority": "oldest"}, "router.priority: "),
        (
            {"model": "pipelined", "channels": 1, "reply_length": 2, "message_classes": 2},
            "router.channels: is 1, and requests and replies have half",
        ),
        ({"model": "pipelined", "channels": 2}, "router.channels: "),
        ({"model": "pipelined", "routing": "ugal"}, "router.routing: ugal"),
        ({"channels": 9}, "router.channels: 9"),
    ],
)
def test_what_does_not_go_together_is_named(router, words):
    fields = {
        "topology": {"sizes": "4x4"},
        "router": router,
        "traffic": {"kind": "collective", "pattern": "torn"},
    }
    with pytest.raises(SpecError, match=words):
        fl.run_experiment(build_experiment(fields))


def test_failed_parts_are_named_as_the_network_names_them(capsys):
    asked = ("simulate", "--pattern", "rand", "--rate", "0.1", "--cycles", "100")
    network = ("--network", "dragonfly(2,1,2)")
    code, text, _ = command(capsys, *asked, *network, "--fail", "node:g0s1", "--json")
    assert (code, json.loads(text)["spec"]["topology"]["failed"]) == (0, ["node:g0s1"])
    for more, words in (
        ((*network, "--twist"), "--twist: is of tori"),
        ((*network, "--torus", "4x4"), "give either --network, --torus or --mesh"),
        (
            ("--model", "pipelined", "--torus", "4x3", "--routing", "valiant", "--fail", "node:5"),
            "router.routing: is valiant, and packets on 4x3 torus with 1 failed part go by tables",
        ),
    ):
        code, _, said = command(capsys, *asked, *more)
        assert (code, words in said) == (2, True), said
    load = {"curve": ("--rates", "0.1", "--measure", "100"), "bound": ()}
    for verb, options in load.items():
        for more, words in (
            (("--torus", "4x4"), "give either --network, --torus or --mesh"),
            (("--wrap", "yes"), "--wrap: a product says itself what wraps"),
            (("--twist",), "--twist: is of tori"),
        ):
            code, _, said = command(capsys, "load", verb, *network, "--pattern", "rand", *options, *more)
            assert (code, words in said) == (2, True), said
    product = ("--model", "pipelined", "--network", "ring4 x line3", "--fail", "node:(1,1)")
    assert command(capsys, *asked, *product)[0] == 0


def test_a_spec_names_a_network_of_switches(tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[topology]\nnetwork = "dragonfly(3,1,2)"\n[router]\nmodel = "pipelined"\nvc_allocator = "islip(2)"\n'
        '[traffic]\nkind = "load"\npattern = "rand"\nrate = 0.1\ncycles = 200\n'
    )
    code, text, _ = command(capsys, "simulate", spec, "--json")
    facts = json.loads(text)
    assert (code, facts["spec"]["router"]["vc_allocator"]) == (0, "islip(2)")
    assert build_experiment(facts["spec"]).topology.nodes == 24


@pytest.mark.parametrize("model", ["one-cycle", "pipelined"])
def test_simulate_closes_sources(model, capsys):
    asked = (
        "simulate",
        "--model",
        model,
        "--torus",
        "4x4",
        "--pattern",
        "rand",
        "--rate",
        "0.9",
        "--cycles",
        "300",
    )
    code, text, _ = command(capsys, *asked, "--outstanding", "2", "--json")
    facts = json.loads(text)
    load = fl.Load("rand", rate=0.9, cycles=300, outstanding=2)
    expected = fl.simulate(fl.Network(fl.Torus(4, 4), fl.Router(model=model)), load)
    assert (code, facts["fingerprint"]) == (0, expected.fingerprint)
    assert facts["spec"]["traffic"]["outstanding"] == 2
    # Open sources send more.
    assert facts["packets_delivered"] < json.loads(command(capsys, *asked, "--json")[1])["packets_delivered"]
    code, _, said = command(capsys, *asked[:-4], "--outstanding", "2")
    assert (code, "traffic.outstanding: unknown field" in said) == (2, True)
