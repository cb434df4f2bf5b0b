"""Files of BookSim2 run here as BookSim2 ran them: its packets and its lines, recorded once.

`recorded.jsonl` holds, per drawn configuration, what BookSim2 (commit 28f43299, with a line that logs
packets) did: the packets delivered and a hash of their log in the order of arrival (packet, class, source,
destination, created, injected, head, tail, hops, size), the lines of statistics and a hash of them; of
batches and what is drawn with them only the lines. Nothing in it was computed here.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flitloom import _core
from flitloom.booksim import Options, is_booksim, read_options, run
from flitloom.booksim.comparing import EQUAL, REFUSED, compare
from flitloom.booksim.drawing import draw, draw_concentrated, draw_network, draw_rare, draw_run
from flitloom.booksim.options import parse
from flitloom.booksim.printing import lines
from flitloom.booksim.results import results
from flitloom.booksim.running import demand
from flitloom.booksim.specs import TABLES
from flitloom.errors import SpecError

RECORDED = [
    json.loads(line) for line in (Path(__file__).with_name("recorded.jsonl")).read_text("utf-8").splitlines()
]
#: Four kinds of messages, each in a channel of its own.
ONE_CHANNEL_EACH = {"use_read_write": "1", "num_vcs": "4"} | {
    f"{kind}_{end}_vc": str(channel)
    for channel, kind in enumerate(("read_request", "write_request", "read_reply", "write_reply"))
    for end in ("begin", "end")
}
#: Runs in the quick tests.
QUICK = 40
COLUMNS = ("packet", "class", "source", "destination", "created", "injected", "head", "tail", "hops", "size")


#: How a record's configuration is drawn.
DRAWN = {
    "grid": draw,
    "network": draw_network,
    "rare": draw_rare,
    "run": draw_run,
    "concentrated": draw_concentrated,
}


def drawn(record: dict) -> Options:
    return DRAWN[record.get("kind", "grid")](record["draw"])


def hashed(rows: list[str]) -> str:
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(
            record,
            id=f"{record.get('kind', 'grid')}-{record['draw']}",
            marks=() if number < QUICK or (number % 6 == 0 and "kind" in record) else pytest.mark.long,
        )
        for number, record in enumerate(RECORDED)
    ],
)
def test_packets_and_lines_are_those_of_booksim2(record: dict) -> None:
    outcome = run(drawn(record), packets="log" in record)
    if "log" in record:
        assert_packets_are_those_of(record, outcome.packets)
    printed = list(lines(outcome.events))
    assert (len(printed), hashed(printed)) == (record["lines"], record["printed"])


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


def test_replies_that_a_run_leaves_do_not_hold_up_the_next_one() -> None:
    found = list(lines(run(draw_run(353, 99)).events))
    # Recorded with BookSim2, too.
    assert (len(found), hashed(found)) == (276, "fb3fba2c5edd7512af5a20e32d23dc47")


def test_the_recorded_configurations_reach_every_option() -> None:
    values = [drawn(record).values for record in RECORDED]
    for name, wanted in {
        "vc_allocator": 11,
        "sw_allocator": 10,
        "topology": 7,
        "routing_function": 24,
        "traffic": 20,
        "sim_type": 3,
        "sim_count": 2,
        "noq": 1,
        "buffer_policy": 7,
        "priority": 8,
        "classes": 2,
        "subnets": 2,
        "use_read_write": 1,
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
        ({"noq": "1", "routing_delay": "0", "num_vcs": "4"}, "a channel per port of a router, 5"),
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
    assert read_options(file, ["k=5"])["k"] == "5"
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
    # BookSim2 ends with "Buffer taken while in use for VC 6" at node 10.
    with pytest.raises(SpecError, match="classes: two classes of a node take the same channel in cycle"):
        run(draw(40, 505))


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
        word in told for word in ("odd number", "no pipeline", "only when it is empty", "reads it nowhere")
    )


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitloom", *words], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.parametrize(
    ("kind", "number", "count", "expected"),
    [
        pytest.param(
            "grid",
            0,
            3,
            "asymmetric,0,0.04167,7,22.2457,43,7,22.1314,43,5,21.0627,42,0,0.0371429,3,0.0377778,0.0432099,"
            "0.0511111,0,0.0432099,0.0677778,0.0755556,0.0864198,0.102222,0,0.0864198,0.135556,2,2,4.52571",
            id="grid-0",
        ),
        pytest.param(
            "rare",
            1,
            1,
            "shuffle,0,0.0428571,6,17.3017,30,6,17.1466,30,6,16.2952,29,0,0.0258621,3,0.03,0.0483333,"
            "0.08,0.0333333,0.0489583,0.0733333,0.0433333,0.106667,0.14,0.06,0.112708,0.156667,2.2069,2.30213,2.96552",
            id="rare-1",
        ),
        pytest.param(
            "rare",
            4,
            1,
            "tornado,1,0.0125,19,23.9429,32,19,23.4143,31,17,20.6207,29,0,0.842857,6,0.0133333,0.0251852,"
            "0.0433333,0.0166667,0.0262963,0.0433333,0.04,0.0822222,0.13,0.0566667,0.0866667,0.136667,3.26471,3.29577,3.65714",
            id="rare-4",
        ),
        pytest.param(
            "run",
            1,
            3,
            "asymmetric,0,0.0125,13,37.8591,83.5,13,26.8311,57,6,17.3366,50,0,4.45845,19,0.0350216,0.037465,0.0428344,"
            "0.0233477,0.037465,0.0466954,0.280173,0.29972,0.342675,0.186782,0.29972,0.373563,8,8,1.95743,75,85.6667,94",
            id="run-1",
        ),
    ],
)
def test_results_are_those_of_booksim2(kind: str, number: int, count: int, expected: str) -> None:
    options = DRAWN[kind](number, 7)
    # Recorded with BookSim2, too.
    assert list(results(run(options).events, options)) == [f"results:{at},{expected}" for at in range(count)]


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
    options = draw(40, 3)
    file.write_text(options.text())
    (tmp_path / "small.cfg").write_text(
        "topology = mesh; k = 4; routing_function = dor; latency_thres = 5e2;"
    )
    for name in ("mesh", "small"):
        assert command("convert", f"{name}.cfg", f"{name}.toml", folder=tmp_path).returncode == 0
        there = read_options(tmp_path / f"{name}.cfg")
        back = read_options(tmp_path / f"{name}.toml")
        assert there.values.keys() == back.values.keys()
        assert list(lines(run(there).events)) == list(lines(run(back).events))
    fields = tomllib.loads((tmp_path / "small.toml").read_text())
    assert fields["router"] == {"model": "pipelined", "routing_function": "dor"}
    assert fields["simulation"] == {"latency_thres": 500.0}
    done = command("simulate", "small.toml", "k=3", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["cycles"] == run(read_options(tmp_path / "small.cfg", ["k=3"])).cycles
    (tmp_path / "wrong.toml").write_text('[router]\nmodel = "pipelined"\nk = 4\n')
    done = command("simulate", "wrong.toml", folder=tmp_path)
    assert done.returncode == 2
    assert "router.k" in done.stderr


def test_every_option_has_its_table() -> None:
    known = {name for name, _ in _core.pipelined_options()}
    named = [name for names in TABLES.values() for name in names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= known


def test_a_curve_is_the_file_at_every_rate(tmp_path: Path) -> None:
    text = "topology = mesh; k = 4; routing_function = dor; sample_period = 300;"
    text += "max_samples = 5; latency_thres = 40.0;"
    (tmp_path / "mesh.cfg").write_text(text)
    words = ("load", "curve", "mesh.cfg", "num_vcs=4", "--rates", "0.1,0.3,0.9", "--refine", "0.4", "--json")
    done = command(*words, folder=tmp_path)
    rows = json.loads(done.stdout)
    for row in rows:
        rate = f"injection_rate={row['rate']}"
        outcome = run(read_options(tmp_path / "mesh.cfg", ["num_vcs=4", rate]))
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
    for words, told in {
        ("curve", "mesh.cfg", "--torus", "4x4"): "does not go with a file of BookSim2",
        ("curve", "mesh.cfg", "--refine", "-0.5"): "refine: -0.5 is not a share of a load",
        ("steady", "mesh.cfg"): "flitloom load curve runs it",
    }.items():
        done = command("load", *words, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


@pytest.mark.parametrize(
    ("values", "flits", "bound"),
    [
        # Links in the middle of a row carry half of what k/2 nodes send (Dally and Towles, 2004, chapter 3).
        ({"topology": "mesh", "routing_function": "dor", "k": "8"}, 1, 1 / 2),
        ({"topology": "mesh", "routing_function": "dor", "k": "8", "packet_size": "5"}, 5, 1 / 10),
        ({"topology": "torus", "routing_function": "dim_order", "k": "8"}, 1, 1),
        ({"topology": "mesh", "routing_function": "valiant", "k": "8"}, 1, 1 / 4),
        # All of a row turn into one column: 7 of 8 nodes cross its fullest link.
        ({"topology": "mesh", "routing_function": "dor", "k": "8", "traffic": "transpose"}, 1, 1 / 7),
        ({"topology": "fly", "routing_function": "dest_tag", "k": "2", "n": "3"}, 1, 1),
        ({"topology": "mesh", "routing_function": "adaptive_xy_yx", "k": "4"}, 1, None),
    ],
)
def test_the_bound_is_that_of_the_fullest_link(values: dict, flits: float, bound: float | None) -> None:
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
    ours = "\n".join(lines(run(options).events))
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
