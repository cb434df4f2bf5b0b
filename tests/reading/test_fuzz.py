"""Whatever a file holds, reading it ends well or in one `FlitloomError`; corpus/ keeps what was found."""

import contextlib
import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import flitloom as fl
from flitloom._core import LIMITS
from flitloom.networks.experiment import build_experiment, change, read_fields
from flitloom.spec.topology import parse_sizes

CORPUS = Path(__file__).parent / "corpus"
READERS = {
    "spec": lambda file: fit(fl.read_experiment(file)),
    "delays": lambda file: fl.Collective("shfl", delays=file),
    "destinations": lambda file: fl.Collective(destinations=file),
    "matrix": lambda file: fl.TrafficMatrix(file).packet_table(),
    "packets": fl.Packets,
}
GOOD = b"""seed = 3
stop_at = 400

[topology]
kind = "torus"
sizes = [4, 4]
wrap = [true, false]
failed_nodes = [3]
failed_links = [[0, 1], "5-6"]

[router]
channels = 3
buffer = 4
latency = 1
flow_control = "wormhole"
arbitration = "C05"

[traffic]
kind = "collective"
pattern = "hots"
hotspot_fraction = 0.5
hotspot_target = 2
payload = 14
slices = 2
interval = 76
delays = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]
"""
# More examples: FLITLOOM_FUZZ=20000 pytest tests/reading/test_fuzz.py
BRIEF = settings(
    max_examples=int(os.environ.get("FLITLOOM_FUZZ", "100")),
    deadline=None,
    derandomize="FLITLOOM_FUZZ" not in os.environ,
    suppress_health_check=list(HealthCheck),
)

NUMBERS = (
    st.integers() | st.floats() | st.sampled_from([-1, 0, 1, 2, 16, 255, 256, 2**32, 2**63, 2**64, 10**30])
)
WORDS = st.text(max_size=8) | st.sampled_from(["16x16", "0x0", "C05", "hots", "0-1", "nan", "load", "matrix"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    [(name,) for name in ("seed", "stop_at", "cycle_limit", "topology", "router", "traffic", "other")]
    + [("topology", name) for name in fl.Topology.model_fields]
    + [("router", name) for name in fl.Router.model_fields]
    + [("traffic", name) for kind in (fl.Collective, fl.Load, fl.Packets, fl.TrafficMatrix, fl.Messages)
       for name in kind.model_fields]
)  # fmt: skip
CELLS = st.sampled_from(
    [
        b"",
        b"0",
        b"1",
        b"-1",
        b"7",
        b"1.5",
        b"nan",
        b"1e3",
        b" 2 ",
        b"99999999999",
        b"source",
        b"delay",
        b'"',
        b'"3"',
    ]
)
TABLES = st.builds(
    lambda rows, end: b"\n".join(b",".join(row) for row in rows) + end,
    st.lists(st.lists(CELLS, max_size=6), max_size=6),
    st.sampled_from([b"", b"\n", b"\r\n", b"\0\n"]),
)


def fit(experiment):
    """Check an experiment against its network, as a simulation does, unless that takes much memory."""
    network = fl.Network(experiment.topology, experiment.router)
    traffic = experiment.traffic
    packets = network.nodes
    if isinstance(traffic, fl.Collective):
        packets *= traffic.slices * traffic.packets
    if not 1 << 20 < packets <= LIMITS["packets"]:
        traffic.workload(network, experiment.seed)


def read(reader, content, folder):
    file = folder / "file"
    file.write_bytes(content)
    with contextlib.suppress(fl.FlitloomError):
        reader(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@given(data=st.data())
@BRIEF
def test_mutilated_specs(data, folder):
    content = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(content)))
        end = min(len(content), begin + data.draw(st.integers(0, 12)))
        content[begin:end] = data.draw(
            st.binary(max_size=6)
            | st.sampled_from([b"-", b"9", b"]", b"\n", b'"', b"[", b"=", b"1e9", b"nan"])
        )
    read(READERS["spec"], bytes(content), folder)


