"""Every bad field of a spec ends in one message with the path to it."""

import pickle
import re

import numpy as np
import pytest

import flitloom as fl
from flitloom.networks.experiment import build_experiment, change

GOOD = {
    "topology": {"sizes": "16x16"},
    "traffic": {"kind": "collective", "pattern": "shfl", "payload": 14, "slices": 2, "interval": 76},
}

BAD_FIELDS = [
    ("topology.sizes=[]", "topology.sizes: too few entries; at least 1 needed"),
    ("topology.sizes=[16, 1]", "topology.sizes[1]: 1 is out of range; it must be 2 to 1048576 routers"),
    ("topology.sizes=[4.5]", "topology.sizes[0]: 4.5 is not a whole number; it must be 2 to"),
    ("topology.sizes=[2,2,2,2,2,2,2]", "topology.sizes: too many entries; at most 6 are supported"),
    ("topology.sizes=4by4", "topology.sizes: '4by4' is not a size; write sizes like 16x16"),
    ("topology.sizes=[1024, 1025]", "topology.sizes: 1049600 routers; at most 1048576 (2^20) are supported"),
    ("topology.kind=ring", "topology.kind: 'ring' is unknown; it must be one of torus, mesh"),
    ("topology.wrap=[true]", "topology: wrap has 1 entry; one per dimension (2) is needed"),
    ("topology.failed_nodes=[256]", "topology.failed_nodes: node 256 does not exist; nodes are 0 to 255"),
    ("topology.failed_links=[[0, 2]]", "topology.failed_links: nodes 0 and 2 are not neighbours"),
    (
        "topology.failed_links=['0+1']",
        "topology.failed_links[0]: '0+1' is not a link; name its two end nodes",
    ),
    ("topology.size=[4]", "topology.size: unknown field; did you mean sizes?"),
    ("topology.network='full4 x ring3'", "topology: names two networks, by sizes and by network; keep one"),
    ("topology=7", "topology: 7 is not a table of fields"),
    ("routr.buffer=8", "routr: unknown field; did you mean router?"),
    ("router.buffer=0", "router.buffer: 0 is out of range; it must be 1 to 1024 flits"),
    ("router.buffer=true", "router.buffer: True is not a whole number"),
    ("router.channels=9", "router.channels: 9 is out of range; it must be 1 to 8"),
    ("router.latency=1e9", "router.latency: 1000000000.0 is not a whole number; it must be 1 to 1024"),
    (
        "router.flow_control=worm",
        "router.flow_control: 'worm' is unknown; did you mean wormhole? It must be one of wormhole, cut-",
    ),
    ("router.arbitration=C10", "router.arbitration: 'C10' is unknown; it must be one of C00, C01"),
    ("router.preset=t16", "router.preset: 't16' is unknown; did you mean t15?"),
    ("router.datelines=none", "router.datelines: 'none' is unknown; it must be one of both, wrap"),
    ("router.grant_needs_room=1", "router.grant_needs_room: 1 is neither true nor false"),
    ("router.arbitration=['C00', 'C01']", "router.arbitration: 2 channel-selection schemes given"),
    ("traffic.kind=storm", "traffic.kind: 'storm' is unknown; it must be collective, load, packets, matrix"),
    ("traffic.pattern=zzz", "traffic.pattern: 'zzz' is unknown; it must be one of bcmp, brev"),
    ("traffic.payload=-1", "traffic.payload: -1 is out of range; it must be 0 to 1048575 flits"),
    ("traffic.slices=15", "traffic.slices is 15; it must be 1 to the payload (14)"),
    ("traffic.interval=nan", "traffic.interval: nan is not a whole number"),
    ("traffic.delays=[1, 2]", "traffic.delays has 2 entries; one per node (256) is needed"),
    ("traffic.delays=[1, -2]", "traffic.delays[1]: -2 is out of range"),
    ("traffic.packets=0", "traffic.packets: 0 is out of range; it must be 1 to"),
    ("traffic.packets=16777216", "packets in all; at most"),
    ("traffic.hotspot_fraction=0.5", 'traffic: hotspot_fraction and hotspot_target need pattern "hots"'),
    ("traffic.destinations=[1]", "traffic: give either pattern or destinations"),
    ("seed=-1", "seed: -1 is out of range; it must be 0 to 18446744073709551615"),
    ("stop_at=soon", "stop_at: 'soon' is not a whole number; it must be 0 to"),
]


