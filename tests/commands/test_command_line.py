"""The command line as a user meets it: exit codes, stdout and stderr."""

import json
import re
import signal
import subprocess
import sys

import pytest
import xarray as xr

import flitloom
from flitloom.commands import VERBS, run
from flitloom.scheduling import stacking
from waiting import LIMIT, cpu_seconds, until

SHUFFLE = ("simulate", "--torus", "8x8", "--pattern", "shfl")


@pytest.fixture
def flit(capsys):
    """Run the command line; returns exit code, stdout and stderr."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def test_version_names_the_package_and_its_version(flit):
    code, out, err = flit("version")
    assert (code, err) == (0, "")
    assert out.startswith(f"flitloom {flitloom.__version__}")


def test_every_verb_has_help_with_an_example(flit):
    for verb in VERBS:
        code, out, err = flit(verb, "--help")
        assert (code, err) == (0, "")
        if "COMMAND" not in out:
            assert re.search(rf"xample:\s+flitloom {verb}\b", out)
    assert flit("--help")[0] == 0


def test_simulate_prints_what_python_computes(flit):
    code, out, err = flit(*SHUFFLE, "--payload", 14, "--slices", 2, "--interval", 20, "--json")
    assert (code, err) == (0, "")
    values = json.loads(out)
    net = flitloom.Network(flitloom.Torus(8, 8))
    result = flitloom.simulate(net, flitloom.Collective("shfl", payload=14, slices=2, interval=20))
    assert values["duration"] == result.duration
    assert sum(row["flits"] for row in values["links"]) == result.flit_hops
    assert values["spec"]["traffic"]["interval"] == 20
    assert (
        f"duration             {result.duration} cycles, h + L + 1 for an unhindered packet"
        in flit(*SHUFFLE, "--payload", 14, "--slices", 2, "--interval", 20)[1]
    )


def test_simulate_writes_records_and_a_chart(flit, tmp_path):
    out, chart = tmp_path / "result.nc", tmp_path / "chart.png"
    assert flit(*SHUFFLE, "--out", out, "--picture", chart)[0] == 0
    assert chart.read_bytes().startswith(b"\x89PNG")
    with xr.open_datatree(out, engine="h5netcdf") as tree:
        assert set(tree.children) == {"links", "packets", "link_time"}


def test_options_overrule_the_spec_file_and_set_overrules_options(flit, tmp_path):
    spec = tmp_path / "experiment.toml"
    spec.write_text('[topology]\nsizes = "8x8"\n[traffic]\nkind = "collective"\npattern = "torn"\n')
    code, out, _ = flit("simulate", spec, "--payload", 9, "--buffer", 2, "--set", "router.buffer=8", "--json")
    assert code == 0
    values = json.loads(out)["spec"]
    assert values["traffic"]["payload"] == 9
    assert values["router"]["buffer"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate",), "topology: is missing"),
        (("simulate", "--torus", "8x8"), "traffic: give either pattern or destinations"),
        (("simulate", "--torus", "8x8", "--mesh", "8x8"), "topology: give either --torus or --mesh"),
        ((*SHUFFLE, "--wrap", "maybe"), "topology.wrap: 'maybe' is not understood; write yes,no"),
        (
            (*SHUFFLE, "--fail", "node:x"),
            "--fail: 'node:x' is not a failed part; write node:3, node:(1,2), link:0-1",
        ),
        ((*SHUFFLE, "--fail", "node:(1,8)"), "(1,8) is not a node; coordinates go from (0,0) to (7,7)"),
        ((*SHUFFLE, "--fail", "link:(0,1)+z"), "(0,1)+z: the network has no dimension z"),
        ((*SHUFFLE, "--fail", "link:0-2"), "topology.failed_links: nodes 0 and 2 are not neighbours"),
        ((*SHUFFLE, "--fail", "node:5"), "pairs of nodes need a failed part, the first from node"),
        ((*SHUFFLE, "--buffer", "0"), "router.buffer: 0 is out of range; it must be 1 to 1024 flits"),
        ((*SHUFFLE, "--buffer", "many"), "Invalid value for '--buffer': Input should be a valid integer"),
        ((*SHUFFLE, "--flow-control", "cut-through"), "router.buffer is 4 flits; "),
        ((*SHUFFLE, "--rate", "2", "--cycles", "9"), "traffic.rate: 2.0 is out of range"),
        ((*SHUFFLE, "--rate", "0.1"), "traffic.cycles: is missing"),
        ((*SHUFFLE, "--rate", "0.1", "--cycles", "9", "--slices", "2"), "traffic.slices: unknown field"),
        ((*SHUFFLE, "--cycle-limit", "5"), "not finished after 5 cycles"),
        ((*SHUFFLE, "--delays", "none.csv"), "none.csv: cannot be read: No such file"),
        ((*SHUFFLE, "--set", "router.bufer=4"), "router.bufer: unknown field; did you mean buffer?"),
        ((*SHUFFLE, "--out", "result.txt"), "--out: result.txt must end in .nc"),
        ((*SHUFFLE, "--out", "no/such/folder/result.nc"), "no/such/folder is not a folder"),
        ((*SHUFFLE, "--picture", "chart.gif"), "--picture: chart.gif must end in .png or .pdf or .svg"),
        (("simulate", "none.toml"), "none.toml: cannot be read: No such file or directory"),
        (("stack", "--pattern", "shfl"), "topology: is missing; add --torus 8x8, --mesh 8x8 or --network"),
        (("stack", "--torus", "8x8", "--pattern", "shf"), "traffic.pattern: 'shf' is unknown"),
        (("stack", "--torus", "8x8", "--arbitration", "C77"), "router.arbitration: 'C77' is unknown"),
        (("stack", "--torus", "8x8", "--intervals", "9-10"), "write first and last interval, like 8:95"),
        (("stack", "--torus", "8x8", "--intervals", "10:9"), "--intervals 10:9: must rise"),
        (("stack", "--torus", "8x8", "--intervals", f"{'9' * 5000}:9"), "write first and last interval"),
        (
            ("stack", "--torus", "4x4", "--pattern", "shfl", "--intervals", f"{10**17}:{10**17}"),
            "intervals: 100000000000000000 is out of range; it must be 0 to",
        ),
        (("stack", "--torus", "8x8", "--threads", "0"), "threads: 0 is out of range; it must be 1 to 4096"),
        (("stack", "--torus", "6x6", "--pattern", "shfl"), "every size must be a power of two"),
        (("stack", "--torus", "8x8", "--pattern", "shfl", "--slices", "20"), "traffic.slices is 20"),
        (("papers", "run", "none/table-1"), "there is no 'none/table-1'"),
        (("simulat",), "there is no command 'simulat'; did you mean simulate?"),
    ],
)
def test_bad_input_ends_in_one_message_and_code_2(flit, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = flit(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_stack_saves_what_it_prints(flit, tmp_path):
    curves, chart = tmp_path / "curves.csv", tmp_path / "curves.svg"
    code, out, _ = flit(
        "stack", "--torus", "8x8", "--pattern", "shfl", "--pattern", "torn", "--arbitration", "C00",
        "--arbitration", "C05", "--json", "--out", curves, "--picture", chart,
    )  # fmt: skip
    assert code == 0
    rows = json.loads(out)
    assert [(row["pattern"], row["arbitration"]) for row in rows] == [
        ("shfl", "C00"), ("shfl", "C05"), ("torn", "C00"), ("torn", "C05"),
    ]  # fmt: skip
    points = [line.split(",") for line in curves.read_text().splitlines()[1:]]
    for row in rows:
        mine = [int(point[5]) for point in points if point[:2] == [row["pattern"], row["arbitration"]]]
        assert min(mine) == row["duration"]
    assert "<svg" in chart.read_text()
    assert flit("stack", "--torus", "8x8", "--pattern", "shfl", "--out", tmp_path / "curves.nc")[0] == 0


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "flitloom", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_keeps_finished_sweeps(flit, monkeypatch, tmp_path):
    def interrupted(network, collective, **options):
        if collective.pattern == "brot":
            raise KeyboardInterrupt
        return sweep(network, collective, **options)

    sweep = stacking.stack
    monkeypatch.setattr(stacking, "stack", interrupted)
    curves = tmp_path / "curves.csv"
    code, out, err = flit("stack", "--torus", "8x8", "--json", "--out", curves)
    assert (code, err.splitlines()[-1]) == (130, "interrupted")
    assert [row["pattern"] for row in json.loads(out)] == ["bcmp", "brev"]
    assert {line.split(",")[0] for line in curves.read_text().splitlines()[1:]} == {"bcmp", "brev"}


@pytest.mark.alone("signals")
@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "--pattern", "rand", "--rate", "0.5", "--cycles", "100000000"),
        ("stack", "--pattern", "brev", "--payload", "100000"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_ctrl_c_ends_long_work(arguments):
    with start(*arguments, "--torus", "32x32") as running:
        # Long after the start in its own time, however busy the machine is.
        until(lambda: cpu_seconds(running.pid) >= 2, "two seconds of work")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=LIMIT)
    # Before that it may have said how long it will take.
    assert (running.returncode, out, err.splitlines()[-1]) == (130, "", "interrupted")


def test_a_reader_may_leave_early():
    with start("simulate", "--torus", "16x16", "--pattern", "shfl", "--json") as running:
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0