@pytest.fixture(scope="module")
def plan_text(folder):
    network = fl.Network(fl.Torus(3, 3))
    fl.plans.search(network, fl.Collective("next"), routes="any-order").save(folder / "plan.json")
    return (folder / "plan.json").read_bytes()


def use(file):
    """Do with a plan what commands do."""
    plan = fl.plans.read(file)
    fl.plans.check(plan)
    if plan.duration < 10_000:
        fl.plans.study_jitter(plan.network(), plan, 2, trials=1, separate=True)


@given(data=st.data())
@BRIEF
def test_mutilated_plans(data, folder, plan_text):
    content = bytearray(plan_text)
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = min(len(content), begin + data.draw(st.integers(0, 8)))
        content[begin:end] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"-", b"9", b"+x1", b" ", b'"', b"[", b"}", b"null", b"1e9"])
        )
    read(use, bytes(content), folder)


@given(
    place=st.sampled_from(sorted(fl.Plan.model_fields))
    | st.sampled_from(["source", "start", "length", "route"]),
    value=VALUES,
)
@BRIEF
def test_any_value_in_any_field_of_a_plan(place, value, folder, plan_text):
    fields = json.loads(plan_text)
    (fields if place in fields else fields["packets"][2])[place] = value
    read(use, json.dumps(fields).encode(), folder)


@given(
    field=st.sampled_from(FIELDS),
    value=VALUES,
    kind=st.sampled_from(["collective", "load", "matrix", "packets", "messages"]),
)
@example(("topology", "sizes"), [2] * 10_000, "collective")
@BRIEF
def test_any_value_in_any_field(field, value, kind):
    fields = tomllib.loads(GOOD.decode())
    fields["traffic"]["kind"] = kind
    table = fields
    for name in field[:-1]:
        table = table[name]
    table[field[-1]] = value
    with contextlib.suppress(fl.FlitloomError):
        fit(build_experiment(fields))


@given(
    setting=st.text(max_size=40)
    | st.builds("{}={}".format, st.sampled_from([".".join(f) for f in FIELDS]), WORDS)
)
@BRIEF
def test_any_setting(setting):
    with contextlib.suppress(fl.FlitloomError):
        fields = tomllib.loads(GOOD.decode())
        change(fields, setting)
        fit(build_experiment(fields))


@pytest.mark.parametrize("reader", ["delays", "destinations", "matrix", "packets"])
def test_any_table(reader, folder):
    @given(
        content=TABLES
        | st.binary(max_size=60)
        | TABLES.map(lambda rows: b"source,destination,length,start\n" + rows)
    )
    @BRIEF
    def check(content):
        read(READERS[reader], content, folder)

    check()


@given(text=st.text(max_size=12) | st.from_regex(r"[0-9x]{0,20}", fullmatch=True))
@BRIEF
def test_any_shape(text):
    with contextlib.suppress(fl.FlitloomError):
        fl.Torus(text)
    if (
        text.isascii()
        and text.count("x") == 1
        and all(part.isdigit() and len(part) < 9 for part in text.split("x"))
    ):
        assert "x".join(map(str, parse_sizes(text))) == "x".join(str(int(part)) for part in text.split("x"))


def test_the_good_spec_is_good(folder):
    (folder / "good.toml").write_bytes(GOOD)
    assert read_fields(folder / "good.toml")["seed"] == 3
    fit(fl.read_experiment(folder / "good.toml"))


@pytest.mark.parametrize(
    "file",
    [file for ending in ("toml", "csv") for file in sorted(CORPUS.glob(f"*/*.{ending}"))],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_the_corpus(file, monkeypatch):
    """Every file that was found or made is refused with the message stored beside it, or accepted."""
    monkeypatch.chdir(file.parent)
    message = file.with_name(file.name + ".message")
    try:
        READERS[file.parent.name](file.name)
    except fl.FlitloomError as error:
        # What the standard library says of bad TOML changes between versions.
        answer = re.sub("(no valid TOML:).*", r"\1 ...", f"{type(error).__name__}: {error}\n")
    else:
        answer = "accepted\n"
    if "FLITLOOM_CORPUS" in os.environ and not message.exists():
        message.write_text(answer, encoding="utf-8")
    assert answer == message.read_text(encoding="utf-8")