def experiment(*settings):
    fields = {name: dict(table) for name, table in GOOD.items()}
    for setting in settings:
        change(fields, setting)
    return build_experiment(fields)


@pytest.mark.parametrize(("setting", "message"), BAD_FIELDS)
def test_a_bad_field_is_named(setting, message):
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        fl.run_experiment(experiment(setting))


def test_the_good_spec_is_good():
    assert fl.run_experiment(experiment()).packets_delivered == 512


@pytest.mark.parametrize("missing", ["topology", "traffic"])
def test_a_missing_part_is_named(missing):
    fields = {name: table for name, table in GOOD.items() if name != missing}
    with pytest.raises(fl.SpecError, match=f"{missing}: is missing"):
        build_experiment(fields)


def test_a_missing_kind_is_named():
    with pytest.raises(fl.SpecError, match=r"traffic\.kind: is missing; it must be collective, load"):
        build_experiment({**GOOD, "traffic": {"pattern": "shfl"}})


def test_all_problems_are_told_at_once():
    with pytest.raises(fl.SpecError) as caught:
        experiment("router.buffer=0", "router.latency=0")
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "router.buffer",
        "router.latency",
    ]


@pytest.mark.parametrize(
    ("sizes", "traffic", "message"),
    [
        ((6, 4), fl.Collective("brev"), "every size must be a power of two; dimension 0 has 6"),
        ((8, 4), fl.Collective("trns"), "trns needs sizes that read the same in either order"),
        ((4, 4), fl.Load("hots", rate=0.1, cycles=9, hotspot_target=16), "node 16 does not exist"),
        ((4, 4), fl.Collective(destinations=[0, 1]), "2 destinations given; one per node (16) is needed"),
        ((4, 4), fl.TrafficMatrix([[0, 1], [1, 0]]), "traffic.matrix: 2 rows; one per node (16) is needed"),
        ((4, 4), fl.Packets([(0, 16, 1, 0)]), "traffic.table[0]: destination 16 does not exist"),
    ],
)
def test_traffic_that_does_not_fit_is_refused(sizes, traffic, message):
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        fl.simulate(fl.Network(fl.Torus(*sizes)), traffic)


def test_specs_take_numpy_numbers():
    assert fl.Torus(np.int64(4), np.int32(4)).nodes == 16
    assert fl.Collective("shfl", delays=np.zeros(4, dtype=int)).delays == (0, 0, 0, 0)


def test_a_spec_survives_the_way_through_plain_values():
    spec = experiment("router.arbitration=C05", "topology.failed_links=['0-1']", "seed=7")
    assert build_experiment(spec.model_dump(mode="json")) == spec


def test_a_preset_is_written_out_and_overruled():
    router = experiment("router.preset=t15", "router.buffer=24").router
    assert (router.buffer, router.flow_control, router.arbitration) == (24, "cut-through", "packet")
    assert router == fl.Router(preset="t15", buffer=24)
    assert router.grant_needs_room
    other = {"datelines": "wrap", "processor_queues": "one"}
    assert fl.Router(preset="s07") == fl.Router(**{**fl.Router(preset="t15").model_dump(), **other})


def test_a_file_and_its_settings(tmp_path):
    (tmp_path / "delays.csv").write_text("delay\n" + "1\n" * 16)
    spec = tmp_path / "experiment.toml"
    spec.write_text('[topology]\nsizes = "4x4"\n[traffic]\nkind = "collective"\npattern = "torn"\n'
                    'delays = "delays.csv"\n')  # fmt: skip
    read = fl.read_experiment(spec, ["router.buffer=8"])
    assert read.router.buffer == 8
    assert read.traffic.delays == (1,) * 16


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[topology\n", "no valid TOML: Expected ']'"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"a = 1\na = 2\n", "no valid TOML: Cannot overwrite a value (at line 2"),
        (b"x = " + b"[" * 100_000, "no valid TOML"),
        (b'{"steps": 3}', 'is JSON, and TOML is needed here; plans and other files in JSON have a "format"'),
    ],
)
def test_a_file_that_is_no_toml(tmp_path, content, message):
    spec = tmp_path / "experiment.toml"
    spec.write_bytes(content)
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        fl.read_experiment(spec)


