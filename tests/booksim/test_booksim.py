"""Files of BookSim2 run here as BookSim2 ran them: its packets and its lines, recorded once.

`recorded.jsonl` holds, per drawn configuration, what BookSim2 (commit 28f43299, with a line that logs
packets) did: the packets delivered and a hash of their log in the order of arrival (packet, class, source,
destination, created, injected, head, tail, hops, size), the lines of statistics and a hash of them, and a
hash of the lines of results. Nothing in it was computed here.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from flitloom import _core
from flitloom.booksim import Options, is_booksim, read, run
from flitloom.booksim.comparing import EQUAL, REFUSED, compare
from flitloom.booksim.drawing import draw
from flitloom.booksim.options import parse
from flitloom.booksim.printing import lines
from flitloom.booksim.results import results
from flitloom.booksim.running import demand
from flitloom.booksim.specs import TABLES
from flitloom.errors import SpecError
from flitloom.load.booksim_curves import run_curve
from flitloom.spec.answer_schemas import answer_schema

RECORDED = [
    json.loads(line) for line in (Path(__file__).with_name("recorded.jsonl")).read_text("utf-8").splitlines()
]
#: Four kinds of messages, each in a channel of its own.
ONE_CHANNEL_EACH = {"use_read_write": "1", "num_vcs": "4"} | {
    f"{kind}_{end}_vc": str(channel)
    for channel, kind in enumerate(("read_request", "write_request", "read_reply", "write_reply"))
    for end in ("begin", "end")
}
#: 845 input ports, enough for two parts of sets of channels.
WIDE = {
    "topology": "mesh",
    "routing_function": "dor",
    "k": "13",
    "num_vcs": "4",
    "priority": "age",
    "injection_rate": "0.02",
    "packet_size": "5",
    "sample_period": "200",
    "max_samples": "4",
}
#: Runs in the quick tests.
QUICK = 40
COLUMNS = ("packet", "class", "source", "destination", "created", "injected", "head", "tail", "hops", "size")


#: Replies are on their way when the first of two runs ends.
LEFT_REPLIES = (
    "topology=mesh n=1 k=3 num_vcs=8 vc_buf_size=8 traffic=diagonal packet_size=5 "
    "injection_rate=0.03000 seed=543 sample_period=100 max_samples=6 routing_delay=2 "
    "credit_delay=3 st_prepare_delay=1 st_final_delay=1 vc_allocator=islip(2) sw_allocator=loa "
    "input_speedup=1 output_speedup=1 internal_speedup=1.0 priority=none routing_function=romm "
    "vc_busy_when_full=0 vc_prioritize_empty=1 vc_shuffle_requests=0 vc_priority_donation=0 "
    "output_buffer_size=-1 buffer_policy=shifting buf_size=16 private_buf_size=1 "
    "wait_for_tail_credit=0 hold_switch_for_packet=1 use_read_write=1 read_request_begin_vc=-1 "
    "read_request_end_vc=-1 read_request_size=1 read_reply_begin_vc=-1 read_reply_end_vc=-1 "
    "read_reply_size=1 write_request_begin_vc=-1 write_request_end_vc=-1 write_request_size=1 "
    "write_reply_begin_vc=-1 write_reply_end_vc=-1 write_reply_size=3 sim_count=2 sim_type=batch "
    "batch_size=30 batch_count=3 max_outstanding_requests=1"
)
#: Node 10 ends BookSim2 with "Buffer taken while in use for VC 6".
CHANNEL_TWICE = (
    "topology=torus n=2 k=4 num_vcs=8 vc_buf_size=8 traffic=tornado packet_size=5 "
    "injection_rate={0.03333,0.03333,0.03333} seed=703 sample_period=200 max_samples=6 "
    "routing_delay=0 credit_delay=0 st_prepare_delay=0 st_final_delay=1 "
    "vc_allocator=separable_input_first sw_allocator=loa input_speedup=1 output_speedup=2 "
    "internal_speedup=1.0 priority=age routing_function=dim_order vc_busy_when_full=1 "
    "vc_prioritize_empty=0 vc_shuffle_requests=0 vc_priority_donation=0 output_buffer_size=4 "
    "speculative=1 spec_check_elig=0 spec_check_cred=1 spec_mask_by_reqs=1 "
    "spec_sw_allocator=wavefront buffer_policy=shifting buf_size=25 private_buf_size=-1 "
    "classes=3 class_priority={0,1,1} subnets=1"
)


def options_of(text: str) -> Options:
    return Options.of(dict(part.split("=", 1) for part in text.split()))


def hashed(rows: list[str]) -> str:
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(record, id=str(record["draw"]), marks=() if number < QUICK else pytest.mark.long)
        for number, record in enumerate(RECORDED)
    ],
)
def test_packets_and_lines_are_those_of_booksim2(record: dict, tmp_path: Path) -> None:
    options = draw(record["draw"], 0, tmp_path)
    outcome = run(options, packets=True)
    assert_packets_are_those_of(record, outcome.packets)
    printed = list(lines(outcome.events))
    assert (len(printed), hashed(printed)) == (record["lines"], record["printed"])
    assert hashed(list(results(outcome.events, options))) == record["results"]


def assert_packets_are_those_of(record: dict, packets: dict) -> None:
    columns = zip(*(packets[name].tolist() for name in COLUMNS), strict=True)
    log = [" ".join(map(str, row)) for row in columns]
    assert (len(log), hashed(log)) == (record["packets"], record["log"])


def test_a_permutation_drawn_before_the_first_seed_leaves_bursts_as_booksim2_has_them() -> None:
    text = (
        "topology = torus; k = 8; n = 2; routing_function = dim_order; num_vcs = 4; packet_size = 2;"
        "seed = 1; traffic = randperm; perm_seed = 7; injection_process = on_off; burst_alpha = 0.3;"
        "burst_beta = 0.2; injection_rate = 0.1; sample_period = 500;"
    )
    values = dict(part.split(" = ") for part in text.replace("; ", ";").rstrip(";").split(";"))
    found = list(lines(run(Options.of(values)).events))
    # Recorded with BookSim2, too.
    assert found[1] == "Packet latency average = 34.0671"
    assert (len(found), hashed(found)) == (225, "d5c1094a758cfc37a6f6226a76d24757")


@pytest.mark.parametrize(
    ("text", "latency", "lines_and_hash"),
    [
        pytest.param(
            "topology=mesh routing_function=dor num_vcs=2 packet_size=8 injection_rate=0.04 output_speedup=2 "
            "credit_delay=1 st_final_delay=2 output_buffer_size=2 seed=29",
            "43.8812",
            (193, "263e7f0469a66ce66968073c059478a9"),
            id="full output queue",
        ),
        pytest.param(
            "topology=torus routing_function=min_adapt num_vcs=4 packet_size=3 injection_rate=0.1 "
            "speculative=1 spec_sw_allocator=islip seed=7",
            "19.9859",
            (193, "169a1ee3bc1b02752462235e1665b74b"),
            id="held way of several",
        ),
    ],
)
def test_held_connections_end_as_in_booksim2(text: str, latency: str, lines_and_hash: tuple) -> None:
    common = "k=4 n=2 vc_buf_size=4 hold_switch_for_packet=1 sample_period=200 max_samples=5 "
    found = list(lines(run(Options.of(dict(part.split("=") for part in (common + text).split()))).events))
    # Recorded with BookSim2, too.
    assert found[1] == f"Packet latency average = {latency}"
    assert (len(found), hashed(found)) == lines_and_hash


MESH = "topology=mesh k=4 n=2 routing_function=dor num_vcs=4 sample_period=100 max_samples=5"
#: The halves of the channels for requests and replies.
ANY_CHANNEL = " ".join(
    f"{kind}_{end}_vc=-1"
    for kind in ("read_request", "write_request", "read_reply", "write_reply")
    for end in ("begin", "end")
)


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        pytest.param(
            f"{MESH} {ANY_CHANNEL} use_read_write=1 injection_rate_uses_flits=1 injection_rate=0.3 "
            "read_reply_size=2",
            193,
            "d314e4aab0230053d540cf0208625e90",
            id="halves of sizes are cut off",
        ),
        pytest.param(
            f"{MESH} sim_type=batch batch_size=12 packet_size={{{{1,5}}}}",
            74,
            "7555aca05988d2de3c7180186147e9f3",
            id="sizes of batches are drawn twice",
        ),
        pytest.param(
            f"{MESH} {ANY_CHANNEL} sim_type=batch batch_size=12 use_read_write=1 write_fraction=0.1 "
            "write_request_size=4",
            74,
            "6321c88fcd8b56b2a36df781ee1b6108",
            id="batches toss a fair coin",
        ),
        pytest.param(
            "topology=flatfly k=2 n=2 c=16 xr=4 yr=4 x=2 y=2 routing_function=ran_min num_vcs=4 "
            "sample_period=100 max_samples=5",
            193,
            "d71a26ec704efc70c22e939e2205380d",
            id="nodes of a flatfly are far away",
        ),
        pytest.param(
            f"{MESH} buffer_policy=shared private_bufs=3 buf_size=8 private_buf_size={{2,1,3}} "
            "injection_rate=0.3 packet_size=3 latency_thres=5000.0",
            193,
            "84ae2012894c90e47a32c736398515d5",
            id="groups that do not divide the channels",
        ),
        pytest.param(
            f"{MESH} buffer_policy=shared private_bufs=0 buf_size=6 private_buf_size=2 "
            "injection_rate=0.3 packet_size=3 latency_thres=5000.0",
            193,
            "ba49b0008e5cc99942fe7b0d22425e16",
            id="no group is one",
        ),
        pytest.param(
            f"{MESH} buffer_policy=shared private_bufs=2 buf_size=8 private_buf_size={{1,4}} "
            f"private_buf_start_vc={{0,1}} private_buf_end_vc={{0,3}} injection_rate=0.2 packet_size=3 "
            "latency_thres=5000.0",
            193,
            "25fbfd8057b3350838e634e887a9ea9b",
            id="groups of other channels",
        ),
        pytest.param(
            f"{MESH} classes=2 measure_stats={{1,0}} traffic={{uniform,hotspot(5)}} "
            f"injection_rate={{0.05,0.2}} packet_size={{1,4}} latency_thres={{90000.0,100.0}} "
            "sample_period=400",
            164,
            "0e70496edbe2487bb97744afb46d829a",
            id="classes that are not measured count while a run drains",
        ),
        pytest.param(
            f"{MESH} injection_process=on_off({{0.2,0.3,-1}}) injection_rate=0.2",
            193,
            "2706a7b10776b0944b108a66a040fe96",
            id="numbers of a process in braces",
        ),
        pytest.param(
            f"{MESH} injection_process=on_off({{0.2,-1,0.9,1}}) injection_rate=0.2",
            193,
            "c25505f32e57038b0cd339f8a4d86a2a",
            id="a fourth number of a process",
        ),
        pytest.param(
            f"{MESH} include_queuing=2 packet_size=4 injection_rate=0.15",
            193,
            "f6c9720008d065f7e2aba057d31240b7",
            id="queuing is included by 1 alone",
        ),
        pytest.param(
            "topology=torus k=4 n=2 routing_function=dim_order num_vcs=4 use_noc_latency=2 "
            "sample_period=100 max_samples=5",
            193,
            "774127c609705c20f433e4e20617c8fc",
            id="latencies are those of a chip by 1 alone",
        ),
        pytest.param(
            "topology=cmesh k=4 n=2 c=4 xr=2 yr=2 x=8 y=8 routing_function=dor num_vcs=4 "
            "sample_period=100 max_samples=5",
            193,
            "d52072f35557e46654b9718aabab8e90",
            id="x and y of a cmesh are not k",
        ),
        pytest.param(
            "topology=flatfly k=4 n=2 c=4 xr=2 yr=2 x=4 y=4 routing_function=ran_min num_vcs=4 "
            "buffer_policy=feedback buf_size=16 packet_size=3 injection_rate=0.15 sample_period=100 "
            "max_samples=5 latency_thres=5000.0",
            193,
            "e6a31fb71a12a75e91514fcb5613487a",
            id="round trips over links of several latencies",
        ),
        pytest.param(
            "topology=dragonflynew k=2 n=1 routing_function=min num_vcs=3 "
            "buffer_policy=simplefeedback buf_size=12 packet_size=3 injection_rate=0.05 "
            "sample_period=300 max_samples=5 latency_thres=5000.0",
            173,
            "9c7ece61902122a0c6749f245c6aa49a",
            id="round trips of a dragonfly",
        ),
    ],
)
def test_runs_are_those_of_booksim2_where(text: str, count: int, expected: str) -> None:
    found = list(lines(run(options_of(text)).events))
    # Recorded with BookSim2, too.
    assert (len(found), hashed(found)) == (count, expected)


def test_replies_that_a_run_leaves_do_not_hold_up_the_next_one() -> None:
    found = list(lines(run(options_of(LEFT_REPLIES)).events))
    # Recorded with BookSim2, too.
    assert (len(found), hashed(found)) == (276, "fb3fba2c5edd7512af5a20e32d23dc47")


def test_the_recorded_configurations_reach_every_option(tmp_path: Path) -> None:
    values = [draw(record["draw"], 0, tmp_path).values for record in RECORDED]
    # What is refused otherwise, has one value only, or is read where it is drawn in brackets.
    left_out = {"router", "output_delay", "link_failures", "vc_alloc_delay", "sw_alloc_delay", "noq"}
    left_out |= {"arb_type", "alloc_iters", "burst_r1", "network_file", "c", "n", "x", "y", "xr", "yr"}
    for name, default in _core.pipelined_options():
        drawn = {default, *(one[name] for one in values if name in one)}
        assert len(drawn) >= 2 or name in left_out, name
    for name, wanted in {
        "vc_allocator": 15,
        "sw_allocator": 14,
        "routing_function": 22,
        "topology": 8,
    }.items():
        assert len({one[name] for one in values if name in one}) >= wanted, name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vc_alloc_delay": "2"}, "issue 34"),
        ({"internal_speedup": "0.5"}, "loses flits"),
        ({"st_final_delay": "0"}, "without a cycle"),
        ({"classes": "2", "hold_switch_for_packet": "1"}, "several classes"),
        ({"topology": "torus", "routing_function": "valiant"}, "never sets"),
        ({"link_failures": "1"}, "failed links"),
        ({"sw_allocator": "max_size", "output_speedup": "2"}, "more outputs than inputs"),
        ({"topology": "torus", "routing_function": "min_adapt", "num_vcs": "3"}, "at least 4"),
        ({"topology": "qtree"}, "there are mesh, torus"),
        ({"topology": "cmesh", "routing_function": "romm"}, "there are dor_no_express"),
        (
            {"topology": "flatfly", "routing_function": "ugal_pni", "c": "4", "xr": "2", "yr": "2", "k": "3"},
            "as many nodes",
        ),
        (
            {"topology": "cmesh", "c": "4", "xr": "2", "yr": "2", "x": "4", "y": "4", **ONE_CHANNEL_EACH},
            "at least 2 for a packet",
        ),
        ({"traffic": "tornado({4,40})"}, "4 to the power 40"),
        ({"traffic": "bad_dragon(70000)"}, "k is 70000"),
        ({"traffic": "hotspot({{0,1},{1,0}})"}, "a weight is 0"),
        ({"traffic": "taper64"}, "needs 64 nodes"),
        ({"traffic": "background({{0,16}})"}, "no node 16"),
        ({"topology": "cmesh", "routing_function": "dor", "c": "9", "xr": "3", "yr": "3"}, "concentration"),
        ({"topology": "dragonflynew", "routing_function": "ugal", "n": "1"}, "another number than 3"),
        (
            {"topology": "fly", "routing_function": "dest_tag", "traffic": "tornado", "xr": "3"},
            "numbers of nodes",
        ),
        ({"routing_function": "chaos"}, "there are dor"),
        ({"sw_allocator": "islop"}, "there are islip"),
        ({"injection_process": "on_off(0.1,0.2)"}, "first comma"),
        ({"latency_thres": "200"}, "write 200.0"),
        ({"k": "4.5"}, "write a whole number"),
        ({"num_vcz": "4"}, "did you mean num_vcs"),
        ({"num_vcs": "1"}, "at least 2"),
        ({"noq": "1"}, "routing_delay = 0"),
        ({"noq": "-1"}, "give 0 or 1"),
        ({"injection_rate": "1.5"}, "not within 0 to 1"),
        ({"injection_rate": "{0.1,-0.1}", "classes": "2"}, "not within 0 to 1"),
        ({"priority": "class", "class_priority": "-1"}, "below 0"),
        ({"buf_size": "0"}, "does not survive 0"),
        ({"buffer_policy": "shared", "private_buf_size": "{1,-1}"}, "below 0 in a list"),
        ({"buffer_policy": "shared", "private_bufs": "2", "private_buf_start_vc": "{0}"}, "1 numbers for 2"),
        ({"buffer_policy": "shared", "private_bufs": "2", "private_buf_end_vc": "{7,14}"}, "in no group"),
        ({"buffer_policy": "shared", "private_bufs": "2", "private_buf_start_vc": "{0,7}"}, "in two groups"),
        ({"traffic": "background"}, "no node is named"),
        ({"use_read_write": "1", "read_reply_size": "0", "num_vcs": "16"}, "at least one flit"),
        ({"noq": "1", "routing_delay": "0", "num_vcs": "4"}, "a channel per port of a router, 5"),
        (
            {
                "noq": "1",
                "routing_delay": "0",
                "num_vcs": "8",
                "topology": "torus",
                "routing_function": "dim_order",
            },
            "a packet 4 for some ways",
        ),
        ({"routing_function": "dim_order_ni", "num_vcs": "8"}, "at least 16"),
        ({"sim_type": "batch", "batch_count": "0"}, "not within 1"),
        (
            {"routing_function": "valiant", "num_vcs": "2", "vc_allocator": "piggyback", "speculative": "1"}
            | {"spec_check_elig": "0", "sim_type": "batch", "k": "8"},
            "no flit has arrived for 100,000 cycles",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_is_not_known_or_not_survived_is_refused_with_the_reason(changes: dict, words: str) -> None:
    values = {"topology": "mesh", "k": "4", "routing_function": "xy_yx", **changes}
    with pytest.raises(SpecError, match=words):
        run(Options.of(values))


def test_files_are_read_as_booksim2_reads_them(tmp_path: Path) -> None:
    text = "// a mesh\nk  = 4; n = 2;\ntraffic = {uniform, tornado}; // two\n"
    assert parse(text, "") == {"k": "4", "n": "2", "traffic": "{uniform,tornado}"}
    file = tmp_path / "mesh88_lat"
    file.write_text(text)
    assert is_booksim(file)
    assert read(file, ["k=5"])["k"] == "5"
    for wrong in ("k = 4", "k 4;", "k = ;"):
        with pytest.raises(SpecError, match="write name = value;"):
            parse(wrong, "")
    (tmp_path / "experiment").write_text('[topology]\nsizes = "4x4"\n')
    assert not is_booksim(tmp_path / "experiment")


def test_any_network_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "network"
    file.write_text("router 0 node 0 node 1 router 1 3\nrouter 1 node 2 router 2\nrouter 2 node 3\n")
    values = {"topology": "anynet", "routing_function": "min", "network_file": str(file)}
    outcome = run(Options.of(values), packets=True)
    columns = outcome.packets
    names = ("source", "destination", "hops", "injected", "tail")
    router = (0, 0, 1, 2)
    fastest: dict[tuple[int, int], int] = {}
    for source, to, hops, injected, tail in zip(*(columns[name].tolist() for name in names), strict=True):
        ends = router[source], router[to]
        assert hops == abs(ends[0] - ends[1]) + 1
        fastest[ends] = min(fastest.get(ends, tail), tail - injected)
    # 4 cycles in a router, one more than its latency on a link, of which only 0 to 1 has 3.
    links = {
        ends: (3 if ends[0] == 0 < ends[1] else 0) + abs(ends[0] - ends[1]) - (ends[0] == 0 < ends[1])
        for ends in fastest
    }
    assert fastest == {ends: 7 + 4 * abs(ends[0] - ends[1]) + links[ends] for ends in fastest}
    assert len(fastest) == 9
    for text, told in {
        "router 0 node 0 2\n": "takes for a link to a router",
        "node 0 router 0\n": "does not begin with a router",
        "router 0 node 1\n": "without gaps",
        "router 0 node 0\nrouter 1 node 1\n": "no way leads",
        "router 0 nod 0\n": "is not a link",
    }.items():
        file.write_text(text)
        with pytest.raises(SpecError, match=told):
            run(Options.of(values))


def test_what_ends_booksim2_in_the_middle_ends_here() -> None:
    values = {"topology": "mesh", "k": "4", "routing_function": "dor", "num_vcs": "4", "packet_size": "5"}
    values |= {"buffer_policy": "shared", "buf_size": "8", "output_speedup": "2", "injection_rate": "0.1"}
    with pytest.raises(SpecError, match="last shared place"):
        run(Options.of(values))
    # BookSim2 ends with "Assertion `_max_held_slots > 0' failed" in the same cycle.
    values = {"topology": "mesh", "k": "4", "routing_function": "dor", "num_vcs": "6", "packet_size": "5"}
    for policy in ("dynamic", "shifting"):
        values |= {
            "buffer_policy": policy,
            "buf_size": "4",
            "private_buf_size": "0",
            "injection_rate": "0.15",
        }
        with pytest.raises(SpecError, match="more channels of a port have an owner than it has places for"):
            run(Options.of(values))
    with pytest.raises(SpecError, match="classes: two classes of a node take the same channel in cycle"):
        run(options_of(CHANNEL_TWICE))


def test_surprises_are_told() -> None:
    values = {
        "topology": "torus",
        "num_vcs": "3",
        "routing_delay": "2",
        "st_final_delay": "2",
        "arb_type": "matrix",
    }
    told = " ".join(Options.of(values).warnings)
    assert all(
        word in told for word in ("odd number", "not a pipeline", "only when it is empty", "reads it nowhere")
    )


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitloom", *words], capture_output=True, text=True, check=False, cwd=folder
    )


def test_results_are_printed_where_the_file_asks_for_them(tmp_path: Path) -> None:
    (tmp_path / "mesh.cfg").write_text("topology = mesh; k = 4; routing_function = dor; seed = 3;\n")
    plain = command("simulate", "mesh.cfg", "--booksim", folder=tmp_path)
    asked = command("simulate", "mesh.cfg", "print_csv_results=1", "--booksim", folder=tmp_path)
    assert asked.stdout.startswith(plain.stdout)
    added = asked.stdout.removeprefix(plain.stdout).splitlines()
    assert len(added) == 1
    assert added[0].startswith("results:0,uniform,0,0.1,7,")
    # Like BookSim2, which takes any number but 0.
    for number, printed in {"2": asked, "-1": asked, "0": plain}.items():
        same = command("simulate", "mesh.cfg", f"print_csv_results={number}", "--booksim", folder=tmp_path)
        assert same.stdout == printed.stdout
    for text in ("0.5", "yes"):
        wrong = command("simulate", "mesh.cfg", f"print_csv_results={text}", "--booksim", folder=tmp_path)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "print_csv_results" in wrong.stderr


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mesh.cfg").write_text("topology = mesh; k = 4; routing_function = dor; alloc_iters = 2;")
    done = command("simulate", "mesh.cfg", "injection_rate=0.2", "--booksim", folder=tmp_path)
    values = {"topology": "mesh", "k": "4", "routing_function": "dor", "injection_rate": "0.2"}
    assert done.stdout.splitlines() == list(lines(run(Options.of(values)).events))
    assert "alloc_iters: BookSim2 reads it nowhere" in done.stderr
    done = command("simulate", "mesh.cfg", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["outcome"] == "stable"
    for words, told in {
        ("mesh.cfg", "--torus", "4x4"): "does not go with a file of BookSim2",
        ("mesh.cfg", "rate=2"): "is unknown",
        ("--torus", "4x4", "--booksim"): "belongs to a file of BookSim2",
    }.items():
        done = command("simulate", *words, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_a_spec_says_what_a_file_says(tmp_path: Path) -> None:
    file = tmp_path / "mesh.cfg"
    file.write_text(draw(40, 3, tmp_path).text())
    (tmp_path / "small.cfg").write_text(
        "topology = mesh; k = 4; routing_function = dor; latency_thres = 5e2;"
    )
    for name in ("mesh", "small"):
        assert command("convert", f"{name}.cfg", f"{name}.toml", folder=tmp_path).returncode == 0
        there = read(tmp_path / f"{name}.cfg")
        back = read(tmp_path / f"{name}.toml")
        assert there.values.keys() == back.values.keys()
        assert list(lines(run(there).events)) == list(lines(run(back).events))
    fields = tomllib.loads((tmp_path / "small.toml").read_text())
    assert fields["router"] == {"model": "pipelined", "routing_function": "dor"}
    assert fields["simulation"] == {"latency_thres": 500.0}
    done = command("simulate", "small.toml", "k=3", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["cycles"] == run(read(tmp_path / "small.cfg", ["k=3"])).cycles
    (tmp_path / "wrong.toml").write_text('[router]\nmodel = "pipelined"\nk = 4\n')
    done = command("simulate", "wrong.toml", folder=tmp_path)
    assert done.returncode == 2
    assert "router.k" in done.stderr


def test_every_option_has_its_table() -> None:
    known = {name for name, _ in _core.pipelined_options()}
    named = [name for names in TABLES.values() for name in names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= known


def test_source_queues_grow_where_booksim_calls_a_rate_stable() -> None:
    """What is accepted in samples of 50,000 cycles tells who is right."""
    options = Options.of(
        {"topology": "torus", "k": "4", "routing_function": "dim_order", "packet_size": "5"}
        | {"num_vcs": "4", "vc_buf_size": "4"}
    )
    rows, _ = run_curve(options, [0.12, 0.135], workers=1)
    assert [(row["saturated"], row["verdict"]) for row in rows] == [(False, "steady"), (False, "growing")]
    for row in rows:
        long = {"sim_type": "throughput", "sample_period": "50000", "warmup_periods": "1", "max_samples": "3"}
        long |= {**options.values, "injection_rate": str(row["rate"])}
        accepted = run(Options.of(long)).classes[0]["accepted"]
        assert (accepted > 0.99 * row["offered"]) == (row["verdict"] == "steady")
    two = Options.of(
        {"topology": "mesh", "k": "4", "routing_function": "dor", "classes": "2", "use_read_write": "{0,1}"}
        | {"injection_rate": "0.02"}
    )
    rows, _ = run_curve(two, [0.02], workers=1)
    assert [row["verdict"] for row in rows] == ["steady", None]


def test_a_curve_is_the_file_at_every_rate(tmp_path: Path) -> None:
    text = "topology = mesh; k = 4; routing_function = dor; sample_period = 300;"
    text += "max_samples = 5; latency_thres = 40.0;"
    (tmp_path / "mesh.cfg").write_text(text)
    words = ("load", "curve", "mesh.cfg", "num_vcs=4", "--rates", "0.1,0.3,0.9", "--refine", "0.4", "--json")
    done = command(*words, folder=tmp_path)
    rows = json.loads(done.stdout)
    for row in rows:
        rate = f"injection_rate={row['rate']}"
        outcome = run(read(tmp_path / "mesh.cfg", ["num_vcs=4", rate]))
        assert (outcome.outcome == "unstable") == row["saturated"]
        if row["saturated"]:
            assert row["packet_latency"] is None
        else:
            assert row["packet_latency"] == outcome.classes[0]["packet_latency"]
        assert row["accepted"] == outcome.classes[0]["accepted"]
    rates = [row["rate"] for row in rows]
    below = max(row["rate"] for row in rows if not row["saturated"])
    above = min(row["rate"] for row in rows if row["saturated"])
    assert {0.1, 0.3, 0.9} < set(rates)
    assert rates == sorted(rates)
    assert below < above <= below / 0.6
    done = command("load", "curve", "mesh.cfg", "num_vcs=4", "--rates", "0.1", folder=tmp_path)
    assert "is stable up to injection_rate 0.1" in done.stdout
    assert "(BookSim2's own verdict, by its latencies)\n" in done.stdout
    assert "source queues are steady at injection_rate 0.1 (verdict of flitloom load)\n" in done.stdout
    for words, told in {
        ("curve", "mesh.cfg", "--torus", "4x4"): "does not go with a file of BookSim2",
        ("curve", "mesh.cfg", "--refine", "-0.5"): "refine: -0.5 is not a share of a load",
        ("steady", "mesh.cfg"): "flitloom load curve runs it",
    }.items():
        done = command("load", *words, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_a_saturation_lies_between_a_stable_run_and_an_unstable_one(tmp_path: Path) -> None:
    text = "topology = mesh; k = 4; routing_function = dor; traffic = transpose; packet_size = 2;"
    (tmp_path / "mesh.cfg").write_text(text + "sample_period = 300; max_samples = 5; num_vcs = 4;")
    assert command("convert", "mesh.cfg", "mesh.toml", folder=tmp_path).returncode == 0
    for file in ("mesh.cfg", "mesh.toml"):
        words = ("load", "saturation", file, "vc_buf_size=4", "--within", "0.05", "--json")
        done = command(*words, folder=tmp_path)
        (row,) = json.loads(done.stdout)
        jsonschema.Draft202012Validator(answer_schema("load-saturation")).validate([row])
        # Of packets of two flits, per node and cycle.
        below, above = row["below"] / 2, row["above"] / 2
        ends = {}
        for rate in (below, above):
            options = read(tmp_path / "mesh.cfg", ["vc_buf_size=4", f"injection_rate={rate:.9f}"])
            ends[rate] = run(options)
        assert (ends[below].outcome, ends[above].outcome) == ("stable", "unstable")
        assert row["latency"] == pytest.approx(ends[below].classes[0]["packet_latency"])
        assert row["accepted"] == pytest.approx(ends[below].classes[0]["accepted"])
        assert (row["outcome"], row["bound"]) == ("measured", pytest.approx(1 / 3))
        assert 0 < row["half_width"] <= 0.05 * row["above"]
    done = command("load", "saturation", "mesh.cfg", "latency_thres=5.0", folder=tmp_path)
    assert done.returncode == 0
    assert "below" in done.stdout
    done = command("load", "saturation", "mesh.cfg", "sim_type=batch", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sim_type: is batch, which has no rate" in done.stderr


@pytest.mark.parametrize(
    ("values", "flits", "bound"),
    [
        # Links in the middle of a row carry half of what k/2 nodes send (Dally and Towles, 2004, chapter 3).
        ({"topology": "mesh", "routing_function": "dor", "k": "8"}, 1, 1 / 2),
        ({"topology": "mesh", "routing_function": "dor", "k": "8", "packet_size": "5"}, 5, 1 / 10),
        ({"topology": "torus", "routing_function": "dim_order", "k": "8"}, 1, 1),
        ({"topology": "mesh", "routing_function": "valiant", "k": "8"}, 1, 1 / 4),
        # All of a row turn into one column: 7 of 8 nodes cross its busiest link.
        ({"topology": "mesh", "routing_function": "dor", "k": "8", "traffic": "transpose"}, 1, 1 / 7),
        ({"topology": "fly", "routing_function": "dest_tag", "k": "2", "n": "3"}, 1, 1),
        ({"topology": "mesh", "routing_function": "adaptive_xy_yx", "k": "4"}, 1, None),
    ],
)
def test_the_bound_is_that_of_the_busiest_link(values: dict, flits: float, bound: float | None) -> None:
    found = demand(Options.of(values))
    assert found[0] == flits
    assert found[1] == (None if bound is None else pytest.approx(bound))


def test_surprising_hotspots_are_told() -> None:
    [told] = Options.of({"traffic": "hotspot({3,5})"}).warnings
    assert told.endswith("hotspot({{3,5}})")


def program(folder: Path, text: str) -> Path:
    """A program that prints something whatever it is given."""
    file = folder / "booksim"
    file.write_text(f"#!{sys.executable}\nprint('''{text}''')\n")
    file.chmod(0o755)
    return file


def test_a_program_that_prints_something_else_is_found_out(tmp_path: Path) -> None:
    options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor"})
    events = run(options).events
    ours = "\n".join([*lines(events), *results(events, options)])
    frame = "END Configuration File: x\n{}\nTotal run time 0.1".format
    assert compare(program(tmp_path, frame(ours)), options).verdict == EQUAL
    other = ours.replace("Hops average = ", "Hops average = 1")
    assert "Hops average" in compare(program(tmp_path, frame(other)), options).detail
    assert compare(program(tmp_path, "Error"), options).verdict == "ended by BookSim2"
    unknown = Options.of({"topology": "qtree"})
    assert compare(program(tmp_path, frame(ours)), unknown).verdict == REFUSED
    assert compare(program(tmp_path, "Error"), unknown).verdict == "ended by BookSim2"
    (tmp_path / "mesh.cfg").write_text(options.text())
    words = ("validate", "booksim", "mesh.cfg", "--configs", "0", "--binary", str(tmp_path / "booksim"))
    program(tmp_path, frame(ours))
    done = command(*words, folder=tmp_path)
    assert (done.returncode, done.stdout[:15]) == (0, "equal: 1 of 1, ")
    assert done.stdout.endswith("different: 0, refused: 0, ended by BookSim2: 0\n")
    program(tmp_path, frame(other))
    assert command(*words, folder=tmp_path).returncode == 1
    assert command("validate", "booksim", folder=tmp_path).returncode == 2


def test_options_that_write_files_are_named_and_unknown_ones_all_at_once(tmp_path: Path) -> None:
    text = "topology = mesh; k = 3; routing_function = dor; stats_out = s.m; print_activity = 1;"
    more = "viewer_trace = 0; out_ports = 3; watch_out = -; watch_flits = {3,4};"
    (tmp_path / "mesh.cfg").write_text(text + more)
    done = command("simulate", "mesh.cfg", folder=tmp_path)
    assert done.returncode == 0
    warned = [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert warned == ["stats_out", "print_activity", "out_ports", "watch_flits"]
    assert "--json has the means per class" in done.stderr
    (tmp_path / "old.cfg").write_text(text + "const_flits_per_packet = 2; num_vcz = 4; wibble = 1;")
    done = command("simulate", "old.cfg", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    told = "'const_flits_per_packet' (write packet_size), 'num_vcz' (did you mean num_vcs?), 'wibble' are"
    assert told in done.stderr


def test_several_files_run_one_after_the_other(tmp_path: Path) -> None:
    for name, radix in (("a", 3), ("b", 4)):
        (tmp_path / f"{name}.cfg").write_text(f"topology = mesh; k = {radix}; routing_function = dor;")
    both = command("simulate", "a.cfg", "num_vcs=4", "b.cfg", "--json", folder=tmp_path)
    rows = json.loads(both.stdout)
    assert [row.pop("file") for row in rows] == ["a.cfg", "b.cfg"]
    for name, row in zip("ab", rows, strict=True):
        alone = command("simulate", f"{name}.cfg", "num_vcs=4", "--json", folder=tmp_path)
        assert json.loads(alone.stdout) == row
    table = command("simulate", "a.cfg", "b.cfg", folder=tmp_path).stdout
    assert [line.split()[0] for line in table.splitlines()] == ["file", "-----", "a.cfg", "b.cfg"]
    wrong = command("simulate", "a.cfg", "c.cfg", folder=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_a_file_runs_in_parts_as_in_one(tmp_path: Path) -> None:
    options = Options.of(WIDE)
    whole, halves = (run(options, packets=True, threads=threads) for threads in (1, 2))
    assert (whole.parts, halves.parts) == (1, 2)
    assert (halves.cycles, halves.classes, halves.events) == (whole.cycles, whole.classes, whole.events)
    assert {name: list(column) for name, column in halves.packets.items()} == {
        name: list(column) for name, column in whole.packets.items()
    }
    (tmp_path / "mesh.cfg").write_text(options.text())
    small = command("simulate", "mesh.cfg", "k=4", "--threads", "2", folder=tmp_path)
    assert small.returncode == 0
    assert "note: it ran on one thread" in small.stderr


def test_a_sweep_runs_a_file_over_a_grid_of_its_options_once(tmp_path: Path) -> None:
    text = "topology = mesh; k = 3; routing_function = dor; sample_period = 100; max_samples = 4;"
    (tmp_path / "mesh.cfg").write_text(text + "latency_thres = 30.0; seed = 5;")
    assert command("convert", "mesh.cfg", "mesh.toml", folder=tmp_path).returncode == 0
    words = ("--grid", "num_vcs=2,4", "--grid", "injection_rate=0.1,0.9", "--seeds", "2", "--out", "rows.csv")
    done = command("sweep", "mesh.cfg", *words, "--json", folder=tmp_path)
    rows = json.loads(done.stdout)
    assert [(row["num_vcs"], row["injection_rate"], row["seed"]) for row in rows] == [
        (vcs, rate, seed) for seed in (5, 6) for vcs in (2, 4) for rate in (0.1, 0.9)
    ]
    for row in rows:
        changes = [f"{name}={row[name]}" for name in ("num_vcs", "injection_rate", "seed")]
        outcome = run(read(tmp_path / "mesh.cfg", changes))
        assert (row["outcome"], row["cycles"]) == (outcome.outcome, outcome.cycles)
        assert row["packets"] == outcome.classes[0]["packets"]
        latency = outcome.classes[0]["packet_latency"] if outcome.outcome == "stable" else None
        assert row["packet_latency"] == latency
    assert {row["outcome"] for row in rows} == {"stable", "unstable"}
    # The spec of the file is the same, and finished runs are not run again.
    again = command("sweep", "mesh.toml", *words, "--json", folder=tmp_path)
    assert json.loads(again.stdout) == rows
    assert "8 simulations, 0 of them run now" in again.stderr
    for grid, told in {
        "num_vcz=2": "did you mean num_vcs",
        "num_vcs=0": "num_vcs: 0 is not within 1",
    }.items():
        wrong = command("sweep", "mesh.cfg", "--grid", grid, "--out", "wrong.csv", folder=tmp_path)
        assert wrong.returncode == 2
        assert told in wrong.stderr
        assert not (tmp_path / "wrong.csv").exists()