@pytest.mark.parametrize("setting", ["router.buffer", "=3", "router..buffer=1", "router.buffer.x=1"])
def test_a_setting_that_cannot_be_read(setting):
    with pytest.raises(fl.SpecError, match="--set"):
        experiment("router.buffer=4", setting)


@pytest.mark.parametrize(
    ("make", "field", "problem", "advice"),
    [
        (lambda: fl.Router(buffer=0), "router.buffer", "0 is out of range", "it must be 1 to 1024 flits"),
        (
            lambda: fl.Router(flow_control="bubbles"),
            "router.flow_control",
            "'bubbles' is unknown",
            "did you mean bubble? It must be one of wormhole, cut-through, bubble",
        ),
        (
            lambda: fl.Network(fl.Torus(4, 4), fl.Router(routing="o1turn", channels=3)),
            "router.channels",
            "is 3",
            "routing o1turn needs 6 on this shape",
        ),
        (
            lambda: fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", delays=[1, 2])),
            "traffic.delays",
            "has 2 entries",
            "one per node (16) is needed",
        ),
        (
            lambda: fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"), throttle="spth:margin=x"),
            "throttle",
            'throttle spth: margin is "x"',
            "it must be a number of flits, 0 to 1024",
        ),
        (
            lambda: fl.simulate(
                fl.Network(fl.Torus(4, 4), fl.Router(flow_control="cut-through")), fl.Collective("shfl")
            ),
            "router.buffer",
            "is 4 flits",
            "cut-through flow control needs at least 8 for packets of 8 flits",
        ),
        (
            lambda: fl.Collective("shfl", delays=[0, -1]),
            "traffic.delays[1]",
            "-1 is out of range; it must be 0 to 1099511627776 cycles",
            "",
        ),
        (
            lambda: fl.Network(fl.Torus(4, 4, failed_nodes=[99])),
            "topology.failed_nodes",
            None,
            None,
        ),
    ],
)
def test_errors_say_where_what_and_what_would_be_right_in_parts(make, field, problem, advice):
    with pytest.raises(fl.SpecError) as caught:
        make()
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.field == field
    if problem is not None:
        assert (error.problem, error.advice) == (problem, advice)
    parts = str(error).removeprefix(field).lstrip(": ")
    assert parts == f"{error.problem}; {error.advice}".removesuffix("; ")


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: fl.Network(fl.Torus(1024, 1025)),
            ("topology.sizes", "1049600 routers", "at most 1048576 (2^20) are supported"),
        ),
        (
            lambda: fl.collectives.plan(fl.Torus(8, 8, 8), "all-to-all", chunks=60_000),
            ("chunks", "60000 make 184320000 moves", "at least one chunk and at most 33554432"),
        ),
        (
            lambda: fl.plans.search(
                fl.Network(fl.Torus(4, 4)), fl.Operation("all-gather", payload=1_000_000)
            ),
            ("operation.payload", "a message would have 4000000 flits of payload", "at least 1 and"),
        ),
        (
            lambda: fl.plans.search(fl.Network(fl.Torus(64, 64)), fl.Operation("all-to-all")),
            ("operation", "16773120 messages", "at most 1048576 can be scheduled"),
        ),
    ],
)
def test_errors_of_the_core_come_in_parts(make, parts):
    with pytest.raises(fl.SpecError) as caught:
        make()
    error = caught.value
    assert (error.field, error.problem) == parts[:2]
    assert error.advice.startswith(parts[2])


def test_lists_are_whatever_can_be_gone_through():
    graph = fl.Graph((f"{node}-{node + 1}" for node in range(5)), nodes=6, hosts=range(5))
    assert graph == fl.Graph([f"{node}-{node + 1}" for node in range(5)], nodes=6, hosts=[0, 1, 2, 3, 4])
    assert fl.Collective(destinations=range(16)).destinations == tuple(range(16))
    assert fl.Torus(4, 4, failed_nodes={3}).failed_nodes == (3,)
    for wrong in ("0-1", {0: 1}, 7):
        with pytest.raises(fl.SpecError, match="is not a list"):
            fl.Graph(wrong, nodes=2)
